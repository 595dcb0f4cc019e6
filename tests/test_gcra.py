"""GCRA rate limits with a burst, for keys, wrong keys and Google's quota."""

from bisect import bisect_left
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.gcra import Gcra, RateLimit, Standing, rate_limit

LIMIT = rate_limit(60, burst=3)


def taken(limit: RateLimit = LIMIT, count: int = 3, now: float = 100.0) -> Gcra:
    """Return a limit after this many requests at once."""
    gcra = Gcra()
    for _ in range(count):
        gcra.take(limit, now)
    return gcra


def test_a_burst_then_one_in_each_interval() -> None:
    """60 a minute with a burst of 3 allows three requests at once and then one a second."""
    gcra = Gcra()

    assert [gcra.take(LIMIT, 100.0) for _ in range(5)] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert [gcra.take(LIMIT, 101.0) for _ in range(2)] == [0.0, 1.0]


def test_a_pause_restores_the_burst_only() -> None:
    """However long the pause, at most three requests pass at once."""
    gcra = taken()

    assert [gcra.take(LIMIT, 1e6) for _ in range(4)] == [0.0, 0.0, 0.0, 1.0]


def test_a_price_is_taken_completely_or_not_at_all() -> None:
    """A request whose price exceeds the limit waits and takes nothing."""
    gcra = taken(count=1)

    assert gcra.take(LIMIT, 100.0, price=3) == 1.0
    assert gcra.take(LIMIT, 100.0, price=2) == 0.0


def test_returned_tokens_can_be_taken() -> None:
    """`give_back` allows as many further requests as were returned."""
    gcra = taken()
    gcra.give_back(LIMIT, price=2)

    assert [gcra.take(LIMIT, 100.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_an_emptied_limit_has_no_burst() -> None:
    """`empty_until` allows no request before its time and then one at a time; an earlier
    time has no effect.
    """
    gcra = Gcra()
    gcra.empty_until(LIMIT, 105.0)
    gcra.empty_until(LIMIT, 50.0)

    assert gcra.free_at(LIMIT) == 105.0
    assert [gcra.take(LIMIT, 104.0), *(gcra.take(LIMIT, 105.0) for _ in range(2))] == [1, 0, 1]


def test_a_limit_of_0_is_unlimited() -> None:
    """A rate of 0 allows every request at any price."""
    none, gcra = rate_limit(0, burst=10), Gcra()

    assert {gcra.take(none, 100.0, price=1000) for _ in range(1000)} == {0.0}


@pytest.mark.parametrize(
    ("count", "seconds", "standing"),
    [(0, 0.0, (3, 0)), (1, 0.0, (2, 1)), (3, 0.0, (0, 1)), (3, 0.5, (0, 1)), (3, 1.0, (1, 2))],
)
def test_the_standing_is_the_number_of_free_requests(
    count: int, seconds: float, standing: tuple[int, int]
) -> None:
    """`standing` has the free requests, and seconds to the next request or to the full burst."""
    assert taken(count=count).standing(LIMIT, 100.0 + seconds) == Standing(*standing)


@given(
    per_minute=st.floats(0.5, 5000),
    burst=st.integers(1, 100),
    start=st.floats(0, 1e7),
    count=st.integers(0, 200),
)
def test_a_request_passes_at_the_predicted_time(
    per_minute: float, burst: int, start: float, count: int
) -> None:
    """Despite rounding, a request passes at `free_at`, and after the wait that `take` returned."""
    limit = rate_limit(per_minute, burst=burst)
    at_instant, after_wait = taken(limit, count, start), taken(limit, count, start)
    wait_seconds = after_wait.take(limit, start)

    assert at_instant.take(limit, max(start, at_instant.free_at(limit))) == 0.0
    assert not wait_seconds or after_wait.take(limit, start + wait_seconds) == 0.0


@given(
    per_minute=st.integers(1, 1000),
    burst=st.integers(1, 50),
    steps=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 40)), max_size=60),
)
def test_no_minute_has_more_than_rate_and_burst(
    per_minute: int, burst: int, steps: Sequence[tuple[float, int]]
) -> None:
    """At most rate plus burst requests pass in any 60 seconds."""
    limit, gcra, now = rate_limit(per_minute, burst=burst), Gcra(), 1000.0
    passed: list[float] = []
    for seconds, wanted in steps:
        now += seconds
        passed += [now for _ in range(wanted) if not gcra.take(limit, now)]

    for index, instant in enumerate(passed):
        assert bisect_left(passed, instant + 60.0) - index <= per_minute + burst
