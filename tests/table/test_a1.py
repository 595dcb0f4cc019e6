"""Tests of ranges in A1 notation, and of spreadsheet IDs in URLs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.a1 import (
    LAST_COLUMN,
    Area,
    GridArea,
    column_letters,
    id_in,
    is_published,
    parse_area,
    row_range,
    rows_between,
    rows_from,
)

ID = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"
TITLES = st.text(min_size=1, max_size=20) | st.text(alphabet="'!:A1\\ \n", max_size=12)


@pytest.mark.parametrize(
    ("column", "letters"),
    [
        pytest.param(0, "A", id="first"),
        pytest.param(25, "Z", id="last of one letter"),
        pytest.param(26, "AA", id="first of two letters"),
        pytest.param(701, "ZZ", id="last of two letters"),
        pytest.param(702, "AAA", id="first of three letters"),
        pytest.param(18_277, LAST_COLUMN, id="widest worksheet"),
    ],
)
def test_columns_have_letters(column: int, letters: str) -> None:
    """A column number from 0 gives the letters of the column."""
    assert column_letters(column) == letters


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        pytest.param(row_range("Cities", 1), "'Cities'!1:1", id="header"),
        pytest.param(row_range("Cities", 7), "'Cities'!7:7", id="row"),
        pytest.param(row_range("Cities", 3, 52), "'Cities'!3:52", id="whole rows"),
        pytest.param(rows_from("Cities", 8), "'Cities'!A8:ZZZ", id="rows from"),
        pytest.param(rows_between("Cities", 8, 9), "'Cities'!A8:ZZZ9", id="rows between"),
        pytest.param(row_range("D3", 1), "'D3'!1:1", id="title like a cell"),
        pytest.param(row_range("it's", 1), "'it''s'!1:1", id="quote doubled"),
        pytest.param(row_range("'!A1:B2", 1), "'''!A1:B2'!1:1", id="title like a range"),
    ],
)
def test_ranges_are_written(range_: str, expected: str) -> None:
    """A range has the worksheet title in quotes, then the rows."""
    assert range_ == expected


@given(title=TITLES, row=st.integers(1, 99_999_999))
def test_no_title_escapes_its_quotes(title: str, row: int) -> None:
    """A title with any characters stays within its quotes. The requested rows follow."""
    range_ = row_range(title, row)

    matched = re.match(r"'((?:[^']|'')*)'(?!')", range_)
    assert matched is not None
    assert matched[1].replace("''", "'") == title
    assert range_[matched.end() :] == f"!{row}:{row}"


@given(title=TITLES, row=st.integers(1, 99_999_999))
def test_parsing_a_written_range_gives_the_same_area(title: str, row: int) -> None:
    """Parsing a written range gives the same title and the same last row."""
    assert parse_area(rows_between(title, 1, row)) == Area(title=title, last_row=row)


@pytest.mark.parametrize(
    ("echo", "expected"),
    [
        pytest.param("Cities!A1:C3", ("Cities", 3), id="bare title"),
        pytest.param("'My Sheet'!B2", ("My Sheet", 2), id="single cell"),
        pytest.param("'it''s'!A1:ZZZ10", ("it's", 10), id="doubled quote"),
        pytest.param("'a!b'!A1", ("a!b", 1), id="exclamation mark in quotes"),
        pytest.param("Größe!A10:B11", ("Größe", 11), id="bare title beyond ASCII"),
    ],
)
def test_ranges_in_answers_are_parsed(echo: str, expected: tuple[str, int]) -> None:
    """A range in Google's answer gives its worksheet title and its last row."""
    area = parse_area(echo)

    assert (area.title, area.last_row) == expected


@pytest.mark.parametrize(
    "text",
    ["", "A1:B2", "Cities", "Cities!", "Cities!1:1", "Cities!A:C", "'Cities!A1", "a!b!A1", "x!a1"],
)
def test_a_text_that_is_not_a_range_is_an_error(text: str) -> None:
    """A text without a worksheet title and cells raises ValueError."""
    with pytest.raises(ValueError, match="not a range"):
        parse_area(text)


@pytest.mark.parametrize(
    "given",
    [
        f"https://docs.google.com/spreadsheets/d/{ID}/edit?gid=0#gid=0",
        f"docs.google.com/spreadsheets/u/1/d/{ID}",
        f"https://drive.google.com/open?id={ID}",
        f"https://spreadsheets.google.com/ccc?key={ID}&hl=de",
    ],
)
def test_id_in_url(given: str) -> None:
    """`id_in` finds the ID after `/d/`, or in the parameter `id` or `key` of older URLs."""
    assert id_in(given) == ID


@pytest.mark.parametrize(
    "given",
    ["", ID, "Sales 2024", "/d/", "https://example.org/d", f"/d/{'x' * 101}", "/d/ä"],
)
def test_no_id_in_text(given: str) -> None:
    """`id_in` returns None for a text without `/d/`, and for an ID that is too long or not
    ASCII.
    """
    assert id_in(given) is None


def test_url_of_a_published_copy() -> None:
    """A URL with `/d/e/` is a published copy, whose ID does not work with the Sheets API."""
    given = "https://docs.google.com/spreadsheets/d/e/2PACX-1vQ/pub?id=x"

    assert is_published(given)
    assert id_in(given) is None
    assert not is_published(f"/d/{ID}")


@pytest.mark.parametrize(
    ("area", "text"),
    [
        (GridArea(3, 12, 0, 3), "A3:D12"),
        (GridArea(1, 3), "1:3"),
        (GridArea(1, None, 2, 3), "C:D"),
        (GridArea(2, None, 0, 3), "A2:D"),
        (GridArea(2, 4, 26), "AA2:ZZZ4"),
        (GridArea(5), "A5:ZZZ"),
        (GridArea(), "A:ZZZ"),
    ],
)
def test_an_area_in_a1_notation(area: GridArea, text: str) -> None:
    """The A1 notation of an area leaves out limits at the end of the grid."""
    assert str(area) == text
