"""Pepper: the secret of key digests and of some ETags of rows, stored outside the key store."""

import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gateway.settings import private_file
from gateway.settings.database import Database
from gateway.settings.model import AccessSettings, ConfigError
from gateway.storage.key_store import KeyStore

LENGTH = 32

MARK_LENGTH = 4
"""Bytes of the mark in the key store: enough to detect another pepper, too few to guess."""

_ELSE = (
    "else find all keys with 'sheets-gateway keys list', revoke each with "
    "'sheets-gateway keys revoke ID', and make new ones"
)


async def pepper_of(
    store: KeyStore, settings: AccessSettings, *, replaced: Callable[[], None] = lambda: None
) -> bytes:
    """Load the pepper, and compare it with the mark (a short HMAC) in the key store.

    Calls `replaced` if the store has no keys, and the mark is of another pepper. Raises
    `ConfigError` as `load_pepper` does, and if the store has keys and the pepper is missing or
    does not match.
    """
    has_keys = await store.has_keys()
    path = pepper_path(settings)
    if has_keys and path is not None and not path.exists():
        raise ConfigError(
            f"access.pepper: {path} is missing, and no key works without it. Restore it from a "
            f"backup, next to the key store, or set access.pepper as before; {_ELSE}"
        )
    pepper = load_pepper(settings)
    mark, kept = pepper_mark(pepper), await store.pepper_mark()
    if has_keys and kept not in (None, mark):
        place = path or "the setting"
        raise ConfigError(
            f"access.pepper: {place} is not the pepper that {settings.database} was last used "
            f"with, so none of its keys works. Restore the earlier pepper; {_ELSE}"
        )
    # Keys of an earlier version left no mark, so the pepper cannot be verified.
    if kept != mark and not has_keys:
        if kept is not None:
            replaced()
        await store.keep_pepper_mark(mark)
    return pepper


def pepper_mark(pepper: bytes) -> bytes:
    """Return the mark of a pepper: 4 bytes that the key store keeps to detect another pepper."""
    return hmac.digest(pepper, b"pepper", hashlib.sha256)[:MARK_LENGTH]


def row_tag_key(pepper: bytes) -> bytes:
    """Derive the secret for ETags of rows with cells that are hidden from a key, 32 bytes."""
    return hmac.digest(pepper, b"row tags", hashlib.sha256)


def cursor_key(pepper: bytes) -> bytes:
    """Derive the secret that encrypts cursors, 32 bytes."""
    return hmac.digest(pepper, b"cursors", hashlib.sha256)


def load_pepper(settings: AccessSettings) -> bytes:
    """Load the pepper, as bytes, from the settings or from its file. Creates a missing file.

    Raises `ConfigError` if the file is unusable, damaged, or open to other users.
    """
    if settings.pepper is not None:
        return settings.pepper.get_secret_value().encode()
    path = settings.pepper_file or beside(settings.database)
    try:
        if not path.exists():
            with suppress(FileExistsError):  # another process was first
                write_pepper(path, secrets.token_bytes(LENGTH))
        return read_pepper(path)
    except OSError as error:
        raise ConfigError(
            f"access.pepper: {path} cannot be read or created: {error.strerror}"
        ) from error


def pepper_path(settings: AccessSettings) -> Path | None:
    """Return the path of the pepper file, or None if the settings contain the pepper."""
    if settings.pepper is not None:
        return None
    return settings.pepper_file or beside(settings.database)


def beside(database: Database) -> Path:
    """Return the default path of the pepper file, in the directory of the SQLite file."""
    return Path(f"{database}.pepper")


def write_pepper(path: Path, pepper: bytes) -> None:
    """Create the pepper file atomically. Raises OSError, also if the file exists."""
    # mkstemp uses O_EXCL and 0600. The name appears with all bytes or not at all, so neither a
    # crash nor a second process sees a partial pepper.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pepper)
            file.flush()
            os.fsync(file.fileno())
        private_file.give_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_pepper(path: Path) -> bytes:
    """Read the pepper file. Raises OSError, or `ConfigError` if it is damaged or open to others."""
    with private_file.open_regular(private_file.own_target(path)) as file:
        mode = os.fstat(file.fileno()).st_mode
        pepper = file.read(LENGTH + 1)
    if private_file.is_open_to_others(mode):
        raise ConfigError(
            f"access.pepper: {path} is open to other users of this machine: "
            f"{private_file.HOW_TO_MEND}"
        )
    if len(pepper) != LENGTH:
        raise ConfigError(
            f"access.pepper: {path} is damaged: it must have {LENGTH} bytes; restore it"
        )
    return pepper
