"""Write groups of creates or updates, each as one batch with its fence.

Rules
- The order is: look, plan, record, encode, send. A look counts from its sending: an update is sent
  within a second of it, a create while the header is fresh. After that the rows of the plan are
  looked at once more; if they changed, they are planned again.
- The answer of the batch shows the worksheet as of the write: position and displayed values of the
  rows, header and sheet id.
- Google names the request for which it refuses a batch. The write that it belongs to is refused,
  and the others are sent again.
- Writes that are too large together go one by one: the error is only of those that are too large
  by themselves.
- An update waits until an earlier open update of its row is settled, or can land no more: a late
  copy would overwrite it. So a batch that changes rows is noted in the store before it is sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import msgspec

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    InternalError,
    LookOutdated,
    ProtectedCells,
    QueryTooCostly,
    RecordsUnavailable,
    RowNotFound,
    RowNumberUnknown,
    UpstreamError,
    UpstreamRefusal,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
    WriteTooLarge,
)
from gateway.google.batch_requests import encoded_changes
from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Change,
    EmptiedRow,
    Fence,
    RemovedRows,
    Sheets,
    SheetView,
    WrittenCells,
    refused_request,
)
from gateway.table.header import Header
from gateway.table.steps import OutOfSteps, Work
from gateway.worksheets.applied import AppliedReader, SentBatch
from gateway.worksheets.batch import (
    AROUND,
    Asked,
    Edge,
    answer_ranges,
    asked_cells,
    edges_of,
    emptied_rows,
    removed_rows,
    requests_of,
    rows_around,
    sendings_of,
)
from gateway.worksheets.fences import Fences, NeverApplied
from gateway.worksheets.idempotency import (
    AppliedRows,
    Entry,
    Ledger,
    OpenWrite,
    in_progress,
    no_fence,
    number_unknown,
)
from gateway.worksheets.loader import SheetExtent
from gateway.worksheets.matching import Matching, needs_types
from gateway.worksheets.open_writes import OpenWrites
from gateway.worksheets.planning import (
    FRESH_LOOK_SECONDS,
    Planned,
    Planner,
    look_again,
    look_at_rows,
    note_unchanged,
)
from gateway.worksheets.reading import Search
from gateway.worksheets.refusal import (
    SHEET_WIDE,
    explain,
    explaining,
    other_tab,
    row_not_removable,
    undecided,
)
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.sharing import WriteLock
from gateway.worksheets.snapshot import DISPLAYED, TYPED
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.write_queue import WriteTurns, no_turn
from gateway.worksheets.writes import (
    Append,
    ByNumber,
    Outcome,
    Write,
)

MAX_EXTRA_WRITES = 4
"""Further batches of a group after refusals."""

MAX_OLD_LOOKS = 3
"""Looks of a group that are too old when the batch could be sent, and show other rows than later
ones."""

MAX_SMALL_LOOKS = 2
"""Looks at the rows of a plan after the first, if each takes long."""

MAX_FAILURES = 2
"""Batches of a group that are not applied because Google fails."""

SMALL_ROWS = 2_000
SMALL_CELLS = 100_000
"""A grid of so many rows, and so many cells below the header, is small: if its last row is unknown,
the answer shows all rows."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Writes that one batch can carry out, and the outcomes of others by their index.

    Writes with neither are planned again, after this batch. Either all writes remove rows or none.
    """

    outcomes: Mapping[int, Outcome]
    writes: Sequence[Planned]
    header: Header
    sheet_id: int
    after_row: int = 0
    """Created rows come below it."""
    is_end: bool = True
    """True if that was the last row of the sheet at the look."""
    emptied: frozenset[int] = frozenset()
    """Rows to empty in place of removing them: Google keeps one row that is not frozen."""
    around: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The rows next to removed or emptied ones."""
    looked_at: float
    """When the look was sent, in monotonic seconds."""
    fresh_seconds: float = FRESH_LOOK_SECONDS
    """The batch is sent within this time after the look, or looks once more."""
    is_cached: bool = False
    """True if sheet id, frozen rows or header were seen earlier."""


class _Outdated(Exception):
    """The sheet has changed since the look: look again."""


class _SlowLooks(Exception):
    """Google takes too long for looks: what they show is old."""


class _NotSent(Exception):
    """Nothing was sent, for a reason that may pass."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__()
        self.error = error


class FencedWriter:
    """`clock` is the clock of the fences, `open_writes` those of an earlier process."""

    def __init__(
        self,
        sheets: Sheets,
        fences: Fences,
        ledger: Ledger,
        planner: Planner,
        *,
        header_ttl_seconds: float,
        clock: Callable[[], float],
        write_turn: WriteTurns = no_turn,
        scheduler: Scheduler,
        search: Search,
        open_writes: Iterable[OpenWrite] = (),
        lock: WriteLock | None = None,
    ) -> None:
        self._lock = lock
        self._sheets = sheets
        self._fences = fences
        self._ledger = ledger
        self._planner = planner
        self._applied = AppliedReader(
            sheets=sheets, scheduler=scheduler, ignore_unknown=planner.ignore_unknown
        )
        self._header_ttl_seconds = header_ttl_seconds
        self._clock = clock
        self._write_turn = write_turn
        self._scheduler = scheduler
        self._search = search
        self._matching = Matching(planner=planner, search=search)
        self._open_writes = OpenWrites(fences, ledger, clock=clock, earlier=open_writes, lock=lock)

    async def write(self, worksheet: Worksheet, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Carry out a group of writes of one kind. To be awaited in the write queue.

        Creates: 1 write if header and sheet id are fresh, otherwise 1 read + 1 write; 2 reads if
        the end of a large worksheet is unknown. Updates and deletes: 1 read + 1 write; 1 more read
        if a row is blank. Writes by filter: 2 reads (1 for filters of row numbers) + 1 write;
        upserts 1 read + 1 write; both 1 more read if the sheet id is unknown. Of those that concern
        the same rows or columns, each takes as much. A refused group costs at most 4 more writes,
        and 1 read each time to learn why. A group that is too large costs 1 read or 1 write more
        than its writes one by one. Earlier open writes in the way: 1 to 2 reads and 1 write each,
        and a new look if they were sent when the tab had another title.
        """
        refusals = await self._open_writes.refusals(worksheet, writes)
        free = [each for each, refusal in zip(writes, refusals, strict=True) if refusal is None]
        outcomes = iter(await self._carried_out(worksheet, free))
        return [next(outcomes) if refusal is None else refusal for refusal in refusals]

    async def resume(self, worksheet: Worksheet, write: Write, entry: Entry) -> AppliedRows | None:
        """The rows of a write that was left open; None if it was not applied, and never will be.

        1 to 4 reads and at most 1 write. If an open removal may have moved its rows, that one is
        settled, too: 1 read, or at most 2 reads and 1 write more. Raises `WriteOutcomeUnknown`, or
        QueueFull, `applied`, while the removal is open. To be awaited in the write queue.
        """
        if entry.answer is None:
            if entry.fence is None:
                raise no_fence()
            fence, spreadsheet = entry.fence, worksheet.id.spreadsheet
            was_applied = await self._fences.is_applied(spreadsheet, fence, entry.sent_at)
            await self._open_writes.settled(worksheet, fence, is_applied=was_applied)
            if not was_applied:
                return None
            worksheet.forget()
            worksheet.header.forget()
        if entry.open_removal is not None:
            is_moved = await self._open_writes.settle(worksheet, entry.open_removal)
            entry = replace(entry, is_moved=is_moved, open_removal=None)
        if entry.is_moved:
            return AppliedRows(results=(), error=number_unknown())
        if isinstance(entry.answer, GatewayError):
            return AppliedRows(results=(), error=entry.answer)
        if entry.answer is not None:
            return AppliedRows(results=entry.answer)
        try:
            async with explaining(self._sheets, worksheet.id):
                results = await self._applied.recorded(worksheet, write, entry)
        except (RowNumberUnknown, HeaderChanged) as error:
            return AppliedRows(results=(), error=error)
        except GatewayError as error:
            if error.retryable:
                raise
            return AppliedRows(results=(), error=number_unknown(error))
        return AppliedRows(results=results)

    async def _carried_out(
        self, worksheet: Worksheet, writes: Sequence[Write]
    ) -> Sequence[Outcome]:
        outcomes: dict[int, Outcome] = {}
        left: Mapping[int, Write] = dict(enumerate(writes))
        error: GatewayError | None = None
        failures = extra_writes = old_looks = 0
        is_first, is_one_by_one = True, False
        spreadsheet = worksheet.id.spreadsheet
        while (
            left
            and failures < MAX_FAILURES
            and extra_writes <= MAX_EXTRA_WRITES
            and old_looks < MAX_OLD_LOOKS
        ):
            now = dict(islice(left.items(), 1)) if is_one_by_one else left
            try:
                # The quota comes first: nothing waits between a look and its write.
                with nullcontext() if is_first else await self._write_turn(spreadsheet):
                    match next(iter(now.values())).selector:
                        case Append():
                            plan = await self._plan_creates(worksheet, now)
                        case ByNumber():
                            plan = await self._plan_by_rows(worksheet, now)
                        case _:
                            plan = await self._plan_by_table(worksheet, now)
                    if await self._open_writes.settle_renamed(
                        worksheet, plan.sheet_id, [*now.values()]
                    ):
                        raise _Outdated
                    outcomes |= plan.outcomes
                    # Their numbers follow the rows that this batch or a later one removes.
                    await self._completed(left, plan.outcomes)
                    if plan.writes:
                        outcomes |= await self._sent(worksheet, plan)
                        extra_writes += any(each.index not in outcomes for each in plan.writes)
            except NeverApplied as never:
                worksheet.header.forget()
                error = await self._never_applied(worksheet, never.__cause__)
                failures += 1
            except _Outdated:
                worksheet.header.forget()
                extra_writes += 1
            except LookOutdated as outdated:
                worksheet.header.forget()
                error = outdated
                old_looks += 1
            except _SlowLooks:
                worksheet.header.forget()
                error = LookOutdated()
                break
            except _NotSent as not_sent:
                error = not_sent.error
                failures += 1
            except WriteTooLarge as too_large:
                if len(now) == 1:
                    outcomes |= dict.fromkeys(now, too_large)
                is_one_by_one = True  # those that are not too large by themselves are carried out
            except GatewayError as failure:
                outcomes |= dict.fromkeys(left.keys() - outcomes.keys(), failure)
            is_first = False
            left = {index: write for index, write in left.items() if index not in outcomes}
            if any(isinstance(each, WriteOutcomeUnknown) for each in outcomes.values()):
                error = self._open_writes.refusal()  # the others would have to wait for it
                break
        if left:
            outcomes |= dict.fromkeys(left, error or undecided())
        return [outcomes[index] for index in range(len(writes))]

    async def _plan_creates(self, worksheet: Worksheet, creates: Mapping[int, Write]) -> Plan:
        extent, sheet_id = worksheet.header.fresh(), worksheet.header.fresh_sheet()
        is_cached = extent is not None and sheet_id is not None
        if extent is None or sheet_id is None:
            extent, sheet_id = await self._look_at_end(worksheet)
        header = extent.header
        planned, outcomes = await self._planned(
            worksheet, creates, lambda at, create: self._planner.create(at, create, header)
        )
        refused = (creates[index] for index in outcomes)
        if is_cached and self._planner.lacks_fields(header, refused):  # a newer one may have them
            worksheet.header.forget()
            return await self._plan_creates(worksheet, creates)
        return Plan(
            outcomes=outcomes,
            writes=planned,
            header=header,
            sheet_id=sheet_id,
            after_row=extent.last_row,
            is_end=extent.is_end,
            looked_at=extent.header_as_of,
            fresh_seconds=max(self._header_ttl_seconds, FRESH_LOOK_SECONDS),
            is_cached=is_cached,
        )

    async def _plan_by_rows(self, worksheet: Worksheet, writes: Mapping[int, Write]) -> Plan:
        """Plan updates, or deletes, by a look at their rows."""
        await self._fences.find_earlier(worksheet.id.spreadsheet)
        rows = sorted({row for write in writes.values() for row in write.numbers})
        removes = next(iter(writes.values())).rows is None
        look = await look_at_rows(self._sheets, worksheet, rows, around=AROUND if removes else 0)
        for row in look.missing:
            worksheet.missed(row)
        planned, outcomes = await self._planned(
            worksheet, writes, lambda at, write: self._planner.by_number(at, write, look)
        )
        if not removes:
            note_unchanged(worksheet, planned, outcomes.values(), look)
        return Plan(
            outcomes=outcomes,
            writes=planned,
            header=look.header,
            sheet_id=look.sheet_id,
            emptied=emptied_rows(planned, look.frozen_rows, look.grid_rows),
            around={**look.rows, **look.around} if removes else {},
            looked_at=look.sent_at,
        )

    async def _planned(
        self,
        worksheet: Worksheet,
        writes: Mapping[int, Write],
        plan: Callable[[int, Write], Work[Planned]],
    ) -> tuple[Sequence[Planned], dict[int, Outcome]]:
        """The writes that can be sent, and the results or errors of the others by their index."""
        planned: list[Planned] = []
        outcomes: dict[int, Outcome] = {}
        for index, write in writes.items():
            try:
                found = await self._search.run(
                    worksheet, None, plan(index, write), write.access.key_id, is_write=True
                )
            except OutOfSteps:
                outcomes[index] = QueryTooCostly(
                    "The rows of this request take more steps than one request may take. Send "
                    "fewer rows at once.",
                    outcome="not_applied",
                )
                continue
            except GatewayError as error:
                outcomes[index] = error
                continue
            if found.changes or found.created or found.removed:
                planned.append(found)
            else:
                outcomes[index] = found.results({}, ())
        return planned, outcomes

    async def _plan_by_table(self, worksheet: Worksheet, writes: Mapping[int, Write]) -> Plan:
        """Plan writes by filter and upserts on all rows, as they are now."""
        await self._fences.find_earlier(worksheet.id.spreadsheet)
        is_cached = worksheet.header.fresh_sheet() is not None  # and so the frozen rows
        has_types = any(needs_types(each) for each in writes.values())
        part = TYPED if has_types else DISPLAYED
        sheet_id, snapshot = await worksheet.read_in_turn(part)
        planned, outcomes = await self._matching.plan(worksheet, snapshot, writes)
        return Plan(
            outcomes=outcomes,
            writes=planned,
            header=snapshot.table.header,
            sheet_id=sheet_id,
            after_row=max(snapshot.table.last_row, 1),
            emptied=emptied_rows(planned, worksheet.header.frozen_rows, snapshot.grid_rows),
            around=await self._scheduler.build(rows_around(snapshot.table, planned)),
            looked_at=snapshot.began_seconds(part),
            is_cached=is_cached,
        )

    async def _look_at_end(self, worksheet: Worksheet) -> tuple[SheetExtent, int]:
        """Header, sheet id, and a row at the end or above it. 1 read; 2 for a large worksheet."""
        await self._fences.find_earlier(worksheet.id.spreadsheet)
        return await worksheet.look_for_append(SMALL_ROWS, SMALL_CELLS)

    async def _sent(self, worksheet: Worksheet, plan: Plan) -> Mapping[int, Outcome]:
        """Send what was planned; the outcomes of the writes that are settled."""
        fence = self._fences.new()
        if self._lock is not None:
            await self._lock.opening(worksheet.id, fence)
        writes, unnoted = await self._noted(worksheet.id, plan, fence)
        if not writes:
            return unnoted
        try:
            request = await self._scheduler.build(_request(worksheet.id, plan, writes))
            # From here on nothing is waited for but Google: a look grows old.
            request, looked_at = await self._fresh(worksheet, plan, writes, request)
        except BaseException:
            await self._settled(worksheet.id, writes, fence, is_applied=False)
            raise
        sent_at, sent_seconds = worksheet.moment(), worksheet.now()
        send_until = looked_at + plan.fresh_seconds
        batch = Batch(
            sheet_id=plan.sheet_id,
            fence=fence,
            changes=[change for change, _ in request.changes],
            encoded=request.encoded,
            ranges=request.ranges,
            send_until=send_until,
        )
        resend_until = self._clock() + send_until - sent_seconds
        try:
            view = await self._committed(worksheet.id, batch, writes, resend_until=resend_until)
        except UpstreamUnreachable as error:
            raise _NotSent(error) from error
        except UpstreamRefusal as refusal:
            refused = await self._refused(worksheet, plan, writes, request.changes, refusal)
            if len(refused) < len(writes):  # the others are sent by a new look
                worksheet.header.forget()
            return unnoted | refused
        except WriteTooLarge as too_large:
            if len(writes) > 1:
                raise
            return unnoted | {writes[0].index: too_large}
        except WriteOutcomeUnknown as unknown:
            self._leave_open(worksheet, plan, writes, fence)
            return unnoted | dict.fromkeys([each.index for each in writes], unknown)
        except (GatewayError, NeverApplied):
            raise
        except Exception:  # an error of the gateway: the batch may have been sent
            self._leave_open(worksheet, plan, writes, fence)
            raise
        if view is not None and (view.sheet_id, view.title) != (plan.sheet_id, worksheet.id.title):
            worksheet.forget()
            worksheet.header.forget()
            return unnoted | dict.fromkeys([each.index for each in writes], other_tab())
        sent = SentBatch(
            sheet_id=plan.sheet_id,
            header=plan.header,
            after_row=plan.after_row,
            is_end=plan.is_end,
            asked=request.asked,
            edges=request.edges,
            sent_at=sent_at,
            sent_seconds=sent_seconds,
        )
        outcomes = await self._read(worksheet, sent, writes, view)
        await self._completed({each.index: each.write for each in writes}, outcomes)
        return {**unnoted, **outcomes}

    async def _fresh(
        self, worksheet: Worksheet, plan: Plan, writes: Sequence[Planned], request: "_Request"
    ) -> tuple["_Request", float]:
        """A request whose look is fresh, and when the look was sent; LookOutdated if rows changed.

        Free if the look is fresh, else 1 read, 2 if the new look takes long, too. If both do,
        updates that only name a row are sent; all others raise _SlowLooks.
        """
        looked_at, around = plan.looked_at, AROUND if plan.around else 0
        for _ in range(MAX_SMALL_LOOKS):
            if worksheet.now() - looked_at <= plan.fresh_seconds:
                return request, looked_at
            look = await look_again(
                self._sheets,
                worksheet,
                self._scheduler,
                plan.header,
                plan.sheet_id,
                writes,
                around=around,
            )
            if look is None:
                raise LookOutdated
            looked_at = look.sent_at
            if around:
                plan = replace(plan, around=look.rows)
                shown = await self._scheduler.build(
                    _shown(worksheet.id, plan, writes, request.asked)
                )
                request = request._replace(edges=shown[0], ranges=shown[1])
        if worksheet.now() - looked_at > plan.fresh_seconds:
            if any(each.is_conditional or removed_rows(each) for each in writes):
                raise _SlowLooks
            looked_at = worksheet.now()
        return request, looked_at

    async def _completed(
        self, writes: Mapping[int, Write], outcomes: Mapping[int, Outcome]
    ) -> None:
        """Keep the results of the writes with an Idempotency-Key."""
        results = [
            (identity, outcome)
            for index, outcome in outcomes.items()
            for identity in [writes[index].identity]
            if identity is not None and not isinstance(outcome, Exception)
        ]
        if results:
            await self._ledger.completed(results)

    def _leave_open(
        self, worksheet: Worksheet, plan: Plan, writes: Sequence[Planned], fence: Fence
    ) -> None:
        """Take in that nobody knows whether a batch is applied, or still will be."""
        self._open_writes.note(worksheet.id, plan.sheet_id, writes, fence)
        if self._lock is not None:
            self._lock.left_open(worksheet.id, fence)
        worksheet.header.forget()
        worksheet.may_be_written()

    async def _noted(
        self, worksheet: WorksheetId, plan: Plan, fence: Fence
    ) -> tuple[Sequence[Planned], dict[int, Outcome]]:
        """Note the writes that change rows or have an Idempotency-Key; without it none is sent."""
        noted = [
            each for each in plan.writes if each.write.identity is not None or self._has_note(each)
        ]
        if not noted:
            return plan.writes, {}
        indexes = {each.index for each in noted}
        all_sendings = sendings_of(plan.writes, plan.after_row, is_end=plan.is_end)
        sendings = [
            sending
            for each, sending in zip(plan.writes, all_sendings, strict=True)
            if each.index in indexes
        ]
        if self._lock is not None:  # of other changes it has the fence
            sendings = [
                each if each.removed else each._replace(updated=(), is_exclusive=False)
                for each in sendings
            ]
        refused: dict[int, Outcome] = {}
        try:
            twins = await self._ledger.sending(worksheet, sendings, fence, plan.sheet_id)
        except (InternalError, RecordsUnavailable) as error:
            refused = {each.index: error for each in noted}
        else:
            refused = {each.index: in_progress() for each in noted if each.write.identity in twins}
        return [each for each in plan.writes if each.index not in refused], refused

    def _has_note(self, planned: Planned) -> bool:
        """True if a write changes rows. The lock of several processes has the fences of all but
        removals, which replays need."""
        is_change = bool(planned.changes) or planned.is_exclusive
        return bool(removed_rows(planned)) or (is_change and self._lock is None)

    async def _settled(
        self, worksheet: WorksheetId, writes: Sequence[Planned], fence: Fence, *, is_applied: bool
    ) -> None:
        """Note how a batch ended."""
        if any(map(self._has_note, writes)):
            await self._ledger.settled(worksheet, fence, is_applied=is_applied)

    async def _committed(
        self,
        worksheet: WorksheetId,
        batch: Batch,
        writes: Sequence[Planned],
        *,
        resend_until: float,
    ) -> SheetView | None:
        """Apply a batch, and note its outcome if that is known."""
        try:
            view = await self._fences.commit(
                worksheet.spreadsheet, batch, resend_until=resend_until
            )
        except (GatewayError, NeverApplied) as error:
            if not isinstance(error, WriteOutcomeUnknown):
                await self._settled(worksheet, writes, batch.fence, is_applied=False)
            raise
        await self._settled(worksheet, writes, batch.fence, is_applied=True)
        return view

    async def _refused(
        self,
        worksheet: Worksheet,
        plan: Plan,
        writes: Sequence[Planned],
        requests: Sequence[tuple[Change, Planned]],
        refusal: UpstreamRefusal,
    ) -> dict[int, Outcome]:
        """The outcomes of the writes for which Google refused a batch. 1 read."""
        change, culprit = requests[(refused_request(refusal) or 1) - 1]
        row = 1
        if isinstance(change, WrittenCells | EmptiedRow):
            row = change.row
        elif isinstance(change, RemovedRows):
            row = change.last_row
        error = await explain(self._sheets, worksheet.id, refusal, row=row)
        if plan.is_cached and isinstance(error, UpstreamRefusal | RowNotFound):
            raise _Outdated  # what was cached may be wrong
        if isinstance(error, RowNotFound) and culprit.write.kind == "search":
            raise _Outdated  # the write named no row: those that it found have moved
        if isinstance(error, SHEET_WIDE):
            return {each.index: error for each in writes}
        if isinstance(change, RemovedRows) and isinstance(error, UpstreamRefusal):
            error = row_not_removable()
        is_alike = isinstance(error, ProtectedCells) and isinstance(change, AppendedRows)
        refused = [each for each in writes if is_alike and each.columns == culprit.columns]
        return {each.index: error for each in refused or [culprit]}

    async def _never_applied(
        self, worksheet: Worksheet, cause: BaseException | None
    ) -> GatewayError:
        """The error of writes that Google failed to apply, or refused without naming one."""
        if isinstance(cause, UpstreamRefusal) and refused_request(cause) is None:
            try:
                return await explain(self._sheets, worksheet.id, cause)
            except GatewayError as failure:
                return failure
        error = UpstreamError(
            "Google failed, and nothing was written. Send it again.", outcome="not_applied"
        )
        error.__cause__ = cause
        return error

    async def _read(
        self,
        worksheet: Worksheet,
        sent: SentBatch,
        writes: Sequence[Planned],
        view: SheetView | None,
    ) -> dict[int, Outcome]:
        """The results of an applied batch, by its answer, or by a look if the answer is lost."""
        try:
            return await self._applied.results(worksheet, sent, writes, view)
        except GatewayError as error:
            worksheet.forget()
            worksheet.header.forget()
            # With its key a write can be asked for once more.
            later = self._fences.unknown(error) if error.retryable else number_unknown(error)
            return {
                each.index: number_unknown(error) if each.write.identity is None else later
                for each in writes
            }


class _Request(NamedTuple):
    """Changes of a batch, each with its write and as JSON, and the cells that its answer shows."""

    changes: Sequence[tuple[Change, Planned]]
    encoded: Sequence[msgspec.Raw]
    asked: Sequence[Asked]
    edges: Sequence[Edge]
    ranges: Sequence[str]


def _request(worksheet: WorksheetId, plan: Plan, writes: Sequence[Planned]) -> Work[_Request]:
    changes = yield from requests_of(writes, plan.emptied)
    encoded = yield from encoded_changes(plan.sheet_id, [change for change, _ in changes])
    asked = yield from asked_cells(writes)
    edges, ranges = yield from _shown(worksheet, plan, writes, asked)
    return _Request(changes, encoded, asked, edges, ranges)


def _shown(
    worksheet: WorksheetId, plan: Plan, writes: Sequence[Planned], asked: Sequence[Asked]
) -> Work[tuple[Sequence[Edge], Sequence[str]]]:
    """Edges of removed rows that the answer shows, and all its ranges."""
    edges = yield from edges_of(writes, plan.emptied, plan.around)
    has_new_rows = any(each.created for each in writes)
    ranges = yield from answer_ranges(
        worksheet, plan.after_row, asked, edges, has_new_rows=has_new_rows
    )
    return edges, ranges
