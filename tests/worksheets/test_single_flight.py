"""Running reads that several requests share."""

import asyncio

import pytest
from anyio import wait_all_tasks_blocked

from gateway.google.quota import Bucket, Rate
from gateway.google.sheets import CallContext, current_call_context, in_call_context
from gateway.worksheets.loader import SingleFlight
from tests.google.timers import ManualTimers

BUSY, QUIET = CallContext("busy"), CallContext("quiet")
PER_MINUTE = 9
SECONDS = 60 / PER_MINUTE


@pytest.fixture
def timers() -> ManualTimers:
    return ManualTimers()


@pytest.fixture
async def bucket(timers: ManualTimers) -> Bucket:
    """Calls go one by one, and three calls of one key are waiting."""
    made = Bucket(
        Rate(PER_MINUTE),
        is_write=False,
        max_waiting_seconds=60.0,
        clock=timers.clock,
        set_timer=timers,
    )
    await made.take(CallContext())
    return made


async def call(bucket: Bucket) -> str:
    await bucket.take(current_call_context())
    return "read"


async def asked(
    call_context: CallContext, flight: SingleFlight[str, str], *, stays: bool = True
) -> str:
    """Result of a request that joins a read, or waits for it for a limited time."""
    with in_call_context(call_context):
        if not stays:
            await flight.done_within(0.0)
            return "left"
        return await flight.outcome()


@pytest.mark.parametrize("stays", [True, False], ids=["waits for it", "looks after it"])
async def test_who_joins_a_read_puts_a_turn_into_it(
    bucket: Bucket, timers: ManualTimers, stays: bool
) -> None:
    """The read is sent at the earliest turn of its keys; other calls of the keys wait."""
    with in_call_context(BUSY):
        others = [asyncio.create_task(call(bucket)) for _ in range(3)]
        await wait_all_tasks_blocked()
        flight = SingleFlight({}, "", call(bucket), 0.0)
    joined = asyncio.create_task(asked(QUIET, flight, stays=stays))
    await wait_all_tasks_blocked()
    await timers.advance(2 * SECONDS)
    is_over, others_over = flight.is_over, [other.done() for other in others]
    await timers.advance(2 * SECONDS)
    await asyncio.gather(joined, *others)

    assert is_over
    assert others_over == [True, False, False]


async def test_turns_are_handed_on_to_what_a_read_waits_for(
    bucket: Bucket, timers: ManualTimers
) -> None:
    """If a read waits for another read, the other read gets all its keys, too."""

    async def outer() -> str:
        return await inner.outcome()

    with in_call_context(BUSY):
        others = [asyncio.create_task(call(bucket)) for _ in range(3)]
        await wait_all_tasks_blocked()
        inner = SingleFlight({}, "", call(bucket), 0.0)
        flight = SingleFlight({}, "", outer(), 0.0)
    await wait_all_tasks_blocked()
    joined = asyncio.create_task(asked(QUIET, flight))
    await wait_all_tasks_blocked()
    await timers.advance(2 * SECONDS)
    await wait_all_tasks_blocked()
    is_over = joined.done()
    await timers.advance(2 * SECONDS)
    await asyncio.gather(joined, *others)

    assert is_over
