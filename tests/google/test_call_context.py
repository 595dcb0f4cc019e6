"""Call contexts, beneficiaries, and the time at which a call is sent."""

import asyncio

import pytest

from gateway.google.sheets import (
    Beneficiaries,
    CallContext,
    current_call_context,
    in_call_context,
    record_sent_at,
    recording_sent_at,
)
from tests.google.pipelines import Bench


async def test_a_task_inherits_the_call_context() -> None:
    """A task started in an `in_call_context` block keeps the call context after the block ends."""

    async def call_context() -> CallContext:
        return current_call_context()

    with in_call_context(CallContext("k1")):
        task = asyncio.create_task(call_context())
        within = current_call_context()

    assert within == await task == CallContext("k1")
    assert current_call_context() == CallContext()


def test_call_contexts_nest() -> None:
    """An inner call context ends with its block, even if the block raises."""
    with in_call_context(CallContext("k1")):
        with pytest.raises(KeyError), in_call_context(CallContext("k1", is_verification=True)):
            raise KeyError(current_call_context().is_verification)
        after = current_call_context()

    assert after == CallContext("k1")


def test_beneficiaries_are_the_keys_of_all_joined_groups() -> None:
    """Beneficiaries have each key once, and later keys of a joined group too."""
    beneficiaries, group = Beneficiaries(["a", "b"]), Beneficiaries(["a", "c"])
    beneficiaries.join_as(CallContext("a", beneficiaries=group))
    group.join_as(CallContext("b", beneficiaries=beneficiaries))
    before = [*beneficiaries.key_ids]
    for key_id in "bda":
        group.join(key_id)

    assert before == ["a", "b", "c"]
    assert [*beneficiaries.key_ids] == ["a", "b", "c", "d"]


def test_beneficiaries_are_not_part_of_equality() -> None:
    """Beneficiaries do not affect equality of call contexts, because keys can join later."""
    assert CallContext("k1", beneficiaries=Beneficiaries(["a"])) == CallContext("k1")


async def test_sent_at_is_the_time_of_the_last_call() -> None:
    """`sent_at` is None before the first call and then the time of the last call."""
    bench = Bench()
    clock = bench.timers.clock

    async def call() -> float:
        return clock()

    with recording_sent_at() as sent_at:
        before = sent_at.at_seconds
        clock.advance(3.0)
        first = await bench.make(call)
        clock.advance(2.0)
        second = await bench.make(call)

    assert before is None
    assert sent_at.at_seconds == second == first + 2.0


async def test_concurrent_calls_have_their_own_sent_at() -> None:
    """An outer recorder of two concurrent calls has the later time."""

    async def call(at_seconds: float) -> float | None:
        with recording_sent_at() as sent_at:
            record_sent_at(at_seconds)
            await asyncio.sleep(0)
        return sent_at.at_seconds

    with recording_sent_at() as outer:
        both = await asyncio.gather(call(1.0), call(2.0))

    assert list(both) == [1.0, 2.0]
    assert outer.at_seconds == 2.0


def test_sent_at_without_a_recorder() -> None:
    """`record_sent_at` outside of a recorder does nothing."""
    record_sent_at(1.0)

    with recording_sent_at() as sent_at:
        assert sent_at.at_seconds is None
