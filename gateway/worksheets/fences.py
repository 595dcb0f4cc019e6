"""Fences: developer metadata that proves that Google applied a write.

Rules
- A write and its fence are one batch, and Google applies a batch completely or not at all. So a
  fence with the write's token proves that the write was applied, even if people edited the rows
  afterwards. The content of rows proves nothing.
- Google refuses a metadata ID that is in use. The gateway tests this once per account before it
  relies on it: it creates two new fences, then sends a batch that deletes the second fence and
  creates the first one again. Google cannot refuse that batch for lack of space, because the
  deleted fence has the same length.
- If a batch gets no answer, the gateway sends the same batch again while its read of the sheet is
  fresh. If the first copy was applied, Google refuses the second copy. Later the gateway burns the
  fence: it creates a fence with the same ID and another token, after which Google refuses every
  copy of the write.
- If Google accepts two fences with the same ID, no batch is sent twice. The write counts as not
  applied if two searches do not find its fence: one 180 s after the last copy, and one 30 s later.
- Later batches delete a fence when Google can no longer apply any copy of its write. A fence stays
  while the stored record of its write is open.
- A token begins with the time at which its fence was made. The gateway sends no copy more than
  `SENT_WITHIN_SECONDS` after that time. So a fence of another process is certainly old after
  `OLD_SECONDS`: 185 s, the time until it is sent, and the difference of the clocks.
- Google limits the size of metadata. A batch without space for its fence deletes fences and is sent
  again. This batch deletes fences that are certainly old, which 1 read finds, or else the oldest
  fence whose only copy Google answered. Younger fences stay.
- The last `RESERVE` answered fences stay until the metadata is full. Each has the length of a new
  fence. So even if other programs fill the metadata, the test (2 fences) or a burnt fence (1) finds
  space.
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
"""End of the token of a burnt fence, whose ID makes Google refuse every copy of the write.

Other tokens end without a dot.
"""

LONGEST_CALL_SECONDS = 180.0
"""Maximum seconds in which Google processes one call."""

SEARCH_PAUSE_SECONDS = 30.0
"""Seconds between the two searches that prove that a fence does not exist.

Needed only if Google accepts two fences with the same ID.
"""

LIMIT_SECONDS = 15.0
"""Maximum seconds to find the outcome of one write, whose client already waited for Google."""

RETRY_SECONDS = 10
"""Seconds in `Retry-After` of a write with unknown outcome, after which it is usually known.

Longer if Google accepts two fences with the same ID (`UNKNOWN_RETRY_SECONDS`).
"""

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0

MAX_LEFT = 400
"""Maximum number of fences (metadata that proves writes) in a spreadsheet.

Above it, batches delete the oldest fences early if Google answered the only copy of their write.
"""

MAX_FORGOTTEN = 500
"""Maximum number of fences (metadata) that one batch deletes."""

SENT_WITHIN_SECONDS = 30.0
"""Maximum seconds from making a fence to sending the last copy of its batch."""

CLOCK_SECONDS = 120.0
"""Maximum difference in seconds between the clocks of processes that share a gateway's key."""

OLD_SECONDS = UNKNOWN_RETRY_SECONDS + SENT_WITHIN_SECONDS + CLOCK_SECONDS
"""Age in seconds at which another process's fence is old: Google can no longer apply its write."""

RESERVE = 2

FULL_SECONDS = 60.0
"""Seconds after a lack of metadata space, in which each batch also deletes an old fence."""

Sleep = Callable[[float], Awaitable[None]]


class NeverApplied(Exception):
    """The batch was not applied, and Google will never apply it."""


@dataclass(kw_only=True)
class _Open:
    """A batch that Google has not answered. `batch` is None if it must not be sent again."""

    fence: Fence
    sent_at: float
    batch: Batch | None = None
    resend_until: float = 0.0
    forgotten: Sequence[int] = ()
    """IDs of old fences that Google deletes together with the batch."""
    is_full: bool = False
    """True if Google's last refusal to create a fence was for lack of space."""


class _Left(NamedTuple):
    """A fence to delete later. `has_copies`: Google might still get a copy of the fence's write."""

    sent_at: float
    has_copies: bool


class Fences:
    """Fences (metadata that proves writes) of one gateway and account, in all spreadsheets.

    `key` is the metadata key of the gateway's fences. `clock` returns seconds since the epoch.
    `recorded` returns the IDs of fences whose records in the storage are open. These fences are not
    deleted, because a repeated request searches for them. `kept` takes fence IDs and returns the
    IDs that other processes still need.
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
        """Fences to delete later, by spreadsheet and fence ID."""
        self._searched: set[str] = set()
        """Spreadsheets in which `find_earlier` has found the fences of earlier processes."""
        self._full_until: dict[str, float] = {}
        """Time until which each batch deletes a fence, by spreadsheet whose metadata was full."""
        self._missed_at: dict[int, float] = {}
        """Time of the first search that did not find a fence, by fence ID.

        Needed only if Google accepts two fences with the same ID.
        """

    @property
    def retry_seconds(self) -> int:
        """Seconds after which a client should repeat a write with unknown outcome."""
        return UNKNOWN_RETRY_SECONDS if self._are_refused is False else RETRY_SECONDS

    def new(self) -> Fence:
        """Make a fence (metadata that proves one write) with a random ID and token."""
        return Fence.random(self._key, self._clock())

    async def find_earlier(self, spreadsheet: str) -> None:
        """Find the fences (metadata) of earlier processes, so that later batches can delete them.

        Costs 1 read per spreadsheet and start of the gateway. Does nothing while Google might still
        apply a write of an earlier process. If the read fails, the next call tries again.
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
        """Send a batch and find its outcome. Returns Google's answer, or None for a lost answer.

        In both cases Google applied the batch. `resend_seconds` is the time for which the batch's
        read of the sheet stays fresh.

        Costs 1 write. After a lost answer at most 2 reads and 2 writes more, and once per account 2
        writes more. While Google keeps failing, up to a dozen of each. If Google refuses to delete
        old fences, 1 write more. If the metadata is full, 1 read and 1 write more.

        Raises `UpstreamRefusal`, which names the refused request, or another error with
        `not_applied`, if Google did nothing. Raises `MetadataFull` if there is no space for the
        fence, and `WriteOutcomeUnknown` if the outcome stays unknown. Raises `NeverApplied` if a
        later search or a burnt fence proves that the batch was not applied, if another program uses
        the fence's ID, or if the fence is too old to be sent.
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
        """Send a batch that also deletes the fences `forgotten`. Returns the result of `commit`.

        Finds the outcome if Google sends no answer, and sends the batch again only before the Unix
        time `resend_until`. Raises `UpstreamRefusal` if Google refused a request of the batch.
        """
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
                resend_until = sent_at  # Google would refuse a copy, too
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
        """True if Google applied a write with unknown outcome, False if Google never will.

        After False the write can be sent again. `sent_at` is the latest Unix time at which a copy
        might have been sent. Costs 1 read if Google applied the write, else at most 2 reads and 1
        write. If the metadata is full, 2 reads and 1 write more. Raises `WriteOutcomeUnknown` if
        the outcome stays unknown.
        """
        try:
            await self._settle(spreadsheet, _Open(fence=fence, sent_at=sent_at), None)
        except NeverApplied:
            return False
        return True

    def unknown(self, cause: Exception | None = None) -> WriteOutcomeUnknown:
        """Make the error of a write with unknown outcome."""
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
        """Try to find the outcome of a batch, with pauses, for at most `LIMIT_SECONDS`.

        Raises `WriteOutcomeUnknown` after that time. `error` is the reason why the outcome is
        unknown.
        """
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
        """Try once to find the outcome of a batch.

        Returns None if the fence exists, or Google's answer after sending the batch again. Raises
        `NeverApplied`, or `_StillOpen` if the outcome is still unknown.
        """
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
        """Send a batch again, or burn its fence by creating another fence with the same ID.

        The other fence has another token. Raises `NeverApplied` after burning. If Google refuses
        the ID because the ID is in use, a copy of the batch was applied, and `_settled` searches
        again.
        """
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
        """Raise `_StillOpen` unless two searches have proved that Google did not create the fence.

        Needed only if Google accepts two fences with the same ID.
        """
        now = self._clock()
        if now - copy.sent_at >= LONGEST_CALL_SECONDS:
            missed_at = self._missed_at.setdefault(copy.fence.id, now)
            if now - missed_at >= SEARCH_PAUSE_SECONDS:
                return
        raise _StillOpen(None, is_final=True)

    async def _prove(self, spreadsheet: str, copy: _Open) -> None:
        """Test if Google refuses a second fence with a used ID. Costs 2 writes.

        Costs 1 read more if the metadata is full.
        """
        used, other = self.new(), self.new()
        forgotten = await self._spare(spreadsheet, copy, needed=2)
        with await self._write_turn(spreadsheet):  # the write itself may need the reserved quota
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
        """Delete the fences `forgotten`, then create `fences`, and set `copy.is_full`."""
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
        """Remember a fence (metadata of a write) that a later batch can delete.

        `has_copies`: Google might still get a copy of the write.
        """
        left = self._left.setdefault(spreadsheet, OrderedDict())
        left[fence.id] = _Left(self._clock(), has_copies)

    @contextmanager
    def _deleting(self, spreadsheet: str, forgotten: Sequence[int]) -> Iterator[None]:
        """Withhold fences from other batches while this batch deletes them.

        If the block fails, other batches can delete these fences, unless Google refused the
        deletion.
        """
        left = self._left.setdefault(spreadsheet, OrderedDict())
        deleted = {each: left.pop(each) for each in forgotten if each in left}
        try:
            yield
        except BaseException as error:
            if not _is_of_deletion(error):
                left.update(deleted)
            raise

    async def _find(self, spreadsheet: str) -> Sequence[Fence]:
        """Remember all fences of the gateway in a spreadsheet, from every process. Costs 1 read."""
        found = await self._sheets.find_fences(spreadsheet, self._key)
        left, now = self._left.setdefault(spreadsheet, OrderedDict()), self._clock()
        for each in found:
            left.setdefault(each.id, _Left(last_sent_at(each, now), has_copies=True))
        return found

    async def _room(
        self, spreadsheet: str, fence: Fence, refusal: UpstreamRefusal
    ) -> Sequence[int]:
        """Choose fences (metadata) to delete after Google refused to create a fence. Costs 1 read.

        Raises `NeverApplied` if the ID of the refused fence is already used.
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
        """Choose fences to delete before creating `needed` fences, if the last try lacked space.

        Costs 1 read after a lack of space, otherwise no read. Raises `_StillOpen` if no fence can
        be deleted.
        """
        if not copy.is_full:
            return []
        await self._find(spreadsheet)
        spare = await self._forgettable(spreadsheet, needed=needed)
        if not spare and not copy.forgotten:
            raise _StillOpen(self._no_room(spreadsheet), is_final=True)
        return [*dict.fromkeys([*copy.forgotten, *spare])][:MAX_FORGOTTEN]

    def _no_room(self, spreadsheet: str) -> MetadataFull:
        """Make the error of a write without space for its fence.

        `Retry-After` is the time until the oldest fence can be deleted.
        """
        kept = set(self._recorded())
        left = self._left.get(spreadsheet, OrderedDict())
        ages = [self._clock() - each.sent_at for name, each in left.items() if name not in kept]
        seconds = math.ceil(UNKNOWN_RETRY_SECONDS - max(ages, default=0.0))
        return MetadataFull(outcome="not_applied", retry_after_seconds=max(RETRY_SECONDS, seconds))

    async def _forgettable(self, spreadsheet: str, *, needed: int = 0) -> Sequence[int]:
        """Choose old fences to delete, of writes that Google can no longer apply.

        If fewer than `needed` fences are old, adds the oldest fences whose only copy Google
        answered.
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
    """Return the latest time up to `now` at which another process can have sent a fence's batch."""
    if fence.made_at is None:
        return now
    return min(now, fence.made_at + SENT_WITHIN_SECONDS + CLOCK_SECONDS)


class _StillOpen(Exception):
    """The outcome of a write is still unknown. `is_final`: another attempt would not help."""

    def __init__(self, error: GatewayError | None, *, is_final: bool) -> None:
        super().__init__()
        self.error = error
        self.is_final = is_final


def _is_of_deletion(error: BaseException) -> bool:
    """True if Google refused a batch because of the deletion of an old fence."""
    index = refused_request(error) if isinstance(error, UpstreamRefusal) else None
    return index is not None and index < FENCE_REQUEST


def _verifying() -> AbstractContextManager[None]:
    """Give the block's calls to Google priority over all other calls that wait for quota."""
    return in_call_context(replace(current_call_context(), is_verification=True))
