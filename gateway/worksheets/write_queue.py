"""Write queue of a worksheet: one group of writes at a time is at Google.

Rules: two appends to one worksheet never overlap, since Google loses rows then. A line is bounded
(`gateway.worksheets.queue_limits`), and so is the time in it. A write that has begun is finished
whatever becomes of its client. Google's quota comes first: a group is formed when a write may be
sent, so that nothing waits between its look and its write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    QuotaSpent,
    ShuttingDown,
    WriteOutcomeUnknown,
)
from gateway.google.call_context import (
    Beneficiaries,
    CallContext,
    current_call_context,
    in_call_context,
)
from gateway.settings.model import WriteSettings
from gateway.telemetry.events import current_event, request_failed
from gateway.worksheets.group import ExclusiveTask, Waiting
from gateway.worksheets.queue_limits import BoundedQueue, memory_room, too_busy
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Outcome, Results, Write

Perform = Callable[[Sequence[Write]], Awaitable[Sequence[Outcome]]]
"""Carries out a group of writes of one kind, Google calls and all; how each of them ended."""

WriteTurns = Callable[[str], Awaitable[AbstractContextManager[None]]]
"""Waits until a write may be sent; the first write in the block is it. Raises QuotaSpent."""

Held = Callable[[], AbstractAsyncContextManager[None]]
"""Holds the lock for writes of all processes; raises GatewayError before the block only."""

T = TypeVar("T")

CLOSING_SECONDS = 4.0
"""How long writes still in line may take when the gateway closes; their requests had longer."""


@dataclass(kw_only=True, eq=False)
class _InLine(Waiting):
    """A write in line; a group runs in the context of the request that brought its first.

    Its calls to Google wait for the earliest turn of all its keys.
    """

    answer: asyncio.Future[Results]
    context: Context = field(default_factory=copy_context)


class WriteQueues:
    """What the write queues of all worksheets share: limits, memory, and their end."""

    def __init__(
        self,
        settings: WriteSettings,
        *,
        write_turn: "WriteTurns | None" = None,
        closing_seconds: float = CLOSING_SECONDS,
    ) -> None:
        self.settings = settings
        self.write_turn = write_turn or no_turn
        self.memory = memory_room(settings.max_waiting_bytes)
        self.is_closing = False
        self._closing_seconds = closing_seconds
        self._at_work: dict[asyncio.Task[None], WriteQueue] = {}

    def begin(self, queue: "WriteQueue", work: Coroutine[Any, Any, None]) -> None:
        """Have a queue that was empty drained; not in the context of the request that came."""
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._at_work[task] = queue
        task.add_done_callback(self._at_work.pop)

    async def aclose(self) -> None:
        """Take no more writes; those that wait are carried out, as far as there is time."""
        self.is_closing = True
        if self._at_work:
            await asyncio.wait([*self._at_work], timeout=self._closing_seconds)
        for queue in self._at_work.values():
            queue.refuse_all()


class WriteQueue:
    def __init__(
        self,
        worksheet: WorksheetId,
        perform: Perform,
        queues: WriteQueues,
        held: Held = nullcontext,
    ) -> None:
        self._id = worksheet
        self._perform = perform
        self._queues = queues
        self._held = held
        self._line: BoundedQueue[_InLine] = BoundedQueue(queues.settings, queues.memory)
        self._turn_keys: Beneficiaries | None = None
        """The keys whose writes wait for a turn, while one is waited for."""
        self._is_drained = False
        """Whether a task carries out what comes."""

    @property
    def is_idle(self) -> bool:
        return not self._is_drained

    async def write(self, write: Write) -> Results:
        """Wait in line, then have the write carried out; its own errors come out here."""
        return await self._carried_out(write, write.access.key_id)

    async def alone(self, work: Callable[[], Awaitable[T]], *, key_id: str = "") -> T:
        """Wait in line, then do something while no write to the worksheet is under way.

        As a write it is finished once it has begun; its own errors come out here.
        """
        made: list[T] = []

        async def perform() -> Results:
            made.append(await work())
            return ()

        await self._carried_out(ExclusiveTask(work=perform), key_id)
        return made[0]

    def refuse_all(self) -> None:
        """Refuse what waits: the gateway shuts down."""
        while self._line:
            for waiting in self._line.take_group():
                _refuse(waiting, _shutting_down())

    async def _carried_out(self, write: Write | ExclusiveTask, key_id: str) -> Results:
        if self._queues.is_closing:
            raise _shutting_down()
        waiting = self._join(write, key_id)
        try:
            return await asyncio.shield(waiting.answer)
        except asyncio.CancelledError:
            # The server cancels requests at the end of its time to stop. A waiting write is
            # withdrawn; one that has begun goes on.
            if waiting.answer.done():
                return waiting.answer.result()
            raise self._withdrawn(waiting) from None

    def _withdrawn(self, waiting: _InLine) -> GatewayError:
        """Take a write out of the line, if it still is there; the error that says which."""
        if not self._line.leave(waiting):
            return WriteOutcomeUnknown(
                "The gateway stops, and Google has not answered this write yet. Look before you "
                "send it again.",
                outcome="unknown",
                retry_after_seconds=UNKNOWN_RETRY_SECONDS,
            )
        _refuse(waiting, _shutting_down())
        return _shutting_down()

    def _join(self, write: Write | ExclusiveTask, key_id: str) -> _InLine:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Results] = loop.create_future()
        waiting = _InLine(worksheet=self._id, key_id=key_id, write=write, answer=answer)
        self._line.join(waiting)
        if self._turn_keys is not None:
            self._turn_keys.join(key_id)
        if not self._is_drained:
            self._is_drained = True
            self._queues.begin(self, self._drain())
        seconds = self._queues.settings.max_waiting_seconds
        timer = loop.call_later(seconds, _give_up, self._line, waiting)
        answer.add_done_callback(lambda _: timer.cancel())
        return waiting

    async def _drain(self) -> None:
        try:
            while self._line:
                group: Sequence[_InLine] = ()
                outcomes: Sequence[Outcome] = ()
                try:
                    async with self._held():
                        group, outcomes = await self._next_group()
                except Exception as error:  # handed to the requests, which answer or log it
                    if outcomes:  # they are known, whatever the end of the lock was
                        request_failed(current_event(), error)
                    else:
                        group = group or (self._line.take_group() if self._line else ())
                        outcomes = [error] * len(group)
                for waiting, outcome in zip(group, outcomes, strict=True):
                    if isinstance(outcome, Exception):
                        _refuse(waiting, outcome)
                    else:
                        waiting.answer.set_result(outcome)
        finally:
            self._is_drained = False

    async def _next_group(self) -> tuple[Sequence[_InLine], Sequence[Outcome]]:
        """Carry out the writes whose turn it is; none if all gave up meanwhile."""
        if not self._line:
            return (), ()
        turn = await self._turn()
        if self._line:
            group = self._line.take_group()
            work = self._settled(group, turn)
            return group, await asyncio.create_task(work, context=group[0].context)
        if not isinstance(turn, _Failing):
            with turn:  # gives it back
                pass
        return (), ()

    async def _turn(self) -> AbstractContextManager[None]:
        """The turn of a write for the line; one that fails if there is none."""
        first = self._line.first
        if isinstance(first.write, ExclusiveTask):
            return nullcontext()
        self._turn_keys = keys = Beneficiaries(self._line.key_ids)
        try:
            with in_call_context(CallContext(first.key_id, beneficiaries=keys)):
                return await self._queues.write_turn(self._id.spreadsheet)
        except QuotaSpent as error:
            return _Failing(error)
        finally:
            self._turn_keys = None

    async def _settled(
        self, group: Sequence[_InLine], turn: AbstractContextManager[None]
    ) -> Sequence[Outcome]:
        try:
            with turn:
                return await self._outcomes(group)
        except Exception as error:  # handed to the requests, which answer or log it
            return [error] * len(group)

    async def _outcomes(self, group: Sequence[_InLine]) -> Sequence[Outcome]:
        first = group[0].write
        if isinstance(first, ExclusiveTask):
            return [await first.work()]
        writes = [
            waiting.write for waiting in group if not isinstance(waiting.write, ExclusiveTask)
        ]
        beneficiaries = Beneficiaries(waiting.key_id for waiting in group)
        with in_call_context(replace(current_call_context(), beneficiaries=beneficiaries)):
            return await self._perform(writes)


class _Failing(AbstractContextManager[None]):
    """A turn that never came."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __enter__(self) -> None:
        raise self._error

    def __exit__(self, *_: object) -> None:
        pass


async def no_turn(_spreadsheet: str) -> AbstractContextManager[None]:
    """A turn at once, where nothing limits writes."""
    return nullcontext()


def _give_up(line: BoundedQueue[_InLine], waiting: _InLine) -> None:
    """End a wait that took too long; a write that has begun is in no line any more."""
    if line.leave(waiting):
        _refuse(waiting, too_busy())


def _refuse(waiting: _InLine, error: Exception) -> None:
    waiting.answer.set_exception(error)
    waiting.answer.exception()  # looked at here, as its client may be gone


def _shutting_down() -> ShuttingDown:
    return ShuttingDown(
        "The gateway is shutting down.", outcome="not_applied", retry_after_seconds=5
    )
