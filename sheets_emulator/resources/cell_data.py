"""CellData: the content of a cell in requests and in answers of spreadsheets.get.

Rules:
- A request sets the members that its field mask names. A named member without a value is cleared.
- The emulator ignores members outside the field mask, as Google does.
- Rich text, chips, pivot tables and data source tables are unsupported. A mask that includes one of
  these members gets 501.
- `effectiveFormat` is the entered format plus the number format inherited by a formula. The
  spreadsheet's default format and conditional formats are not applied.
- Trailing blank cells and rows are left out (recorded from Google). Other blank cells and rows are
  `{}`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sheets_emulator.formats.number_kind import kind_of
from sheets_emulator.formulas.display import displayed, plain
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.result import CellError, Evaluated
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import BLANK, MAX_TEXT_LENGTH, NOTHING, Cell, CellValue, whole
from sheets_emulator.grid.entered import stored
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.protocol.fields import Mask, read_mask, require_updatable
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import CELL_TOO_LONG, invalid, invalid_field, unimplemented
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.cell_format import merging
from sheets_emulator.resources.validation import read_rule

VALUE_KINDS: dict[type, str] = {str: "stringValue", bool: "boolValue", float: "numberValue"}
ENTERED_KINDS = ("formulaValue", "stringValue", "boolValue", "numberValue")
EXTENDED_VALUE = (*ENTERED_KINDS, "errorValue")
NOT_KEPT = ("textFormatRuns", "chipRuns", "pivotTable", "dataSourceTable")
READ_ONLY = (
    "effectiveValue",
    "formattedValue",
    "effectiveFormat",
    "hyperlink",
    "dataSourceFormula",
)


@dataclass(frozen=True, kw_only=True)
class Patch:
    """Change of a cell.

    `cell` has the new value, formula, note and validation rule. `merge` receives the old CellFormat
    and returns the new one. None means no format.
    """

    cell: Cell
    merge: Callable[[Json | None], Json | None]


def clearing(mask: Mask) -> Patch:
    """Return a patch that clears every member in the field mask."""
    return Patch(cell=BLANK, merge=_merging(NOTHING, mask))


def read_cell_mask(text: str) -> Mask:
    """Parse the field mask of a request that writes cells.

    Raises a 400 for an unknown member, and a 501 for an unsupported or read-only member.
    """
    mask = read_mask(text)
    require_updatable(mask, "CellData")
    for name in (*NOT_KEPT, *READ_ONLY):
        if name in mask:
            raise unimplemented(f"writing '{name}' of a cell")
    return mask


def read_rows(rows: Sequence[Message], mask: Mask) -> list[list[Patch]]:
    """Parse RowData objects into patches by row and column."""
    return [[read_patch(cell, mask) for cell in row.messages("values")] for row in rows]


def read_patch(data: Message, mask: Mask) -> Patch:
    """Parse a CellData. Raises a 501 for an unsupported member if the mask is `*`."""
    for name in NOT_KEPT:
        if data.has(name) and "*" in mask:
            raise unimplemented(f"writing '{name}' of a cell")
    cell = replace(
        _read_value(data.message("userEnteredValue")),
        note=data.text("note") or None,
        validation=read_rule(data.message("dataValidation")),
    )
    given = data.message("userEnteredFormat")
    return Patch(cell=cell, merge=_merging(given.fields, mask))


def patched(old: Cell, patch: Patch, mask: Mask) -> Cell:
    """Return the cell with the members in the mask replaced or cleared."""
    takes_all = "*" in mask
    new = old
    if takes_all or "userEnteredValue" in mask:
        new = replace(new, value=patch.cell.value, formula=patch.cell.formula, spill=None)
    if takes_all or "userEnteredFormat" in mask:
        new = replace(new, format=patch.merge(old.format))
    if takes_all or "note" in mask:
        new = replace(new, note=patch.cell.note)
    if takes_all or "dataValidation" in mask:
        new = replace(new, validation=patch.cell.validation)
    return new


def grid_data(sheet: Sheet, box: Box, results: Results) -> Reply:
    """Return the GridData of a box (rectangle of cells), without row and column metadata."""
    starts = {"startRow": box.top, "startColumn": box.left}
    data: Reply = {name: start for name, start in starts.items() if start}
    rows = [
        _row_data(sheet, row, number, box.left, results)
        for number, row in enumerate(sheet.read(box), start=box.top)
    ]
    while rows and not rows[-1]:
        rows.pop()
    return {**data, "rowData": rows} if rows else data


def describe_cell(cell: Cell, evaluated: Evaluated) -> Reply:
    """Return the CellData of a cell. `evaluated` is the computed value of the cell."""
    shown: Reply = {}
    if cell.value is not None or cell.formula is not None:
        shown["userEnteredValue"] = _entered(cell)
    if not cell.is_blank:
        shown["effectiveValue"] = _extended(evaluated.value)
        shown["formattedValue"] = displayed(evaluated)
    effective = _effective_format(cell, evaluated)
    members = {
        "userEnteredFormat": cell.format,
        "effectiveFormat": effective,
        "note": cell.note,
        "dataValidation": cell.validation,
    }
    return {**shown, **{name: member for name, member in members.items() if member}}


def _merging(given: Json, mask: Mask) -> Callable[[Json | None], Json | None]:
    return merging(given, {} if "*" in mask else mask.get("userEnteredFormat", {}))


def _row_data(sheet: Sheet, row: Row, number: int, left: int, results: Results) -> Reply:
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    cells = [
        describe_cell(whole(content), results.of(sheet, number, column))
        for column, content in enumerate(row[:end], start=left)
    ]
    return {"values": cells} if cells else {}


def _entered(cell: Cell) -> Reply:
    return _extended(cell.value) if cell.formula is None else {"formulaValue": cell.formula}


def _extended(value: CellValue | CellError) -> Reply:
    if isinstance(value, CellError):
        return {"errorValue": {"type": value.kind, "message": value.message}}
    return {} if value is None else {VALUE_KINDS[type(value)]: plain(value)}


def _effective_format(cell: Cell, evaluated: Evaluated) -> Json | None:
    pattern = evaluated.pattern
    if pattern is None or pattern == cell.pattern:
        return cell.format
    taken = {"numberFormat": {"type": kind_of(pattern), "pattern": pattern}}
    return {**(cell.format or NOTHING), **taken}


def _read_value(value: Message) -> Cell:
    given = [name for name in EXTENDED_VALUE if value.has(name)]
    if len(given) > 1:
        complaint = "oneof field 'value' is already set. Cannot set"
        text = f"Invalid value at '{value.place}' (oneof), {complaint} '{given[1]}'"
        raise invalid_field(value.place, text)
    if not given:
        return BLANK
    if given[0] not in ENTERED_KINDS:
        raise unimplemented(f"writing the read-only value '{given[0]}'")
    return READERS[given[0]](value, given[0])


def _read_formula(value: Message, name: str) -> Cell:
    text = _short(value.text(name))
    if not text.startswith("="):
        raise invalid(f"A formula must begin with '=': {text[:50]}")
    return Cell(formula=text)


def _short(text: str) -> str:
    if len(text) > MAX_TEXT_LENGTH:
        raise invalid(CELL_TOO_LONG)
    return text


READERS: Mapping[str, Callable[[Message, str], Cell]] = {
    "formulaValue": _read_formula,
    "stringValue": lambda value, name: stored(_short(value.text(name))),
    "boolValue": lambda value, name: Cell(value=value.flag(name)),
    "numberValue": lambda value, name: Cell(value=value.number(name)),
}
