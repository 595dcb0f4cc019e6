"""Reads: serve cached rows, read them again, or serve stale ones.

Rules
- Rows are served for their ttl, then read again. Meanwhile they are served as stale, if Google is
  slow, fails, or may not be called, up to `cache.max_stale_seconds`.
- Where a worksheet is read, those of the same spreadsheet that are in use and due are read with it.
- `no-cache` reads rows again, for all requests together at most once in `NO_CACHE_SECONDS`; it is
  never answered with stale rows.
- Each worksheet in use costs one or two reads per ttl, paid by the accounts that reach it. If their
  read budget cannot pay for all that they reach, the ttl of these grows by the same factor: all are
  refreshed, a little later.
- Plain pages and rows of a large worksheet are read in windows; filters, sorts and totals need all
  rows. For those that cannot be read, older rows that contain them are served as stale.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QuotaSpent,
    SheetTooLarge,
    TemporarilyUnavailable,
    UnknownField,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
)
from gateway.google.call_context import current_call_context, in_call_context
from gateway.query.evaluate import columns_of, sort_terms
from gateway.query.query import Query
from gateway.settings.model import CacheSettings
from gateway.table.view import ColumnGrant
from gateway.worksheets.answers import Freshness
from gateway.worksheets.demand import Demand
from gateway.worksheets.single_flight import SingleFlight
from gateway.worksheets.snapshot import DISPLAYED, TYPED, Part, RowSpan, Snapshot
from gateway.worksheets.worksheet import Rows, Worksheet

NO_CACHE_SECONDS = 10.0
"""Minimum interval of reads for `no-cache`, per worksheet."""

PATIENCE_SECONDS = 2.0
"""Time that Google may take before stale rows are served."""

QUEUE_PATIENCE_SECONDS = 0.25
"""Time that a read may wait for the quota before stale rows are served."""

HOLD_SECONDS = 1.0
"""Pause after a failure, if stale rows can be served."""

BUDGET_SHARE = 0.8
"""Share of the read budget for refreshing; the rest is for new worksheets and writes."""

SHORTEST_ACTIVITY_SECONDS = 10.0
"""A worksheet requested so recently is active, however short its ttl is."""

_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 5

_REASONS: Mapping[type[GatewayError], str] = {
    QuotaSpent: "budget",
    CircuitOpen: "breaker",
    TemporarilyUnavailable: "busy",
    UpstreamError: "google",
    UpstreamTimeout: "google",
    UpstreamAuth: "google",
}

DEGRADING = tuple(_REASONS)
"""Failures of Google or of the connection to it, for which stale rows may be served."""

ReadBudget = Callable[[str], Mapping[str, float]]
"""The reads per second of each account that reaches a spreadsheet, by the accounts' names."""

_PAST = math.nextafter(0.0, -math.inf)
"""The `ttl` of stale rows is negative, however young they are."""


class Read(NamedTuple):
    """Rows and their freshness."""

    rows: Rows
    freshness: Freshness


class _Need(NamedTuple):
    """A required part, read after a time (monotonic clock); `is_strict`: not stale."""

    part: Part
    since_seconds: float
    is_strict: bool


class Reader:
    """Serves reads.

    `demands` returns the demand for each worksheet with rows, `beside` those of the same
    spreadsheet.
    """

    def __init__(
        self,
        *,
        settings: CacheSettings,
        read_budget: ReadBudget,
        demands: Callable[[], Iterable[Demand]],
        beside: Callable[[Worksheet], Iterable[Worksheet]] = lambda _worksheet: (),
        clock: Callable[[], float],
    ) -> None:
        self._ttl = AdaptiveTtl(settings.rows_ttl_seconds, read_budget, demands)
        self._beside = beside
        self._max_stale_seconds = settings.max_stale_seconds
        self._clock = clock

    def fresh(self, worksheet: Worksheet, part: Part) -> Read | None:
        """The cached rows if they are fresh. No call."""
        rows = worksheet.cached(part)
        if rows is None or rows.is_expired:
            return None
        now = self._clock()
        worksheet.demand.note(now, has_types=part is TYPED)
        age = now - rows.began_seconds(part)
        left = self._ttl.seconds(worksheet.id.spreadsheet, now) - age
        return Read(rows, Freshness(age, left, True)) if left > 0 else None

    async def displayed(self, worksheet: Worksheet, *, no_cache: bool = False) -> Read:
        """The displayed worksheet. 1 read, none if it is fresh."""
        return await self._read(worksheet, self._need(worksheet, DISPLAYED, no_cache=no_cache))

    async def some(self, worksheet: Worksheet, span: RowSpan, *, no_cache: bool = False) -> Read:
        """The displayed worksheet, or a span of it if it is too large. 1 to 3 reads."""
        if not worksheet.is_large:
            try:
                return await self.displayed(worksheet, no_cache=no_cache)
            except SheetTooLarge:
                worksheet.is_large = True
        whole = None if no_cache else self.fresh(worksheet, DISPLAYED)
        if whole is not None:
            return whole
        return await self._read(worksheet, self._need(worksheet, span, no_cache=no_cache))

    async def typed(
        self, worksheet: Worksheet, query: Query, columns: ColumnGrant, *, no_cache: bool = False
    ) -> Read:
        """Both renderings. 2 reads, none if they are fresh; 1 if the query names an unknown field.

        The renderings are read concurrently if a recent read knew all fields of the query. Two more
        reads if the sheet changed between the two.
        """
        need = self._need(worksheet, TYPED, no_cache=no_cache)
        plain = need._replace(part=DISPLAYED)
        base = self._fitting(worksheet, plain)
        if base is None and not _knows_fields(worksheet, query, columns):
            read = await self._read(worksheet, plain)
            base = read.rows
            if read.freshness.reason:  # stale, after waiting for Google already
                stale = self._stale(worksheet, need, read.freshness.reason)
                if stale is not None:
                    return stale
                _check_fields(base, query, columns)
                base = None
        if base is not None:
            _check_fields(base, query, columns)
        return await self._read(worksheet, need, base if isinstance(base, Snapshot) else None)

    async def _read(self, worksheet: Worksheet, need: _Need, base: Snapshot | None = None) -> Read:
        found = self._fitting(worksheet, need)
        if found is not None:
            return Read(found, self._freshness(worksheet, found, need.part, is_hit=True))
        now, demand = self._clock(), worksheet.demand
        if now - demand.failed_seconds < HOLD_SECONDS:
            held = self._stale(worksheet, need, demand.failure)
            if held is not None:
                return held
        is_known = worksheet.cached(DISPLAYED) is not None
        max_age_seconds = 0.0 if need.is_strict else max(0.0, now - need.since_seconds)
        with in_call_context(replace(current_call_context(), max_age_seconds=max_age_seconds)):
            flight = worksheet.read(need.part, base)
        if is_known:
            self._read_beside(worksheet, now)
        if self._stale(worksheet, need, "slow") is not None:
            reason = await self._overdue(flight, now)
            # A write may have changed or dropped the rows meanwhile.
            stale = self._stale(worksheet, need, reason) if reason else None
            if stale is not None:
                return stale
        try:
            rows = await flight.outcome()
        except DEGRADING as error:
            demand.failed_seconds, demand.failure = self._clock(), reason_for(error)
            stale = self._stale(worksheet, need, demand.failure)
            if stale is not None:
                return stale
            if need.is_strict:
                raise not_fresh(error) from error
            raise
        return Read(rows, self._freshness(worksheet, rows, need.part, is_hit=False))

    def _read_beside(self, worksheet: Worksheet, now: float) -> None:
        """Read what else of the spreadsheet is due: reads that begin together are one call."""
        ttl_seconds = self._ttl.seconds(worksheet.id.spreadsheet, now)
        since = now - max(2 * ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
        for other in self._beside(worksheet):
            part = TYPED if other.demand.typed_seconds >= since else DISPLAYED
            rows = other.cached(part)
            if (
                other.demand.asked_seconds >= since
                and now - other.demand.failed_seconds >= HOLD_SECONDS
                and rows is not None
                and ttl_seconds
                and now - rows.began_seconds(part) >= ttl_seconds
            ):
                other.read(part)

    async def _overdue(self, flight: SingleFlight[Rows], now: float) -> str:
        """Wait for a read for a limited time; the reason if it is not done by then, or ""."""
        queue_seconds = flight.began_seconds + QUEUE_PATIENCE_SECONDS - now
        if await flight.done_within(queue_seconds):
            return ""
        if flight.sent_seconds is None:
            return "budget"
        seconds = flight.began_seconds + PATIENCE_SECONDS - max(now, self._clock())
        return "" if await flight.done_within(seconds) else "slow"

    def _need(self, worksheet: Worksheet, part: Part, *, no_cache: bool) -> _Need:
        now, demand = self._clock(), worksheet.demand
        demand.note(now, has_types=part is TYPED)
        since = now - self._ttl.seconds(worksheet.id.spreadsheet, now)
        if no_cache and now - demand.forced_seconds >= NO_CACHE_SECONDS:
            demand.forced_seconds = since = now
        elif no_cache:  # read for an earlier `no-cache`, or later
            since = max(since, math.nextafter(demand.forced_seconds, -math.inf))
        return _Need(part, since, no_cache)

    def _fitting(self, worksheet: Worksheet, need: _Need) -> Rows | None:
        """The cached rows, if they are new enough."""
        rows = worksheet.cached(need.part)
        if rows is None or rows.is_expired:
            return None
        return rows if rows.began_seconds(need.part) > need.since_seconds else None

    def _stale(self, worksheet: Worksheet, need: _Need, reason: str) -> Read | None:
        """The newest cached rows that contain the part, as far as they may be served stale."""
        rows = None if need.is_strict else worksheet.containing(need.part)
        if rows is None:
            return None
        freshness = self._freshness(worksheet, rows, need.part, is_hit=True)
        if freshness.age_seconds > self._max_stale_seconds:
            return None
        left = min(freshness.ttl_seconds, _PAST)
        return Read(rows, freshness._replace(ttl_seconds=left, reason=reason))

    def _freshness(
        self, worksheet: Worksheet, rows: Rows, part: Part, *, is_hit: bool
    ) -> Freshness:
        now = self._clock()
        age = now - rows.began_seconds(part)
        left = self._ttl.seconds(worksheet.id.spreadsheet, now) - age
        return Freshness(age, left if is_hit else max(left, 0.0), is_hit)


def _check_fields(rows: Rows, query: Query, columns: ColumnGrant) -> None:
    if isinstance(rows, Snapshot):
        view = rows.table.header.seen_with(columns)
        columns_of(query, sort_terms(query, view), view)


def _knows_fields(worksheet: Worksheet, query: Query, columns: ColumnGrant) -> bool:
    """True if a recently read header had all fields of the query."""
    extent = worksheet.header.fresh()
    if extent is None:
        return False
    try:
        view = extent.header.seen_with(columns)
        columns_of(query, sort_terms(query, view), view)
    except UnknownField:
        return False
    return True


class AdaptiveTtl:
    """The lifetime of cached rows, by the demand for all worksheets. A ttl of 0 stays 0."""

    def __init__(
        self,
        ttl_seconds: float,
        read_budget: ReadBudget,
        demands: Callable[[], Iterable[Demand]],
    ) -> None:
        self._least_seconds = ttl_seconds
        self._read_budget = read_budget
        self._demands = demands
        self._ttls: Mapping[str, float] = {}
        """Of the spreadsheets in use."""
        self._looked_seconds = float("-inf")

    def seconds(self, spreadsheet: str, now: float) -> float:
        if self._least_seconds and now - self._looked_seconds >= _LOOK_SECONDS:
            self._looked_seconds = now
            self._ttls = self._affordable(now)
        return self._ttls.get(spreadsheet, self._least_seconds)

    def _affordable(self, now: float) -> Mapping[str, float]:
        """The ttl of each spreadsheet; its accounts share its reads equally."""
        reads = Counter[str]()
        for demand in self._demands():
            ttl_seconds = self._ttls.get(demand.spreadsheet, self._least_seconds)
            cost = _cost(demand, now - max(2 * ttl_seconds, SHORTEST_ACTIVITY_SECONDS))
            if cost:
                reads[demand.spreadsheet] += cost
        budgets = {spreadsheet: self._read_budget(spreadsheet) for spreadsheet in reads}
        seconds: dict[str, float] = {}
        """What each account needs to refresh its share of all."""
        for spreadsheet, budget in budgets.items():
            for account, per_second in budget.items():
                share = reads[spreadsheet] / len(budget) / (BUDGET_SHARE * per_second)
                seconds[account] = seconds.get(account, 0.0) + share
        return {
            spreadsheet: max(self._least_seconds, fmean(seconds[account] for account in budget))
            for spreadsheet, budget in budgets.items()
        }


def _cost(demand: Demand, since: float) -> int:
    """Reads per refresh of a worksheet."""
    if demand.asked_seconds < since:
        return 0
    return 2 if demand.typed_seconds >= since else 1


def reason_for(error: GatewayError) -> str:
    """The `detail` of a failure in `Cache-Status`."""
    return next(word for kind, word in _REASONS.items() if isinstance(error, kind))


def not_fresh(error: GatewayError) -> NotFresh:
    """The error for a `no-cache` request."""
    return NotFresh(
        f"Fresh rows cannot be had: {error.message} Leave out no-cache to take older ones.",
        retry_after_seconds=error.retry_after_seconds or _RETRY_SECONDS,
    )
