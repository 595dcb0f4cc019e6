"""Order of calls in the fair queue."""

import asyncio
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gateway.google.quota import FairQueue, Waiter
from gateway.google.sheets import Beneficiaries, CallContext

CHECK = CallContext("a", is_verification=True)
CALL_CONTEXTS = st.one_of(st.sampled_from("abcd").map(CallContext), st.just(CHECK))


def waiter(call_context: CallContext) -> Waiter:
    turn = asyncio.get_running_loop().create_future()
    return Waiter(call_context=call_context, until_seconds=0.0, turn=turn)


def joined(*call_contexts: CallContext) -> FairQueue:
    turns = FairQueue()
    for call_context in call_contexts:
        turns.join(waiter(call_context))
    return turns


def order(turns: FairQueue) -> list[CallContext]:
    """Return the call contexts in the order of their turns, and empty the queue."""
    return [turns.take_next().call_context for _ in range(len(turns))]


async def test_keys_take_turns() -> None:
    """In each round, the queue returns one call of each key."""
    a, b, c = CallContext("a"), CallContext("b"), CallContext("c")

    assert order(joined(a, a, a, a, b, c, b)) == [a, b, c, a, b, a, a]


async def test_verifications_go_first() -> None:
    """Verifications are before all other calls, in the order of joining."""
    a, b = CallContext("a"), CallContext("b")
    other = CallContext("b", is_verification=True)

    assert order(joined(a, b, CHECK, a, other)) == [CHECK, other, a, b, a]


async def test_a_key_that_had_its_turn_is_last() -> None:
    """A key that joins again after its turn is behind all waiting keys."""
    a, b, c = CallContext("a"), CallContext("b"), CallContext("c")
    turns = joined(a, b, c)
    turns.take_next()
    turns.join(waiter(a))

    assert order(turns) == [b, c, a]


@given(
    call_contexts=st.lists(CALL_CONTEXTS, max_size=30), taken=st.integers(0, 30), last=CALL_CONTEXTS
)
async def test_before_counts_the_calls_ahead(
    call_contexts: list[CallContext], taken: int, last: CallContext
) -> None:
    """`before` is the number of calls that have their turn before a call that joined last."""
    turns = joined(*call_contexts)
    for _ in range(min(taken, len(call_contexts))):
        turns.take_next()
    newcomer = waiter(last)
    turns.join(newcomer)
    before, total = turns.before(newcomer), len(turns)
    rank = next(at for at in range(total) if turns.take_next() is newcomer)

    assert rank == before


@given(
    call_contexts=st.lists(CALL_CONTEXTS, min_size=1, max_size=20),
    places=st.lists(st.integers(0, 19), max_size=5),
)
async def test_a_call_that_leaves_is_removed(
    call_contexts: list[CallContext], places: list[int]
) -> None:
    """Other calls keep their order when calls leave, and leaving twice has no effect."""
    waiters = [waiter(call_context) for call_context in call_contexts]
    leaving = [waiters[place % len(waiters)] for place in places]
    turns = FairQueue()
    for each in waiters:
        turns.join(each)
    for each in leaving:
        turns.leave(each)
    left = [turns.take_next() for _ in range(len(turns))]

    assert set(left) == set(waiters) - set(leaving)
    assert len(turns) == 0
    for call_context in set(call_contexts):
        assert [each for each in left if each.call_context == call_context] == [
            each for each in waiters if each.call_context == call_context and each not in leaving
        ]


async def test_a_shared_call_uses_the_first_turn() -> None:
    """A call that several keys share uses one turn, of the key that is first in order."""
    a, b = CallContext("a"), CallContext("b")
    turns = joined(a, a)
    beneficiaries = Beneficiaries("a")
    shared = waiter(CallContext("a", beneficiaries=beneficiaries))
    turns.join(shared)
    shortest = [turns.shortest(shared)]
    for _ in range(2):
        beneficiaries.join("b")
    shortest.append(turns.shortest(shared))
    turns.join(waiter(b))
    before = turns.before(shared)
    taken = [turns.take_next() for _ in range(2)]

    assert shortest == [3, 1]
    assert (len(turns), before) == (2, 1)
    assert taken[1] is shared
    assert order(turns) == [a, b]


async def test_a_key_that_joins_too_late_is_not_queued() -> None:
    """A key that joins a call already taken, or a verification, is not added to the queue."""
    groups = [Beneficiaries("a"), Beneficiaries("a")]
    check = CallContext("a", is_verification=True, beneficiaries=groups[0])
    turns = joined(check, CallContext("a", beneficiaries=groups[1]))
    for group in groups:
        group.join("b")
    first = turns.take_next()
    groups[0].join("c")
    (second,) = turns
    shortest = turns.shortest(second)
    turns.leave(second)
    groups[1].join("c")
    turns.join(waiter(CallContext("c")))

    assert first.call_context is check
    assert (shortest, len(turns), order(turns)) == (1, 1, [CallContext("c")])


@given(
    call_contexts=st.lists(CALL_CONTEXTS, min_size=1, max_size=12),
    joins=st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 11)), max_size=20),
)
async def test_iteration_is_in_the_order_of_turns(
    call_contexts: list[CallContext], joins: list[tuple[str, int]]
) -> None:
    """Iteration and `before` give the order in which `take_next` returns the calls."""
    groups = [Beneficiaries() for _ in call_contexts]
    waiters = [
        waiter(replace(call_context, beneficiaries=group))
        for call_context, group in zip(call_contexts, groups, strict=True)
    ]
    turns = FairQueue()
    for each in waiters:
        turns.join(each)
    for key_id, at in joins:
        groups[at % len(groups)].join(key_id)
    told = list(turns)
    ranks = [turns.before(each) for each in told]
    taken = [turns.take_next() for _ in range(len(turns))]

    assert told == taken
    assert ranks == list(range(len(waiters)))
    assert len(turns) == 0
