"""Serve reads from cached rows, from a new read, or from stale rows.

Rules
- Cached rows are served for their TTL. Then the next request reads them again. If Google is slow,
  fails or must not be called, older rows are served up to `cache.max_stale_seconds`
  (stale-if-error).
- A read of one worksheet also refreshes other worksheets of the spreadsheet that are in use and
  past their TTL.
- `no-cache` reads rows again, at most once in `NO_CACHE_SECONDS` for all requests together. Answers
  to `no-cache` never have stale rows.
- Each worksheet in use costs one or two reads per TTL. The service accounts that can open it share
  the cost. If the read quota of the accounts is too small, the TTL of all their worksheets grows by
  the same factor.
- Plain pages and single rows of a large worksheet are read as windows, without the other rows.
  Filters, sorts and totals need all rows. If Google fails, older rows that contain the window are
  served.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TypeVar

import msgspec
from msgspec.structs import replace as replaced

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QueryTooCostly,
    QuotaSpent,
    SheetTooLarge,
    TemporarilyUnavailable,
    UnknownField,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
)
from gateway.google.sheets import current_call_context, in_call_context
from gateway.query.evaluate import columns_of, sort_terms
from gateway.query.operators import comparisons
from gateway.query.query import Query
from gateway.settings.model import CacheSettings
from gateway.table.header import ColumnGrant, Header
from gateway.table.steps import OutOfSteps
from gateway.table.table import Table
from gateway.worksheets.answers import Freshness
from gateway.worksheets.loader import SingleFlight
from gateway.worksheets.snapshot import DISPLAYED, TYPED, Part, Rows, RowSpan, Snapshot
from gateway.worksheets.worksheet import Demand, Worksheet

T = TypeVar("T")

NO_CACHE_SECONDS = 10.0
"""Minimum seconds between two reads of a worksheet for `no-cache`."""

PATIENCE_SECONDS = 2.0
"""Seconds after which a slow read is answered with stale rows."""

QUEUE_PATIENCE_SECONDS = 0.25
"""Seconds after which a read that still waits for quota is answered with stale rows."""

HOLD_SECONDS = 1.0
"""Seconds after a failed read in which stale rows are served without a new read."""

BUDGET_SHARE = 0.8
"""Share of the read quota for refreshing rows. The remainder is for new worksheets and writes."""

SHORTEST_ACTIVITY_SECONDS = 10.0
"""Minimum seconds that a worksheet counts as in use after a request, even with a shorter TTL."""

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
"""Errors of Google or of the connection, after which stale rows are allowed."""

ReadBudget = Callable[[str], Mapping[str, float]]
"""Function that returns reads per second by name of the accounts that can open a spreadsheet."""

_PAST = math.nextafter(0.0, -math.inf)
"""Largest allowed `ttl_seconds` of stale rows: just below 0."""


class Read(msgspec.Struct, frozen=True):
    rows: Rows
    freshness: Freshness


class Reader:
    """Serves reads of worksheets.

    `demands` returns the times of the last requests for each worksheet with cached rows. `beside`
    returns the other worksheets of the same spreadsheet.
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
        """Return the cached rows within their TTL, or None. Makes no call to Google."""
        block = worksheet.blocks.get(part)
        if block is None or block.rows.is_expired:
            return None
        now, demand = self._clock(), worksheet.demand
        demand.asked_seconds = now
        if part is TYPED:
            demand.typed_seconds = now
        age = now - block.rows.began_seconds(part)
        left = self._ttl.seconds(worksheet.id.spreadsheet, now) - age
        return Read(block.rows, Freshness(age, left, True)) if left > 0 else None

    async def rows(
        self,
        worksheet: Worksheet,
        part: Part,
        query: Query,
        columns: ColumnGrant,
        *,
        no_cache: bool = False,
    ) -> Read:
        """Return displayed rows, typed rows or a row range: cached if fresh, else read, else stale.

        Cost in Google calls: displayed rows 1 read, or 2 if only typed values show the last record.
        Typed rows 2 reads, at the same time if the cached header is fresh and has all fields of the
        query. 2 more if the worksheet changed between the two reads. A row range 1 to 4 reads if
        the worksheet is large, otherwise all rows are read.

        Raises UnknownField, after at most 1 read.
        """
        if isinstance(part, RowSpan):
            if not worksheet.is_large:
                try:
                    return await self.rows(worksheet, part.whole, query, columns, no_cache=no_cache)
                except SheetTooLarge:
                    worksheet.is_large = True
            whole = None if no_cache else self.fresh(worksheet, part.whole)
            if whole is not None:
                return whole
        now, demand = self._clock(), worksheet.demand
        demand.asked_seconds = now
        if part is TYPED:
            demand.typed_seconds = now
        ttl_seconds = self._ttl.seconds(worksheet.id.spreadsheet, now)
        since = now - ttl_seconds
        if no_cache and now - demand.forced_seconds >= NO_CACHE_SECONDS:
            demand.forced_seconds = since = now
        elif no_cache:  # rows of the last `no-cache` read, or newer
            since = max(since, math.nextafter(demand.forced_seconds, -math.inf))
        base: Snapshot | None = None
        if part is TYPED:
            base, stale = await self._base(worksheet, since, query, columns, no_cache=no_cache)
            if stale is not None:
                return stale
            now = self._clock()
        found = _newer(worksheet, part, since)
        if found is not None:
            return Read(found, self._freshness(worksheet, found, part, is_hit=True))
        if now - demand.failed_seconds < HOLD_SECONDS and not no_cache:
            held = self._stale(worksheet, part, demand.failure)
            if held is not None:
                return held
        is_known = DISPLAYED in worksheet.blocks
        max_age_seconds = 0.0 if no_cache else max(0.0, now - since)
        with in_call_context(replace(current_call_context(), max_age_seconds=max_age_seconds)):
            flight = worksheet.read(part, base)
        if is_known:
            self._read_beside(worksheet, now, ttl_seconds)
        if not no_cache and self._stale(worksheet, part, "slow") is not None:
            reason = await self._impatience(flight, now)
            # A write during the wait might have changed or dropped the rows.
            stale = self._stale(worksheet, part, reason) if reason else None
            if stale is not None:
                return stale
        try:
            rows = await flight.outcome()
        except DEGRADING as failure:
            demand.failed_seconds, demand.failure = self._clock(), reason_for(failure)
            if no_cache:
                raise not_fresh(failure) from failure
            stale = self._stale(worksheet, part, demand.failure)
            if stale is not None:
                return stale
            raise
        return Read(rows, self._freshness(worksheet, rows, part, is_hit=False))

    async def _base(
        self,
        worksheet: Worksheet,
        since: float,
        query: Query,
        columns: ColumnGrant,
        *,
        no_cache: bool,
    ) -> tuple[Snapshot | None, Read | None]:
        """Return displayed rows that lack typed values, or stale rows that can answer the request.

        Rows read before `since` (monotonic seconds) do not count as displayed rows. Both results
        are None if displayed rows and typed values must be read. Raises UnknownField.
        """
        displayed, reason = _newer(worksheet, DISPLAYED, since), ""
        extent = worksheet.header.fresh()
        if displayed is None and (
            extent is None or _unknown_field(extent.header, query, columns) is not None
        ):
            read = await self.rows(worksheet, DISPLAYED, query, columns, no_cache=no_cache)
            displayed, reason = read.rows, read.freshness.reason
            stale = self._stale(worksheet, TYPED, reason) if reason else None
            if stale is not None:  # no second wait for Google
                return None, stale
        if not isinstance(displayed, Snapshot):
            return None, None
        error = _unknown_field(displayed.table.header, query, columns)
        if error is not None:
            raise error
        return None if reason else displayed, None

    async def _impatience(self, flight: SingleFlight[Part, Rows], now: float) -> str:
        """Wait a limited time for a read. Returns "" if it ended, or the reason for stale rows."""
        if await flight.done_within(flight.began_seconds + QUEUE_PATIENCE_SECONDS - now):
            return ""
        if flight.sent_seconds is None:
            return "budget"
        seconds = flight.began_seconds + PATIENCE_SECONDS - max(now, self._clock())
        return "" if await flight.done_within(seconds) else "slow"

    def _read_beside(self, worksheet: Worksheet, now: float, ttl_seconds: float) -> None:
        """Refresh other worksheets of the spreadsheet that are in use and past their TTL."""
        since = now - max(2 * ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
        for other in self._beside(worksheet):
            part = TYPED if other.demand.typed_seconds >= since else DISPLAYED
            block = other.blocks.get(part)
            if (
                other.demand.asked_seconds >= since
                and now - other.demand.failed_seconds >= HOLD_SECONDS
                and block is not None
                and ttl_seconds
                and now - block.rows.began_seconds(part) >= ttl_seconds
            ):
                other.read(part)

    def _stale(self, worksheet: Worksheet, part: Part, reason: str) -> Read | None:
        """Return the newest cached rows that contain `part`, or None if all are too old.

        `reason` is the word for `Cache-Status`.
        """
        rows = worksheet.containing(part)
        if rows is None:
            return None
        freshness = self._freshness(worksheet, rows, part, is_hit=True)
        if freshness.age_seconds > self._max_stale_seconds:
            return None
        left = min(freshness.ttl_seconds, _PAST)
        return Read(rows, replaced(freshness, ttl_seconds=left, reason=reason))

    def _freshness(
        self, worksheet: Worksheet, rows: Rows, part: Part, *, is_hit: bool
    ) -> Freshness:
        now = self._clock()
        age = now - rows.began_seconds(part)
        left = self._ttl.seconds(worksheet.id.spreadsheet, now) - age
        return Freshness(age, left if is_hit else max(left, 0.0), is_hit)


def _newer(worksheet: Worksheet, part: Part, since: float) -> Rows | None:
    """Return the cached rows of `part` if their read began after `since`."""
    block = worksheet.blocks.get(part)
    if block is None or block.rows.is_expired:
        return None
    return block.rows if block.rows.began_seconds(part) > since else None


def _unknown_field(header: Header, query: Query, columns: ColumnGrant) -> UnknownField | None:
    view = header.seen_with(columns)
    try:
        columns_of(comparisons(query.where), sort_terms(query, view), view)
    except UnknownField as error:
        return error
    return None


def too_costly(query: Query, table: Table, error: OutOfSteps) -> QueryTooCostly:
    """Return the error for a query that exceeds its step budget."""
    conditions = len(comparisons(query.where))
    return QueryTooCostly(
        f"This query needs more than {error.budget_steps:,} steps on the "
        f"{table.last_row - table.header.row:,} rows of the worksheet, with {conditions} "
        f"conditions and {len(query.order)} order terms. Use fewer conditions or order terms, or "
        "send the query again: it might need fewer steps, because finished indexes are cached."
    )


@dataclass(eq=False)
class AdaptiveTtl:
    """Computes the TTL of cached rows from the demand and the read quota. A TTL of 0 stays 0."""

    least_seconds: float
    read_budget: ReadBudget
    demands: Callable[[], Iterable[Demand]]
    _ttls: Mapping[str, float] = field(default_factory=dict)
    """TTL of each spreadsheet in use, in seconds."""
    _looked_seconds: float = float("-inf")

    def seconds(self, spreadsheet: str, now: float) -> float:
        if self.least_seconds and now - self._looked_seconds >= _LOOK_SECONDS:
            self._looked_seconds = now
            self._ttls = self._affordable(now)
        return self._ttls.get(spreadsheet, self.least_seconds)

    def _affordable(self, now: float) -> Mapping[str, float]:
        """Return the shortest TTL in seconds that the read quota allows, by spreadsheet."""
        reads: dict[str, int] = {}
        """Number of reads to refresh all worksheets in use once, by spreadsheet."""
        for demand in self.demands():
            ttl_seconds = self._ttls.get(demand.spreadsheet, self.least_seconds)
            since = now - max(2 * ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
            if demand.asked_seconds >= since:
                cost = 2 if demand.typed_seconds >= since else 1
                reads[demand.spreadsheet] = reads.get(demand.spreadsheet, 0) + cost
        budgets: dict[str, Mapping[str, float]] = {}
        seconds: dict[str, float] = {}
        """Seconds that each account needs for its share of one refresh."""
        for spreadsheet, count in reads.items():
            budget = budgets[spreadsheet] = self.read_budget(spreadsheet)
            for account, per_second in budget.items():
                share = count / len(budget) / (BUDGET_SHARE * per_second)
                seconds[account] = seconds.get(account, 0.0) + share
        ttls: dict[str, float] = {}
        for spreadsheet, budget in budgets.items():
            mean_seconds = fmean(map(seconds.__getitem__, budget))
            ttls[spreadsheet] = max(self.least_seconds, mean_seconds)
        return ttls


def reason_for(error: GatewayError) -> str:
    """Return the `detail` of `Cache-Status` for an error of Google."""
    return next(word for kind, word in _REASONS.items() if isinstance(error, kind))


def not_fresh(error: GatewayError) -> NotFresh:
    """Return the error for a `no-cache` request that got no fresh rows."""
    return NotFresh(
        f"Fresh rows are not available: {error.message} Send the request without "
        "no-cache to get older rows.",
        retry_after_seconds=error.retry_after_seconds or _RETRY_SECONDS,
    )
