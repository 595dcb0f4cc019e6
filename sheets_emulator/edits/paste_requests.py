"""batchUpdate: copy and cut cells.

Rules:
- References in copied formulas are adjusted. Cut formulas stay as written, and so do formulas that
  refer to the cut cells.
- The source is repeated if the destination's height or width is a multiple of the source's height
  or width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sheets_emulator.edits.block import Taken, open_area, put, take
from sheets_emulator.edits.merge_requests import merge_of, remove_merges
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.references import translated
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import BLANK, NOTHING, Cell, CellValue
from sheets_emulator.grid.sheet import Sheet, full_row
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Area, Editing, read_area, read_coordinate
from sheets_emulator.resources.places import require_unprotected

Paste = Callable[[Cell, Cell, CellValue], Cell]  # old, source, source value


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """Cells to paste, by row, with their values and merges."""

    rows: Sequence[Sequence[Taken]]
    values: Sequence[Sequence[CellValue]]
    merges: Sequence[Box]  # relative to the first cell

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return len(self.rows[0])


def copy_paste(editing: Editing, message: Message) -> Reply:
    """copyPaste: paste the source, repeated over the destination if the size fits.

    Otherwise the source is pasted once, at the first cell of the destination.
    """
    kind = message.text("pasteType", "PASTE_NORMAL")
    is_transposed = message.text("pasteOrientation") == "TRANSPOSE"
    source = read_area(editing.workbook, message.message("source"))
    target = read_area(editing.workbook, message.message("destination"))
    stamp = _stamp(editing, source, kind)
    stamp = _transposed(stamp) if is_transposed else stamp
    height = _repeated(target.box.height, stamp.height)
    width = _repeated(target.box.width, stamp.width)
    box = sized(top=target.box.top, left=target.box.left, height=height, width=width)
    _paste(editing, target.sheet, box, stamp, kind, is_copy=True)
    return {}


def cut_paste(editing: Editing, message: Message) -> Reply:
    """cutPaste: paste the source once, and clear everything in the source cells."""
    kind = message.text("pasteType", "PASTE_NORMAL")
    source = open_area(editing, message, "source")
    sheet, top, left = read_coordinate(editing.workbook, message.message("destination"))
    stamp = _stamp(editing, source, kind)
    remove_merges(source.sheet, source.box)
    for row in range(source.box.top, source.box.bottom):
        put(source.sheet, row, source.box.left, [BLANK] * source.box.width)
    box = sized(top=top, left=left, height=stamp.height, width=stamp.width)
    _paste(editing, sheet, box, stamp, kind, is_copy=False)
    return {}


def _stamp(editing: Editing, source: Area, kind: str) -> Stamp:
    results = Results(editing.workbook)
    rows = take(source.sheet, source.box)
    has_values = kind == "PASTE_VALUES"
    return Stamp(
        rows=rows,
        values=[
            [_value(results, source.sheet, taken) if has_values else None for taken in row]
            for row in rows
        ],
        merges=[
            _moved(each, -source.box.top, -source.box.left)
            for each in source.sheet.merges_in(source.box)
            if source.box.contains(each)
        ],
    )


def _value(results: Results, sheet: Sheet, taken: Taken) -> CellValue:
    value = results.of(sheet, taken.row, taken.column).value
    return value.text if isinstance(value, CellError) else value


def _transposed(stamp: Stamp) -> Stamp:
    return Stamp(
        rows=list(zip(*stamp.rows, strict=True)),
        values=list(zip(*stamp.values, strict=True)),
        merges=[
            Box(top=each.left, left=each.top, bottom=each.right, right=each.bottom)
            for each in stamp.merges
        ],
    )


def _repeated(target: int, source: int) -> int:
    return target if target % source == 0 else source


def _paste(
    editing: Editing, sheet: Sheet, box: Box, stamp: Stamp, kind: str, *, is_copy: bool
) -> None:
    """Paste over a box whose height and width are multiples of the stamp's height and width."""
    if not sheet.grid.contains(box):
        raise invalid("The destination of the paste is not within the grid.")
    require_unprotected(sheet, box, editing.account)
    for row in range(box.top, box.bottom):
        at = (row - box.top) % stamp.height
        cells = []
        for column, old in enumerate(full_row(sheet, row, box), start=box.left):
            across = (column - box.left) % stamp.width
            taken = stamp.rows[at][across]
            new = _followed(taken, row, column) if is_copy else taken.cell
            cells.append(PASTES[kind](old, new, stamp.values[at][across]))
        put(sheet, row, box.left, cells)
    if kind in MERGING:
        _paste_merges(sheet, box, stamp)


def _followed(taken: Taken, row: int, column: int) -> Cell:
    formula = taken.cell.formula
    moved = None
    if formula is not None:
        moved = translated(formula, row - taken.row, column - taken.column)
    return replace(taken.cell, formula=moved, spill=None)


def _paste_merges(sheet: Sheet, box: Box, stamp: Stamp) -> None:
    remove_merges(sheet, box)
    for top in range(box.top, box.bottom, stamp.height):
        for left in range(box.left, box.right, stamp.width):
            sheet.merges.extend(merge_of(_moved(each, top, left)) for each in stamp.merges)


def _moved(box: Box, down: int, right: int) -> Box:
    return sized(top=box.top + down, left=box.left + right, height=box.height, width=box.width)


def _without_borders(old: Cell, new: Cell, _: CellValue) -> Cell:
    kept = {name: each for name, each in (new.format or NOTHING).items() if name != "borders"}
    borders = {name: each for name, each in (old.format or NOTHING).items() if name == "borders"}
    return replace(new, format={**kept, **borders} or None)


PASTES: Mapping[str, Paste] = {
    "PASTE_NORMAL": lambda old, new, value: new,
    "PASTE_VALUES": lambda old, new, value: replace(old, value=value, formula=None),
    "PASTE_FORMAT": lambda old, new, value: replace(old, format=new.format),
    "PASTE_NO_BORDERS": _without_borders,
    "PASTE_FORMULA": lambda old, new, value: replace(old, value=new.value, formula=new.formula),
    "PASTE_DATA_VALIDATION": lambda old, new, value: replace(old, validation=new.validation),
    "PASTE_CONDITIONAL_FORMATTING": lambda old, new, value: old,
}
MERGING = ("PASTE_NORMAL", "PASTE_NO_BORDERS")
