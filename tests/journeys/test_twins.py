"""Twins: many equal requests with one Idempotency-Key create one row."""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk
from tests.journeys.mortal import Mortal, prepare
from tests.journeys.waiting import PATIENCE_SECONDS, until

TWINS = 20
BODY = {"name": "twin", "population": 1}
ROW = ["twin", "", "", "1"]


@pytest.fixture
def key() -> str:
    """A new Idempotency-Key for each test, because tests share the key store."""
    return f"twin-{uuid4()}"


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": f'"{key}"'}


def twins(api: Api, path: str, key: str, **request: Any) -> list[httpx2.Response]:
    """Send `TWINS` equal requests at once and return their answers."""
    with ThreadPoolExecutor(TWINS) as pool:
        sent = [pool.submit(api.post, path, headers=keyed(key), **request) for _ in range(TWINS)]
        return [each.result() for each in sent]


def problems_of(answers: Sequence[httpx2.Response], success: int) -> list[str]:
    """Problems of answers to equal requests; allowed are one success, its replays, and 409."""
    found = [
        f"{answer.status_code}: {answer.text}"
        for answer in answers
        if answer.status_code not in (success, 409)
    ]
    done = [answer for answer in answers if answer.status_code == success]
    bodies = {answer.content for answer in done}
    first = [answer for answer in done if "Idempotent-Replayed" not in answer.headers]
    if len(bodies) != 1:
        found.append(f"{len(bodies)} different bodies: {sorted(bodies)}")
    if len(first) != 1:
        found.append(f"{len(first)} answers say that they are the first")
    found += [
        f"409 with {answer.text}"
        for answer in answers
        if answer.status_code == 409
        and (answer.json()["code"] != 4090 or "Retry-After" not in answer.headers)
    ]
    return found


def new_rows(emulator: EmulatorControl, worksheet: str) -> list[list[str]]:
    return [row for row in emulator.texts(worksheet) if "twin" in row]


def test_twins_at_once_are_one_row(api: Api, key: str) -> None:
    """Of twenty equal creates at once, one creates a row; all 201 answers have the same body."""
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "delay_ms": 100})
    answers = twins(api, "Cities", key, json=BODY)
    later = api.post("Cities", headers=keyed(key), json=BODY)

    assert problems_of([*answers, later], 201) == []
    assert later.headers["Idempotent-Replayed"] == "true"
    assert later.headers["Location"].endswith("/12")
    assert new_rows(api.emulator, "Cities") == [ROW]
    assert api.emulator.texts("Cities")[11] == ROW


def test_twins_of_arrays_are_made_once(api: Api, key: str) -> None:
    """Twenty equal creates of an array at once create its rows once."""
    answers = twins(api, "Cities", key, json=[BODY, {"name": "twin", "state": "s"}])

    assert problems_of(answers, 201) == []
    assert new_rows(api.emulator, "Cities") == [ROW, ["twin", "s"]]


def test_twins_of_updates_answer_alike(api: Api, key: str) -> None:
    """Twenty equal updates at once cost one write and have the same answer."""
    answers = twins(api, "Cities/2", key, json={"name": "twin"})

    assert problems_of(answers, 200) == []
    assert api.emulator.stats()["calls"]["spreadsheets.batchUpdate"] == 1
    assert api.emulator.cell("Cities", 2, 1)["text"] == "twin"


def test_other_keys_and_paths_are_other_requests(api: Api, key: str) -> None:
    """An Idempotency-Key is scoped to the caller's key, the method and the path."""
    first = api.post("Cities", headers=keyed(key), json=BODY)
    caller = api.post("Cities", key="cities", headers=keyed(key), json=BODY)
    worksheet = api.post("New", headers=keyed(key), json=BODY)
    spreadsheet = api.post(
        "Cities", key="any", spreadsheet="other", headers=keyed(key), json={"name": "twin"}
    )

    answers = (first, caller, worksheet, spreadsheet)
    assert [answer.status_code for answer in answers] == [201] * 4
    assert not any("Idempotent-Replayed" in answer.headers for answer in answers)


AWAY = {"call": "developerMetadata.search", "times": 99, "status": 503}
DEATHS = [
    pytest.param([{"call": "spreadsheets.batchUpdate", "delay_ms": 1500}], id="append under way"),
    pytest.param(
        [{"call": "spreadsheets.batchUpdate", "drop": True, "late_ms": 700}, AWAY],
        id="landing late",
    ),
]


@pytest.mark.parametrize("faults", DEATHS)
def test_twins_after_a_kill_are_one_row(
    emulator: EmulatorControl,
    access: KeysOnDisk,
    tmp_path: Path,
    key: str,
    faults: list[dict[str, object]],
) -> None:
    """After a kill during a create, the next gateway finds the row and replays the answer."""
    database, keys = access
    emulator.reset()
    mortal = prepare(
        tmp_path,
        {
            "google": {"endpoint": emulator.url, "credentials": str(emulator.credentials)},
            "access": {"database": str(database)},
        },
    )
    headers = {**keyed(key), "Authorization": f"Bearer {keys['paid']}", "X-Spreadsheet-Id": "demo"}

    answers, is_sent = asyncio.run(_die_between(mortal, emulator, faults, headers))

    assert is_sent
    assert [answer.status_code for answer in answers] == [201] * TWINS, answers[0].text
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].json()["rowIndex"] == 12
    assert emulator.texts("Cities")[11:] == [ROW]
    emulator.reset()


async def _die_between(
    mortal: Mortal,
    emulator: EmulatorControl,
    faults: list[dict[str, object]],
    headers: dict[str, str],
) -> tuple[list[httpx2.Response], bool]:
    """Kill the gateway after it sent an append, and repeat the request to the next gateway."""
    await mortal.start()
    emulator.faults(*faults)
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as client:
        url = f"{mortal.url}/v2/sheets/Cities"
        first = asyncio.create_task(client.post(url, json=BODY))
        is_sent = await asyncio.to_thread(
            until, lambda: "spreadsheets.batchUpdate" in emulator.stats()["calls"]
        )
        await mortal.kill()
        emulator.faults()
        with pytest.raises(httpx2.TransportError):
            await first
        await asyncio.to_thread(until, lambda: len(emulator.texts("Cities")) == 12)
        await mortal.start()
        try:
            answers = [await client.post(url, json=BODY) for _ in range(TWINS)]
        finally:
            await mortal.kill()
    return answers, is_sent


def answer(status: int, body: object, *, is_replay: bool = False) -> httpx2.Response:
    headers = {"Idempotent-Replayed": "true"} if is_replay else {"Retry-After": "1"}
    return httpx2.Response(status, content=json.dumps(body).encode(), headers=headers)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([answer(201, 1), answer(201, 2, is_replay=True)], id="two rows"),
        pytest.param([answer(201, 1), answer(201, 1)], id="two firsts"),
        pytest.param([answer(201, 1), answer(500, 1)], id="500"),
        pytest.param([answer(201, 1), answer(409, {"code": 4091})], id="another 409"),
        pytest.param([answer(409, {"code": 4090})], id="nobody's 201"),
    ],
)
def test_wrong_answers_to_twins_are_reported(answers: list[httpx2.Response]) -> None:
    """The checker reports answers that equal requests must not get."""
    assert problems_of(answers, 201) != []
