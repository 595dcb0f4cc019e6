"""Members of faults with escaped bodies, calls without a spreadsheet, and token requests."""

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
    """The status of an append with these bytes as body."""
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
def test_match_finds_escaped_text(bench: Bench, match: str, body: bytes) -> None:
    """`match` finds a text in the raw body and in the body without JSON escapes."""
    bench.fault({"call": "values.append", "match": match})

    assert append_bytes(bench, body) == 503
    assert append_bytes(bench, body) == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 5000], ids=str)
def test_match_does_not_find_text_in_invalid_json(bench: Bench, body: bytes) -> None:
    """In a body that is not JSON, `match` is only searched in the raw bytes."""
    bench.fault({"call": "values.append", "match": "x"})

    assert append_bytes(bench, body) != 503


def test_edit_does_not_apply_to_the_creation_of_a_spreadsheet(bench: Bench) -> None:
    """A fault with `edit` for `*` skips spreadsheets.create and applies to the next call."""
    bench.fault({"call": "*", "status": None, "edit": NEW_SHEET})
    created = bench.call("POST", "/v4/spreadsheets", {})
    bench.grid("Data")

    assert created.status_code == 200
    assert len(created.json()["sheets"]) == 1
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data", "New"]


@pytest.mark.parametrize("call", ["spreadsheets.create", "token"])
def test_edit_for_a_call_without_spreadsheet_gets_400(bench: Bench, call: str) -> None:
    """A fault with `edit` for spreadsheets.create or `token` gets 400."""
    answer = bench.fault({"call": call, "edit": NEW_SHEET})

    assert answer.status_code == 400
    assert message(answer) == f"The call {call!r} has no spreadsheet to edit. Remove the edit."


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
def test_token_requests_can_have_faults(
    bench: Bench, fault: dict[str, Any], status: int, text: str
) -> None:
    """Status, text, delays, `skip` and `match` of a fault apply to one token request."""
    bench.fault({"call": "token", **fault})
    bench.clock.slept.clear()
    first = bench.ask_token()
    slept = [*bench.clock.slept]
    bench.fault()

    assert first.status_code == status
    assert text in first.text
    assert sum(slept) == (fault.get("hold_ms", 0) + fault.get("delay_ms", 0)) / 1000
    assert bench.ask_token().status_code == 200


def test_edit_accepts_all_json_forms(bench: Bench) -> None:
    """`edit` can have snake_case names and numbers as texts, like the body of a batchUpdate."""
    edit = {"requests": [{"add_sheet": {"properties": {"title": "New", "sheet_id": "7"}}}]}
    bench.fault({"call": "values.get", "edit": edit})
    bench.grid("Data")

    assert [sheet["sheetId"] for sheet in bench.sheets()] == [0, 7]


def test_token_answer_can_be_truncated_or_dropped(tmp_path: Path) -> None:
    """`truncate` and `drop` close the connection of a token request."""
    with serving(tmp_path, EmulatorOptions()) as served, Client(base_url=served.url) as client:
        client.post("/_emulator/faults", json=[{"call": "token", "truncate": 5}])
        with pytest.raises(RemoteProtocolError, match="received 5 bytes"):
            client.post("/token")
        client.post("/_emulator/faults", json=[{"call": "token", "drop": True}])
        with pytest.raises(RemoteProtocolError, match="without sending a response"):
            client.post("/token")
        status = client.post("/token").status_code

    assert status == 400  # the request has no assertion
