"""On whose behalf Google is called."""

import asyncio

import pytest

from gateway.google.call_context import (
    Beneficiaries,
    CallContext,
    current_call_context,
    in_call_context,
)


async def test_a_task_inherits_the_errand_it_was_begun_in() -> None:
    """What a block sets in motion is of its errand, also after the block has ended."""

    async def call_context() -> CallContext:
        return current_call_context()

    with in_call_context(CallContext("k1")):
        task = asyncio.create_task(call_context())
        within = current_call_context()

    assert within == await task == CallContext("k1")
    assert current_call_context() == CallContext()


def test_errands_nest() -> None:
    """A verification within an errand ends with its block, even by an error."""
    with in_call_context(CallContext("k1")):
        with pytest.raises(KeyError), in_call_context(CallContext("k1", is_verification=True)):
            raise KeyError(current_call_context().is_verification)
        after = current_call_context()

    assert after == CallContext("k1")


def test_a_company_tells_who_joins() -> None:
    """Each key once: those that are in it at once, others when they come, none after leaving."""
    beneficiaries = Beneficiaries(["a", "b"])
    told: list[str] = []
    beneficiaries.follow(told.append)
    for key_id in "bca":
        beneficiaries.join(key_id)
    beneficiaries.leave(told.append)
    beneficiaries.join("d")

    assert told == ["a", "b", "c"]


def test_an_errand_is_the_same_in_whatever_company() -> None:
    """Who waits beside its key changes while it waits."""
    assert CallContext("k1", beneficiaries=Beneficiaries(["a"])) == CallContext("k1")
