"""Masking of secrets in log lines, and removal of cells from messages of Google and libraries.

Rules of messages
- Google's messages repeat cells, titles and ranges, with or without quotation marks. So the gateway
  logs only phrases from a fixed list, never a part of the message itself.
- Libraries quote invalid input. So the texts of libraries are cut before the first quotation mark.

Rules of secrets
- Masking is a safety net: no code logs a secret on purpose. Clients put keys into paths, and
  libraries quote URLs and tokens in errors.
- Everything that looks like a secret is masked, including truncated secrets.
- Patterns find most spellings. If decoding reveals a secret that the patterns miss, for example a
  doubly encoded secret, the whole value is masked.
"""

import logging
import re
from collections.abc import Sequence
from re import Match, Pattern
from typing import Any
from urllib.parse import unquote

import structlog

MASK = "***"


def _percent(text: str) -> str:
    """Return a pattern that matches a text, also if percent-encoded once or repeatedly."""
    return "".join(f"(?:{re.escape(each)}|%(?:25)*{ord(each):02x})" for each in text)


_DIGIT = r"(?:[0-9A-Za-z]|%(?:25)*[3-7][0-9A-Fa-f])"

_CHARACTER = r"(?:\\[^\"]|[^&\s\"'#\\])"
"""Pattern of a character of a URL parameter in JSON text.

A JSON escape counts as one character, except an escaped quote, which ends the parameter.
"""

_PREFIXES = ("sgw_", "sga_", "sgs_", "sgl_")
"""Prefixes of API keys, admin keys, sessions and links."""

_SECRETS: Sequence[tuple[Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), masked)
    for pattern, masked in (
        # Our keys, and any value of the parameter `apiKey`.
        *((rf"{_percent(each)}{_DIGIT}+", f"{each}{MASK}") for each in _PREFIXES),
        (rf"({_percent('apiKey')}(?:=|%(?:25)*3d))(?:(?!%(?:25)*26){_CHARACTER})+", rf"\1{MASK}"),
        # Google's access tokens, JSON Web Tokens, and any bearer token.
        (r"\bya29\.[\w.-]+", f"ya29.{MASK}"),
        (r"(?<![\w-])eyJ[\w-]{8,}\.[\w.-]+", f"eyJ{MASK}"),
        (r"\b(bearer)\s+[\w.~+/=-]{8,}", rf"\1 {MASK}"),
        # A private key, complete or truncated.
        (
            r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:(?!-----END)(?:\\[^\"]|[^\"'\\]))*",
            rf"\1{MASK}",
        ),
        # User and password in a URL.
        (r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*://)[^/\s\"'@]+@", rf"\1{MASK}@"),
    )
)

_VALUE = re.compile(r'(?:[^"\\]|\\.)+', re.DOTALL)
"""Pattern of a JSON string without its quotes."""

_ENCODED_PERCENTS = re.compile("%(?:25)+")

_MARKS = (*_PREFIXES, "apikey", "ya29.", "eyj", "bearer", "-----begin", "://")
"""Texts for a fast first check. Each secret contains one of these texts, in lower or upper case."""

_MOST_ENCODINGS = 5
"""Maximum number of nested percent-encodings. A value with more encodings is masked."""


def redacted(text: str) -> str:
    """Return the text with masked secrets."""
    plain = _decoded(text)
    if plain is not None:
        small = plain.lower()
        if not any(mark in small for mark in _MARKS):
            return text
    if "%" in text:
        text = _VALUE.sub(_without_encoded, text)
    return _masked(text)


def _without_encoded(found: Match[str]) -> str:
    """Return the value, or `MASK` if the patterns would miss a part of an encoded secret."""
    value = found[0]
    if "%" not in value:
        return value
    plain = _decoded(value)
    is_seen = plain is not None and _masked(plain) == _decoded(_masked(value))
    return value if is_seen else MASK


def _masked(text: str) -> str:
    for pattern, masked in _SECRETS:
        text = pattern.sub(masked, text)
    return text


def _decoded(text: str) -> str | None:
    """Decode repeated percent-encoding. Returns None above `_MOST_ENCODINGS` encodings."""
    for _ in range(_MOST_ENCODINGS):
        if "%" not in text:
            return text
        before = text
        text = unquote(_ENCODED_PERCENTS.sub("%", text) if "%25" in text else text)
        if text == before:
            return text
    return None


UNKNOWN = "text that the gateway does not know, not logged because it might contain cells"

_LONGEST_READ = 2_000
_PLACE = re.compile(
    r"Invalid (?:requests|data|ranges|dataFilters)\[[0-9]{1,6}\](?:\.(?:addSheet|appendCells"
    r"|appendDimension|createDeveloperMetadata|deleteDeveloperMetadata|deleteDimension"
    r"|insertDimension|updateCells|updateDeveloperMetadata)(?![A-Za-z]))?"
)
"""Pattern of the beginning of Google's error message, which names a part of the request."""

_KNOWN = (
    "You are trying to edit a protected cell or object",
    "increase the number of cells in the workbook above the limit of 10000000 cells",
    "contains more than the maximum of 50000 characters in a single cell",
    "Unable to parse range",
    "exceeds grid limits",
    "No grid with id",
    "No sheet with id",
    "is after last row in grid",
    "is after last column in grid",
    "is larger than current grid size",
    "Cannot delete a row that doesn't exist",
    "Cannot delete a column that doesn't exist",
    "You can't delete all the rows on the sheet",
    "Sorry, it is not possible to delete all non-frozen rows",
    "part of an array",
    "A table must have a header and at least one more row",
    "developer metadata with that ID already exists",
    "Developer metadata of a spreadsheet may have at most",
    "Developer metadata of a sheet may have at most",
    "No developer metadata matches the data filters",
    "Must specify at least one request",
    "Must specify at least one data filter",
    "Request too large",
    "Request payload size exceeds the limit",
    "The request is larger than the limit",
    "Invalid JSON payload received",
    "Unknown name",
    "Invalid value",
    "Invalid field",
    "Request contains an invalid argument",
    "Request had invalid authentication credentials",
    "Request had insufficient authentication scopes",
    "The caller does not have permission",
    "Requested entity was not found",
    "This operation is not supported for this document",
    "Precondition check failed",
    "has not been used in project",
    "Quota exceeded for quota metric",
    "Resource has been exhausted",
    "The operation was aborted",
    "The operation was cancelled",
    "Internal error encountered",
    "The service is currently unavailable",
    "Deadline expired before operation could complete",
    "Authentication backend unavailable",
    "Visibility check was unavailable",
)
"""Fixed phrases in Google's messages. The first phrase that a message contains is logged."""

_QUOTATION = re.compile("[\"'`\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f\r\n]")

_frames_of = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def known_words(google_message: str) -> str:
    """Return what the log can contain of an error message of Google.

    This is the first phrase of `_KNOWN` in the message, else `UNKNOWN`. If the message begins with
    the part of the request that Google refused (`_PLACE`), this part and a colon come first.
    """
    read = google_message[:_LONGEST_READ]
    place = _PLACE.match(read)
    words = next((each for each in _KNOWN if each in read), UNKNOWN)
    return f"{place[0]}: {words}" if place else words


def unquoted(text: str) -> str:
    """Return a text up to its first quotation mark or line break."""
    found = _QUOTATION.search(text)
    return text[: found.start()] if found else text


def traceback_of(exc_info: Any) -> list[dict[str, Any]]:
    """Return structlog's dictionaries of an exception and its causes, without local variables."""
    return _without_quotations(_frames_of(exc_info))


def _without_quotations(chain: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for each in chain:
        each |= {"exc_value": unquoted(each["exc_value"]), "exc_notes": [], "syntax_error": None}
        for grouped in each.get("exceptions", ()):
            _without_quotations(grouped)
    return chain


def cut_to_first_line(record: logging.LogRecord) -> bool:
    """Log filter that cuts asyncio's messages after the first line.

    The second line quotes an exception. The traceback is still logged.
    """
    record.msg, record.args = record.getMessage().partition("\n")[0], ()
    return True
