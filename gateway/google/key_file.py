"""What a wrong credentials file is, and what to do about it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

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
"""What a file is, by a member that no other has."""

_TYPES: Mapping[str, str] = {
    "authorized_user": 'It is a person\'s sign-in ("authorized_user", as gcloud makes it). '
    + NOT_A_KEY,
    "external_account": f'It is of the type "external_account", which {ELSEWHERE}.',
    "external_account_authorized_user": "It is a person's sign-in of another provider, which "
    f"{ELSEWHERE}.",
    "impersonated_service_account": 'It is of the type "impersonated_service_account", which '
    f"{ELSEWHERE}.",
}

_LOOKS: Sequence[tuple[re.Pattern[bytes], str]] = (
    (
        re.compile(rb"AIza[0-9A-Za-z_-]{30,}"),
        "It holds an API key, to which no spreadsheet can be shared.",
    ),
    (re.compile(rb"\A\s*-----BEGIN "), "It is a private key alone, without its account."),
    (re.compile(rb"\A0\x82"), "It seems to be a key in the form P12."),
    (re.compile(rb"\A\s*<"), "It is a web page."),
    (re.compile(rb"\A\s*\Z"), "It is empty."),
)


def key_file_mend(content: bytes) -> str:
    """What the content of a refused file is, if that can be told, and what to do; nothing of it."""
    return _kind(content) or f"It is damaged, or something else; {DOWNLOAD}."


def _kind(content: bytes) -> str | None:
    info = _decoded(content)
    if info.get("type") == "service_account":
        return f"It was cut or changed; {DOWNLOAD}."
    for member, words in _MEMBERS.items():
        if isinstance(info.get(member), dict):
            return f"{words} {NOT_A_KEY}"
    by_type = _TYPES.get(str(info.get("type")))
    if by_type is not None:
        return by_type
    seen = next((words for pattern, words in _LOOKS if pattern.search(content)), None)
    return seen and f"{seen} {NOT_A_KEY}"


def _decoded(content: bytes) -> Mapping[str, Any]:
    try:
        info = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return info if isinstance(info, dict) else {}
