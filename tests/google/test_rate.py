"""The rate of calls, and the limit learnt from Google's 429s."""

from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.google.quota import Rate, configured_limit, learnt_limit

SECONDS = st.one_of(
    st.just(0.0), st.floats(0.0, 3.0), st.floats(0.0, 80.0), st.sampled_from([10 / 9, 60.0])
)


def sent(rate: Rate, start: float, seconds: float) -> list[float]:
    """Return the times in seconds of calls if a call is always waiting."""
    instants: list[float] = []
    now = start
    while now <= start + seconds:
        while rate.take(now):
            instants.append(now)
        now = max(rate.free_at(now), now + 1e-9)
    return instants


def most_in_a_minute(instants: list[float]) -> int:
    """Return the most calls in any 60 s; 1 ms is added against rounding errors."""
    return max(bisect_right(instants, at + 60.001) - n for n, at in enumerate(instants))


@settings(max_examples=300)
@given(
    per_minute=st.integers(1, 200),
    steps=st.lists(st.tuples(SECONDS, st.integers(1, 70), st.integers(0, 3)), max_size=60),
)
def test_no_minute_has_more_calls_than_rate_and_burst(
    per_minute: int, steps: list[tuple[float, int, int]]
) -> None:
    """For any calls, some of them given back, no minute has more calls than rate plus burst."""
    rate, now, instants = Rate(per_minute), 1000.0, [1000.0 - 1e6]
    for seconds, wanted, given_back in steps:
        now += seconds
        granted = sum(rate.take(now) for _ in range(wanted))
        unused = min(granted, given_back)
        for _ in range(unused):
            rate.give_back()
        instants += [now] * (granted - unused)

    assert most_in_a_minute(instants) <= per_minute + max(1, per_minute // 9)


@pytest.mark.parametrize(
    ("per_minute", "most"), [(54, 60), (1, 2), (540, 600)], ids=["default", "least", "large"]
)
def test_a_greedy_caller_gets_the_whole_rate(per_minute: int, most: int) -> None:
    """A caller that always waits gets the burst at once, and then the whole rate evenly."""
    instants = sent(Rate(per_minute), 0.0, 600.0)

    assert most_in_a_minute(instants) == most
    assert len(instants) == pytest.approx(10 * per_minute, abs=1 + per_minute / 9)


@given(quota=st.integers(1, 100_000))
def test_a_learnt_limit_keeps_to_its_quota(quota: int) -> None:
    """Rate and burst of a learnt limit together are at most Google's quota per minute."""
    limit = learnt_limit(quota)

    assert int(limit.per_minute + limit.burst + 1e-6) <= quota
    assert limit.burst >= 1


@pytest.mark.parametrize(
    ("limit", "per_minute"),
    [(30, 27.0), (1, 0.9), (60, 54), (300, 54), (None, 54), (0, 54)],
    ids=["lower", "least", "as configured", "another limit", "not told", "zero"],
)
def test_a_lower_limit_is_learnt(limit: int | None, per_minute: float) -> None:
    """After a 429 with a lower limit, the rate is nine tenths of that limit."""
    rate = Rate(54)
    rate.refused(100.0, sent_at=99.0, limit=limit)

    assert rate.limit(100.0).per_minute == pytest.approx(per_minute)
    assert most_in_a_minute(sent(rate, 100.0, 300.0)) <= (limit or 60)


def test_a_learnt_limit_only_falls() -> None:
    """A 429 with a higher limit than the learnt limit changes nothing."""
    rate = Rate(54)
    for at, limit in enumerate([30, 50, 20, 60]):
        rate.refused(100.0 + at, sent_at=99.0, limit=limit)

    assert rate.limit(110.0).per_minute == 18


def test_the_configured_rate_returns() -> None:
    """Ten minutes after the last 429, the configured rate is used again."""
    rate = Rate(54)
    rate.refused(100.0, sent_at=99.0, limit=30)

    assert rate.limit(699.9).per_minute == 27
    assert rate.limit(700.0) == configured_limit(54)
    assert most_in_a_minute(sent(rate, 700.0, 200.0)) == 60


def test_no_burst_after_a_pause() -> None:
    """After a 429, no call is sent for five seconds, and then calls are sent one by one."""
    rate = Rate(54)
    rate.take(100.0)
    rate.refused(100.3, sent_at=100.0, limit=None)
    instants = sent(rate, 100.3, 10.0)

    assert instants[0] == pytest.approx(105.3)
    assert all(later - earlier > 1.1 for earlier, later in pairwise(instants))


def test_pauses_double_with_each_429() -> None:
    """Each 429 after a pause doubles the next pause, up to 60 s."""
    rate, now, pauses = Rate(54), 100.0, []
    for _ in range(6):
        rate.refused(now, sent_at=now, limit=None)
        pauses.append(rate.free_at(now) - now)
        now = rate.free_at(now)

    assert pauses == [5, 10, 20, 40, 60, 60]


def test_calls_in_flight_count_as_one_refusal() -> None:
    """A 429 to a call that was sent before the pause does not prolong the pause."""
    rate = Rate(54)
    for at in (100.0, 100.1, 101.0, 104.0):
        rate.refused(at, sent_at=99.5, limit=None)

    assert rate.free_at(104.0) == 105.0


def test_the_pause_is_reset_after_a_minute() -> None:
    """After a minute without a 429, the next pause is five seconds again."""
    rate = Rate(54)
    rate.refused(100.0, sent_at=99.0, limit=None)
    rate.refused(105.0, sent_at=105.0, limit=None)  # the pause ends at 115 s
    rate.refused(175.0, sent_at=175.0, limit=None)

    assert rate.free_at(175.0) == 180.0
