"""Backup and restore of the SQLite database and its pepper file, for the commands `storage`.

Rules
- A backup is FILE, and FILE.pepper unless the pepper is a setting.
- Keys work only with the pepper with which they were made. Backup and restore fail for another
  pepper.
- No file is overwritten. A replaced database is renamed, and the command prints its new name. The
  same holds for a replaced pepper file, and for SQLite's WAL files whose database is missing.
- If a restore fails, the previous pepper file gets its name back.
- If root restores, the files get the owner of the replaced database, else of its folder.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gateway.access.pepper import beside, pepper_mark, pepper_path, read_pepper, write_pepper
from gateway.commands.options import counted
from gateway.settings.database import PostgresUrl
from gateway.settings.model import AccessSettings, ConfigError
from gateway.settings.private_file import give_name, give_owner, own_target
from gateway.storage import backup
from gateway.storage.database import migrate_database
from gateway.storage.lock import exclusive_lock

_REPLACE = "--replace renames it first"


@dataclass(frozen=True, kw_only=True)
class Done:
    """Result of a backup or restore: lines for the operator, and warnings."""

    lines: Sequence[str]
    warnings: Sequence[str] = ()


def back_up(access: AccessSettings, file: Path, *, with_pepper: bool) -> Done:
    """Copy the database to a new file, and the pepper to FILE.pepper.

    Raises `ConfigError` and OSError if a file exists, or cannot be read or written.
    """
    database, path = _file_of(access), pepper_path(access)
    if not database.exists():
        raise ConfigError(
            f"access.database: {database} does not exist. If you have keys, correct this setting"
        )
    with backup.checked_copy(database, file) as (copy, content):
        pepper = _pepper_in(path) if with_pepper and path else None
        if with_pepper:
            _check_pepper(content, access, pepper, f"access.pepper: {_place(access)}")
        taken = [file, *backup.side_files(file), *([beside(file)] if pepper else [])]
        _refuse_existing(taken, "choose another name")
        if pepper:
            _write(beside(file), pepper)
        try:
            backup.put(copy, file)
        except ConfigError:
            if pepper:
                beside(file).unlink()
            raise
    lines = [f"{file} has {_counted(content)}, with cells: keep it private"]
    if pepper:
        lines.append(
            f"{beside(file)} has the pepper of the keys: no key works without it, so keep both"
        )
    elif content.keys:
        lines.append(f"No key works without the pepper, so keep {_place(access)} too")
    return Done(lines=lines)


def restore(access: AccessSettings, file: Path, *, replaces: bool, now: datetime) -> Done:
    """Copy a backup and its pepper to the paths in the settings.

    With `replaces`, existing files are renamed first; their new names contain the time `now`.
    Raises `LockError` if a gateway serves the database, and `ConfigError` or OSError for unusable
    or existing files.
    """
    database, path = own_target(_file_of(access)), pepper_path(access)
    path = path and own_target(path)
    if not file.is_file():
        raise ConfigError(f"{file} does not exist. Name a backup")
    if database.exists() and database.samefile(file):
        raise ConfigError(f"{file} is the key store itself. Name a backup")
    aside = Path(f"{database}.replaced-{now:%Y%m%dT%H%M%SZ}")
    with exclusive_lock(database), backup.checked_copy(file, database) as (copy, content):
        give_owner(Path(f"{database}.lock"), database if database.exists() else database.parent)
        given = _pepper_in(beside(file)) if path else None
        pepper, place = given, str(beside(file))
        if pepper is None:
            pepper = _pepper_in(path) if path else None
            place = f"access.pepper: {_place(access)}"
        _check_pepper(content, access, pepper, place)
        present = path.read_bytes() if path and path.exists() else None
        if not replaces:
            is_other = given and present not in (None, given)
            _refuse_existing([database, *([path] if path and is_other else [])], _REPLACE)
        asyncio.run(migrate_database(copy))
        backup.release(copy)
        before = backup.release(database) if database.exists() else None
        lines = [f"{database} has {_counted(content)}, from {file}"]
        with ExitStack() as swapped:
            if path and given and present != given:
                kept = path.with_name(beside(aside).name)
                swapped.enter_context(_swapped(path, given, kept))
                lines += [f"{kept} is the previous pepper"] if present is not None else []
            lines += [
                f"{each} is the previous file" for each in backup.replace(copy, database, aside)
            ]
    return Done(lines=lines, warnings=[*_warnings(content, before)])


@contextmanager
def _swapped(path: Path, pepper: bytes, kept: Path) -> Iterator[None]:
    """Replace the pepper file, and rename an existing file to `kept`.

    If the block raises an error, the previous file gets its name back.
    """
    is_there = path.exists()
    if is_there:
        give_name(path, kept)
    try:
        _write(path, pepper)
        give_owner(path, kept if is_there else path.parent)
        yield
    except BaseException:
        if is_there:
            kept.replace(path)
        else:
            path.unlink(missing_ok=True)
        raise


def _write(path: Path, pepper: bytes) -> None:
    """Create a pepper file. Raises `ConfigError` if it cannot be created."""
    try:
        write_pepper(path, pepper)
    except OSError as error:
        raise ConfigError(f"{path} cannot be created: {error.strerror}") from error


def _file_of(access: AccessSettings) -> Path:
    if isinstance(access.database, PostgresUrl):
        raise ConfigError(
            f"access.database: {access.database} is a PostgreSQL database: pg_dump backs it up "
            "while gateways serve, and pg_restore restores it while no gateway serves. Keep the "
            f"pepper too: {_place(access)}"
        )
    return access.database


def _place(access: AccessSettings) -> str:
    """Return the pepper's path, or the name of its setting, for a message."""
    return str(pepper_path(access) or "the setting access.pepper")


def _pepper_in(path: Path) -> bytes | None:
    return read_pepper(path) if path.exists() else None


def _check_pepper(
    content: backup.StoreContent, access: AccessSettings, pepper: bytes | None, place: str
) -> None:
    """Raise `ConfigError` if the keys in `content` need another pepper.

    `pepper` is from the file `place`, or None without a file. If the settings contain a pepper,
    `pepper` is ignored. `place` begins the message, with the name of a setting if it has one.
    """
    if access.pepper is not None:
        pepper = access.pepper.get_secret_value().encode()
    if pepper is None and content.keys:
        raise ConfigError(
            f"access.pepper: {_place(access)} does not exist, and no key works without it. "
            "Restore that file"
        )
    if pepper and content.pepper_mark not in (None, pepper_mark(pepper)):
        raise ConfigError(
            f"{place} is not the pepper of these keys, so none of them would work. "
            "Replace it by the pepper of these keys"
        )


def _refuse_existing(paths: Sequence[Path], mend: str) -> None:
    found = [f"{each} exists already: {mend}" for each in paths if each.exists()]
    if found:
        raise ConfigError(*found)


def _counted(content: backup.StoreContent) -> str:
    return (
        f"{counted(len(content.keys), 'key')} and "
        f"{counted(content.records, 'record')} of writes, "
        f"{content.open_records} of them open"
    )


def _warnings(content: backup.StoreContent, before: backup.StoreContent | None) -> Iterator[str]:
    yield "keys that were revoked since the backup are valid again: revoke them again"
    if before is not None:
        for key in sorted(content.keys - before.keys):
            yield f"{key} is valid again; to revoke it: sheets-gateway keys revoke {key}"
        for key in sorted(before.keys - content.keys):
            yield f"{key} was created since the backup and is not valid any more: create another"
    yield (
        "writes since the backup have no record, so a repeated Idempotency-Key can write again; so "
        "can writes that were open at the backup"
    )
