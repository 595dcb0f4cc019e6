"""Google is unavailable: cached rows are served and marked, and few calls are made.

The long run is `python -m tests.simulation.reads outage --seconds 600 --phases 503,hole`.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.waiting import until
from tests.simulation.reads.outage import ALWAYS, Outage, run
from tests.simulation.reads.stage import KEEPING, read_mark
from tests.simulation.stage import NO_LIMIT

KNOWN = ("Cities", "Long", "Mixed")
COLD = ("New", "Texts", "Totals", "Commas", "Spaced", "BlankRow", "Duplicates", "RowIndex")
"""Uncached worksheets, more than the failures that open the circuit breaker."""
AWAY = {"call": "*", "times": ALWAYS, "status": 503}
SETTINGS: Mapping[str, object] = {
    **KEEPING,
    "cache.rows_ttl_seconds": 0.2,
    "cache.header_ttl_seconds": 60.0,
}
NEW = {"name": "Oslo"}


@pytest.mark.parametrize(
    "phases",
    [
        pytest.param(("503", "hole"), id="503, then a black hole"),
        pytest.param(("drop",), id="connections dropped"),
    ],
)
async def test_cached_worksheets_are_served_during_an_outage(
    tmp_path: Path, phases: tuple[str, ...]
) -> None:
    """Each read of a cached worksheet is answered and marked, and Google is called only rarely."""
    report = await run(
        tmp_path,
        Outage(
            seconds=7.0 * len(phases),
            phases=phases,
            worksheets=2,
            per_second=30.0,
            rows_ttl_seconds=1.0,
            reads_per_minute=NO_LIMIT,
        ),
    )

    assert report.problems == [], str(report)


@pytest.fixture
def without_google(open_gateway: OpenGateway) -> Api:
    """Run a gateway with three cached worksheets and an open circuit breaker."""
    api = open_gateway(SETTINGS)
    for title in KNOWN:
        assert api.get(title, params={"order": "rowIndex"}).status_code == 200
    api.emulator.faults(AWAY)
    with ThreadPoolExecutor(len(COLD)) as pool:
        failed = [pool.submit(api.get, title) for title in COLD]

    assert {future.result().status_code for future in failed} <= {502, 503}
    return api


def is_told_when(answer: httpx2.Response) -> bool:
    """True if the answer has a `Retry-After` header."""
    return answer.headers.get("retry-after", "").isdigit()


def test_an_uncached_worksheet_during_an_outage(without_google: Api) -> None:
    """A worksheet that is not cached gets 503 at once, without a call."""
    calls = without_google.emulator.calls()
    answer = without_google.get("Formulas")

    assert refused(answer) == (503, 5030)
    assert answer.json()["retryable"] is True
    assert is_told_when(answer)
    assert without_google.emulator.calls() == calls


@pytest.mark.parametrize("path", ["Cities", "Cities/2", 'Long?where={"number":7}'])
def test_fresh_data_during_an_outage(without_google: Api, path: str) -> None:
    """Requests for fresh data get 503 with `Retry-After`; other reads get cached rows."""
    assert until(lambda: is_stale(without_google, path))
    calls = without_google.emulator.calls()
    insisting = without_google.get(path, headers={"Cache-Control": "no-cache"})
    other = without_google.get(path)

    assert refused(insisting) == (503, 5030)
    assert is_told_when(insisting)
    assert other.status_code == 200
    assert without_google.emulator.calls() == calls


def is_stale(api: Api, path: str) -> bool:
    mark = read_mark(api.get(path).headers)
    return mark is not None and mark.is_stale


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "Cities", id="create"),
        pytest.param("PATCH", "Cities/2", id="update"),
        pytest.param("POST", "HeaderOnly", id="create in an unknown worksheet"),
    ],
)
def test_a_write_during_an_outage(without_google: Api, method: str, path: str) -> None:
    """A write gets 503 `not_applied` at once, without a call."""
    calls = without_google.emulator.calls()
    before = without_google.emulator.everything()
    answer = without_google.send(method, path, json=NEW)

    assert refused(answer) == (503, 5030)
    assert answer.json()["outcome"] == "not_applied"
    assert is_told_when(answer)
    assert without_google.emulator.calls() == calls
    assert without_google.emulator.everything() == before


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("Cities", id="list"),
        pytest.param("Cities?limit=3&skip=2", id="page"),
        pytest.param('Mixed?where={"value":{"$gte":5}}&order=-value', id="where and order"),
        pytest.param("Long/131", id="row"),
    ],
)
def test_cached_rows_during_an_outage(without_google: Api, path: str) -> None:
    """Lists, searches and rows are computed from cached rows, also for new queries."""
    assert until(lambda: is_stale(without_google, path))
    calls = without_google.emulator.calls()
    answer = without_google.get(path)
    mark = read_mark(answer.headers)

    assert answer.status_code == 200
    assert answer.json().get("results", [answer.json()]) != []
    assert mark is not None
    assert (mark.is_hit, mark.is_stale, bool(mark.detail)) == (True, True, True)
    assert without_google.emulator.calls() == calls


def test_a_stale_answer_gives_304(without_google: Api) -> None:
    """A matching `If-None-Match` gets 304 with the stale mark."""
    tag = without_google.get("Cities").headers["etag"]
    assert until(lambda: is_stale(without_google, "Cities"))
    answer = without_google.get("Cities", headers={"If-None-Match": tag})
    mark = read_mark(answer.headers)

    assert answer.status_code == 304
    assert mark is not None
    assert mark.is_stale


def test_a_missing_row_during_an_outage(without_google: Api) -> None:
    """Cached rows also give the errors for missing rows and fields."""
    assert refused(without_google.get("Cities/99")) == (404, 103)
    assert refused(without_google.get("Cities", params={"order": "unknown"})) == (400, 4002)


@pytest.mark.parametrize("times", [1, ALWAYS], ids=["once", "a storm"])
def test_a_429_without_retry_after(open_gateway: OpenGateway, times: int) -> None:
    """After a 429 without `Retry-After`, Google is not called for seconds; reads use the cache."""
    api = open_gateway(SETTINGS)
    api.get("Cities")
    api.emulator.faults({"call": "*", "times": times, "status": 429})
    refused_by_google = api.get("Cities", headers={"Cache-Control": "no-cache"})
    calls = api.emulator.calls()
    answers: list[httpx2.Response] = []

    def is_marked() -> bool:
        answers.append(api.get("Cities"))
        mark = read_mark(answers[-1].headers)
        return mark is not None and mark.is_stale and bool(mark.detail)

    assert refused(refused_by_google) == (503, 5030)
    assert is_told_when(refused_by_google)
    assert until(is_marked)
    assert {answer.status_code for answer in answers} == {200}
    assert api.emulator.calls() == calls


def test_rows_older_than_max_stale_seconds_are_not_served(open_gateway: OpenGateway) -> None:
    """Past `cache.max_stale_seconds` cached rows are not served."""
    api = open_gateway({**SETTINGS, "cache.max_stale_seconds": 1.0})
    api.get("Cities")
    api.emulator.faults(AWAY)

    assert until(lambda: is_stale(api, "Cities"))
    assert until(lambda: api.get("Cities").status_code in (502, 503))
    assert is_told_when(api.get("Cities"))
