"""Write queues whose groups go to a fake that waits and fails as a test says."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial

from anyio import wait_all_tasks_blocked

from gateway.settings.model import WriteSettings
from gateway.worksheets.access import Access, WorksheetId
from gateway.worksheets.write_queue import CLOSING_SECONDS, WriteQueue, WriteQueues, WriteTurns
from gateway.worksheets.writes import Outcome, Results, Write, Written
from tests.worksheets.conftest import WORKSHEET

caller: ContextVar[str] = ContextVar("caller", default="nobody")


class Desk:
    """Carries out groups, with one gate per worksheet, and records what happens."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.done: list[int] = []
        self.callers: list[str] = []
        self.failures: dict[int, Exception] = {}
        self.breakdown: Exception | None = None
        self.gates: dict[str, asyncio.Event] = {}

    def close(self, *titles: str) -> None:
        """Hold every group of these worksheets until `open` is called."""
        self.gates.update({title: asyncio.Event() for title in titles})

    def open(self, title: str = WORKSHEET.title) -> None:
        self.gates.pop(title).set()

    async def perform(self, ref: WorksheetId, group: Sequence[Write]) -> Sequence[Outcome]:
        numbers = [number_of(write) for write in group]
        self.groups.append(numbers)
        self.callers.append(caller.get())
        if ref.title in self.gates:
            await self.gates[ref.title].wait()
        if self.breakdown is not None:
            raise self.breakdown
        return [self.failures.get(number) or self._results(number) for number in numbers]

    def _results(self, number: int) -> Results:
        self.done.append(number)
        return (Written(row=number, record={}, tag="", ignored=()),)


Perform = Callable[[WorksheetId, Sequence[Write]], Awaitable[Sequence[Outcome]]]


class Writer:
    """The write queues of the worksheets that a test writes to."""

    def __init__(
        self,
        perform: Perform,
        settings: WriteSettings,
        *,
        write_turn: WriteTurns | None = None,
        closing_seconds: float = CLOSING_SECONDS,
    ) -> None:
        self._perform = perform
        self._shared = WriteQueues(settings, write_turn=write_turn, closing_seconds=closing_seconds)
        self._queues: dict[WorksheetId, WriteQueue] = {}

    def __getitem__(self, worksheet: WorksheetId) -> WriteQueue:
        if worksheet not in self._queues:
            perform = partial(self._perform, worksheet)
            self._queues[worksheet] = WriteQueue(worksheet, perform, self._shared)
        return self._queues[worksheet]

    async def aclose(self) -> None:
        await self._shared.aclose()


def number_of(write: Write) -> int:
    """Return the number that a test gave to a write."""
    assert write.rows is not None
    value = write.rows[0]["n"]
    assert isinstance(value, int)
    return value


def start(
    writer: Writer,
    n: int,
    worksheet: WorksheetId = WORKSHEET,
    *,
    key_id: str = "",
    rows: int = 1,
    not_before: float = 0.0,
) -> asyncio.Task[Results]:
    create = Write.create(
        rows=({"n": n},) * rows, access=Access(key_id=key_id), not_before=not_before
    )
    return asyncio.create_task(writer[worksheet].write(create))


async def held(writer: Writer, desk: Desk) -> asyncio.Task[Results]:
    """Start a write with the number 0, which runs until the desk opens."""
    desk.close(WORKSHEET.title)
    task = start(writer, 0)
    await wait_all_tasks_blocked()
    return task
