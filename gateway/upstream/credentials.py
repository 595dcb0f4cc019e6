"""The service account's key file: read once at the start, and refused if it is not safe."""

import os
from pathlib import Path
from typing import Any

import msgspec
from google.oauth2.service_account import Credentials

from gateway.config import ConfigError, is_allowed_endpoint
from gateway.private_file import HOW_TO_MEND, is_open_to_others
from gateway.upstream.token import SCOPES

SETTING = "google.credentials"

MAX_FILE_BYTES = 65_536


def load_service_account(path: Path, *, allow_insecure_endpoint: bool) -> Credentials:
    """Credentials for Sheets from a key file that only its owner can read, or `ConfigError`."""
    try:
        info = msgspec.json.decode(_read_private(path))
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _refused(path, "is not JSON") from None
    problems = _problems(info, allow_insecure_endpoint=allow_insecure_endpoint)
    if problems:
        raise ConfigError([f"{SETTING}: {path} {problem}" for problem in problems])
    try:
        return Credentials.from_service_account_info(info, scopes=SCOPES)  # type: ignore[no-any-return, no-untyped-call]  # has no types
    except (ValueError, TypeError):
        # Not chained: what a parser says about a key may quote it.
        raise _refused(path, "has a private_key that is not an RSA key in PEM form") from None


def _read_private(path: Path) -> bytes:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode  # of the file that was opened, whatever path is now
        if is_open_to_others(mode):
            raise _refused(path, f"can be read by others than its owner: {HOW_TO_MEND}")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise _refused(path, "is too large for a service account's key file")
    return content


def _problems(info: Any, *, allow_insecure_endpoint: bool) -> list[str]:
    if not isinstance(info, dict) or info.get("type") != "service_account":
        return ['is not a service account\'s key file ("type": "service_account")']
    names = ("client_email", "private_key", "token_uri")
    problems = [f"has no {name}" for name in names if not isinstance(info.get(name), str)]
    token_uri = info.get("token_uri")
    if isinstance(token_uri, str) and not is_allowed_endpoint(
        token_uri, allow_insecure=allow_insecure_endpoint
    ):
        problems.append(
            "has a token_uri that is neither Google's nor on this machine "
            "(anything else needs google.allow_insecure_endpoint)"
        )
    return problems


def _refused(path: Path, problem: str) -> ConfigError:
    return ConfigError([f"{SETTING}: {path} {problem}"])
