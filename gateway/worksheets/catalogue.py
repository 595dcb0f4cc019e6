"""Worksheets of a spreadsheet with their fields and types, for schemas and OpenAPI documents.

    nothing cached                     2 reads: the worksheets, then the first rows of all at once
    cached, up to `KEPT_SECONDS`       none
    a worksheet vanished in between    2 more
    first rows too large for an answer 1 more, of the headers and tables alone

Rules
- Concurrent requests for a spreadsheet share these reads. Callers apply access to the result.
- Answers made from the worksheets are cached with them.
- If Google fails, the result is that error, never a partial answer. Failures are not cached.
- The size is bounded: the first worksheets in tab order are included, as long as their columns fit
  into `MAX_COLUMNS` and their headers and options into `MAX_CHARACTERS`. The more cells there are,
  the fewer rows of each worksheet are read.
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
from gateway.table.column_types import UNKNOWN, ColumnType, SeenCell, column_type
from gateway.table.header import DEFAULT_LAYOUT, Header, Layout
from gateway.table.texts import composed
from gateway.worksheets.access import (
    DEFAULT_LAYOUTS,
    Layouts,
    WorksheetId,
    worksheet_not_found,
)
from gateway.worksheets.answers import Answers, Encoded, Freshness
from gateway.worksheets.loader import SingleFlight, header_of

KEPT_SECONDS = 60.0
"""Lifetime of a cached spreadsheet."""

FIRST_ROWS = 10
"""Number of rows below the header that show the types of columns."""

MAX_CELLS = 20_000
"""Maximum cells of the first rows of all worksheets, but at least one row of each."""

MAX_COLUMNS = 60_000
"""Maximum columns of all worksheets together; each worksheet counts 10 more."""

MAX_CHARACTERS = 1_000_000
"""Maximum characters of all headers; 50 worksheets of 1,000 short names have 750,000."""

_WORKSHEET_COLUMNS = 10
"""Weight of a worksheet in addition to its columns."""

_COLUMN_CHARACTERS = 10
"""Weight of a column in addition to its name."""

_SHARE_CHARACTERS = 1_000
"""Number of characters of a header with the weight of a worksheet."""

_SHARES_BESIDE = 4
"""Weight of a document without worksheets."""

_SHARE_BYTES = 65_536
"""Cached bytes per unit of weight."""

_MOST_SHARES_KEPT = 256
"""Maximum weight of the cached documents of one spreadsheet: 16 MiB."""

_MOST_SHARES_AT_ONCE = 8
"""Maximum weight of a document made on the event loop, in about 2 ms."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A worksheet of a spreadsheet; its header may be empty."""

    title: str
    header: Header
    types: Mapping[int, ColumnType] = field(default_factory=dict)
    """The types of its named columns (from 0)."""
    is_only: bool = True
    """True if no other title of the spreadsheet is the same in NFC."""

    def type_of(self, column: int) -> ColumnType:
        return self.types.get(column, UNKNOWN)


@dataclass(frozen=True, kw_only=True, eq=False)
class Contents:
    """Worksheets of a spreadsheet in tab order, and the answers made from them.

    `titles` has the titles of all worksheets, which may be more. `shares` is the weight.
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
        """Find a worksheet. Raises WorksheetNotFound, and SheetTooLarge if it was left out."""
        for each in self.worksheets:
            if each.title == worksheet.title:
                return each
        if worksheet.title in self.titles:
            raise SheetTooLarge(
                "The worksheets of this spreadsheet have too many columns for their types to be "
                "looked at. Move this worksheet to the left of the others."
            )
        raise worksheet_not_found(worksheet, self.titles)


class Catalogue:
    """Cache of the worksheets of spreadsheets."""

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
        """The worksheets of a spreadsheet; 2 reads, none while they are cached.

        Raises the errors of `Sheets`.
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
        """Make an answer from the worksheets, in a thread if they are many.

        The answer is cached by `way`, which must contain all its other inputs.
        """

        def find_or_make() -> Encoded:
            kept = contents.answers.get(way)  # another request may have made the answer meanwhile
            return kept or contents.answers.keep(way, make(contents))

        kept = contents.answers.get(way)
        if kept is not None:
            return kept
        if contents.shares <= _MOST_SHARES_AT_ONCE:
            return find_or_make()
        return await anyio.to_thread.run_sync(find_or_make, limiter=self._limiter)

    async def _look(self, spreadsheet: str) -> Contents:
        began = self._clock()
        try:
            titles, view = await self._first_rows(spreadsheet)
        except UpstreamRefusal:  # a title does not exist any more
            titles, view = await self._first_rows(spreadsheet)

        ids = [WorksheetId(spreadsheet, title) for title in titles]
        layouts = {each.title: self._layouts.of(each) for each in ids}

        def listed() -> Sequence[Listed]:
            return _listed(view, titles, layouts)

        worksheets = await anyio.to_thread.run_sync(listed, limiter=self._limiter)
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
        """The titles of all worksheets, and the first rows of those that fit."""
        listed = await self._sheets.list_worksheets(spreadsheet)
        titles = [each.title for each in listed]
        return titles, await read_first_rows(self._sheets, spreadsheet, listed, self._layouts)


async def read_first_rows(
    sheets: Sheets,
    spreadsheet: str,
    listed: Sequence[WorksheetProperties],
    layouts: Layouts = DEFAULT_LAYOUTS,
) -> SpreadsheetView:
    """Read headers and first rows of worksheets, only of the first ones if they have many columns.

    A header past the end of its grid is replaced by row 1.

    1 read, 2 if the rows are too large for an answer: then only the headers.
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
    """The worksheets with the types of their columns, within the limits."""
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
    """The type of each column with a name; `known` keeps one object of equal types."""
    [block] = sheet.blocks
    cells = first_cells(block)
    types: dict[int, ColumnType] = {}
    for column in header.columns.values():
        type_, options = sheet.column_types.get(column, ""), sheet.column_options.get(column, ())
        found = column_type(cells.get(column, ()), type_, options)
        types[column] = known.setdefault(found, found)
    return types


def first_cells(block: Block, skipped: int = 1) -> Mapping[int, Sequence[SeenCell]]:
    """The cells of a block by column, without its first rows."""
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
