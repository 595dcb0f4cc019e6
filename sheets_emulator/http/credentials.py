"""The emulator's service accounts and their key files."""

import errno
import json
import os
import stat
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sheets_emulator.state.disk import Disk, DiskError

PROJECT = "emulator"
PROJECT_NUMBER = "123456789012"
KEY_ID = "emulator-key"
PUBLIC_EXPONENT = 65537
KEY_BITS = 2048
PRIVATE_MODE = 0o600
KEPT_AS = "private_key"


@dataclass(frozen=True, kw_only=True)
class ServiceAccount:
    """Service account and its signing key. `number` counts the accounts of an emulator from 1."""

    number: int
    project: str
    private_key: RSAPrivateKey

    @property
    def email(self) -> str:
        return f"gateway{_suffix(self.number)}@{self.project}.iam.gserviceaccount.com"


def open_accounts(
    projects: Sequence[str], disk: Disk | None, key_bits: int = KEY_BITS
) -> list[ServiceAccount]:
    """Create a service account in each of these projects.

    With a database file, keys are stored there and used again after a restart. Raises DiskError if
    the file cannot be used.
    """
    return [
        ServiceAccount(
            number=number,
            project=project,
            private_key=(
                _new_key(number, key_bits) if disk is None else _stored_key(disk, number, key_bits)
            ),
        )
        for number, project in enumerate(projects, start=1)
    ]


def project_number(project: str) -> str:
    """Return the project number that Google's errors contain."""
    return PROJECT_NUMBER if project == PROJECT else f"{zlib.crc32(project.encode()):012}"


def write_file(account: ServiceAccount, path: Path, token_uri: str) -> None:
    """Write the key file for google-auth, with access only for the owner of the file."""
    content = {
        "type": "service_account",
        "project_id": account.project,
        "private_key_id": f"{KEY_ID}{_suffix(account.number)}",
        "private_key": _pem(account.private_key),
        "client_email": account.email,
        "client_id": f"1{account.number:020}",
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": token_uri,
        "universe_domain": "googleapis.com",
    }
    # Opening a pipe does not wait for a reader, and the mode of a device is not changed.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, PRIVATE_MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "this is a pipe or a device: name a regular file")
        os.fchmod(descriptor, PRIVATE_MODE)  # an existing file would keep its mode
        file.truncate()
        json.dump(content, file, indent=2)


def _suffix(number: int) -> str:
    """Return the suffix of an account's names, which is "" for the first account."""
    return "" if number == 1 else f"-{number}"


@cache
def _new_key(_number: int, bits: int) -> RSAPrivateKey:
    """Create the key of an account. Each process creates a key only once, because this is slow."""
    return generate_private_key(public_exponent=PUBLIC_EXPONENT, key_size=bits)


def _stored_key(disk: Disk, number: int, bits: int) -> RSAPrivateKey:
    name = f"{KEPT_AS}{_suffix(number)}"
    pem = disk.recall(name)
    if pem is None:
        created = _new_key(number, bits)
        disk.remember(name, _pem(created))
        return created
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except ValueError as error:
        raise DiskError(
            f"{disk.path}: the account's key in this file is damaged: name another file."
        ) from error
    if not isinstance(key, RSAPrivateKey):
        raise DiskError(
            f"{disk.path}: the account's key in this file is not an RSA key: name another file."
        )
    return key


def _pem(key: RSAPrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
