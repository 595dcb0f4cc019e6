"""The spreadsheets that a seed directory describes.

Rules
- `DIR/<spreadsheetId>/<worksheet>.csv` is a worksheet, its title the file name without `.csv`,
  percent-decoded once (`A%2FB.csv` is `A/B`); worksheets are in the order of their file names.
- `DIR/<spreadsheetId>.xlsx` is a spreadsheet, too: what `seed_xlsx` says.
- `DIR/<spreadsheetId>.unshared`, a file, is a spreadsheet that is not shared with the service
  account.
- Anything else in `DIR` or in a spreadsheet's directory is an error; other hidden files are
  passed over.
- A spreadsheet has one entry in `DIR`; titles of worksheets are refused as `addSheet` refuses them.
- Cells of a .csv file are read as typed by a person, but what starts with `+` and is no formula
  that is known here stays the text it is: a telephone number, say. The grid is exactly as large as
  the data.
- Nothing is written.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from sheets_emulator.formulas.formula import parse
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.cell import LONGEST_TEXT, Cell, bare
from sheets_emulator.grid.entered import stored, typed
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import MOST_CELLS, Workbook
from sheets_emulator.refusal import Refusal
from sheets_emulator.state.seed_xlsx import XlsxError, read_xlsx

UNSHARED = ".unshared"
XLSX = ".xlsx"
TOO_LONG = f"a cell holds more than {LONGEST_TEXT} characters."
PAST_READER = "field larger than field limit"  # what csv says of a text that is longer still
MISTAKEN = {
    UNSHARED: "a spreadsheet that is not shared is an empty file of this name.",
    XLSX: "a spreadsheet in this format is a file.",
}


class SeedError(Exception):
    """The seed directory cannot be used; the message says which file and why."""


@dataclass(frozen=True, kw_only=True)
class Seed:
    """What the emulator starts with."""

    workbooks: Mapping[str, Workbook] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()


def read_seed(directory: Path) -> Seed:
    """Everything a seed directory describes; raises SeedError."""
    if not directory.is_dir():
        raise SeedError(f"The seed {directory} is not a directory.")
    workbooks: dict[str, Workbook] = {}
    unshared: set[str] = set()
    for path in _entries(directory):
        spreadsheet_id = _spreadsheet_id(path)
        if spreadsheet_id in workbooks or spreadsheet_id in unshared:
            raise SeedError(f"{path}: there is another entry for {spreadsheet_id!r}.")
        if path.suffix == UNSHARED:
            unshared.add(spreadsheet_id)
        else:
            sheets = _from_xlsx(path) if path.suffix == XLSX else _from_directory(path)
            workbooks[spreadsheet_id] = _workbook(path, spreadsheet_id, sheets)
    return Seed(workbooks=workbooks, unshared=frozenset(unshared))


def _spreadsheet_id(path: Path) -> str:
    """The id that an entry of the seed is for; raises for what is no entry."""
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


def _entries(directory: Path) -> list[Path]:
    """What is not hidden, in order; a title may begin with a dot."""
    return sorted(
        path
        for path in directory.iterdir()
        if path.suffix == ".csv" or not path.name.startswith(".")
    )


def _workbook(path: Path, spreadsheet_id: str, sheets: list[Sheet]) -> Workbook:
    workbook = Workbook(spreadsheet_id=spreadsheet_id, title=spreadsheet_id, sheets=[])
    for sheet in sheets:
        try:
            workbook.require_free_title(sheet.title)
        except Refusal as refusal:
            raise SeedError(f"{path}: {refusal.message}") from refusal
        workbook.sheets.append(sheet)
    if sum(sheet.cell_count for sheet in sheets) > MOST_CELLS:
        raise SeedError(f"{path}: a spreadsheet holds {MOST_CELLS} cells at most.")
    return workbook


def _from_xlsx(path: Path) -> list[Sheet]:
    try:
        sheets = read_xlsx(path)
    except (OSError, XlsxError) as error:
        raise SeedError(f"{path}: {error}") from error
    if not sheets:
        raise SeedError(f"{path}: a spreadsheet needs at least one worksheet.")
    return sheets


def _from_directory(directory: Path) -> list[Sheet]:
    files = _entries(directory)
    if not files:
        raise SeedError(f"{directory}: a spreadsheet needs at least one .csv file.")
    for path in files:
        if path.suffix != ".csv" or not path.is_file():
            raise SeedError(f"{path}: a worksheet is a .csv file.")
    return [_sheet(path, number) for number, path in enumerate(files)]


def _sheet(path: Path, sheet_id: int) -> Sheet:
    rows = [tuple(map(bare, _cells(path, line))) for line in _lines(path)]
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


def _lines(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        told = TOO_LONG if str(error).startswith(PAST_READER) else error
        raise SeedError(f"{path}: {told}") from error


def _cells(path: Path, line: list[str]) -> Iterator[Cell]:
    for text in line:
        if len(text) > LONGEST_TEXT:
            raise SeedError(f"{path}: {TOO_LONG}")
        yield _read(text)


def _read(text: str) -> Cell:
    cell = typed(text)
    is_failed = cell.formula is not None and isinstance(parse(cell.formula), CellError)
    return stored(text) if is_failed and text.startswith("+") else cell
