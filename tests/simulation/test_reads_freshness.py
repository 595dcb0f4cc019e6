"""Freshness of reads: cached rows have a TTL, and clients can request fresh data."""

import asyncio
import time
from collections.abc import Mapping

import httpx2
import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.waiting import until
from tests.simulation.people import make, writing
from tests.simulation.reads.outage import ALWAYS
from tests.simulation.reads.stage import KEEPING, Mark, Question, read_mark, visitor

FORCED_SECONDS = 10.0
"""Minimum time between two reads of a worksheet that clients force with `no-cache`."""
WISHES = [
    pytest.param("no-cache=true", {}, id="parameter"),
    pytest.param("", {"Cache-Control": "no-cache"}, id="header"),
    pytest.param("", {"Cache-Control": "max-age=0, No-Cache"}, id="among others"),
]
PATHS = [
    pytest.param("Cities", id="list"),
    pytest.param("Cities/2", id="row"),
    pytest.param('Cities?where={"rowIndex":2}', id="where"),
]
AWAY = {"call": "*", "times": ALWAYS, "status": 503}


def mark_of(answer: httpx2.Response) -> Mark:
    mark = read_mark(answer.headers)
    assert mark is not None, dict(answer.headers)
    return mark


def insisting(api: Api, path: str, parameter: str, headers: Mapping[str, str]) -> httpx2.Response:
    """Send a read that requests fresh data by parameter or header."""
    joint = "&" if "?" in path else "?"
    return api.get(f"{path}{joint}{parameter}", headers=headers)


def first_name(api: Api, path: str = "Cities/2") -> str:
    name: str = api.get(path).json()["name"]
    return name


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_says_how_fresh_it_is(open_gateway: OpenGateway, path: str) -> None:
    """The first read is marked as a miss, the next as a hit with age and ttl."""
    api = open_gateway(KEEPING)
    fetched, kept = mark_of(api.get(path)), mark_of(api.get(path))

    assert (fetched.is_hit, fetched.forward, fetched.age_seconds) == (False, "miss", 0)
    assert (kept.is_hit, kept.forward, kept.detail) == (True, "", "")
    assert kept.ttl_seconds is not None
    assert 0 <= kept.ttl_seconds <= 5
    assert kept.age_seconds + kept.ttl_seconds <= 5


def test_an_edit_is_seen_after_the_ttl(open_gateway: OpenGateway) -> None:
    """A read later than the ttl after an edit shows the edit."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 0.5})
    assert first_name(api) == "New York"
    make(api.emulator, writing(api.emulator, "Cities", 2, 1, "Renamed"))
    edited = time.monotonic()
    assert until(lambda: time.monotonic() > edited + 0.5)

    assert first_name(api) == "Renamed"


def test_an_edit_can_be_hidden_within_the_ttl(open_gateway: OpenGateway) -> None:
    """Within the TTL, the gateway serves cached rows without a call."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 60.0})
    assert first_name(api) == "New York"
    make(api.emulator, writing(api.emulator, "Cities", 2, 1, "Renamed"))

    assert first_name(api) == "New York"
    assert api.emulator.stats()["calls"]["values.get"] == 1


def test_nothing_is_cached_without_a_ttl(open_gateway: OpenGateway) -> None:
    """With a ttl of zero every read costs a call and shows the current cells."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 0})
    assert first_name(api) == "New York"
    make(api.emulator, writing(api.emulator, "Cities", 2, 1, "Renamed"))

    assert first_name(api) == "Renamed"
    assert api.emulator.stats()["calls"]["values.get"] == 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("parameter", "headers"), WISHES)
def test_fresh_data_on_request(
    open_gateway: OpenGateway, path: str, parameter: str, headers: Mapping[str, str]
) -> None:
    """A request for fresh data reads from Google despite the cache."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 60.0})
    api.get(path)
    make(api.emulator, writing(api.emulator, "Cities", 2, 1, "Renamed"))
    reads = api.emulator.stats()["calls"]["values.get"]
    answer = insisting(api, path, parameter, headers)

    assert "Renamed" in answer.text
    assert mark_of(answer).forward == "request"
    assert reads < api.emulator.stats()["calls"]["values.get"] <= reads + 2
    assert "Renamed" in api.get(path).text


def test_fresh_data_is_cached_for_all_clients(open_gateway: OpenGateway) -> None:
    """Rows of a read with `no-cache` are served to later requests of other clients."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 60.0})
    api.get("Cities")
    make(api.emulator, writing(api.emulator, "Cities", 2, 1, "Renamed"))
    api.get("Cities", params={"no-cache": "true"})
    reads = api.emulator.calls()[0]

    assert first_name(api) == "Renamed"
    assert api.emulator.calls()[0] == reads


def test_fresh_data_is_limited_per_worksheet(open_gateway: OpenGateway) -> None:
    """A worksheet has one `no-cache` read in ten seconds; others get cached rows."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 60.0})
    forced = time.monotonic()
    answers = [api.get("Cities", params={"no-cache": "true", "limit": str(n)}) for n in range(20)]
    reads = api.emulator.calls()[0]
    assert until(lambda: time.monotonic() > forced + FORCED_SECONDS + 0.5)
    later = api.get("Cities", params={"no-cache": "true"})

    assert {answer.status_code for answer in answers} == {200}
    assert reads == 1
    assert [mark_of(answer).is_hit for answer in answers[1:]] == [True] * 19
    assert later.status_code == 200
    assert api.emulator.calls()[0] == 2


def test_fresh_data_of_another_worksheet(open_gateway: OpenGateway) -> None:
    """The limit of `no-cache` reads counts per worksheet."""
    api = open_gateway(KEEPING)
    for title in ("Cities", "Long", "Cities", "Long"):
        api.get(title, params={"no-cache": "true"})

    assert api.emulator.calls()[0] == 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("parameter", "headers"), WISHES)
def test_a_request_for_fresh_data_gets_no_stale_data(
    open_gateway: OpenGateway, path: str, parameter: str, headers: Mapping[str, str]
) -> None:
    """If only stale rows are available, a request for fresh data gets 503 with `Retry-After`."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 0.2})
    insisting(api, path, parameter, headers)
    api.emulator.faults(AWAY)
    assert until(lambda: mark_of(api.get(path)).is_stale)
    answer = insisting(api, path, parameter, headers)

    assert refused(answer)[0] == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert mark_of(api.get(path)).is_stale


def test_fresh_data_without_quota_gets_a_retry_time(open_gateway: OpenGateway) -> None:
    """Without read quota, cached rows are served, and `no-cache` gets 503 with `Retry-After`."""
    budget = {"google.reads_per_minute": 54, "google.max_waiting_seconds": 0.1}
    api = open_gateway({**KEEPING, **budget})
    api.get("Cities")
    spending = [api.get(title).status_code for title in ("Long", "New", "Texts", "Totals") * 2]
    statuses = [api.get(title).status_code for title in ("Commas", "Spaced", "Mixed", "Moments")]
    reads = api.emulator.calls()[0]
    kept, insisting = api.get("Cities"), api.get("Cities", params={"no-cache": "true"})

    assert spending == [200] * 8
    assert 503 in statuses
    assert kept.status_code == 200
    assert refused(insisting) == (503, 5030)
    assert int(insisting.headers["retry-after"]) >= 1
    assert api.emulator.calls()[0] == reads


async def test_missing_worksheets_do_not_reduce_freshness(open_gateway: OpenGateway) -> None:
    """Reads of many missing worksheets do not increase the ttl of existing ones."""
    budget = {"google.reads_per_minute": 54, "google.max_waiting_seconds": 0.1}
    api = open_gateway({**KEEPING, **budget, "plans.paid.max_concurrent": 0})
    assert mark_of(api.get("Cities")).forward == "miss"
    async with visitor(api.url, api.keys["paid"], "demo") as client:
        names = [Question(path=f"Made up {number}") for number in range(300)]
        replies = await asyncio.gather(*(client.ask(name) for name in names))
    assert until(lambda: mark_of(api.get("Cities")).age_seconds >= 2)
    after = mark_of(api.get("Cities"))

    assert {reply.status for reply in replies} <= {404, 503}
    assert after.ttl_seconds is not None
    assert after.age_seconds + after.ttl_seconds <= 10
