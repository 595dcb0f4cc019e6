"""Waiting for the gateway's share of Google's quota."""

import asyncio

import pytest
from anyio import wait_all_tasks_blocked

from gateway.google.quota import MAX_WAITING, MAX_WAITING_PER_KEY, Bucket, Rate
from gateway.google.sheets import CallContext
from tests.google.bucket_subject import (
    CHECK,
    INTERVAL,
    A,
    B,
    C,
    Subject,
    cancelled,
    ends,
    refused,
    sent,
)


async def test_a_burst_is_sent_at_once_then_one_by_one() -> None:
    """Six calls are sent at once. Further calls are sent one by one at the rate, with one timer."""
    subject = Subject()
    tasks = subject.calls(*[A] * 9)
    await wait_all_tasks_blocked()
    at_once, timers = len(subject.sent), len(subject.timers.pending())
    await subject.timers.advance(10.0)
    await sent(*tasks)

    assert (at_once, timers) == (6, 1)
    assert [at for _, at in subject.sent[6:]] == pytest.approx([INTERVAL, 2 * INTERVAL, 10 / 3])
    assert subject.timers.pending() == []


async def test_keys_take_turns() -> None:
    """A key with one call waits for one call of a busy key, not for all its calls."""
    subject = await Subject().emptied()
    tasks = subject.calls(A, A, A, A, B, C)
    await subject.timers.advance(10.0)
    await sent(*tasks)

    assert subject.order() == ["a", "b", "c", "a", "a", "a"]


async def test_verifications_go_first() -> None:
    """A verification is sent before all waiting calls of any key."""
    subject = await Subject().emptied()
    tasks = subject.calls(A, A, B, CHECK)
    await subject.timers.advance(10.0)
    await sent(*tasks)

    assert subject.order() == ["z", "a", "b", "a"]


@pytest.mark.parametrize(("is_write", "outcome"), [(False, None), (True, "not_applied")])
async def test_a_call_that_would_wait_too_long_fails_at_once(
    is_write: bool, outcome: str | None
) -> None:
    """A call that cannot be sent in time fails at once and says after which seconds to retry."""
    subject = await Subject(is_write=is_write).emptied()
    tasks = subject.calls(*[A] * 9)
    await wait_all_tasks_blocked()
    (error,) = await refused(*subject.calls(A))
    await subject.timers.advance(10.0)
    await sent(*tasks)

    assert (error.status, error.code, error.retryable) == (503, 5030, True)
    assert (error.outcome, error.retry_after_seconds) == (outcome, 12)
    assert not error.is_from_google


async def test_calls_of_another_key_displace_calls_of_a_busy_key() -> None:
    """Calls of another key are sent in turn; calls of the busy key that are then too late fail."""
    subject = await Subject().emptied()
    greedy = subject.calls(*[A] * 9)
    await wait_all_tasks_blocked()
    polite = subject.calls(B, B)
    await subject.timers.advance(10.0)
    await sent(*polite, *greedy[:7])

    assert subject.order() == ["a", "b", "a", "b", *"aaaaa"]
    assert len(await refused(*greedy[7:])) == 2


async def test_a_call_never_waits_longer_than_the_limit() -> None:
    """A call fails if a verification delays it beyond `max_waiting_seconds`."""
    subject = await Subject(max_waiting_seconds=3.0).emptied()
    greedy = subject.calls(A, A)
    await wait_all_tasks_blocked()
    subject.calls(CHECK)
    await subject.timers.advance(3.0)

    assert [task.done() for task in greedy] == [True, True]
    assert len(await refused(greedy[1])) == 1


async def test_a_waiting_limit_of_zero() -> None:
    """With `max_waiting_seconds=0`, a call is sent at once or fails at once."""
    subject = await Subject(max_waiting_seconds=0.0).emptied()
    errors = await refused(*subject.calls(A, CHECK))
    await subject.timers.advance(INTERVAL)
    await sent(*subject.calls(A))

    assert [error.retry_after_seconds for error in errors] == [2, 2]
    assert subject.timers.pending() == []


async def test_the_queues_are_bounded() -> None:
    """The number of waiting calls is limited for each key and in total."""
    subject = await Subject(max_waiting_seconds=1e9).emptied()
    one_key = subject.calls(*[A] * (MAX_WAITING_PER_KEY + 1))
    await wait_all_tasks_blocked()
    others = subject.calls(*(CallContext(str(key)) for key in range(MAX_WAITING)))
    await wait_all_tasks_blocked()

    assert len(await refused(one_key[-1], *others[-MAX_WAITING_PER_KEY:])) == 51
    assert subject.bucket.waiting_count == MAX_WAITING
    await cancelled(*one_key[:-1], *others[:-MAX_WAITING_PER_KEY])


async def test_a_cancelled_call_uses_no_quota() -> None:
    """The next call is sent in place of a cancelled call, at the same time."""
    subject = await Subject().emptied()
    first, second = subject.calls(A, B)
    await wait_all_tasks_blocked()
    await cancelled(first)
    await subject.timers.advance(INTERVAL)
    await sent(second)

    assert subject.order() == ["b"]
    assert subject.sent[0][1] == pytest.approx(INTERVAL)
    assert subject.bucket.waiting_count == 0


async def test_no_timer_is_left_after_cancellation() -> None:
    """If all waiting calls are cancelled, neither a timer nor a waiting call remains."""
    subject = await Subject().emptied()
    tasks = subject.calls(A, B, CHECK)
    await wait_all_tasks_blocked()
    await cancelled(*tasks)

    assert subject.timers.pending() == []
    assert subject.bucket.waiting_count == 0


async def test_a_call_cancelled_at_its_turn_passes_the_turn_on() -> None:
    """If a call is cancelled when its turn has come, the next call is sent instead."""
    subject = await Subject().emptied()
    first, second = subject.calls(A, B)
    await wait_all_tasks_blocked()
    timer = subject.timers.pending()[0]
    subject.timers.clock.advance(INTERVAL)
    timer.act()
    first.cancel()
    await ends(first, second)

    assert first.cancelled()
    assert subject.order() == ["b"]
    assert subject.timers.pending() == []


async def test_a_call_cancelled_before_its_turn_is_skipped() -> None:
    """A turn is not given to a call whose cancellation has been requested."""
    subject = await Subject().emptied()
    first, second = subject.calls(A, B)
    await wait_all_tasks_blocked()
    first.cancel()
    timer = subject.timers.pending()[0]
    subject.timers.clock.advance(INTERVAL)
    timer.act()
    await ends(first, second)

    assert first.cancelled()
    assert subject.order() == ["b"]


async def test_a_late_timer_keeps_the_order() -> None:
    """If the timer is late, a new call still waits behind the call that is due."""
    subject = await Subject().emptied()
    waiting = subject.calls(A)
    await wait_all_tasks_blocked()
    subject.timers.clock.advance(INTERVAL)
    late = subject.calls(B)
    await sent(*waiting)
    is_waiting = not late[0].done()
    await subject.timers.advance(INTERVAL)
    await sent(*late)

    assert is_waiting
    assert subject.order() == ["a", "b"]


async def test_an_early_timer_is_set_again() -> None:
    """If the timer is early, no call is sent before its time by the clock."""
    subject = await Subject().emptied()
    (task,) = subject.calls(A)
    await wait_all_tasks_blocked()
    subject.timers.clock.advance(INTERVAL - 0.0001)
    subject.timers.pending()[0].act()
    await wait_all_tasks_blocked()
    was_sent = bool(subject.sent)
    await subject.timers.advance(0.001)
    await sent(task)

    assert not was_sent
    assert subject.order() == ["a"]


async def test_a_429_pauses_all_calls() -> None:
    """After a 429, no call is sent for five seconds, not even a verification."""
    subject = Subject()
    subject.bucket.refused(sent_at=subject.began, limit=None)
    tasks = subject.calls(A, CHECK)
    await subject.timers.advance(10.0)
    await sent(*tasks)

    assert subject.order() == ["z", "a"]
    assert [at for _, at in subject.sent] == pytest.approx([5, 5 + INTERVAL])


async def test_a_429_ends_waits_that_became_too_long() -> None:
    """A waiting call fails at once if a pause after 429s makes its wait too long."""
    subject = await Subject().emptied()
    now = subject.timers.clock
    tasks = subject.calls(A, A)
    await wait_all_tasks_blocked()
    for _ in range(3):  # pauses of 5, 10 and 20 seconds
        subject.bucket.refused(sent_at=now(), limit=None)
        now.advance(0.1)
    errors = await refused(*tasks)

    assert [error.retry_after_seconds for error in errors] == [10, 10]
    assert subject.timers.pending() == []


async def test_the_rate_is_the_learnt_limit() -> None:
    """`rate_per_second` is lower after a 429 with a lower limit."""
    subject = Subject()
    before = subject.bucket.rate_per_second()
    subject.bucket.refused(sent_at=subject.began, limit=20)

    assert before == pytest.approx(0.9)
    assert subject.bucket.rate_per_second() == pytest.approx(0.3)


async def test_a_bucket_on_the_event_loop_clock() -> None:
    """With the event loop's own clock and timers, waiting calls are sent too."""
    bucket = Bucket(Rate(60_000), is_write=False, max_waiting_seconds=10.0)
    for _ in range(60_000 // 9):
        await bucket.take(A)
    tasks = [asyncio.create_task(bucket.take(A)) for _ in range(5)]
    await asyncio.gather(*tasks)

    assert bucket.waiting_count == 0
