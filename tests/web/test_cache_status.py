"""`Age` and `Cache-Status`: how fresh an answer is, for clients."""

import re

import pytest

from gateway.web.cache_status import Outcome, age, cache_status, outcome
from gateway.worksheets.freshness import Freshness

# An sf-list of one token with parameters (RFC 9651): flags, integers, tokens.
STRUCTURED = re.compile(
    r"[a-z*][a-z0-9!#$%&'*+.^_`|~:/-]*(; [a-z][a-z0-9_.*-]*(=(-?\d{1,15}|[A-Za-z*][\w-]*))?)*"
)
REASONS = ["budget", "google", "breaker", "slow"]


def freshness(
    *, ttl_seconds: float, is_hit: bool, reason: str = "", age_seconds: float = 1.0
) -> Freshness:
    """A freshness whose age does not matter."""
    return Freshness(age_seconds=age_seconds, ttl_seconds=ttl_seconds, is_hit=is_hit, reason=reason)


@pytest.mark.parametrize(
    ("given", "no_cache", "expected"),
    [
        pytest.param(freshness(ttl_seconds=4.9, is_hit=True), False, "hit; ttl=4", id="hit"),
        pytest.param(freshness(ttl_seconds=0.2, is_hit=True), False, "hit; ttl=0", id="last of it"),
        pytest.param(
            freshness(ttl_seconds=5, is_hit=True), True, "hit; ttl=5", id="as fresh as asked for"
        ),
        pytest.param(
            freshness(ttl_seconds=5, is_hit=False), False, "fwd=miss; stored", id="fetched"
        ),
        pytest.param(
            freshness(ttl_seconds=5, is_hit=False), True, "fwd=request; stored", id="fetched anew"
        ),
        pytest.param(
            freshness(ttl_seconds=-12, is_hit=True, reason="budget"),
            False,
            "hit; ttl=-12; detail=budget",
            id="stale",
        ),
        pytest.param(
            freshness(ttl_seconds=-0.1, is_hit=True, reason="breaker"),
            False,
            "hit; ttl=-1; detail=breaker",
            id="just stale",
        ),
        pytest.param(
            freshness(ttl_seconds=-3600, is_hit=False, reason="google"),
            False,
            "fwd=stale; ttl=-3600; detail=google",
            id="Google asked in vain",
        ),
    ],
)
def test_the_status_says_how_the_answer_came_about(
    given: Freshness, no_cache: bool, expected: str
) -> None:
    """Taken from the cache or fetched, why, and what is left of its life."""
    assert cache_status(given, no_cache=no_cache) == f"sheets-gateway; {expected}"


@pytest.mark.parametrize("reason", ["", *REASONS])
@pytest.mark.parametrize("is_hit", [True, False])
@pytest.mark.parametrize("no_cache", [True, False])
@pytest.mark.parametrize("ttl_seconds", [-3600.5, -0.5, 0, 0.5, 86_400])
def test_the_status_is_a_structured_field(
    reason: str, is_hit: bool, no_cache: bool, ttl_seconds: float
) -> None:
    """Whatever is put together is valid, and says either hit or fwd (RFC 9211, 2.1)."""
    given = freshness(ttl_seconds=ttl_seconds, is_hit=is_hit, reason=reason)

    status = cache_status(given, no_cache=no_cache)

    assert STRUCTURED.fullmatch(status)
    assert ("; hit" in status) is not ("; fwd=" in status)


@pytest.mark.parametrize(
    ("age_seconds", "expected"), [(0.0, "0"), (0.99, "0"), (1.0, "1"), (61.7, "61"), (-0.1, "0")]
)
def test_the_age_is_whole_seconds(age_seconds: float, expected: str) -> None:
    """Seconds that have passed in full; a clock that is behind makes none negative."""
    given = freshness(ttl_seconds=1, is_hit=True, age_seconds=age_seconds)

    assert age(given) == expected


@pytest.mark.parametrize(
    ("is_hit", "reason", "expected"),
    [
        (True, "", "hit"),
        (False, "", "miss"),
        (True, "budget", "stale"),
        (False, "google", "stale"),
    ],
)
def test_the_outcome_is_a_word(is_hit: bool, reason: str, expected: Outcome) -> None:
    """For the log and the metrics."""
    assert outcome(freshness(ttl_seconds=1, is_hit=is_hit, reason=reason)) == expected
