"""batchUpdate: trim and split texts in cells."""

import re
from collections.abc import Mapping
from dataclasses import replace

from sheets_emulator.edits.block import open_area
from sheets_emulator.grid.entered import stored, typed
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Area, Editing
from sheets_emulator.resources.places import require_unprotected

BLANKS = re.compile(r"\s+")
DELIMITERS: Mapping[str, str] = {"COMMA": ",", "SEMICOLON": ";", "PERIOD": ".", "SPACE": " "}


def trim_whitespace(editing: Editing, message: Message) -> Reply:
    """trimWhitespace: trim the texts of a range. A trimmed text stays a text."""
    area = open_area(editing, message)
    changed = 0
    for row, column, text in _texts(area):
        trimmed = BLANKS.sub(" ", text).strip()
        if trimmed != text:
            area.sheet.write(row, column, [stored(trimmed)])
            changed += 1
    return {"trimWhitespace": {"cellsChangedCount": changed} if changed else {}}


def text_to_columns(editing: Editing, message: Message) -> Reply:
    """textToColumns: split texts into the cells to the right. Parts are parsed like typed input."""
    delimiter = _read_delimiter(message)
    area = open_area(editing, message, "source")
    sheet = area.sheet
    if area.box.width != 1:
        raise invalid("The source range must span exactly one column.")
    parts = [(row, text.split(delimiter)) for row, _, text in _texts(area) if delimiter in text]
    width = max((len(each) for _, each in parts), default=1)
    require_unprotected(sheet, replace(area.box, right=area.box.left + width), editing.account)
    columns = max(sheet.column_count, area.box.left + width)
    editing.workbook.require_room((columns - sheet.column_count) * sheet.row_count)
    sheet.grow(row_count=sheet.row_count, column_count=columns)
    for row, texts in parts:
        sheet.write(row, area.box.left, list(map(typed, texts)))
    return {}


def _texts(area: Area) -> list[tuple[int, int, str]]:
    """Return row, column and text of each cell with a text in an area."""
    return [
        (row, column, cell.value)
        for row in range(area.box.top, min(area.box.bottom, len(area.sheet.rows)))
        for column in range(area.box.left, min(area.box.right, len(area.sheet.rows[row])))
        for cell in [area.sheet.cell(row, column)]
        if isinstance(cell.value, str) and cell.formula is None
    ]


def _read_delimiter(message: Message) -> str:
    kind = message.text("delimiterType")
    custom = message.text("delimiter")
    if kind in DELIMITERS:
        return DELIMITERS[kind]
    if kind != "CUSTOM":
        raise unimplemented("textToColumns with an automatically detected delimiter")
    if not custom:
        raise invalid("A custom delimiter must not be empty.")
    return custom
