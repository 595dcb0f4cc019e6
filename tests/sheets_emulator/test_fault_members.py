"""Members of faults where they meet: bodies with escapes, calls of no spreadsheet, tokens."""

from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, RemoteProtocolError

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.stock.served import serving

DATA = values_path("Data")
APPEND = f"{DATA}:append?valueInputOption=RAW"
NEW_SHEET = {"requests": [{"addSheet": {"properties": {"title": "New"}}}]}


def append_bytes(bench: Bench, body: bytes) -> int:
    """The status of an append with this very body."""
    headers = {"Authorization": f"Bearer {bench.token}"}
    return bench.client.post(APPEND, content=body, headers=headers).status_code


@pytest.mark.parametrize(
    ("match", "body"),
    [
        ("Zürich", '{"values": [["Zürich"]]}'.encode()),
        ("Zürich", b'{"values": [["Z\\u00fcrich"]]}'),
        ("\\u00fc", b'{"values": [["Z\\u00fcrich"]]}'),
        ("a/b", b'{"values": [["a\\/b"]]}'),
    ],
    ids=["bare", "escaped", "as it was sent", "needless escape"],
)
def test_match_reads_through_escapes(bench: Bench, match: str, body: bytes) -> None:
    """Clients write one text in several ways; a fault need not know which."""
    bench.fault({"call": "values.append", "match": match})

    assert append_bytes(bench, body) == 503
    assert append_bytes(bench, body) == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 5000], ids=str)
def test_match_is_in_no_body_that_cannot_be_read(bench: Bench, body: bytes) -> None:
    """A body that is no JSON is looked at as it is."""
    bench.fault({"call": "values.append", "match": "x"})

    assert append_bytes(bench, body) != 503


def test_edit_leaves_the_creation_of_a_spreadsheet_alone(bench: Bench) -> None:
    """There is nothing yet that a person could edit; the fault waits for the next call."""
    bench.fault({"call": "*", "status": None, "edit": NEW_SHEET})
    created = bench.call("POST", "/v4/spreadsheets", {})
    bench.grid("Data")

    assert created.status_code == 200
    assert len(created.json()["sheets"]) == 1
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data", "New"]


@pytest.mark.parametrize("call", ["spreadsheets.create", "token"])
def test_edit_of_no_spreadsheet_is_refused(bench: Bench, call: str) -> None:
    """A list with such a fault is not taken."""
    answer = bench.fault({"call": call, "edit": NEW_SHEET})

    assert answer.status_code == 400
    assert message(answer) == f"The call {call!r} is of no spreadsheet that could be edited."


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        ({"status": 400}, 400, '"error": "invalid_grant"'),
        ({"status": 401}, 401, '"error": "invalid_client"'),
        ({"status": 404}, 404, '"error": "invalid_grant"'),
        ({"status": 429}, 429, '"error": "rate_limit_exceeded"'),
        ({"status": 500}, 500, '"error": "internal_failure"'),
        ({"status": 502}, 502, '"error_description": "'),
        ({"status": 502, "text": "<p>Bad"}, 502, "<p>Bad"),
        ({"text": "{}"}, 503, "{}"),
        ({"status": 200, "text": "{}"}, 200, "{}"),
        ({"hold_ms": 1500}, 200, '"access_token"'),
        ({"delay_ms": 1500}, 200, '"access_token"'),
        ({"skip": 1}, 200, '"access_token"'),
        ({"match": "grant_type"}, 503, '"error": "internal_failure"'),
        ({"match": "nothing"}, 200, '"access_token"'),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_token_call_has_faults_of_its_own(
    bench: Bench, fault: dict[str, Any], status: int, text: str
) -> None:
    """Each member does to a token what it does to any call, once."""
    bench.fault({"call": "token", **fault})
    bench.clock.slept.clear()
    first = bench.ask_token()
    slept = [*bench.clock.slept]
    bench.fault()

    assert first.status_code == status
    assert text in first.text
    assert sum(slept) == (fault.get("hold_ms", 0) + fault.get("delay_ms", 0)) / 1000
    assert bench.ask_token().status_code == 200


def test_spellings_of_an_edit_are_read_as_those_of_a_call(bench: Bench) -> None:
    """An edit is a batchUpdate body like any other: snake_case names, numbers as texts."""
    edit = {"requests": [{"add_sheet": {"properties": {"title": "New", "sheet_id": "7"}}}]}
    bench.fault({"call": "values.get", "edit": edit})
    bench.grid("Data")

    assert [sheet["sheetId"] for sheet in bench.sheets()] == [0, 7]


def test_token_answer_may_be_cut_or_never_come(tmp_path: Path) -> None:
    """`truncate` and `drop` end the connection of a token call."""
    with serving(tmp_path, EmulatorOptions()) as served, Client(base_url=served.url) as client:
        client.post("/_emulator/faults", json=[{"call": "token", "truncate": 5}])
        with pytest.raises(RemoteProtocolError, match="received 5 bytes"):
            client.post("/token")
        client.post("/_emulator/faults", json=[{"call": "token", "drop": True}])
        with pytest.raises(RemoteProtocolError, match="without sending a response"):
            client.post("/token")
        status = client.post("/token").status_code

    assert status == 400  # as ever: there was no assertion in the request
