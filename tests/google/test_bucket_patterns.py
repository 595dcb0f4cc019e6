"""Properties of a bucket for random sequences of calls."""

import asyncio

from anyio import wait_all_tasks_blocked
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import QuotaSpent
from gateway.google.sheets import CallContext
from tests.google.bucket_subject import CHECK, A, B, C, Subject, ends

ACTS = st.one_of(
    st.tuples(st.just("call"), st.sampled_from([A, B, C, CHECK]), st.integers(1, 12)),
    st.tuples(st.just("wait"), st.floats(0.0, 20.0), st.just(0)),
    st.tuples(st.just("cancel"), st.floats(0.0, 1.0), st.just(0)),
    st.tuples(st.just("refuse"), st.sampled_from([None, 5, 30, 60]), st.just(0)),
)


@settings(max_examples=100)
@given(per_minute=st.sampled_from([1, 9, 54]), acts=st.lists(ACTS, max_size=40))
async def test_any_pattern_of_calls_is_kept_in_bounds(
    per_minute: int, acts: list[tuple[str, object, int]]
) -> None:
    """For any calls, cancellations and 429s, the quota holds, waits end, and no timer remains."""
    subject = Subject(per_minute=per_minute)
    tasks: list[asyncio.Task[None]] = []
    for name, argument, count in acts:
        match name, argument:
            case "call", CallContext():
                tasks += subject.calls(*[argument] * count)
            case "wait", float():
                await subject.timers.advance(argument)
            case "cancel", float() if tasks:
                tasks[int(argument * (len(tasks) - 1))].cancel()
            case "refuse", int() | None:
                subject.bucket.refused(sent_at=subject.timers.clock(), limit=argument)
        await wait_all_tasks_blocked()
    await subject.timers.advance(10.0)
    kinds = {type(end) for end in await ends(*tasks)}

    instants = [at for _, at in subject.sent]
    most = per_minute + max(1, per_minute // 9)
    assert all(sum(at <= each <= at + 60 for each in instants) <= most for at in instants)
    assert subject.longest_wait <= 10.001
    assert kinds <= {type(None), QuotaSpent, asyncio.CancelledError}
    assert (subject.bucket.waiting_count, subject.timers.pending()) == (0, [])
