"""Concurrent readers of one worksheet share calls to Google without affecting each other."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.waiting import until
from tests.simulation.people import make, writing
from tests.simulation.reads.stage import KEEPING, Question, Reply, Visitor, visitor

READERS = 200
JOINED_SECONDS = 0.2
"""Time in which a sent request joins the running call to Google."""
SLOW = {"call": "values.get", "times": 100, "delay_ms": 500}
PLAIN = [
    Question(path="Cities", parameters={"skip": str(number % 10), "limit": str(number % 7)})
    for number in range(READERS - 10)
] + [Question(path=f"Cities/{row}") for row in range(2, 12)]
SEARCHES = [
    Question(
        path="Cities",
        parameters={"where": f'{{"population":{{"$gte":{number * 10_000}}}}}', "order": "-name"},
    )
    for number in range(READERS // 2)
] + [Question(path="Cities", parameters={"order": "state", "_": str(n)}) for n in range(100)]


@pytest.fixture
def api(open_gateway: OpenGateway) -> Api:
    """Run a gateway with an empty cache and no quota limit."""
    return open_gateway(KEEPING)


@asynccontextmanager
async def visiting(api: Api) -> AsyncIterator[Visitor]:
    async with visitor(api.url, api.keys["paid"], "demo") as client:
        yield client


async def at_once(api: Api, questions: Sequence[Question]) -> list[Reply]:
    """Return the replies to questions that are all sent before the first answer."""
    async with visiting(api) as client:
        return await asyncio.gather(*(client.ask(question) for question in questions))


@pytest.mark.parametrize(
    ("questions", "most_reads"),
    [
        pytest.param(PLAIN, 1, id="lists, pages and rows"),
        pytest.param(SEARCHES, 2, id="where and order"),
        pytest.param([*PLAIN[:100], *SEARCHES[:100]], 2, id="all of it"),
    ],
)
async def test_readers_share_the_calls(
    api: Api, questions: Sequence[Question], most_reads: int
) -> None:
    """Two hundred different concurrent reads of a worksheet cost one call per rendering."""
    api.emulator.faults(SLOW)
    replies = await at_once(api, questions)

    assert [reply.status for reply in replies] == [200] * READERS
    assert api.emulator.calls() == (most_reads, 0)


async def test_each_reader_has_its_own_answer(api: Api) -> None:
    """Readers that share a call get their own rows."""
    api.emulator.faults(SLOW)
    async with visiting(api) as client:
        answers = await asyncio.gather(
            *(client.client.get(f"/v2/sheets/Cities/{row}") for row in range(2, 12)),
            *(client.client.get(f"/v2/sheets/Cities?limit=1&skip={n}") for n in range(10)),
        )
    names = [row[0] for row in api.emulator.texts("Cities")[1:]]

    assert [answer.json()["name"] for answer in answers[:10]] == names
    assert [answer.json()["results"][0]["name"] for answer in answers[10:]] == names
    assert api.emulator.calls() == (1, 0)


@pytest.mark.parametrize(
    "parameters",
    [pytest.param({}, id="plain"), pytest.param({"order": "-population"}, id="order")],
)
@pytest.mark.parametrize("leaver", [0, 5], ids=["the first", "another"])
async def test_a_reader_that_leaves_does_not_affect_others(
    api: Api, parameters: dict[str, str], leaver: int
) -> None:
    """If one of ten clients of a shared call disconnects, the other nine get their answer."""
    api.emulator.faults(SLOW)
    question = Question(path="Cities", parameters=parameters)
    async with visiting(api) as client:
        tasks = [asyncio.create_task(client.ask(question))]
        await asyncio.to_thread(until, lambda: api.emulator.calls()[0] >= 1)
        tasks += [asyncio.create_task(client.ask(question)) for _ in range(9)]
        leaving = tasks.pop(leaver)
        await asyncio.wait([leaving], timeout=JOINED_SECONDS)
        leaving.cancel()
        replies = await asyncio.gather(*tasks)

    assert leaving.cancelled()
    assert [reply.status for reply in replies] == [200] * 9
    assert api.emulator.calls() == (1 + bool(parameters), 0)


async def test_after_all_readers_leave_the_next_is_answered(api: Api) -> None:
    """After all clients of a call disconnected, the next one costs at most one more call."""
    api.emulator.faults(SLOW)
    async with visiting(api) as client:
        tasks = [asyncio.create_task(client.ask(Question(path="Cities"))) for _ in range(5)]
        await asyncio.to_thread(until, lambda: api.emulator.calls()[0] >= 1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        reply = await client.ask(Question(path="Cities"))

    assert reply.status == 200
    assert api.emulator.calls()[0] <= 2


@pytest.mark.parametrize("is_known", [False, True], ids=["cold", "one half known"])
def test_an_edit_between_the_renderings(api: Api, is_known: bool) -> None:
    """If a person edits between the reads of the two renderings, both are read again."""
    edit = writing(api.emulator, "Cities", 2, 1, "Renamed")
    if is_known:
        api.get("Cities")
        make(api.emulator, edit)
    else:
        api.emulator.faults({"call": "values.get", "skip": 1, "edit": edit})
    found = api.names("Cities", where='{"name":"Renamed"}')
    reads = api.emulator.calls()[0]

    assert found == ["Renamed"]
    assert reads == 4
    assert api.names("Cities", where='{"name":"New York"}') == []
    assert api.emulator.calls()[0] == reads


def test_consecutive_searches_share_a_call(api: Api) -> None:
    """The second search uses cached rows."""
    first = api.get("Cities", params={"order": "-name"})
    again = api.get("Cities", params={"order": "name", "where": '{"state":"Texas"}'})

    assert [answer.status_code for answer in (first, again)] == [200, 200]
    assert api.emulator.calls() == (2, 0)
