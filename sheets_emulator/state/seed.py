"""Spreadsheets from a seed directory.

Rules:
- `DIR/<spreadsheetId>/<worksheet>.csv` is a worksheet. Its title is the file name without `.csv`,
  percent-decoded once (`A%2FB.csv` is `A/B`). Worksheets are in the order of file names.
- `DIR/<spreadsheetId>.xlsx` is a spreadsheet too: see `seed_xlsx`.
- The file `DIR/<spreadsheetId>.unshared` is a spreadsheet not shared with any account.
- Only regular files are read, 100 MiB for each spreadsheet at most. A link in a folder must stay
  within it: other programs' files are not data.
- Other hidden files are ignored. Anything else in `DIR` or in a spreadsheet's directory is an
  error.
- A spreadsheet has one entry in `DIR`. Titles of worksheets must satisfy the rules of `addSheet`.
- CSV cells are parsed as if typed by a person; but texts that start with `+` and are not a
  supported formula stay texts: phone numbers, for example. The grid is exactly as large as the
  data.
- Nothing is written.
"""

import csv
import io
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from sheets_emulator.formulas.formula import parse
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, Cell, bare
from sheets_emulator.grid.entered import stored, typed
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import MAX_CELLS, Workbook
from sheets_emulator.refusal import Refusal
from sheets_emulator.state.seed_xlsx import XlsxError, read_xlsx

UNSHARED = ".unshared"
XLSX = ".xlsx"
CSV = ".csv"
TOO_LONG = f"a cell holds more than {MAX_TEXT_LENGTH} characters."
MAX_FILE_BYTES = 100 * 2**20
TOO_LARGE = f"the files of a spreadsheet hold {MAX_FILE_BYTES} bytes at most."
TOO_MANY_CELLS = f"a spreadsheet holds {MAX_CELLS} cells at most."
LOOKED_AT = 10
"""Lines that show how a file separates cells."""
PAST_READER = "field larger than field limit"  # csv's error for an even longer text
MISTAKEN = {
    UNSHARED: "a spreadsheet that is not shared is an empty file of this name.",
    XLSX: "a spreadsheet in this format is a file.",
}


class SeedError(Exception):
    """The seed directory cannot be used; the message gives the file and the reason."""


@dataclass(frozen=True, kw_only=True)
class Seed:
    """Initial data of an emulator."""

    workbooks: Mapping[str, Workbook] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()


def read_seed(directory: Path) -> Seed:
    """Read a seed directory. Raises SeedError."""
    if not directory.is_dir():
        raise SeedError(f"The seed {directory} is not a directory.")
    workbooks: dict[str, Workbook] = {}
    unshared: set[str] = set()
    for path in _entries(directory, directory):
        spreadsheet_id = _spreadsheet_id(path)
        if spreadsheet_id in workbooks or spreadsheet_id in unshared:
            raise SeedError(f"{path}: there is another entry for {spreadsheet_id!r}.")
        if path.suffix == UNSHARED:
            unshared.add(spreadsheet_id)
        else:
            sheets = _from_xlsx(path) if path.suffix == XLSX else _from_directory(path, directory)
            workbooks[spreadsheet_id] = _workbook(path, spreadsheet_id, sheets)
    return Seed(workbooks=workbooks, unshared=frozenset(unshared))


def read_spreadsheet(path: Path, spreadsheet_id: str) -> Seed:
    """A seed of one spreadsheet: an .xlsx file, a .csv file, or the .csv files in a folder.

    Other files in the folder are ignored. Cells may be separated by semicolons or tabs, if each of
    the first lines has some and the header has no comma. Raises SeedError.
    """
    kind = path.suffix.lower()
    if path.is_dir():
        files = _entries(path, path, only_csv=True)
        if not files:
            raise SeedError(f"{path}: there is no {CSV} file in this folder.")
        sheets = _sheets(files, finds_separator=True)
    elif not path.exists():
        raise SeedError(f"{path}: no such file or folder.")
    elif kind == XLSX:
        sheets = _from_xlsx(path)
    elif kind == CSV:
        sheets = _sheets([path], finds_separator=True)
    else:
        raise SeedError(f"{path}: a spreadsheet is a {XLSX} or {CSV} file: save it as one.")
    return Seed(workbooks={spreadsheet_id: _workbook(path, spreadsheet_id, sheets)})


def _spreadsheet_id(path: Path) -> str:
    """The spreadsheet ID of an entry; raises for an invalid entry."""
    is_file = path.is_file()
    if path.suffix in MISTAKEN:
        if not is_file:
            raise SeedError(f"{path}: {MISTAKEN[path.suffix]}")
        return _utf8(path, path.stem)
    if not path.is_dir():
        raise SeedError(
            f"{path}: a spreadsheet is a directory of .csv files, {XLSX}, or {UNSHARED}."
        )
    return _utf8(path, path.name)


def _utf8(path: Path, name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise SeedError(f"{str(path)!a}: the file name is not UTF-8.") from error
    return name


def _entries(directory: Path, folder: Path, *, only_csv: bool = False) -> list[Path]:
    """The visible entries in order; a title may start with a dot. None may be outside `folder`."""
    found = sorted(
        path
        for path in directory.iterdir()
        if path.suffix == CSV or not path.name.startswith(".")
        if path.suffix.lower() == CSV or not only_csv
    )
    within = os.path.realpath(folder)
    for path in found:
        if os.path.commonpath([within, os.path.realpath(path)]) != within:
            raise SeedError(f"{path}: this is a link out of the folder: copy its file here.")
    return found


def _workbook(path: Path, spreadsheet_id: str, sheets: list[Sheet]) -> Workbook:
    workbook = Workbook(spreadsheet_id=spreadsheet_id, title=spreadsheet_id, sheets=[])
    for sheet in sheets:
        try:
            workbook.require_free_title(sheet.title)
        except Refusal as refusal:
            raise SeedError(f"{path}: {refusal.message}") from refusal
        workbook.sheets.append(sheet)
    if sum(sheet.cell_count for sheet in sheets) > MAX_CELLS:
        raise SeedError(f"{path}: {TOO_MANY_CELLS}")
    return workbook


def _from_xlsx(path: Path) -> list[Sheet]:
    try:
        sheets = read_xlsx(path, _content(path))
    except (OSError, XlsxError) as error:
        raise SeedError(f"{path}: {error}") from error
    if not sheets:
        raise SeedError(f"{path}: a spreadsheet needs at least one worksheet.")
    return sheets


def _from_directory(directory: Path, folder: Path) -> list[Sheet]:
    files = _entries(directory, folder)
    if not files:
        raise SeedError(f"{directory}: a spreadsheet needs at least one .csv file.")
    for path in files:
        if path.suffix != ".csv" or not path.is_file():
            raise SeedError(f"{path}: a worksheet is a .csv file.")
    return _sheets(files)


def _sheets(files: Sequence[Path], *, finds_separator: bool = False) -> list[Sheet]:
    left, sheets = MAX_FILE_BYTES, []
    for sheet_id, path in enumerate(files):
        content = _content(path, left)
        left -= len(content)
        separator = _separator(content) if finds_separator else ","
        sheets.append(_sheet(path, sheet_id, _lines(path, content, separator)))
    return sheets


def _content(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file; a pipe or a device may have no end, and is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise SeedError(f"{path}: this is no regular file, but a pipe or a device.")
            content = b"" if found.st_size > max_bytes else file.read(max_bytes + 1)
    except OSError as error:
        raise SeedError(f"{path}: {error.strerror}.") from error
    if max(found.st_size, len(content)) > max_bytes:
        raise SeedError(f"{path}: {TOO_LARGE}")
    return content


def _sheet(path: Path, sheet_id: int, lines: list[list[str]]) -> Sheet:
    rows = [tuple(map(bare, _cells(path, line))) for line in lines]
    return Sheet(
        sheet_id=sheet_id,
        title=_title(path),
        row_count=max(len(rows), 1),
        column_count=max((len(row) for row in rows), default=1) or 1,
        rows=rows,
        has_formulas=any(isinstance(each, Cell) and each.formula for row in rows for each in row),
    )


def _title(path: Path) -> str:
    try:
        return unquote(_utf8(path, path.stem), errors="strict")
    except UnicodeDecodeError as error:
        raise SeedError(f"{path}: the file name is not percent-encoded UTF-8.") from error


def _lines(path: Path, content: bytes, separator: str) -> list[list[str]]:
    lines: list[list[str]] = []
    cell_count = 0
    try:
        file = io.StringIO(content.decode("utf-8-sig"), newline="")
        for line in csv.reader(file, delimiter=separator, strict=True):
            lines.append(line)
            cell_count += max(len(line), 1)
            if cell_count > MAX_CELLS:
                raise SeedError(f"{path}: {TOO_MANY_CELLS}")
        return lines
    except UnicodeDecodeError as error:
        raise SeedError(f"{path}: the text is not UTF-8: save it as CSV UTF-8.") from error
    except csv.Error as error:
        reason = TOO_LONG if str(error).startswith(PAST_READER) else error
        raise SeedError(f"{path}: {reason}") from error


def _separator(content: bytes) -> str:
    """The separator of the first lines; the comma if they are not clear."""
    first = [re.sub(rb'"[^"]*"', b"", line) for line in islice(io.BytesIO(content), LOOKED_AT)]
    lines = [line for line in first if line.strip()]
    if not lines or b"," in lines[0]:
        return ","
    return next((each for each in ";\t" if all(each.encode() in line for line in lines)), ",")


def _cells(path: Path, line: list[str]) -> Iterator[Cell]:
    for text in line:
        if len(text) > MAX_TEXT_LENGTH:
            raise SeedError(f"{path}: {TOO_LONG}")
        yield _read(text)


def _read(text: str) -> Cell:
    cell = typed(text)
    is_failed = cell.formula is not None and isinstance(parse(cell.formula), CellError)
    return stored(text) if is_failed and text.startswith("+") else cell
