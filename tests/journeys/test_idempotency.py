"""Idempotency-Key as clients see it: answers and costs."""

import json
from collections.abc import Mapping
from itertools import permutations
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.waiting import until
from tests.journeys.workbook import WORKBOOK
from tests.server.wire import connected

BODY = {"name": "keyed", "population": 1}
ROW = ["keyed", "", "", "1"]
REPLAYED = "idempotent-replayed"
ABOUT_THE_EXCHANGE = {"date", "x-request-id", "server-timing", "ratelimit", REPLAYED}
"""Headers that can differ between an answer and its replay."""


@pytest.fixture
def key() -> str:
    """A new Idempotency-Key for each test, because tests share the key store."""
    return str(uuid4())


def send(
    api: Api, key: str, path: str = "Cities", *, method: str = "POST", body: object = BODY
) -> httpx2.Response:
    """A write with an Idempotency-Key."""
    return api.send(method, path, headers={"Idempotency-Key": key}, json=body)


def lasting(answer: httpx2.Response) -> tuple[int, bytes, Mapping[str, str]]:
    """The parts of an answer that a replay must repeat."""
    headers = dict(answer.headers.items())
    kept = {name: headers[name] for name in headers.keys() - ABOUT_THE_EXCHANGE}
    return answer.status_code, answer.content, kept


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "Cities", BODY, 201),
        ("POST", "Cities", [BODY, {"name": "keyed"}], 201),
        ("PATCH", "Cities/3", BODY, 200),
        ("PATCH", "Cities/3", {"name": "Los Angeles"}, 200),
    ],
    ids=["create", "create many", "update", "update that changes nothing"],
)
def test_a_replay_repeats_the_first_answer(
    api: Api, key: str, method: str, path: str, body: object, status: int
) -> None:
    """A replay has the first status, body, Location and ETag, and costs no call."""
    first = send(api, key, path, method=method, body=body)
    api.send("PATCH", "Cities/3", json={"name": "else", "population": 2})
    rows = api.emulator.texts("Cities")
    before = api.emulator.calls()
    again = send(api, key, path, method=method, body=body)

    assert first.status_code == status
    assert REPLAYED not in first.headers
    assert again.headers[REPLAYED] == "true"
    assert lasting(again) == lasting(first)
    assert api.emulator.calls() == before
    assert api.emulator.texts("Cities") == rows


def test_a_replay_names_ignored_fields(open_gateway: OpenGateway, key: str) -> None:
    """A replay has the `X-Ignored-Fields` header of the first answer."""
    api = open_gateway({"api.unknown_fields": "ignore"})
    body = {**BODY, "nope": 1}
    first = send(api, key, body=body)
    again = send(api, key, body=body)

    assert again.headers["x-ignored-fields"] == '"nope"'
    assert lasting(again) == lasting(first)


def test_a_replay_after_a_restart(open_gateway: OpenGateway, key: str) -> None:
    """Another gateway on the same key store replays the answer."""
    first = send(open_gateway(), key)
    again = send(open_gateway(), key)

    assert again.headers[REPLAYED] == "true"
    assert lasting(again) == lasting(first)


def test_a_key_is_scoped_to_operation_and_row(api: Api, key: str) -> None:
    """The same Idempotency-Key on another operation or row is a separate request."""
    answers = [
        send(api, key, path, method=method)
        for method, path in [("PUT", "Cities/2"), ("POST", "Cities"), ("PUT", "Cities/3")]
    ]

    assert [answer.status_code for answer in answers] == [200, 201, 200]
    assert not any(REPLAYED in answer.headers for answer in answers)


@pytest.mark.parametrize(("first", "then"), [*permutations(("PUT", "PATCH", "POST"), 2)])
def test_the_methods_that_update_a_row_are_one_request(
    api: Api, key: str, first: str, then: str
) -> None:
    """PUT, PATCH and POST of a row share an Idempotency-Key: the second gets a replay.

    Another body under the key gets 422.
    """
    answers = [send(api, key, "Cities/3", method=method) for method in (first, then)]
    other = send(api, key, "Cities/3", method=then, body={"name": "other"})

    assert [answer.headers.get(REPLAYED) for answer in answers] == [None, "true"]
    assert lasting(answers[0]) == lasting(answers[1])
    assert refused(other) == (422, 4220)
    assert api.emulator.calls() == (1, 1)


def test_an_escaped_path_is_the_same_row(api: Api, key: str) -> None:
    """A percent-encoded digit in the row number does not change the scope of the key."""
    first = send(api, key, "Cities/3", method="PUT")
    again = send(api, key, "Cities/%33/", method="PUT")

    assert REPLAYED not in first.headers
    assert again.headers[REPLAYED] == "true"
    assert again.json() == first.json()


def test_an_update_with_if_match_is_replayed(api: Api, key: str) -> None:
    """The retry of an update with `If-Match` gets the first success instead of 412."""
    tag = api.get("Cities/2").headers["etag"]
    headers = {"Idempotency-Key": key, "If-Match": tag}
    answers = [
        api.send("PATCH", "Cities/2", headers=headers, json={"name": "keyed"}) for _ in range(2)
    ]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].headers["etag"] == answers[1].headers["etag"] != tag


@pytest.mark.parametrize(
    ("body", "code"),
    [({"nope": 1}, 104), ({"name": ["nested"]}, 104), ({"name": None}, 104)],
    ids=["unknown field", "nested", "blank row"],
)
def test_a_refused_request_does_not_use_up_its_key(
    api: Api, key: str, body: Mapping[str, Any], code: int
) -> None:
    """After a 400, another body with the same Idempotency-Key is carried out."""
    failed = send(api, key, body=body)
    mended = send(api, key)

    assert refused(failed) == (400, code)
    assert mended.status_code == 201
    assert REPLAYED not in mended.headers


def test_a_write_refused_by_google_does_not_use_up_its_key(api: Api, key: str) -> None:
    """After a 429 of Google, the same Idempotency-Key is carried out."""
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 429})
    failed = send(api, key)
    later = send(api, key)

    assert failed.json()["outcome"] == "not_applied"
    assert later.status_code == 201
    assert api.emulator.texts("Cities")[11:] == [ROW]


@pytest.mark.parametrize("late_ms", [0, 2000])
def test_an_unknown_write_is_finished_by_its_repeated_request(
    open_gateway: OpenGateway, key: str, late_ms: int
) -> None:
    """A write with unknown outcome is completed exactly once by its retry."""
    api = open_gateway({"google.read_timeout_seconds": 1})
    late = {"late_ms": late_ms} if late_ms else {}
    api.emulator.faults(
        {"call": "spreadsheets.batchUpdate", "drop": True, **late},
        {"call": "developerMetadata.search", "times": 999, "status": 503},
    )
    first = send(api, key)
    api.emulator.faults()
    retry = send(api, key)
    again = send(api, key)

    assert refused(first) == (504, 5041)
    assert (first.json()["outcome"], first.headers["retry-after"]) == ("unknown", "10")
    assert (retry.status_code, retry.json()["rowIndex"]) == (201, 12)
    assert (REPLAYED in retry.headers) is bool(late_ms)
    assert lasting(again) == lasting(retry)
    assert api.emulator.texts("Cities")[11:] == [ROW]


def test_an_equal_create_does_not_get_the_row_of_an_unknown_one(
    open_gateway: OpenGateway, key: str
) -> None:
    """A row acknowledged to one request is never given to the retry of an equal request."""
    api = open_gateway({"google.read_timeout_seconds": 1})
    api.emulator.faults(
        {"call": "spreadsheets.batchUpdate", "drop": True},
        {"call": "developerMetadata.search", "times": 999, "status": 503},
    )
    lost = send(api, key)
    other = api.post("Cities", json=BODY)
    api.emulator.faults()
    retry = send(api, key)

    assert refused(lost) == (504, 5041)
    assert (other.status_code, other.json()["rowIndex"]) == (201, 12)
    assert (retry.status_code, retry.json()["rowIndex"]) == (201, 13)
    assert api.emulator.texts("Cities")[11:] == [ROW, ROW]


def test_a_409_of_moved_rows_is_replayed(api: Api, key: str) -> None:
    """An error with outcome `applied` is replayed, and the retry writes nothing."""
    api.emulator.faults(
        {"call": "spreadsheets.batchUpdate", "drop": True, "apply": True},
        {"call": "spreadsheets.get", "skip": 1, "edit": {"requests": [delete_rows("Cities", 11)]}},
    )
    first = send(api, key)
    again = send(api, key)

    assert refused(first) == refused(again) == (409, 4094)
    assert first.json()["outcome"] == again.json()["outcome"] == "applied"
    assert REPLAYED not in first.headers
    assert again.headers[REPLAYED] == "true"


@pytest.mark.parametrize(
    "fault",
    [
        {"delay_ms": 100, "apply": True},
        {"apply": True, "drop": True},
        {"apply": True, "drop": True, "delay_ms": 100},
    ],
    ids=["the client's", "Google's", "Google's and late"],
)
def test_a_client_that_left_gets_its_answer_later(
    api: Api, key: str, fault: Mapping[str, Any]
) -> None:
    """The write of a client that left is carried out once, and its retry gets the row."""
    api.emulator.faults({"call": "spreadsheets.batchUpdate", **fault})
    body = json.dumps(BODY).encode()
    head = (
        "POST /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nX-Spreadsheet-Id: demo\r\n"
        f"Authorization: {api.keys['paid']}\r\nIdempotency-Key: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with connected(api.url) as client:
        client.sendall(head.encode() + body)
        assert until(lambda: "spreadsheets.batchUpdate" in api.emulator.stats()["calls"])
    answers = []

    def is_answered() -> bool:
        answers.append(send(api, key))
        return answers[-1].status_code != 409

    assert until(is_answered)
    assert (answers[-1].status_code, answers[-1].json()["rowIndex"]) == (201, 12)
    assert answers[-1].headers[REPLAYED] == "true"
    assert api.emulator.texts("Cities")[11:] == [ROW]


def delete_rows(worksheet: str, index: int) -> dict[str, Any]:
    """The request that deletes a row. `index` counts from 0."""
    sheet = sorted(f"{name}.csv" for name in WORKBOOK["demo"]).index(f"{worksheet}.csv")
    rows = {"sheetId": sheet, "dimension": "ROWS", "startIndex": index, "endIndex": index + 1}
    return {"deleteDimension": {"range": rows}}
