"""Backup of a SQLite store as one file, taken while the gateway serves, and its restore.

Rules
- SQLite's own backup makes the copy: the file of a running gateway lacks the data in its WAL.
- A copy is checked and synced to the disk before it gets its name. No file is overwritten.
- A backup keeps its schema; only the restored copy is upgraded.
- A WAL never stays beside another file than its own: SQLite would apply it there.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gateway.settings.model import ConfigError
from gateway.settings.private_file import give_name, give_owner, own_target
from gateway.storage.database import BUSY_TIMEOUT_MS, LOCKED, is_locked

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's files beside a database that is open, or whose process died."""

_KEYS = "SELECT id FROM api_keys WHERE revoked_at IS NULL"
_RECORDS = "SELECT count(*), coalesce(sum(answer IS NULL), 0) FROM idempotency_records"
_MARK = "SELECT mark FROM pepper"
_UNWRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


@dataclass(frozen=True, kw_only=True)
class StoreContent:
    """Content of a store: the IDs of `keys` that are not revoked, and the number of records.

    `pepper_mark` is None if the store has none.
    """

    keys: frozenset[str]
    records: int
    open_records: int
    pepper_mark: bytes | None


@contextmanager
def checked_copy(source: Path, target: Path) -> Iterator[tuple[Path, StoreContent]]:
    """Copy a store completely to a file beside `target`, deleted at the end unless it was `put`.

    The source may be in use. Raises `ConfigError` if the source is not a store, if it stays locked,
    or if the copy is damaged.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise ConfigError(f"{target} cannot be created: {error.strerror}") from error
    os.close(descriptor)
    copy = Path(name)
    try:
        yield copy, _copied(source, copy, target)
    finally:
        for each in (copy, *side_files(copy)):
            each.unlink(missing_ok=True)


def put(copy: Path, target: Path) -> None:
    """Give a file its name, atomically. Raises `ConfigError`, also if the name is taken."""
    try:
        _sync(copy)
        give_name(copy, target)
        _sync(target.parent)
    except OSError as error:
        raise ConfigError(f"{target} cannot be created: {error.strerror}") from error


def replace(
    copy: Path, database: Path, aside: Path, *, link: Callable[[Path, Path], None] = os.link
) -> Sequence[Path]:
    """Put a copy in the place of a store; returns the store's files, renamed to `aside`.

    The store, or its file, may be missing. Raises `ConfigError`.
    """
    is_there = database.exists()
    try:
        _sync(copy)
        give_owner(copy, database if is_there else database.parent)
        if is_there:
            # Both names until the copy takes one: a crash leaves a store in its place.
            give_name(database, aside, link=link, keeps=True)
        for each, moved in zip(side_files(database), side_files(aside), strict=True):
            with suppress(FileNotFoundError):
                each.rename(moved)
        copy.replace(database)
        _sync(database.parent)
    except OSError as error:
        moved_to = f". It is {aside} now" if is_there and not database.exists() else ""
        problem = f"{database} cannot be replaced: {error.strerror}{moved_to}"
        raise ConfigError(problem) from error
    return [each for each in (aside, *side_files(aside)) if each.exists()]


def release(database: Path) -> StoreContent | None:
    """Merge the WAL of a store into its file; returns the content, or None if it is damaged.

    Raises `ConfigError` if another program has it open.
    """
    try:
        with closing(_connect(database)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            return _content(connection)
    except sqlite3.Error as error:
        if is_locked(error):
            raise ConfigError(f"{database} is in use by another program: end it") from error
        return None


def _copied(source: Path, copy: Path, target: Path) -> StoreContent:
    try:
        with closing(_connect(own_target(source))) as reading, closing(_connect(copy)) as writing:
            _content(reading)  # before a large file of another program is copied
            writing.execute("PRAGMA synchronous = OFF")  # `put` does that once
            reading.backup(writing, progress=_give_up)
            writing.execute("PRAGMA journal_mode = DELETE").fetchone()
            (found,) = writing.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise ConfigError(f"{source} is damaged, so there is no copy of it: {found}")
            return _content(writing)
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorcode", None) in _UNWRITTEN:
            raise ConfigError(f"{target} cannot be written: the disk may be full") from error
        reason = getattr(error, "strerror", None) or str(error)
        if is_locked(error):
            reason = "another program has locked it"
        raise ConfigError(f"{source} cannot be copied: {reason}") from error


def _give_up(status: int, _left: int, _pages: int) -> None:
    """Raise an error instead of waiting for a lock for ever."""
    if status in LOCKED:
        raise ConfigError("the key store cannot be copied: another program has locked it")


def _connect(file: Path) -> sqlite3.Connection:
    # A URI, because a plain name would create a missing file.
    uri = f"{file.absolute().as_uri()}?mode=rw"
    seconds = BUSY_TIMEOUT_MS / 1000
    connection = sqlite3.connect(uri, uri=True, timeout=seconds, isolation_level=None)
    connection.text_factory = lambda raw: raw.decode(errors="replace")  # copied as it is
    return connection


def _content(connection: sqlite3.Connection) -> StoreContent:
    keys = frozenset(key for (key,) in connection.execute(_KEYS))
    records, open_records = connection.execute(_RECORDS).fetchone()
    mark = connection.execute(_MARK).fetchone()
    return StoreContent(
        keys=keys, records=records, open_records=open_records, pepper_mark=mark and mark[0]
    )


def side_files(file: Path) -> list[Path]:
    return [Path(f"{file}{suffix}") for suffix in SIDE_FILES]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
