"""The spreadsheets that a seed directory describes.

Rules
- `DIR/<spreadsheetId>/<worksheet>.csv` is a worksheet, its title the file name without `.csv`,
  percent-decoded once (`A%2FB.csv` is `A/B`); worksheets are in the order of their file names.
- `DIR/<spreadsheetId>.unshared`, a file, is a spreadsheet that is not shared with the service
  account.
- Anything else in `DIR` or in a spreadsheet's directory is an error; other hidden files are
  passed over.
- Cells are read as typed by a person; the grid is exactly as large as the data. Nothing is written.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from gateway.emulator.cell import LONGEST_TEXT, Cell, bare
from gateway.emulator.entered import typed
from gateway.emulator.sheet import Sheet
from gateway.emulator.workbook import Workbook

UNSHARED = ".unshared"
MISTAKEN = {
    UNSHARED: "a spreadsheet that is not shared is an empty file of this name.",
    ".xlsx": "seeds in the format .xlsx are not supported; use a directory of .csv files.",
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
        if path.suffix == UNSHARED and path.is_file():
            unshared.add(path.stem)
        elif path.suffix in MISTAKEN:
            raise SeedError(f"{path}: {MISTAKEN[path.suffix]}")
        elif path.is_dir():
            workbooks[path.name] = _workbook(path)
        else:
            raise SeedError(f"{path}: a spreadsheet is a directory of .csv files, or {UNSHARED}.")
    return Seed(workbooks=workbooks, unshared=frozenset(unshared))


def _entries(directory: Path) -> list[Path]:
    """What is not hidden, in order; a title may begin with a dot."""
    return sorted(
        path
        for path in directory.iterdir()
        if path.suffix == ".csv" or not path.name.startswith(".")
    )


def _workbook(directory: Path) -> Workbook:
    files = _entries(directory)
    if not files:
        raise SeedError(f"{directory}: a spreadsheet needs at least one .csv file.")
    for path in files:
        if path.suffix != ".csv" or not path.is_file():
            raise SeedError(f"{path}: a worksheet is a .csv file.")
    sheets = [_sheet(path, number) for number, path in enumerate(files)]
    workbook = Workbook(spreadsheet_id=directory.name, title=directory.name, sheets=sheets)
    for sheet in sheets:
        if workbook.titled(sheet.title) is not sheet:
            raise SeedError(f"{directory}: two worksheets are called {sheet.title!r}.")
    return workbook


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
        return unquote(path.stem, errors="strict")
    except UnicodeDecodeError as error:
        raise SeedError(f"{path}: the file name is not percent-encoded UTF-8.") from error


def _lines(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise SeedError(f"{path}: {error}") from error


def _cells(path: Path, line: list[str]) -> Iterator[Cell]:
    for text in line:
        if len(text) > LONGEST_TEXT:
            raise SeedError(f"{path}: a cell holds more than {LONGEST_TEXT} characters.")
        yield typed(text)
