"""Loading and checks of credentials files. An unsafe or unusable file raises `ConfigError`.

Rules:
- This module loads the key file of a service account. The file of the Application Default
  Credentials is only checked, because google-auth loads that file and supports types without a key.
- No message quotes the content of a file.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from google.oauth2.service_account import Credentials

from gateway.google.token import SCOPES
from gateway.settings.address import is_allowed_endpoint
from gateway.settings.model import ConfigError, GoogleSettings
from gateway.settings.private_file import (
    HOW_TO_MEND,
    is_changeable_by_others,
    is_open_to_others,
    open_regular,
)

SETTING = "google.credentials"

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"

MAX_FILE_BYTES = 65_536

SERVICE_ACCOUNT = "service_account"

EXTERNAL_ACCOUNT = "external_account"

_DEFAULT_KINDS = frozenset(
    {
        *(SERVICE_ACCOUNT, EXTERNAL_ACCOUNT, "authorized_user", "external_account_authorized_user"),
        *("impersonated_service_account", "gdch_service_account"),
    }
)
"""Values of the member `type` that `google.auth.default` supports."""

_ENDPOINTS = ("token_uri", "token_url", "service_account_impersonation_url", "token_info_url")
"""JSON members with URLs to which google-auth sends credentials."""


ACCOUNTS_PAGE = "https://console.cloud.google.com/iam-admin/serviceaccounts"

DOWNLOAD = (
    f"download a key of a service account ({ACCOUNTS_PAGE} > the account > Keys > Add key > "
    "Create new key > JSON)"
)

ELSEWHERE = (
    "works as Application Default Credentials only: leave google.credentials out and set the "
    "variable GOOGLE_APPLICATION_CREDENTIALS to this file"
)
NOT_A_KEY = f"It cannot be used here; {DOWNLOAD}."

_MEMBERS: Mapping[str, str] = {
    "installed": 'It is the file of an OAuth client ("installed", a desktop app), with which '
    "people sign in.",
    "web": 'It is the file of an OAuth client ("web", a web app), with which people sign in.',
}
"""Descriptions of unsuitable files, by a JSON member that only this file type has."""

_TYPES: Mapping[str, str] = {
    "authorized_user": 'It is a person\'s sign-in ("authorized_user", as gcloud makes it). '
    + NOT_A_KEY,
    "external_account": f'It is of the type "external_account", which {ELSEWHERE}.',
    "external_account_authorized_user": "It is a person's sign-in of another provider, which "
    f"{ELSEWHERE}.",
    "impersonated_service_account": 'It is of the type "impersonated_service_account", which '
    f"{ELSEWHERE}.",
}

_PATTERNS: Sequence[tuple[re.Pattern[bytes], str]] = (
    (
        re.compile(rb"AIza[0-9A-Za-z_-]{30,}"),
        "It contains a Google API key, and a spreadsheet cannot be shared with an API key.",
    ),
    (re.compile(rb"\A\s*-----BEGIN "), "It is a private key alone, without its account."),
    (re.compile(rb"\A0\x82"), "It seems to be a key in the P12 format."),
    (re.compile(rb"\A\s*<"), "It is a web page."),
    (re.compile(rb"\A\s*\Z"), "It is empty."),
)


@dataclass(frozen=True, kw_only=True)
class _CredentialsFile:
    """Credentials file. `name` is the setting or environment variable with the file's path."""

    name: str
    path: Path
    mode: int
    content: bytes

    @property
    def info(self) -> Mapping[str, Any]:
        """JSON members of the file. Raises `ConfigError` if the file is not JSON."""
        info = _decoded(self.content)
        if info is None:
            raise self.unusable("is not JSON")
        return info

    def unusable(self, *problems: str) -> ConfigError:
        """Return an error with all problems of the file and advice for the operator."""
        *others, last = problems
        return _refused(self.name, self.path, *others, f"{last}. {key_file_advice(self.content)}")

    def open_to_others(self, how: Literal["read", "changed"]) -> ConfigError:
        problem = f"can be {how} by users other than its owner: {HOW_TO_MEND}"
        return _refused(self.name, self.path, problem)


def check_credentials(settings: GoogleSettings, environ: Mapping[str, str]) -> None:
    """Raise `ConfigError` if the credentials file of the settings cannot be used.

    Without a configured file, the file of the Application Default Credentials is checked if it
    exists.
    """
    allow_insecure = settings.allow_insecure_endpoint
    if settings.credentials is not None:
        load_service_account(
            settings.credentials, allow_insecure_endpoint=allow_insecure, subject=settings.subject
        )
        return
    # The file that google-auth finds: named by its variable, or made by gcloud.
    folder = environ.get("CLOUDSDK_CONFIG", os.path.expanduser("~/.config/gcloud"))
    made = os.path.join(folder, "application_default_credentials.json")
    named = environ.get(VARIABLE)
    if named or os.path.isfile(made):  # also False if the folder is not readable
        file = _read_file(VARIABLE, Path(named or made))
        _check_default(file, allow_insecure_endpoint=allow_insecure)


def load_service_account(
    path: Path, *, allow_insecure_endpoint: bool, subject: str | None = None
) -> Credentials:
    """Load the credentials of a service account from its key file.

    `allow_insecure_endpoint` allows every host in the token URL of the file. `subject` is the
    e-mail address of a user that the account acts as (domain-wide delegation).
    Raises `ConfigError` if the file is unusable or users other than its owner can read it.
    """
    file = _read_file(SETTING, path)
    if is_open_to_others(file.mode):
        raise file.open_to_others("read")
    credentials = _service_account(file, allow_insecure_endpoint=allow_insecure_endpoint)
    return credentials.with_subject(subject) if subject else credentials  # type: ignore[no-untyped-call]  # has no types


def _service_account(file: _CredentialsFile, *, allow_insecure_endpoint: bool) -> Credentials:
    info = file.info
    if info.get("type") != SERVICE_ACCOUNT:
        problems = ['is not a service account\'s key file ("type": "service_account")']
    else:
        names = ("client_email", "private_key", "token_uri")
        problems = [f"has no {name}" for name in names if not isinstance(info.get(name), str)]
    problems += _endpoint_problems(info, allow_insecure_endpoint)
    if problems:
        raise file.unusable(*problems)
    try:
        return Credentials.from_service_account_info(info, scopes=SCOPES)  # type: ignore[no-any-return, no-untyped-call]  # has no types
    except (ValueError, TypeError):
        # Not chained: the parser's error may quote the key.
        raise file.unusable("has a private_key that is not an RSA key in PEM form") from None


def _check_default(file: _CredentialsFile, *, allow_insecure_endpoint: bool) -> None:
    info = file.info
    kind = info.get("type")
    # The file of an external account contains only URLs and is often readable by everyone.
    is_secret = kind != EXTERNAL_ACCOUNT or "client_secret" in info
    if is_secret and is_open_to_others(file.mode):
        raise file.open_to_others("read")
    if is_changeable_by_others(file.mode):
        raise file.open_to_others("changed")
    if kind == SERVICE_ACCOUNT:
        _service_account(file, allow_insecure_endpoint=allow_insecure_endpoint)
    elif not isinstance(kind, str) or kind not in _DEFAULT_KINDS:
        raise file.unusable("is not a credentials file")
    elif problems := _endpoint_problems(info, allow_insecure_endpoint):
        raise _refused(file.name, file.path, *problems)


def _endpoint_problems(info: Mapping[str, Any], allow_insecure_endpoint: bool) -> Sequence[str]:
    return [
        f"has a {name} that is neither Google's nor on this machine "
        "(other URLs need google.allow_insecure_endpoint)"
        for name in _ENDPOINTS
        if isinstance(url := info.get(name), str)
        and not is_allowed_endpoint(url, allow_insecure=allow_insecure_endpoint)
    ]


def _read_file(name: str, path: Path) -> _CredentialsFile:
    try:
        with open_regular(path) as opened:
            mode = os.fstat(
                opened.fileno()
            ).st_mode  # of the opened file, even if path was replaced
            content = opened.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        mend = f"Correct {name}, or put the file there: {DOWNLOAD}."
        raise _refused(name, path, f"cannot be read: {error.strerror}. {mend}") from error
    except OSError as error:
        mend = "It must be a file that the user of the gateway can read."
        raise _refused(name, path, f"cannot be read: {error.strerror}. {mend}") from error
    file = _CredentialsFile(name=name, path=path, mode=mode, content=content)
    if len(content) > MAX_FILE_BYTES:
        raise file.unusable("is too large for a credentials file")
    return file


def _refused(name: str, path: Path, *problems: str) -> ConfigError:
    return ConfigError(*[f"{name}: {path} {problem}" for problem in problems])


def key_file_advice(content: bytes) -> str:
    """Return a message with the type of an unusable credentials file, and advice."""
    info = _decoded(content) or {}
    if info.get("type") == SERVICE_ACCOUNT:
        return f"It is truncated or modified; {DOWNLOAD}."
    for member, words in _MEMBERS.items():
        if isinstance(info.get(member), dict):
            return f"{words} {NOT_A_KEY}"
    by_type = _TYPES.get(str(info.get("type")))
    if by_type is not None:
        return by_type
    seen = next((words for pattern, words in _PATTERNS if pattern.search(content)), None)
    return f"{seen} {NOT_A_KEY}" if seen else f"It is damaged or of another kind; {DOWNLOAD}."


def _decoded(content: bytes) -> Mapping[str, Any] | None:
    """Return the JSON members, {} for JSON that is not an object, or None for other content."""
    try:
        info = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return info if isinstance(info, dict) else {}
