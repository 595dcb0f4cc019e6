"""The budget of an account, and the guard that keeps calls to it."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import QuotaSpent
from gateway.google.call_context import CallContext, in_call_context
from gateway.google.quota import Budgeted, open_budget
from gateway.settings.model import GoogleSettings
from tests.google.timers import ManualTimers, failing


@dataclass
class Guarded:
    """The guard on its own budget, and the waits that it reported."""

    timers: ManualTimers = field(default_factory=ManualTimers)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = GoogleSettings(reads_per_minute=9, writes_per_minute=18, max_waiting_seconds=7)
        self.budget = open_budget(settings, clock=self.timers.clock, set_timer=self.timers)
        self.guard = Budgeted(self.budget, clock=self.timers.clock, waited=self.waits.append)


async def test_reads_and_writes_have_budgets_of_their_own() -> None:
    """Reads that spend theirs leave the writes theirs, each as large as it is set."""
    guarded = Guarded()
    await guarded.guard(failing(), is_write=False)
    answers = [await guarded.guard(failing(), is_write=True) for _ in range(2)]
    read = asyncio.create_task(guarded.guard(failing(), is_write=False))
    await guarded.timers.advance(60 / 9)

    assert answers == ["answer"] * 2
    assert await read == "answer"
    assert guarded.waits == [0, 0, 0, pytest.approx(60 / 9)]


async def test_the_call_context_decides_the_turn() -> None:
    """Each call waits in the line of the key on whose behalf it is made."""
    guarded = Guarded()
    await guarded.guard(failing(), is_write=True)
    await guarded.guard(failing(), is_write=True)
    sent: list[str] = []

    async def call(key_id: str) -> None:
        async def note() -> None:
            sent.append(key_id)

        with in_call_context(CallContext(key_id)):
            await guarded.guard(note, is_write=True)

    tasks = [asyncio.create_task(call(key_id)) for key_id in "aab"]
    await guarded.timers.advance(20.0)
    ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert sent == ["a", "b"]
    assert [type(end) for end in ends] == [type(None), QuotaSpent, type(None)]


async def test_what_is_refused_is_not_sent() -> None:
    """A call that the budget refuses never reaches Google, and its wait is reported too."""
    guarded = Guarded()
    await guarded.guard(failing(), is_write=False)
    waiting = asyncio.create_task(guarded.guard(failing(), is_write=False))
    await wait_all_tasks_blocked()
    with pytest.raises(QuotaSpent):
        await guarded.guard(failing(ZeroDivisionError()), is_write=False)
    await guarded.timers.advance(60 / 9)
    await waiting

    assert guarded.waits == [0, 0, pytest.approx(60 / 9)]


async def test_a_429_teaches_the_budget() -> None:
    """Google's refusal comes out as it is; the budget of its kind learns of it, no other."""
    guarded = Guarded()
    error = QuotaSpent("429", is_from_google=True, limit=6)
    with pytest.raises(QuotaSpent) as caught:
        await guarded.guard(failing(error), is_write=True)

    assert caught.value is error
    assert guarded.budget.writes.rate_per_second() == pytest.approx(0.09)
    assert guarded.budget.reads.rate_per_second() == pytest.approx(0.15)


async def test_a_write_after_a_look_has_its_turn_already() -> None:
    """The first write of a block goes out at once, in its turn; the next waits for its own."""
    guarded = Guarded()
    turn = await guarded.guard.write_turn()
    await guarded.guard(failing(), is_write=True)
    with turn:
        first = await guarded.guard(failing(), is_write=True)
        second = asyncio.create_task(guarded.guard(failing(), is_write=True))
        await wait_all_tasks_blocked()
        is_early = second.done()
    await guarded.timers.advance(60 / 18)

    assert (first, is_early, await second) == ("answer", False, "answer")
    assert guarded.waits == [0, 0, pytest.approx(60 / 18)]


async def test_a_turn_without_a_write_is_given_back() -> None:
    """The next waiter gets it."""
    guarded = Guarded()
    await guarded.guard(failing(), is_write=True)
    turn = await guarded.guard.write_turn()
    waiting = asyncio.create_task(guarded.guard(failing(), is_write=True))
    await wait_all_tasks_blocked()
    was_waiting = not waiting.done()
    with turn:
        await guarded.guard(failing(), is_write=False)

    assert was_waiting
    assert await waiting == "answer"


async def test_a_turn_that_would_come_too_late_is_refused() -> None:
    """As a write is: it was not sent."""
    guarded = Guarded()
    for _ in range(2):
        await guarded.guard(failing(), is_write=True)
    before = [asyncio.create_task(guarded.guard(failing(), is_write=True)) for _ in range(2)]
    await wait_all_tasks_blocked()
    with pytest.raises(QuotaSpent) as caught:
        await guarded.guard.write_turn()
    await guarded.timers.advance(7.0)
    await asyncio.gather(*before)

    assert caught.value.outcome == "not_applied"


async def test_one_key_writes_to_many_worksheets() -> None:
    """Each of twelve worksheets of a key gets its turn, though all wait all the time."""
    settings = GoogleSettings(writes_per_minute=54, max_waiting_seconds=10)
    timers = ManualTimers()
    budget = open_budget(settings, clock=timers.clock, set_timer=timers)
    guard = Budgeted(budget, clock=timers.clock, turn_seconds=30)
    turns: Counter[int] = Counter()

    async def write(worksheet: int) -> None:
        with in_call_context(CallContext("busy")):
            while True:
                with suppress(QuotaSpent), await guard.write_turn():
                    await guard(failing(), is_write=True)
                    turns[worksheet] += 1

    tasks = [asyncio.create_task(write(worksheet)) for worksheet in range(12)]
    for _ in range(60):
        await timers.advance(1.0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert len(turns) == 12
    assert min(turns.values()) >= 4  # of 54 and the burst
