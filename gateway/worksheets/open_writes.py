"""Open writes: Google has not confirmed them, so they can still change or move rows.

Rules
- An update or delete of a row waits for open updates of that row.
- All writes wait for an open removal of rows, and for an open upsert that adds rows.
- No write waits for an open create.
- A repeated idempotent request waits for an open removal that might have moved its rows.
- A write is open from a lost response until its fence is found or can no longer appear. A fence is
  metadata that a batch leaves in its spreadsheet (`fences`).
- The sheet id in a plan identifies a renamed worksheet tab.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.errors import UNKNOWN_RETRY_SECONDS, GatewayError, QueueFull, WriteOutcomeUnknown
from gateway.google.sheets import Fence
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.fences import Fences
from gateway.worksheets.idempotency import Ledger, OpenWrite, in_progress
from gateway.worksheets.planning import Plan
from gateway.worksheets.sharing import WriteLock
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.writes import Write

MAX_SETTLED = 5
"""Maximum number of open batches that one group looks up. With more batches, the group waits."""


@dataclass(kw_only=True, eq=False)
class OpenWrites:
    """Writes whose outcome is unknown, sent by this process or by an earlier process.

    `clock` must be the clock of `fences`. `lock` stores the open fences of other processes, and is
    None for a single process.
    """

    fences: Fences
    ledger: Ledger
    clock: Callable[[], float]
    lock: WriteLock | None
    open: list[OpenWrite]
    """Writes with unknown outcome that this process knows. Other processes can have more."""

    async def refusals(
        self, worksheet: Worksheet, writes: Sequence[Write]
    ) -> Sequence[GatewayError | None]:
        """Return for each write None if the write can start, else its error.

        A write must wait for open writes, and for a write with its Idempotency-Key in another
        process.

        Costs at most 2 reads and 1 write for each of at most `MAX_SETTLED` open writes. An open
        update is dropped after 185 s, because Google cannot apply it later. An open removal stays
        until its outcome is known, because answers to earlier writes depend on it.
        """
        lock, still_open = self.lock, list[OpenWrite]()
        must_all_wait = lock is not None and not await self._settled_earlier(worksheet, lock)
        if not must_all_wait:
            late_from = self.clock() - UNKNOWN_RETRY_SECONDS
            for each in [*self.open]:
                if each.sent_at < late_from and not (each.is_exclusive or each.is_removal):
                    self.open.remove(each)
                    await self.ledger.settled(each.worksheet, each.fence, is_applied=False)
            still_open = await self._still_open(
                worksheet,
                [
                    each
                    for each in self.open
                    if each.worksheet == worksheet.id
                    and any(_collides(write, each) for write in writes)
                ],
            )
        keyed = [each.identity for each in writes if each.identity is not None]
        twins = await self.ledger.twins(keyed) if lock is not None and keyed else ()
        return [
            in_progress()
            if write.identity in twins
            else self.refusal()
            if must_all_wait or any(_collides(write, each) for each in still_open)
            else None
            for write in writes
        ]

    async def settle_renamed(
        self, worksheet: Worksheet, sheet_id: int, writes: Sequence[Write]
    ) -> bool:
        """Look up the outcomes of open writes that used an earlier title of this worksheet tab.

        Returns True if such a write exists, so that the rows must be read again. Raises QueueFull
        if an outcome stays unknown. Costs nothing if no write collides, else the same as
        `refusals`. Only for a single process, because several processes know open writes by title
        only.
        """
        here = worksheet.id
        in_the_way = [
            each
            for each in self.open
            if each.sheet_id == sheet_id
            and each.worksheet.spreadsheet == here.spreadsheet
            and each.worksheet != here
            and any(_collides(write, each) for write in writes)
        ]
        if await self._still_open(worksheet, in_the_way):
            raise self.refusal()
        return bool(in_the_way)

    async def _still_open(
        self, worksheet: Worksheet, batches: Sequence[OpenWrite]
    ) -> list[OpenWrite]:
        """Look up the outcomes of batches, and return the batches whose outcome stays unknown."""
        still_open: list[OpenWrite] = []
        settled = 0
        for each in batches:
            if each not in self.open:  # known since an earlier loop
                continue
            # A search can take 15 s, and would fail like the previous one.
            if still_open or settled == MAX_SETTLED:
                still_open.append(each)
                continue
            try:
                await self.settle(worksheet, each.fence, each.sent_at)
            except WriteOutcomeUnknown:
                still_open.append(each)
            else:
                settled += 1
        return still_open

    async def settle(
        self, worksheet: Worksheet, fence: Fence, sent_at: float, *, forgets: bool = False
    ) -> bool:
        """Look up the outcome of an open write. Returns True if Google applied it.

        `sent_at` is the latest Unix time at which it was sent. Raises WriteOutcomeUnknown if the
        outcome cannot be found. Drops the cached rows and header if `forgets`, or if the write adds
        or removes rows.
        """
        is_applied = await self.fences.is_applied(worksheet.id.spreadsheet, fence, sent_at)
        if self.lock is not None:
            self.lock.settled(worksheet.id, fence)
        settled = [each for each in self.open if each.fence == fence]
        self.open = [each for each in self.open if each.fence != fence]
        await self.ledger.settled(worksheet.id, fence, is_applied=is_applied)
        if forgets or any(each.is_exclusive for each in settled):
            worksheet.forget()
            worksheet.header.forget()
        return is_applied

    async def _settled_earlier(self, worksheet: Worksheet, lock: WriteLock) -> bool:
        """Look up the outcome of the last lock holder's batch. Returns False if it stays open."""
        earlier = lock.earlier(worksheet.id)
        open_fence = earlier and earlier.fence
        self.open = [  # other processes settled the others
            each for each in self.open if each.worksheet != worksheet.id or each.fence == open_fence
        ]
        if earlier is None:
            return True
        try:
            await self.settle(worksheet, *earlier, forgets=True)
        except WriteOutcomeUnknown:
            return False
        return True

    def note(self, worksheet: WorksheetId, plan: Plan, fence: Fence) -> None:
        """Remember the writes of a plan whose outcome is unknown."""
        rows = frozenset(change.row for each in plan.writes for change in each.changes)
        is_exclusive = any(each.is_exclusive for each in plan.writes)
        is_removal = any(each.removed_rows for each in plan.writes)
        if rows or is_exclusive:
            self.open.append(
                OpenWrite(
                    worksheet=worksheet,
                    fence=fence,
                    sent_at=self.clock(),
                    updated_rows=rows,
                    is_exclusive=is_exclusive,
                    is_removal=is_removal,
                    sheet_id=plan.sheet_id,
                )
            )

    def refusal(self) -> GatewayError:
        """Return the error for a write that must wait for another write."""
        return QueueFull(
            "The outcome of an earlier write is not known yet, and that write can still change or "
            "move this row. Send the request again after Retry-After.",
            outcome="not_applied",
            retry_after_seconds=self.fences.retry_seconds,
        )


def _collides(write: Write, earlier: OpenWrite) -> bool:
    """True if the open write could still change or move the rows of this write."""
    if earlier.is_exclusive or write.kind == "search" or write.rows is None:
        return True
    return not earlier.updated_rows.isdisjoint(write.numbers)
