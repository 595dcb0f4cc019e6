"""The emulator's only service account and its key file."""

import json
import os
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

EMAIL = "gateway@emulator.iam.gserviceaccount.com"
PROJECT = "emulator"
KEY_ID = "emulator-key"
PUBLIC_EXPONENT = 65537
KEY_BITS = 2048
PRIVATE_MODE = 0o600
KEPT_AS = "private_key"


@dataclass(frozen=True, kw_only=True)
class ServiceAccount:
    """An account and its signing key."""

    email: str
    private_key: RSAPrivateKey


@cache
def service_account() -> ServiceAccount:
    """The account of this process; creating its key takes a while, so it is created once."""
    key = generate_private_key(public_exponent=PUBLIC_EXPONENT, key_size=KEY_BITS)
    return ServiceAccount(email=EMAIL, private_key=key)


def stored_account(disk: Disk) -> ServiceAccount:
    """The account stored in a database file, so that its key survives a restart.

    Raises DiskError.
    """
    pem = disk.recall(KEPT_AS)
    if pem is None:
        account = service_account()
        disk.remember(KEPT_AS, _pem(account))
        return account
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except ValueError as error:
        raise DiskError(f"{disk.path}: the account's key cannot be read.") from error
    if not isinstance(key, RSAPrivateKey):
        raise DiskError(f"{disk.path}: the account's key is no RSA key.")
    return ServiceAccount(email=EMAIL, private_key=key)


def write_file(account: ServiceAccount, path: Path, token_uri: str) -> None:
    """Write the key file for google-auth, readable by its owner only."""
    content = {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": KEY_ID,
        "private_key": _pem(account),
        "client_email": account.email,
        "client_id": "100000000000000000001",
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": token_uri,
        "universe_domain": "googleapis.com",
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.chmod(path, PRIVATE_MODE)  # an existing file would keep its mode
        json.dump(content, file, indent=2)


def _pem(account: ServiceAccount) -> str:
    key = account.private_key
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
