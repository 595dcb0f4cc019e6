"""Worksheet identity, layouts from the settings, and the access of API keys.

Rules
- The gateway applies access when it reads a request and when it makes an answer. Cached rows and
  batches of writes do not depend on access.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import msgspec

from gateway.errors import UpstreamError, WorksheetNotFound
from gateway.settings.model import WorksheetSettings
from gateway.table.a1 import Area, parse_area
from gateway.table.cells import composed
from gateway.table.header import ALL_COLUMNS, DEFAULT_LAYOUT, ColumnGrant, Layout
from gateway.table.quoting import quoted


class WorksheetId(msgspec.Struct, frozen=True):
    """Spreadsheet ID and tab title, used as the key of caches, queues and batches of writes.

    `spreadsheet` has already been validated as a spreadsheet ID.
    """

    spreadsheet: str
    title: str


class Layouts:
    """Layouts of worksheets from the settings.

    A layout is the header row and the rule for the last record.
    """

    def __init__(self, settings: Sequence[WorksheetSettings] = ()) -> None:
        layouts = {
            WorksheetId(each.spreadsheet, composed(each.title)): Layout(
                each.header_row, composed(each.record_field), each.filled_down
            )
            for each in settings
        }
        self._layouts = {at: each for at, each in layouts.items() if each != DEFAULT_LAYOUT}

    @property
    def digest(self) -> str:
        """Hex SHA-256 of all layouts that differ from the default. Their order does not matter.

        Processes that share caches compare this digest at startup.
        """
        rows: list[list[object]] = []
        for at, (header_row, *ends) in self._layouts.items():
            has_ends = (*ends,) != DEFAULT_LAYOUT[1:]
            rows.append([at.spreadsheet, at.title, header_row, *(ends if has_ends else ())])
        rows.sort(key=itemgetter(0, 1))
        return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()

    def of(self, worksheet: WorksheetId) -> Layout:
        """Return the layout from the settings, or the default. Compares titles in Unicode NFC."""
        if not self._layouts:
            return DEFAULT_LAYOUT
        title = composed(worksheet.title)
        return self._layouts.get(WorksheetId(worksheet.spreadsheet, title), DEFAULT_LAYOUT)


DEFAULT_LAYOUTS = Layouts()


def worksheet_not_found(
    worksheet: WorksheetId, titles: Sequence[str], hint: str = ""
) -> WorksheetNotFound:
    """Make the error for a title that the spreadsheet lacks. The message ends with `hint`.

    The error object has the existing `titles` as an attribute. The message does not list these
    titles, because the API key might not see them.
    """
    error = WorksheetNotFound(
        f"The spreadsheet has no worksheet named {quoted(worksheet.title)}; case and blanks count. "
        f"GET /v2/sheets lists the worksheets.{hint}"
    )
    error.titles = titles
    return error


def own_area(worksheet: WorksheetId, echo: str) -> Area:
    """Parse the A1 range `echo` of Google's answer. Raises WorksheetNotFound if its title differs.

    Google ignores the case of titles, but the gateway does not. Raises UpstreamError if the range
    is not valid A1 notation.
    """
    try:
        area = parse_area(echo)
    except ValueError as error:
        raise UpstreamError("The range in Google's answer is unreadable. Try again.") from error
    if area.title != worksheet.title:
        raise worksheet_not_found(worksheet, [area.title])
    return area


@dataclass(frozen=True, kw_only=True)
class Access:
    """Worksheets and columns that an API key is allowed to use.

    `key_id` selects the queue for fair scheduling. `titles` are the titles of the visible
    worksheets, or None for all.
    """

    key_id: str = ""
    titles: frozenset[str] | None = None
    columns: ColumnGrant = ALL_COLUMNS

    def visible(self, titles: Sequence[str]) -> Sequence[str]:
        """Return the titles that this API key is allowed to see, in the given order."""
        if self.titles is None:
            return titles
        forms = Counter(map(composed, titles))
        return [
            title
            for title in titles
            if is_granted(title, self.titles, is_only=forms[composed(title)] == 1)
        ]

    def to(self, worksheet: WorksheetId) -> "Access":
        """Return this access with a secret for row ETags that is valid in one worksheet only.

        Row ETags are HMACs over rows with hidden cells. With one secret for all worksheets, a
        caller could guess a hidden cell: write the guess into another worksheet and compare the
        ETags.
        """
        columns = self.columns
        if not columns.tag_key:
            return self
        place = msgspec.json.encode([worksheet.spreadsheet, worksheet.title])
        key = hmac.digest(columns.tag_key, place, "sha256")
        return replace(self, columns=replace(columns, tag_key=key))


FULL_ACCESS = Access()


def is_granted(title: str, granted: frozenset[str] | None, *, is_only: bool) -> bool:
    """True if an API key is allowed to use a worksheet title. `granted` None allows every title.

    `is_only` says that no other title of the spreadsheet has the same NFC form. Then a granted
    title also matches in other Unicode forms.
    """
    if granted is None or title in granted:
        return True
    return is_only and composed(title) in map(composed, granted)


@dataclass(frozen=True)
class Target:
    """Worksheet of a request, with the access of its API key, made by `gateway.access` only."""

    worksheet: WorksheetId
    access: Access = FULL_ACCESS
