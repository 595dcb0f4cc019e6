"""One writer per worksheet: writes queue, one group at a time is at Google.

Rules: two appends to one worksheet never overlap, since Google loses rows then. A line is bounded
(`gateway.worksheets.queue_limits`), and so is the time in it. A write that has begun is finished
whatever becomes of its client. Google's quota comes first: a group is formed when a write may be
sent, so that nothing waits between its look and its write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from typing import TypeVar

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
from gateway.worksheets.group import ExclusiveTask, Waiting
from gateway.worksheets.queue_limits import Line, memory_room, too_busy
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Outcome, Results, Write

Perform = Callable[[WorksheetId, Sequence[Write]], Awaitable[Sequence[Outcome]]]
"""Carries out a group of writes of one kind, Google calls and all; how each of them ended."""

WriteTurns = Callable[[], Awaitable[AbstractContextManager[None]]]
"""Waits until a write may be sent; the first write in the block is it. Raises QuotaSpent."""

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


class Writer:
    def __init__(
        self,
        perform: Perform,
        settings: WriteSettings,
        *,
        write_turn: "WriteTurns | None" = None,
        closing_seconds: float = CLOSING_SECONDS,
    ) -> None:
        self._perform = perform
        self._settings = settings
        self._write_turn = write_turn or no_turn
        self._closing_seconds = closing_seconds
        self._waiting_for_turn: dict[WorksheetId, Beneficiaries] = {}
        """The keys whose writes a turn is waited for."""
        self._lines: dict[WorksheetId, Line[_InLine]] = {}
        self._all_lines = memory_room(settings.max_waiting_bytes)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False

    async def write(self, worksheet: WorksheetId, write: Write) -> Results:
        """Wait in line, then have the write carried out; its own errors come out here."""
        return await self._carried_out(worksheet, write, write.access.key_id)

    async def alone(
        self, worksheet: WorksheetId, work: Callable[[], Awaitable[T]], *, key_id: str = ""
    ) -> T:
        """Wait in line, then do something while no write to the worksheet is under way.

        As a write it is finished once it has begun; its own errors come out here.
        """
        made: list[T] = []

        async def perform() -> Results:
            made.append(await work())
            return ()

        await self._carried_out(worksheet, ExclusiveTask(work=perform), key_id)
        return made[0]

    async def _carried_out(
        self, worksheet: WorksheetId, write: Write | ExclusiveTask, key_id: str
    ) -> Results:
        if self._is_closing:
            raise _shutting_down()
        waiting = self._join(worksheet, write, key_id)
        try:
            return await asyncio.shield(waiting.answer)
        except asyncio.CancelledError:
            # A request is cancelled when the server's time to stop is over: what has not begun
            # is not begun any more, what has goes on without anybody to tell.
            if waiting.answer.done():
                return waiting.answer.result()
            raise self._withdrawn(waiting) from None

    async def aclose(self) -> None:
        """Take no more writes; those in line are carried out, as far as there is time."""
        self._is_closing = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._closing_seconds)
        for line in self._lines.values():
            while line:
                for waiting in line.take_group():
                    _refuse(waiting, _shutting_down())

    def _withdrawn(self, waiting: _InLine) -> GatewayError:
        """Take a write out of its line, if it still is there; the error that says which."""
        line = self._lines.get(waiting.worksheet)
        if line is None or not line.leave(waiting):
            return WriteOutcomeUnknown(
                "The gateway stops, and Google has not answered this write yet. Look before you "
                "send it again.",
                outcome="unknown",
                retry_after_seconds=UNKNOWN_RETRY_SECONDS,
            )
        _refuse(waiting, _shutting_down())
        return _shutting_down()

    def _join(self, worksheet: WorksheetId, write: Write | ExclusiveTask, key_id: str) -> _InLine:
        loop = asyncio.get_running_loop()
        waiting = _InLine(
            worksheet=worksheet,
            key_id=key_id,
            write=write,
            answer=loop.create_future(),
        )
        line = self._lines.get(worksheet)
        is_new = line is None
        if line is None:
            line = Line(self._settings, self._all_lines)
        line.join(waiting)
        if worksheet in self._waiting_for_turn:
            self._waiting_for_turn[worksheet].join(key_id)
        if is_new:
            self._lines[worksheet] = line
            task = loop.create_task(self._drain(worksheet), context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        timer = loop.call_later(self._settings.max_waiting_seconds, _give_up, line, waiting)
        waiting.answer.add_done_callback(lambda _: timer.cancel())
        return waiting

    async def _drain(self, worksheet: WorksheetId) -> None:
        line = self._lines[worksheet]
        while line:
            turn = await self._turn(worksheet, line)
            if line:  # else all gave up meanwhile
                group = line.take_group()
                await asyncio.create_task(self._settle(group, turn), context=group[0].context)
            elif not isinstance(turn, _Failing):
                with turn:  # gives it back
                    pass
        del self._lines[worksheet]

    async def _turn(
        self, worksheet: WorksheetId, line: Line[_InLine]
    ) -> AbstractContextManager[None]:
        """The turn of a write for the line; one that fails if there is none."""
        if isinstance(line.first.write, ExclusiveTask):
            return nullcontext()
        keys = Beneficiaries(line.key_ids)
        self._waiting_for_turn[worksheet] = keys
        try:
            with in_call_context(CallContext(line.first.key_id, beneficiaries=keys)):
                return await self._write_turn()
        except QuotaSpent as error:
            return _Failing(error)
        finally:
            del self._waiting_for_turn[worksheet]

    async def _settle(self, group: Sequence[_InLine], turn: AbstractContextManager[None]) -> None:
        try:
            with turn:
                outcomes = await self._outcomes(group)
        except Exception as error:  # handed to the requests, which answer or log it
            outcomes = [error] * len(group)
        for waiting, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Exception):
                _refuse(waiting, outcome)
            else:
                waiting.answer.set_result(outcome)

    async def _outcomes(self, group: Sequence[_InLine]) -> Sequence[Outcome]:
        first = group[0].write
        if isinstance(first, ExclusiveTask):
            return [await first.work()]
        writes = [
            waiting.write for waiting in group if not isinstance(waiting.write, ExclusiveTask)
        ]
        beneficiaries = Beneficiaries(waiting.key_id for waiting in group)
        with in_call_context(replace(current_call_context(), beneficiaries=beneficiaries)):
            return await self._perform(group[0].worksheet, writes)


class _Failing(AbstractContextManager[None]):
    """A turn that never came."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __enter__(self) -> None:
        raise self._error

    def __exit__(self, *_: object) -> None:
        pass


async def no_turn() -> AbstractContextManager[None]:
    """A turn at once, where nothing limits writes."""
    return nullcontext()


def _give_up(line: Line[_InLine], waiting: _InLine) -> None:
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
