"""Formats, validation rules and size that new rows and columns inherit from an adjacent one.

Google documents only formats. Users report that validation rules are inherited, too.
"""

from dataclasses import replace

from sheets_emulator.grid.cell import Cell, Content, bare
from sheets_emulator.grid.marks import PLAIN_LINE
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.resources.grid_range import Lines


def inherit(lines: Lines, model: int) -> None:
    """Apply formats, rules and size of row or column `model` to new blank rows or columns."""
    kept = lines.sheet.lines(is_rows=lines.is_rows)
    pixels = kept.get(model, PLAIN_LINE).pixels
    if pixels is not None:
        for index in range(lines.start, lines.end):
            kept[index] = replace(kept.get(index, PLAIN_LINE), pixels=pixels)
    inherit_formats = _inherit_of_row if lines.is_rows else _inherit_of_column
    inherit_formats(lines.sheet, lines.start, lines.end, model)


def _inherit_of_row(sheet: Sheet, start: int, end: int, model: int) -> None:
    formats = _formats(sheet.rows[model]) if model < len(sheet.rows) else ()
    if formats:
        for row in range(start, end):
            sheet.replace_row(row, formats)


def _inherit_of_column(sheet: Sheet, start: int, end: int, model: int) -> None:
    for index, row in enumerate(sheet.rows):
        formats = _formats((row[model],)) if model < len(row) else ()
        if formats:
            sheet.replace_row(index, [*row[:start], *formats * (end - start), *row[end:]])


def _formats(row: Row) -> Row:
    """Return the cells of a row with only their formats and rules, without trailing blank cells."""
    formats: list[Content] = [
        bare(Cell(format=content.format, validation=content.validation))
        if isinstance(content, Cell)
        else None
        for content in row
    ]
    while formats and formats[-1] is None:
        formats.pop()
    return tuple(formats)
