"""SheetProperties of new and existing worksheets.

Rules:
- Grid sizes are set first. So a smaller grid is checked with the number of frozen rows and columns
  before the request.
- A member in an update's mask without a value gets its default.
"""

from collections.abc import Callable, Sequence

from sheets_emulator.edits.dimensions import resize, rewrite_formulas
from sheets_emulator.edits.frozen_lines import require_unfrozen, require_unfrozen_left
from sheets_emulator.formulas.references import renamed
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.color import with_both
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.fields import read_mask, update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, unimplemented
from sheets_emulator.reply import Json
from sheets_emulator.resources.grid_range import Editing
from sheets_emulator.resources.places import require_unprotected

SIZES = {"rowCount": "rows", "columnCount": "columns"}
FROZEN = ("frozenRowCount", "frozenColumnCount")
OPTIONS = (*FROZEN, "hideGridlines", "rowGroupControlAfter", "columnGroupControlAfter")
TAB = ("tabColor", "tabColorStyle")
LOOK = ("rightToLeft", *TAB)
KEPT = ("sheetId", "sheetType", "dataSourceSheetProperties")  # updates do not change these members

Setter = Callable[[Editing, Sheet, Message], None]


def read_properties(message: Message) -> Message:
    """Parse the SheetProperties of a request. Raises a 501 unless the worksheet is a grid."""
    properties = message.message("properties")
    kind = properties.text("sheetType", "GRID")
    if kind != "GRID" or properties.has("dataSourceSheetProperties"):
        raise unimplemented(f"worksheets of the type {kind}")
    return properties


def apply_properties(sheet: Sheet, properties: Message) -> None:
    """Apply all properties except ID, title and index to a new worksheet."""
    grid = properties.message("gridProperties")
    sheet.hidden = properties.flag("hidden")
    sheet.row_count = _size(grid, "rowCount", sheet.row_count)
    sheet.column_count = _size(grid, "columnCount", sheet.column_count)
    sheet.options = _given(grid, OPTIONS)
    sheet.look = with_both(_given(properties, LOOK), *TAB)
    require_unfrozen(sheet)


def update_properties(editing: Editing, sheet: Sheet, properties: Message, mask: str) -> None:
    """Set the properties in the field mask."""
    paths = update_paths(mask, "SheetProperties")
    _require_lines(properties, paths, takes_all="*" in read_mask(mask))
    for path in sorted(paths, key=_is_no_size):
        name = path if path.startswith("gridProperties.") else path.partition(".")[0]
        if name not in KEPT:
            SETTERS[name](editing, sheet, properties)
    require_unfrozen(sheet)


def require_shown(workbook: Workbook) -> None:
    """Raise a 400 if all worksheets are hidden."""
    if all(sheet.hidden for sheet in workbook.sheets):
        raise invalid("You can't hide all the sheets in a document.")


def _require_lines(properties: Message, paths: Sequence[str], *, takes_all: bool) -> None:
    """Raise a 400 for a grid without rows or columns.

    Unless `takes_all` is True (mask `*`), a missing size is an error, too.
    """
    grid = properties.message("gridProperties")
    for name, lines in SIZES.items():
        is_zero = grid.integer(name) == 0 and (grid.has(name) or not takes_all)
        if is_zero and f"gridProperties.{name}" in paths:
            raise invalid(f"You can't delete all the {lines} on the sheet.")


def _is_no_size(path: str) -> bool:
    return path.rpartition(".")[2] not in SIZES


def _set_title(editing: Editing, sheet: Sheet, properties: Message) -> None:
    title = properties.text("title")
    editing.workbook.require_free_title(title, owner=sheet)
    old, sheet.title = sheet.title, title
    rewrite_formulas(editing.workbook, lambda _, formula: renamed(formula, old, title))


def _set_index(editing: Editing, sheet: Sheet, properties: Message) -> None:
    """Move the worksheet to another index, by default to the end (as at Google).

    The index counts before the move.
    """
    sheets = editing.workbook.sheets
    current = sheets.index(sheet)
    index = properties.integer("index", len(sheets))
    if index < 0:
        raise invalid(f"The sheet index {index} must not be negative.")
    target = min(index, len(sheets))
    if target not in (current, current + 1):
        sheets.remove(sheet)
        sheets.insert(target - 1 if target > current else target, sheet)


def _set_hidden(editing: Editing, sheet: Sheet, properties: Message) -> None:
    sheet.hidden = properties.flag("hidden")
    require_shown(editing.workbook)


def _set_row_count(editing: Editing, sheet: Sheet, properties: Message) -> None:
    rows = _size(properties.message("gridProperties"), "rowCount", sheet.row_count)
    require_unfrozen_left(sheet, rows, sheet.row_count, is_rows=True)
    lost = Box(top=rows, bottom=sheet.row_count, left=0, right=sheet.column_count)
    _resize(editing, sheet, lost, rows=rows, columns=sheet.column_count)


def _set_column_count(editing: Editing, sheet: Sheet, properties: Message) -> None:
    columns = _size(properties.message("gridProperties"), "columnCount", sheet.column_count)
    require_unfrozen_left(sheet, columns, sheet.column_count, is_rows=False)
    lost = Box(top=0, bottom=sheet.row_count, left=columns, right=sheet.column_count)
    _resize(editing, sheet, lost, rows=sheet.row_count, columns=columns)


def _resize(editing: Editing, sheet: Sheet, lost: Box, *, rows: int, columns: int) -> None:
    if lost.height > 0 and lost.width > 0:
        require_unprotected(sheet, lost, editing.account)
    editing.workbook.require_room(rows * columns - sheet.cell_count)
    resize(editing.workbook, sheet, row_count=rows, column_count=columns)


def _option_setter(name: str) -> Setter:
    def set_option(_: Editing, sheet: Sheet, properties: Message) -> None:
        grid = properties.message("gridProperties")
        kept = {key: value for key, value in sheet.options.items() if key != name}
        sheet.options = {**kept, **_given(grid, (name,))}

    return set_option


def _set_direction(_: Editing, sheet: Sheet, properties: Message) -> None:
    kept = {key: value for key, value in sheet.look.items() if key != "rightToLeft"}
    sheet.look = {**kept, **({"rightToLeft": True} if properties.flag("rightToLeft") else {})}


def _set_tab(_: Editing, sheet: Sheet, properties: Message) -> None:
    """Set both members of the tab's colour.

    A style without a colour clears both (recorded from Google).
    """
    kept = {key: value for key, value in sheet.look.items() if key not in TAB}
    sheet.look = with_both({**kept, **_given(properties, TAB)}, *TAB)


def _given(message: Message, names: Sequence[str]) -> Json:
    """Return the members with a value other than false or zero, as in Google's answers."""
    return {
        name: member
        for name, member in message.fields.items()
        if name in names and (member or name in TAB)
    }


def _size(grid: Message, name: str, default: int) -> int:
    size = grid.integer(name, default)
    if size < 1:
        raise invalid(f"gridProperties.{name} must be greater than 0.")
    return size


SETTERS: dict[str, Setter] = {
    "title": _set_title,
    "index": _set_index,
    "hidden": _set_hidden,
    "rightToLeft": _set_direction,
    "tabColor": _set_tab,
    "tabColorStyle": _set_tab,
    "gridProperties.rowCount": _set_row_count,
    "gridProperties.columnCount": _set_column_count,
    **{f"gridProperties.{name}": _option_setter(name) for name in OPTIONS},
}
