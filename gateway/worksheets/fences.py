"""Fences: metadata that every write leaves in its spreadsheet, as proof that it was applied.

Rules
- A write and its fence are one batch, which Google applies completely or not at all. So the fence
  with the write's token proves that the write was applied, also if people edited the rows since.
  Rows prove nothing.
- Google refuses a used id. The gateway proves this once per account before it relies on it: it
  creates two new fences, then one of them again, in a batch that deletes the other one first. A
  refusal of that batch is not for lack of room, because the deleted fence has the same length.
- A batch without an answer is sent again unchanged while its look is fresh: if the first copy is
  applied, Google refuses the second. Otherwise its fence is burnt: created with another token,
  after which the write can never be applied.
- If Google accepts used ids, no batch is sent again. A write counts as not applied if 180 s after
  its last copy two searches, 30 s apart, do not find its fence.
- Later batches delete fences once no copy of their write can be applied any more. While the record
  of a write is open, its fence stays.
- A fence's token begins with the time at which it was made, and no copy is sent later than
  `SENT_WITHIN_SECONDS` after it. So a fence of another process is provably old `OLD_SECONDS` after
  its time: 185 s, the time until it is sent, and the difference of the clocks.
- Metadata has a limit. A batch without room deletes fences and is tried again: provably old ones,
  found with one read, or else the oldest fence whose only copy was answered. Younger fences stay.
- The last `RESERVE` answered fences stay until metadata is full. Each has the length of a new
  fence, so even if others fill the metadata, a proof (2) or a burnt fence (1) takes their place.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    MetadataFull,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import (
    FENCE_REQUEST,
    Batch,
    Fence,
    Sheets,
    SheetView,
    current_call_context,
    in_call_context,
    refused_request,
    timed,
)
from gateway.telemetry.events import look_failed, used_ids_accepted
from gateway.worksheets.write_queue import WriteTurns, no_turn

BURNT = "burnt.."
"""End of the token of a burnt fence; the random part of other tokens has no dot."""

LONGEST_CALL_SECONDS = 180.0
"""Maximum time that Google works on a call."""

SEARCH_PAUSE_SECONDS = 30.0
"""Time between the two searches that prove a fence absent if Google accepts used ids."""

LIMIT_SECONDS = 15.0
"""Maximum time to settle one write, whose client has already waited for Google."""

RETRY_SECONDS = 10
"""`Retry-After` of an open write if Google refuses used ids; usually it is settled by then."""

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0

MAX_LEFT = 400
"""Maximum number of fences in a spreadsheet; above it, answered ones without copies go early."""

MAX_FORGOTTEN = 500
"""Maximum number of fences that one batch deletes."""

SENT_WITHIN_SECONDS = 30.0
"""Maximum time from making a fence to sending the last copy of its batch."""

CLOCK_SECONDS = 120.0
"""Maximum difference between the clocks of processes with the same key."""

OLD_SECONDS = UNKNOWN_RETRY_SECONDS + SENT_WITHIN_SECONDS + CLOCK_SECONDS
"""Age at which a fence of another process is provably old."""

RESERVE = 2

FULL_SECONDS = 60.0
"""Time after a refusal for lack of room in which each batch deletes a fence at once."""

Sleep = Callable[[float], Awaitable[None]]


class NeverApplied(Exception):
    """A batch with an open outcome was not applied, and never will be."""


@dataclass(kw_only=True)
class _Open:
    """A batch without an answer; `batch` is None if it must not be sent again."""

    fence: Fence
    sent_at: float
    batch: Batch | None = None
    resend_until: float = 0.0
    forgotten: Sequence[int] = ()
    """Old fences that the batch deletes, if it was applied."""
    is_full: bool = False
    """True if Google refused to create the last fence for it."""


class _Left(NamedTuple):
    """A fence of a finished write; `has_copies` if another copy of the write may still arrive."""

    sent_at: float
    has_copies: bool


class Fences:
    """The fences of one gateway and account, in all spreadsheets.

    `key` marks the gateway's own fences. `clock` returns seconds and runs while the machine sleeps.
    `recorded` returns the fences of open records, which retries search even if their outcome was
    known before. `kept` filters the fences that other processes need.
    """

    def __init__(
        self,
        sheets: Sheets,
        *,
        key: str,
        clock: Callable[[], float],
        sleep: Sleep = asyncio.sleep,
        write_turn: WriteTurns = no_turn,
        recorded: Callable[[], Collection[int]] = tuple,
        kept: Callable[[Collection[int]], Awaitable[Collection[int]]] | None = None,
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        self._sheets = sheets
        self._key = key
        self._clock = clock
        self._sleep = sleep
        self._write_turn = write_turn
        self._limit_seconds = limit_seconds
        self._began_at = clock()
        self._recorded = recorded
        self._kept = kept
        self._are_refused: bool | None = None
        self._left: dict[str, OrderedDict[int, _Left]] = {}
        """Fences to delete, by spreadsheet."""
        self._searched: set[str] = set()
        """Spreadsheets whose fences of earlier processes are known."""
        self._full_until: dict[str, float] = {}
        """End of `FULL_SECONDS` for spreadsheets whose metadata was full."""
        self._missed_at: dict[int, float] = {}
        """Time of the first search without a fence, by its id, if Google accepts used ids."""

    @property
    def retry_seconds(self) -> int:
        """Seconds after which an open write can be settled."""
        return UNKNOWN_RETRY_SECONDS if self._are_refused is False else RETRY_SECONDS

    def new(self) -> Fence:
        """Make a fence for a write, with a random id and token."""
        return Fence.random(self._key, self._clock())

    async def find_earlier(self, spreadsheet: str) -> None:
        """Find the fences of earlier processes, to delete them. 1 read per spreadsheet and start.

        No read while a copy of an earlier process may still be applied.
        """
        is_safe = self._clock() - self._began_at > UNKNOWN_RETRY_SECONDS
        if not is_safe or spreadsheet in self._searched:
            return
        self._searched.add(spreadsheet)
        try:
            await self._find(spreadsheet)
        except GatewayError as error:
            self._searched.discard(spreadsheet)
            look_failed(error)

    async def commit(
        self, spreadsheet: str, batch: Batch, *, resend_seconds: float
    ) -> SheetView | None:
        """Apply a batch; returns None if it was applied, but its answer is lost.

        1 write; after a lost answer at most 2 reads + 2 writes more, and once per account 2 writes.
        While Google keeps failing, up to a dozen of each. 1 write more if Google refuses to delete
        old fences. If metadata is full: 1 read + 1 write more. `resend_seconds` is the time for
        which the batch's look is still fresh.

        Raises `UpstreamRefusal`, which names the refused request, or another error with
        `not_applied` if Google did nothing; `MetadataFull` if there is no room for the fence;
        `NeverApplied` if that was proved later, if the id is used by others, or if the fence is too
        old to be sent; `WriteOutcomeUnknown` if the outcome is open.
        """
        now, made_at = self._clock(), batch.fence.made_at
        resend_until = now + resend_seconds
        if made_at is not None:
            last_at = made_at + SENT_WITHIN_SECONDS
            if now > last_at:
                raise NeverApplied
            resend_until = min(resend_until, last_at)
        is_full = now < self._full_until.get(spreadsheet, -math.inf)
        forgotten = await self._forgettable(spreadsheet, needed=1 if is_full else 0)
        try:
            return await self._commit(spreadsheet, batch, forgotten, resend_until=resend_until)
        except UpstreamRefusal as error:
            index = refused_request(error)
            if index is None or index > FENCE_REQUEST:
                raise
            refusal = error
        tried, forgotten = forgotten, ()
        if index == FENCE_REQUEST:
            forgotten = await self._room(spreadsheet, batch.fence, refusal)
            if not set(forgotten) - set(tried):
                raise self._no_room(spreadsheet) from refusal
        with await self._write_turn(spreadsheet):
            if self._clock() >= resend_until:
                raise NeverApplied from refusal
            try:
                return await self._commit(spreadsheet, batch, forgotten, resend_until=resend_until)
            except UpstreamRefusal as again:
                index = refused_request(again)
                if index is None or index > FENCE_REQUEST:
                    raise
                raise self._no_room(spreadsheet) from again

    async def _commit(
        self, spreadsheet: str, batch: Batch, forgotten: Sequence[int], *, resend_until: float
    ) -> SheetView | None:
        """Send a batch that deletes these fences. Raises `UpstreamRefusal` if that is final."""
        sent_at = self._clock()
        batch = replace(batch, forgotten=forgotten)
        with self._deleting(spreadsheet, forgotten) if forgotten else nullcontext():
            try:
                return await self._apply(spreadsheet, batch)
            except UpstreamRefusal as refusal:
                index = refused_request(refusal)
                if index is not None and index <= len(batch.changes):
                    raise
                error: GatewayError = refusal
                resend_until = sent_at  # it would be refused again
            except WriteOutcomeUnknown as unknown:
                error = unknown
            copy = _Open(
                fence=batch.fence,
                sent_at=sent_at,
                batch=batch,
                resend_until=resend_until,
                forgotten=forgotten,
            )
            try:
                return await self._settle(spreadsheet, copy, error)
            except NeverApplied as never:
                raise never from error

    async def is_applied(self, spreadsheet: str, fence: Fence, sent_at: float) -> bool:
        """True if an open write was applied; if not, it can be sent again.

        1 read if it was applied, else 2 reads + 1 write at most; 2 reads + 1 write more if metadata
        is full. `sent_at` is the latest time at which a copy may have been sent. Raises
        `WriteOutcomeUnknown`.
        """
        try:
            await self._settle(spreadsheet, _Open(fence=fence, sent_at=sent_at), None)
        except NeverApplied:
            return False
        return True

    def unknown(self, cause: Exception | None = None) -> WriteOutcomeUnknown:
        """The error of a write whose outcome is open."""
        error = WriteOutcomeUnknown(
            "It is not known whether Google applied this write, or will apply it. Repeat the "
            "request with its Idempotency-Key, or look at the worksheet before you send it "
            "again.",
            outcome="unknown",
            retry_after_seconds=self.retry_seconds,
        )
        error.__cause__ = cause
        return error

    async def _apply(
        self, spreadsheet: str, batch: Batch, *, has_copies: bool = False
    ) -> SheetView:
        try:
            view = await self._sheets.apply(spreadsheet, batch)
        except UpstreamRefusal as refusal:
            refusal.first_request = len(batch.forgotten)
            raise
        self._leave(spreadsheet, batch.fence, has_copies=has_copies)
        return view

    async def _settle(
        self, spreadsheet: str, copy: _Open, error: GatewayError | None
    ) -> SheetView | None:
        """Settle an open batch: search its fence, send the batch again, or burn the fence."""
        trouble: GatewayError | TimeoutError | None = error
        pause_seconds = FIRST_PAUSE_SECONDS
        try:
            async with asyncio.timeout(self._limit_seconds):
                with _verifying():
                    while True:
                        try:
                            return await self._settled(spreadsheet, copy)
                        except _StillOpen as still_open:
                            trouble = still_open.error
                            if still_open.is_final:
                                break
                        await self._sleep(pause_seconds)
                        pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)
        except TimeoutError as timeout:
            trouble = trouble or timeout
        if trouble is not None:
            look_failed(trouble)
        self._leave(spreadsheet, copy.fence)
        raise self.unknown(trouble)

    async def _settled(self, spreadsheet: str, copy: _Open) -> SheetView | None:
        """Try once to settle an open batch. Raises `_StillOpen`, or `NeverApplied`."""
        fence = copy.fence
        try:
            tokens = await self._sheets.fence_tokens(spreadsheet, fence.id)
            if fence.token in tokens:
                self._missed_at.pop(fence.id, None)
                self._leave(spreadsheet, fence)
                return None
            if self._are_refused is None:
                await self._prove(spreadsheet, copy)
            if not self._are_refused:
                self._check_age(copy)
            elif not tokens:
                return await self._resend_or_burn(spreadsheet, copy)
        except GatewayError as error:
            is_final = not error.retryable and not isinstance(
                error, UpstreamRefusal | WriteOutcomeUnknown
            )
            raise _StillOpen(error, is_final=is_final) from error
        self._missed_at.pop(fence.id, None)
        self._leave(spreadsheet, fence)
        raise NeverApplied

    async def _resend_or_burn(self, spreadsheet: str, copy: _Open) -> SheetView:
        """Send an open batch again, or burn its fence. After a used id, search again."""
        forgotten = await self._spare(spreadsheet, copy, needed=1)
        with await self._write_turn(spreadsheet):
            if copy.batch is not None and self._clock() < copy.resend_until:
                batch, copy.batch = copy.batch, None
                copy.sent_at = self._clock()
                return await self._apply(spreadsheet, batch, has_copies=True)
            burnt = replace(copy.fence, token=timed(self._clock(), BURNT))
            await self._create(spreadsheet, copy, [burnt], forgotten)
        self._leave(spreadsheet, copy.fence)
        raise NeverApplied

    def _check_age(self, copy: _Open) -> None:
        """Raise `_StillOpen` unless two searches proved the fence absent.

        Only used if Google accepts used ids.
        """
        now = self._clock()
        if now - copy.sent_at >= LONGEST_CALL_SECONDS:
            missed_at = self._missed_at.setdefault(copy.fence.id, now)
            if now - missed_at >= SEARCH_PAUSE_SECONDS:
                return
        raise _StillOpen(None, is_final=True)

    async def _prove(self, spreadsheet: str, copy: _Open) -> None:
        """Test if Google refuses used ids. 2 writes; 1 read more if metadata is full."""
        used, other = self.new(), self.new()
        forgotten = await self._spare(spreadsheet, copy, needed=2)
        with await self._write_turn(spreadsheet):  # a batch may need the present turn
            await self._create(spreadsheet, copy, [used, other], forgotten)
        with await self._write_turn(spreadsheet):
            try:
                await self._create(spreadsheet, copy, [used], [other.id])
            except UpstreamRefusal as refusal:
                if refused_request(refusal) != FENCE_REQUEST:
                    raise
                copy.is_full = False
                self._are_refused = True
                return
        self._are_refused = False
        used_ids_accepted()

    async def _create(
        self, spreadsheet: str, copy: _Open, fences: Sequence[Fence], forgotten: Sequence[int]
    ) -> None:
        """Delete the fences `forgotten`, then create fences; notes a refusal for lack of room."""
        copy.is_full = False
        left = self._left.setdefault(spreadsheet, OrderedDict())
        with self._deleting(spreadsheet, forgotten):
            for each in fences:
                left.setdefault(each.id, _Left(self._clock(), has_copies=True))
            try:
                await self._sheets.put_fence(spreadsheet, *fences, forgotten=forgotten)
            except UpstreamRefusal as refusal:
                refusal.first_request = len(forgotten)
                copy.is_full = not _is_of_deletion(refusal)
                raise
        for each in fences:
            self._leave(spreadsheet, each, has_copies=False)

    def _leave(self, spreadsheet: str, fence: Fence, *, has_copies: bool = True) -> None:
        """Note a fence that may be deleted later."""
        left = self._left.setdefault(spreadsheet, OrderedDict())
        left[fence.id] = _Left(self._clock(), has_copies)

    @contextmanager
    def _deleting(self, spreadsheet: str, forgotten: Sequence[int]) -> Iterator[None]:
        """Reserve fences for deletion by one batch; restored if the batch is not applied."""
        left = self._left.setdefault(spreadsheet, OrderedDict())
        deleted = {each: left.pop(each) for each in forgotten if each in left}
        try:
            yield
        except BaseException as error:
            if not _is_of_deletion(error):
                left.update(deleted)
            raise

    async def _find(self, spreadsheet: str) -> Sequence[Fence]:
        """Note all fences with the key, of this process and of others. 1 read."""
        found = await self._sheets.find_fences(spreadsheet, self._key)
        left, now = self._left.setdefault(spreadsheet, OrderedDict()), self._clock()
        for each in found:
            left.setdefault(each.id, _Left(last_sent_at(each, now), has_copies=True))
        return found

    async def _room(
        self, spreadsheet: str, fence: Fence, refusal: UpstreamRefusal
    ) -> Sequence[int]:
        """Choose fences to delete for a fence that Google refused. 1 read.

        Raises `NeverApplied` if the id of that fence is used.
        """
        self._full_until[spreadsheet] = self._clock() + FULL_SECONDS
        try:
            with _verifying():
                found = await self._find(spreadsheet)
        except GatewayError as error:
            look_failed(error)
            found = []
        if any(each.id == fence.id for each in found):
            raise NeverApplied from refusal
        return await self._forgettable(spreadsheet, needed=1)

    async def _spare(self, spreadsheet: str, copy: _Open, *, needed: int) -> Sequence[int]:
        """Choose fences to delete for a proof or a burnt fence, if there was no room. 1 read then.

        Raises `_StillOpen` if there are no such fences.
        """
        if not copy.is_full:
            return []
        await self._find(spreadsheet)
        spare = await self._forgettable(spreadsheet, needed=needed)
        if not spare and not copy.forgotten:
            raise _StillOpen(self._no_room(spreadsheet), is_final=True)
        return [*dict.fromkeys([*copy.forgotten, *spare])][:MAX_FORGOTTEN]

    def _no_room(self, spreadsheet: str) -> MetadataFull:
        """The error of a write without room for its fence, with the time until a fence is old."""
        kept = set(self._recorded())
        left = self._left.get(spreadsheet, OrderedDict())
        ages = [self._clock() - each.sent_at for name, each in left.items() if name not in kept]
        seconds = math.ceil(UNKNOWN_RETRY_SECONDS - max(ages, default=0.0))
        return MetadataFull(outcome="not_applied", retry_after_seconds=max(RETRY_SECONDS, seconds))

    async def _forgettable(self, spreadsheet: str, *, needed: int = 0) -> Sequence[int]:
        """Choose fences that no copy of a write needs any more.

        If fewer than `needed` are old, also the oldest ones whose only copy was answered.
        """
        left = self._left.get(spreadsheet)
        if not left:
            return []
        kept = set(self._recorded())
        answered = [each for each in left if not left[each].has_copies]
        reserve = set(answered[-RESERVE:])
        oldest = [each for each in left if each not in reserve]
        last_sent_at = self._clock() - UNKNOWN_RETRY_SECONDS
        too_many = len(oldest) - MAX_LEFT
        forgotten = [
            each
            for rank, each in enumerate(oldest)
            if each not in kept
            and (
                left[each].sent_at < last_sent_at or (rank < too_many and not left[each].has_copies)
            )
        ]
        if len(forgotten) < needed:
            spare = [each for each in answered if each not in kept and each not in forgotten]
            forgotten += spare[: needed - len(forgotten)]
        forgotten = forgotten[:MAX_FORGOTTEN]
        if self._kept is not None and forgotten:
            others = await self._kept(forgotten)
            forgotten = [each for each in forgotten if each not in others]
        return forgotten


def last_sent_at(fence: Fence, now: float) -> float:
    """Latest instant, at most `now`, at which another process may have sent a fence's batch."""
    if fence.made_at is None:
        return now
    return min(now, fence.made_at + SENT_WITHIN_SECONDS + CLOCK_SECONDS)


class _StillOpen(Exception):
    """An attempt did not settle a write; `is_final` if another one would not, either."""

    def __init__(self, error: GatewayError | None, *, is_final: bool) -> None:
        super().__init__()
        self.error = error
        self.is_final = is_final


def _is_of_deletion(error: BaseException) -> bool:
    """True if Google refused a batch for the deletion of an old fence."""
    index = refused_request(error) if isinstance(error, UpstreamRefusal) else None
    return index is not None and index < FENCE_REQUEST


def _verifying() -> AbstractContextManager[None]:
    """Give the calls of the block priority over all others that wait for the quota."""
    return in_call_context(replace(current_call_context(), is_verification=True))
