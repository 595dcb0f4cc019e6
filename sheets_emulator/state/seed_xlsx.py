"""Spreadsheets from .xlsx files, converted like Google's import.

Rules:
- Texts stay texts. A formula becomes its last result, because the file reader returns no formulas;
  for the same reason an error cell (`#N/A`) becomes blank.
- Dates and times get the formats below; other formats are dropped.
- The file reader makes all cells from A1 to the last one, and a single stray cell makes billions.
  So the places of cells are counted in the file before. It may skip damage, so a damaged file is
  refused before.
- The grid is exactly as large as the data, starting at A1. Hidden worksheets stay hidden; charts
  are left out.
"""

import io
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from functools import reduce
from pathlib import Path
from typing import IO, Any

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
from sheets_emulator.grid.workbook import MAX_CELLS

DAY = timedelta(days=1)
MIDNIGHT = datetime.min.time()
DATE = number_format("DATE", "yyyy-mm-dd")
DATE_TIME = number_format("DATE_TIME", "yyyy-mm-dd h:mm:ss")
TIME = number_format("TIME", "h:mm:ss")
DURATION = number_format("TIME", "[h]:mm:ss")

Read = str | bool | int | float | date | datetime | time | timedelta


OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The start of a file with a password, which is no ZIP archive."""
BLOCK_BYTES = 2**20
MAX_UNPACKED_BYTES = 2**30
PLACE = re.compile(
    rb"""<(?:[\w.-]+:)?(?:(row)|c)(?=[\s/>])(?:[^<>]*?\sr\s*=\s*["'](?:([A-Za-z]{1,7})?([0-9]{1,10}))["'])?"""
)
"""The start of a row or of a cell, with its place if it has one."""


class XlsxError(Exception):
    """The file cannot be read; the message gives the reason without the file name."""


def read_xlsx(path: Path, content: bytes) -> list[Sheet]:
    """The worksheets of a file with this content, in order. Raises XlsxError and OSError."""
    _check_size(content)
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


def _check_size(content: bytes) -> None:
    """Raise if the file is unpacked too large, or has a cell that is too far from A1."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            left = MAX_UNPACKED_BYTES
            for info in archive.infolist():
                with archive.open(info) as part:
                    left = _check_part(part, left)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        if not content.startswith(OLE):  # with a password; the file reader says so
            raise XlsxError(f"it cannot be read as .xlsx: {error}.") from error


def _check_part(part: IO[bytes], left: int) -> int:
    """How many unpacked bytes are left after this part. Raises XlsxError."""
    row = column = rows = columns = 0
    block, is_last = b"", False
    while not is_last:
        more = part.read(BLOCK_BYTES)
        is_last, left = not more, left - len(more)
        if left < 0:
            raise XlsxError(f"it is unpacked larger than {MAX_UNPACKED_BYTES} bytes.")
        block += more
        end = len(block) if is_last else block.rfind(b"<")  # its tag may go on
        for is_row, letters, digits in PLACE.findall(block[: max(end, 0)]):
            if is_row:
                row, column = int(digits or row + 1), 0
            else:
                row, column = int(digits or row), column_number(letters) if letters else column + 1
            rows, columns = max(rows, row), max(columns, column)
        if rows * columns > MAX_CELLS:
            raise XlsxError(
                f"a worksheet reaches to row {rows} and column {columns}, and a spreadsheet holds "
                f"{MAX_CELLS} cells at most: delete the cells far from the others."
            )
        block = block[end:] if end >= 0 else b""
        if len(block) > BLOCK_BYTES:
            if PLACE.match(block):
                raise XlsxError(f"it has a tag of more than {BLOCK_BYTES} bytes.")
            block = b""
    return left


def column_number(letters: bytes) -> int:
    return reduce(lambda number, letter: 26 * number + letter - 64, letters.upper(), 0)


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
