"""Cells that display the results of array formulas.

Rules:
- These cells are determined again after each write, because any write can change the size of a
  result.
- A cell with a blank result displays nothing and counts as blank. An empty text counts as data
  (users report that rows are appended below the empty text).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.cell import Cell, Content, Spill, bare
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook


def spill(workbook: Workbook) -> None:
    """Mark the cells that display the results of a workbook's array formulas."""
    if not any(sheet.has_arrays for sheet in workbook.sheets):
        return
    before = [(sheet, sheet.rows.copy()) for sheet in workbook.sheets]
    for sheet in workbook.sheets:
        _clear(sheet)
    results = Results(workbook)
    places = [
        (sheet, row, column)
        for sheet in workbook.sheets
        if sheet.has_arrays
        for row, column in _arrays(sheet)
    ]
    sizes = [results.array_size(*place) for place in places]
    for (sheet, row, column), (height, width) in zip(places, sizes, strict=True):
        for down in range(height):
            _mark(sheet, row, column, down, width)
    for (sheet, row, column), (height, width) in zip(places, sizes, strict=True):
        for down in range(height):
            _unmark_blanks(sheet, row + down, column, width, results)
    for sheet, rows in before:
        _keep_equal(sheet, rows)


def _arrays(sheet: Sheet) -> Iterator[tuple[int, int]]:
    """Yield row and column of each cell with an array formula."""
    for row, contents in enumerate(sheet.rows):
        for column, content in enumerate(contents):
            if isinstance(content, Cell) and content.is_array:
                yield row, column


def _clear(sheet: Sheet) -> None:
    for row, contents in enumerate(sheet.rows):
        if any(isinstance(each, Cell) and each.spill is not None for each in contents):
            sheet.replace_row(row, list(map(_without_spill, contents)))


def _mark(sheet: Sheet, row: int, column: int, down: int, width: int) -> None:
    """Mark one row of an array formula's result, without the cell of the formula.

    `row` and `column` are of the formula. `down` is the distance of the marked row.
    """
    contents = sheet.padded(row + down, column + width)
    for right in range(width):
        if down or right:
            old = contents[column + right]
            cell = old if isinstance(old, Cell) else Cell()
            contents[column + right] = replace(cell, spill=Spill(down=down, right=right))
    sheet.replace_row(row + down, contents)


def _unmark_blanks(sheet: Sheet, row: int, column: int, width: int, results: Results) -> None:
    contents = list(sheet.rows[row])
    for at in range(column, column + width):
        if results.of(sheet, row, at).value is None:
            contents[at] = _without_spill(contents[at])
    sheet.replace_row(row, contents)


def _keep_equal(sheet: Sheet, rows: Sequence[Row]) -> None:
    """Restore the old tuple of each unchanged row, because copies of a worksheet share tuples."""
    for row, (old, new) in enumerate(zip(rows, sheet.rows, strict=False)):
        if old == new:
            sheet.rows[row] = old


def _without_spill(content: Content) -> Content:
    return bare(replace(content, spill=None)) if isinstance(content, Cell) else content
