"""Tests of a worksheet as read from Google, with columns of different lengths.

A rendering is all displayed texts, or all typed values, in one read.
"""

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from msgspec import UNSET

from gateway.table.header import parse_header, row_tag
from gateway.table.steps import finish
from gateway.table.table import (
    FEW,
    MOST_CHARACTERS,
    MOST_FIELDS,
    Column,
    Table,
    cell_at,
    make_table,
    row_object,
)

CITIES: list[Column] = [
    ["name", "Boston", "", "Austin"],
    ["state", "MA"],
    [],
    ["population", "", None, "961855"],
]


def test_records_have_row_index_first_and_nulls() -> None:
    """A record has `rowIndex` first, then the selected fields. An empty cell is null."""
    table = make_table(CITIES)

    names = table.header.whole.names
    records = [msgspec.to_builtins(row) for row in table.row_objects(range(2, 5), names, None)]

    assert [list(record.items()) for record in records] == [
        [("rowIndex", 2), ("name", "Boston"), ("state", "MA"), ("population", None)],
        [("rowIndex", 3), ("name", None), ("state", None), ("population", None)],
        [("rowIndex", 4), ("name", "Austin"), ("state", None), ("population", "961855")],
    ]


@pytest.mark.parametrize("rows", [[], [3], [4, 2], [2, 3, 4], range(2, 5), range(3, 5)], ids=str)
@pytest.mark.parametrize("selected", [{0, 1, 3}, set(), {1}, {0, 3}], ids=str)
@pytest.mark.parametrize("empty", [None, "", UNSET], ids=str)
def test_rows_encoded_together_equal_single_rows(
    rows: Sequence[int], selected: set[int], empty: object
) -> None:
    """Several rows are encoded in the requested order, each like a single row."""
    table = make_table(CITIES)
    header = table.header
    names = {at: name for at, name in header.whole.names.items() if at in selected}

    records = [msgspec.json.encode(row) for row in table.row_objects(rows, names, empty)]

    assert records == [
        msgspec.json.encode(row_object(header, row, table.cells(row), names, empty)) for row in rows
    ]
    assert all(record.startswith(b'{"rowIndex":') for record in records)


@pytest.mark.parametrize("width", [FEW, 2 * FEW, 2 * FEW + 1, MOST_FIELDS + 1])
@pytest.mark.parametrize("rows", [[3], [4, 2], range(2, 5)], ids=str)
@pytest.mark.parametrize("empty", [None, "", UNSET], ids=str)
def test_rows_have_the_same_bytes_for_any_number_of_columns(
    width: int, rows: Sequence[int], empty: object
) -> None:
    """The JSON bytes of a row do not depend on the number of columns of the worksheet."""
    columns: list[Column] = [["a", "x", "", "é"], ["b", "y"]]
    narrow, wide = make_table(columns), make_table([*columns, *_others(width - 2)])

    found = [*wide.row_objects(rows, {0: "a", 1: "b"}, empty)]

    assert [msgspec.json.encode(row) for row in found] == [
        msgspec.json.encode(row) for row in narrow.row_objects(rows, {0: "a", 1: "b"}, empty)
    ]
    is_dict = width > 2 * FEW
    assert {isinstance(row, dict) for row in found} == {is_dict}


def _others(count: int) -> list[Column]:
    return [[f"field {number}", "p", "q", "r"] for number in range(count)]


@pytest.mark.parametrize(
    ("columns", "last_row"),
    [
        pytest.param([], 0, id="no columns"),
        pytest.param([[], []], 0, id="blank columns"),
        pytest.param([["name"]], 1, id="header only"),
        pytest.param([["name", "", None]], 1, id="trailing blanks"),
        pytest.param([["name", "a"], ["state", "", "", "x", ""]], 4, id="ragged"),
        pytest.param([["name"], ["", "", "stray"]], 3, id="below a blank header"),
        pytest.param([["name", " "]], 2, id="a blank is content"),
    ],
)
def test_the_last_row_is_the_last_with_content(columns: list[Column], last_row: int) -> None:
    """Trailing blank cells of a column do not count for the last row."""
    assert make_table(columns).last_row == last_row


def test_a_text_past_the_end_is_empty() -> None:
    """A cell past the end of a column, or in a missing column, has an empty text."""
    table = make_table(CITIES)

    assert [table.text(2, 1), table.text(3, 1), table.text(9, 1), table.text(2, 9)] == [
        *("MA", "", "", ""),
    ]
    assert cell_at(table.displayed, 2, 2) is None


def test_a_header_is_row_1_across_ragged_columns() -> None:
    """A column without cells has a blank header cell."""
    table = make_table(CITIES)

    assert table.header.cells == ("name", "state", "", "population")


def test_adding_typed_values_returns_a_copy() -> None:
    """`with_typed` returns a new table. The original table does not change."""
    table = make_table(CITIES)

    both = finish(
        table.with_typed([["name", "Boston"], ["state", "MA"], [], ["population", 675_647]])
    )

    assert table.typed is None
    assert both.typed is not None
    assert [cell_at(both.typed, 2, column) for column in range(4)] == [
        "Boston",
        "MA",
        None,
        675_647,
    ]
    assert both.displayed is table.displayed
    assert both.is_mixed


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param([["name", "Boston"], ["population", 675_647, True]], id="numbers, booleans"),
        pytest.param([["name", "Boston", "", None], ["population", 675_647, True]], id="blanks"),
    ],
)
def test_renderings_of_the_same_sheet_match(typed: list[Column]) -> None:
    """`is_mixed` is False if only numbers and booleans are displayed differently from their
    typed values.
    """
    table = make_table([["name", "Boston"], ["population", "675,647", "TRUE"]])

    assert not finish(table.with_typed(typed)).is_mixed


def test_an_error_is_explained_in_the_typed_rendering_only() -> None:
    """`is_mixed` is False if the typed value only adds Google's explanation to `#DIV/0!`."""
    table = make_table([["share", "#DIV/0!", "#N/A"]])

    assert not finish(
        table.with_typed(
            [["share", "#DIV/0! (Function DIVIDE parameter 2 cannot be zero.)", "#N/A ()"]]
        )
    ).is_mixed
    assert finish(
        table.with_typed([["share", "#REF! (Reference does not exist.)", "#N/A ()"]])
    ).is_mixed


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param([["name", "Austin"], ["population", 675_647]], id="other text"),
        pytest.param([["name", "Boston", "Austin"], ["population", 675_647]], id="more rows"),
        pytest.param([["name"], ["population", 675_647]], id="fewer rows"),
        pytest.param([["name", ""], ["population", 675_647]], id="emptied cell"),
        pytest.param([["name", "Boston"], ["people", 675_647]], id="other header"),
        pytest.param([["name", "Boston"], ["population", 1], ["new"]], id="new column"),
        pytest.param([["name", "Boston"]], id="column gone"),
        pytest.param([["population", 675_647], ["name", "Boston"]], id="columns moved"),
    ],
)
def test_renderings_of_two_versions_are_mixed(typed: list[Column]) -> None:
    """`is_mixed` is True if a text or header differs, because the sheet changed between the
    reads.
    """
    table = make_table([["name", "Boston"], ["population", "675,647"]])

    assert finish(table.with_typed(typed)).is_mixed


@pytest.mark.parametrize(
    ("text", "value", "is_other"),
    [
        ("1040", 1040, False),
        ("1040", 1039.7, False),
        ("12.34", 12.3356, False),
        ("00501", 501, False),
        ("1.250", 1250, False),
        ("1.250", 1250.4, False),
        ("1.000.000", 999_999.6, False),
        ("0.3", 0.30000000000000004, False),
        ("123456789012", 123456789012.34, False),
        ("1,250", 7, False),
        ("2026-02-01", 46054, False),
        ("50%", 0.5, False),
        ("", 0, False),
        ("1", True, False),
        ("1040", 1052, True),
        ("1040", 1041.5, True),
        ("-3", 3, True),
        ("12.34", 12.35, True),
        ("1.250", 1251, True),
        ("12.5", 125, True),
    ],
)
def test_a_plain_number_matches_its_value(text: str, value: object, is_other: bool) -> None:
    """`is_mixed` is True if a displayed plain number is not the rounded typed value, because
    rows moved.
    """
    table = make_table([["n", *["7"] * 1_000, text]])

    assert finish(table.with_typed([["n", *[7] * 1_000, value]])).is_mixed is is_other


def test_a_tag_covers_all_cells_of_a_row() -> None:
    """An ETag changes with each cell of its row, also below a blank header."""
    before = make_table(CITIES)
    hidden = make_table([*CITIES[:2], ["", "x"], CITIES[3]])
    longer = make_table([*CITIES, ["", "", "", "beside the header"]])

    tags = [
        [table.header.whole.tag(row, table.cells(row)) for row in (2, 3, 4)]
        for table in (before, hidden, longer)
    ]

    assert len(set(tags[0])) == 3
    assert [tags[1][0] == tags[0][0], tags[1][1:] == tags[0][1:]] == [False, True]
    assert [tags[2][2] == tags[0][2], tags[2][:2] == tags[0][:2]] == [False, True]
    assert before.header.whole.tag(2, before.cells(2)) == row_tag(
        ["name", "state", "", "population"], ["Boston", "MA"]
    )


class Uncopied(tuple[object, ...]):
    """Column that raises an error if a caller iterates over its cells."""

    def __iter__(self) -> Iterator[object]:
        raise AssertionError("the whole column is walked")


def test_texts_of_rows_past_the_end_of_a_column_are_blank() -> None:
    """Reading a few rows of a short column does not iterate over the column."""
    table = Table(
        header=parse_header(["a", "b"]),
        displayed=(Uncopied(("a", "1")), Uncopied(("b", "1", "2", "3"))),
        last_row=4,
    )

    assert table.texts([2, 4, 9]) == [("1", "1"), ("", "3"), ("", "")]


ODD_NAMES = {
    "quotes": ['say "x"', "b"],
    "backslash": ["a\\b", "b"],
    "line break": ["a\nb", "\0"],
    "beyond ASCII": ["Zürich", "😀"],
    "words of Python": ["class", "self", "__init__", "row", "cell0"],
    "many": [f"field {number}" for number in range(MOST_FIELDS + 1)],
    "long": ["x" * MOST_CHARACTERS, "y"],
}


@pytest.mark.parametrize("names", ODD_NAMES.values(), ids=list(ODD_NAMES))
@pytest.mark.parametrize("empty", [None, "", UNSET], ids=str)
def test_rows_are_encoded_with_any_names(names: list[str], empty: object) -> None:
    """A row has the JSON bytes of a dict with the same fields, for any characters in field
    names.
    """
    header = parse_header(names)
    cells = ["" if at % 2 else f"cell {at}" for at in range(len(names))]
    expected: dict[str, object] = {"rowIndex": 7}
    for name, cell in zip(names, cells, strict=True):
        if cell or empty is not UNSET:
            expected[name] = cell or empty

    row = row_object(header, 7, cells, header.whole.names, empty)

    assert msgspec.json.encode(row) == msgspec.json.encode(expected)
