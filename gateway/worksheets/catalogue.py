"""Cache of each spreadsheet's worksheets with fields and types, for schemas and OpenAPI documents.

    cost in Google calls
    not cached                                2 reads: the worksheets, then their first rows
    cached for at most `KEPT_SECONDS`         none
    a worksheet vanished between the reads    2 reads more
    the first rows are too large              1 read more, of headers and native tables only

Rules
- Concurrent requests for a spreadsheet share these reads. Callers apply access to the result.
- Documents made from the worksheets are cached together with them.
- If a read fails, callers get Google's error, never a partial result. Errors are not cached.
- The size is bounded. Worksheets are included in tab order, until their columns exceed
  `MAX_COLUMNS`, or their headers and dropdown options exceed `MAX_CHARACTERS`. The larger the
  spreadsheet, the fewer rows of each worksheet are read.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import anyio
import anyio.to_thread
from cachetools import LRUCache

from gateway.errors import SheetTooLarge, UpstreamRefusal
from gateway.google.sheets import (
    Block,
    CallContext,
    Sheets,
    SheetView,
    SpreadsheetView,
    WorksheetProperties,
    in_call_context,
)
from gateway.table import a1
from gateway.table.cells import composed
from gateway.table.column_types import UNKNOWN, ColumnType, SeenCell, column_type
from gateway.table.header import DEFAULT_LAYOUT, Header, Layout
from gateway.worksheets.access import DEFAULT_LAYOUTS, Layouts, WorksheetId, worksheet_not_found
from gateway.worksheets.answers import Answers, Encoded, Freshness
from gateway.worksheets.loader import SingleFlight, header_of

KEPT_SECONDS = 60.0
"""Lifetime of a cached spreadsheet, in seconds."""

FIRST_ROWS = 10
"""Maximum number of rows below the header that are read to find the types of columns."""

MAX_CELLS = 20_000
"""Number of cells in the first rows of all worksheets above which fewer rows are read."""

MAX_COLUMNS = 60_000
"""Maximum number of columns of all worksheets, where each worksheet counts as 10 columns more."""

MAX_CHARACTERS = 1_000_000
"""Maximum number of characters in all headers. 50 worksheets of 1,000 short names need 750,000."""

_WORKSHEET_COLUMNS = 10
"""Number of columns that each worksheet adds to its own columns for `MAX_COLUMNS`."""

_COLUMN_CHARACTERS = 10
"""Number of characters that each field name or dropdown option adds for `MAX_CHARACTERS`."""

_SHARE_CHARACTERS = 1_000
"""Characters of a header that add one unit to the cache weight of a worksheet."""

_SHARES_BESIDE = 4
"""Cache weight of a spreadsheet without worksheets."""

_SHARE_BYTES = 65_536
"""Bytes of cached documents for each unit of cache weight."""

_MOST_SHARES_KEPT = 256
"""Maximum cache weight that counts for the cached documents of one spreadsheet (16 MiB)."""

_MOST_SHARES_AT_ONCE = 8
"""Maximum cache weight of worksheets whose document is made on the event loop, in about 2 ms."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A worksheet of a spreadsheet, with its header, which can be blank, and its types."""

    title: str
    header: Header
    types: Mapping[int, ColumnType] = field(default_factory=dict)
    """Types of the columns with field names, by column number (from 0)."""
    is_only: bool = True
    """True if no other title of the spreadsheet has the same NFC form."""

    def type_of(self, column: int) -> ColumnType:
        return self.types.get(column, UNKNOWN)


@dataclass(frozen=True, kw_only=True, eq=False)
class Contents:
    """Worksheets of a spreadsheet in tab order, and a cache of documents made from them.

    `titles` are the titles of all worksheets, including those left out of `worksheets` because the
    spreadsheet is too large. `began_seconds` is the start of the reads in monotonic seconds.
    `shares` is the cache weight: about 1 per worksheet, more for long headers.
    """

    title: str = ""
    locale: str = ""
    time_zone: str = ""
    titles: Sequence[str] = ()
    worksheets: Sequence[Listed]
    began_seconds: float = 0.0
    shares: int = 0
    answers: Answers = field(default_factory=Answers, repr=False)

    def find(self, worksheet: WorksheetId) -> Listed:
        """Return the worksheet with this title.

        Raises WorksheetNotFound if the spreadsheet has no such worksheet, and SheetTooLarge if the
        gateway left the worksheet out because the spreadsheet is too large.
        """
        for each in self.worksheets:
            if each.title == worksheet.title:
                return each
        if worksheet.title in self.titles:
            raise SheetTooLarge(
                "This spreadsheet has too many columns, so the gateway reads the types of its "
                "first worksheets only. Move this worksheet to the left of the others."
            )
        raise worksheet_not_found(worksheet, self.titles)


class Catalogue:
    """LRU cache of the worksheets of spreadsheets, with a maximum total weight (`shares`)."""

    def __init__(
        self,
        sheets: Sheets,
        *,
        max_worksheets: int,
        clock: Callable[[], float],
        layouts: Layouts = DEFAULT_LAYOUTS,
    ) -> None:
        self._sheets = sheets
        self._layouts = layouts
        self._clock = clock
        self._limiter = anyio.CapacityLimiter(1)
        self._flights: dict[str, SingleFlight[str, Contents]] = {}
        self._kept: LRUCache[str, Contents] = LRUCache(
            maxsize=max_worksheets, getsizeof=lambda contents: min(contents.shares, max_worksheets)
        )

    async def read(self, spreadsheet: str, *, key_id: str) -> tuple[Contents, Freshness]:
        """Return the worksheets of a spreadsheet, and the age of the cached result.

        Costs 2 reads, or none while the result is cached. Raises the errors of `Sheets`.
        """
        kept = self._kept.get(spreadsheet)
        age = math.inf if kept is None else self._clock() - kept.began_seconds
        if kept is not None and age < KEPT_SECONDS:
            return kept, Freshness(age, KEPT_SECONDS - age, True)
        with in_call_context(CallContext(key_id)):
            flight = self._flights.get(spreadsheet)
            if flight is None or flight.is_over:
                work = self._look(spreadsheet)
                flight = SingleFlight(self._flights, spreadsheet, work, self._clock())
            contents = await flight.outcome()
        age = self._clock() - contents.began_seconds
        return contents, Freshness(age, max(KEPT_SECONDS - age, 0.0), False)

    async def answer(
        self, contents: Contents, way: Hashable, make: Callable[[Contents], Encoded]
    ) -> Encoded:
        """Return the document that `make` makes from the worksheets, in a thread if they are many.

        The document is cached by `way`, which must contain every input of `make` but the
        worksheets.
        """

        def find_or_make() -> Encoded:
            kept = contents.answers.get(way)  # another request may have made it in a thread
            return kept or contents.answers.keep(way, make(contents))

        if contents.shares <= _MOST_SHARES_AT_ONCE or contents.answers.get(way) is not None:
            return find_or_make()
        return await anyio.to_thread.run_sync(find_or_make, limiter=self._limiter)

    async def _look(self, spreadsheet: str) -> Contents:
        began = self._clock()
        try:
            titles, view = await self._first_rows(spreadsheet)
        except UpstreamRefusal:  # a listed worksheet was deleted or renamed
            titles, view = await self._first_rows(spreadsheet)

        ids = [WorksheetId(spreadsheet, title) for title in titles]
        layouts = {each.title: self._layouts.of(each) for each in ids}

        worksheets = await anyio.to_thread.run_sync(
            _listed, view, titles, layouts, limiter=self._limiter
        )
        shares = _SHARES_BESIDE + sum(map(_shares, worksheets))
        contents = Contents(
            title=view.title,
            locale=view.locale,
            time_zone=view.time_zone,
            titles=titles,
            worksheets=worksheets,
            began_seconds=began,
            shares=shares,
            answers=Answers(min(shares, _MOST_SHARES_KEPT) * _SHARE_BYTES),
        )
        self._kept[spreadsheet] = contents
        return contents

    async def _first_rows(self, spreadsheet: str) -> tuple[Sequence[str], SpreadsheetView]:
        """Read the titles of all worksheets, and the first rows of worksheets within the limits."""
        listed = await self._sheets.list_worksheets(spreadsheet)
        titles = [each.title for each in listed]
        return titles, await read_first_rows(self._sheets, spreadsheet, listed, self._layouts)


async def read_first_rows(
    sheets: Sheets,
    spreadsheet: str,
    listed: Sequence[WorksheetProperties],
    layouts: Layouts = DEFAULT_LAYOUTS,
) -> SpreadsheetView:
    """Read the headers and first rows of the worksheets, in order, up to `MAX_COLUMNS` columns.

    If the header row of the settings is below the grid, row 1 is read. Costs 1 read. If the rows
    are too large, only the headers are read, which costs 1 read more.
    """
    share = MAX_CELLS // max(1, len(listed))
    spans: dict[str, tuple[int, int]] = {}
    left = MAX_COLUMNS
    for each in listed:
        left -= each.columns + _WORKSHEET_COLUMNS
        if left < 0:
            break
        first = layouts.of(WorksheetId(spreadsheet, each.title)).header_row
        first = first if first <= each.rows else 1
        more = min(max(share // max(1, each.columns), 1), FIRST_ROWS)
        spans[each.title] = first, first + more
    ranges = [a1.row_range(title, *span) for title, span in spans.items()]
    try:
        return await sheets.read_spreadsheet(spreadsheet, ranges)
    except SheetTooLarge:
        headers = [a1.row_range(title, first) for title, (first, _) in spans.items()]
        return await sheets.read_spreadsheet(spreadsheet, headers)


def _listed(
    view: SpreadsheetView, titles: Sequence[str], layouts: Mapping[str, Layout]
) -> Sequence[Listed]:
    """Make a `Listed` for each worksheet within `MAX_CHARACTERS`."""
    found: list[Listed] = []
    forms = Counter(map(composed, titles))
    known: dict[ColumnType, ColumnType] = {}
    left = MAX_CHARACTERS
    for sheet in view.worksheets:
        worksheet = Listed(
            title=sheet.title,
            header=(header := header_of(sheet, layouts.get(sheet.title, DEFAULT_LAYOUT))),
            types=_types(sheet, header, known),
            is_only=forms[composed(sheet.title)] == 1,
        )
        left -= _characters(worksheet)
        if left < 0:
            break
        found.append(worksheet)
    return found


def _types(
    sheet: SheetView, header: Header, known: dict[ColumnType, ColumnType]
) -> Mapping[int, ColumnType]:
    """Return the types by column number. Equal types are one object of `known`, to save memory."""
    [block] = sheet.blocks
    cells = first_cells(block)
    types: dict[int, ColumnType] = {}
    for column in header.columns.values():
        type_, options = sheet.column_types.get(column, ""), sheet.column_options.get(column, ())
        found = column_type(cells.get(column, ()), type_, options)
        types[column] = known.setdefault(found, found)
    return types


def first_cells(block: Block, skipped: int = 1) -> Mapping[int, Sequence[SeenCell]]:
    """Return the cells of a block by column number (from 0), without its first `skipped` rows."""
    found: dict[int, list[SeenCell]] = {}
    rows = zip(block.texts, block.cells, block.computed, strict=True)
    for texts, cells, computed in islice(rows, skipped, None):
        formulas = frozenset(computed)
        for column, (text, cell) in enumerate(zip(texts, cells, strict=True)):
            first = SeenCell(cell.form, cell.value, text, column in formulas)
            found.setdefault(column, []).append(first)
    return found


def _characters(worksheet: Listed) -> int:
    names = sum(len(cell) + _COLUMN_CHARACTERS for cell in worksheet.header.cells)
    options = chain.from_iterable(each.options for each in worksheet.types.values())
    return names + sum(len(str(option)) + _COLUMN_CHARACTERS for option in options)


def _shares(worksheet: Listed) -> int:
    return 1 + math.floor(_characters(worksheet) / _SHARE_CHARACTERS)
