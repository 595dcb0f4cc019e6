"""A worksheet in memory: its header, cached rows, running reads and write queue.

Rules
- A rendering is all displayed texts or all typed values of the sheet, as one read returns them.
- Single-flight: at most one read runs for all displayed rows, one for all typed rows, and one for
  each window (range of rows). Other requests join the running read. No request joins a read that
  was sent before a write ended.
- Read-your-writes: all cached rows contain every finished write. A read that ran at the same time
  as a write is patched with the write.
- Monotonic reads: only cached rows are served, and older rows never replace newer rows. A read is
  repeated if it cannot be patched, or if it differs from rows served while it ran. The last
  attempts run in the write queue, while no other read begins.
- An error of the worksheet itself drops the cached rows. A failure of Google does not.
- Changes that clients report are processed at most once in `REPORT_SECONDS`.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from gateway.errors import (
    Forbidden,
    GatewayError,
    NoHeaderRow,
    NotFound,
    QueueFull,
    RecordsUnavailable,
    SheetTooLarge,
    TooLarge,
    TooManyInFlight,
    UnsupportedDocument,
    UpstreamError,
)
from gateway.google.sheets import Sheets, current_call_context
from gateway.settings.model import CacheSettings
from gateway.table.header import Header
from gateway.table.steps import Metered, Work, finish
from gateway.table.table import RowPatch, Table
from gateway.worksheets.access import DEFAULT_LAYOUTS, Layouts, WorksheetId
from gateway.worksheets.loader import EndLook, Loader, OtherTab, SingleFlight, end_in
from gateway.worksheets.refusal import tabs_changing
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.sharing import Missed, News, Peers, Seen, SharedState
from gateway.worksheets.snapshot import (
    DISPLAYED,
    TYPED,
    Effect,
    HeaderCache,
    Origin,
    Part,
    Rows,
    RowSpan,
    Snapshot,
    Whole,
    Window,
)
from gateway.worksheets.write_queue import WriteQueue, WriteQueues
from gateway.worksheets.writes import Outcome, Write

T = TypeVar("T")

ABANDONED_SECONDS = 8.0
"""Seconds after which requests start a new read instead of joining a running read."""

FREE_TRIES = 2
"""Maximum attempts of a read while other reads can begin."""
LAST_TRIES = 3
"""Maximum further attempts, while no other read begins."""

TAB_TRIES = 3
"""Maximum attempts to read a tab by its sheet id. After a failure the id is read again."""

MAX_WINDOWS = 500
"""Maximum number of cached windows (ranges of rows) of one worksheet."""

WINDOW_SHARE = 8
"""Divisor of `cache.max_bytes` that gives the maximum bytes of one worksheet's windows."""

MAX_EFFECTS = 64
"""Maximum number of writes that end during a read. With more, the read is repeated."""

MAX_COMPARED_CELLS = 4_000_000
"""Maximum product of the writes during a read and their cells. Above it, the read is repeated."""

REPORT_SECONDS = 2.0

TOO_FAST = "The worksheet changes faster than the gateway can read it. Send the request again."

LOST = (NotFound, Forbidden, NoHeaderRow, TooLarge, UnsupportedDocument)
"""Errors of the worksheet itself, which drop its cached rows."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Objects that all worksheets use together."""

    sheets: Sheets
    scheduler: Scheduler
    queues: WriteQueues
    settings: CacheSettings
    clock: Callable[[], float]
    perform: Callable[["Worksheet", Sequence[Write]], Awaitable[Sequence[Outcome]]]
    weigh: Callable[["Worksheet"], None]
    """Function that counts the memory of a worksheet whose cached rows changed."""
    peers: Peers | None = None
    layouts: Layouts = DEFAULT_LAYOUTS


@dataclass(kw_only=True)
class Demand:
    """Times of the last requests for a worksheet in monotonic seconds, and the last failure."""

    spreadsheet: str
    asked_seconds: float = float("-inf")
    typed_seconds: float = float("-inf")
    """Time of the last request for typed rows, in monotonic seconds."""
    forced_seconds: float = float("-inf")
    """Time of the last read for `no-cache`, in monotonic seconds."""
    failed_seconds: float = float("-inf")
    failure: str = ""
    """One word for `Cache-Status` that names the failure of the last read, or ""."""


class Reports:
    """Calls `take_in` after a reported change at once, but at most once in `REPORT_SECONDS`.

    A call for changes within that time follows at its end.
    """

    def __init__(self, take_in: Callable[[], None], *, clock: Callable[[], float]) -> None:
        self._take_in = take_in
        self._clock = clock
        self._taken_seconds = float("-inf")
        self._is_waiting = False

    def add(self) -> None:
        seconds = self._taken_seconds + REPORT_SECONDS - self._clock()
        if seconds <= 0:
            self._taken_seconds = self._clock()
            self._take_in()
        elif not self._is_waiting:
            self._is_waiting = True
            asyncio.get_running_loop().call_later(seconds, self._end_wait)

    def _end_wait(self) -> None:
        self._is_waiting = False
        self.add()


class Block(NamedTuple):
    """Cached rows, and the event number (`Worksheet.moment`) at which they were cached."""

    rows: Rows
    landed: int


class Worksheet:
    def __init__(self, worksheet: WorksheetId, resources: Resources) -> None:
        self.id = worksheet
        self.sheets, self.scheduler = resources.sheets, resources.scheduler
        self.layout = resources.layouts.of(worksheet)
        self.header_row = self.layout.header_row
        self.demand = Demand(spreadsheet=worksheet.spreadsheet)
        self.is_large = False
        """True if lists without filter or order, and reads of one row, use windows."""
        settings = resources.settings
        self.now = resources.clock
        """Function that returns the current time in monotonic seconds."""
        self.moment: Callable[[], int] = itertools.count().__next__
        """Function that returns the next event number, which orders reads and writes."""
        self.header = HeaderCache(
            ttl_seconds=settings.header_ttl_seconds, clock=self.now, moment=self.moment
        )
        peers = resources.peers
        self.shared = shared = (
            None
            if peers is None
            else SharedState(
                id=worksheet,
                peers=peers,
                header=self.header,
                learn=self.learn,
                expire=self.expire,
                forget=self.forget,
            )
        )
        self.queue = WriteQueue(
            worksheet,
            partial(resources.perform, self),
            resources.queues,
            held=None if shared is None else partial(shared.peers.lock.held, shared),
        )
        self.loader = Loader(
            id=worksheet,
            header_cache=self.header,
            layout=self.layout,
            sheets=resources.sheets,
            scheduler=resources.scheduler,
            shared=shared,
        )
        self._resources = resources
        self._max_window_bytes = settings.max_bytes // WINDOW_SHARE
        self.reports = Reports(self._reported, clock=self.now)
        self.blocks: dict[Part, Block] = {}
        """Cached displayed rows, typed rows (often the same snapshot) and windows, of any age."""
        self._lost = -1
        """Event number at which the newest dropped rows were cached, or -1."""
        self._flights: dict[Part, SingleFlight[Part, Rows]] = {}
        """Running reads that other requests can join."""
        self._began: list[int] = []
        """Event numbers at which the running reads began."""
        self._ended: list[tuple[int, Effect | None]] = []
        """Event numbers and effects of writes that ended since the first running read began."""
        self._alone = asyncio.Lock()
        """Lock of a repeated read. While a read holds the lock, no other read begins."""

    @property
    def is_idle(self) -> bool:
        """True if no read and no write is running or waiting."""
        return not self._flights and not self._began and self.queue.is_idle

    @property
    def byte_count(self) -> int:
        total, last = 0, None
        for rows, _ in self.blocks.values():
            if rows is not last:
                total += rows.byte_count
            last = rows
        return total

    def containing(self, part: Part) -> Rows | None:
        """Return the newest cached rows of any age that contain `part`, or None."""
        if not isinstance(part, RowSpan):
            block = self.blocks.get(part)
            return None if block is None else block.rows
        latest = self._snapshot(part.whole)
        windows = [each for each in self._windows() if each.contains(part)]
        newest = max(windows, key=lambda window: window.read_seconds, default=None)
        if newest is None:
            return latest
        is_older = latest is None or latest.began_seconds(part.whole) < newest.read_seconds
        return newest.cut(part) if is_older else latest

    def snapshots(self) -> list[Snapshot]:
        found: list[Snapshot] = []
        for rows, _ in self.blocks.values():
            if isinstance(rows, Snapshot) and rows not in found:
                found.append(rows)
        return found

    def read(self, part: Part, base: Snapshot | None = None) -> SingleFlight[Part, Rows]:
        """Return the running read of `part`, or start a new read.

        Cost in Google calls: displayed rows 1 read, or 2 if only typed values show the last record.
        Typed rows 2 reads, or 1 with displayed rows (`base`), and 2 more if the worksheet changed
        between the two reads. A window 1 to 4 reads.
        """
        now, under_way = self.now(), self._flights.get(part)
        if under_way is not None and not under_way.is_over:
            is_recent = now - (under_way.sent_seconds or now) < ABANDONED_SECONDS
            may_be_old = under_way.max_age_seconds > 0 and self.shared is not None
            if is_recent and (not may_be_old or current_call_context().max_age_seconds > 0):
                return under_way
        return SingleFlight(self._flights, part, self._fly(part, base), now)

    async def look_for_append(self) -> EndLook:
        """Read the header, the last record and the sheet id. Costs 1 read.

        Costs up to 4 more reads if the last record of a large worksheet is unknown, and all reads
        again if another tab has the title.
        """
        for _ in range(TAB_TRIES):
            look = await self.loader.look_at_end()
            if look.is_whole or look.extent.last_row > self.header_row:
                return look
            with suppress(OtherTab), self._reading() as began:
                snapshot, extent, native = self._snapshot(DISPLAYED), look.extent, self.header.table
                if native.id and snapshot is not None:
                    extent = replace(extent, last_row=end_in(snapshot.table, native))
                if extent.last_row == self.header_row:
                    try:
                        snapshot, extent = await self.loader.displayed(sheet_id=look.sheet_id)
                    except SheetTooLarge:
                        if look.may_append and self.header.unfilled_until >= 0:
                            return look
                        raise
                    is_unknown = bool(native.id) and extent.last_row == self.header_row
                    if snapshot.table.ends_by_types or is_unknown:
                        typed = await self.loader.typed(sheet_id=look.sheet_id)
                        table = (await self.loader.with_types(snapshot, typed)).table
                        extent = replace(extent, last_row=end_in(table, native))
                    else:
                        await self._land(began, snapshot)
                if self.now() < self.header.unfilled_until:
                    return EndLook(extent, look.sheet_id)
                look = await self.loader.look_at_end(extent.last_row)
                if look.is_whole:
                    return look
                if native.id:
                    return EndLook(extent, look.sheet_id)
            self.header.forget()
        raise tabs_changing()

    async def read_in_turn(self, part: Whole, *, has_forms: bool = False) -> tuple[int, Snapshot]:
        """Read the sheet id and all rows of its tab. Call only in the write queue.

        Costs 1 read, or 2 with typed values, and 1 more if the sheet id is not cached. With
        `has_forms` that read also gets column types. Costs more if the worksheet or its title
        changes at the same time.
        """
        for _ in range(TAB_TRIES):
            try:
                sheet_id = self.header.fresh_sheet()
                if sheet_id is None:
                    _, view = await self.loader.look_at_header(has_forms=has_forms)
                    sheet_id = view.sheet_id
                return sheet_id, _whole(await self._read_alone(part, sheet_id))
            except OtherTab:
                self.header.forget()
            except LOST as error:
                self._lose(error)
                raise
        raise tabs_changing()

    def saw(
        self,
        header: Header,
        rows: Mapping[int, Sequence[str]],
        values: Mapping[int, Sequence[object]] | None = None,
    ) -> None:
        """Record rows that were read for a write, because a client might see them in an answer.

        `rows` are displayed texts, and `values` typed cells if they were read, by row number.
        Cached rows that differ expire.
        """
        typed = values or {}
        if self.shared is not None:
            self.shared.seen(self.now(), Seen(header, rows))
        if self._began:
            width = max([len(header.cells), *map(len, rows.values())])
            patches = [
                RowPatch(
                    row=row,
                    texts=dict(enumerate([*cells, *[""] * (width - len(cells))])),
                    values=dict(enumerate(typed.get(row, ()))),
                )
                for row, cells in rows.items()
            ]
            self._note(Effect(header=header, rows=patches, before=rows))
        self._doubt(lambda kept: not kept.has_rows(header, rows, typed))

    def missed(self, row: int) -> None:
        """Record that a client got the answer that this row does not exist."""
        if self.shared is not None:
            self.shared.seen(self.now(), Missed(row))
        self._note(None)
        self._doubt(lambda kept: kept.last_row >= row)

    async def take_in(self, effect: Effect) -> None:
        """Record a confirmed write like `written`, but patch cached snapshots in short slices."""
        changed: dict[Rows, Rows | None] = {}
        while others := {*self.snapshots()} - changed.keys():
            for each in others:
                changed[each] = await self.scheduler.build(each.changed(effect))
        self.written(effect, changed)

    def written(self, effect: Effect, changed: Mapping[Rows, Rows | None] | None = None) -> None:
        """Record a confirmed write, so that all later answers include the write.

        `changed` maps cached snapshots to snapshots after the write, or to None for unknown rows. A
        read that ran during a removal of rows is repeated or dropped, because it might show either
        state.
        """
        if self.shared is not None:
            self.shared.seen(self.now(), effect)
            self.shared.show()
        self._overtake(None if effect.removed or effect.is_inside else effect)
        after: dict[Rows, Rows | None] = dict(changed or ())
        for part, (rows, landed) in [*self.blocks.items()]:
            if part not in self.blocks:
                continue  # dropped with the displayed rows
            if effect.removed and landed > effect.sent_at:
                self._drop(part)
                continue
            if isinstance(rows, Window):
                after[rows] = rows.changed(effect)
            elif rows not in after:
                after[rows] = finish(rows.changed(effect))
            rows_after = after[rows]
            if rows_after is None:
                self._drop(part)
            else:
                self.blocks[part] = Block(rows_after, landed)
        self._resources.weigh(self)

    def learn(self, news: News) -> None:
        """Apply news of another process to the cached rows."""
        match news:
            case Effect():
                self.written(news)
            case Seen(header, rows):
                self.saw(header, rows)
            case Missed(row):
                self.missed(row)

    def note_possible_write(self) -> None:
        """Record a write whose outcome is unknown, so that the rows are read again."""
        if self.shared is not None:
            self.shared.seen(self.now(), None)
        self._overtake(None)
        self.expire()

    def forget(self) -> None:
        """Drop all cached rows, because it is unknown what a write changed."""
        if self.shared is not None:
            self.shared.add_news(None)
        self._overtake(None)
        self.drop_rows()

    def expire(self) -> None:
        """Mark all cached rows as expired. Such rows are only served if Google is slow or fails."""
        expired: dict[Rows, Rows] = {}
        for part, (rows, landed) in self.blocks.items():
            if rows not in expired:
                expired[rows] = replace(rows, is_expired=True)
            self.blocks[part] = Block(expired[rows], landed)

    def drop_rows(self) -> None:
        for part in [*self.blocks]:
            self._drop(part)
        self._resources.weigh(self)

    def make_lighter(self) -> bool:
        """Free memory by dropping older typed rows or one index. Returns False without either."""
        latest, typed = self._snapshot(DISPLAYED), self._snapshot(TYPED)
        if typed is not None and typed is not latest:
            del self.blocks[TYPED]
            return True
        if latest is None or not latest.table.indexes:
            return False
        del latest.table.indexes[next(iter(latest.table.indexes))]
        return True

    async def build(self, work: Work[T], key_id: str | None = None) -> T:
        """Run work in slices without a step budget. With a key, raises TooManyInFlight."""
        scheduler, metered = self.scheduler, Metered(work)
        if not scheduler.try_at_once(metered, key_id):
            await scheduler.finish(metered, key_id)
        if metered.steps:
            self._resources.weigh(self)
        return metered.result

    async def search(
        self, table: Table | None, work: Work[T], key_id: str, *, is_write: bool = False
    ) -> T:
        """Run the search of a request in slices. `table` is the table whose index it might build.

        Searches for writes have their own queue per key, because other writes to the worksheet wait
        for them. Raises OutOfSteps, and TooManyInFlight if too many queries of the key wait. For a
        write, the outcome of TooManyInFlight is `not_applied`.
        """
        scheduler, lane = self.scheduler, f"{key_id} write" if is_write else key_id
        metered = Metered(work, scheduler.max_steps)
        try:
            if not scheduler.try_at_once(metered, lane):
                await scheduler.finish(metered, lane)
        except TooManyInFlight as error:
            error.outcome = "not_applied" if is_write else None
            raise
        finally:
            # Work that builds an index takes at least as many steps.
            if table is not None and metered.steps > table.last_row // 4:
                self._resources.weigh(self)
        return metered.result

    async def _fly(self, part: Part, base: Snapshot | None) -> Rows:
        """Read rows, and read them again until the result can be cached."""
        try:
            for _ in range(FREE_TRIES):
                if self._alone.locked():
                    async with self._alone:
                        pass
                landed = await self._attempt(part, base)
                if landed is not None:
                    return landed
            try:
                return await self.queue.exclusively(lambda: self._read_alone(part))
            except RecordsUnavailable:  # without the lock no process writes
                return await self._read_alone(part)
            except QueueFull as error:
                raise UpstreamError(TOO_FAST) from error
        except LOST as error:
            self._lose(error)
            raise

    def _lose(self, error: GatewayError) -> None:
        """Drop the cached rows after an error. Windows of a too large worksheet stay cached."""
        if isinstance(error, TooLarge):
            self._drop(DISPLAYED)
            self._resources.weigh(self)
        else:
            self.drop_rows()

    async def _read_alone(self, part: Part, sheet_id: int | None = None) -> Rows:
        """Read rows while no other read begins. Raises OtherTab if tab `sheet_id` was renamed."""
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
        """Read rows and cache them, or return None if the rows must be read again.

        With `is_alone`, the caller holds the lock for which other reads wait. Then this read joins
        no other read.
        """
        with self._reading() as began:
            if isinstance(part, RowSpan):
                return self._keep_window(await self.loader.window(part), began)
            if part is DISPLAYED:
                latest = self._snapshot(DISPLAYED)
                base, _ = await self.loader.displayed(latest, sheet_id=sheet_id)
                if not base.table.ends_by_types:
                    return await self._land(began, base)
                self.demand.typed_seconds = self.now()
            elif base is not self._snapshot(DISPLAYED):
                base = None
            known = self._snapshot(TYPED)
            both = await self._both(base, began, is_alone=is_alone, sheet_id=sheet_id)
            return both and await self._land(*both, None if known is None else known.typed)

    async def _both(
        self, base: Snapshot | None, began: int, *, is_alone: bool, sheet_id: int | None
    ) -> tuple[int, Snapshot] | None:
        """Read displayed texts and typed values. Returns the event number of the start, and rows.

        Reads the typed values last if displayed rows exist or older rows were dropped, otherwise
        both at the same time. Costs 1 more read if the typed values seem older, and 2 more if texts
        and values seem to differ. Returns None if they still differ.
        """
        known, loader = self._snapshot(TYPED), self.loader
        # Another process might have read the typed values before these rows existed.
        is_single, is_in_turn = self.shared is None, True
        if base is not None:
            displayed, typed = base, await loader.typed(known, sheet_id=sheet_id)
        elif not is_alone and known is not None and known.table.ends_by_types:
            displayed = await self._displayed(is_alone=False, sheet_id=sheet_id)
            if displayed.table.ends_by_types:
                return began, displayed  # its read also got typed values
            typed = await loader.typed(known)
        elif is_single and known is None and self._lost >= 0:
            displayed = await self._displayed(is_alone=is_alone, sheet_id=sheet_id)
            typed = await loader.typed(known, sheet_id=sheet_id)
        else:
            is_in_turn = False
            displayed, typed = await asyncio.gather(
                self._displayed(is_alone=is_alone, sheet_id=sheet_id),
                loader.typed(known, sheet_id=sheet_id),
            )
        both = await loader.with_types(displayed, typed, known)
        if both.table.is_mixed and (known is None or both.table is not known.table):
            began, again = self.moment(), await loader.both_again(both, sheet_id=sheet_id)
            return None if again is None else (began, again)
        if is_in_turn and is_single:
            return began, both  # typed values were read after the rows
        answered = self._snapshot(TYPED)
        if answered is not None:
            may_lag = both.lags(answered)
        else:  # without earlier typed values, assume a lag if rows were served
            may_lag = self._lost >= 0
            for rows, landed in self.blocks.values():
                may_lag = may_lag or (isinstance(rows, Window) and landed > began)
        if not may_lag:
            return began, both
        later = await loader.with_types(displayed, await loader.typed(sheet_id=sheet_id))
        return None if later.table.is_mixed and not both.table.is_mixed else (began, later)

    async def _displayed(self, *, is_alone: bool, sheet_id: int | None) -> Snapshot:
        """Read all displayed rows. If not `is_alone`, other requests can join the read."""
        if not is_alone:
            return _whole(await self.read(DISPLAYED).outcome())
        latest = self._snapshot(DISPLAYED)
        displayed, _ = await self.loader.displayed(latest, sheet_id=sheet_id)
        return displayed

    async def _land(
        self, began: int, snapshot: Snapshot, types: Origin | None = None
    ) -> Snapshot | None:
        """Cache all rows. Returns None if all rows must be read again. `keep` explains `types`."""
        landed: Snapshot | None = snapshot
        effects = self._effects_since(began)
        while effects:  # other tasks can write between slices
            landed = await self.scheduler.build(snapshot.after(effects))
            count, effects = len(effects), self._effects_since(began)
            if effects is not None and len(effects) == count:
                break
        if effects is None or began < self._lost or landed is None:
            return None
        return self.keep(landed, began, types)

    def keep(self, snapshot: Snapshot, began: int, types: Origin | None = None) -> Snapshot | None:
        """Cache all rows. Returns None if they differ from rows cached after this read began.

        Typed values are not compared if the cached values still come from the earlier read `types`.
        """
        latest = self.blocks.get(DISPLAYED)
        if latest is not None and latest.landed > began:
            rows = _whole(latest.rows)
            if not rows.displays_as(snapshot):
                return None
            is_newer = rows.typed is not None and rows.typed is not types
            if is_newer and snapshot.typed and rows.table.typed != snapshot.table.typed:
                return None
            is_later = rows.displayed.began_seconds > snapshot.displayed.began_seconds
            if is_later and rows.table.ends_by_types == snapshot.table.ends_by_types:
                snapshot = replace(snapshot, displayed=rows.displayed)
        for kept, landed in self.blocks.values():
            if isinstance(kept, Window) and landed > began and not kept.agrees(snapshot.table):
                return None
        block, older = Block(snapshot, self.moment()), self.blocks.get(TYPED)
        self.blocks = {DISPLAYED: block}
        if snapshot.typed is not None:
            self.blocks[TYPED] = block
        elif older is not None:  # a search must not show rows that a list does not show
            self.blocks[TYPED] = older._replace(rows=replace(older.rows, is_expired=True))
        cells = sum(map(len, snapshot.table.displayed))
        self.is_large = cells > self._resources.settings.window_above_cells
        self._resources.weigh(self)
        return snapshot

    def _keep_window(self, read: Window, began: int) -> Window | None:
        """Cache a window (range of rows). Returns None if the window must be read again."""
        effects = self._effects_since(began)
        if effects is None or began < self._lost:
            return None
        window = read.after(effects) if effects else read
        if window is None:
            return None
        others = [each for each in self._windows() if not each.agrees(window)]
        if any(self.blocks[each.span].landed > began for each in others):
            return None
        latest = self._snapshot(DISPLAYED)
        if latest is not None and not window.agrees(latest.table):
            if self.blocks[DISPLAYED].landed > began:
                return None
            if not latest.is_expired:
                self.expire()
        for each in others:
            self._drop(each.span)
        self.blocks.pop(window.span, None)  # the newest window is last
        self.blocks[window.span] = Block(window, self.moment())
        windows = self._windows()
        left = self._max_window_bytes - sum(each.byte_count for each in windows)
        for at, each in enumerate(windows[:-1]):  # drop the oldest reads
            if left >= 0 and len(windows) - at <= MAX_WINDOWS:
                break
            left += each.byte_count
            self._drop(each.span)
        self._resources.weigh(self)
        return window

    def _windows(self) -> list[Window]:
        """Cached windows (ranges of rows), the oldest read first."""
        return [rows for rows, _ in self.blocks.values() if isinstance(rows, Window)]

    def _snapshot(self, part: Whole) -> Snapshot | None:
        block = self.blocks.get(part)
        return None if block is None else _whole(block.rows)

    @contextmanager
    def _reading(self) -> Iterator[int]:
        """Record writes that end during the block. Yields the event number of the block's start."""
        began = self.moment()
        self._began.append(began)
        try:
            yield began
        finally:
            self._began.remove(began)
            if self._ended:
                first = min(self._began, default=self.moment())
                self._ended = [each for each in self._ended if each[0] > first]

    def _note(self, effect: Effect | None) -> None:
        """Record the effect of a write for the running reads, or None if the effect is unknown."""
        if self._began:
            self._ended.append((self.moment(), effect))

    def _effects_since(self, began: int) -> Sequence[Effect] | None:
        """Return effects of writes since an event number, or None if too many or one is unknown."""
        if not self._ended:
            return ()
        ended = [effect for moment, effect in self._ended if moment > began]
        known = [effect for effect in ended if effect is not None]
        if not len(known) == len(ended) <= MAX_EFFECTS:
            return None
        cells = sum(effect.cell_count for effect in known)
        return known if len(known) < 2 or cells * len(known) <= MAX_COMPARED_CELLS else None

    def _reported(self) -> None:
        self.note_possible_write()
        if self.shared is not None:
            self.shared.peers.rows.change(self.id)

    def _overtake(self, effect: Effect | None) -> None:
        """Record the end of a write. Later requests do not join reads that were sent before."""
        self._note(effect)
        for part, flight in [*self._flights.items()]:
            if flight.sent_seconds is not None:
                del self._flights[part]

    def _doubt(self, contradicts: Callable[[Rows], bool]) -> None:
        """Drop contradicting windows (row ranges), or expire all rows if a snapshot contradicts."""
        if any(map(contradicts, self.snapshots())):
            self.expire()
        for part, (rows, _) in [*self.blocks.items()]:
            if isinstance(part, RowSpan) and contradicts(rows):
                self._drop(part)

    def _drop(self, part: Part) -> None:
        """Drop rows, and stop running reads from restoring older rows."""
        block = self.blocks.pop(part, None)
        if part is DISPLAYED:
            self.blocks.pop(TYPED, None)
        if block is not None and part is not TYPED:
            self._lost = max(self._lost, block.landed)


def _whole(rows: Rows) -> Snapshot:
    if not isinstance(rows, Snapshot):
        raise TypeError("a read of all rows returned no snapshot")
    return rows
