"""When calls are sent, as those who wait for them learn it."""

import asyncio

from gateway.google.counted import Counted
from gateway.google.sent_at import departed, noting_departure
from tests.clock import ManualClock


async def test_a_call_departs_when_it_is_sent() -> None:
    """What is noted is the moment of sending, of the last attempt if there are several."""
    clock = ManualClock()
    guard = Counted(clock)

    async def call() -> float:
        return clock()

    with noting_departure() as departure:
        before = departure.at_seconds
        clock.advance(3.0)
        first = await guard(call, is_write=False)
        clock.advance(2.0)
        second = await guard(call, is_write=False)

    assert before is None
    assert departure.at_seconds == second == first + 2.0


async def test_calls_side_by_side_have_their_own_departures() -> None:
    """Who waits for both learns of the later one."""

    async def call(at_seconds: float) -> float | None:
        with noting_departure() as departure:
            departed(at_seconds)
            await asyncio.sleep(0)
        return departure.at_seconds

    with noting_departure() as outer:
        both = await asyncio.gather(call(1.0), call(2.0))

    assert list(both) == [1.0, 2.0]
    assert outer.at_seconds == 2.0


def test_nobody_need_listen() -> None:
    """A call that nobody waits for departs all the same."""
    departed(1.0)

    with noting_departure() as departure:
        assert departure.at_seconds is None
