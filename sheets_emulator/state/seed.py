"""Spreadsheets from a seed directory.

Rules:
- `DIR/<spreadsheetId>/<worksheet>.csv` is a worksheet. Its title is the file name without `.csv`,
  percent-decoded once (`A%2FB.csv` is `A/B`). Worksheets are in the order of file names.
- `DIR/<spreadsheetId>.xlsx` is a spreadsheet, too. See `seed_xlsx`.
- `DIR/<spreadsheetId>.json` is the body of a batchUpdate. The batchUpdate is applied to the
  spreadsheet as its owner. If `DIR` has no other entry with this ID, the spreadsheet is new.
- The file `DIR/<spreadsheetId>.unshared` is a spreadsheet that is not shared with any account.
- Only regular files are read, at most 100 MiB for each spreadsheet. A link in a folder must stay
  within the folder, because files of other programs are not data.
- Other hidden files are ignored. Any other entry in `DIR` or in a spreadsheet's directory is an
  error.
- A spreadsheet has one entry in `DIR`, and optionally its `.json` file. Titles of worksheets must
  satisfy the rules of `addSheet`.
- For contents of `.csv` files see `seed_csv`. The grid is exactly as large as the data.
- The content of a file shows its kind, because file names can be wrong.
- Nothing is written.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from sheets_emulator.formulas.spill import spill
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import MAX_CELLS, Workbook, new_sheet
from sheets_emulator.refusal import Refusal
from sheets_emulator.state import file_kind
from sheets_emulator.state.file_kind import kind_of_file
from sheets_emulator.state.seed_csv import CsvError, read_csv
from sheets_emulator.state.seed_xlsx import read_xlsx
from sheets_emulator.state.xlsx_package import XlsxError

UNSHARED = ".unshared"
EDITS = ".json"
XLSX = ".xlsx"
CSV = ".csv"
MAX_FILE_BYTES = 100 * 2**20
TOO_LARGE = (
    f"a spreadsheet can have at most {MAX_FILE_BYTES} bytes in files: split the spreadsheet."
)
TOO_MANY_CELLS = f"a spreadsheet can have at most {MAX_CELLS} cells: split the spreadsheet."
NAMES = {file_kind.XLSX: XLSX, file_kind.TEXT: CSV}
"""File name suffix of each kind of file that the emulator reads."""
UNREAD = {XLSX, ".xlsm", ".xlsb", ".xls", ".ods", ".numbers", ".tsv", ".tab"}
"""Suffixes of spreadsheet files that are not read as worksheets of a folder."""
NAMED_FILES = 3
MISTAKEN = {
    UNSHARED: "this must be an empty file.",
    EDITS: "this must be a file with the body of a batchUpdate.",
    XLSX: "this must be a file.",
}


class SeedError(Exception):
    """The seed directory cannot be used. The message has the file and the reason."""


@dataclass(frozen=True, kw_only=True)
class SeedEdits:
    """A file with the body of a batchUpdate."""

    path: Path
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Seed:
    """Initial data of an emulator.

    `workbooks` and `edits` are by spreadsheet ID. The edits are not applied yet. `unshared` are IDs
    of spreadsheets that are not shared with any account.
    """

    workbooks: Mapping[str, Workbook] = field(default_factory=dict)
    edits: Mapping[str, SeedEdits] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    """Messages for the user about guesses and differences when the files were read."""


def read_seed(directory: Path) -> Seed:
    """Read a seed directory. Raises SeedError if a file is invalid."""
    if not directory.is_dir():
        raise SeedError(f"The seed {directory} is not a directory. Name a directory.")
    workbooks: dict[str, Workbook] = {}
    unshared: set[str] = set()
    edits: dict[str, SeedEdits] = {}
    notes: list[str] = []
    for path in _entries(directory, directory):
        spreadsheet_id = _spreadsheet_id(path)
        if path.suffix == EDITS:
            edits[spreadsheet_id] = SeedEdits(path=path, body=_content(path))
            continue
        if spreadsheet_id in workbooks or spreadsheet_id in unshared:
            raise SeedError(
                f"{path}: there is another entry for {spreadsheet_id!r}: remove one of them."
            )
        if path.suffix == UNSHARED:
            unshared.add(spreadsheet_id)
        else:
            is_file = path.suffix == XLSX
            sheets = _from_xlsx(path, notes) if is_file else _from_folder(path, directory, notes)
            workbooks[spreadsheet_id] = _workbook(path, spreadsheet_id, sheets)
    for spreadsheet_id, edit in edits.items():
        if spreadsheet_id in unshared:
            raise SeedError(
                f"{edit.path}: {spreadsheet_id!r} is not shared: remove this or its .unshared file."
            )
        if spreadsheet_id not in workbooks:
            workbooks[spreadsheet_id] = _workbook(edit.path, spreadsheet_id, [new_sheet()])
    return Seed(workbooks=workbooks, edits=edits, unshared=frozenset(unshared), notes=notes)


def read_spreadsheet(path: Path, spreadsheet_id: str) -> Seed:
    """Read one spreadsheet from an .xlsx file, a .csv file, or the .csv files in a folder.

    Other files in the folder are ignored, and a note lists other spreadsheet files. Raises
    SeedError.
    """
    try:
        return _read_spreadsheet(path, spreadsheet_id)
    except OSError as error:
        raise SeedError(f"{path}: {error.strerror}.") from error


def _read_spreadsheet(path: Path, spreadsheet_id: str) -> Seed:
    kind = path.suffix.lower()
    notes: list[str] = []
    if path.is_dir():
        files = _entries(path, path, only_csv=True)
        if not files:
            raise SeedError(f"{path}: there is no {CSV} file in this folder: name another one.")
        sheets = _sheets(files, notes)
        _note_unread(path, notes)
    elif not path.exists():
        raise SeedError(f"{path}: no such file or folder.")
    elif kind == XLSX:
        sheets = _from_xlsx(path, notes)
    elif kind == CSV:
        sheets = _sheets([path], notes)
    else:
        raise SeedError(f"{path}: this is not a {XLSX} or {CSV} file: save the spreadsheet as one.")
    workbook = _workbook(path, spreadsheet_id, sheets)
    return Seed(workbooks={spreadsheet_id: workbook}, notes=notes)


def _note_unread(folder: Path, notes: list[str]) -> None:
    """Add a note about spreadsheet files in a folder that are not .csv files."""
    names = sorted(
        path.name
        for path in folder.iterdir()
        if path.suffix.lower() in UNREAD and not path.name.startswith((".", "~$"))
    )
    if names:
        files = "1 file was" if len(names) == 1 else f"{len(names)} files were"
        others = " and others" if len(names) > NAMED_FILES else ""
        notes.append(
            f"{folder}: {files} not read: {', '.join(names[:NAMED_FILES])}{others}. In a folder "
            "only .csv files are worksheets: save the files as .csv, or name an .xlsx file instead "
            "of the folder"
        )


def _spreadsheet_id(path: Path) -> str:
    """Return the spreadsheet ID of an entry. Raises SeedError for an invalid entry."""
    is_file = path.is_file()
    if path.suffix in MISTAKEN:
        if not is_file:
            raise SeedError(f"{path}: {MISTAKEN[path.suffix]}")
        return _utf8(path, path.stem)
    if not path.is_dir():
        raise SeedError(
            f"{path}: this is not a folder of .csv files, or a {XLSX}, {EDITS} or {UNSHARED} file."
        )
    return _utf8(path, path.name)


def _utf8(path: Path, name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise SeedError(f"{str(path)!a}: the file name is not UTF-8: rename the file.") from error
    return name


def _entries(directory: Path, folder: Path, *, only_csv: bool = False) -> list[Path]:
    """Return the entries of a directory in order, without hidden files except .csv files.

    Raises SeedError for a link out of `folder`.
    """
    found = sorted(
        path
        for path in directory.iterdir()
        if path.suffix == CSV or not path.name.startswith(".")
        if path.suffix.lower() == CSV or not only_csv
    )
    within = os.path.realpath(folder)
    for path in found:
        if os.path.commonpath([within, os.path.realpath(path)]) != within:
            raise SeedError(f"{path}: this links to a file outside the folder: copy the file here.")
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
    spill(workbook)
    return workbook


def _from_xlsx(path: Path, notes: list[str]) -> list[Sheet]:
    content = _content(path)
    kind = kind_of_file(content)
    if kind != file_kind.XLSX:
        raise SeedError(f"{path}: {_mistaken(kind, XLSX)}")
    try:
        found = read_xlsx(content)
    except XlsxError as error:
        raise SeedError(f"{path}: {error}") from error
    if not found.sheets:
        raise SeedError(f"{path}: a spreadsheet needs at least one worksheet.")
    notes.extend(f"{path}: {note}" for note in found.notes)
    return found.sheets


def _mistaken(kind: str, suffix: str) -> str:
    """Return the message for a file whose kind does not fit its suffix."""
    if kind == file_kind.LOCKED:
        return "the file is protected with a password: save it without a password."
    article = "an" if suffix == XLSX else "a"
    name = NAMES.get(kind)
    mend = f"rename it to {name}" if name else f"save the spreadsheet as {suffix}"
    return f"this is {kind}, not {article} {suffix} file: {mend}."


def _from_folder(directory: Path, folder: Path, notes: list[str]) -> list[Sheet]:
    files = _entries(directory, folder)
    if not files:
        raise SeedError(f"{directory}: a spreadsheet needs at least one .csv file.")
    for path in files:
        if path.suffix != ".csv" or not path.is_file():
            raise SeedError(f"{path}: this is not a .csv file: save the worksheet as .csv.")
    return _sheets(files, notes)


def _sheets(files: Sequence[Path], notes: list[str]) -> list[Sheet]:
    left, sheets = MAX_FILE_BYTES, []
    for sheet_id, path in enumerate(files):
        content = _content(path, left)
        left -= len(content)
        kind = kind_of_file(content)
        if kind not in (file_kind.TEXT, file_kind.EMPTY, file_kind.UNKNOWN):
            raise SeedError(f"{path}: {_mistaken(kind, CSV)}")
        try:
            found = read_csv(content)
        except CsvError as error:
            raise SeedError(f"{path}: {error}") from error
        notes.extend(f"{path}: {note}" for note in found.notes)
        sheets.append(_sheet(path, sheet_id, found.rows))
    return sheets


def _content(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Read a regular file. Pipes and devices are not read, because they might have no end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise SeedError(f"{path}: this is a pipe or a device: name a regular file.")
            content = b"" if found.st_size > max_bytes else file.read(max_bytes + 1)
    except OSError as error:
        raise SeedError(f"{path}: {error.strerror}.") from error
    if max(found.st_size, len(content)) > max_bytes:
        raise SeedError(f"{path}: {TOO_LARGE}")
    return content


def _sheet(path: Path, sheet_id: int, rows: list[Row]) -> Sheet:
    sheet = Sheet(
        sheet_id=sheet_id,
        title=_title(path),
        row_count=max(len(rows), 1),
        column_count=max(map(len, rows), default=1) or 1,
        rows=rows,
    )
    for row in rows:
        sheet.note_formulas(row)
    return sheet


def _title(path: Path) -> str:
    try:
        return unquote(_utf8(path, path.stem), errors="strict")
    except UnicodeDecodeError as error:
        raise SeedError(
            f"{path}: the file name is not percent-encoded UTF-8: rename the file."
        ) from error
