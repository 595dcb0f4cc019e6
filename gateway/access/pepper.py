"""The pepper: a secret that is mixed into stored keys and lies outside their store."""

import os
import secrets
import tempfile
from pathlib import Path

from gateway.config import AccessSettings, ConfigError
from gateway.private_file import HOW_TO_MEND, is_open_to_others

LENGTH = 32


def load_pepper(settings: AccessSettings) -> bytes:
    """The configured pepper, or that of `DATABASE.pepper`, which is made where it is not there.

    Raises `ConfigError` when the file cannot be had, is damaged, or is open to others.
    """
    if settings.pepper is not None:
        return settings.pepper.get_secret_value().encode()
    path = settings.database.with_name(f"{settings.database.name}.pepper")
    try:
        if not path.exists():
            _create(path)
        return _read(path)
    except OSError as error:
        raise ConfigError(
            [f"access.pepper: {path} cannot be read or made: {error.strerror}"]
        ) from error


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
