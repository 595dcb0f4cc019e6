"""Writer of groups of writes. Each group is one batch to Google, with a fence as its proof.

Rules
- The order is: read the rows, plan, store the writes, encode, send. The age of a read counts from
  its sending. An update is sent within one second after the read, a create while the cached header
  is fresh. After that time the rows of the plan are read again. If the rows have changed, the
  writes are planned again.
- A fence is metadata that a batch creates in the spreadsheet (`fences`).
- Google's answer to a batch shows the worksheet just after the write: row numbers, displayed
  values, header and sheet ID.
- When Google refuses a batch, it names the request. The write of this request fails, and the
  gateway sends the other writes again.
- Writes that are too large together are sent one by one. Only a write that is too large by itself
  fails.
- After a tab was renamed, both titles have a queue for a while. If a batch under the other title
  ended after the read for a write, the rows are read again.
- An update waits while an earlier update of its row is open, which means that its outcome is
  unknown. Otherwise a late copy of the earlier update could overwrite the row. So the gateway
  stores a batch that changes rows before it sends the batch.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    InternalError,
    LookOutdated,
    ProtectedCells,
    RecordsUnavailable,
    RowNotFound,
    RowNotRemovable,
    RowNumberUnknown,
    UpstreamError,
    UpstreamRefusal,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
    WriteTooLarge,
)
from gateway.google.sheets import (
    NO_TABLE,
    AppendedRows,
    CopiedCells,
    Detail,
    EmptiedRow,
    Fence,
    InsertedRows,
    Insertion,
    RemovedRows,
    WrittenCells,
    refused_request,
)
from gateway.table.column_types import SheetForms
from gateway.table.records import BLANK_ONLY, SheetEnd
from gateway.worksheets.applied import recorded_results, results_of
from gateway.worksheets.batch import (
    AROUND,
    Request,
    are_unchanged,
    emptied_rows,
    note_unchanged,
    of_one_target,
    request_of,
    rows_around,
    sendings_of,
    shown_around,
)
from gateway.worksheets.fences import Fences, NeverApplied
from gateway.worksheets.idempotency import (
    Answer,
    Entry,
    Ledger,
    in_progress,
    no_fence,
    number_unknown,
    rows_unsettled,
)
from gateway.worksheets.loader import end_in
from gateway.worksheets.looks import look_again, look_at_forms, look_at_rows
from gateway.worksheets.open_writes import OpenWrites
from gateway.worksheets.planning import FRESH_LOOK_SECONDS, Plan, Planned, Planner, needs_types
from gateway.worksheets.refusal import SHEET_WIDE, explain, explaining, other_tab, undecided
from gateway.worksheets.sharing import WriteLock
from gateway.worksheets.snapshot import DISPLAYED, TYPED, is_same
from gateway.worksheets.typed_writes import open_spans, with_stored_values
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.write_queue import WriteTurns
from gateway.worksheets.writes import Append, ByKey, ByNumber, Outcome, Write

MAX_EXTRA_WRITES = 4
"""Maximum number of further batches for a group of writes, after Google refused some writes."""

MAX_SMALL_LOOKS = 2
"""Maximum number of times that the rows of a plan are read again after a slow read."""

MAX_TABS = 1_000
"""Number of tabs above which old entries of `FencedWriter._tabs` are deleted."""

LONGEST_PLAN_SECONDS = 300.0
"""Maximum seconds from the first read for a plan until its batch is sent, including retries."""


class _Again(Enum):
    """Reasons to plan the writes of a group again."""

    OUTDATED = auto()
    """Google refused some writes, or the cached header or sheet ID might be wrong."""
    OLD_LOOK = auto()
    """The rows or the header changed after the gateway read them."""
    SLOW_LOOKS = auto()
    """Google answered reads so slowly that the rows might have changed before the write."""
    FAILED = auto()
    """Google did not apply the batch, for a temporary reason."""
    OTHER_TABLE = auto()
    """Google refused new rows for a native table, which people might have deleted or replaced."""
    APART = auto()
    """Google refused the new rows of several writes together, so the writes are sent one by one."""
    NOT_INSERTED = auto()
    """Google refused to insert rows above filled-down rows, so the rows are appended."""


MOST = {
    _Again.OUTDATED: MAX_EXTRA_WRITES + 1,
    _Again.OLD_LOOK: 3,
    _Again.SLOW_LOOKS: 1,
    _Again.FAILED: 2,
    _Again.OTHER_TABLE: 2,
    _Again.APART: 2,
    _Again.NOT_INSERTED: 2,
}
"""Number of times that a reason occurs until the remaining writes of the group fail."""


class _Sent(NamedTuple):
    """Result of a batch: outcomes by index of the write, and the reason to plan others again."""

    outcomes: dict[int, Outcome]
    again: _Again | None = None
    error: GatewayError | None = None
    """Error of the remaining writes if they cannot be planned again."""


@dataclass(kw_only=True, eq=False)
class FencedWriter:
    """Plans groups of writes, sends them to Google and finds their outcomes.

    `lock` is the write lock of several processes, or None for a single process.
    """

    fences: Fences
    ledger: Ledger
    planner: Planner
    open_writes: OpenWrites
    header_ttl_seconds: float
    write_turn: WriteTurns
    lock: WriteLock | None
    _tabs: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)
    """Monotonic time at which the last batch to a tab ended, by tab, then by title.

    A tab is a spreadsheet and a sheet ID. The time is infinity while a batch is being sent.
    """

    async def write(self, worksheet: Worksheet, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Carry out a group of writes of one kind. Returns an outcome for each write, in order.

        The caller must await it in the write queue of the worksheet. Costs in Google calls:

            creates                      1 write if header and sheet ID are fresh, else 1 read more
                                         (2 reads if the end of a large worksheet is unknown)
            updates, deletes by number   1 read, 1 write (2 reads if a row is blank)
            writes by filter             2 reads (1 for filters of row numbers), 1 write
            upserts                      1 read, 1 write

        Writes by filter and upserts cost 1 read more if the sheet ID is unknown. If several writes
        use the same rows or columns, each write costs as much as its own group. Further costs:

            Google refuses the group      at most 4 writes, each with 1 read for the reason
            the group is too large        1 read or 1 write more than its writes one by one
            a native table refuses rows   2 reads, 1 write
            unknown earlier outcomes      1 to 2 reads and 1 write for each on the same rows, and
                                          another read of the rows if the tab had another title
        """
        refusals: Sequence[GatewayError | None] = [None] * len(writes)
        is_single, earlier = self.lock is None, self.open_writes
        if earlier.open or not is_single:
            refusals = await earlier.refusals(worksheet, writes)
        outcomes: dict[int, Outcome] = {}
        left: dict[int, Write] = {}
        is_typed = False
        for index, (write, refusal) in enumerate(zip(writes, refusals, strict=True)):
            is_typed = is_typed or write.is_typed
            if refusal is None:
                left[index] = write
            else:
                outcomes[index] = refusal
        error: GatewayError | None = None
        met: Counter[_Again] = Counter()
        is_first, is_one_by_one = True, False
        while left:
            now = dict(islice(left.items(), 1)) if is_one_by_one else left
            sent = _Sent({})
            try:
                # Reserve the quota first, so that nothing waits between a read and its write.
                spreadsheet = worksheet.id.spreadsheet
                with nullcontext() if is_first else await self.write_turn(spreadsheet):
                    may_insert = not met[_Again.NOT_INSERTED]
                    plan = await self._plan(worksheet, now, may_insert=may_insert)
                    if is_typed and plan.writes:
                        plan = await self._with_stored_values(worksheet, plan)
                    if (is_single and earlier.open) and await earlier.settle_renamed(
                        worksheet, plan.sheet_id, [*now.values()]
                    ):
                        sent = _Sent({}, _Again.OUTDATED)
                    else:
                        outcomes |= plan.outcomes
                        if plan.outcomes:
                            # Store these results first: this batch may remove rows above them.
                            await self._completed(left, plan.outcomes)
                        if plan.writes:
                            sent = await self._send(worksheet, plan)
                            await self._completed(left, sent.outcomes)
            except LookOutdated as outdated:
                sent = _Sent({}, _Again.OLD_LOOK, outdated)
            except WriteTooLarge as too_large:
                if len(now) == 1:
                    outcomes |= dict.fromkeys(now, too_large)
                is_one_by_one = True  # a write that is not too large by itself still succeeds
            except GatewayError as failure:
                outcomes |= dict.fromkeys(left.keys() - outcomes.keys(), failure)
            is_first = False
            if sent.again is _Again.OTHER_TABLE and (is_one_by_one or met[sent.again]):
                if len(now) == 1:
                    sent = sent._replace(
                        outcomes=dict.fromkeys(now, sent.error or undecided()), again=None
                    )
                else:
                    sent = sent._replace(again=_Again.APART)
            outcomes |= sent.outcomes
            is_one_by_one = is_one_by_one or sent.again is _Again.APART
            for index in outcomes:
                left.pop(index, None)
            if sent.again is not None:
                met[sent.again] += 1
                error = sent.error or error
                if sent.again is not _Again.FAILED:
                    worksheet.header.forget()
            if left and any(isinstance(each, WriteOutcomeUnknown) for each in outcomes.values()):
                error = earlier.refusal()  # the remaining writes would have to wait
                break
            if sent.again is not None and met[sent.again] == MOST[sent.again]:
                break
        if left:
            outcomes |= dict.fromkeys(left, error or undecided())
        return [*map(outcomes.__getitem__, range(len(writes)))]

    async def resume(self, worksheet: Worksheet, write: Write, entry: Entry) -> Answer | None:
        """Return the answer of a write whose outcome was unknown, from its stored record `entry`.

        Returns None if Google did not apply the write and never will. The caller must await it in
        the write queue. Costs 1 to 4 reads and at most 1 write. If a later removal with unknown
        outcome might have moved the rows, also finds the outcome of the removal. This costs 1 read
        more, or at most 2 reads and 1 write more. Raises `WriteOutcomeUnknown` or `RowsUnsettled`
        while an outcome is unknown.
        """
        if entry.answer is None:
            if entry.fence is None:
                raise no_fence()
            if not await self.open_writes.settle(worksheet, entry.fence, entry.sent_at):
                return None
            worksheet.forget()
            worksheet.header.forget()
        removal = entry.open_removal
        if removal is not None:
            try:
                is_moved = await self.open_writes.settle(
                    worksheet, removal.fence, removal.sent_at, forgets=True
                )
            except WriteOutcomeUnknown as unknown:
                raise rows_unsettled(self.fences.retry_seconds) from unknown
            entry = replace(entry, is_moved=is_moved, open_removal=None)
        if entry.is_moved:
            return number_unknown()
        if entry.answer is not None:
            return entry.answer
        try:
            async with explaining(worksheet.sheets, worksheet.id, header_row=worksheet.header_row):
                results = await recorded_results(
                    worksheet, write, entry, ignore_unknown=self.planner.ignore_unknown
                )
        except (RowNumberUnknown, HeaderChanged) as error:
            return error
        except GatewayError as error:
            if error.retryable:
                raise
            return number_unknown(error)
        return results

    async def _plan(
        self, worksheet: Worksheet, writes: Mapping[int, Write], *, may_insert: bool
    ) -> Plan:
        """Read the data that the selectors of writes of one kind need, and plan the writes.

        For new rows reads header, end and sheet ID: no read if they are fresh and no rows are
        filled down, otherwise 1 read, or 2 to 3 for a large worksheet. For row numbers reads these
        rows. For a filter or a key reads all rows, and once more the end if new rows could be
        inserted above filled-down rows. `may_insert` is False after Google refused to insert them.
        """
        cache, first = worksheet.header, next(iter(writes.values()))
        removes, has_types, has_open_values = first.rows is None, False, False
        for each in writes.values():
            has_types = has_types or each.is_typed
            has_open_values = has_open_values or (each.is_typed and each.has_open_values)
        if isinstance(first.selector, Append):
            extent, sheet_id = cache.fresh(), cache.fresh_sheet()
            end: SheetEnd | None = None
            is_cached = extent is not None and sheet_id is not None
            if extent is None or sheet_id is None or worksheet.now() >= cache.unfilled_until:
                is_cached = False
                await self.fences.find_earlier(worksheet.id.spreadsheet)
                found = await worksheet.look_for_append()
                extent, sheet_id, end, *_ = found
            planned, outcomes = await self.planner.plan(worksheet, writes, extent.header)
            if is_cached and outcomes:
                refused = [writes[index] for index in outcomes]
                if self.planner.lacks_fields(extent.header, refused):
                    cache.forget()  # a newer header may have these fields
                    return await self._plan(worksheet, writes, may_insert=may_insert)
            native = NO_TABLE
            if cache.table.id:
                planned, native = of_one_target(planned, cache.table)
            plan = Plan(
                outcomes=outcomes,
                writes=planned,
                header=extent.header,
                sheet_id=sheet_id,
                after_row=extent.last_row,
                is_end=extent.is_end and extent.table_id == native.id,
                table=native,
                looked_at=extent.header_as_of,
                fresh_seconds=max(self.header_ttl_seconds, FRESH_LOOK_SECONDS),
                is_cached=is_cached,
            )
            return _above_filled(plan, end, extent.table_id, may_insert=may_insert)
        await self.fences.find_earlier(worksheet.id.spreadsheet)
        if isinstance(first.selector, ByNumber):
            rows = sorted({row for write in writes.values() for row in write.numbers})
            around = AROUND if removes else 0
            detail = Detail.VALUES if has_types else Detail.TEXTS
            if has_open_values:
                detail = Detail.FORMS
            look = await look_at_rows(worksheet, rows, around=around, detail=detail)
            for row in look.missing:
                worksheet.missed(row)
            planned, outcomes = await self.planner.plan(worksheet, writes, look)
            if not removes:
                note_unchanged(worksheet, planned, outcomes.values(), look)
            return Plan(
                outcomes=outcomes,
                writes=planned,
                header=look.header,
                sheet_id=look.sheet_id,
                emptied=emptied_rows(planned, look.frozen_rows, look.grid_rows)
                if removes
                else frozenset(),
                grid_rows=look.grid_rows,
                around={**look.rows, **look.around} if removes else {},
                looked_at=look.sent_at,
                cells=look.cells,
            )
        is_cached = cache.fresh_sheet() is not None  # then the frozen rows are cached, too
        part = TYPED if any(map(needs_types, writes.values())) else DISPLAYED
        has_forms = has_open_values or any(isinstance(w.selector, ByKey) for w in writes.values())
        sheet_id, snapshot = await worksheet.read_in_turn(part, has_forms=has_forms)
        table = snapshot.table
        planned, outcomes = await self.planner.plan(worksheet, writes, table)
        native = NO_TABLE
        if cache.table.id:
            planned, native = of_one_target(planned, cache.table)
        plan = Plan(
            outcomes=outcomes,
            writes=planned,
            header=table.header,
            sheet_id=sheet_id,
            after_row=max(end_in(table, native), table.header.row),
            table=native,
            emptied=emptied_rows(planned, cache.frozen_rows, snapshot.grid_rows),
            grid_rows=snapshot.grid_rows,
            around=await worksheet.scheduler.build(rows_around(table, planned)),
            looked_at=snapshot.began_seconds(part),
            is_cached=is_cached,
        )
        has_new = any(each.created for each in planned)
        is_below = native.id != cache.table.id  # new rows go below the native table
        shown_end = max(end_in(table, native, BLANK_ONLY), table.header.row)
        is_unfilled = worksheet.now() < cache.unfilled_until and shown_end == plan.after_row
        if is_below or not has_new or is_unfilled:
            return plan
        extent, own_id, end, *_ = await worksheet.look_for_append()
        is_same = (extent.header.cells, own_id) == (plan.header.cells, sheet_id)
        if not is_same or extent.last_row != plan.after_row:
            raise LookOutdated
        return _above_filled(plan, end, extent.table_id, may_insert=may_insert)

    async def _with_stored_values(self, worksheet: Worksheet, plan: Plan) -> Plan:
        """Replace values whose stored form depends on the column by numbers, booleans and formats.

        Costs no read if the plan has the changed rows and the formats of columns are fresh,
        otherwise 1 read. Raises LookOutdated if that read shows another header or tab.
        """
        spans, has_new = await worksheet.scheduler.build(open_spans(plan.writes))
        own, cache = plan.cells, worksheet.header
        unseen = {row: span for row, span in spans.items() if row not in own}
        forms = cache.fresh_forms(plan.header, since=plan.looked_at)
        if unseen or (forms is None and (has_new or spans)):
            seen = await look_at_forms(
                worksheet,
                unseen,
                header=plan.header,
                sheet_id=plan.sheet_id,
                last_row=plan.after_row,
            )
            own = {**own, **seen}
            forms = cache.fresh_forms(plan.header, since=plan.looked_at)
        writes: list[Planned] = []
        outcomes: dict[int, Outcome] = {**plan.outcomes}
        for each in plan.writes:
            try:
                work = with_stored_values(each, forms or SheetForms(), own, plan.header)
                writes.append(await worksheet.scheduler.build(work))
            except GatewayError as error:
                outcomes[each.index] = error
        return replace(plan, outcomes=outcomes, writes=writes)

    async def _send(self, worksheet: Worksheet, plan: Plan) -> _Sent:
        """Store the writes of a plan, send its batch, and read the results from Google's answer."""
        fence, cache, id_ = self.fences.new(), worksheet.header, worksheet.id
        if self.lock is not None:
            await self.lock.opening(id_, fence)
        writes, has_note, outcomes = await self._noted(worksheet, plan, fence)
        if not writes:
            return _Sent(outcomes)
        plan = replace(plan, writes=writes)
        try:
            forms = cache.fresh_forms(plan.header, since=plan.looked_at)
            request = await worksheet.scheduler.build(request_of(id_, plan, fence, forms))
            # From here on wait for Google only, because the rows that were read get older.
            request, looked_at = await self._fresh(worksheet, request)
            if len(self._tabs) > MAX_TABS:
                recent = worksheet.now() - max(self.header_ttl_seconds, LONGEST_PLAN_SECONDS)
                self._tabs = {
                    each: ends
                    for each, ends in self._tabs.items()
                    if max(ends.values(), default=0.0) > recent
                }
            tab = self._tabs.setdefault((id_.spreadsheet, plan.sheet_id), {})
            if looked_at is not None:
                # A read of some rows does not show other rows that match the filter or key now.
                seen_at = plan.looked_at if writes[0].write.kind == "search" else looked_at
                others = tab.keys() - {id_.title}
                if others and max(map(tab.__getitem__, others)) > seen_at:
                    raise LookOutdated
        except BaseException:
            if has_note:
                await self.ledger.settled(id_, fence, is_applied=False)
            raise
        if looked_at is None:
            if has_note:
                await self.ledger.settled(id_, fence, is_applied=False)
            return _Sent({}, _Again.SLOW_LOOKS, LookOutdated())
        sent_at, sent_seconds = worksheet.moment(), worksheet.now()
        send_until = looked_at + plan.fresh_seconds
        tab[id_.title] = math.inf
        try:
            view = await self.fences.commit(
                id_.spreadsheet,
                replace(request.batch, send_until=send_until),
                resend_seconds=send_until - sent_seconds,
            )
        except WriteOutcomeUnknown as unknown:
            self._leave_open(worksheet, plan, fence)
            return _Sent(outcomes | dict.fromkeys([each.index for each in writes], unknown))
        except (GatewayError, NeverApplied) as error:
            if has_note:
                await self.ledger.settled(id_, fence, is_applied=False)
            sent = await self._not_applied(worksheet, request, error)
            return sent._replace(outcomes=outcomes | sent.outcomes) if sent.outcomes else sent
        except Exception:  # a bug in the gateway: the batch may have been sent
            self._leave_open(worksheet, plan, fence)
            raise
        finally:
            tab[id_.title] = worksheet.now()
        if has_note:
            await self.ledger.settled(id_, fence, is_applied=True)
        if view is not None and (view.sheet_id, view.title) != (plan.sheet_id, id_.title):
            worksheet.forget()
            cache.forget()
            return _Sent(outcomes | dict.fromkeys([each.index for each in writes], other_tab()))
        try:
            results = await results_of(
                worksheet, request, view, sent_at=sent_at, sent_seconds=sent_seconds
            )
        except GatewayError as error:
            worksheet.forget()
            cache.forget()
            # A client can repeat a write that has an Idempotency-Key.
            later = self.fences.unknown(error) if error.retryable else number_unknown(error)
            results = {
                each.index: number_unknown(error) if each.write.identity is None else later
                for each in writes
            }
        return _Sent(outcomes | results)

    async def _noted(
        self, worksheet: Worksheet, plan: Plan, fence: Fence
    ) -> tuple[Sequence[Planned], bool, dict[int, Outcome]]:
        """Store the writes that change rows or have an Idempotency-Key, before they are sent.

        Returns the writes to send, True if any of these changes rows, and the errors of the other
        writes by index.
        """
        noted, id_ = sendings_of(plan, is_shared=self.lock is not None), worksheet.id
        if not noted:
            return plan.writes, False, {}
        refused: dict[int, Outcome] = {}
        try:
            twins = await self.ledger.sending(id_, [*noted.values()], fence, plan.sheet_id)
        except (InternalError, RecordsUnavailable) as error:
            refused = dict.fromkeys(noted, error)
        else:
            for index, each in noted.items() if twins else ():
                if each.identity in twins:
                    refused[index] = in_progress()
        writes = [each for each in plan.writes if each.index not in refused]
        left = [each for index, each in noted.items() if index not in refused]
        has_changes = any(each.updated or each.removed or each.is_exclusive for each in left)
        return writes, has_changes, refused

    async def _fresh(self, worksheet: Worksheet, request: Request) -> tuple[Request, float | None]:
        """Return the request with fresh rows, and the monotonic time at which they were read.

        Costs no read if the rows are still fresh, otherwise 1 read, or 2 if the first read takes
        too long. If both reads take too long, writes without a condition that remove no rows are
        sent nevertheless. For all other writes the time is None, and they must be planned again.
        Raises LookOutdated if the rows have changed.
        """
        plan, writes = request.plan, request.plan.writes
        looked_at, around = plan.looked_at, AROUND if plan.around else 0
        for _ in range(MAX_SMALL_LOOKS):
            if worksheet.now() - looked_at <= plan.fresh_seconds:
                return request, looked_at
            rows = sorted({*plan.beside, *(row for each in writes for row in each.rows)})
            has_values = any(each.typed and each.has_condition for each in writes)
            detail = Detail.VALUES if has_values else Detail.TEXTS
            look = await look_again(worksheet, rows, around=around, detail=detail)
            is_as_planned = (
                look is not None
                and (look.header.cells, look.sheet_id) == (plan.header.cells, plan.sheet_id)
                and await worksheet.scheduler.build(are_unchanged(writes, look))
                and all(is_same(texts, look.rows[row]) for row, texts in plan.beside.items())
            )
            if look is None or not is_as_planned:
                raise LookOutdated
            looked_at = look.sent_at
            if around:
                request = await worksheet.scheduler.build(
                    shown_around(worksheet.id, request, look.rows)
                )
        if worksheet.now() - looked_at <= plan.fresh_seconds:
            return request, looked_at
        if any(each.is_conditional or each.removed_rows for each in writes):
            return request, None
        return request, worksheet.now()

    async def _completed(
        self, writes: Mapping[int, Write], outcomes: Mapping[int, Outcome]
    ) -> None:
        """Store the results of applied writes that have an Idempotency-Key."""
        results = []
        for index, outcome in outcomes.items():
            identity = writes[index].identity
            if identity is not None and not isinstance(outcome, Exception):
                results.append((identity, outcome))
        if results:
            await self.ledger.completed(results)

    def _leave_open(self, worksheet: Worksheet, plan: Plan, fence: Fence) -> None:
        """Record a batch with unknown outcome, and mark the cached header and rows as outdated."""
        self.open_writes.note(worksheet.id, plan, fence)
        if self.lock is not None:
            self.lock.left_open(worksheet.id, fence)
        worksheet.header.forget()
        worksheet.note_possible_write()

    async def _not_applied(
        self, worksheet: Worksheet, request: Request, error: GatewayError | NeverApplied
    ) -> _Sent:
        """Return the result of a batch that Google did not apply and never will.

        Costs at most 1 read, which finds the reason of Google's refusal.
        """
        plan, writes = request.plan, request.plan.writes
        if isinstance(error, UpstreamUnreachable):
            return _Sent({}, _Again.FAILED, error)
        if isinstance(error, NeverApplied):
            worksheet.header.forget()
            cause = error.__cause__
            failure: GatewayError = UpstreamError(
                "Google failed, and nothing was written. Send the request again.",
                outcome="not_applied",
            )
            failure.__cause__ = cause
            if isinstance(cause, UpstreamRefusal) and refused_request(cause) is None:
                try:
                    failure = await worksheet.loader.explained(cause, plan.header.row)
                except GatewayError as unexplained:
                    failure = unexplained
            return _Sent({}, _Again.FAILED, failure)
        if isinstance(error, WriteTooLarge) and len(writes) == 1:
            return _Sent({writes[0].index: error})
        if not isinstance(error, UpstreamRefusal):
            raise error
        number = (refused_request(error) or 1) - 1
        change, culprit = request.batch.changes[number], request.owners[number]
        row, grid_rows = plan.header.row, 0
        if plan.filled is not None and isinstance(change, Insertion):
            row = plan.filled.row
        elif isinstance(change, WrittenCells | EmptiedRow):
            row = change.row
        elif isinstance(change, RemovedRows):
            row, grid_rows = change.last_row, plan.grid_rows
        reason = await explain(
            worksheet.sheets,
            worksheet.id,
            error,
            row=row,
            header_row=plan.header.row,
            sheet_id=plan.sheet_id,
            grid_rows=grid_rows,
        )
        if isinstance(reason, LookOutdated):
            return _Sent({}, _Again.OUTDATED, reason)
        if isinstance(change, AppendedRows) and change.table.id:
            if isinstance(reason, UpstreamRefusal):
                return _Sent({}, _Again.OTHER_TABLE, reason)
            creating = [each for each in writes if each.created]
            is_alike = (
                isinstance(reason, ProtectedCells) and len({each.columns for each in creating}) < 2
            )
            if len(creating) > 1 and not is_alike and not isinstance(reason, SHEET_WIDE):
                return _Sent({}, _Again.APART, reason)
        if plan.is_cached and isinstance(reason, UpstreamRefusal | RowNotFound):
            return _Sent({}, _Again.OUTDATED)  # the cached header or sheet ID may be wrong
        if isinstance(reason, RowNotFound) and culprit.write.kind == "search":
            return _Sent({}, _Again.OUTDATED)  # rows that matched the filter or key have moved
        if isinstance(change, Insertion) and isinstance(reason, RowNotFound):
            return _Sent({}, _Again.OUTDATED, LookOutdated())
        if isinstance(reason, SHEET_WIDE):
            return _Sent({each.index: reason for each in writes})
        if isinstance(reason, ProtectedCells) and isinstance(change, Insertion):
            return _Sent({}, _Again.NOT_INSERTED, reason)
        if isinstance(change, InsertedRows | CopiedCells):
            return _Sent({}, _Again.NOT_INSERTED, reason)
        if isinstance(change, RemovedRows) and isinstance(reason, UpstreamRefusal):
            reason = RowNotRemovable(outcome="not_applied")  # Google's message may quote cells
        is_alike = isinstance(reason, ProtectedCells) and isinstance(change, AppendedRows)
        refused = [each for each in writes if is_alike and each.columns == culprit.columns]
        outcomes: dict[int, Outcome] = {each.index: reason for each in refused or [culprit]}
        # The other writes are sent after a new read.
        return _Sent(outcomes, _Again.OUTDATED if len(outcomes) < len(writes) else None)


def _above_filled(plan: Plan, end: SheetEnd | None, table_id: str, *, may_insert: bool) -> Plan:
    """Set new rows of a plan to be inserted above filled-down rows, or else to be appended.

    `may_insert` is False after Google refused to insert rows there. `end` is the end of the native
    table `table_id`, and does not matter for new rows below that table.
    """
    if end is None or end.filled is None or plan.table.id != table_id:
        return plan
    if not may_insert:
        return replace(plan, is_end=False)
    return replace(
        plan, is_end=True, filled=end.filled, beside=end.beside, fresh_seconds=FRESH_LOOK_SECONDS
    )
