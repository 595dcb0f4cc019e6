"""Failures of Google and the connection, injected into the emulator."""

import csv
import io
from typing import Any

import pytest

from gateway.server.sockets import base_url, bind
from tests.journeys.conftest import (
    Api,
    OpenGateway,
)
from tests.journeys.failure import is_open, refused
from tests.journeys.google_faults import (
    PAGE,
    READ_FAULTS,
    REFUSALS,
    REFUSED,
    RETRY_AFTER,
    SECRET,
    Fault,
)
from tests.journeys.workbook import WORKBOOK

LOOKS_BEFORE_WRITES = {
    "cache.header_ttl_seconds": 0,
    "google.max_waiting_seconds": 0,
    "writes.max_waiting_seconds": 1,
}
NEW = {"name": "Oslo"}
MOST_CELLS = 10_000_000

WRITES = [
    pytest.param("POST", "Cities", "spreadsheets.batchUpdate", id="create"),
    pytest.param("PUT", "Cities/2", "spreadsheets.batchUpdate", id="update"),
]
CHANGE = {"name": "Quito", "population": 1}


@pytest.mark.parametrize(("fault", "status", "code", "retryable"), READ_FAULTS)
@pytest.mark.parametrize("path", ["Cities", "Cities/2", 'Cities?where={"name":"Chicago"}'])
def test_a_failed_read(
    open_gateway: OpenGateway, path: str, fault: Fault, status: int, code: int, retryable: bool
) -> None:
    """Each kind of failed read has its error code, and pages of other origins can read
    the error.
    """
    api = open_gateway()
    api.emulator.faults({"call": "values.get", "times": 9, **fault})

    answer = api.get(path, headers={"Origin": "https://page.example"})

    assert is_open(answer.headers)
    assert refused(answer) == (status, code)
    assert answer.json()["retryable"] is retryable
    assert "outcome" not in answer.json()
    assert answer.headers.get("retry-after") == RETRY_AFTER.get(code)
    assert SECRET not in answer.text
    assert "sorry" not in answer.text


@pytest.mark.parametrize(("fault", "status", "code", "retryable"), READ_FAULTS)
def test_the_read_after_a_failed_one(
    open_gateway: OpenGateway, fault: Fault, status: int, code: int, retryable: bool
) -> None:
    """After a failed read the next read succeeds; after 429 the gateway does not call
    Google yet.
    """
    api = open_gateway({"google.max_waiting_seconds": 0})
    api.emulator.faults({"call": "values.get", "times": 3, **fault})
    failed = api.get("Cities")
    api.emulator.faults()
    before = api.emulator.calls()

    after = api.get("Cities")

    assert (refused(failed), failed.json()["retryable"]) == ((status, code), retryable)
    if code == 5030:
        assert refused(after) == (503, 5030)
        assert api.emulator.calls() == before
    else:
        assert after.status_code == 200


@pytest.mark.parametrize(("fault", "status", "code"), REFUSALS)
@pytest.mark.parametrize(("method", "path", "call"), WRITES)
def test_a_refused_write(
    open_gateway: OpenGateway,
    method: str,
    path: str,
    call: str,
    fault: Fault,
    status: int,
    code: int,
) -> None:
    """A write that Google refused is `not_applied`, and the gateway does not send it again."""
    api = open_gateway(LOOKS_BEFORE_WRITES)
    before = api.emulator.texts("Cities")
    api.emulator.faults({"call": call, "times": 9, **fault})

    page = {"Origin": "https://page.example"}
    answer = api.send(method, path, json=CHANGE, headers=page)
    sent = api.emulator.stats()["calls"][call]
    failed = api.emulator.texts("Cities")
    api.emulator.faults()
    next_answer = api.post("Cities", json=NEW)

    assert is_open(answer.headers)
    assert refused(answer) == (status, code)
    assert answer.json()["outcome"] == "not_applied"
    assert answer.json()["retryable"] is (code == 5030)
    assert answer.headers.get("retry-after") == RETRY_AFTER.get(code)
    assert SECRET not in answer.text
    assert sent == (2 if fault.get("status") == 401 else 1)
    assert failed == before
    if code == 5030:
        assert refused(next_answer) == (503, 5030)
    else:
        assert next_answer.json() == {"rowIndex": len(before) + 1, **NEW}
        assert api.emulator.texts("Cities") == [*before, [NEW["name"]]]


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
@pytest.mark.parametrize(("method", "path", "call"), WRITES)
def test_a_refused_write_of_unknown_outcome(
    api: Api, method: str, path: str, call: str, is_applied: bool
) -> None:
    """If Google's 400 names no request, the gateway finds out whether the write was applied.

    If it was not applied, the gateway makes sure that it cannot arrive later, and sends it again.
    """
    before = api.emulator.texts("Cities")
    api.emulator.faults({"call": call, "apply": is_applied, **REFUSED})

    answer = api.send(method, path, json=CHANGE)
    writes = api.emulator.stats()["writes"]
    written = [row for row in api.emulator.texts("Cities") if row[0] == "Quito"]

    assert answer.status_code == (201 if method == "POST" else 200)
    assert len(written) == 1
    assert len(api.emulator.texts("Cities")) == len(before) + (method == "POST")
    assert writes == (1 if is_applied else 1 + 2 + 1 + 1)  # once used ids are tried
    assert SECRET not in answer.text


@pytest.mark.parametrize(("fault", "status", "code", "retryable"), READ_FAULTS)
@pytest.mark.parametrize("path", ["Cities", "Cities/2"])
def test_a_write_whose_read_failed(
    open_gateway: OpenGateway,
    path: str,
    fault: Fault,
    status: int,
    code: int,
    retryable: bool,
) -> None:
    """If the read before a write fails, the write is `not_applied` and is not sent."""
    api = open_gateway(LOOKS_BEFORE_WRITES)
    before = api.emulator.everything()
    api.emulator.faults({"call": "spreadsheets.get", "times": 9, **fault})

    answer = api.post(path, json=NEW)

    assert refused(answer) == (status, code)
    assert answer.json()["outcome"] == "not_applied"
    assert answer.json()["retryable"] is retryable
    assert api.emulator.calls()[1] == 0
    assert api.emulator.everything() == before


def test_a_read_past_its_deadline(open_gateway: OpenGateway) -> None:
    """A read that Google does not answer in time gets a retryable 504."""
    api = open_gateway({"google.read_timeout_seconds": 0.2})
    assert api.get("Cities").status_code == 200
    api.emulator.faults({"call": "values.get", "delay_ms": 500})

    answer = api.get("Cities")

    assert refused(answer) == (504, 5040)
    assert answer.json()["retryable"] is True
    assert api.get("Cities").status_code == 200


def test_google_out_of_reach(open_gateway: OpenGateway) -> None:
    """Without a connection to Google, reads and writes get a retryable 502."""
    with bind("127.0.0.1", 0) as listening:
        closed = base_url(listening)
    api = open_gateway({"google.endpoint": closed})

    read, write = api.get("Cities"), api.post("Cities", json=NEW)

    assert [refused(answer) for answer in (read, write)] == [(502, 5021)] * 2
    assert [answer.json()["retryable"] for answer in (read, write)] == [True, True]
    assert write.json()["outcome"] == "not_applied"


GRANT_ERROR = '{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}'
TOKEN_FAULTS = [
    pytest.param({"status": 400, "text": GRANT_ERROR}, 5022, id="400"),
    pytest.param({"status": 401, "text": '{"error": "invalid_client"}'}, 5022, id="401"),
    pytest.param({"status": 500}, 5021, id="500"),
    pytest.param({"status": 503, "text": PAGE}, 5021, id="503 as HTML"),
    pytest.param({"status": 429}, 5021, id="429"),
    pytest.param({"status": 200, "text": PAGE}, 5021, id="200 as HTML"),
    pytest.param(
        {"status": 200, "text": '{"access_token": "a\\nb", "expires_in": 9}'}, 5021, id="no token"
    ),
    pytest.param({"truncate": 20}, 5021, id="truncated"),
    pytest.param({"drop": True}, 5021, id="dropped"),
    pytest.param({"delay_ms": 600}, 5021, id="slow"),
]


@pytest.mark.parametrize(("fault", "code"), TOKEN_FAULTS)
@pytest.mark.parametrize("body", [{}, {"json": NEW}], ids=["read", "write"])
def test_no_token(open_gateway: OpenGateway, body: Any, fault: Fault, code: int) -> None:
    """Without a token the gateway does not call the Sheets API; the next token makes it work."""
    api = open_gateway({"google.read_timeout_seconds": 0.3})
    api.emulator.faults({"call": "token", "times": 9, **fault})

    answer = api.send("POST" if body else "GET", "Cities", **body)
    calls = set(api.emulator.stats()["calls"])
    api.emulator.faults()
    after = api.get("Cities")

    assert refused(answer) == (502, code)
    assert answer.json()["retryable"] is (code == 5021)
    assert answer.json().get("outcome") == ("not_applied" if body else None)
    assert "JWT" not in answer.text
    assert calls == {"token"}
    assert after.status_code == 200


def test_a_token_that_google_refuses_is_renewed(api: Api) -> None:
    """After one 401, the gateway gets a new token and sends the read or write again."""
    api.emulator.faults({"call": "*", "status": 401})
    read = api.get("Cities")
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 401})
    write = api.post("Cities", json=NEW)

    assert (read.status_code, write.status_code) == (200, 201)
    assert api.emulator.stats()["calls"]["token"] == 3
    assert len(api.emulator.texts("Cities")) == 12


def sheet_id(worksheet: str) -> int:
    """Sheet ID of a worksheet in the emulator: its index among the sorted file names."""
    return sorted(f"{name}.csv" for name in WORKBOOK["demo"]).index(f"{worksheet}.csv")


@pytest.mark.parametrize(("method", "path", "call"), WRITES)
def test_protected_cells(api: Api, method: str, path: str, call: str) -> None:
    """A write to protected cells gets 403 code 4033, and no cell changes."""
    protection = {"protectedRange": {"range": {"sheetId": sheet_id("Cities")}}}
    api.emulator.faults({"call": call, "edit": {"requests": [{"addProtectedRange": protection}]}})
    before = api.emulator.everything()

    answer = api.send(method, path, json=NEW)

    assert refused(answer) == (403, 4033)
    assert answer.json()["outcome"] == "not_applied"
    assert "protected" in answer.json()["message"]
    assert api.emulator.everything() == before


def test_a_full_workbook(api: Api) -> None:
    """A create over Google's limit of cells gets 507; updates still succeed."""
    grid = {"rowCount": MOST_CELLS - sum(map(cells, WORKBOOK["demo"].values())), "columnCount": 1}
    requests: list[dict[str, Any]] = [
        {"addSheet": {"properties": {"sheetId": 999, "title": "Big", "gridProperties": grid}}}
    ]
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "edit": {"requests": requests}})

    answer = api.post("Cities", json=NEW)

    assert refused(answer) == (507, 5070)
    assert answer.json()["outcome"] == "not_applied"
    assert len(api.emulator.texts("Cities")) == 11
    assert api.send("PUT", "Cities/2", json=NEW).status_code == 200


def cells(text: str) -> int:
    """Number of cells of a seeded grid, which is exactly as large as its data."""
    rows = list(csv.reader(io.StringIO(text)))
    return max(len(rows), 1) * max([len(row) for row in rows] or [1])
