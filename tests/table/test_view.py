"""Tests of a key's view of a header, in which a hidden column looks like a missing column."""

from collections.abc import Collection, Sequence

import pytest

from gateway.errors import InvalidQuery, UnknownField
from gateway.query.evaluate import columns_of
from gateway.query.operators import comparisons
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.header import (
    ALL_COLUMNS,
    ColumnGrant,
    Header,
    Selection,
    View,
    parse_header,
    row_tag,
)
from tests.counted_work import counting
from tests.query.sheet import evaluate_with, make_sheet, text_cell

NFC, NFD = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"
HEADER = parse_header(["name", " salary", "salary", "", "state ", "name", "rowIndex"])
ROW = ["Ann", "hidden", "100", "beside", "MA", "again", "9"]


def view(
    readable: Collection[str] | None,
    writable: Collection[str] | None = None,
    *,
    header: Header = HEADER,
    tag_key: bytes = b"key",
) -> View:
    """Return the view of a key that can use these fields."""
    grants = (None if names is None else frozenset(names) for names in (readable, writable))
    return header.seen_with(ColumnGrant(*grants, tag_key=tag_key))


@pytest.mark.parametrize(
    ("granted", "columns"),
    [
        pytest.param(None, {"name": 0, " salary": 1, "salary": 2, "state ": 4}, id="all"),
        pytest.param(["name"], {"name": 0}, id="one"),
        pytest.param(["state ", "name"], {"name": 0, "state ": 4}, id="in sheet order"),
        pytest.param(["salary"], {"salary": 2}, id="the exact name, not one that looks alike"),
        pytest.param([" salary"], {" salary": 1}, id="exact with a blank"),
        pytest.param(["salary "], {" salary": 1}, id="trimmed, the first"),
        pytest.param(["state"], {"state ": 4}, id="trimmed"),
        pytest.param(["Name", "rowIndex", "", "nope"], {}, id="none of them is there"),
    ],
)
def test_a_view_has_only_the_granted_columns(
    granted: list[str] | None, columns: dict[str, int]
) -> None:
    """A name in the settings matches like a field name in a request. The view has no other
    columns.
    """
    assert dict(view(granted).columns) == columns
    assert [*view(granted).select(None).items()] == [(at, name) for name, at in columns.items()]


@pytest.mark.parametrize(
    ("headers", "granted", "seen"),
    [
        pytest.param([NFC, "n"], [NFD], [NFC], id="decomposed grant"),
        pytest.param([NFD, "n"], [NFC], [NFD], id="decomposed header"),
        pytest.param([NFC, NFD], [NFC], [NFC], id="both are there, the composed one is granted"),
        pytest.param([NFC, NFD], [NFD], [NFD], id="both are there, the other one is granted"),
        pytest.param(["\u1ed9", "o\u0323\u0302"], ["\u00f4\u0323"], [], id="two alike"),
    ],
)
def test_a_grant_in_another_normalization_needs_a_unique_column(
    headers: list[str], granted: list[str], seen: list[str]
) -> None:
    """Without an exact match, a name in the settings matches in NFC if exactly one column has
    this form.
    """
    found = view(granted, granted, header=parse_header(headers))

    assert [*found.columns] == seen
    assert [headers[column] for column in found.writable or ()] == seen
    assert [headers[at] for at in map(found.find, [NFC, NFD]) if at is not None] == 2 * seen


def test_a_hidden_column_does_not_make_a_name_ambiguous() -> None:
    """A name that matches a hidden and a visible column in NFC finds the visible column."""
    headers = ["\u1ed9", "o\u0323\u0302"]

    assert view(headers[:1], header=parse_header(headers)).find("\u00f4\u0323") == 0


def test_a_field_is_withheld_in_each_normalization() -> None:
    """A read-only field is rejected before the header is read, both in NFC and in NFD."""
    grant = ColumnGrant(frozenset({NFC, "n"}), frozenset({"n"}))
    same = ColumnGrant(frozenset({NFC, "n"}), frozenset({NFD}))

    assert [grant.withholds(name) for name in (NFC, NFD, f" {NFD}", "n")] == [True] * 3 + [False]
    assert [same.withholds(name) for name in (NFC, NFD, "n")] == [False, False, True]


def test_a_key_with_all_columns_has_the_whole_header() -> None:
    """A key without column restrictions gets the header's own view, which is created once."""
    assert HEADER.seen_with(ALL_COLUMNS) is HEADER.whole
    assert HEADER.seen_with(ColumnGrant()) is HEADER.whole


def test_keys_with_one_grant_share_a_view() -> None:
    """A view is created once for a grant. A grant that differs in any attribute has its own."""
    header = parse_header(["name", "salary", "state"])
    grants: list[tuple[list[str], list[str] | None, bytes]]
    grants = [(["name"], None, b"1"), (["name"], None, b"2"), (["name"], ["name"], b"1")]
    grants += [(["name", "state"], ["state"], b"1"), (["name", "state"], ["name"], b"1")]
    first = [view(*each[:2], header=header, tag_key=each[2]) for each in grants]

    for each, before in zip(grants, first, strict=True):
        assert view(*each[:2], header=header, tag_key=each[2]) is before
        assert [*before.columns] == each[0]
        assert before.tag_key == each[2]
        assert [before.may_write(at) for at in (0, 2)] == [
            each[1] is None or name in each[1] for name in ("name", "state")
        ]


def test_many_grants_of_a_header_have_right_views() -> None:
    """More grants than cached views give right views, and the cache stays small."""
    names = [f"f{number}" for number in range(30)]
    header = parse_header(names)

    for _ in range(2):
        for name in names:
            assert [*view([name], header=header).columns] == [name]

    assert len(header._views) <= 8


@pytest.mark.parametrize("name", ["salary", " salary", "salary ", "Salary", "nope"])
def test_a_hidden_column_is_not_found(name: str) -> None:
    """A hidden column is not found by its exact name, nor by its name without blanks."""
    seen = view(["name", "state"])

    assert seen.find(name) is None
    assert seen.select(Selection((name, "name"))) == {0: "name"}
    with pytest.raises(UnknownField):
        seen.select(Selection((name,)))
    with pytest.raises(UnknownField):
        columns_of([], [SortTerm(name)], seen)


def test_a_name_never_finds_a_hidden_column_with_blanks() -> None:
    """If the exact name is hidden, the name finds a visible column that differs only in blanks."""
    first = view(["salary"])
    second = view([" salary"])

    assert [first.find(name) for name in ("salary", " salary", "salary ")] == [2, 2, 2]
    assert [second.find(name) for name in ("salary", " salary", "salary ")] == [1, 1, 1]


@pytest.mark.parametrize("parameter", ["where", "order"])
@pytest.mark.parametrize("name", ["salary", " salary", "state"])
def test_a_hidden_field_is_rejected_like_a_missing_field(parameter: str, name: str) -> None:
    """Hidden and missing fields give the same error, which lists only visible fields."""
    query = (
        Query(where=parse_where({name: "100"}))
        if parameter == "where"
        else Query(order=(SortTerm(name),))
    )
    messages = []
    for seen in (view(["name"]), parse_header(["name"]).whole):
        with pytest.raises(InvalidQuery) as refusal:
            columns_of(comparisons(query.where), query.order, seen)
        messages.append(refusal.value.message)

    assert messages[0] == messages[1]
    assert messages[0].endswith('its fields are rowIndex, "name".')


def test_a_key_without_columns_has_row_index() -> None:
    """A key that sees no columns can filter by `rowIndex`."""
    seen = view(["nope"])

    columns_of(comparisons(parse_where({"rowIndex": 2})), [], seen)
    with pytest.raises(InvalidQuery, match=r"its fields are rowIndex\.$"):
        columns_of(comparisons(parse_where({"name": "Ann"})), [], seen)


def test_queries_use_the_columns_of_the_view() -> None:
    """Filter and sort use the column that the key sees, not a hidden column that differs in
    blanks.
    """
    sheet = make_sheet(
        {
            "n": [text_cell("a"), text_cell("b")],
            " n": [text_cell("b"), text_cell("a")],
        }
    )
    query = Query(where=parse_where({"n": "b"}))
    ordered = Query(order=(SortTerm("n"),))
    seen = view([" n"], header=sheet.header)

    assert evaluate_with(sheet, query, sheet.header.whole).rows == [3]
    assert evaluate_with(sheet, query, seen).rows == [2]
    assert list(evaluate_with(sheet, ordered, sheet.header.whole).rows) == [2, 3]
    assert list(evaluate_with(sheet, ordered, seen).rows) == [3, 2]


@pytest.mark.parametrize(
    ("readable", "writable", "columns"),
    [
        pytest.param(None, None, {0, 1, 2, 4}, id="all"),
        pytest.param(None, ["salary"], {2}, id="some of all"),
        pytest.param(["name", "state"], None, {0, 4}, id="all that it sees"),
        pytest.param(["name", "state"], ["state"], {4}, id="some that it sees"),
        pytest.param(["name"], ["nope"], set(), id="none of them is there"),
    ],
)
def test_writable_columns_are_visible_columns(
    readable: list[str] | None, writable: list[str] | None, columns: set[int]
) -> None:
    """Without a restriction of writes, a key can write all columns that it can read."""
    seen = view(readable, writable)

    assert {column for column in seen.columns.values() if seen.may_write(column)} == columns


@pytest.mark.parametrize(
    ("row", "is_same"),
    [
        pytest.param([*ROW, "", ""], True, id="blank cells at the end"),
        pytest.param(["Ann", "x", "100", "beside", "MA", "again", "9"], False, id="a hidden cell"),
        pytest.param([*ROW[:3], "x", *ROW[4:]], False, id="a cell below a blank header"),
        pytest.param([*ROW, "more"], False, id="a cell past the header"),
        pytest.param(["Ann", "", "", "", "MA"], False, id="hidden cells emptied"),
        pytest.param([*ROW[:4], "NY", *ROW[5:]], False, id="a seen cell"),
    ],
)
def test_a_tag_covers_visible_and_hidden_cells(row: Sequence[str], is_same: bool) -> None:
    """The ETag for a key with hidden columns changes with visible and with hidden cells."""
    seen = view(["name", "state"])

    assert (seen.tag(2, row) == seen.tag(2, ROW)) is is_same


@pytest.mark.parametrize(
    ("other", "row"),
    [
        pytest.param(view(["name", "state"], tag_key=b"other"), 2, id="another key"),
        pytest.param(view(["name", "state"]), 3, id="another row"),
        pytest.param(view(["name"]), 2, id="another view"),
        pytest.param(
            view(["name", "state"], header=parse_header(["name", "bonus", *HEADER.cells[2:]])),
            2,
            id="another hidden header",
        ),
    ],
)
def test_a_tag_of_some_columns_is_for_one_row_and_view(other: View, row: int) -> None:
    """ETags over hidden cells differ by HMAC key, row, view and header, so that clients cannot
    compare rows.
    """
    assert other.tag(row, ROW) != view(["name", "state"]).tag(2, ROW)


def test_a_tag_of_some_columns_is_not_a_plain_digest() -> None:
    """An ETag over hidden cells is not a digest that a client without the HMAC key can compute."""
    tag = view(["name", "state"]).tag(2, ROW)

    assert tag not in {row_tag(HEADER.cells, ROW), row_tag(["name", "state "], ["Ann", "MA"])}


def test_the_hmac_key_is_not_part_of_a_grant() -> None:
    """The HMAC key does not count for equality and hash of a `ColumnGrant`, and `repr` hides it."""
    grant = ColumnGrant(frozenset({"name"}), tag_key=b"secret")

    assert grant == ColumnGrant(frozenset({"name"}))
    assert hash(grant) == hash(ColumnGrant(frozenset({"name"})))
    assert "secret" not in repr([grant, HEADER.seen_with(grant)])


@pytest.mark.parametrize("writable", [None, ["name"]], ids=["all", "one"])
def test_a_key_with_all_columns_has_the_tag_of_the_row(writable: list[str] | None) -> None:
    """A key that reads all columns gets the plain ETag of the row, with any right to write."""
    assert view(None, writable).tag(2, ROW) == row_tag(HEADER.cells, ROW)
    assert view(None, writable).tag(3, ROW) == row_tag(HEADER.cells, ROW)


@pytest.mark.parametrize(
    ("readable", "writable", "name", "is_withheld"),
    [
        pytest.param(["a", "b"], ["b"], "a", True, id="seen alone"),
        pytest.param(["a", "b"], ["b"], "b", False, id="written"),
        pytest.param(["a", "b"], ["b"], "c", False, id="hidden or not there"),
        pytest.param(["a ", "b"], ["b"], " a", True, id="seen alone, in whatever blanks"),
        pytest.param(["a", " a"], ["a"], " a", False, id="may be the one that is written"),
        pytest.param(["a"], None, "a", False, id="all that it sees"),
        pytest.param(None, ["a"], "b", False, id="only the header tells whether it is there"),
    ],
)
def test_withheld_fields_need_no_header(
    readable: list[str] | None, writable: list[str] | None, name: str, is_withheld: bool
) -> None:
    """A field is withheld if the key can read it, and no matching name can be writable."""
    grants = (None if names is None else frozenset(names) for names in (readable, writable))

    assert ColumnGrant(*grants).withholds(name) is is_withheld


def test_grants_of_many_columns_take_linear_time() -> None:
    """To check 1,000 fields of 5,000 columns takes fewer than 100,000 instructions."""
    names = [f"column {number}" for number in range(5000)]
    grant = ColumnGrant(frozenset(names), frozenset(names[1:]))
    grant.withholds("")
    with counting() as instructions:
        withheld = [name for name in names[:1000] if grant.withholds(name)]

    assert withheld == names[:1]
    assert instructions.count < 1000 * 100
