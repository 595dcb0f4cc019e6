"""When calls are sent, as those who wait for them learn it."""

import asyncio

from gateway.google.counted import Counted
from gateway.google.sent_at import record_sent_at, recording_sent_at
from tests.clock import ManualClock


async def test_a_call_departs_when_it_is_sent() -> None:
    """What is noted is the moment of sending, of the last attempt if there are several."""
    clock = ManualClock()
    guard = Counted(clock)

    async def call() -> float:
        return clock()

    with recording_sent_at() as sent_at:
        before = sent_at.at_seconds
        clock.advance(3.0)
        first = await guard(call, is_write=False)
        clock.advance(2.0)
        second = await guard(call, is_write=False)

    assert before is None
    assert sent_at.at_seconds == second == first + 2.0


async def test_calls_side_by_side_have_their_own_departures() -> None:
    """Who waits for both learns of the later one."""

    async def call(at_seconds: float) -> float | None:
        with recording_sent_at() as sent_at:
            record_sent_at(at_seconds)
            await asyncio.sleep(0)
        return sent_at.at_seconds

    with recording_sent_at() as outer:
        both = await asyncio.gather(call(1.0), call(2.0))

    assert list(both) == [1.0, 2.0]
    assert outer.at_seconds == 2.0


def test_nobody_need_listen() -> None:
    """A call that nobody waits for departs all the same."""
    record_sent_at(1.0)

    with recording_sent_at() as sent_at:
        assert sent_at.at_seconds is None
