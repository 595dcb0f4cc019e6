"""A worksheet: its header, cached rows, running reads and write queue.

Rules
- Single-flight: each part (all rows displayed, all rows with types, a window) has at most one
  running read. Other requests join it, unless a write has ended since it was sent.
- Read-your-writes: all cached rows contain every finished write. A read that ran at the same time
  is patched with it.
- Monotonic reads: only cached rows are answered, and nothing older replaces them. A read that
  cannot be patched, or that differs from rows answered while it ran, is repeated, finally in the
  write queue and while no other read begins.
- An error of the worksheet itself drops its rows; a failure of Google does not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from gateway.errors import (
    Forbidden,
    NoHeaderRow,
    NotFound,
    QueueFull,
    RecordsUnavailable,
    TooLarge,
    UnsupportedDocument,
    UpstreamError,
)
from gateway.google.call_context import current_call_context
from gateway.google.sheets import Sheets
from gateway.settings.model import CacheSettings
from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.steps import Work, finish
from gateway.worksheets.demand import Demand
from gateway.worksheets.effects import Effects
from gateway.worksheets.header_cache import HeaderCache, SheetExtent
from gateway.worksheets.loader import Loader, OtherTab
from gateway.worksheets.refusal import tabs_changing
from gateway.worksheets.reports import Reports
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.sharing import Missed, Peers, Seen, SharedState, Written
from gateway.worksheets.single_flight import SingleFlight
from gateway.worksheets.snapshot import (
    DISPLAYED,
    TYPED,
    Effect,
    Part,
    RowSpan,
    Snapshot,
    Whole,
)
from gateway.worksheets.window import Window
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.write_queue import WriteQueue, WriteQueues
from gateway.worksheets.writes import Outcome, Write

ABANDONED_SECONDS = 8.0
"""Age at which a running read is not joined any more: Google may have recovered since."""

FREE_TRIES = 2
LAST_TRIES = 3
"""Attempts of one read: first beside others, then alone."""

TAB_TRIES = 3
"""Attempts to read a tab by its sheet id: with a kept one, then with one that was just seen."""

MAX_WINDOWS = 500
"""Maximum number of windows of one worksheet: each read is compared with all of them."""

WINDOW_SHARE = 8
"""Fraction of the memory for all rows that the windows of one worksheet may use."""

TOO_FAST = "The worksheet changes faster than it can be read."

LOST = (NotFound, Forbidden, NoHeaderRow, TooLarge, UnsupportedDocument)
"""Errors of the worksheet itself."""

Rows = Snapshot | Window


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Collaborators that all worksheets share."""

    sheets: Sheets
    scheduler: Scheduler
    queues: WriteQueues
    settings: CacheSettings
    clock: Callable[[], float]
    perform: Callable[["Worksheet", Sequence[Write]], Awaitable[Sequence[Outcome]]]
    weigh: Callable[["Worksheet"], None]
    """Counts the memory of a worksheet whose rows changed."""
    peers: Peers | None = None


class Worksheet:
    def __init__(self, worksheet: WorksheetId, resources: Resources) -> None:
        self.id = worksheet
        self.demand = Demand(spreadsheet=worksheet.spreadsheet)
        self.is_large = False
        """Whether plain reads are done in windows."""
        settings, clock = resources.settings, resources.clock
        self.header = HeaderCache(worksheet, ttl_seconds=settings.header_ttl_seconds, clock=clock)
        peers = resources.peers
        self.shared = shared = None if peers is None else SharedState(self, peers)
        self.queue = WriteQueue(
            worksheet,
            lambda group: resources.perform(self, group),
            resources.queues,
            held=None if shared is None else partial(shared.peers.lock.held, shared),
        )
        self._loader = Loader(
            worksheet,
            self.header,
            sheets=resources.sheets,
            scheduler=resources.scheduler,
            clock=clock,
            shared=shared,
        )
        self._clock = clock
        self._resources = resources
        self._max_window_bytes = settings.max_bytes // WINDOW_SHARE
        self.reports = Reports(self._reported, clock=clock)
        self._latest: Snapshot | None = None
        self._typed: Snapshot | None = None
        """The latest snapshot with both renderings; mostly the latest of all."""
        self._windows: dict[RowSpan, Window] = {}
        self._landed: dict[Part, int] = {}
        """The moments at which kept rows landed."""
        self._lost = -1
        """The last moment at which rows landed that are not kept any more."""
        self._flights: dict[Part, SingleFlight[Rows]] = {}
        self._effects = Effects(self.header.moment)
        self._alone = asyncio.Lock()
        """Held by a read that is done again; no other read begins meanwhile."""

    @property
    def has_rows(self) -> bool:
        return self._latest is not None or bool(self._windows)

    @property
    def is_idle(self) -> bool:
        """True if nothing of it is running or waiting."""
        return not self._flights and not self._effects.are_kept and self.queue.is_idle

    @property
    def byte_count(self) -> int:
        rows: list[Rows] = [*self.snapshots(), *self._windows.values()]
        return sum(each.byte_count for each in rows)

    def cached(self, part: Part) -> Rows | None:
        """The cached rows of a part, however old."""
        if part is DISPLAYED:
            return self._latest
        return self._typed if part is TYPED else self._windows.get(part)  # type: ignore[arg-type]

    def containing(self, part: Part) -> Rows | None:
        """The newest cached rows that contain a part, however old."""
        if not isinstance(part, RowSpan):
            return self.cached(part)
        windows = [each for each in self._windows.values() if each.contains(part)]
        newest = max(windows, key=lambda window: window.read_seconds, default=None)
        latest = self._latest
        if newest is None:
            return latest
        is_older = latest is None or latest.began_seconds(DISPLAYED) < newest.read_seconds
        return newest.cut(part) if is_older else latest

    def snapshots(self) -> list[Snapshot]:
        return [each for each in dict.fromkeys((self._latest, self._typed)) if each is not None]

    def read(self, part: Part, base: Snapshot | None = None) -> SingleFlight[Rows]:
        """The running read of a part, or a new one.

        All rows displayed: 1 read; with types 2, or 1 with a displayed rendering (`base`), and 2
        more if the worksheet changed between the two; a window 1 to 3.
        """
        now, under_way = self._clock(), self._flights.get(part)
        if under_way is not None and not under_way.is_over:
            is_recent = now - (under_way.sent_seconds or now) < ABANDONED_SECONDS
            may_be_old = under_way.max_age_seconds > 0 and self.shared is not None
            if is_recent and (not may_be_old or current_call_context().max_age_seconds > 0):
                return under_way
        flight = SingleFlight(self._fly(part, base), now)
        self._flights[part] = flight
        flight.when_over(lambda: self._leave(part, flight))
        return flight

    async def look_for_append(self, small_rows: int, small_cells: int) -> tuple[SheetExtent, int]:
        """The header, a row at the end or above it, and the sheet id. 1 read.

        1 read more if the end is unknown and the grid has more than `small_rows`, or more than
        `small_cells` in the columns of the header; both once more if the title goes to another tab
        in between. To be awaited in the write queue.
        """
        for _ in range(TAB_TRIES):
            extent, view = await self._loader.look_at_header()
            is_small = view.rows <= min(small_rows, small_cells // max(1, len(extent.header.cells)))
            if extent.last_row > 1 or is_small:
                return extent, view.sheet_id
            with suppress(OtherTab), self._effects.kept() as began:
                snapshot, extent = await self._loader.displayed(sheet_id=view.sheet_id)
                await self._land(began, snapshot)
                return extent, view.sheet_id
            self.header.forget()
        raise tabs_changing()

    async def read_in_turn(self, part: Whole) -> tuple[int, Snapshot]:
        """The sheet id, and all rows of this tab as they are now.

        1 read, 2 with types, 1 more if the sheet id is not known; more if the worksheet changes
        meanwhile, or the title went to another tab. To be awaited in the write queue.
        """
        with self._dropping_lost():
            for _ in range(TAB_TRIES):
                sheet_id = self.header.fresh_sheet()
                if sheet_id is None:
                    _, view = await self._loader.look_at_header()
                    sheet_id = view.sheet_id
                try:
                    rows = await self._read_alone(part, sheet_id)
                except OtherTab:
                    self.header.forget()
                    continue
                if not isinstance(rows, Snapshot):
                    raise TypeError("all rows are a snapshot")
                return sheet_id, rows
        raise tabs_changing()

    def saw(self, header: Header, rows: Mapping[int, Sequence[str]]) -> None:
        """Take in rows read for a write, which a client may see in an answer."""
        if self.shared is not None:
            self.shared.seen(self._clock(), Seen(header, rows))
        if self._effects.are_kept:
            width = max([len(header.cells), *map(len, rows.values())])
            patches = [
                RowPatch(row=row, texts=dict(enumerate([*cells, *[""] * (width - len(cells))])))
                for row, cells in rows.items()
            ]
            self._effects.note(Effect(header=header, rows=patches, before=rows))
        if any(not each.has_rows(header, rows) for each in self.snapshots()):
            self.expire()
        for span, window in [*self._windows.items()]:
            if not window.has_rows(header, rows):
                self._drop(span)

    def missed(self, row: int) -> None:
        """Take in that a client was answered that this row does not exist."""
        if self.shared is not None:
            self.shared.seen(self._clock(), Missed(row))
        self._effects.note(None)
        if any(each.table.last_row >= row for each in self.snapshots()):
            self.expire()
        for span, window in [*self._windows.items()]:
            if window.last_row >= row:
                self._drop(span)

    async def take_in(self, effect: Effect) -> None:
        """Take in a confirmed write as `written` does; others run while its cells are patched."""

        def after(snapshots: Sequence[Snapshot]) -> Work[Mapping[Snapshot, Snapshot | None]]:
            changed: dict[Snapshot, Snapshot | None] = {}
            for each in snapshots:
                changed[each] = yield from each.changed(effect)
            return changed

        changed: dict[Snapshot, Snapshot | None] = {}
        while others := [each for each in self.snapshots() if each not in changed]:
            changed |= await self._resources.scheduler.build(after(others))
        self.written(effect, changed)

    def written(
        self, effect: Effect, changed: Mapping[Snapshot, Snapshot | None] | None = None
    ) -> None:
        """Take in a confirmed write: no later answer may miss it.

        `changed` are snapshots after it. A read that ran while rows were removed is repeated, and
        dropped if it has landed: nobody knows which rows it saw.
        """

        def after(snapshot: Snapshot) -> Snapshot | None:
            if changed is not None and snapshot in changed:
                return changed[snapshot]
            return finish(snapshot.changed(effect))

        if self.shared is not None:
            self.shared.seen(self._clock(), Written(effect))
            self.shared.show()
        self._overtake(None if effect.removed else effect)
        if effect.removed:
            for part in [part for part, at in self._landed.items() if at > effect.sent_at]:
                self._drop(part)
        latest, typed = self._latest, self._typed
        self._latest = latest and after(latest)
        if typed is latest:
            typed = self._latest
        elif typed is not None:
            typed = after(typed)
        self._typed = typed if typed is not None and typed.typed is not None else None
        if self._latest is None:
            self._drop(DISPLAYED)
        for span, window in [*self._windows.items()]:
            window_after = window.changed(effect)
            if window_after is None:
                self._drop(span)
            else:
                self._windows[span] = window_after
        self._resources.weigh(self)

    def may_be_written(self) -> None:
        """Take in a write with unknown outcome: later reads have to check."""
        if self.shared is not None:
            self.shared.seen(self._clock(), None)
        self._overtake(None)
        self.expire()

    def forget(self) -> None:
        """Discard everything read: the worksheet was written to at an unknown place."""
        if self.shared is not None:
            self.shared.tell(None)
        self._overtake(None)
        self.drop_rows()

    def expire(self) -> None:
        """Require a new read before the rows are served as fresh."""
        is_same = self._typed is self._latest
        self._latest = self._latest and replace(self._latest, is_expired=True)
        self._typed = (
            self._latest if is_same else self._typed and replace(self._typed, is_expired=True)
        )
        self._windows = {
            span: replace(window, is_expired=True) for span, window in self._windows.items()
        }

    def drop_rows(self) -> None:
        for span in [*self._windows]:
            self._drop(span)
        self._drop(DISPLAYED)
        self._resources.weigh(self)

    def make_lighter(self) -> bool:
        """Drop older types or an index; False if only the latest rows are left."""
        if self._typed is not self._latest and self._typed is not None:
            self._typed = None
            return True
        if self._latest is None or not self._latest.table.indexes:
            return False
        del self._latest.table.indexes[next(iter(self._latest.table.indexes))]
        return True

    async def _fly(self, part: Part, base: Snapshot | None) -> Rows:
        """Read a part until the result can be cached."""
        with self._dropping_lost():
            for _ in range(FREE_TRIES):
                if self._alone.locked():
                    async with self._alone:
                        pass
                landed = await self._attempt(part, base)
                if landed is not None:
                    return landed
            try:
                return await self.queue.exclusively(lambda: self._read_alone(part))
            except RecordsUnavailable:  # no process writes
                return await self._read_alone(part)
            except QueueFull as error:
                raise UpstreamError(TOO_FAST) from error

    @contextmanager
    def _dropping_lost(self) -> Iterator[None]:
        """Drop the rows if the worksheet itself is gone, or too large."""
        try:
            yield
        except TooLarge:  # windows of it can be read
            self._drop(DISPLAYED)
            self._resources.weigh(self)
            raise
        except LOST:
            self.drop_rows()
            raise

    async def _read_alone(self, part: Part, sheet_id: int | None = None) -> Rows:
        """Read a part; only reads that are already running can contradict it.

        With a `sheet_id` all rows are read by that; raises `OtherTab`.
        """
        async with self._alone:
            for _ in range(LAST_TRIES):
                landed = await self._attempt(part, None, is_alone=True, sheet_id=sheet_id)
                if landed is not None:
                    return landed
        raise UpstreamError(TOO_FAST)

    async def _attempt(
        self,
        part: Part,
        base: Snapshot | None,
        *,
        is_alone: bool = False,
        sheet_id: int | None = None,
    ) -> Rows | None:
        """The rows, if they can be cached. Alone it joins no other read: that would wait for it."""
        with self._effects.kept() as began:
            if isinstance(part, RowSpan):
                return self._keep_window(await self._loader.window(part), began)
            if part is DISPLAYED:
                return await self._land(began, await self._displayed(sheet_id))
            both = await self._both(base, began, is_alone=is_alone, sheet_id=sheet_id)
            return await self._land(began, both)

    async def _land(self, began: int, snapshot: Snapshot) -> Snapshot | None:
        """Cache the result of a read; None if it must be repeated."""
        landed: Snapshot | None = snapshot
        effects = self._effects.since(began)
        while effects:  # others run while it is patched, and may write
            landed = await self._resources.scheduler.build(snapshot.after(effects))
            count, effects = len(effects), self._effects.since(began)
            if effects is not None and len(effects) == count:
                break
        if effects is None or began < self._lost or landed is None:
            return None
        return self.keep(landed, began) if has_types(landed) == has_types(snapshot) else None

    async def _displayed(self, sheet_id: int | None) -> Snapshot:
        return (await self._loader.displayed(self._latest, sheet_id=sheet_id))[0]

    async def _both(
        self, base: Snapshot | None, began: int, *, is_alone: bool, sheet_id: int | None
    ) -> Snapshot:
        """Both renderings, read concurrently unless one is available.

        1 more read if the types seem older than the rows, 2 more if both are of different states.
        """
        known = self._typed
        if base is not None and base is self._latest:
            displayed, typed = base, await self._loader.typed(known)
        else:
            displaying = self._displayed(sheet_id) if is_alone else self._joined()
            typing = self._loader.typed(known, sheet_id=sheet_id)
            displayed, typed = await asyncio.gather(displaying, typing)
        paired = await self._loader.paired(displayed, typed, known)
        if paired is None:
            displayed, _ = await self._loader.displayed(sheet_id=sheet_id)
        elif not self._may_lag(paired, began):
            return paired
        # Types that are read after the rows are not older.
        return await self._loader.joined(displayed, await self._loader.typed(sheet_id=sheet_id))

    def _may_lag(self, snapshot: Snapshot, began: int) -> bool:
        """True if the types of a snapshot may be older than answered rows.

        Without an earlier snapshot they may, unless nothing was answered so far.
        """
        if self._typed is not None:
            return snapshot.lags(self._typed)
        return self._lost >= 0 or any(self._landed[span] > began for span in self._windows)

    async def _joined(self) -> Snapshot:
        rows = await self.read(DISPLAYED).outcome()
        if not isinstance(rows, Snapshot):
            raise TypeError("all rows are a snapshot")
        return rows

    def _reported(self) -> None:
        self.may_be_written()
        if self.shared is not None:
            self.shared.peers.rows.change(self.id)

    def _overtake(self, effect: Effect | None) -> None:
        """Note the end of a write. Later requests join no earlier read: its formulas may be old."""
        self._effects.note(effect)
        for part, flight in [*self._flights.items()]:
            if flight.sent_seconds is not None:
                del self._flights[part]

    def _leave(self, part: Part, flight: SingleFlight[Rows]) -> None:
        if self._flights.get(part) is flight:
            del self._flights[part]

    def _drop(self, part: Part) -> None:
        """Drop rows, and let no running read show older ones."""
        if isinstance(part, RowSpan):
            del self._windows[part]
        else:
            self._latest = self._typed = None
        self._lost = max(self._lost, self._landed.pop(part, -1))

    def keep(self, snapshot: Snapshot, began: int) -> Snapshot | None:
        latest = self._latest
        if latest is not None and self._landed.get(DISPLAYED, -1) > began:
            if not latest.displays_as(snapshot):
                return None
            if latest.typed and snapshot.typed and latest.table.typed != snapshot.table.typed:
                return None
            if latest.displayed.began_seconds > snapshot.displayed.began_seconds:
                snapshot = replace(snapshot, displayed=latest.displayed)
        for span, window in self._windows.items():
            if self._landed.get(span, -1) > began and not window.agrees(snapshot.table):
                return None
        self._windows.clear()
        self._landed = {DISPLAYED: self.header.moment()}
        self._latest = snapshot
        cells = sum(map(len, snapshot.table.displayed))
        self.is_large = cells > self._resources.settings.window_above_cells
        if snapshot.typed is not None:
            self._typed = snapshot
        elif self._typed is not None:  # a search must not show rows that a list no longer shows
            self._typed = replace(self._typed, is_expired=True)
        self._resources.weigh(self)
        return snapshot

    def _keep_window(self, read: Window, began: int) -> Window | None:
        """Cache a window; None if it must be read again."""
        effects = self._effects.since(began)
        if effects is None or began < self._lost:
            return None
        window = read.after(effects) if effects else read
        if window is None:
            return None
        others = [each for each in self._windows.values() if not each.agrees(window)]
        if any(self._landed.get(each.span, -1) > began for each in others):
            return None
        latest = self._latest
        if latest is not None and not window.agrees(latest.table):
            if self._landed.get(DISPLAYED, -1) > began:
                return None
            if not latest.is_expired:
                self.expire()
        for each in others:
            self._drop(each.span)
        self._windows.pop(window.span, None)  # the newest come last
        self._windows[window.span] = window
        self._landed[window.span] = self.header.moment()
        self._limit_windows()
        self._resources.weigh(self)
        return window

    def _limit_windows(self) -> None:
        """Drop the windows read longest ago if there are too many or they are too large."""
        left = self._max_window_bytes - sum(each.byte_count for each in self._windows.values())
        for span in [*self._windows][:-1]:
            if left >= 0 and len(self._windows) <= MAX_WINDOWS:
                return
            left += self._windows[span].byte_count
            self._drop(span)


def has_types(rows: Rows) -> bool:
    return isinstance(rows, Snapshot) and rows.typed is not None
