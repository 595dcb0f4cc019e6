"""Find the key and the spreadsheet id in a request.

Rules: blanks around a value are cut, an empty value is absent. Every place is looked at, so that
two places that differ are an error and no proxy or log can be fooled about who called.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from gateway.errors import AmbiguousCredentials, KeyNotAllowedInUrl, MissingApiKey
from gateway.web.head import Head
from gateway.web.media_types import FORM
from gateway.web.query_string import KEY_PARAMETER, SPREADSHEET_PARAMETER, decoded


class Credentials(msgspec.Struct, frozen=True):
    """The key and the spreadsheet id of a request, None where it has none."""

    key: str | None
    spreadsheet: str | None


def find_credentials(head: Head, parameters: bytes, *, is_write: bool) -> Credentials:
    """Look in all places; a key in the URL counts for reads only.

    `parameters` are those of credentials, sifted out of the URL.
    """
    in_headers = _in_headers(head, KEY_HEADERS)
    in_url = _in_url(parameters, KEY_PARAMETER)
    key = _only(in_headers + in_url, "API keys")
    if is_write and not in_headers:
        _refuse_misplaced(head, is_in_url=bool(in_url))
    spreadsheets = _in_headers(head, SPREADSHEET_HEADERS)
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
    """What is in these headers, each read in its way."""
    lines = head.lines
    return [
        text
        for name, read in places.items()
        if name in lines
        for value in head.values(name)
        if (text := read(value))
    ]


def _in_url(parameters: bytes, name: str) -> list[str]:
    if not parameters:
        return []
    return [text for value in decoded(parameters).get(name, ()) if (text := value.strip())]


def _refuse_misplaced(head: Head, *, is_in_url: bool) -> None:
    """Tell a write without a key in its headers that its key is in a place that does not count."""
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
    """The value, however often it is there; None if it is nowhere."""
    if not values:
        return None
    if len(values) > 1 and len(set(values)) > 1:
        raise AmbiguousCredentials(f"The request holds different {what}; send one of them.")
    return values[0]
