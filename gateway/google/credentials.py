"""Credential files: checked at startup, refused if unsafe or unusable.

Rules:
- The key file is read here. That of the Application Default Credentials is only looked at:
  google-auth reads it itself, and knows kinds of it that hold no key.
- Nothing of a file is quoted.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from google.oauth2.service_account import Credentials

from gateway.google.key_file import DOWNLOAD, key_file_mend
from gateway.google.token import SCOPES
from gateway.settings.endpoint import is_allowed_endpoint
from gateway.settings.model import ConfigError, GoogleSettings
from gateway.settings.private_file import HOW_TO_MEND, is_changeable_by_others, is_open_to_others

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
"""What google-auth makes credentials of (google.auth.default)."""

_ENDPOINTS = ("token_uri", "token_url", "service_account_impersonation_url", "token_info_url")
"""Members of files of all kinds that name where credentials are shown."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A file and what is in it; `name` is what names the file."""

    name: str
    path: Path
    mode: int
    content: bytes

    @property
    def info(self) -> Mapping[str, Any]:
        """Its members, or `ConfigError`."""
        try:
            info = msgspec.json.decode(self.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self.useless("is not JSON") from None
        return info if isinstance(info, dict) else {}

    def useless(self, *problems: str) -> ConfigError:
        """All that is wrong with the file, and at the end what to do about it."""
        *others, last = problems
        return _refused(self.name, self.path, *others, f"{last}. {key_file_mend(self.content)}")

    def open_to_others(self, how: Literal["read", "changed"]) -> ConfigError:
        problem = f"can be {how} by others than its owner: {HOW_TO_MEND}"
        return _refused(self.name, self.path, problem)


def check_credentials(settings: GoogleSettings, environ: Mapping[str, str]) -> None:
    """Raise `ConfigError` if the account's credentials are in a file that cannot be used.

    It is that of the setting; without one, that of the Application Default Credentials, if any.
    """
    is_lax = settings.allow_insecure_endpoint
    if settings.credentials is not None:
        load_service_account(settings.credentials, allow_insecure_endpoint=is_lax)
        return
    path = _default_file(environ)
    if path is not None:
        _check_default(_found(VARIABLE, path), allow_insecure_endpoint=is_lax)


def load_service_account(path: Path, *, allow_insecure_endpoint: bool) -> Credentials:
    """Credentials for Sheets from a key file that only its owner can read, or `ConfigError`."""
    found = _found(SETTING, path)
    if is_open_to_others(found.mode):
        raise found.open_to_others("read")
    return _service_account(found, allow_insecure_endpoint=allow_insecure_endpoint)


def _service_account(found: _Found, *, allow_insecure_endpoint: bool) -> Credentials:
    info = found.info
    problems = [*_problems(info), *_endpoint_problems(info, allow_insecure_endpoint)]
    if problems:
        raise found.useless(*problems)
    try:
        return Credentials.from_service_account_info(info, scopes=SCOPES)  # type: ignore[no-any-return, no-untyped-call]  # has no types
    except (ValueError, TypeError):
        # Not chained: what a parser says about a key may quote it.
        raise found.useless("has a private_key that is not an RSA key in PEM form") from None


def _default_file(environ: Mapping[str, str]) -> Path | None:
    """The file that google-auth looks at first: the variable's, or what gcloud has made."""
    named = environ.get(VARIABLE)
    if named:
        return Path(named)
    folder = environ.get("CLOUDSDK_CONFIG", os.path.expanduser("~/.config/gcloud"))
    made = Path(folder) / "application_default_credentials.json"
    return made if os.path.isfile(made) else None  # False, too, where nobody may look


def _check_default(found: _Found, *, allow_insecure_endpoint: bool) -> None:
    info = found.info
    kind = info.get("type")
    # The file of a foreign identity says only where to ask; it is often mounted for all to read.
    is_secret = kind != EXTERNAL_ACCOUNT or "client_secret" in info
    if is_secret and is_open_to_others(found.mode):
        raise found.open_to_others("read")
    if is_changeable_by_others(found.mode):
        raise found.open_to_others("changed")
    if kind == SERVICE_ACCOUNT:
        _service_account(found, allow_insecure_endpoint=allow_insecure_endpoint)
    elif not isinstance(kind, str) or kind not in _DEFAULT_KINDS:
        raise found.useless("is no file of credentials")
    elif problems := _endpoint_problems(info, allow_insecure_endpoint):
        raise _refused(found.name, found.path, *problems)


def _problems(info: Mapping[str, Any]) -> Sequence[str]:
    if info.get("type") != SERVICE_ACCOUNT:
        return ['is not a service account\'s key file ("type": "service_account")']
    names = ("client_email", "private_key", "token_uri")
    return [f"has no {name}" for name in names if not isinstance(info.get(name), str)]


def _endpoint_problems(info: Mapping[str, Any], allow_insecure_endpoint: bool) -> Sequence[str]:
    return [
        f"has a {name} that is neither Google's nor on this machine "
        "(anything else needs google.allow_insecure_endpoint)"
        for name in _ENDPOINTS
        if isinstance(url := info.get(name), str)
        and not is_allowed_endpoint(url, allow_insecure=allow_insecure_endpoint)
    ]


def _found(name: str, path: Path) -> _Found:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode  # of what was opened, whatever path is now
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        mend = f"Correct {name}, or put the file there: {DOWNLOAD}."
        raise _refused(name, path, f"cannot be read: {error.strerror}. {mend}") from error
    except OSError as error:
        mend = "It must be a file that the user of the gateway can read."
        raise _refused(name, path, f"cannot be read: {error.strerror}. {mend}") from error
    found = _Found(name=name, path=path, mode=mode, content=content)
    if len(content) > MAX_FILE_BYTES:
        raise found.useless("is too large for a file of credentials")
    return found


def _refused(name: str, path: Path, *problems: str) -> ConfigError:
    return ConfigError([f"{name}: {path} {problem}" for problem in problems])
