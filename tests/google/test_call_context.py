"""On whose behalf Google is called."""

import asyncio

import pytest

from gateway.google.call_context import Company, Errand, current_errand, on_errand


async def test_a_task_inherits_the_errand_it_was_begun_in() -> None:
    """What a block sets in motion is of its errand, also after the block has ended."""

    async def errand() -> Errand:
        return current_errand()

    with on_errand(Errand("k1")):
        task = asyncio.create_task(errand())
        within = current_errand()

    assert within == await task == Errand("k1")
    assert current_errand() == Errand()


def test_errands_nest() -> None:
    """A verification within an errand ends with its block, even by an error."""
    with on_errand(Errand("k1")):
        with pytest.raises(KeyError), on_errand(Errand("k1", is_verification=True)):
            raise KeyError(current_errand().is_verification)
        after = current_errand()

    assert after == Errand("k1")


def test_a_company_tells_who_joins() -> None:
    """Each key once: those that are in it at once, others when they come, none after leaving."""
    company = Company(["a", "b"])
    told: list[str] = []
    company.follow(told.append)
    for key_id in "bca":
        company.join(key_id)
    company.leave(told.append)
    company.join("d")

    assert told == ["a", "b", "c"]


def test_an_errand_is_the_same_in_whatever_company() -> None:
    """Who waits beside its key changes while it waits."""
    assert Errand("k1", company=Company(["a"])) == Errand("k1")
