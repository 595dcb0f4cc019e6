"""The checks of read campaigns find each problem, and report no correct behaviour."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulation.reads.stage import Mark, Reply, read_mark
from tests.simulation.reads.verdicts import (
    BREAKER,
    REFUSING,
    crowded,
    mismarked,
    noticed,
    recovery_seconds,
    starved,
    unrecovered,
    unrefused,
    unserved,
)

GONE = 100.0
FRESH = Mark(age_seconds=1, ttl_seconds=4, is_hit=True)


def stale(age_seconds: int, detail: str = "google") -> Mark:
    return Mark(age_seconds=age_seconds, ttl_seconds=5 - age_seconds, is_hit=True, detail=detail)


def reply(at: float = GONE, mark: Mark | None = FRESH, **members: Any) -> Reply:
    members = {"status": 200, "seconds": 0.0, **members}
    return Reply(path="Reads0", began=at, mark=mark, **members)


def refusal(at: float = GONE, **members: Any) -> Reply:
    return reply(at, None, **{"status": 503, "code": 5030, "retry_after": "5", **members})


@pytest.mark.parametrize(
    ("headers", "mark"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"age": "1", "cache-status": "sheets-gateway; hit; ttl=4"}, FRESH, id="a hit"),
        pytest.param(
            {"age": "0", "cache-status": "sheets-gateway; fwd=miss; stored; ttl=5"},
            Mark(age_seconds=0, ttl_seconds=5, forward="miss"),
            id="a miss",
        ),
        pytest.param(
            {"age": "17", "cache-status": "sheets-gateway;hit;ttl=-12;detail=google"},
            stale(17),
            id="stale",
        ),
    ],
)
def test_cache_headers_are_parsed(headers: Mapping[str, str], mark: Mark | None) -> None:
    """`Age` and `Cache-Status` are parsed into a `Mark`."""
    assert read_mark(headers) == mark


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"age": "1"}, id="Age alone"),
        pytest.param({"cache-status": "sheets-gateway; hit"}, id="Cache-Status alone"),
        pytest.param(
            {"age": "1.5", "cache-status": "sheets-gateway; hit"}, id="a part of a second"
        ),
        pytest.param({"age": "-1", "cache-status": "sheets-gateway; hit"}, id="a negative age"),
        pytest.param({"age": "1", "cache-status": "other; hit"}, id="another cache"),
        pytest.param({"age": "1", "cache-status": "sheets-gateway"}, id="neither hit nor miss"),
        pytest.param({"age": "1", "cache-status": "sheets-gateway; hit; fwd=miss"}, id="both"),
        pytest.param({"age": "1", "cache-status": "sheets-gateway; fwd=often"}, id="no such word"),
        pytest.param({"age": "1", "cache-status": "sheets-gateway; hit; ttl=a b"}, id="no member"),
    ],
)
def test_invalid_cache_headers_raise(headers: Mapping[str, str]) -> None:
    """Values that RFC 9211 does not allow raise ValueError."""
    with pytest.raises(ValueError, match=r"Age|Cache-Status"):
        read_mark(headers)


def test_unserved_reads() -> None:
    """The check allows one failed read in a thousand and reports two."""
    good = [reply()] * 999

    assert list(unserved([*good, refusal()])) == []
    assert len(list(unserved([*good, refusal(), refusal()]))) == 1
    assert len(list(unserved([*good, refusal()], share=1.0))) == 1


@pytest.mark.parametrize(
    "fine",
    [
        pytest.param(reply(GONE - 50.0, None), id="before"),
        pytest.param(
            reply(GONE + 3.0, Mark(age_seconds=3, ttl_seconds=2, is_hit=True)), id="fresh"
        ),
        pytest.param(reply(GONE + 60.0, stale(62)), id="stale"),
        pytest.param(refusal(GONE + 60.0), id="refused"),
    ],
)
def test_true_marks(fine: Reply) -> None:
    """Answers during an outage that are marked as such, or need no mark, are not reported."""
    assert list(mismarked([fine], gone=GONE, ttl_seconds=5.0)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(reply(GONE + 3.0, None), id="no mark"),
        pytest.param(reply(GONE + 60.0, stale(50)), id="too young"),
        pytest.param(reply(GONE + 60.0, stale(62, "")), id="no reason"),
        pytest.param(
            reply(GONE + 3.0, Mark(age_seconds=3, ttl_seconds=2, is_hit=True, detail="google")),
            id="a reason for nothing",
        ),
        pytest.param(
            reply(GONE + 60.0, Mark(age_seconds=62, ttl_seconds=3, is_hit=True)), id="said fresh"
        ),
    ],
)
def test_false_marks(wrong: Reply) -> None:
    """Answers during an outage with a wrong mark are reported."""
    assert len(list(mismarked([wrong], gone=GONE, ttl_seconds=5.0))) == 1


def test_calls_during_an_outage() -> None:
    """After the calls that open the circuit breaker, one call in five seconds is allowed."""
    first = [0.0, 0.1, 0.2, 0.3, 0.4, 0.9]

    assert list(crowded(first, BREAKER)) == []
    assert list(crowded([*first, 5.5, 10.5, 15.6], BREAKER)) == []
    assert len(list(crowded([*first, 5.5, 8.5, 15.6], BREAKER))) == 1
    assert len(list(crowded([0.1 * each for each in range(40)], BREAKER))) == 2
    assert len(list(crowded([0.0] * 20, BREAKER))) == 1
    assert len(list(crowded([0.0, 2.0, 7.0], REFUSING))) == 0
    assert len(list(crowded([0.0, 2.0, 4.0], REFUSING))) == 1
    assert noticed(first[:4], BREAKER) == float("inf")


def test_reads_that_could_not_be_answered() -> None:
    """Reads that cannot be answered must get 503 at once with `Retry-After`, except probes."""
    hanging = reply(mark=None, status=504, code=5040, seconds=20.0)
    wrong = [
        hanging,
        refusal(code=5020, status=502),
        refusal(retry_after=""),
        refusal(seconds=3.0),
        reply(mark=stale(20)),
        reply(mark=Mark(age_seconds=0, ttl_seconds=5, forward="request")),
    ]

    assert list(unrefused([refusal(), reply()], probes=0)) == []
    assert list(unrefused([refusal(), hanging], probes=1)) == []
    for each in wrong:
        assert len(list(unrefused([refusal(), each], probes=0))) == 1


def test_the_time_until_all_is_fresh_again() -> None:
    """The recovery time ends with the first answer of a read after the outage."""
    replies = [
        reply(GONE - 1.0),
        reply(GONE + 1.0, stale(20)),
        reply(GONE + 2.0, Mark(age_seconds=4, ttl_seconds=1, is_hit=True)),
        reply(GONE + 4.0, Mark(age_seconds=0, ttl_seconds=5, forward="miss"), seconds=0.5),
        reply(GONE + 9.0),
    ]
    found = recovery_seconds(replies, ["Reads0", "Reads1"], back=GONE)

    assert found == {"Reads0": 4.5, "Reads1": float("inf")}
    assert list(unrecovered(replies, ["Reads0"], back=GONE, within_seconds=5.0)) == []
    assert len(list(unrecovered(replies, ["Reads0"], back=GONE, within_seconds=4.0))) == 1
    assert len(list(unrecovered(replies, ["Reads1"], back=GONE, within_seconds=9.0))) == 1


def test_worksheets_that_starve() -> None:
    """A worksheet that is refreshed far less than others, or served too old, is reported."""
    ages = {"Reads0": 40, "Reads1": 50}

    assert list(starved({"Reads0": 2, "Reads1": 4}, ages, most_seconds=60.0)) == []
    assert len(list(starved({"Reads0": 0, "Reads1": 1}, ages, most_seconds=60.0))) == 1
    assert len(list(starved({"Reads0": 1, "Reads1": 9}, ages, most_seconds=60.0))) == 1
    assert len(list(starved({"Reads0": 2, "Reads1": 4}, ages, most_seconds=45.0))) == 1
