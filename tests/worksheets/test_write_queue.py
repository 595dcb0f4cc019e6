"""The queue of writes of each worksheet."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import (
    GatewayError,
    InvalidBody,
    QueueFull,
    QuotaSpent,
    ShuttingDown,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Beneficiaries, current_call_context
from gateway.settings.model import WriteSettings
from gateway.worksheets.access import Access, WorksheetId
from gateway.worksheets.write_queue import MAX_ROWS
from gateway.worksheets.writes import Outcome, Write
from tests.worksheets.conftest import WORKSHEET
from tests.worksheets.desk import Desk, Writer, caller, held, start

OTHER = WorksheetId(WORKSHEET.spreadsheet, "Other")


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def writer(desk: Desk) -> AsyncIterator[Writer]:
    """A writer with space for three waiting rows, which must be idle at the end."""
    made = Writer(desk.perform, WriteSettings(max_waiting_rows=3, max_waiting_seconds=30))
    yield made
    for title in list(desk.gates):
        desk.open(title)
    await made.aclose()


async def test_those_that_wait_go_together(desk: Desk, writer: Writer) -> None:
    """While a group runs all other writes wait; then they form one group, in their order."""
    first = await held(writer, desk)
    tasks = [start(writer, n) for n in range(1, 4)]
    await wait_all_tasks_blocked()
    begun = list(desk.groups)
    desk.open()
    results = await asyncio.gather(first, *tasks)

    assert begun == [[0]]
    assert desk.groups == [[0], [1, 2, 3]]
    assert [result[0].row for result in results] == [0, 1, 2, 3]


async def test_those_of_one_instant_go_together(desk: Desk, writer: Writer) -> None:
    """Writes of one instant form a group; other writes go before them at once."""
    instant = asyncio.get_running_loop().time() + 0.2
    tasks = [start(writer, n, not_before=instant) for n in range(1, 4)]
    tasks.append(start(writer, 0))
    await asyncio.gather(*tasks)

    assert desk.groups == [[0], [1, 2, 3]]


async def test_creates_and_updates_go_apart(desk: Desk, writer: Writer) -> None:
    """Creates and updates are separate groups; the kind of the first write goes first."""
    first = await held(writer, desk)
    update = Write.update(row=2, fields={"n": 2}, access=Access(key_id="b"))
    tasks = [
        start(writer, 1, key_id="a"),
        asyncio.create_task(writer[WORKSHEET].write(update)),
        start(writer, 3, key_id="c"),
    ]
    await wait_all_tasks_blocked()
    desk.open()
    await asyncio.gather(first, *tasks)

    assert desk.groups == [[0], [1, 3], [2]]


async def test_worksheets_do_not_wait_for_each_other(desk: Desk, writer: Writer) -> None:
    """A slow write delays only the queue of its own worksheet."""
    hanging = await held(writer, desk)

    (written,) = await start(writer, 1, OTHER)

    assert written.row == 1
    assert not hanging.done()


@pytest.mark.parametrize("rows", [1, 3], ids=["one by one", "at once"])
async def test_full_line_refuses(desk: Desk, writer: Writer, rows: int) -> None:
    """Rows above the limit are refused at once and never written; others are written."""
    tasks = [await held(writer, desk)]
    tasks += [start(writer, n, rows=rows) for n in range(1, 4, rows)]
    await wait_all_tasks_blocked()

    with pytest.raises(QueueFull) as caught:
        await start(writer, 4)
    desk.open()
    await asyncio.gather(*tasks)

    assert caught.value.outcome == "not_applied"
    assert caught.value.retry_after_seconds
    assert desk.done == ([0, 1, 2, 3] if rows == 1 else [0, 1])


async def test_more_rows_than_may_wait_need_not_wait(desk: Desk, writer: Writer) -> None:
    """A write that is larger than the queue is accepted if no other write waits."""
    under_way = await held(writer, desk)
    large = start(writer, 1, rows=9)
    await wait_all_tasks_blocked()
    with pytest.raises(QueueFull):
        await start(writer, 2)
    desk.open()
    await asyncio.gather(under_way, large)

    assert desk.done == [0, 1]


async def test_waiting_is_bounded(desk: Desk) -> None:
    """A write that waits too long is refused and never carried out; a running one continues."""
    writer = Writer(desk.perform, WriteSettings(max_waiting_seconds=0.01))
    first = await held(writer, desk)
    with pytest.raises(QueueFull) as caught:
        await start(writer, 1)
    is_cut = first.done()
    desk.open()
    await first
    await writer.aclose()

    assert caught.value.outcome == "not_applied"
    assert not is_cut
    assert desk.groups == [[0]]


async def test_client_leaves_after_sending(desk: Desk, writer: Writer) -> None:
    """A group that was sent is completed although a client has left."""
    desk.close(WORKSHEET.title)
    leaving, staying = start(writer, 0), start(writer, 1)
    await wait_all_tasks_blocked()

    leaving.cancel()
    with pytest.raises(WriteOutcomeUnknown) as caught:
        await leaving
    desk.open()
    (written,) = await staying

    assert caught.value.outcome == "unknown"
    assert written.row == 1
    assert desk.groups == [[0, 1]]
    assert desk.done == [0, 1]


async def test_cancelled_in_line(desk: Desk, writer: Writer) -> None:
    """A write that is cancelled before its turn is never carried out, and reports this."""
    first = await held(writer, desk)
    waiting, next_ = start(writer, 1), start(writer, 2)
    await wait_all_tasks_blocked()
    waiting.cancel()
    with pytest.raises(ShuttingDown) as caught:
        await waiting
    desk.open()
    await asyncio.gather(first, next_)

    assert caught.value.outcome == "not_applied"
    assert desk.groups == [[0], [2]]


async def test_client_leaves_before_a_failure(desk: Desk, writer: Writer) -> None:
    """The error of a write whose client has left affects no other write."""
    desk.failures[0] = ValueError("x")
    leaving = await held(writer, desk)
    leaving.cancel()
    with pytest.raises(WriteOutcomeUnknown):
        await leaving
    desk.open()

    assert (await start(writer, 1))[0].row == 1


@pytest.mark.parametrize("error", [GatewayError("x"), ZeroDivisionError()], ids=["known", "bug"])
async def test_failure_is_its_own(desk: Desk, writer: Writer, error: Exception) -> None:
    """An error of one write of a group is its own, and the queue continues."""
    desk.failures[1] = error

    results = await asyncio.gather(*(start(writer, n) for n in range(3)), return_exceptions=True)

    assert desk.groups == [[0, 1, 2]]
    assert results[1] is error
    assert desk.done == [0, 2]
    assert (await start(writer, 3))[0].row == 3


@pytest.mark.parametrize("error", [GatewayError("x"), ZeroDivisionError()], ids=["known", "bug"])
async def test_a_group_that_fails_as_a_whole(desk: Desk, writer: Writer, error: Exception) -> None:
    """An error of the whole group is the error of all its writes, and the queue continues."""
    desk.breakdown = error

    results = await asyncio.gather(*(start(writer, n) for n in range(3)), return_exceptions=True)
    desk.breakdown = None

    assert results == [error] * 3
    assert (await start(writer, 3))[0].row == 3


async def test_line_is_new_after_it_was_empty(desk: Desk, writer: Writer) -> None:
    """A worksheet whose queue was empty accepts writes again."""
    await start(writer, 0)
    await wait_all_tasks_blocked()

    assert (await start(writer, 1))[0].row == 1


async def test_a_group_runs_in_the_context_of_its_first(desk: Desk, writer: Writer) -> None:
    """The calls of a group count for the request of its first write."""
    tasks = [await held(writer, desk)]
    for n, name in enumerate(["ann", "bob", "eve"], start=1):
        caller.set(name)
        tasks.append(start(writer, n))
    caller.set("nobody")
    await wait_all_tasks_blocked()
    desk.open()
    await asyncio.gather(*tasks)

    assert desk.callers == ["nobody", "ann"]


async def test_what_is_done_alone_is_done_between_groups(desk: Desk, writer: Writer) -> None:
    """During an exclusive task no write runs; writes before and after do not mix."""
    first = await held(writer, desk)
    gate = asyncio.Event()

    async def work() -> str:
        begun = list(desk.done)
        await gate.wait()
        return f"{begun} {desk.done}"

    before = start(writer, 1, key_id="a")
    alone = asyncio.create_task(writer[WORKSHEET].exclusively(work, key_id="b"))
    after = start(writer, 2, key_id="b")
    await wait_all_tasks_blocked()
    desk.open()
    await asyncio.gather(first, before)
    await wait_all_tasks_blocked()
    gate.set()
    seen = await alone
    await after

    assert seen == "[0, 1, 2] [0, 1, 2]"
    assert desk.groups == [[0], [1, 2]]


async def test_what_is_done_alone_fails_by_itself(desk: Desk, writer: Writer) -> None:
    """The error of an exclusive task goes to its caller, and the queue continues."""

    async def work() -> None:
        raise InvalidBody("no")

    alone = asyncio.create_task(writer[WORKSHEET].exclusively(work))
    after = start(writer, 1)

    with pytest.raises(InvalidBody):
        await alone
    assert (await after)[0].row == 1


async def test_what_is_done_alone_waits_no_longer_than_writes(desk: Desk, writer: Writer) -> None:
    """An exclusive task takes the space of one row in the queue."""
    first = await held(writer, desk)
    waiting = start(writer, 1, rows=3)
    await wait_all_tasks_blocked()

    async def work() -> None:
        raise AssertionError

    with pytest.raises(QueueFull):
        await writer[WORKSHEET].exclusively(work)
    desk.open()
    await asyncio.gather(first, waiting)


async def test_a_key_that_fills_its_line_keeps_no_other_out(desk: Desk) -> None:
    """Beside one key's largest lists each other key waits for one group and is written.

    Writes of that key above its share are refused, and no others.
    """
    writer = Writer(desk.perform, WriteSettings())
    first = await held(writer, desk)
    tasks = [start(writer, n, key_id="greedy", rows=MAX_ROWS) for n in range(1, 4)]
    tasks += [start(writer, n, key_id="polite") for n in range(4, 7)]
    await wait_all_tasks_blocked()
    desk.open()
    ended = await asyncio.gather(first, *tasks, return_exceptions=True)

    assert [isinstance(end, QueueFull) for end in ended] == [False] * 2 + [True] * 2 + [False] * 3
    assert desk.groups == [[0], [1], [4, 5, 6]]


async def test_a_group_waits_at_google_for_the_earliest_turn_of_its_keys(desk: Desk) -> None:
    """A group's call does not wait behind other calls of the key that started the group."""
    told: list[str] = []

    async def perform(ref: WorksheetId, group: Sequence[Write]) -> Sequence[Outcome]:
        beneficiaries = current_call_context().beneficiaries
        if beneficiaries is not None and len(group) > 1:
            told.extend(beneficiaries.key_ids)
        return await desk.perform(ref, group)

    writer = Writer(perform, WriteSettings())
    first = await held(writer, desk)
    tasks = [start(writer, n, key_id=key) for n, key in enumerate("aba", start=1)]
    await wait_all_tasks_blocked()
    desk.open()
    await asyncio.gather(first, *tasks)

    assert told == ["a", "b"]


@dataclass
class Turns:
    """Quota reservations that a test grants; used ones are given back at the end."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None
    groups: list[Beneficiaries] = field(default_factory=list)
    ended: int = 0

    @property
    def keys(self) -> list[str]:
        """The keys that wait for quota, for each reservation."""
        return [key_id for group in self.groups for key_id in group.key_ids]

    async def __call__(self, _spreadsheet: str) -> AbstractContextManager[None]:
        beneficiaries = current_call_context().beneficiaries
        if beneficiaries is not None:
            self.groups.append(beneficiaries)
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self._turn()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.ended += 1


async def test_a_group_is_formed_when_its_turn_has_come(desk: Desk) -> None:
    """Writes that come during the wait for quota join the group; its key waits for it."""
    turns = Turns()
    writer = Writer(desk.perform, WriteSettings(), write_turn=turns)
    first = start(writer, 1, key_id="a")
    await wait_all_tasks_blocked()
    second = start(writer, 2, key_id="b")
    await wait_all_tasks_blocked()
    before = list(desk.groups)
    turns.gate.set()
    await asyncio.gather(first, second)

    assert before == []
    assert desk.groups == [[1, 2]]
    assert turns.keys == ["a", "b"]
    assert turns.ended == 1


async def test_without_a_turn_the_group_is_refused(desk: Desk) -> None:
    """Nothing was read or sent; later writes make another reservation."""
    turns = Turns(error=QuotaSpent("spent", outcome="not_applied"))
    turns.gate.set()
    writer = Writer(desk.perform, WriteSettings(), write_turn=turns)
    refused = await asyncio.gather(start(writer, 1), start(writer, 2), return_exceptions=True)
    turns.error = None
    (written,) = await start(writer, 3)

    assert [type(error) for error in refused] == [QuotaSpent] * 2
    assert (desk.groups, written.row) == ([[3]], 3)


async def test_a_turn_that_nobody_waits_for_any_more_is_given_back(desk: Desk) -> None:
    """All clients left during the wait for quota, so the reservation is given back."""
    turns = Turns()
    writer = Writer(desk.perform, WriteSettings(), write_turn=turns)
    task = start(writer, 1)
    await wait_all_tasks_blocked()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    turns.gate.set()
    await wait_all_tasks_blocked()

    assert (desk.groups, turns.ended) == ([], 1)
