"""Where a request may carry its key and its spreadsheet id; a body never carries them.

Rules: blanks around a value are cut, an empty value is absent. Every place is looked at, so that
two places that differ are an error and no proxy or log can be fooled about who called.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers, QueryParams

from gateway.errors import AmbiguousCredentials, KeyNotAllowedInUrl, MissingApiKey

KEY_HEADERS = ("Authorization", "API-Key", "X-API-Key", "Authentication")
SPREADSHEET_HEADERS = ("X-Spreadsheet-Id", "X-Sheetson-Spreadsheet-Id")
KEY_PARAMETER = "apiKey"
SPREADSHEET_PARAMETER = "spreadsheetId"

_SCHEMED = {"Authorization", "Authentication"}
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The key and the spreadsheet id of a request, None where it has none."""

    key: str | None
    spreadsheet: str | None


def find_credentials(headers: Headers, query: QueryParams, *, is_write: bool) -> Credentials:
    """Look in all places; a key in the URL counts for reads only."""
    in_headers = _distinct(_header_keys(headers))
    in_url = _distinct(query.getlist(KEY_PARAMETER))
    key = _only(_distinct([*in_headers, *in_url]), "API keys")
    if is_write and in_url and not in_headers:
        raise KeyNotAllowedInUrl(
            "A key in the URL may only read. Send it as 'Authorization: Bearer KEY'."
        )
    if is_write and key is None and headers.get("content-type", "").lower().startswith(_FORM):
        raise MissingApiKey(
            "A key in a form is not read. To write, send it as 'Authorization: Bearer KEY'. To "
            "list with curl, add -G, so that the parameters go into the URL."
        )
    spreadsheets = [value for name in SPREADSHEET_HEADERS for value in headers.getlist(name)]
    spreadsheets += query.getlist(SPREADSHEET_PARAMETER)
    return Credentials(key=key, spreadsheet=_only(_distinct(spreadsheets), "spreadsheet ids"))


def _header_keys(headers: Headers) -> Iterable[str]:
    for name in KEY_HEADERS:
        for value in headers.getlist(name):
            scheme, _, rest = value.strip().partition(" ")
            yield rest if name in _SCHEMED and scheme.lower() == "bearer" else value


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(value.strip() for value in values if value.strip()))


def _only(values: list[str], what: str) -> str | None:
    if len(values) > 1:
        raise AmbiguousCredentials(f"The request holds different {what}; send one of them.")
    return values[0] if values else None
