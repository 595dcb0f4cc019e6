"""Read-your-writes: at once, without calls, and despite running reads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.waiting import until
from tests.simulation.reads.outage import ALWAYS
from tests.simulation.reads.stage import (
    KEEPING,
    Question,
    Scenery,
    Stage,
    Visitor,
    read_mark,
    set_up,
)
from tests.simulation.stage import NO_LIMIT, stop_after

OSLO = {"name": "Oslo", "country": "Norway", "population": 709037}
SHOWN = {"name": "Oslo", "state": None, "country": "Norway", "population": "709037"}
ALL = {"limit": "100"}
FIND = {"where": '{"population":{"$gte":709037,"$lt":709038}}'}


@pytest.fixture
def api(open_gateway: OpenGateway) -> Api:
    """Run a gateway without a quota limit and with long TTLs."""
    return open_gateway(
        {**KEEPING, "cache.rows_ttl_seconds": 60.0, "cache.header_ttl_seconds": 60.0}
    )


def records(api: Api, worksheet: str = "Cities", **parameters: str) -> list[dict[str, Any]]:
    answer = api.get(worksheet, params=parameters)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.mark.parametrize("known", [{}, FIND], ids=["displayed half", "both halves"])
def test_a_create_is_seen_without_a_call(api: Api, known: Mapping[str, str]) -> None:
    """A created row is in every list, search and read at once, without another call."""
    api.get("Cities", params=known)
    reads = api.emulator.calls()[0]
    created = api.post("Cities", json=OSLO).json()
    row = {"rowIndex": 12, **SHOWN}
    listed = records(api, **ALL)
    read = api.get("Cities/12").json()
    plain_reads = api.emulator.calls()[0]
    found = records(api, **FIND)

    assert created["rowIndex"] == 12
    assert (listed[-1], read, found) == (row, row, [row])
    assert len(listed) == 11
    assert plain_reads == reads + 1  # the create's own read
    assert api.emulator.calls()[0] == reads + 1 + (not known)


@pytest.mark.parametrize("known", [{}, FIND], ids=["displayed half", "both halves"])
def test_an_update_is_seen_without_a_call(api: Api, known: Mapping[str, str]) -> None:
    """An update is in every list, search and read at once, and costs only its own read."""
    before = records(api, **ALL)
    api.get("Cities", params=known)
    reads = api.emulator.calls()[0]
    answer = api.send("PATCH", "Cities/4", json={"name": "Oslo", "population": 709037})
    listed = records(api, **ALL)
    read = api.get("Cities/4").json()
    plain_reads = api.emulator.calls()[0]
    found = records(api, **FIND)
    row = {**before[2], "name": "Oslo", "population": "709037"}

    assert answer.status_code == 200
    assert listed == [*before[:2], row, *before[3:]]
    assert (read, found) == (row, [row])
    assert plain_reads == reads + 1
    assert api.emulator.calls()[0] == reads + 1 + (not known)


def test_written_values_compare_as_read_values(api: Api) -> None:
    """Written typed values are found and sorted as after a read of Google."""
    api.get("Mixed", params={"order": "value"})
    bodies: list[dict[str, object]] = [
        {"label": "number", "value": 12.5, "done": True},
        {"label": "text", "value": "12.5", "done": "TRUE"},
        {"label": "zeros", "value": "0012"},
        {"label": "date", "when": "2021-06-30"},
        {"label": "emptied", "value": ""},
    ]
    for body in bodies:
        assert api.post("Mixed", json=body).status_code == 201
    questions = [
        {"where": '{"value":12.5}', "order": "-value"},
        {"where": '{"done":true}', "order": "value"},
        {"where": '{"when":"2021-06-30"}'},
        {"where": '{"value":null}'},
        {"order": "-value,label"},
    ]
    patched = [records(api, "Mixed", **question) for question in questions]
    reads = api.emulator.calls()[0]
    read = [
        records(api, "Mixed", **question, **({"no-cache": "true"} if not index else {}))
        for index, question in enumerate(questions)
    ]

    assert reads == 3
    assert api.emulator.calls()[0] == 5
    assert patched == read


def test_a_write_does_not_change_the_age_of_rows(api: Api) -> None:
    """After a write, the age of the cached rows continues."""
    api.get("Cities")
    assert until(lambda: age(api) >= 1)
    api.post("Cities", json=OSLO)

    assert age(api) >= 1


def age(api: Api) -> int:
    mark = read_mark(api.get("Cities").headers)
    assert mark is not None
    return mark.age_seconds


def create(api: Api) -> httpx2.Response:
    return api.post("Cities", json=OSLO)


def update(api: Api) -> httpx2.Response:
    return api.send("PATCH", "Cities/11", json=OSLO)


WRITES = [pytest.param(create, id="create"), pytest.param(update, id="update")]
LISTS = [pytest.param({}, id="plain"), pytest.param({"order": "name"}, id="order")]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("parameters", LISTS)
def test_a_running_read_does_not_hide_a_write(
    api: Api, write: Callable[[Api], httpx2.Response], parameters: dict[str, str]
) -> None:
    """A read that began before a write and ends after it does not hide the write."""
    api.emulator.faults({"call": "values.get", "delay_ms": 1500})
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(api.get, "Cities", params=parameters)
        assert until(lambda: api.emulator.calls()[0] >= 1)
        written = write(api)
        is_early = not early.done()
        at_once = api.names("Cities", **ALL, **parameters)
        early_answer = early.result()
    later = api.names("Cities", **ALL, **parameters)

    assert written.is_success
    assert is_early
    assert early_answer.status_code == 200
    assert "Oslo" in at_once
    assert "Oslo" in later


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_shown_during_an_outage(
    open_gateway: OpenGateway, write: Callable[[Api], httpx2.Response]
) -> None:
    """During an outage a list shows an acknowledged write, or gets an error."""
    api = open_gateway({**KEEPING, "cache.rows_ttl_seconds": 0.2, "cache.header_ttl_seconds": 60.0})
    api.get("Cities", params={"order": "name"})
    assert write(api).is_success
    api.emulator.faults({"call": "*", "times": ALWAYS, "status": 503})
    answers: list[httpx2.Response] = []

    def is_over() -> bool:
        answers.append(api.get("Cities", params=ALL))
        mark = read_mark(answers[-1].headers)
        return mark is None or mark.is_stale

    assert until(is_over)
    for answer in answers:
        if answer.status_code == 200:
            assert "Oslo" in [record["name"] for record in answer.json()["results"]]
        else:
            assert answer.status_code in (502, 503)


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_shown_without_quota(
    open_gateway: OpenGateway, write: Callable[[Api], httpx2.Response]
) -> None:
    """Without read quota, a list shows the write or gets 503."""
    api = open_gateway(
        {
            **KEEPING,
            "cache.rows_ttl_seconds": 0.1,
            "google.max_waiting_seconds": 0.1,
            "google.reads_per_minute": 54,
            "google.writes_per_minute": 54,
        }
    )
    api.get("Cities", params={"order": "name"})
    for title in ("Long", "Mixed", "Texts", "New", "Totals", "Commas", "Spaced"):
        api.get(title)
    written = write(api)
    answer = api.get("Cities", params=ALL)
    names = [record["name"] for record in answer.json().get("results", [])]

    assert written.is_success or (written.status_code, written.json()["code"]) == (503, 5030)
    assert answer.status_code in (200, 503)
    assert answer.status_code == 503 or not written.is_success or "Oslo" in names


WRITERS = 4
ROUNDS = 8


async def test_writers_see_their_own_writes_among_pollers(tmp_path: Path) -> None:
    """A writer's next list, search and read contain its write while other clients poll."""
    scenery = Scenery(
        worksheets=2,
        latency_ms=40,
        reads_per_minute=0,
        settings={
            "google": {"reads_per_minute": NO_LIMIT, "writes_per_minute": NO_LIMIT},
            "cache": {"rows_ttl_seconds": 0.3},
        },
    )
    async with (
        set_up(tmp_path, scenery) as stage,
        polled(stage) as poller,
        stage.visitor() as client,
    ):
        unseen = await asyncio.gather(
            *(
                write_and_look(client.client, stage.titles[number % 2], number)
                for number in range(WRITERS)
            )
        )
    told = {reply.status for reply in poller.replies}

    assert unseen == [[]] * WRITERS
    assert told == {200}


@asynccontextmanager
async def polled(stage: Stage) -> AsyncIterator[Visitor]:
    """Run six clients that poll both worksheets during the block."""
    questions = [
        Question(path=title, parameters=parameters)
        for title in stage.titles
        for parameters in ({}, {"order": "-amount"}, {"where": '{"amount":{"$gt":500}}'})
    ]
    async with stage.visitor() as client:
        tasks = [
            asyncio.create_task(client.poll(cycle(repeat_from(questions, n)), every_seconds=0.03))
            for n in range(6)
        ]
        try:
            yield client
        finally:
            await stop_after(0.0, tasks)


def repeat_from(questions: list[Question], first: int) -> list[Question]:
    return [*questions[first:], *questions[:first]]


async def write_and_look(client: httpx2.AsyncClient, title: str, number: int) -> list[str]:
    """Create and update alternately. Returns the answers that lack a written value."""
    unseen: list[str] = []
    path = f"/v2/sheets/{title}"
    for each in range(ROUNDS):
        name, amount = f"writer {number}, {each}", 10_000 + 100 * number + each
        body = {"name": name, "amount": amount}
        created = await client.post(path, json=body)
        row = created.raise_for_status().json()["rowIndex"]
        unseen += await missing(client, path, row, body)
        body = {"name": f"{name} again", "amount": amount + 50}
        (await client.patch(f"{path}/{row}", json=body)).raise_for_status()
        unseen += await missing(client, path, row, body)
    return unseen


async def missing(
    client: httpx2.AsyncClient, path: str, row: int, body: Mapping[str, object]
) -> list[str]:
    """Return the answers (list, search, row) that lack the written value."""
    wanted = {"rowIndex": row, **{name: str(value) for name, value in body.items()}}
    read = (await client.get(f"{path}/{row}")).json()
    where = f'{{"amount":{body["amount"]}}}'
    found = (await client.get(path, params={"where": where})).json().get("results", [])
    skip = {"skip": str(row - 2), "limit": "1"}
    listed = (await client.get(path, params=skip)).json().get("results", [])
    answers = {"read": [read], "search": found, "list": listed}
    return [
        f"{kind} of {wanted}: {records}"
        for kind, records in answers.items()
        if len(records) != 1 or not wanted.items() <= records[0].items()
    ]
