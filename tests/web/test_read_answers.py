"""Answers to reads: encoded bytes, conditional requests, and headers about freshness."""

import re

import pytest

from gateway.telemetry.events import CacheResult
from gateway.web.answers import read_answer
from gateway.web.request import Request
from gateway.worksheets.answers import Encoded, Freshness, Served
from tests.web.requests import make_request, make_scope

ENCODED = Encoded(b'{"rowIndex":2}', tag='W/"a"')
HIT = Freshness(age_seconds=1.5, ttl_seconds=3.5, is_hit=True)
STALE = Freshness(age_seconds=17.0, ttl_seconds=-12.0, is_hit=True, reason="budget")
FETCHED = Freshness(age_seconds=0.3, ttl_seconds=4.7, is_hit=False)

FRESHNESS = {
    (b"cache-control", b"private, no-cache"),
    (b"etag", b'W/"a"'),
    (b"age", b"1"),
    (b"cache-status", b"sheets-gateway; hit; ttl=3"),
    (b"vary", b"Accept, Accept-Encoding"),
}


def asking(*tags: bytes) -> Request:
    """Return a request with these tags in `If-None-Match`."""
    headers = [("If-None-Match", tag.decode()) for tag in tags]
    return make_request(make_scope(headers=headers))


def test_an_answer_has_the_encoded_bytes_and_their_freshness() -> None:
    """The body is the same bytes object as the cached body, with length, ETag, age and status."""
    answer = read_answer(asking(), Served(ENCODED, HIT), no_cache=False)

    assert answer.status == 200
    assert set(answer.headers) == FRESHNESS | {
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", b"14"),
    }
    assert answer.body is ENCODED.body


@pytest.mark.parametrize("tag", [b'W/"a"', b'"a"', b"*", b'"b", W/"a"'], ids=repr)
def test_a_known_tag_gets_304(tag: bytes) -> None:
    """304 has ETag, `Cache-Control` and the headers about freshness, but no body and no length."""
    answer = read_answer(asking(tag), Served(ENCODED, HIT), no_cache=False)

    assert answer.status == 304
    assert set(answer.headers) == FRESHNESS
    assert answer.body == b""


def test_an_unknown_tag_gets_200() -> None:
    """If no tag of `If-None-Match` matches, the whole answer is sent."""
    answer = read_answer(asking(b'"b"'), Served(ENCODED, HIT), no_cache=False)

    assert answer.status == 200


@pytest.mark.parametrize("no_cache", [True, False])
def test_cache_status_of_requested_fetches(no_cache: bool) -> None:
    """`Cache-Status` has `fwd=request` if the client asked for fresh data, else `fwd=miss`."""
    answer = read_answer(asking(), Served(ENCODED, FETCHED), no_cache=no_cache)

    status = dict(answer.headers)[b"cache-status"]
    assert (b"fwd=request" in status) is no_cache
    assert (b"fwd=miss" in status) is not no_cache


@pytest.mark.parametrize(
    ("freshness", "outcome"),
    [(HIT, "hit"), (FETCHED, "miss"), (STALE, "stale")],
    ids=["hit", "miss", "stale"],
)
@pytest.mark.parametrize("tag", [b'"a"', b'"b"'], ids=["known", "unknown"])
def test_the_request_event_has_the_cache_result(
    freshness: Freshness, outcome: str, tag: bytes
) -> None:
    """The event of a request says hit, miss or stale, for 200 and for 304."""
    request = asking(tag)
    read_answer(request, Served(ENCODED, freshness), no_cache=False)

    assert request.event.cache == outcome


# An sf-list of one token with parameters (RFC 9651): flags, integers, tokens.
STRUCTURED = re.compile(
    r"[a-z*][a-z0-9!#$%&'*+.^_`|~:/-]*(; [a-z][a-z0-9_.*-]*(=(-?\d{1,15}|[A-Za-z*][\w-]*))?)*"
)
REASONS = ["budget", "google", "breaker", "slow"]


def freshness(
    *, ttl_seconds: float, is_hit: bool, reason: str = "", age_seconds: float = 1.0
) -> Freshness:
    """Return a freshness with a default age."""
    return Freshness(age_seconds=age_seconds, ttl_seconds=ttl_seconds, is_hit=is_hit, reason=reason)


def line_of(name: str, given: Freshness, *, no_cache: bool = False) -> str:
    """Return the value of a header about freshness."""
    answer = read_answer(asking(), Served(ENCODED, given), no_cache=no_cache)
    return dict(answer.headers)[name.encode()].decode()


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
def test_cache_status(given: Freshness, no_cache: bool, expected: str) -> None:
    """`Cache-Status` says whether the answer was cached or fetched, the reason, and its TTL."""
    assert line_of("cache-status", given, no_cache=no_cache) == f"sheets-gateway; {expected}"


@pytest.mark.parametrize("reason", ["", *REASONS])
@pytest.mark.parametrize("is_hit", [True, False])
@pytest.mark.parametrize("no_cache", [True, False])
@pytest.mark.parametrize("ttl_seconds", [-3600.5, -0.5, 0, 0.5, 86_400])
def test_cache_status_is_a_structured_field(
    reason: str, is_hit: bool, no_cache: bool, ttl_seconds: float
) -> None:
    """Any `Cache-Status` is valid by RFC 9211, 2.1, with either `hit` or `fwd`."""
    given = freshness(ttl_seconds=ttl_seconds, is_hit=is_hit, reason=reason)

    status = line_of("cache-status", given, no_cache=no_cache)

    assert STRUCTURED.fullmatch(status)
    assert ("; hit" in status) is not ("; fwd=" in status)


@pytest.mark.parametrize(
    ("age_seconds", "expected"), [(0.0, "0"), (0.99, "0"), (1.0, "1"), (61.7, "61"), (-0.1, "0")]
)
def test_the_age_is_whole_seconds(age_seconds: float, expected: str) -> None:
    """`Age` is rounded down to whole seconds; a negative age becomes 0."""
    given = freshness(ttl_seconds=1, is_hit=True, age_seconds=age_seconds)

    assert line_of("age", given) == expected


@pytest.mark.parametrize(
    ("is_hit", "reason", "expected"),
    [
        (True, "", "hit"),
        (False, "", "miss"),
        (True, "budget", "stale"),
        (False, "google", "stale"),
    ],
)
def test_the_cache_result_for_log_and_metrics(
    is_hit: bool, reason: str, expected: CacheResult
) -> None:
    """An answer counts as stale if a reason is known, otherwise as hit or miss."""
    request, given = asking(), freshness(ttl_seconds=1, is_hit=is_hit, reason=reason)
    read_answer(request, Served(ENCODED, given), no_cache=False)

    assert request.event.cache == expected
