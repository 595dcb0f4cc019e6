"""Backup of a SQLite store to one file while the gateway serves, and restore of a backup.

Rules
- SQLite's backup function makes the copy. A plain copy of the file of a running gateway lacks the
  data in its WAL.
- A copy is checked and synced to the disk before it gets its name. No file is overwritten.
- A backup keeps the schema of the store. Only a restored copy is upgraded.
- A store that is replaced is renamed together with its WAL. Otherwise SQLite would apply the WAL to
  the new store, which has the same name.
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
"""Suffixes of SQLite's files next to a database that is open, or whose process crashed."""

_KEYS = "SELECT id FROM api_keys WHERE revoked_at IS NULL"
_RECORDS = "SELECT count(*), coalesce(sum(answer IS NULL), 0) FROM idempotency_records"
_MARK = "SELECT mark FROM pepper"
_UNWRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


@dataclass(frozen=True, kw_only=True)
class StoreContent:
    """Summary of a store, to compare a backup with the store that it replaces."""

    keys: frozenset[str]
    """IDs of the keys that are not revoked."""
    records: int
    """Number of records of writes with an Idempotency-Key."""
    open_records: int
    """Number of these records without an answer. The outcome of such a write is unknown."""
    pepper_mark: bytes | None
    """Short HMAC that identifies the pepper (secret of all key digests), or None if not stored."""


@contextmanager
def checked_copy(source: Path, target: Path) -> Iterator[tuple[Path, StoreContent]]:
    """Copy a store, which can be in use, to a temporary file in the directory of `target`.

    Yields the path of the copy and a summary of its content. The copy is deleted at the end, unless
    `put` renamed it. Raises `ConfigError` if the source is not a store or stays locked, or if the
    copy is damaged.
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
    """Rename a copy to `target` atomically. Raises `ConfigError` if `target` exists."""
    try:
        _sync(copy)
        give_name(copy, target)
        _sync(target.parent)
    except OSError as error:
        raise ConfigError(f"{target} cannot be created: {error.strerror}") from error


def replace(
    copy: Path, database: Path, aside: Path, *, link: Callable[[Path, Path], None] = os.link
) -> Sequence[Path]:
    """Replace a store by a copy, and rename the old store to `aside`, also its WAL and journal.

    Returns the new paths of the renamed files. Raises `ConfigError` if renaming fails. Tests
    replace `link`.
    """
    is_there = database.exists()
    try:
        _sync(copy)
        give_owner(copy, database if is_there else database.parent)
        if is_there:
            # The store has both names until the copy replaces it, so a crash leaves a store.
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
    """Merge the WAL of a store into its main file, and close the store.

    Returns a summary of the content, or None if the store is damaged. Raises `ConfigError` if
    another program has the store open.
    """
    try:
        with closing(_connect(database)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            return _content(connection)
    except sqlite3.Error as error:
        if is_locked(error):
            raise ConfigError(
                f"{database} is in use by another program: end that program"
            ) from error
        return None


def _copied(source: Path, copy: Path, target: Path) -> StoreContent:
    try:
        with closing(_connect(own_target(source))) as reading, closing(_connect(copy)) as writing:
            _content(reading)  # fails for a database of another program, which may be large
            writing.execute("PRAGMA synchronous = OFF")  # `put` syncs the file once
            reading.backup(writing, progress=_give_up)
            writing.execute("PRAGMA journal_mode = DELETE").fetchone()
            (found,) = writing.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise ConfigError(
                    f"{source} is damaged and was not copied: {found}. Use an earlier backup"
                )
            return _content(writing)
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorcode", None) in _UNWRITTEN:
            raise ConfigError(f"{target} cannot be written: the disk may be full") from error
        reason = getattr(error, "strerror", None) or str(error)
        if is_locked(error):
            reason = "another program has locked it. Try again later"
        raise ConfigError(f"{source} cannot be copied: {reason}") from error


def _give_up(status: int, _left: int, _pages: int) -> None:
    """Raise ConfigError if the source is locked. SQLite would wait without limit."""
    if status in LOCKED:
        raise ConfigError(
            "the key store cannot be copied: another program has locked it. Try again later"
        )


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
