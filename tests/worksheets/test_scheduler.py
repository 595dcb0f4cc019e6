"""Slices of counted work: fair turns, and time for all other work between slices."""

import asyncio
from collections.abc import Callable

import pytest

from gateway.errors import TooManyInFlight
from gateway.table.steps import Metered, OutOfSteps, Work
from gateway.worksheets.scheduler import MAX_WAITING, SLICE_STEPS, Scheduler

LONG = 10
"""Number of slices of long work."""


def slices(count: int, note: Callable[[], None] = lambda: None) -> Work[str]:
    """Work of this number of slices; each slice is recorded."""
    for _ in range(count):
        yield SLICE_STEPS
        note()
    return "done"


async def query(scheduler: Scheduler, work: Metered[str], key_id: str) -> str:
    """Run a query as the service does."""
    if scheduler.try_at_once(work, key_id):
        return work.result
    return await scheduler.finish(work, key_id)


def renderings() -> Work[str]:
    yield SLICE_STEPS // 2
    return "done"


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


async def test_short_work_is_done_at_once(scheduler: Scheduler) -> None:
    """Work that fits into a slice does not wait, even while long work runs."""
    long = asyncio.create_task(query(scheduler, Metered(slices(LONG)), "long"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    short = query(scheduler, Metered(slices(0)), "short")

    with pytest.raises(StopIteration, match="done"):
        short.send(None)
    assert await long == "done"


async def test_others_run_between_slices(scheduler: Scheduler) -> None:
    """Other tasks of the event loop run after each slice."""
    seen: list[str] = []
    work = asyncio.create_task(
        query(scheduler, Metered(slices(LONG, lambda: seen.append("slice"))), "key")
    )
    while not work.done():
        seen.append("other")
        await asyncio.sleep(0)

    assert seen.count("slice") == LONG
    assert "slice slice slice" not in " ".join(seen)


async def test_keys_take_turns_slice_by_slice(scheduler: Scheduler) -> None:
    """A key with long work does not make another key wait."""
    seen: list[str] = []

    def begun(key: str, count: int) -> asyncio.Task[str]:
        work = Metered(slices(count, lambda: seen.append(key)))
        return asyncio.create_task(query(scheduler, work, key))

    tasks = [*(begun("busy", LONG) for _ in range(5)), begun("other", 3)]
    await asyncio.gather(*tasks)

    assert len(seen) == 5 * LONG + 3
    assert "other" not in seen[9:]


async def test_queries_of_a_key_go_one_after_the_other(scheduler: Scheduler) -> None:
    """One query of a key frees its memory before the next one begins."""
    seen: list[int] = []
    tasks = [
        query(scheduler, Metered(slices(3, lambda number=number: seen.append(number))), "key")  # type: ignore[misc]
        for number in range(4)
    ]

    await asyncio.gather(*tasks)

    assert seen == sorted(seen)


async def test_building_rows_has_every_second_turn(scheduler: Scheduler) -> None:
    """Every second turn builds rows, however many keys have work, because all keys need rows."""
    seen: list[str] = []
    tasks = [
        asyncio.create_task(
            query(scheduler, Metered(slices(LONG, lambda: seen.append("query"))), f"key {number}")
        )
        for number in range(5)
    ]
    await asyncio.sleep(0)

    await scheduler.build(slices(LONG, lambda: seen.append("rows")))

    assert seen.count("query") <= LONG + 7
    await asyncio.gather(*tasks)


async def test_few_long_queries_of_a_key_wait(scheduler: Scheduler) -> None:
    """Further long queries of a key are refused, and queries of other keys are not."""
    busy = [query(scheduler, Metered(slices(1_000)), "busy") for _ in range(MAX_WAITING + 9)]
    other = query(scheduler, Metered(slices(LONG)), "other")

    ended = await asyncio.gather(*busy, other, return_exceptions=True)

    refused = [each for each in ended if isinstance(each, TooManyInFlight)]
    assert len(refused) == 9
    assert refused[0].retry_after_seconds == 1
    assert ended.count("done") == MAX_WAITING + 1


async def test_many_queries_at_once_take_one_slice_before_others_run(scheduler: Scheduler) -> None:
    """All queries of a key in one round of the loop share one slice at once."""
    seen: list[int] = []
    tasks = [
        asyncio.create_task(query(scheduler, Metered(slices(1, lambda: seen.append(1))), "key"))
        for _ in range(40)
    ]

    await asyncio.sleep(0)

    assert len(seen) <= 1
    await asyncio.gather(*tasks)


async def test_many_short_queries_of_a_key_are_all_answered(scheduler: Scheduler) -> None:
    """Short queries wait for the next slice, not in the queue of long queries."""
    tasks = [
        asyncio.create_task(query(scheduler, Metered(renderings()), "key"))
        for _ in range(20 * MAX_WAITING)
    ]

    assert await asyncio.gather(*tasks) == ["done"] * len(tasks)


async def test_short_queries_of_a_key_are_answered_in_turn(scheduler: Scheduler) -> None:
    """First come, first served: a new query does not overtake waiting ones."""
    seen: list[int] = []

    async def ask(number: int) -> None:
        await query(scheduler, Metered(renderings()), "key")
        seen.append(number)

    early = [asyncio.create_task(ask(number)) for number in range(8)]
    await asyncio.sleep(0)
    late = [asyncio.create_task(ask(number)) for number in range(8, 12)]
    await asyncio.gather(*early, *late)

    assert seen == [*range(12)]


async def test_a_dropped_query_takes_no_room(scheduler: Scheduler) -> None:
    """A query cancelled before its first slice makes space for the next."""
    tasks = [asyncio.create_task(query(scheduler, Metered(slices(1)), "key")) for _ in range(4)]
    await asyncio.sleep(0)
    for task in tasks[1:3]:
        task.cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), timeout=5)

    assert [task.cancelled() for task in tasks] == [False, True, True, False]


async def test_short_queries_are_never_refused(scheduler: Scheduler) -> None:
    """Long queries of the key do not put its short ones into the queue of long queries."""

    def short() -> Work[str]:
        for _ in range(6):
            yield SLICE_STEPS // 10
        return "done"

    long = [asyncio.create_task(query(scheduler, Metered(slices(50)), "key")) for _ in range(32)]
    await asyncio.sleep(0)
    queries = [query(scheduler, Metered(short()), f"key {at % 2}") for at in range(500)]
    queries += [query(scheduler, Metered(short()), "key") for _ in range(100)]

    assert await asyncio.gather(*queries) == ["done"] * 600
    assert await asyncio.gather(*long) == ["done"] * 32


async def test_long_blocks_cost_turns(scheduler: Scheduler) -> None:
    """A key with blocks of many slices gets no more steps than other keys."""
    seen = dict.fromkeys(("long", "short"), 0)

    def work(key: str, steps: int) -> Work[str]:
        while seen["short"] < 50 * SLICE_STEPS:
            seen[key] += steps
            yield steps
        return "done"

    await asyncio.gather(
        query(scheduler, Metered(work("long", 10 * SLICE_STEPS)), "long"),
        query(scheduler, Metered(work("short", SLICE_STEPS // 2)), "short"),
    )

    assert seen["long"] <= 90 * SLICE_STEPS


async def test_a_query_past_its_budget_ends(scheduler: Scheduler) -> None:
    """Other queries of the key continue."""
    costly = query(scheduler, Metered(slices(LONG), 3 * SLICE_STEPS), "key")
    fine = query(scheduler, Metered(slices(LONG)), "key")

    ended = await asyncio.gather(costly, fine, return_exceptions=True)

    assert isinstance(ended[0], OutOfSteps)
    assert ended[1] == "done"


async def test_work_that_nobody_waits_for_is_dropped(scheduler: Scheduler) -> None:
    """A cancelled request takes no more slices."""
    seen: list[int] = []
    gone = [
        asyncio.create_task(query(scheduler, Metered(slices(1_000, lambda: seen.append(1))), "key"))
        for _ in range(MAX_WAITING)
    ]
    for _ in range(4 * MAX_WAITING):
        await asyncio.sleep(0)
    before = len(seen)
    for task in gone:
        task.cancel()

    assert await query(scheduler, Metered(slices(LONG)), "key") == "done"
    assert len(seen) <= before + 1


async def test_first_slices_of_many_keys_take_turns(scheduler: Scheduler) -> None:
    """However many keys wait for a first slice, other tasks run after a slice or so."""
    begun: list[int] = []

    def note(key: int) -> Work[str]:
        yield SLICE_STEPS - 1
        begun.append(key)
        return "done"

    tasks = [
        asyncio.create_task(query(scheduler, Metered(note(key)), f"key {key}"))
        for key in [*range(10)] * 3
    ]
    most = before = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        if before >= 10:  # those that came in one turn have begun
            most = max(most, len(begun) - before)
        before = len(begun)

    assert sorted(begun) == sorted([*range(10)] * 3)
    assert most <= 5  # not one of each key
