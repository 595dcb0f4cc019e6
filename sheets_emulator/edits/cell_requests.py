"""batchUpdate: write values, formats, notes and validation rules of cells by a field mask."""

from collections.abc import Sequence
from dataclasses import replace

from sheets_emulator.edits.block import change_all, change_each, open_area, put
from sheets_emulator.edits.table_requests import make_room_in_table
from sheets_emulator.formulas.references import translated
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import Cell
from sheets_emulator.grid.sheet import Sheet, full_row
from sheets_emulator.protocol.fields import Mask
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.cell_data import (
    Patch,
    clearing,
    patched,
    read_cell_mask,
    read_patch,
    read_rows,
)
from sheets_emulator.resources.grid_range import (
    Editing,
    read_coordinate,
    require_fields,
    require_sheet,
)
from sheets_emulator.resources.places import require_unprotected
from sheets_emulator.resources.validation import read_rule

Patches = Sequence[Sequence[Patch]]


def update_cells(editing: Editing, message: Message) -> Reply:
    """updateCells: write rows in a range, or from a start cell.

    In cells of the range without a new value, the fields of the mask are cleared.
    """
    mask = read_cell_mask(require_fields(message))
    rows = read_rows(message.messages("rows"), mask)
    if message.has("start") == message.has("range"):
        raise invalid("Exactly one of 'start' and 'range' must be set.")
    if message.has("start"):
        sheet, top, left = read_coordinate(editing.workbook, message.message("start"))
        _require_fitting(rows, replace(sheet.grid, top=top, left=left))
        box = sized(top=top, left=left, height=len(rows), width=_width(rows))
        require_unprotected(sheet, box, editing.account)
    else:
        area = open_area(editing, message)
        sheet, box = area.sheet, area.box
        _require_fitting(rows, box)
        nothing = clearing(mask)
        change_all(sheet, box, lambda old: patched(old, nothing, mask))
    write_patches(sheet, box.top, box.left, rows, mask)
    return {}


def append_cells(editing: Editing, message: Message) -> Reply:
    """appendCells: write rows below the last row with data of a worksheet or table."""
    mask = read_cell_mask(require_fields(message))
    rows = read_rows(message.messages("rows"), mask)
    if message.has("tableId"):
        sheet, box = make_room_in_table(
            editing, message.text("tableId"), height=len(rows), width=_width(rows)
        )
    else:
        sheet, box = _make_room(editing, message.integer("sheetId"), rows)
    write_patches(sheet, box.top, box.left, rows, mask)
    return {}


def _make_room(editing: Editing, sheet_id: int, rows: Patches) -> tuple[Sheet, Box]:
    """Find the cells for appended rows, and extend the grid if the rows do not fit."""
    sheet = require_sheet(editing.workbook, sheet_id)
    top = sheet.data_end(sheet.grid)
    box = sized(top=top, left=0, height=len(rows), width=_width(rows))
    require_unprotected(sheet, box, editing.account)
    grown = max(sheet.row_count, box.bottom) * max(sheet.column_count, box.right)
    editing.workbook.require_room(grown - sheet.cell_count)
    sheet.grow(row_count=box.bottom, column_count=box.right)
    return sheet, box


def repeat_cell(editing: Editing, message: Message) -> Reply:
    """repeatCell: write one cell to all cells of a range. References in a formula are adjusted."""
    mask = read_cell_mask(require_fields(message))
    patch = read_patch(message.message("cell"), mask)
    area = open_area(editing, message)
    formula = patch.cell.formula
    if formula is None:
        change_all(area.sheet, area.box, lambda old: patched(old, patch, mask))
        return {}

    def change(old: Cell, row: int, column: int) -> Cell:
        moved = translated(formula, row - area.box.top, column - area.box.left)
        cell = replace(patch.cell, formula=moved)
        return patched(old, replace(patch, cell=cell), mask)

    change_each(area.sheet, area.box, change)
    return {}


def set_data_validation(editing: Editing, message: Message) -> Reply:
    """setDataValidation: set a validation rule, or clear the rule if the request has none.

    Filtered rows are not skipped.
    """
    rule = read_rule(message.message("rule"))
    area = open_area(editing, message)
    change_all(area.sheet, area.box, lambda old: replace(old, validation=rule))
    return {}


def write_patches(sheet: Sheet, top: int, left: int, rows: Patches, mask: Mask) -> None:
    """Write rows from the cell at `top` and `left` on. The grid must be large enough."""
    for row, patches in enumerate(rows, start=top):
        box = sized(top=row, left=left, height=1, width=len(patches))
        old = full_row(sheet, row, box)
        pairs = zip(old, patches, strict=True)
        put(sheet, row, left, [patched(cell, patch, mask) for cell, patch in pairs])


def _require_fitting(rows: Patches, box: Box) -> None:
    if len(rows) > box.height:
        raise invalid(
            f"Attempting to write row: {box.bottom}, beyond the last requested row of: "
            f"{box.bottom - 1}"
        )
    if _width(rows) > box.width:
        raise invalid(
            f"Attempting to write column: {box.right}, beyond the last requested column of: "
            f"{box.right - 1}"
        )


def _width(rows: Patches) -> int:
    return max((len(row) for row in rows), default=0)
