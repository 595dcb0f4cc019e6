"""Fences: metadata that every write leaves in its spreadsheet, as proof that it was applied.

Rules
- A write and its fence are one batch, which Google applies completely or not at all. So the fence
  with the write's token proves that the write was applied, whatever people did to the rows since.
  Rows prove nothing.
- Google refuses a used id. Before that is relied on, it is proved once per account: a fence that is
  there is created again, alone.
- A batch without an answer is sent again unchanged while its look is fresh: if the first copy lands
  later, Google refuses it. Otherwise its fence is burnt: created with another token, after which
  the write can never land.
- Where Google accepts used ids, nothing is sent again. A write counts as not applied if 180 s after
  its last copy two searches, 30 s apart, do not find its fence.
- Fences are deleted by later batches, once no copy of their write can land any more. While the
  record of a write is open, its fence stays.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import NamedTuple

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.call_context import current_call_context, in_call_context
from gateway.google.sheets import FENCE_REQUEST, Batch, Fence, Sheets, SheetView, refused_request
from gateway.telemetry.events import look_failed, used_ids_accepted
from gateway.worksheets.write_queue import WriteTurns, no_turn

BURNT = "burnt"
"""Token of a fence whose write can never land."""

LONGEST_CALL_SECONDS = 180.0
"""The longest time that Google works on a call."""

SEARCH_PAUSE_SECONDS = 30.0
"""Time between the two searches that prove a fence absent, where used ids are accepted."""

LIMIT_SECONDS = 15.0
"""The longest time for settling one write; its client has waited for Google already."""

RETRY_SECONDS = 10
"""After this time an open write is usually settled, where used ids are refused."""

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0

MAX_LEFT = 400
"""More fences than this do not stay in a spreadsheet: those of which one copy was sent, which was
answered, go early."""

MAX_FORGOTTEN = 500
"""Fences that one batch deletes."""

Sleep = Callable[[float], Awaitable[None]]


class NeverApplied(Exception):
    """A batch whose outcome was open was not applied, and never will be."""


@dataclass(kw_only=True)
class _Open:
    """A batch without an answer; `batch` is None if it must not be sent again."""

    fence: Fence
    sent_at: float
    batch: Batch | None = None
    resend_until: float = 0.0


class _Left(NamedTuple):
    """A fence of a finished write; `has_copies`: another copy of the write may still arrive."""

    sent_at: float
    has_copies: bool


class Fences:
    """The fences of one gateway and account, in all spreadsheets.

    `key` marks the gateway's own fences. `clock` gives seconds, also while the machine sleeps.
    `recorded` are the fences of the records that are open now: a retry looks for them, even if
    their outcome was known before. `kept` tells which of some fences other processes need.
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
        self._applied: dict[str, Fence] = {}
        """The last fence that is certainly in a spreadsheet."""
        self._left: dict[str, OrderedDict[int, _Left]] = {}
        """Fences to delete, by spreadsheet."""
        self._searched: set[str] = set()
        """Spreadsheets whose fences of earlier processes are known."""
        self._missed_at: dict[int, float] = {}
        """When a search first proved a fence absent, where used ids are accepted."""

    @property
    def retry_seconds(self) -> int:
        """After this time an open write can be settled."""
        return UNKNOWN_RETRY_SECONDS if self._are_refused is False else RETRY_SECONDS

    def new(self) -> Fence:
        """A fence for a write, with a random id and token."""
        return Fence.random(self._key)

    async def find_earlier(self, spreadsheet: str) -> None:
        """Find the fences of earlier processes, to delete them. 1 read per spreadsheet and start.

        Free while a copy of an earlier process may still land.
        """
        is_safe = self._clock() - self._began_at > UNKNOWN_RETRY_SECONDS
        if not is_safe or spreadsheet in self._searched:
            return
        self._searched.add(spreadsheet)
        try:
            found = await self._sheets.fence_ids(spreadsheet, self._key)
        except GatewayError as error:
            self._searched.discard(spreadsheet)
            look_failed(error)
            return
        left = self._left.setdefault(spreadsheet, OrderedDict())
        for fence_id in found:  # of this process too, and of others with its key
            left.setdefault(fence_id, _Left(self._clock(), has_copies=True))

    async def commit(
        self, spreadsheet: str, batch: Batch, *, resend_until: float
    ) -> SheetView | None:
        """Apply a batch. None: it was applied, but its answer is lost.

        1 write; after a lost answer at most 2 reads + 2 writes more, and once per account 1 or 2
        writes. While Google goes on failing, up to a dozen of each. 1 write more if Google refuses
        to delete old fences. `resend_until`: how long its look is fresh.

        Raises `UpstreamRefusal`, which names the refused request, or another error with
        `not_applied` if Google did nothing; `NeverApplied` if that was proved later, or if the id
        is used by others; `WriteOutcomeUnknown` if the outcome is open.
        """
        left = self._left.setdefault(spreadsheet, OrderedDict())
        forgettable = self._forgettable(spreadsheet)
        if self._kept is not None and forgettable:
            kept = await self._kept(forgettable)
            forgettable = [each for each in forgettable if each not in kept]
        forgotten = {fence_id: left.pop(fence_id) for fence_id in forgettable}
        tidying = replace(batch, forgotten=[*forgotten])
        try:
            return await self._commit(spreadsheet, tidying, resend_until=resend_until)
        except BaseException as error:
            if not _is_of_deletion(error):
                left.update(forgotten)
                raise
            refusal = error
        with await self._write_turn(spreadsheet):
            if self._clock() < resend_until:
                return await self._commit(spreadsheet, batch, resend_until=resend_until)
        raise NeverApplied from refusal

    async def _commit(
        self, spreadsheet: str, batch: Batch, *, resend_until: float
    ) -> SheetView | None:
        sent_at = self._clock()
        try:
            return await self._apply(spreadsheet, batch)
        except UpstreamRefusal as refusal:
            index = refused_request(refusal)
            if index == FENCE_REQUEST:
                raise NeverApplied from refusal
            if index is not None and index <= len(batch.changes):
                raise
            error: GatewayError = refusal
            resend_until = sent_at  # it would be refused again
        except WriteOutcomeUnknown as unknown:
            error = unknown
        copy = _Open(fence=batch.fence, sent_at=sent_at, batch=batch, resend_until=resend_until)
        try:
            return await self._settle(spreadsheet, copy, error)
        except NeverApplied as never:
            raise never from error

    async def is_applied(self, spreadsheet: str, fence: Fence, sent_at: float) -> bool:
        """Whether a write that was left open was applied; if not, it can be sent anew.

        1 read if it was applied, else 2 reads + 1 write at most. `sent_at` is when its last copy
        may have been sent. Raises `WriteOutcomeUnknown`.
        """
        try:
            await self._settle(spreadsheet, _Open(fence=fence, sent_at=sent_at), None)
        except NeverApplied:
            return False
        return True

    def unknown(self, cause: Exception | None = None) -> WriteOutcomeUnknown:
        """The error of a write whose outcome is open."""
        error = WriteOutcomeUnknown(
            "It is not known whether Google applied this write, or still will. Repeat the request "
            "with its Idempotency-Key, or look at the worksheet before you send it again.",
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
        self._applied[spreadsheet] = batch.fence
        return view

    async def _settle(
        self, spreadsheet: str, copy: _Open, error: GatewayError | None
    ) -> SheetView | None:
        """Find out whether an open batch was applied, or send it again, or burn its fence."""
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
        """One attempt. Raises `_StillOpen`, or `NeverApplied`."""
        fence = copy.fence
        try:
            tokens = await self._sheets.fence_tokens(spreadsheet, fence.id)
            if fence.token in tokens:
                self._missed_at.pop(fence.id, None)
                self._leave(spreadsheet, fence)
                return None
            if self._are_refused is None:
                await self._prove(spreadsheet)
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
        """Send an open batch once more, or burn its fence. A used id means: search again."""
        with await self._write_turn(spreadsheet):
            if copy.batch is not None and self._clock() < copy.resend_until:
                batch, copy.batch = copy.batch, None
                copy.sent_at = self._clock()
                return await self._apply(spreadsheet, batch, has_copies=True)
            await self._sheets.put_fence(spreadsheet, replace(copy.fence, token=BURNT))
        self._leave(spreadsheet, copy.fence)
        raise NeverApplied

    def _check_age(self, copy: _Open) -> None:
        """Where used ids are accepted: raise `_StillOpen` unless the fence is proved absent."""
        now = self._clock()
        if now - copy.sent_at >= LONGEST_CALL_SECONDS:
            missed_at = self._missed_at.setdefault(copy.fence.id, now)
            if now - missed_at >= SEARCH_PAUSE_SECONDS:
                return
        raise _StillOpen(None, is_final=True)

    async def _prove(self, spreadsheet: str) -> None:
        """Find out whether Google refuses used ids. 1 write; 2 if no fence is there."""
        fence, attempts = self._applied.get(spreadsheet), 2  # somebody may have deleted it
        if fence is None:
            fence, attempts = self.new(), 1
            await self._put(spreadsheet, fence)  # refused, it proves nothing
            self._applied[spreadsheet] = fence
        self._leave(spreadsheet, fence)
        for _ in range(attempts):
            try:
                await self._put(spreadsheet, fence)
            except UpstreamRefusal as refusal:
                if refused_request(refusal) != FENCE_REQUEST:
                    raise
                self._are_refused = True
                return
            self._applied[spreadsheet] = fence
        self._are_refused = False
        used_ids_accepted()

    async def _put(self, spreadsheet: str, fence: Fence) -> None:
        """Create a fence alone, in a turn of its own: a batch may need the present one."""
        with await self._write_turn(spreadsheet):
            await self._sheets.put_fence(spreadsheet, fence)

    def _leave(self, spreadsheet: str, fence: Fence, *, has_copies: bool = True) -> None:
        """Note a fence that may be deleted later."""
        left = self._left.setdefault(spreadsheet, OrderedDict())
        left[fence.id] = _Left(self._clock(), has_copies)

    def _forgettable(self, spreadsheet: str) -> Sequence[int]:
        """The fences that no copy of a write needs any more."""
        left = self._left.get(spreadsheet, OrderedDict())
        applied = self._applied.get(spreadsheet)
        oldest = [each for each in left if applied is None or each != applied.id]
        kept = set(self._recorded())
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
        return forgotten[:MAX_FORGOTTEN]


class _StillOpen(Exception):
    """One attempt did not settle a write; `is_final`: another one would not either."""

    def __init__(self, error: GatewayError | None, *, is_final: bool) -> None:
        super().__init__()
        self.error = error
        self.is_final = is_final


def _is_of_deletion(error: BaseException) -> bool:
    """True if Google refused a batch for the deletion of an old fence."""
    index = refused_request(error) if isinstance(error, UpstreamRefusal) else None
    return index is not None and index < FENCE_REQUEST


def _verifying() -> AbstractContextManager[None]:
    """The calls go before all others that wait for the quota."""
    return in_call_context(replace(current_call_context(), is_verification=True))
