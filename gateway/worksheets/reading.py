"""Reads: serve cached rows, read them again, or serve stale ones; and search rows in memory.

Rules
- Rows are served for their ttl, then read again. Meanwhile they are served as stale, if Google is
  slow, fails, or may not be called, up to `cache.max_stale_seconds`.
- Where a worksheet is read, those of the same spreadsheet that are in use and due are read with it.
- `no-cache` reads rows again, for all requests together at most once in `NO_CACHE_SECONDS`; it is
  never answered with stale rows.
- Each worksheet in use costs one or two reads per ttl, paid by the accounts that reach it. If their
  read budget cannot pay for all that they reach, the ttl of these grows by the same factor: all are
  refreshed, a little later.
- Filters and sorts are counted work, in slices and by a budget of steps.
- Plain pages and rows of a large worksheet are read in windows; filters, sorts and totals need all
  rows. For those that cannot be read, older rows that contain them are served as stale.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple, TypeVar

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QueryTooCostly,
    QuotaSpent,
    SheetTooLarge,
    TemporarilyUnavailable,
    TooManyInFlight,
    UnknownField,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
)
from gateway.google.sheets import current_call_context, in_call_context
from gateway.query.evaluate import Page, columns_of, evaluate, sort_terms
from gateway.query.query import Query, condition_fields
from gateway.settings.model import CacheSettings
from gateway.table.header import ColumnGrant, Header
from gateway.table.steps import Metered, OutOfSteps, Work
from gateway.table.table import Table
from gateway.worksheets.access import Access
from gateway.worksheets.answers import Freshness
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshot import DISPLAYED, TYPED, Part, Rows, RowSpan, Snapshot
from gateway.worksheets.worksheet import Demand, Worksheet

T = TypeVar("T")

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
    """A required part of a worksheet."""

    part: Part
    since_seconds: float
    """The read must have begun after this, by the monotonic clock."""
    ttl_seconds: float
    is_strict: bool
    """True if stale rows do not do."""


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

    async def displayed(self, worksheet: Worksheet, *, no_cache: bool = False) -> Read:
        """The displayed worksheet. 1 read, none if it is fresh."""
        need = self._need(worksheet, DISPLAYED, no_cache=no_cache)
        return await self._read(worksheet, need)

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
        plain, reason = need._replace(part=DISPLAYED), ""
        base = _fitting(worksheet, plain)
        if base is None and not _knows_fields(worksheet, query, columns):
            base, freshness = await self._read(worksheet, plain)
            reason = freshness.reason
            stale = self._stale(worksheet, need, reason) if reason else None
            if stale is not None:  # after waiting for Google already
                return stale
        if isinstance(base, Snapshot):
            _check_fields(base.table.header, query, columns)
        snapshot = base if isinstance(base, Snapshot) and not reason else None
        return await self._read(worksheet, need, snapshot)

    async def _read(self, worksheet: Worksheet, need: _Need, base: Snapshot | None = None) -> Read:
        """The required part: cached if it is new enough, else read, else as stale as it may be."""
        found = _fitting(worksheet, need)
        if found is not None:
            return Read(found, self._freshness(worksheet, found, need.part, is_hit=True))
        now, demand = self._clock(), worksheet.demand
        if now - demand.failed_seconds < HOLD_SECONDS:
            held = self._stale(worksheet, need, demand.failure)
            if held is not None:
                return held
        is_known = DISPLAYED in worksheet.blocks
        max_age_seconds = 0.0 if need.is_strict else max(0.0, now - need.since_seconds)
        with in_call_context(replace(current_call_context(), max_age_seconds=max_age_seconds)):
            flight = worksheet.read(need.part, base)
        if is_known:
            self._read_beside(worksheet, now, need.ttl_seconds)
        if self._stale(worksheet, need, "slow") is not None:
            queue_seconds = flight.began_seconds + QUEUE_PATIENCE_SECONDS - now
            reason = ""
            if not await flight.done_within(queue_seconds):
                seconds = flight.began_seconds + PATIENCE_SECONDS - max(now, self._clock())
                if flight.sent_seconds is None:
                    reason = "budget"
                elif not await flight.done_within(seconds):
                    reason = "slow"
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

    def _read_beside(self, worksheet: Worksheet, now: float, ttl_seconds: float) -> None:
        """Read what else of the spreadsheet is due: reads that begin together are one call."""
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

    def _need(self, worksheet: Worksheet, part: Part, *, no_cache: bool) -> _Need:
        now, demand = self._clock(), worksheet.demand
        demand.asked_seconds = now
        if part is TYPED:
            demand.typed_seconds = now
        ttl_seconds = self._ttl.seconds(worksheet.id.spreadsheet, now)
        since = now - ttl_seconds
        if no_cache and now - demand.forced_seconds >= NO_CACHE_SECONDS:
            demand.forced_seconds = since = now
        elif no_cache:  # read for an earlier `no-cache`, or later
            since = max(since, math.nextafter(demand.forced_seconds, -math.inf))
        return _Need(part, since, ttl_seconds, no_cache)

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


def _fitting(worksheet: Worksheet, need: _Need) -> Rows | None:
    """The cached rows, if they are new enough."""
    block = worksheet.blocks.get(need.part)
    if block is None or block.rows.is_expired:
        return None
    return block.rows if block.rows.began_seconds(need.part) > need.since_seconds else None


def _check_fields(header: Header, query: Query, columns: ColumnGrant) -> None:
    """Raise UnknownField if the query names one."""
    view = header.seen_with(columns)
    columns_of(query, sort_terms(query, view), view)


def _knows_fields(worksheet: Worksheet, query: Query, columns: ColumnGrant) -> bool:
    """True if a recently read header had all fields of the query."""
    extent = worksheet.header.fresh()
    if extent is None:
        return False
    try:
        _check_fields(extent.header, query, columns)
    except UnknownField:
        return False
    return True


class Search:
    """`weigh` counts the memory of a worksheet again, after indexes were made.

    Searches of writes have a lane of their own beside the queries of their key: others' writes to
    the worksheet wait for them.
    """

    def __init__(
        self, scheduler: Scheduler, *, max_steps: int, weigh: Callable[[Worksheet], None]
    ) -> None:
        self._scheduler = scheduler
        self._max_steps = max_steps
        self._weigh = weigh

    async def page(self, worksheet: Worksheet, table: Table, query: Query, access: Access) -> Page:
        """The page of a query with `where` or `order`. Raises UnknownField, QueryTooCostly."""
        work = evaluate(table, query, table.header.seen_with(access.columns))
        try:
            return await self.run(worksheet, table, work, access.key_id)
        except OutOfSteps:
            raise self.too_costly(query, table) from None

    async def run(
        self,
        worksheet: Worksheet,
        table: Table | None,
        work: Work[T],
        key_id: str,
        *,
        is_write: bool = False,
    ) -> T:
        """The result of work for a request, on a table or on its own rows.

        Raises OutOfSteps and, if many queries of the key wait, TooManyInFlight; `not_applied` for a
        write, which is planned before it is sent.
        """
        lane = f"{key_id} write" if is_write else key_id
        metered = Metered(work, self._max_steps)
        try:
            if not self._scheduler.try_at_once(metered, lane):
                await self._scheduler.finish(metered, lane)
        except TooManyInFlight as error:
            error.outcome = "not_applied" if is_write else None
            raise
        finally:
            if (
                table is not None and metered.steps > table.last_row // 4
            ):  # an index takes at least as many
                self._weigh(worksheet)
        return metered.result

    def too_costly(self, query: Query, table: Table) -> QueryTooCostly:
        conditions = 0 if query.where is None else len(condition_fields(query.where))
        return QueryTooCostly(
            f"This query takes more than {self._max_steps:,} steps on the {table.last_row - 1:,} "
            f"rows of the worksheet, with {conditions} conditions and {len(query.order)} order "
            "terms. Use fewer conditions or order terms, or a worksheet with fewer rows. What it "
            "indexed is kept: repeated, it may take fewer steps."
        )


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
        reads: dict[str, int] = {}
        """The reads per refresh of all worksheets in use."""
        for demand in self._demands():
            ttl_seconds = self._ttls.get(demand.spreadsheet, self._least_seconds)
            since = now - max(2 * ttl_seconds, SHORTEST_ACTIVITY_SECONDS)
            if demand.asked_seconds >= since:
                cost = 2 if demand.typed_seconds >= since else 1
                reads[demand.spreadsheet] = reads.get(demand.spreadsheet, 0) + cost
        budgets: dict[str, Mapping[str, float]] = {}
        seconds: dict[str, float] = {}
        """Time that each account needs to refresh its share of all."""
        for spreadsheet, count in reads.items():
            budget = budgets[spreadsheet] = self._read_budget(spreadsheet)
            for account, per_second in budget.items():
                share = count / len(budget) / (BUDGET_SHARE * per_second)
                seconds[account] = seconds.get(account, 0.0) + share
        ttls: dict[str, float] = {}
        for spreadsheet, budget in budgets.items():
            mean_seconds = fmean(map(seconds.__getitem__, budget))
            ttls[spreadsheet] = max(self._least_seconds, mean_seconds)
        return ttls


def reason_for(error: GatewayError) -> str:
    """The `detail` of a failure in `Cache-Status`."""
    return next(word for kind, word in _REASONS.items() if isinstance(error, kind))


def not_fresh(error: GatewayError) -> NotFresh:
    """The error for a `no-cache` request."""
    return NotFresh(
        f"Fresh rows cannot be had: {error.message} Leave out no-cache to take older ones.",
        retry_after_seconds=error.retry_after_seconds or _RETRY_SECONDS,
    )
