"""Reads: choose the snapshot, refresh it, or serve stale rows.

Rules
- A snapshot is served for its ttl. After that it is read anew, and served in the meantime, marked
  as stale, if Google is slow, fails, or may not be asked, up to `cache.max_stale_seconds`.
- `no-cache` has the rows read anew, for all who ask for a worksheet once in `NO_CACHE_SECONDS`; it
  is never answered with a stale snapshot.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gateway.query.evaluate import check_fields
from gateway.query.query import Query
from gateway.settings.model import CacheSettings
from gateway.table.view import ROW_INDEX, ColumnGrant, View
from gateway.worksheets.adaptive_ttl import AdaptiveTtl, Interest
from gateway.worksheets.freshness import Freshness
from gateway.worksheets.header_cache import HeaderCache
from gateway.worksheets.refreshing import Refresher
from gateway.worksheets.single_flight import SingleFlight
from gateway.worksheets.snapshots import Snapshot, Snapshots
from gateway.worksheets.stale_if_error import DEGRADING, not_fresh, reason_for
from gateway.worksheets.worksheet_id import WorksheetId

NO_CACHE_SECONDS = 10.0
"""A worksheet is read anew for the sake of `no-cache` once in so long at most."""

PATIENCE_SECONDS = 2.0
"""How long Google may take before a stale snapshot is served in the meantime."""

QUEUE_PATIENCE_SECONDS = 0.25
"""How long a read may wait for its turn at Google before that."""

HOLD_SECONDS = 1.0
"""After a failure no read is tried for so long, where a stale snapshot can be served."""


class Read(NamedTuple):
    """The snapshot that answers, and how fresh it is."""

    snapshot: Snapshot
    freshness: Freshness


@dataclass(frozen=True, kw_only=True)
class _Demand:
    """What an answer needs: rows read since then (monotonic clock), and whether with types."""

    since_seconds: float
    needs_types: bool
    is_strict: bool
    """A stale snapshot does not do."""


@dataclass(kw_only=True, eq=False)
class _Course:
    """How the reads of a worksheet went."""

    interest: Interest = field(default_factory=Interest)
    forced_seconds: float = float("-inf")
    failed_seconds: float = float("-inf")
    reason: str = ""


class Reader:
    def __init__(
        self,
        refresher: Refresher,
        *,
        snapshots: Snapshots,
        header_cache: HeaderCache,
        adaptive_ttl: AdaptiveTtl,
        settings: CacheSettings,
        clock: Callable[[], float],
    ) -> None:
        self._refresher = refresher
        self._snapshots = snapshots
        self._header_cache = header_cache
        self._adaptive_ttl = adaptive_ttl
        self._max_stale_seconds = settings.max_stale_seconds
        self._clock = clock
        self._max_worksheets = settings.max_worksheets
        self._courses: dict[WorksheetId, _Course] = {}

    def fresh(self, worksheet: WorksheetId, *, needs_types: bool) -> Read | None:
        """The snapshot if it may be served as it is. No call."""
        now = self._clock()
        snapshot = self._snapshots.get(worksheet, needs_types=needs_types)
        if snapshot is None or snapshot.is_expired:
            return None
        self._course(worksheet).interest.note(now, needs_types=needs_types)
        age = now - snapshot.began_seconds(needs_types=needs_types)
        left = self._ttl_seconds(now) - age
        return Read(snapshot, Freshness(age, left, True)) if left > 0 else None

    async def displayed(self, worksheet: WorksheetId, *, no_cache: bool = False) -> Read:
        """The worksheet as it displays itself. 1 read, none if it is fresh."""
        return await self._read(
            worksheet, self._demand(worksheet, needs_types=False, no_cache=no_cache)
        )

    async def typed(
        self, worksheet: WorksheetId, query: Query, columns: ColumnGrant, *, no_cache: bool = False
    ) -> Read:
        """Both renderings. 2 reads, none if they are fresh; 1 if the query names an unknown field.

        The renderings are read side by side if a recent look knew all fields of the query. Two
        more reads if the sheet changed between the two.
        """
        demand = self._demand(worksheet, needs_types=True, no_cache=no_cache)
        plain = replace(demand, needs_types=False)
        base = self._fitting(worksheet, plain)
        if base is None and not self._knows_fields(worksheet, query, columns):
            read = await self._read(worksheet, plain)
            base = read.snapshot
            if read.freshness.reason:  # it is stale, and Google was waited for already
                spare = self._spare(worksheet, demand, read.freshness.reason)
                if spare is not None:
                    return spare
                check_fields(query, base.table.header.seen_with(columns))
                base = None
        if base is not None:
            check_fields(query, base.table.header.seen_with(columns))
        return await self._read(worksheet, demand, base)

    async def _read(
        self, worksheet: WorksheetId, demand: _Demand, base: Snapshot | None = None
    ) -> Read:
        found = self._fitting(worksheet, demand)
        if found is not None:
            return Read(found, self._freshness(found, demand, is_hit=True))
        now, course = self._clock(), self._course(worksheet)
        if now - course.failed_seconds < HOLD_SECONDS:
            held = self._spare(worksheet, demand, course.reason)
            if held is not None:
                return held
        flight = self._refresher.flight(worksheet, needs_types=demand.needs_types, base=base)
        if self._spare(worksheet, demand, "slow") is not None:
            reason = await self._overdue(flight, now)
            # Another spare by now, or none, if there was a write meanwhile.
            spare = self._spare(worksheet, demand, reason) if reason else None
            if spare is not None:
                return spare
        return await self._landed(worksheet, flight, demand)

    async def _overdue(self, flight: SingleFlight[Snapshot], now: float) -> str:
        """Wait for a read as long as is reasonable; why it is not there by then, or ""."""
        queue_seconds = flight.began_seconds + QUEUE_PATIENCE_SECONDS - now
        if await flight.done_within(queue_seconds):
            return ""
        if flight.sent_seconds is None:
            return "budget"
        seconds = flight.began_seconds + PATIENCE_SECONDS - max(now, self._clock())
        return "" if await flight.done_within(seconds) else "slow"

    async def _landed(
        self, worksheet: WorksheetId, flight: SingleFlight[Snapshot], demand: _Demand
    ) -> Read:
        try:
            found = await flight.outcome()
        except DEGRADING as error:
            course = self._course(worksheet)
            course.failed_seconds, course.reason = self._clock(), reason_for(error)
            spare = self._spare(worksheet, demand, course.reason)
            if spare is not None:
                return spare
            if demand.is_strict:
                raise not_fresh(error) from error
            raise
        return Read(found, self._freshness(found, demand, is_hit=False))

    def _demand(self, worksheet: WorksheetId, *, needs_types: bool, no_cache: bool) -> _Demand:
        now, course = self._clock(), self._course(worksheet)
        course.interest.note(now, needs_types=needs_types)
        since = now - self._ttl_seconds(now)
        if no_cache and now - course.forced_seconds >= NO_CACHE_SECONDS:
            course.forced_seconds = since = now
        elif no_cache:  # what was read for the last one, or later
            since = max(since, math.nextafter(course.forced_seconds, -math.inf))
        return _Demand(since_seconds=since, needs_types=needs_types, is_strict=no_cache)

    def _fitting(self, worksheet: WorksheetId, demand: _Demand) -> Snapshot | None:
        """The snapshot if it is what is needed."""
        found = self._snapshots.get(worksheet, needs_types=demand.needs_types)
        if found is None or found.is_expired:
            return None
        began = found.began_seconds(needs_types=demand.needs_types)
        return found if began > demand.since_seconds else None

    def spare(self, worksheet: WorksheetId, reason: str) -> Read | None:
        """The snapshot however old, as far as that may be served, for want of anything better."""
        plain = _Demand(since_seconds=0.0, needs_types=False, is_strict=False)
        return self._spare(worksheet, plain, reason)

    def _spare(self, worksheet: WorksheetId, demand: _Demand, reason: str) -> Read | None:
        """The snapshot however old, as far as that may be served."""
        found = self._snapshots.get(worksheet, needs_types=demand.needs_types)
        if found is None or demand.is_strict:
            return None
        freshness = self._freshness(found, demand, is_hit=True)
        if freshness.age_seconds > self._max_stale_seconds:
            return None
        left = min(freshness.ttl_seconds, 0.0)
        return Read(found, freshness._replace(ttl_seconds=left, reason=reason))

    def _freshness(self, snapshot: Snapshot, demand: _Demand, *, is_hit: bool) -> Freshness:
        now = self._clock()
        age = now - snapshot.began_seconds(needs_types=demand.needs_types)
        left = self._ttl_seconds(now) - age
        return Freshness(age, left if is_hit else max(left, 0.0), is_hit)

    def _ttl_seconds(self, now: float) -> float:
        return self._adaptive_ttl.ttl_seconds(now, self._interests)

    def _interests(self) -> Iterable[Interest]:
        """In the worksheets that there are; names that somebody made up cost the others nothing."""
        return (
            course.interest
            for worksheet, course in self._courses.items()
            if worksheet in self._snapshots
        )

    def _knows_fields(self, worksheet: WorksheetId, query: Query, columns: ColumnGrant) -> bool:
        """Whether a recent look at the header knew all fields of the query."""
        extent = self._header_cache.fresh(worksheet)
        if extent is None:
            return False
        return _has_fields(extent.header.seen_with(columns), query)

    def _course(self, worksheet: WorksheetId) -> _Course:
        course = self._courses.get(worksheet)
        if course is None:
            course = self._courses[worksheet] = _Course()
            if len(self._courses) > self._max_worksheets:
                self._make_room()
        return course

    def _make_room(self) -> None:
        """Forget the courses of worksheets of which nothing is kept, or the oldest."""
        idle = [worksheet for worksheet in self._courses if worksheet not in self._snapshots]
        for worksheet in idle[:-1] or [next(iter(self._courses))]:  # the last is being asked for
            del self._courses[worksheet]


def _has_fields(view: View, query: Query) -> bool:
    return all(name == ROW_INDEX or view.find(name) is not None for _, name in query.fields())
