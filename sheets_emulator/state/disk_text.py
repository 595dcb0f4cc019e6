"""JSON texts of stored spreadsheets, and detection of changed rows.

Rules:
- Members of a spreadsheet or worksheet are stored under their own names. Members that begin with an
  underscore are not stored. Members in `APART` have their own tables or columns.
- A cell is stored as its value, or as an object with its members.
- Rows are compared by identity, because a write replaces the tuple of each changed row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import compress, count
from operator import is_not
from types import MappingProxyType
from typing import TypeVar, cast

import msgspec

from sheets_emulator.grid.cell import Cell, Content
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook

T = TypeVar("T")

APART = ("spreadsheet_id", "sheets", "sheet_id", "rows")
NO_ROWS: Sequence[Row] = ()


def workbook_text(workbook: Workbook) -> str:
    """Encode the members of a spreadsheet without its worksheets as JSON."""
    return _ENCODER.encode(_members(workbook)).decode()


def read_workbook(spreadsheet_id: str, text: str, sheets: list[Sheet]) -> Workbook:
    """Decode a spreadsheet and add the worksheets. Raises msgspec.MsgspecError for invalid text."""
    workbook = _read(text, Workbook, spreadsheet_id=spreadsheet_id, sheets=[])
    workbook.sheets = sheets
    return workbook


def sheet_text(sheet: Sheet) -> str:
    """Encode the members of a worksheet without its rows as JSON."""
    return _ENCODER.encode(_members(sheet)).decode()


def read_sheet(sheet_id: int, text: str, rows: list[Row]) -> Sheet:
    """Decode a worksheet and add the rows. Raises msgspec.MsgspecError for invalid text."""
    sheet = _read(text, Sheet, sheet_id=sheet_id)
    sheet.rows = rows
    return sheet


def row_text(row: Row) -> str:
    return _ENCODER.encode([_shown(content) for content in row]).decode()


def read_row(text: str) -> Row:
    """Decode a row. Raises msgspec.MsgspecError for invalid text."""
    return _ROW.decode(text)


def changed_rows(before: Sheet | None, after: Sheet) -> Iterator[int]:
    """Yield the index of each row of `after` that is new or not the same object as in `before`."""
    old = NO_ROWS if before is None else before.rows
    yield from compress(count(), map(is_not, old, after.rows))
    yield from range(len(old), len(after.rows))


def _members(kept: Workbook | Sheet) -> dict[str, object]:
    names = (field.name for field in fields(kept))
    return {
        name: getattr(kept, name)
        for name in names
        if name not in APART and not name.startswith("_")
    }


def _read(text: str, kind: type[T], **apart: object) -> T:
    members = msgspec.json.decode(text, type=dict[str, object])
    return msgspec.convert({**members, **apart}, kind, str_keys=True)


def _shown(content: Content) -> object:
    if not isinstance(content, Cell):
        return content
    names = (field.name for field in fields(content))
    members = {name: getattr(content, name) for name in names}
    return {name: value for name, value in members.items() if value is not None}


def _plain(kept: object) -> object:
    """Convert types that the encoder does not support."""
    if isinstance(kept, MappingProxyType):
        return dict(cast(Mapping[str, object], kept))
    raise TypeError(f"A file cannot store a {type(kept).__name__}.")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)
_ROW = msgspec.json.Decoder(Row)
