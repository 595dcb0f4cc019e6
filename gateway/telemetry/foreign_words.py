"""Words of Google and of libraries in log lines.

Rules
- Google's messages repeat cells, titles and ranges, in quotes of any kind or in none. So only known
  words are logged, never a part of the message itself.
- Libraries quote what they could not read. Their texts end before the first quotation.
"""

import logging
import re
from typing import Any

import structlog

UNKNOWN = "words that the gateway does not know, not logged because they may repeat cells"

_LONGEST_READ = 2_000
_PLACE = re.compile(
    r"Invalid (?:requests|data|ranges|dataFilters)\[[0-9]{1,6}\](?:\.(?:addSheet|appendCells"
    r"|appendDimension|createDeveloperMetadata|deleteDeveloperMetadata|deleteDimension"
    r"|insertDimension|updateCells|updateDeveloperMetadata)(?![A-Za-z]))?"
)
"""The part of a request that Google refuses."""

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
"""Parts of Google's messages, without what it inserts there; the first one found is logged."""

_QUOTATION = re.compile("[\"'`\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f\r\n]")

_frames_of = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def known_words(google_message: str) -> str:
    """The place and the known words of a message, which contain nothing of a spreadsheet."""
    read = google_message[:_LONGEST_READ]
    place = _PLACE.match(read)
    words = next((each for each in _KNOWN if each in read), UNKNOWN)
    return f"{place[0]}: {words}" if place else words


def unquoted(text: str) -> str:
    """A library's text up to its first quotation or the end of its line."""
    found = _QUOTATION.search(text)
    return text[: found.start()] if found else text


def traceback_of(exc_info: Any) -> list[dict[str, Any]]:
    """The frames of an exception and its causes, without locals and quotations in their texts."""
    return _without_quotations(_frames_of(exc_info))


def _without_quotations(chain: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for each in chain:
        each |= {"exc_value": unquoted(each["exc_value"]), "exc_notes": [], "syntax_error": None}
        for grouped in each.get("exceptions", ()):
            _without_quotations(grouped)
    return chain


def cut_to_first_line(record: logging.LogRecord) -> bool:
    """A filter for asyncio's lines: their second line quotes an exception.

    Its traceback is logged, too.
    """
    record.msg, record.args = record.getMessage().partition("\n")[0], ()
    return True
