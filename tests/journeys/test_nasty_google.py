"""The nasty list: Google's failures, and many concurrent clients."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx2

import tests.journeys.nasty_inputs as nasty
from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.nasty_inputs import cases
from tests.journeys.waiting import until
from tests.server.wire import connected

DEADLINES = {"google.read_timeout_seconds": 2.0, "google.max_answer_bytes": 1_000_000}
SLACK_SECONDS = 5.0
"""What an answer may take beyond three deadlines, where others use the machine."""
TWINS = 50
CREATES = 40


@cases(nasty.LOST)
def test_an_answer_that_was_lost(api: Api, name: str) -> None:
    """Repeated with the same Idempotency-Key: one row, and the answer to it."""
    key = f"nasty-lost-{quote(name)}"
    api.emulator.faults({"call": "spreadsheets.batchUpdate", **nasty.LOST[name]})
    leave_after_sending(api, key)
    is_there = until(lambda: api.emulator.texts("New")[1:] == [["x"]])

    again = repeated(api, key)

    assert is_there
    assert (again.status_code, again.json()) == (201, {"rowIndex": 2, "name": "x"})
    assert again.headers["idempotent-replayed"] == "true"
    assert api.emulator.texts("New")[1:] == [["x"]]


def leave_after_sending(api: Api, idempotency_key: str) -> None:
    """A create whose client hangs up once it has sent it."""
    body = b'{"name":"x"}'
    head = (
        "POST /v2/sheets/New HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
        f"Authorization: {api.keys['paid']}\r\nX-Spreadsheet-Id: demo\r\n"
        f"Idempotency-Key: {idempotency_key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with connected(api.url) as client:
        client.sendall(head.encode() + body)
        assert until(lambda: "spreadsheets.batchUpdate" in api.emulator.stats()["calls"])


def repeated(api: Api, idempotency_key: str) -> httpx2.Response:
    """The answer to the same create after the first one has ended."""
    answers = []

    def is_answered() -> bool:
        headers = {"Idempotency-Key": idempotency_key}
        answers.append(api.post("New", json={"name": "x"}, headers=headers))
        return answers[-1].status_code != 409

    assert until(is_answered)
    return answers[-1]


@cases(nasty.APPENDS)
def test_a_write_of_which_google_says_nothing_clear(looking_api: Api, name: str) -> None:
    """One row or none, and the outcome that is reported is true."""
    fault, rows, outcome = nasty.APPENDS[name]
    looking_api.emulator.faults({"call": "spreadsheets.batchUpdate", **fault})

    answer = looking_api.post("New", json={"name": "x"})

    assert looking_api.emulator.texts("New")[1:] == [["x"]] * rows
    assert answer.json().get("outcome") == outcome
    assert (answer.status_code == 201) == (outcome is None)


def test_twins_at_once(api: Api) -> None:
    """50 with one Idempotency-Key: one row."""

    def create(_: int) -> int:
        headers = {"Idempotency-Key": "nasty-twins"}
        return api.post("New", json={"name": "x"}, headers=headers).status_code

    with ThreadPoolExecutor(TWINS) as pool:
        statuses = Counter(pool.map(create, range(TWINS)))

    assert set(statuses) <= {201, 409}
    assert statuses[201] >= 1
    assert api.emulator.texts("New")[1:] == [["x"]]


@cases(nasty.PLACES)
def test_a_create_where_the_end_is_hard_to_find(api: Api, name: str) -> None:
    """40 at once: below all rows, in their column, contiguous, each where its answer says."""
    check_creates(api, name, *nasty.PLACES[name])


def test_a_create_below_rows_that_were_emptied(api: Api) -> None:
    """Blank rows at the end are no rows: 40 at once begin where the last one with a value ends."""
    blank = json.dumps(dict.fromkeys(("name", "state", "country", "population")))
    for row in (9, 10, 11):
        assert api.send("PUT", f"Cities/{row}", content=blank).status_code == 200

    check_creates(api, "Cities", 9, 1)


def check_creates(api: Api, title: str, row: int, column: int) -> None:
    """Forty creates at once are in this column, from this row on, where each was reported."""
    before = api.emulator.texts(title)

    with ThreadPoolExecutor(CREATES) as pool:
        answers = [*pool.map(lambda n: api.post(title, json={"name": f"n{n}"}), range(CREATES))]
    after = api.emulator.texts(title)
    told = {answer.json()["rowIndex"]: answer.json()["name"] for answer in answers}

    assert after[: len(before)] == before
    assert sorted(told) == [*range(row, row + CREATES)]
    assert {number: after[number - 1][column - 1] for number in told} == told


@cases(nasty.GOOGLE)
def test_a_google_that_misbehaves(open_gateway: OpenGateway, name: str) -> None:
    """The right error within the deadline, and once Google is well, so is the gateway."""
    api = open_gateway(DEADLINES)
    fault, code = nasty.GOOGLE[name]
    api.emulator.faults({"times": 9, **fault})

    began = time.monotonic()
    answer = api.get("Cities")
    seconds = time.monotonic() - began
    api.emulator.faults()

    assert refused(answer)[1] == code
    assert seconds < 3 * DEADLINES["google.read_timeout_seconds"] + SLACK_SECONDS
    assert until(lambda: api.get("Cities").status_code == 200)


@cases(nasty.GOOGLE)
def test_a_worksheet_that_is_known_while_google_misbehaves(
    open_gateway: OpenGateway, name: str
) -> None:
    """The answer is cached data or the right error."""
    keeping = {"cache.rows_ttl_seconds": 0.01, "cache.max_stale_seconds": 3600.0}
    api = open_gateway({**DEADLINES, **keeping})
    fault, code = nasty.GOOGLE[name]
    known = api.get("Cities").content
    api.emulator.faults({"times": 9, **fault})

    answers = [api.get("Cities") for _ in range(3)]
    api.emulator.faults()

    for answer in answers:
        assert answer.content == known or refused(answer)[1] == code
