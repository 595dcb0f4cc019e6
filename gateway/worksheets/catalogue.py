"""Worksheets of a spreadsheet with their headers, for its OpenAPI document.

    nothing cached                     2 reads: the titles, then all headers at once
    cached, up to `KEPT_SECONDS`       none
    a worksheet vanished in between    2 more
    titles too long for one URL        1 more for each `URL_BYTES`, up to `MOST_CALLS`

Rules
- Concurrent requests for a spreadsheet share these reads. Callers apply access to the result.
- Documents made of the worksheets are cached with them.
- If Google fails, the result is that error, never a partial document. Failures are not cached.
- The size of a spreadsheet is bounded: the first worksheets in tab order count, as long as their
  titles fit into these calls and their headers into `MAX_CHARACTERS`.
"""

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import anyio
import anyio.to_thread
from cachetools import LRUCache

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import CallContext, Sheets, in_call_context
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.texts import composed
from gateway.worksheets.access import HEADERS_IN_ROW_1, HeaderRows, WorksheetId
from gateway.worksheets.answers import Answers, Encoded, Freshness, Served
from gateway.worksheets.loader import SingleFlight

KEPT_SECONDS = 60.0
"""Lifetime of a cached spreadsheet."""

URL_BYTES = 6_000
"""Ranges in the URL of one call, percent-encoded; 50 worksheets with plain titles take 2,500."""

MOST_CALLS = 5
"""Maximum number of calls for the headers of one spreadsheet."""

MAX_CHARACTERS = 1_000_000
"""All headers of one spreadsheet: 50 worksheets of 1,000 columns with short names are 750,000."""

_COLUMN_CHARACTERS = 10
"""Weight of a column in addition to its name."""

_SHARE_CHARACTERS = 1_000
"""Characters of a header that weigh as much as a worksheet."""

_SHARES_BESIDE = 4
"""Weight of a document without worksheets."""

_SHARE_BYTES = 65_536
"""Cached bytes per unit of weight."""

_MOST_SHARES_KEPT = 256
"""Maximum weight of the cached documents of one spreadsheet: 16 MiB."""

_MOST_SHARES_AT_ONCE = 8
"""Maximum weight of a document made on the event loop; takes about 2 ms."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A worksheet of a spreadsheet, in tab order; its header may be empty."""

    title: str
    header: Header
    below: Sequence[Sequence[object]] = ()
    """Displayed rows below the header that were read with it."""
    is_only: bool = True
    """True if no other title of the spreadsheet is the same in NFC."""


Describe = Callable[[Sequence[Listed]], Encoded]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Contents:
    """Worksheets of a spreadsheet and the documents made of them; `shares` is their weight."""

    worksheets: Sequence[Listed]
    began_seconds: float
    shares: int
    answers: Answers = field(repr=False)


class Catalogue:
    """Cached worksheets of spreadsheets."""

    def __init__(
        self,
        sheets: Sheets,
        *,
        max_worksheets: int,
        clock: Callable[[], float],
        header_rows: HeaderRows = HEADERS_IN_ROW_1,
    ) -> None:
        self._sheets = sheets
        self._header_rows = header_rows
        self._clock = clock
        self._limiter = anyio.CapacityLimiter(1)
        self._flights: dict[str, SingleFlight[str, _Contents]] = {}
        self._kept: LRUCache[str, _Contents] = LRUCache(
            maxsize=max_worksheets, getsizeof=lambda contents: min(contents.shares, max_worksheets)
        )

    async def describe(
        self, spreadsheet: str, way: Hashable, make: Describe, *, key_id: str
    ) -> Served:
        """A document made of a spreadsheet's worksheets; 2 reads, none while they are cached.

        The result is cached by `way`, which must contain everything else that it depends on. Large
        documents are made in a thread. Raises the errors of `Sheets`.
        """
        contents = self._fresh(spreadsheet)
        is_hit = contents is not None
        if contents is None:
            with in_call_context(CallContext(key_id)):
                contents = await self._flight(spreadsheet).outcome()
        encoded = await self._made(contents, way, make)
        age = self._clock() - contents.began_seconds
        return Served(encoded, Freshness(age, max(KEPT_SECONDS - age, 0.0), is_hit))

    def _fresh(self, spreadsheet: str) -> _Contents | None:
        kept = self._kept.get(spreadsheet)
        if kept is None or self._clock() - kept.began_seconds >= KEPT_SECONDS:
            return None
        return kept

    def _flight(self, spreadsheet: str) -> SingleFlight[str, _Contents]:
        """The running read, or a new one."""
        under_way = self._flights.get(spreadsheet)
        if under_way is not None and not under_way.is_over:
            return under_way
        return SingleFlight(self._flights, spreadsheet, self._look(spreadsheet), self._clock())

    async def _look(self, spreadsheet: str) -> _Contents:
        began = self._clock()
        try:
            worksheets = await self._worksheets(spreadsheet)
        except UpstreamRefusal:  # a title does not exist any more
            worksheets = await self._worksheets(spreadsheet)
        shares = _SHARES_BESIDE + sum(map(_shares, worksheets))
        contents = _Contents(
            worksheets=worksheets,
            began_seconds=began,
            shares=shares,
            answers=Answers(min(shares, _MOST_SHARES_KEPT) * _SHARE_BYTES),
        )
        self._kept[spreadsheet] = contents
        return contents

    async def _worksheets(self, spreadsheet: str) -> Sequence[Listed]:
        titles = [each.title for each in await self._sheets.list_worksheets(spreadsheet)]
        listed: list[Listed] = []
        left = MAX_CHARACTERS
        async for worksheet in read_headers(
            self._sheets, spreadsheet, titles, header_rows=self._header_rows
        ):
            left -= _characters(worksheet)
            if left < 0:
                break
            listed.append(worksheet)
        return listed

    async def _made(self, contents: _Contents, way: Hashable, make: Describe) -> Encoded:
        def find_or_make() -> Encoded:
            kept = contents.answers.get(way)  # another request may have made the document meanwhile
            return kept or contents.answers.keep(way, make(contents.worksheets))

        kept = contents.answers.get(way)
        if kept is not None:
            return kept
        if contents.shares <= _MOST_SHARES_AT_ONCE:
            return find_or_make()
        return await anyio.to_thread.run_sync(find_or_make, limiter=self._limiter)


async def read_headers(
    sheets: Sheets,
    spreadsheet: str,
    titles: Sequence[str],
    *,
    rows: int = 1,
    header_rows: HeaderRows = HEADERS_IN_ROW_1,
) -> AsyncIterator[Listed]:
    """The headers of all worksheets of a spreadsheet, of the first ones if there are too many.

    `rows` is the number of rows to list, from the header down. 1 read for each `URL_BYTES` of
    titles, at most `MOST_CALLS`.
    """
    forms = Counter(map(composed, titles))
    for some in _in_calls(titles):
        firsts = [header_rows.of(WorksheetId(spreadsheet, title)) for title in some]
        # From row 1: a range that starts past the end of one grid would refuse the whole call.
        ranges = [
            a1.whole_rows(title, 1, first + rows - 1)
            for title, first in zip(some, firsts, strict=True)
        ]
        found = await sheets.read_ranges(spreadsheet, ranges)
        for title, first, values in zip(some, firsts, found, strict=True):
            header, *below = values.cells[first - 1 :] or [()]
            yield Listed(
                title=title,
                header=parse_header(header, first),
                below=below,
                is_only=forms[composed(title)] == 1,
            )


def _in_calls(titles: Sequence[str]) -> Iterator[Sequence[str]]:
    """The titles in groups that fit into one URL; titles beyond the last call are dropped."""
    some: list[str] = []
    calls, left = 0, URL_BYTES
    for title in titles:
        size = len("&ranges=") + len(quote(a1.row_range(title, 1), safe=""))
        if some and size > left:
            yield some
            calls, some, left = calls + 1, [], URL_BYTES
        if calls == MOST_CALLS:
            return
        some.append(title)
        left -= size
    if some:
        yield some


def _characters(worksheet: Listed) -> int:
    return sum(len(cell) + _COLUMN_CHARACTERS for cell in worksheet.header.cells)


def _shares(worksheet: Listed) -> int:
    return 1 + math.floor(_characters(worksheet) / _SHARE_CHARACTERS)
