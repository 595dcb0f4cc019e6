"""Spreadsheets from .xlsx files, converted like Google's import.

Rules:
- Texts stay texts. A formula becomes its last result, because the file reader returns no formulas;
  for the same reason an error cell (`#N/A`) becomes blank.
- Dates and times get the formats below; other formats are dropped.
- The grid is exactly as large as the data, starting at A1. Hidden worksheets stay hidden; charts
  are left out.
"""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetMetadata,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from sheets_emulator.formats.serial import EPOCH, from_moment
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, Cell, Content, number_format
from sheets_emulator.grid.sheet import Sheet

DAY = timedelta(days=1)
MIDNIGHT = datetime.min.time()
DATE = number_format("DATE", "yyyy-mm-dd")
DATE_TIME = number_format("DATE_TIME", "yyyy-mm-dd h:mm:ss")
TIME = number_format("TIME", "h:mm:ss")
DURATION = number_format("TIME", "[h]:mm:ss")

Read = str | bool | int | float | date | datetime | time | timedelta


class XlsxError(Exception):
    """The file cannot be read; the message gives the reason without the file name."""


def read_xlsx(path: Path) -> list[Sheet]:
    """The worksheets of a file, in order. Raises XlsxError and OSError."""
    try:
        with CalamineWorkbook.from_path(path) as book:
            return [
                _sheet(sheet_id, metadata, book.get_sheet_by_name(metadata.name))
                for sheet_id, metadata in enumerate(_worksheets(book))
            ]
    except PasswordError as error:
        raise XlsxError("it is protected with a password.") from error
    except CalamineError as error:
        raise XlsxError(f"it cannot be read as .xlsx: {error}.") from error


def _worksheets(book: CalamineWorkbook) -> list[SheetMetadata]:
    return [each for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]


def _sheet(sheet_id: int, metadata: SheetMetadata, read: CalamineSheet) -> Sheet:
    rows = [tuple(map(_content, row)) for row in read.to_python(skip_empty_area=False)]
    return Sheet(
        sheet_id=sheet_id,
        title=metadata.name,
        row_count=max(len(rows), 1),
        column_count=max(map(len, rows), default=1),
        hidden=metadata.visible != SheetVisibleEnum.Visible,
        rows=rows,
    )


def _content(read: Read) -> Content:
    return CONTENTS[type(read)](read)


def _text(read: str) -> Content:
    if len(read) > MAX_TEXT_LENGTH:
        raise XlsxError(f"a cell holds more than {MAX_TEXT_LENGTH} characters.")
    return read or None


def _truth(read: bool) -> Content:
    return read


def _number(read: float) -> Content:
    if not math.isfinite(read):
        raise XlsxError(f"a cell holds the number {read}.")
    return float(read)


def _date(read: date) -> Content:
    return Cell(value=from_moment(datetime.combine(read, MIDNIGHT)), format=DATE)


def _date_time(read: datetime) -> Content:
    return Cell(value=from_moment(read), format=DATE_TIME)


def _time(read: time) -> Content:
    return Cell(value=from_moment(datetime.combine(EPOCH, read)), format=TIME)


def _duration(read: timedelta) -> Content:
    return Cell(value=read / DAY, format=DURATION)


CONTENTS: Mapping[type, Callable[[Any], Content]] = {
    str: _text,
    bool: _truth,
    int: _number,
    float: _number,
    date: _date,
    datetime: _date_time,
    time: _time,
    timedelta: _duration,
}
