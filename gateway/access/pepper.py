"""The pepper: a secret mixed into key digests, kept outside the key store."""

import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from gateway.settings.model import AccessSettings, ConfigError
from gateway.settings.private_file import HOW_TO_MEND, is_open_to_others
from gateway.storage.key_store import KeyStore

LENGTH = 32

MARK_LENGTH = 4
"""Bytes that the store keeps of it: no other pepper has the same ones by chance, but so many have
them that they help nobody to find a pepper that a person made up."""

_ELSE = "else revoke all keys (sheets-gateway keys list, keys revoke ID) and make others"


async def pepper_of(
    store: KeyStore, settings: AccessSettings, *, replaced: Callable[[], None] = lambda: None
) -> bytes:
    """The pepper that the keys of the store were made with.

    Calls `replaced` where there are no keys, and another was used before: a gateway may run with
    that one. Raises `ConfigError` as `load_pepper` does, and where there are keys and it is gone
    or another: with another pepper no key works.
    """
    has_keys = await store.has_keys()
    path = _path(settings)
    if has_keys and settings.pepper is None and not path.exists():
        raise ConfigError(
            [
                f"access.pepper: {path} is gone, and without it none of its keys works. Put it "
                f"back from a backup, beside the key store, or set access.pepper as it was; {_ELSE}"
            ]
        )
    pepper = load_pepper(settings)
    mark, kept = pepper_mark(pepper), await store.pepper_mark()
    if has_keys and kept not in (None, mark):
        place = path if settings.pepper is None else "the setting"
        raise ConfigError(
            [
                f"access.pepper: {place} is not what the keys of {settings.database} were made "
                "with, going by the pepper that it was last used with, so none of them works. Put "
                f"the pepper back as it was; {_ELSE}"
            ]
        )
    # Keys of an earlier version left no mark: whether this is their pepper is not known.
    if kept != mark and not has_keys:
        if kept is not None:
            replaced()
        await store.keep_pepper_mark(mark)
    return pepper


def pepper_mark(pepper: bytes) -> bytes:
    """What the store keeps of a pepper, to tell another one from it."""
    return hmac.digest(pepper, b"pepper", hashlib.sha256)[:MARK_LENGTH]


def load_pepper(settings: AccessSettings) -> bytes:
    """The configured pepper, or that of `DATABASE.pepper`, which is made where it is not there.

    Raises `ConfigError` when the file cannot be had, is damaged, or is open to others.
    """
    if settings.pepper is not None:
        return settings.pepper.get_secret_value().encode()
    path = _path(settings)
    try:
        if not path.exists():
            _create(path)
        return _read(path)
    except OSError as error:
        raise ConfigError(
            [f"access.pepper: {path} cannot be read or made: {error.strerror}"]
        ) from error


def _path(settings: AccessSettings) -> Path:
    return settings.database.with_name(f"{settings.database.name}.pepper")


def _create(path: Path) -> None:
    """Makes the file whole and at once; whoever comes second leaves the first one's."""
    # mkstemp opens with O_EXCL and 0600. The link appears with all bytes in it or not at all, so
    # neither a crash nor a second process meets half a pepper.
    descriptor, temporary = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(LENGTH))
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        os.unlink(temporary)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        pepper = file.read()
    if is_open_to_others(mode):
        raise ConfigError(
            [f"access.pepper: {path} is open to other users of this machine: {HOW_TO_MEND}"]
        )
    if len(pepper) != LENGTH:
        raise ConfigError(
            [f"access.pepper: {path} is damaged, it must have {LENGTH} bytes: restore it"]
        )
    return pepper
