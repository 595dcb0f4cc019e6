"""Key and spreadsheet ID of a request, and a 0.5 s cache of authorised reads.

Rules
- Values are trimmed, an empty value is absent. Every place is read: two places with different
  values are an error, so that no proxy or log attributes a request to another key.
- A cache entry is valid for one head: identical credentials, worksheet and origin. It holds the
  caller and their read access, and no rates: each request is charged.
- Entries are keyed by a digest with a random key of the process, so that no API key is stored.
- Entries expire after `TTL_SECONDS`, which adds to the delay of a revocation.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from gateway.access.caller import Caller
from gateway.errors import AmbiguousCredentials, KeyNotAllowedInUrl, MissingApiKey
from gateway.web.head import Head
from gateway.web.media_types import FORM
from gateway.web.query_string import KEY_PARAMETER, SPREADSHEET_PARAMETER, decoded
from gateway.worksheets.access import Target


class Credentials(msgspec.Struct, frozen=True):
    """Key and spreadsheet ID of a request; None if absent."""

    key: str | None
    spreadsheet: str | None


def find_credentials(head: Head, parameters: bytes, *, is_write: bool) -> Credentials:
    """Search all places; a key in the URL is valid for reads only.

    `parameters` are the URL's parameters for credentials.
    """
    in_headers = _in_headers(head, KEY_HEADERS)
    in_url = _in_url(parameters, KEY_PARAMETER) if parameters else []
    key = _only(in_headers + in_url, "API keys")
    if is_write and not in_headers:
        _refuse_misplaced(head, is_in_url=bool(in_url))
    spreadsheets = _in_headers(head, SPREADSHEET_HEADERS)
    if parameters:
        spreadsheets += _in_url(parameters, SPREADSHEET_PARAMETER)
    return Credentials(key, _only(spreadsheets, "spreadsheet ids"))


def _without_scheme(value: str) -> str:
    scheme, _, key = value.strip().partition(" ")
    return key.strip() if scheme.lower() == "bearer" else value.strip()


KEY_HEADERS: Mapping[bytes, Callable[[str], str]] = {
    b"authorization": _without_scheme,
    b"authentication": _without_scheme,
    b"api-key": str.strip,
    b"x-api-key": str.strip,
}
SPREADSHEET_HEADERS: Mapping[bytes, Callable[[str], str]] = {
    b"x-spreadsheet-id": str.strip,
    b"x-sheetson-spreadsheet-id": str.strip,
}


def _in_headers(head: Head, places: Mapping[bytes, Callable[[str], str]]) -> list[str]:
    """The parsed values of these headers."""
    found: list[str] = []
    for name, read in places.items():
        for value in head.lines.get(name, ()):
            if text := read(value.decode("latin-1")):
                found.append(text)
    return found


def _in_url(parameters: bytes, name: str) -> list[str]:
    return [text for value in decoded(parameters).get(name, ()) if (text := value.strip())]


def _refuse_misplaced(head: Head, *, is_in_url: bool) -> None:
    """Refuse a write whose key is only in a place that is not valid for writes."""
    if is_in_url:
        raise KeyNotAllowedInUrl(
            "A key in the URL may only read. Send it as 'Authorization: Bearer KEY'."
        )
    if (head.first(b"content-type") or "").lower().startswith(FORM):
        raise MissingApiKey(
            "A key in a form is not read. To write, send it as 'Authorization: Bearer KEY'. To "
            "list with curl, add -G, so that the parameters go into the URL."
        )


def _only(values: Sequence[str], what: str) -> str | None:
    """The value, which may be repeated; None if absent."""
    if not values:
        return None
    if len(values) > 1 and len(set(values)) > 1:
        raise AmbiguousCredentials(f"The request holds different {what}; send one of them.")
    return values[0]


TTL_SECONDS = 0.5
MAX_KEPT = 4096
LONGEST_TITLE = 256
"""Of cached worksheets; Google's titles are shorter."""

_TELLING = (*KEY_HEADERS, *SPREADSHEET_HEADERS, b"origin")
"""Headers that decide the access of a read."""

_DIGEST_BYTES = 16
_ABSENT = b"\1"


class CachedCaller(NamedTuple):
    """An authorised caller and worksheet, with the expiry of this entry."""

    caller: Caller
    target: Target
    until_seconds: float
    reading: str
    """The second reading of the worksheet's name, "" for none."""


class AuthCache:
    """Authorised reads of one gateway."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._secret = secrets.token_bytes(32)
        self._kept: dict[bytes, CachedCaller] = {}

    def find(self, number: bytes) -> CachedCaller | None:
        found = self._kept.get(number)
        return found if found is not None and self._timer() < found.until_seconds else None

    def issue(self, number: bytes, caller: Caller, target: Target, reading: str = "") -> None:
        """Cache the authorisation of this head, unless its key may expire meanwhile."""
        if caller.expires or len(target.worksheet.title) > LONGEST_TITLE:
            return
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[number] = CachedCaller(caller, target, self._timer() + TTL_SECONDS, reading)

    def number(self, head: Head, credentials: bytes, segment: str) -> bytes:
        """The cache key: the URL's `credentials`, the worksheet's `segment`, and headers.

        Header lines and URLs cannot contain the separators.
        """
        lines = head.lines
        parts = [credentials, segment.encode("latin-1", "replace")]
        for name in _TELLING:
            parts.append(b"\0".join(lines[name]) if name in lines else _ABSENT)
        told = b"\n".join(parts)
        return blake2b(told, digest_size=_DIGEST_BYTES, key=self._secret).digest()
