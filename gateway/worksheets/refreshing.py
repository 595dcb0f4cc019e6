"""Refresh worksheets: one read in flight, shared, cached unless a write overtook it.

Rules
- One read of each kind is under way at a time: whoever asks meanwhile joins it.
- A read that began before a write ended is joined by nobody who comes after, and never kept. The
  next read then waits in the line of the writes, or busy writers would overtake all of them. In
  that line it waits for no other read, which may stand in line behind it.
- What is wrong with the worksheet itself ends its snapshot; a failing Google does not.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from gateway.errors import Forbidden, NoHeaderRow, NotFound, TooLarge, UnsupportedDocument
from gateway.worksheets.header_cache import HeaderCache, SheetExtent
from gateway.worksheets.loader import Loader
from gateway.worksheets.single_flight import SingleFlight
from gateway.worksheets.snapshots import Effect, Snapshot, Snapshots
from gateway.worksheets.worksheet_id import WorksheetId

ABANDONED_SECONDS = 8.0
"""A read sent so long ago is not joined any more: Google may have come back since."""

Quietly = Callable[[WorksheetId, Callable[[], Awaitable[Snapshot]]], Awaitable[Snapshot]]
"""Does something while no write to the worksheet is under way."""

LOST = (NotFound, Forbidden, NoHeaderRow, TooLarge, UnsupportedDocument)
"""What is wrong with the worksheet itself."""


_Kind = tuple[WorksheetId, bool]
"""A worksheet, and whether both renderings are read."""


class Refresher:
    def __init__(
        self,
        loader: Loader,
        *,
        header_cache: HeaderCache,
        snapshots: Snapshots,
        clock: Callable[[], float],
        quietly: Quietly,
        max_worksheets: int,
    ) -> None:
        self._loader = loader
        self._header_cache = header_cache
        self._snapshots = snapshots
        self._clock = clock
        self._quietly = quietly
        self._max_worksheets = max_worksheets
        self._flights: dict[_Kind, SingleFlight[Snapshot]] = {}
        self._begun: set[_Kind] = set()
        """Of the flights, those that wait for no write any more."""
        self._overtaken: set[WorksheetId] = set()
        """The worksheets whose last read was overtaken by a write."""
        self._written: OrderedDict[WorksheetId, int] = OrderedDict()
        self._forgotten_write = -1
        """No write that is not remembered any more ended after this moment."""

    def flight(
        self, worksheet: WorksheetId, *, needs_types: bool, base: Snapshot | None = None
    ) -> SingleFlight[Snapshot]:
        """The read that is under way, or one that begins now.

        Displayed 1 read, both renderings 2, or 1 with a displayed rendering at hand (`base`); 2
        more if the worksheet changed between the two.
        """
        now, kind = self._clock(), (worksheet, needs_types)
        under_way = self._flights.get(kind)
        if under_way is not None and not under_way.is_over:
            sent_seconds = under_way.sent_seconds
            if sent_seconds is None or now - sent_seconds < ABANDONED_SECONDS:
                return under_way
        self._begun.discard(kind)
        flight = SingleFlight(self._fly(kind, base), now)
        self._flights[kind] = flight
        flight.when_over(lambda: self._landed(kind, flight))
        return flight

    async def look(self, worksheet: WorksheetId) -> SheetExtent:
        """The header and the end of the worksheet as they are now, for a write. 1 read.

        One more read if an earlier look's last row is blank by now: rows were deleted. To be
        awaited in the line of the worksheet's writes.
        """
        extent = await self._loader.look_again(worksheet)
        if extent is None:
            moment = self._header_cache.moment()
            snapshot, extent = await self._loader.displayed(worksheet)
            self._keep((worksheet, False), snapshot, moment)
        return extent

    def written(self, worksheet: WorksheetId, effect: Effect) -> None:
        """Google confirmed a write: no later answer may miss it."""
        self._overtake(worksheet)
        self._snapshots.change(worksheet, effect)

    def may_be_written(self, worksheet: WorksheetId) -> None:
        """Nobody knows whether a write was carried out: later reads have to look."""
        self._overtake(worksheet)
        self._snapshots.expire(worksheet)

    def forget(self, worksheet: WorksheetId) -> None:
        """The worksheet was written to, where is not known: nothing that was read holds."""
        self._overtake(worksheet)
        self._snapshots.drop(worksheet)

    def last_written(self, worksheet: WorksheetId) -> int:
        """No write to a worksheet ended after this moment; -1 if there was none."""
        return self._written.get(worksheet, self._forgotten_write)

    async def _fly(self, kind: _Kind, base: Snapshot | None) -> Snapshot:
        worksheet, needs_types = kind
        was_overtaken = worksheet in self._overtaken
        self._overtaken.discard(worksheet)

        async def read() -> Snapshot:
            self._begun.add(kind)
            moment = self._header_cache.moment()
            if needs_types:
                snapshot = await self._both(worksheet, base, is_in_line=was_overtaken)
            else:
                snapshot = await self._displayed(worksheet)
            self._keep(kind, snapshot, moment)
            return snapshot

        try:
            # Whoever may join it, it waits behind the writes of no key.
            return await (self._quietly(worksheet, read) if was_overtaken else read())
        except LOST:
            self._snapshots.drop(worksheet)
            raise

    def _landed(self, kind: _Kind, flight: SingleFlight[Snapshot]) -> None:
        if self._flights.get(kind) is flight:
            self._leave(kind)

    def _leave(self, kind: _Kind) -> None:
        del self._flights[kind]
        self._begun.discard(kind)

    async def _displayed(self, worksheet: WorksheetId) -> Snapshot:
        known = self._snapshots.get(worksheet, needs_types=False)
        return (await self._loader.displayed(worksheet, known))[0]

    async def _both(
        self, worksheet: WorksheetId, base: Snapshot | None, *, is_in_line: bool
    ) -> Snapshot:
        """Both renderings, read side by side unless one is at hand."""
        known = self._snapshots.get(worksheet, needs_types=True)
        if base is not None and base is self._snapshots.get(worksheet, needs_types=False):
            displayed, typed = base, await self._loader.typed(worksheet, known)
        else:
            displaying = (
                self._displayed(worksheet)
                if is_in_line
                else self.flight(worksheet, needs_types=False).outcome()
            )
            displayed, typed = await asyncio.gather(
                displaying, self._loader.typed(worksheet, known)
            )
        paired = await self._loader.paired(displayed, typed, known)
        if paired is not None:
            return paired
        (displayed, _), typed = await asyncio.gather(
            self._loader.displayed(worksheet), self._loader.typed(worksheet)
        )
        return await self._loader.joined(displayed, typed)

    def _keep(self, kind: _Kind, snapshot: Snapshot, moment: int) -> None:
        worksheet, _ = kind
        if self.last_written(worksheet) > moment:
            self._overtaken.add(worksheet)
            return
        latest = self._snapshots.get(worksheet, needs_types=False)
        if latest is None or latest.displayed.began_seconds <= snapshot.displayed.began_seconds:
            self._snapshots.keep(worksheet, snapshot)

    def _overtake(self, worksheet: WorksheetId) -> None:
        """What began before this moment is joined by nobody any more."""
        self._written[worksheet] = self._header_cache.moment()
        self._written.move_to_end(worksheet)
        if len(self._written) > self._max_worksheets:
            _, self._forgotten_write = self._written.popitem(last=False)
        for kind in ((worksheet, False), (worksheet, True)):
            if kind in self._flights and kind in self._begun:
                self._leave(kind)
