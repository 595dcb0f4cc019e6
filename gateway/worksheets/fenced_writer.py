"""Write groups of creates or updates, each as one batch with its fence.

Rules
- The order is: look, plan, record, send. An update is sent within a second of its look's answer, a
  create while the header is fresh.
- The answer of the batch shows the worksheet as of the write: position and displayed values of the
  rows, header and sheet id.
- Google names the request for which it refuses a batch. The write that it belongs to is refused,
  and the others are sent again.
- An update waits until an earlier open update of its row is settled, or can land no more: a late
  copy would overwrite it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    HeaderChanged,
    InternalError,
    ProtectedCells,
    QueueFull,
    RowNumberUnknown,
    UpstreamError,
    UpstreamRefusal,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Fence,
    Sheets,
    SheetView,
    WrittenCells,
    refused_request,
)
from gateway.table.header import Header
from gateway.worksheets.applied import AppliedReader, Parts, SentBatch, answer_ranges, moved
from gateway.worksheets.fences import Fences, NeverApplied
from gateway.worksheets.header_cache import SheetExtent
from gateway.worksheets.idempotency import (
    AppliedRows,
    Entry,
    Ledger,
    OpenWrite,
    Sending,
    no_fence,
)
from gateway.worksheets.planning import (
    FRESH_LOOK_SECONDS,
    NewRows,
    Planner,
    RowChange,
    look_at_rows,
    note_unchanged,
)
from gateway.worksheets.refusal import SHEET_WIDE, explain, explaining, undecided
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.write_queue import WriteTurns, no_turn
from gateway.worksheets.writes import Create, Outcome, Update, Write

MAX_EXTRA_WRITES = 4
"""Further batches of a group after refusals."""

MAX_FAILURES = 2
"""Batches of a group that are not applied because Google fails."""

SMALL_ROWS = 2_000
"""A grid of so many rows is small: if its last row is unknown, the answer shows all rows."""


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Writes that can be sent by one look, and the outcomes of the others by their index."""

    outcomes: Mapping[int, Outcome]
    parts: Sequence[NewRows] | Sequence[RowChange]
    header: Header
    sheet_id: int
    after_row: int = 0
    """Created rows come below it."""
    looked_at: float
    fresh_seconds: float
    """The batch is sent within this time after the look."""
    is_cached: bool = False
    """True if the look is an earlier one."""


class _Outdated(Exception):
    """The look is too old: look again."""


class _NotSent(Exception):
    """Google could not be reached, and nothing was sent."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__()
        self.error = error


MakePlan = Callable[[Worksheet, Mapping[int, Any]], Awaitable[_Plan]]


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
        open_writes: Iterable[OpenWrite] = (),
    ) -> None:
        self._sheets = sheets
        self._fences = fences
        self._ledger = ledger
        self._planner = planner
        self._applied = AppliedReader(sheets=sheets, planner=planner)
        self._header_ttl_seconds = header_ttl_seconds
        self._clock = clock
        self._write_turn = write_turn
        self._open_updates = [each for each in open_writes if each.updated_rows]

    async def create(self, worksheet: Worksheet, creates: Sequence[Create]) -> Sequence[Outcome]:
        """Append the rows of all creates. 1 write if header and sheet id are fresh.

        Otherwise 1 read + 1 write; 2 reads if the end of a large worksheet is unknown. A refused
        group costs at most 4 more writes, and 1 read each time to learn why.
        """
        return await self._carried_out(worksheet, creates, self._plan_creates)

    async def update(self, worksheet: Worksheet, updates: Sequence[Update]) -> Sequence[Outcome]:
        """Write the named cells of rows. 1 read + 1 write; 1 more read if one of them is blank.

        No write if every field is what its cell displays already: a string, or null for nothing.
        """
        blocked = await self._blocked_rows(worksheet.id, {update.row for update in updates})
        free = [update for update in updates if update.row not in blocked]
        outcomes = iter(await self._carried_out(worksheet, free, self._plan_updates))
        return [self._blocked() if update.row in blocked else next(outcomes) for update in updates]

    async def resume(self, worksheet: Worksheet, write: Write, entry: Entry) -> AppliedRows | None:
        """The rows of a write that was left open; None if it was not applied, and never will be.

        1 to 4 reads and at most 1 write. Raises `WriteOutcomeUnknown`. To be awaited in the write
        queue.
        """
        if entry.fence is None:
            raise no_fence()
        fence, spreadsheet = entry.fence, worksheet.id.spreadsheet
        was_applied = await self._fences.is_applied(spreadsheet, fence, entry.sent_at)
        self._open_updates = [each for each in self._open_updates if each.fence != fence]
        if not was_applied:
            return None
        worksheet.forget()
        worksheet.header.forget()
        try:
            async with explaining(self._sheets, worksheet.id):
                if isinstance(write, Update):
                    results = await self._applied.recorded_update(worksheet, write, entry)
                else:
                    results = await self._applied.recorded_create(worksheet, write, entry)
        except (RowNumberUnknown, HeaderChanged) as error:
            return AppliedRows(results=(), error=error)
        except GatewayError as error:
            if error.retryable:
                raise
            return AppliedRows(results=(), error=moved(error))
        return AppliedRows(results=results)

    async def _carried_out(
        self, worksheet: Worksheet, writes: Sequence[Write], make_plan: MakePlan
    ) -> Sequence[Outcome]:
        outcomes: dict[int, Outcome] = {}
        left: Mapping[int, Write] = dict(enumerate(writes))
        error: GatewayError = undecided()
        failures = 0
        for tries in range(1 + MAX_EXTRA_WRITES if writes else 0):
            try:
                # The quota comes first: nothing waits between a look and its write.
                with nullcontext() if tries == 0 else await self._write_turn():
                    plan = await make_plan(worksheet, left)
                    outcomes |= plan.outcomes
                    if plan.parts:
                        outcomes |= await self._sent(worksheet, plan)
            except NeverApplied as never:
                worksheet.header.forget()
                error = await self._never_applied(worksheet, never.__cause__)
                failures += 1
            except _Outdated:
                worksheet.header.forget()
            except _NotSent as not_sent:
                error = not_sent.error
                failures += 1
            except GatewayError as failure:
                outcomes |= dict.fromkeys(left.keys() - outcomes.keys(), failure)
            left = {index: write for index, write in left.items() if index not in outcomes}
            if not left or failures == MAX_FAILURES:
                break
        outcomes |= dict.fromkeys(left, error)
        return [outcomes[index] for index in range(len(writes))]

    async def _plan_creates(self, worksheet: Worksheet, creates: Mapping[int, Create]) -> _Plan:
        extent, sheet_id = worksheet.header.fresh(), worksheet.header.fresh_sheet()
        is_cached = extent is not None and sheet_id is not None
        if extent is None or sheet_id is None:
            extent, sheet_id = await self._look_at_end(worksheet)
        elif not self._planner.knows_fields(extent.header, creates):
            extent, sheet_id = await self._look_at_end(worksheet)
            is_cached = False
        parts, outcomes = self._planner.new_rows(creates, extent.header)
        return _Plan(
            outcomes=outcomes,
            parts=parts,
            header=extent.header,
            sheet_id=sheet_id,
            after_row=extent.last_row,
            looked_at=extent.header_as_of,
            fresh_seconds=max(self._header_ttl_seconds, FRESH_LOOK_SECONDS),
            is_cached=is_cached,
        )

    async def _plan_updates(self, worksheet: Worksheet, updates: Mapping[int, Update]) -> _Plan:
        await self._fences.find_earlier(worksheet.id.spreadsheet)
        look = await look_at_rows(
            self._sheets, worksheet, sorted({update.row for update in updates.values()})
        )
        for row in look.missing:
            worksheet.missed(row)
        parts, outcomes = self._planner.row_changes(updates, look)
        note_unchanged(worksheet, updates, outcomes, look)
        return _Plan(
            outcomes=outcomes,
            parts=parts,
            header=look.header,
            sheet_id=look.sheet_id,
            looked_at=look.answered_at,
            fresh_seconds=FRESH_LOOK_SECONDS,
        )

    async def _look_at_end(self, worksheet: Worksheet) -> tuple[SheetExtent, int]:
        """Header, sheet id, and a row at the end or above it. 1 read; 2 for a large worksheet."""
        await self._fences.find_earlier(worksheet.id.spreadsheet)
        return await worksheet.look_for_append(SMALL_ROWS)

    async def _sent(self, worksheet: Worksheet, plan: _Plan) -> Mapping[int, Outcome]:
        """Send what was planned; the outcomes of the writes that are settled."""
        fence = self._fences.new()
        parts, unnoted = await self._noted(plan, fence)
        age_seconds = worksheet.header.now() - plan.looked_at
        if not parts:
            return unnoted
        if age_seconds > plan.fresh_seconds and not plan.is_cached:
            raise _Outdated
        batch = Batch(
            sheet_id=plan.sheet_id,
            fence=fence,
            changes=[change for part in parts for change in _changes(part)],
            ranges=answer_ranges(worksheet.id, plan.after_row, parts),
        )
        resend_until = self._clock() + plan.fresh_seconds - age_seconds
        sent_seconds = worksheet.header.now()
        try:
            view = await self._fences.commit(
                worksheet.id.spreadsheet, batch, resend_until=resend_until
            )
        except UpstreamUnreachable as error:
            raise _NotSent(error) from error
        except UpstreamRefusal as refusal:
            refused = await self._refused(worksheet, plan, parts, refusal)
            if len(refused) < len(parts):  # the others are sent by a new look
                worksheet.header.forget()
            return unnoted | refused
        except WriteOutcomeUnknown as unknown:
            self._note_open(worksheet.id, parts, fence)
            worksheet.header.forget()
            worksheet.may_be_written()
            return unnoted | dict.fromkeys([part.index for part in parts], unknown)
        if view is not None and (view.sheet_id, view.title) != (plan.sheet_id, worksheet.id.title):
            worksheet.forget()
            worksheet.header.forget()
            return unnoted | dict.fromkeys([part.index for part in parts], _other_tab(worksheet.id))
        sent = SentBatch(header=plan.header, after_row=plan.after_row, sent_seconds=sent_seconds)
        outcomes = await self._read(worksheet, sent, parts, view)
        await self._ledger.completed(
            [
                (part.identity, outcome)
                for part in parts
                if part.identity is not None
                for outcome in [outcomes[part.index]]
                if not isinstance(outcome, Exception)
            ]
        )
        return {**unnoted, **outcomes}

    async def _noted(
        self, plan: _Plan, fence: Fence
    ) -> tuple[Sequence[NewRows] | Sequence[RowChange], dict[int, Outcome]]:
        """Record the writes with an Idempotency-Key; those that cannot be must not be sent."""
        sendings = [_sending(part, plan.after_row) for part in plan.parts]
        try:
            await self._ledger.sending(sendings, fence)
        except InternalError as error:
            unkeyed = [part for part in plan.parts if part.identity is None]
            keyed = [part for part in plan.parts if part.identity is not None]
            return unkeyed, {part.index: error for part in keyed}  # type: ignore[return-value]
        return plan.parts, {}

    async def _refused(
        self, worksheet: Worksheet, plan: _Plan, parts: Parts, refusal: UpstreamRefusal
    ) -> dict[int, Outcome]:
        """The outcomes of the writes for which Google refused a batch. 1 read."""
        owners = [part for part in parts for _ in _changes(part)]
        culprit = owners[(refused_request(refusal) or 1) - 1]
        row = culprit.row if isinstance(culprit, RowChange) else 1
        error = await explain(self._sheets, worksheet.id, refusal, row=row)
        if plan.is_cached and isinstance(error, UpstreamRefusal):
            raise _Outdated
        if isinstance(error, SHEET_WIDE):
            return {part.index: error for part in parts}
        is_alike = isinstance(error, ProtectedCells) and isinstance(culprit, NewRows)
        refused = [part for part in parts if is_alike and part.columns == culprit.columns]
        return {part.index: error for part in refused or [culprit]}

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
        parts: Parts,
        view: SheetView | None,
    ) -> dict[int, Outcome]:
        """The results of an applied batch, by its answer, or by a look if the answer is lost."""
        if view is None:
            worksheet.forget()
            worksheet.header.forget()
        new_rows = [part for part in parts if isinstance(part, NewRows)]
        changes = [part for part in parts if isinstance(part, RowChange)]
        try:
            if new_rows:
                return await self._applied.created(worksheet, sent, new_rows, view)
            return await self._applied.updated(worksheet, sent, changes, view)
        except GatewayError as error:
            worksheet.forget()
            # With its key a write can be asked for once more.
            later = self._fences.unknown(error) if error.retryable else moved(error)
            return {part.index: moved(error) if part.identity is None else later for part in parts}

    async def _blocked_rows(self, worksheet: WorksheetId, rows: set[int]) -> frozenset[int]:
        """The rows with an update that is still open. 1 to 2 reads and 1 write for each of them."""
        blocked: frozenset[int] = frozenset()
        late_from = self._clock() - UNKNOWN_RETRY_SECONDS
        self._open_updates = [each for each in self._open_updates if each.sent_at >= late_from]
        for each in self._open_updates:
            if each.worksheet != worksheet or not each.updated_rows & rows:
                continue
            if blocked:  # a search may take 15 s, and would fail like the one before
                blocked |= each.updated_rows
                continue
            try:
                await self._fences.is_applied(worksheet.spreadsheet, each.fence, each.sent_at)
            except WriteOutcomeUnknown:
                blocked |= each.updated_rows
            else:
                self._open_updates = [one for one in self._open_updates if one != each]
        return blocked

    def _blocked(self) -> GatewayError:
        return QueueFull(
            "The outcome of an earlier update of this row is not known yet.",
            outcome="not_applied",
            retry_after_seconds=self._fences.retry_seconds,
        )

    def _note_open(self, worksheet: WorksheetId, parts: Parts, fence: Fence) -> None:
        rows = frozenset(part.row for part in parts if isinstance(part, RowChange))
        if rows:
            now = self._clock()
            self._open_updates.append(
                OpenWrite(worksheet=worksheet, fence=fence, sent_at=now, updated_rows=rows)
            )


def _changes(part: NewRows | RowChange) -> Sequence[AppendedRows | WrittenCells]:
    """The requests of a write."""
    if isinstance(part, NewRows):
        return [AppendedRows(rows=part.rows)]
    return [WrittenCells(row=part.row, column=at, values=values) for at, values in part.runs]


def _sending(part: NewRows | RowChange, after_row: int) -> Sending:
    if isinstance(part, NewRows):
        return Sending(part.identity, after_row + 1, part.rows)
    return Sending(part.identity, part.row, [part.cells])


def _other_tab(worksheet: WorksheetId) -> UpstreamError:
    return UpstreamError(
        "The write was applied, but somebody renamed the worksheet at the same time: the rows are "
        "in the tab that had its name before. Look there, and do not send it again.",
        outcome="applied",
    )
