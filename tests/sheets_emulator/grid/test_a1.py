"""Parsing and printing of range texts in A1 notation, such as `Data!A1:B2`."""

import pytest

from sheets_emulator.grid.a1 import (
    Reference,
    Span,
    is_range_name,
    parse_cells,
    print_range,
    print_title,
    readings,
)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        pytest.param("B3", Span(top=2, left=1, bottom=3, right=2), id="cell"),
        pytest.param("$B$3", Span(top=2, left=1, bottom=3, right=2), id="absolute"),
        pytest.param("b3:aa10", Span(top=2, left=1, bottom=10, right=27), id="lower case"),
        pytest.param("D4:A1", Span(top=0, left=0, bottom=4, right=4), id="reversed"),
        pytest.param("A4:D1", Span(top=0, left=0, bottom=4, right=4), id="half reversed"),
        pytest.param("A5:Z", Span(top=4, left=0, right=26), id="open below"),
        pytest.param("Z:A5", Span(top=4, left=0, right=26), id="open below, reversed"),
        pytest.param("A1:1", Span(top=0, left=0, bottom=1), id="open to the right"),
        pytest.param("1:1", Span(top=0, left=0, bottom=1), id="row"),
        pytest.param("5:2", Span(top=1, left=0, bottom=5), id="rows, reversed"),
        pytest.param("C:A", Span(top=0, left=0, right=3), id="columns, reversed"),
    ],
)
def test_cells_are_read_in_every_form(text: str, span: Span) -> None:
    """Cells, ranges, open ends, whole rows, `$` signs and swapped corners can be parsed."""
    assert parse_cells(text) == span


@pytest.mark.parametrize("text", ["", "A", "7", "A0", "ABCD1", "A1:", ":A1", "A1:B2:C3", "A-1"])
def test_texts_that_are_not_cells_cannot_be_parsed(text: str) -> None:
    """`parse_cells` returns None for a lone column or row, row 0 and malformed texts."""
    assert parse_cells(text) is None


@pytest.mark.parametrize(
    ("text", "title", "span"),
    [
        pytest.param("my data", "my data", Span(), id="bare title"),
        pytest.param("'Sheet1'", "Sheet1", Span(), id="quoted title"),
        pytest.param(
            "'It''s!'!B2", "It's!", Span(top=1, left=1, bottom=2, right=2), id="doubled quotes"
        ),
        pytest.param("'A1'", "A1", Span(), id="quoted title that looks like a cell"),
        pytest.param("A1", None, Span(top=0, left=0, bottom=1, right=1), id="cell before title"),
        pytest.param(
            "a b!C1:C", "a b", Span(top=0, left=2, right=3), id="title with blanks, unquoted"
        ),
        pytest.param("x!y!1:1", "x!y", Span(top=0, bottom=1), id="mark in the title"),
        pytest.param("A/B: c", "A/B: c", Span(), id="slash and colon in the title"),
    ],
)
def test_first_meaning_of_a_range_text(text: str, title: str | None, span: Span) -> None:
    """The first meaning of a text has the title without quotes, and the cells after the title."""
    found = readings(text)[0]

    assert found == Reference(title=title, span=span, is_anchor=found.is_anchor)


@pytest.mark.parametrize(
    ("text", "is_anchor"),
    [
        ("A1", True),
        ("Data!$B$2", True),
        ("'my data'!A1", True),
        ("A1:A1", False),
        ("Data!B2:B2", False),
        ("'a:b'!A1", True),
        ("'my data'", False),
        ("Total", False),
    ],
)
def test_a_single_cell_is_a_start_without_an_end(text: str, is_anchor: bool) -> None:
    """`A1` only says where values start. `A1:A1` also says where the values end."""
    assert readings(text)[0].is_anchor is is_anchor


@pytest.mark.parametrize("text", ["", "''", "'open", "'a'b", "'Sheet1'!", "'Sheet1'!x y"])
def test_malformed_range_texts_are_not_parsed(text: str) -> None:
    """An empty text, an unclosed quote or an invalid cell after a quoted title cannot be parsed."""
    assert [each for each in readings(text) if each.title != text] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("Total", [(None, "Total"), ("Total", None)], id="name or title"),
        pytest.param("'Total'", [("Total", None)], id="title in quotes"),
        pytest.param("'My data'!Total", [("My data", "Total")], id="name with a title"),
        pytest.param("A1:Total", [("A1:Total", None)], id="no name"),
    ],
)
def test_text_may_be_the_name_of_a_range(
    text: str, found: list[tuple[str | None, str | None]]
) -> None:
    """A bare word is first read as a named range and then as a title. A quoted word is a title."""
    read = [(each.title, each.name) for each in readings(text)]

    assert read == found


@pytest.mark.parametrize(
    ("name", "may_be"),
    [
        pytest.param("Total_2020", True, id="letters, digits, underscore"),
        pytest.param("Größe", True, id="other letters"),
        pytest.param("_", True, id="underscore"),
        pytest.param("x" * 250, True, id="longest"),
        pytest.param("x" * 251, False, id="too long"),
        pytest.param("", False, id="empty"),
        pytest.param("A1", False, id="cell"),
        pytest.param("xfd1", False, id="cell, lower case"),
        pytest.param("R1C1", False, id="cell in the other notation"),
        pytest.param("2020", False, id="digit first"),
        pytest.param("my data", False, id="blank"),
        pytest.param("a-b", False, id="punctuation"),
        pytest.param("TRUE", False, id="boolean"),
        pytest.param("falsehood", False, id="begins as a boolean"),
    ],
)
def test_names_of_ranges_follow_googles_rules(name: str, may_be: bool) -> None:
    """A name has letters, digits and underscores, and does not look like a cell or a boolean."""
    assert is_range_name(name) is may_be


def test_text_that_looks_like_a_cell_may_also_be_a_title() -> None:
    """`A1` is first read as a cell and then as the title of a worksheet."""
    assert [each.title for each in readings("A1")] == [None, "A1"]


@pytest.mark.parametrize(
    ("title", "printed"),
    [
        pytest.param("Sheet1", "Sheet1", id="plain"),
        pytest.param("FORENSIC_LIVE", "FORENSIC_LIVE", id="underscore"),
        pytest.param("D3", "'D3'", id="cell"),
        pytest.param("ABC12", "'ABC12'", id="cell of three letters"),
        pytest.param("Data12", "Data12", id="four letters are no column"),
        pytest.param("R1C1", "'R1C1'", id="cell in the other notation"),
        pytest.param("2020", "'2020'", id="digit first"),
        pytest.param("my data", "'my data'", id="blank"),
        pytest.param("It's", "'It''s'", id="quote"),
        pytest.param("🌵", "'🌵'", id="emoji"),
        pytest.param("Лист1", "'Лист1'", id="letters that are not ASCII"),
    ],
)
def test_titles_are_quoted_only_if_needed(title: str, printed: str) -> None:
    """A plain title has no quotes. Other titles are quoted, with doubled quotes inside."""
    assert print_title(title) == printed


@pytest.mark.parametrize(
    ("span", "printed"),
    [
        pytest.param(Span(top=0, left=24, bottom=1, right=25), "T!Y1", id="cell"),
        pytest.param(Span(top=0, left=0, bottom=1000, right=26), "T!A1:Z1000", id="range"),
        pytest.param(Span(top=220, left=0, right=702), "T!A221:ZZ", id="open below"),
        pytest.param(Span(top=8, left=2, bottom=9), "T!C9:9", id="open to the right"),
    ],
)
def test_ranges_are_printed_with_their_open_ends(span: Span, printed: str) -> None:
    """A single cell is printed without a colon. An open end has no row or no column."""
    assert print_range("T", span) == printed
