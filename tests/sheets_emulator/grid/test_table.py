"""Table detection around a cell, and the count of unused columns at the left (`margin`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import Cell, Content, is_blank
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.table import table_round

FORMATTED = Cell(format={"textFormat": {"bold": True}})
CONTENTS = st.sampled_from([None, None, None, "x", 0.0, False, FORMATTED])
ROWS = st.lists(st.lists(CONTENTS, max_size=7).map(tuple), max_size=12)
WRITES = st.lists(st.tuples(st.integers(0, 14), st.lists(CONTENTS, max_size=8)), max_size=6)


def sheet_of(rows: list[Row]) -> Sheet:
    return Sheet(sheet_id=0, title="Data", row_count=20, column_count=10, rows=list(rows))


def used_places(sheet: Sheet) -> list[tuple[int, int]]:
    return [
        (row, column)
        for row, contents in enumerate(sheet.rows)
        for column, content in enumerate(contents)
        if not is_blank(content)
    ]


def simple_table(sheet: Sheet, row: int, column: int) -> Box:
    """The table of a cell, found by widening a box until no used cell touches the box."""
    used = used_places(sheet)
    box = Box(top=row, bottom=row + 1, left=column, right=column + 1)
    while True:
        touching = [
            (top, left)
            for top, left in used
            if box.top - 1 <= top <= box.bottom and box.left - 1 <= left <= box.right
        ]
        wider = Box(
            top=min(top for top, _ in touching),
            bottom=max(top for top, _ in touching) + 1,
            left=min(left for _, left in touching),
            right=max(left for _, left in touching) + 1,
        )
        if wider == box:
            return box
        box = wider


@given(ROWS, WRITES)
def test_table_is_the_smallest_box_with_blank_cells_around_it(
    rows: list[Row], writes: list[tuple[int, list[Content]]]
) -> None:
    """`table_round` finds the same table as a simple search, also after rows are written."""
    sheet = sheet_of(rows)
    for place in used_places(sheet):
        assert table_round(sheet, *place) == simple_table(sheet, *place)
    for row, contents in writes:
        sheet.replace_row(row, contents)

    for place in used_places(sheet):
        assert table_round(sheet, *place) == simple_table(sheet, *place)


@given(ROWS, WRITES)
def test_all_columns_before_the_margin_are_unused(
    rows: list[Row], writes: list[tuple[int, list[Content]]]
) -> None:
    """`margin` is exact before the first write, and never beyond a used column after a write."""
    sheet = sheet_of(rows)
    first = min((column for _, column in used_places(sheet)), default=None)

    assert first is None or sheet.margin == first
    for row, contents in writes:
        sheet.replace_row(row, contents)
        assert all(column >= sheet.margin for _, column in used_places(sheet))
    assert sheet.copy().margin == sheet.margin


@pytest.mark.parametrize("count", [1, 100_000])
def test_margin_is_kept_when_the_table_grows(count: int) -> None:
    """A table that starts in column C has a margin of 2, also after rows are added."""
    sheet = sheet_of([(None, FORMATTED, "x", 1.0)] * count)
    before = sheet.margin
    sheet.replace_row(count, (None, None, "y"))
    table_round(sheet, count, 2)  # the first search fills the caches that later searches use
    draft = sheet.copy()
    table = table_round(draft, count, 2)

    assert (before, sheet.margin, draft.margin) == (2, 2, 2)
    assert table == Box(top=0, bottom=count + 1, left=2, right=4)
