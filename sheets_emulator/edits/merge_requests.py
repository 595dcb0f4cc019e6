"""batchUpdate: merge and unmerge cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sheets_emulator.edits.block import open_area
from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import Cell
from sheets_emulator.grid.marks import Merge
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Editing

CUT_MERGE = "You must select all cells in a merged range to merge or unmerge them."


def merge_cells(editing: Editing, message: Message) -> Reply:
    """mergeCells: merge cells. Only the first value of each merge is kept, in its first cell."""
    kind = message.text("mergeType", "MERGE_ALL")
    area = open_area(editing, message)
    remove_merges(area.sheet, area.box)
    for part in PARTS[kind](area.box):
        if part.height > 1 or part.width > 1:
            _keep_first(area.sheet, part)
            area.sheet.merges.append(merge_of(part))
    return {}


def unmerge_cells(editing: Editing, message: Message) -> Reply:
    """unmergeCells: remove all merges in the range. Raises a 400 if a merge is partly outside."""
    area = open_area(editing, message)
    remove_merges(area.sheet, area.box)
    return {}


def require_whole_merges(sheet: Sheet, box: Box) -> list[Box]:
    """Return the merges inside a box. Raises a 400 if a merge is partly outside."""
    found = sheet.merges_in(box)
    if not all(map(box.contains, found)):
        raise invalid(CUT_MERGE)
    return found


def remove_merges(sheet: Sheet, box: Box) -> None:
    """Remove the merges inside a box. Raises a 400 if a merge is partly outside."""
    sheet.remove_merges(require_whole_merges(sheet, box))


def merge_of(box: Box) -> Merge:
    """Return a merge of all cells of a box."""
    return Merge(span=Span(top=box.top, left=box.left, bottom=box.bottom, right=box.right))


def _keep_first(sheet: Sheet, box: Box) -> None:
    """Clear a box, except the first value by row and then column, which moves to the first cell."""
    first = _first_filled(sheet, box)
    sheet.clear(box)
    if first is not None:
        sheet.write(box.top, box.left, [first])


def _first_filled(sheet: Sheet, box: Box) -> Cell | None:
    for row in range(box.top, min(box.bottom, len(sheet.rows))):
        for column in range(box.left, min(box.right, len(sheet.rows[row]))):
            cell = sheet.cell(row, column)
            if not cell.is_blank:
                return Cell(value=cell.value, formula=cell.formula, format=cell.format)
    return None


def _columns(box: Box) -> Sequence[Box]:
    return [replace(box, left=at, right=at + 1) for at in range(box.left, box.right)]


def _rows(box: Box) -> Sequence[Box]:
    return [replace(box, top=at, bottom=at + 1) for at in range(box.top, box.bottom)]


PARTS: Mapping[str, Callable[[Box], Sequence[Box]]] = {
    "MERGE_ALL": lambda box: [box],
    "MERGE_COLUMNS": _columns,
    "MERGE_ROWS": _rows,
}
