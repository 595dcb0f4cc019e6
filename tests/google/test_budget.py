"""The budget of an account, and the calls that wait for quota."""

import asyncio
from collections import Counter
from contextlib import suppress

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import QuotaSpent
from gateway.google.quota import open_budget, open_quota
from gateway.google.sheets import CallContext, in_call_context
from gateway.settings.model import GoogleSettings
from tests.fakes import BOOK
from tests.google.pipelines import Bench
from tests.google.timers import failing

SETTINGS = GoogleSettings(reads_per_minute=9, writes_per_minute=18, max_waiting_seconds=7)


async def test_reads_and_writes_have_separate_budgets() -> None:
    """Reads that spend their budget leave the budget of writes unchanged."""
    bench = Bench(settings=SETTINGS)
    await bench.make(failing(), is_write=False)
    answers = [await bench.make(failing(), is_write=True) for _ in range(2)]
    read = asyncio.create_task(bench.make(failing(), is_write=False))
    await bench.timers.advance(60 / 9)

    assert answers == ["answer"] * 2
    assert await read == "answer"
    assert bench.waits == [0, 0, 0, pytest.approx(60 / 9)]


async def test_the_call_context_decides_the_turn() -> None:
    """Each call waits in the queue of the key in its call context."""
    bench = Bench(settings=SETTINGS)
    await bench.make(failing(), is_write=True)
    await bench.make(failing(), is_write=True)
    sent: list[str] = []

    async def call(key_id: str) -> None:
        async def note() -> None:
            sent.append(key_id)

        with in_call_context(CallContext(key_id)):
            await bench.make(note, is_write=True)

    tasks = [asyncio.create_task(call(key_id)) for key_id in "aab"]
    await bench.timers.advance(20.0)
    ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert sent == ["a", "b"]
    assert [type(end) for end in ends] == [type(None), QuotaSpent, type(None)]


async def test_a_call_that_the_budget_refuses_is_not_sent() -> None:
    """A call that the budget refuses never reaches Google and is reported with a wait of 0 s."""
    bench = Bench(settings=SETTINGS)
    await bench.make(failing(), is_write=False)
    waiting = asyncio.create_task(bench.make(failing(), is_write=False))
    await wait_all_tasks_blocked()
    with pytest.raises(QuotaSpent):
        await bench.make(failing(ZeroDivisionError()), is_write=False)
    await bench.timers.advance(60 / 9)
    await waiting

    assert bench.waits == [0, 0, pytest.approx(60 / 9)]


async def test_a_429_lowers_only_the_budget_of_its_kind() -> None:
    """A 429 to a write lowers the budget of writes, not of reads, and is raised unchanged."""
    bench = Bench(settings=SETTINGS)
    error = QuotaSpent("429", is_from_google=True, limit=6)
    with pytest.raises(QuotaSpent) as caught:
        await bench.make(failing(error), is_write=True)

    assert caught.value is error
    assert bench.budget.writes.rate_per_second() == pytest.approx(0.09)
    assert bench.budget.reads.rate_per_second() == pytest.approx(0.15)


async def test_a_reserved_turn_is_for_one_write() -> None:
    """The first write in a `write_turn` block is sent at once; the second write waits for quota."""
    bench = Bench(settings=SETTINGS)
    turn = await bench.pipeline.write_turn(BOOK)
    await bench.make(failing(), is_write=True)
    with turn:
        first = await bench.make(failing(), is_write=True)
        second = asyncio.create_task(bench.make(failing(), is_write=True))
        await wait_all_tasks_blocked()
        is_early = second.done()
    await bench.timers.advance(60 / 18)

    assert (first, is_early, await second) == ("answer", False, "answer")
    assert bench.waits == [0, 0, pytest.approx(60 / 18)]


async def test_an_unused_turn_is_given_back() -> None:
    """If a `write_turn` block makes no write, the next waiting write gets the quota."""
    bench = Bench(settings=SETTINGS)
    await bench.make(failing(), is_write=True)
    turn = await bench.pipeline.write_turn(BOOK)
    waiting = asyncio.create_task(bench.make(failing(), is_write=True))
    await wait_all_tasks_blocked()
    was_waiting = not waiting.done()
    with turn:
        await bench.make(failing(), is_write=False)

    assert was_waiting
    assert await waiting == "answer"


async def test_a_turn_that_would_come_too_late_is_refused() -> None:
    """`write_turn` raises QuotaSpent with `not_applied` if the turn would come too late."""
    bench = Bench(settings=SETTINGS)
    for _ in range(2):
        await bench.make(failing(), is_write=True)
    before = [asyncio.create_task(bench.make(failing(), is_write=True)) for _ in range(2)]
    await wait_all_tasks_blocked()
    with pytest.raises(QuotaSpent) as caught:
        await bench.pipeline.write_turn(BOOK)
    await bench.timers.advance(7.0)
    await asyncio.gather(*before)

    assert caught.value.outcome == "not_applied"


async def test_one_key_writes_to_many_worksheets() -> None:
    """Of twelve worksheets of one key that all wait, each gets at least four writes a minute."""
    settings = GoogleSettings(writes_per_minute=54, max_waiting_seconds=10)
    bench = Bench(settings=settings, turn_seconds=30)
    turns: Counter[int] = Counter()

    async def write(worksheet: int) -> None:
        with in_call_context(CallContext("busy")):
            while True:
                with suppress(QuotaSpent), await bench.pipeline.write_turn(BOOK):
                    await bench.make(failing(), is_write=True)
                    turns[worksheet] += 1

    tasks = [asyncio.create_task(write(worksheet)) for worksheet in range(12)]
    for _ in range(60):
        await bench.timers.advance(1.0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert len(turns) == 12
    assert min(turns.values()) >= 4  # of 54 writes and the burst


def test_max_per_minute_is_the_lower_of_account_and_project() -> None:
    """`max_per_minute` is rate and burst of the account or of its project, whichever is lower."""
    usual, project = open_budget(GoogleSettings()), open_quota(18, 300)
    shared = open_budget(GoogleSettings(), project=project)

    assert (usual.reads.max_per_minute, usual.writes.max_per_minute) == (60, 60)
    assert (shared.reads.max_per_minute, shared.writes.max_per_minute) == (20, 60)
