"""The line of writes in front of each worksheet."""

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import replace

import pytest
from anyio import wait_all_tasks_blocked

from gateway.config import WriteSettings
from gateway.errors import GatewayError, QueueFull, ShuttingDown, WriteOutcomeUnknown
from gateway.service.worksheet import WorksheetRef
from gateway.service.writer import Writer
from gateway.service.writes import Create, Write, Written
from tests.service.conftest import REF

OTHER = replace(REF, title="Other")
caller: ContextVar[str] = ContextVar("caller", default="nobody")


class Desk:
    """Carries writes out one gate at a time, and notes what goes on."""

    def __init__(self) -> None:
        self.begun: list[object] = []
        self.done: list[object] = []
        self.callers: list[str] = []
        self.failures: dict[object, Exception] = {}
        self.gates: dict[str, asyncio.Event] = {}

    def close(self, *titles: str) -> None:
        """Hold every write to these worksheets until `open`."""
        self.gates.update({title: asyncio.Event() for title in titles})

    def open(self, title: str = REF.title) -> None:
        self.gates.pop(title).set()

    async def perform(self, ref: WorksheetRef, write: Write) -> Written:
        number = write.fields["n"]
        self.begun.append(number)
        self.callers.append(caller.get())
        if ref.title in self.gates:
            await self.gates[ref.title].wait()
        if number in self.failures:
            raise self.failures[number]
        self.done.append(number)
        return Written(row=len(self.done), record={}, ignored=())


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def writer(desk: Desk) -> AsyncIterator[Writer]:
    """A writer with room for three waiting writes, that has nothing to do at the end."""
    made = Writer(desk.perform, WriteSettings(max_waiting_rows=3, max_waiting_seconds=30))
    yield made
    for title in list(desk.gates):
        desk.open(title)
    await made.aclose()


def _start(writer: Writer, n: int, ref: WorksheetRef = REF) -> asyncio.Task[Written]:
    return asyncio.create_task(writer.write(ref, Create({"n": n})))


async def test_order_is_kept(desk: Desk, writer: Writer) -> None:
    """Writes are carried out in the order they came, each with its own answer."""
    written = await asyncio.gather(*(_start(writer, n) for n in range(3)))

    assert desk.done == [0, 1, 2]
    assert [each.row for each in written] == [1, 2, 3]


async def test_one_at_a_time_per_worksheet(desk: Desk, writer: Writer) -> None:
    """While one write is with Google the next one of the worksheet waits."""
    desk.close("Cities")
    tasks = [_start(writer, n) for n in range(3)]
    await wait_all_tasks_blocked()
    begun = list(desk.begun)
    desk.open()
    await asyncio.gather(*tasks)

    assert begun == [0]
    assert desk.done == [0, 1, 2]


async def test_worksheets_do_not_wait_for_each_other(desk: Desk, writer: Writer) -> None:
    """A write that hangs holds up its own worksheet only."""
    desk.close("Cities")
    hanging = _start(writer, 0)
    await wait_all_tasks_blocked()

    written = await _start(writer, 1, OTHER)

    assert written.row == 1
    assert not hanging.done()


async def test_full_line_refuses(desk: Desk, writer: Writer) -> None:
    """One more than may wait is refused at once and never carried out; the others are."""
    desk.close("Cities")
    tasks = [_start(writer, 0)]
    await wait_all_tasks_blocked()
    tasks += [_start(writer, n) for n in range(1, 4)]
    await wait_all_tasks_blocked()

    with pytest.raises(QueueFull) as caught:
        await _start(writer, 4)
    desk.open()
    await asyncio.gather(*tasks)

    assert caught.value.outcome == "not_applied"
    assert caught.value.retry_after_seconds
    assert desk.done == [0, 1, 2, 3]


async def test_waiting_is_bounded(desk: Desk) -> None:
    """A write that waits too long is refused and never carried out; one under way is not cut."""
    writer = Writer(desk.perform, WriteSettings(max_waiting_seconds=0.01))
    desk.close("Cities")
    first = _start(writer, 0)
    with pytest.raises(QueueFull) as caught:
        await _start(writer, 1)
    is_cut = first.done()
    desk.open()
    await first
    await writer.aclose()

    assert caught.value.outcome == "not_applied"
    assert not is_cut
    assert desk.begun == [0]


async def test_client_leaves_after_sending(desk: Desk, writer: Writer) -> None:
    """A write that is with Google is completed though its client has gone."""
    desk.close("Cities")
    leaving = _start(writer, 0)
    staying = _start(writer, 1)
    await wait_all_tasks_blocked()

    leaving.cancel()
    with pytest.raises(WriteOutcomeUnknown) as caught:
        await leaving
    desk.open()
    await staying

    assert caught.value.outcome == "unknown"
    assert desk.done == [0, 1]


async def test_cancelled_in_line(desk: Desk, writer: Writer) -> None:
    """A write that is cancelled before its turn is never carried out, and says so."""
    desk.close("Cities")
    first, waiting = _start(writer, 0), _start(writer, 1)
    await wait_all_tasks_blocked()
    waiting.cancel()
    with pytest.raises(ShuttingDown) as caught:
        await waiting
    desk.open()
    await first
    await writer.aclose()

    assert caught.value.outcome == "not_applied"
    assert desk.done == [0]


async def test_client_leaves_before_a_failure(desk: Desk, writer: Writer) -> None:
    """The error of a write whose client has gone disturbs nobody."""
    desk.failures[0] = ValueError("x")
    desk.close("Cities")
    leaving = _start(writer, 0)
    await wait_all_tasks_blocked()
    leaving.cancel()
    with pytest.raises(WriteOutcomeUnknown):
        await leaving
    desk.open()

    assert (await _start(writer, 1)).row == 1


@pytest.mark.parametrize("error", [GatewayError("x"), ZeroDivisionError()], ids=["known", "bug"])
async def test_failure_is_its_own(desk: Desk, writer: Writer, error: Exception) -> None:
    """An error of one write comes out of that one, and the line goes on."""
    desk.failures[1] = error

    results = await asyncio.gather(*(_start(writer, n) for n in range(3)), return_exceptions=True)

    assert results[1] is error
    assert desk.done == [0, 2]
    assert (await _start(writer, 3)).row == 3


async def test_line_is_new_after_it_was_empty(desk: Desk, writer: Writer) -> None:
    """A worksheet whose line ran empty is written to again."""
    await _start(writer, 0)
    await wait_all_tasks_blocked()

    assert (await _start(writer, 1)).row == 2


async def test_write_runs_in_its_callers_context(desk: Desk, writer: Writer) -> None:
    """What a write does counts for the request that brought it, not for the first in line."""
    tasks = []
    for n, name in enumerate(["ann", "bob", "eve"]):
        caller.set(name)
        tasks.append(_start(writer, n))
    caller.set("nobody")
    await asyncio.gather(*tasks)

    assert desk.callers == ["ann", "bob", "eve"]


async def test_closing_drains_and_refuses(desk: Desk, writer: Writer) -> None:
    """Closing finishes the writes in line, takes no more, and ends when they are done."""
    desk.close("Cities")
    tasks = [_start(writer, n) for n in range(3)]
    await wait_all_tasks_blocked()
    closing = asyncio.create_task(writer.aclose())
    await wait_all_tasks_blocked()
    is_early = closing.done()

    with pytest.raises(ShuttingDown) as caught:
        await _start(writer, 3)
    desk.open()
    await closing

    assert not is_early
    assert caught.value.outcome == "not_applied"
    assert desk.done == [0, 1, 2]
    assert all(task.done() for task in tasks)


async def test_closing_is_bounded(desk: Desk) -> None:
    """Closing waits so long only; what has not begun by then is refused and never carried out."""
    writer = Writer(desk.perform, WriteSettings(), closing_seconds=0.01)
    desk.close("Cities")
    begun, waiting = _start(writer, 0), _start(writer, 1)
    await wait_all_tasks_blocked()
    await writer.aclose()

    with pytest.raises(ShuttingDown) as caught:
        await waiting
    desk.open()
    await begun

    assert caught.value.outcome == "not_applied"
    assert desk.done == [0]


async def test_closing_with_nothing_to_do(writer: Writer) -> None:
    """A writer that was never used closes at once, also twice."""
    await writer.aclose()
    await writer.aclose()

    with pytest.raises(ShuttingDown):
        await _start(writer, 0)
