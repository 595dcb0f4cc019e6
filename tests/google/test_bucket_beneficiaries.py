"""Calls that several keys share, while they wait for the gateway's share of Google's quota."""

from anyio import wait_all_tasks_blocked

from gateway.google.quota import MAX_WAITING_PER_KEY
from gateway.google.sheets import Beneficiaries, CallContext
from tests.google.bucket_subject import A, B, C, Subject, cancelled, ends, refused, sent


async def test_a_shared_call_is_sent_at_the_first_turn() -> None:
    """A call that several keys share is sent at the first turn of any of these keys."""
    subject = await Subject().emptied()
    beneficiaries = Beneficiaries(["a"])
    tasks = subject.calls(A, A, A, CallContext("a", beneficiaries=beneficiaries), C)
    await wait_all_tasks_blocked()
    beneficiaries.join("b")
    tasks += subject.calls(B)
    await subject.timers.advance(10.0)
    await sent(*tasks)
    shared_at = [call_context.beneficiaries for call_context, _ in subject.sent].index(
        beneficiaries
    )

    assert shared_at == 2  # at the turn of b, after the first turns of a and c
    assert subject.order() == ["a", "c", "a", "a", "b", "a"]


async def test_the_wait_of_a_shared_call_is_that_of_its_first_turn() -> None:
    """The queue of one key does not refuse a shared call that another key can send in time."""
    subject = await Subject().emptied()
    tasks = subject.calls(*[A] * 9)
    await wait_all_tasks_blocked()
    refusals = subject.calls(A)
    tasks += subject.calls(CallContext("a", beneficiaries=Beneficiaries(["a", "b"])))
    await wait_all_tasks_blocked()
    await refused(*refusals)
    await subject.timers.advance(12.0)
    ended = await ends(*tasks)

    assert ended[9] is None


async def test_a_key_that_joins_extends_the_wait_of_a_call() -> None:
    """The waiting limit of a shared call counts from the time at which the last key joined."""
    subject = await Subject().emptied()
    beneficiaries = Beneficiaries(["a"])
    greedy = subject.calls(*[A] * 7)
    shared = subject.calls(CallContext("a", beneficiaries=beneficiaries))
    await subject.timers.advance(5.0)
    others = subject.calls(*(CallContext(str(number)) for number in range(6)))
    await subject.timers.advance(3.0)
    beneficiaries.join("b")
    await subject.timers.advance(10.0)
    await refused(*greedy[5:])
    await sent(*greedy[:5], *others, *shared)

    assert subject.sent[-1][0].beneficiaries is beneficiaries
    assert 10.0 < subject.sent[-1][1] < 8.0 + 10.0


async def test_a_shared_call_is_limited_by_its_shortest_queue() -> None:
    """A key with a full queue does not refuse a call that a key with a short queue shares."""
    subject = await Subject(max_waiting_seconds=1e9).emptied()
    tasks = subject.calls(*[A] * MAX_WAITING_PER_KEY)
    await wait_all_tasks_blocked()
    own = subject.calls(CallContext("a", beneficiaries=Beneficiaries(["a"])))
    shared = subject.calls(
        *(CallContext("a", beneficiaries=Beneficiaries(keys)) for keys in ("ab", "ba"))
    )
    await wait_all_tasks_blocked()
    waits = [not task.done() for task in shared]
    await refused(*own)
    await cancelled(*tasks, *shared)

    assert waits == [True, True]
    assert subject.bucket.waiting_count == 0
