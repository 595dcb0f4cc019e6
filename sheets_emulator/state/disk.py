"""SQLite file of an emulator's spreadsheets, which other SQLite programs can read.

Rules:
- A save is one transaction, which is on disk when `save` returns. A failed save changes nothing.
- The file is locked for one process from opening to closing.
- Rows are numbered from 1, as in a worksheet. Empty rows are not stored. `sheets.kept_rows` is the
  length of a worksheet's list of rows.
- Error messages do not contain cells.
- A DiskError means that SQLite failed, that JSON cannot represent a value, or that the file was
  damaged by hand. Other exceptions are bugs of the emulator and are not translated. A save that
  raises has changed nothing.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.state.disk_text import (
    changed_rows,
    read_row,
    read_sheet,
    read_workbook,
    row_text,
    sheet_text,
    workbook_text,
)

APPLICATION = 0x53474557  # "SGEW", used by no other program
VERSION = 1
PRIVATE_MODE = 0o600  # the file contains the account's key
SCHEMA = (
    "CREATE TABLE emulator (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE spreadsheets (id TEXT PRIMARY KEY, properties TEXT NOT NULL)",
    "CREATE TABLE sheets (spreadsheet TEXT NOT NULL, sheet_id INTEGER NOT NULL, "
    "position INTEGER NOT NULL, kept_rows INTEGER NOT NULL, properties TEXT NOT NULL, "
    "PRIMARY KEY (spreadsheet, sheet_id))",
    "CREATE TABLE rows (spreadsheet TEXT NOT NULL, sheet_id INTEGER NOT NULL, "
    'row INTEGER NOT NULL, cells TEXT NOT NULL, PRIMARY KEY (spreadsheet, sheet_id, "row")) '
    "WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
REMEMBER = (
    "INSERT INTO emulator VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value "
    "WHERE value IS NOT excluded.value"
)
PUT_SPREADSHEET = (
    "INSERT INTO spreadsheets VALUES (?, ?) ON CONFLICT DO UPDATE "
    "SET properties = excluded.properties WHERE properties IS NOT excluded.properties"
)
PUT_SHEET = (
    "INSERT INTO sheets VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "(position, kept_rows, properties) = "
    "(excluded.position, excluded.kept_rows, excluded.properties) "
    "WHERE (position, kept_rows, properties) IS NOT "
    "(excluded.position, excluded.kept_rows, excluded.properties)"
)
PUT_ROW = "INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET cells = excluded.cells"
DROP_ROW = 'DELETE FROM rows WHERE spreadsheet = ? AND sheet_id = ? AND "row" = ?'
DROP_ROWS_AFTER = 'DELETE FROM rows WHERE spreadsheet = ? AND sheet_id = ? AND "row" > ?'
DROP_SHEET = "DELETE FROM sheets WHERE spreadsheet = ? AND sheet_id = ?"
DROP_SPREADSHEET = "DELETE FROM spreadsheets WHERE id = ?"
SPREADSHEETS = "SELECT id, properties FROM spreadsheets ORDER BY rowid"
SHEETS = (
    "SELECT sheet_id, kept_rows, properties FROM sheets WHERE spreadsheet = ? ORDER BY position"
)
ROWS = 'SELECT "row", cells FROM rows WHERE spreadsheet = ? AND sheet_id = ?'

UNWRITABLE = (UnicodeEncodeError, RecursionError)  # invalid Unicode, or an object nested too deeply
SPOILT = (msgspec.MsgspecError, RecursionError, IndexError)

T = TypeVar("T")

Change = tuple[Workbook | None, Workbook | None]  # a spreadsheet before and after a write
Count = Annotated[int, msgspec.Meta(ge=0)]


class DiskError(Exception):
    """The database file cannot be used. The message has the file and the reason in one line."""


@dataclass(kw_only=True)
class Disk:
    """An open database file. Methods raise DiskError if SQLite fails or the file is damaged."""

    path: Path
    connection: sqlite3.Connection

    def save(self, changes: Iterable[Change], *, created: int) -> None:
        """Save changed spreadsheets in one transaction.

        A change has the spreadsheet before and after the write. None means that the spreadsheet
        does not exist. `created` is the number of spreadsheets that were ever created.
        """
        with self._transaction():
            for before, after in changes:
                self._bring(before, after)
            self._remember("created", str(created))

    def load(self) -> list[Workbook]:
        """Load all spreadsheets in the order of their creation."""
        with self._readable():
            found = self.connection.execute(SPREADSHEETS).fetchall()
            return [
                read_workbook(spreadsheet_id, text, list(self._sheets(spreadsheet_id)))
                for spreadsheet_id, text in found
            ]

    def created(self) -> int:
        """Return the number of spreadsheets that were ever created."""
        with self._readable():
            return msgspec.convert(self.recall("created") or 0, type=Count, strict=False)

    def recall(self, name: str) -> str | None:
        """Return the text that `remember` stored under a name, or None."""
        with self._explained():
            found = self.connection.execute("SELECT value FROM emulator WHERE name = ?", (name,))
            row = found.fetchone()
        return None if row is None else str(row[0])

    def remember(self, name: str, value: str) -> None:
        """Store a text under a name, for data that belongs to no spreadsheet."""
        with self._transaction():
            self._remember(name, value)

    def close(self) -> None:
        """Close the file. Later saves fail."""
        self.connection.close()

    def _remember(self, name: str, value: str) -> None:
        self.connection.execute(REMEMBER, (name, value))

    def _bring(self, before: Workbook | None, after: Workbook | None) -> None:
        old = {} if before is None else {sheet.sheet_id: sheet for sheet in before.sheets}
        kept = set() if after is None else {sheet.sheet_id for sheet in after.sheets}
        if before is not None:
            for sheet_id in old.keys() - kept:
                self.connection.execute(DROP_SHEET, (before.spreadsheet_id, sheet_id))
                self.connection.execute(DROP_ROWS_AFTER, (before.spreadsheet_id, sheet_id, 0))
        if before is not None and after is None:
            self.connection.execute(DROP_SPREADSHEET, (before.spreadsheet_id,))
        if after is not None:
            text = self._text(workbook_text, after)
            self.connection.execute(PUT_SPREADSHEET, (after.spreadsheet_id, text))
            for position, sheet in enumerate(after.sheets):
                self._put_sheet(after.spreadsheet_id, position, sheet)
                self._bring_rows(after.spreadsheet_id, old.get(sheet.sheet_id), sheet)

    def _put_sheet(self, spreadsheet_id: str, position: int, sheet: Sheet) -> None:
        text = self._text(sheet_text, sheet)
        row = (spreadsheet_id, sheet.sheet_id, position, len(sheet.rows), text)
        self.connection.execute(PUT_SHEET, row)

    def _bring_rows(self, spreadsheet_id: str, before: Sheet | None, after: Sheet) -> None:
        place, rows = (spreadsheet_id, after.sheet_id), after.rows
        changed = list(changed_rows(before, after))
        put = (
            (*place, index + 1, self._text(row_text, rows[index]))
            for index in changed
            if rows[index]
        )
        self.connection.executemany(PUT_ROW, put)
        if before is not None:
            emptied = ((*place, index + 1) for index in changed if not rows[index])
            self.connection.executemany(DROP_ROW, emptied)
            if len(before.rows) > len(rows):
                self.connection.execute(DROP_ROWS_AFTER, (*place, len(rows)))

    def _sheets(self, spreadsheet_id: str) -> Iterator[Sheet]:
        for sheet_id, kept_rows, text in self.connection.execute(SHEETS, (spreadsheet_id,)):
            rows: list[Row] = [()] * msgspec.convert(kept_rows, type=Count)
            numbers = range(1, kept_rows + 1)
            for number, cells in self.connection.execute(ROWS, (spreadsheet_id, sheet_id)):
                if number not in numbers:
                    raise IndexError(f"There is no row {number!r} in the worksheet {sheet_id!r}.")
                rows[number - 1] = read_row(cells)
            yield read_sheet(sheet_id, text, rows)

    def _text(self, text_of: Callable[[T], str], kept: T) -> str:
        try:
            return text_of(kept)
        except UNWRITABLE as error:
            name = type(error).__name__
            raise DiskError(f"{self.path}: a value cannot be stored as JSON ({name}).") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained(), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate errors of SQLite to DiskError."""
        try:
            yield
        except sqlite3.Error as error:
            raise DiskError(f"{self.path}: {_message(error)}") from error

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Translate errors of SQLite and errors of damaged content to DiskError."""
        try:
            with self._explained():
                yield
        except SPOILT as error:
            raise DiskError(
                f"{self.path}: the stored data is damaged: restore a copy of the file."
            ) from error


def open_disk(path: Path) -> Disk:
    """Open and lock a database file.

    A missing file is created. Raises DiskError if the file is unusable.
    """
    try:
        place = _writable(path.absolute())
        connection = sqlite3.connect(
            place, timeout=0, isolation_level=None, check_same_thread=False
        )
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}.") from error
    except (sqlite3.Error, ValueError) as error:
        raise DiskError(f"{path}: {error}.") from error
    try:
        _take(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise DiskError(f"{path}: {_message(error)}") from error
    except DiskError:
        connection.close()
        raise
    return Disk(path=path, connection=connection)


def _writable(place: Path) -> Path:
    """Return the path, and create a missing file. Raises OSError if the file is not writable.

    Only the owner can read a new file. An existing file is not opened here, because closing a file
    would release this process's SQLite locks on the file.
    """
    with suppress(FileExistsError):
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory: name a file")
    if not place.is_file():
        raise OSError(errno.EINVAL, "this is a pipe or a device: name a regular file")
    if not (os.access(place, os.R_OK | os.W_OK) and os.access(place.parent, os.W_OK)):
        raise PermissionError(
            errno.EACCES,
            "this process cannot write to the file or its directory: change the permissions",
        )
    return place


def _take(connection: sqlite3.Connection, path: Path) -> None:
    """Lock a file of an emulator or an empty file, and create missing tables."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    _require_own(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _number(connection, "user_version") != VERSION:
            for statement in SCHEMA:
                connection.execute(statement)


def _require_own(connection: sqlite3.Connection, path: Path) -> None:
    """Raise DiskError if the file belongs to another program or another version."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    version = _number(connection, "user_version")
    application = _number(connection, "application_id")
    if application != APPLICATION and (tables or version or application):
        raise DiskError(f"{path}: this is the database of another program: name another file.")
    if application == APPLICATION and version != VERSION:
        raise DiskError(
            f"{path}: the file has schema version {version}, but this emulator reads {VERSION}."
        )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _message(error: sqlite3.Error) -> str:
    """Return the operator's message for an SQLite error."""
    return TELLINGS.get(getattr(error, "sqlite_errorname", ""), f"{error}.")


TELLINGS = {
    "SQLITE_BUSY": "another process uses this file: end the process, or name another file.",
    "SQLITE_NOTADB": "this is not a file of an emulator: name another file.",
}
