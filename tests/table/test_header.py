"""Tests of header cells, field names and their columns."""

import pytest

from gateway.table.header import Selection, parse_header

NFC, NFD = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"


def test_names_are_exact_and_in_sheet_order() -> None:
    """Fields have exactly the header texts, in the order of the sheet."""
    header = parse_header(["name", " state ", "Größe", "a/b"])

    assert list(header.columns.items()) == [("name", 0), (" state ", 1), ("Größe", 2), ("a/b", 3)]


def test_blank_headers_are_not_fields() -> None:
    """A column with an empty or blank header is not a field."""
    header = parse_header(["name", "", None, "  ", "state", "", " "])

    assert dict(header.columns) == {"name": 0, "state": 4}
    assert header.cells == ("name", "", "", "  ", "state")


@pytest.mark.parametrize("row", [[], ["", None], [" "], ["rowIndex"]], ids=str)
def test_a_header_without_fields(row: list[object]) -> None:
    """A header row that is blank, or has only `rowIndex`, has no fields."""
    assert not parse_header(row).columns


def test_the_first_of_duplicates_has_the_name() -> None:
    """The first of equal headers is the field. `duplicates()` lists the name."""
    header = parse_header(["id", "name", "id", "", "", "name", "id"])

    assert dict(header.columns) == {"id": 0, "name": 1}
    assert header.duplicates() == ["id", "name"]


def test_names_that_differ_in_blanks_or_case_are_not_duplicates() -> None:
    """Names are duplicates only if all characters are equal."""
    header = parse_header(["id", "ID", " id"])

    assert dict(header.columns) == {"id": 0, "ID": 1, " id": 2}
    assert header.duplicates() == []


@pytest.mark.parametrize("name", ["rowIndex", " rowIndex "])
def test_a_column_never_shadows_row_index(name: str) -> None:
    """A column with the header `rowIndex` is not a field, so `rowIndex` stays the row number."""
    header = parse_header([name, "name"])

    assert dict(header.columns) == {"name": 1}
    assert header.whole.find("rowIndex") is None


@pytest.mark.parametrize(
    ("name", "column"),
    [
        pytest.param(" a", 0, id="exact with a blank before"),
        pytest.param("a ", 1, id="exact with a blank after"),
        pytest.param("a", 0, id="trimmed header, the first"),
        pytest.param("  a  ", 0, id="both trimmed"),
        pytest.param("b", 2, id="exact"),
        pytest.param("\tb ", 2, id="trimmed name"),
        pytest.param("B", None, id="case matters"),
        pytest.param("", None, id="empty"),
        pytest.param("  ", None, id="blank"),
    ],
)
def test_names_match_exactly_then_trimmed(name: str, column: int | None) -> None:
    """A name matches a header exactly, or else without surrounding blanks."""
    assert parse_header([" a", "a ", "b", ""]).whole.find(name) == column


def test_the_exact_name_wins_over_an_earlier_trimmed_one() -> None:
    """An exact match has priority over a match without blanks in an earlier column."""
    assert parse_header([" a ", "a"]).whole.find("a") == 1


@pytest.mark.parametrize(
    ("headers", "name", "column"),
    [
        pytest.param(["n", NFC], NFD, 1, id="decomposed name"),
        pytest.param(["n", NFD], NFC, 1, id="decomposed header"),
        pytest.param([f" {NFD} "], f"{NFC} ", 0, id="blanks around both"),
        pytest.param([NFC, NFD], NFD, 1, id="exact before NFC"),
        pytest.param([f" {NFC}", NFD], NFC, 0, id="trimmed before NFC"),
        pytest.param(["\u1ed9", "o\u0323\u0302"], "\u00f4\u0323", None, id="two alike"),
        pytest.param([NFC], NFD.lower(), None, id="case matters"),
        pytest.param(["Grosse"], NFC, None, id="another letter"),
    ],
)
def test_the_only_name_that_is_the_same_in_nfc_is_found(
    headers: list[str], name: str, column: int | None
) -> None:
    """A name in another Unicode form finds its column if exactly one column matches in NFC."""
    assert parse_header(headers).whole.find(name) == column


def test_selection_is_in_sheet_order_and_ignores_unknown_names() -> None:
    """A selection has each known field once, in the order of the sheet."""
    header = parse_header(["name", "state", " population "])

    selected = header.whole.select(Selection(("population", "nope", "rowIndex", "name", "name")))

    assert [*selected.items()] == [(0, "name"), (2, " population ")]


def test_no_selection_is_every_field() -> None:
    """The selection None has all fields. An empty selection has no fields."""
    header = parse_header(["name", "state"])

    assert [*header.whole.select(None).items()] == [(0, "name"), (1, "state")]
    assert header.whole.select(Selection(())) == {}


@pytest.mark.parametrize(
    ("headers", "selected"),
    [
        pytest.param(["City, State", "n"], ["City, State"], id="one field"),
        pytest.param(["City", "n", "State"], ["City", "State"], id="two fields"),
        pytest.param(["City", "State", "City, State"], ["City, State"], id="all three"),
        pytest.param(["City"], ["City"], id="one of two"),
    ],
)
def test_a_selection_whose_text_is_a_field_is_that_field(
    headers: list[str], selected: list[str]
) -> None:
    """If the whole text of `keys` is a field name, a comma in the text separates no names."""
    selection = Selection(("City", " State"), whole="City, State")

    assert [*parse_header(headers).whole.select(selection).values()] == selected


def test_the_listing_for_messages_is_bounded() -> None:
    """A message lists at most 50 field names, and the number of further names."""
    few = parse_header(["name", "state"]).whole.listing()
    many = parse_header([f"h{number}" for number in range(53)]).whole.listing()

    assert few == '"name", "state"'
    assert many.endswith('"h49" and 3 more')


def test_a_listing_does_not_grow_with_the_header() -> None:
    """Long names in a listing are cut, so that 200 names of 40,000 characters take under 6,000."""
    header = parse_header(f"{n} {'x' * 40_000}" for n in range(200))

    assert len(header.whole.listing()) < 6_000
    assert header.whole.listing().endswith("and 150 more")
