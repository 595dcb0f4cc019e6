"""Worksheets by name, and a caller's access to worksheets and fields.

Rules: access is applied where input is read and output is made. Cached rows and batches do not
depend on it.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import msgspec

from gateway.errors import UpstreamError, WorksheetNotFound
from gateway.google.sheets import SheetView
from gateway.settings.model import WorksheetSettings
from gateway.table.a1 import Area, parse_area
from gateway.table.header import ALL_COLUMNS, DEFAULT_LAYOUT, ColumnGrant, Layout
from gateway.table.quoting import quoted
from gateway.table.texts import composed


class WorksheetId(msgspec.Struct, frozen=True):
    """Key of caches, queues and batches. `spreadsheet` matches the ID pattern."""

    spreadsheet: str
    title: str


class Layouts:
    """Layouts of worksheets: from their table in the settings, otherwise the default one."""

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
        """Digest of the layouts, independent of their order."""
        rows: list[list[object]] = []
        for at, (header_row, *ends) in self._layouts.items():
            has_ends = (*ends,) != DEFAULT_LAYOUT[1:]
            rows.append([at.spreadsheet, at.title, header_row, *(ends if has_ends else ())])
        rows.sort(key=itemgetter(0, 1))
        return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()

    def of(self, worksheet: WorksheetId) -> Layout:
        """The layout of a worksheet; titles are compared in NFC."""
        if not self._layouts:
            return DEFAULT_LAYOUT
        title = composed(worksheet.title)
        return self._layouts.get(WorksheetId(worksheet.spreadsheet, title), DEFAULT_LAYOUT)


DEFAULT_LAYOUTS = Layouts()


def worksheet_not_found(
    worksheet: WorksheetId, titles: Sequence[str], hint: str = ""
) -> WorksheetNotFound:
    """The error for a missing title; the message does not list `titles`."""
    error = WorksheetNotFound(
        f"The spreadsheet has no worksheet named {quoted(worksheet.title)}. The name is on the "
        f"tab; case and blanks count. GET /v2/sheets lists the worksheets.{hint}"
    )
    error.titles = titles
    return error


def own_area(worksheet: WorksheetId, echo: str) -> Area:
    """Parse the area of an echoed range. Raises WorksheetNotFound for another worksheet.

    Google ignores the case of titles, the gateway does not: another spelling in the echo means that
    the requested worksheet does not exist.
    """
    try:
        area = parse_area(echo)
    except ValueError as error:
        raise UpstreamError("Google answered with a range that cannot be read.") from error
    if area.title != worksheet.title:
        raise worksheet_not_found(worksheet, [area.title])
    return area


def own_sheet(worksheet: WorksheetId, view: SheetView) -> SheetView:
    """Return the view if it has the requested title. Raises as `own_area`."""
    if view.title != worksheet.title:
        raise worksheet_not_found(worksheet, [view.title])
    return view


@dataclass(frozen=True, kw_only=True)
class Access:
    """Access of a caller; `key_id` decides turns, `titles` are visible worksheets (None: all)."""

    key_id: str = ""
    titles: frozenset[str] | None = None
    columns: ColumnGrant = ALL_COLUMNS

    def visible(self, titles: Sequence[str]) -> Sequence[str]:
        """Filter the titles of a spreadsheet that the caller may know."""
        if self.titles is None:
            return titles
        forms = Counter(map(composed, titles))
        return [
            title
            for title in titles
            if is_granted(title, self.titles, is_only=forms[composed(title)] == 1)
        ]

    def to(self, worksheet: WorksheetId) -> "Access":
        """The access with the key of row tags in this worksheet.

        With one key for all worksheets, a caller could guess a hidden cell and compare the tags of
        rows in their own worksheet.
        """
        columns = self.columns
        if not columns.tag_key:
            return self
        place = msgspec.json.encode([worksheet.spreadsheet, worksheet.title])
        key = hmac.digest(columns.tag_key, place, "sha256")
        return replace(self, columns=replace(columns, tag_key=key))


FULL_ACCESS = Access()


def is_granted(title: str, granted: frozenset[str] | None, *, is_only: bool) -> bool:
    """True if a worksheet is among the granted titles (None: all).

    If no other title has the same NFC form (`is_only`), another spelling grants it, too.
    """
    if granted is None or title in granted:
        return True
    return is_only and composed(title) in map(composed, granted)


@dataclass(frozen=True)
class Target:
    """The worksheet of a request and the caller's access; only `gateway.access` makes one."""

    worksheet: WorksheetId
    access: Access = FULL_ACCESS
