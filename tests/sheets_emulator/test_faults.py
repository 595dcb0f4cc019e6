"""Faults that a client posts to the emulator, and the effect of each member."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.requests_of import dimension

DATA = values_path("Data")
NEW_SHEET = {"requests": [{"addSheet": {"properties": {"title": "New"}}}]}


def read(bench: Bench) -> int:
    """The status of a values.get."""
    return bench.call("GET", DATA).status_code


def test_fault_is_used_once_and_only_for_its_call(bench: Bench) -> None:
    """A fault applies to the next call with this name, and to no other call."""
    bench.fault({"call": "values.append", "status": 503})
    first = read(bench)
    faulty = bench.append("Data", [["x"]])

    assert first == 200
    assert faulty.status_code == 503
    assert faulty.json() == {
        "error": {
            "code": 503,
            "message": "The service is currently unavailable.",
            "status": "UNAVAILABLE",
        }
    }
    assert bench.append("Data", [["y"]]).status_code == 200
    assert bench.grid("Data") == [["y"]]


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({}, 503),
        ({"apply": True}, 503),
        ({"late_ms": 1}, 503),
        ({"status": None}, 200),
        ({"hold_ms": 1}, 200),
        ({"delay_ms": 1}, 200),
        ({"edit": NEW_SHEET}, 200),
    ],
    ids=["bare", "applied", "late", "null", "held", "delayed", "edited"],
)
def test_default_status_of_a_fault_is_503(
    bench: Bench, members: dict[str, Any], status: int
) -> None:
    """The default status is 503, or the normal answer if the fault only delays or edits."""
    bench.fault({"call": "values.get", **members})

    assert read(bench) == status


def test_times_and_skip_select_calls(bench: Bench) -> None:
    """The fault applies to `times` calls after `skip` matching calls."""
    bench.fault({"call": "values.get", "status": 500, "times": 2, "skip": 1})

    assert [read(bench) for _ in range(5)] == [200, 500, 500, 200, 200]


def test_first_of_several_faults_is_used(bench: Bench) -> None:
    """If several faults apply to a call, the first one in the list is used."""
    bench.fault({"call": "values.get", "status": 500}, {"call": "*", "status": 503, "times": 2})

    assert [read(bench) for _ in range(4)] == [500, 503, 503, 200]


def test_star_does_not_apply_to_token_requests(bench: Bench) -> None:
    """A fault for `*` applies to every call of the API, but not to token requests."""
    bench.fault({"call": "*", "status": 503}, {"call": "token", "status": 500, "times": 1})
    tokens = [bench.ask_token().status_code for _ in range(2)]

    assert tokens == [500, 200]
    assert read(bench) == 503


def test_match_selects_calls_by_their_body(bench: Bench) -> None:
    """A fault with `match` applies only to calls whose body contains the text."""
    bench.fault({"call": "values.append", "status": 503, "match": '"Oslo"'})
    statuses = [bench.append("Data", [[city]]).status_code for city in ("Rome", "Oslo", "Oslo")]

    assert statuses == [200, 503, 200]


@pytest.mark.parametrize(("apply", "grid"), [(False, []), (True, [["x"]])])
def test_apply_decides_about_the_effect(bench: Bench, apply: bool, grid: list[list[str]]) -> None:
    """A write that a fault answers with an error takes effect only with `apply`."""
    bench.fault({"call": "values.append", "status": 503, "apply": apply})
    answer = bench.append("Data", [["x"]])

    assert answer.status_code == 503
    assert bench.grid("Data") == grid


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "UNKNOWN"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ],
)
def test_status_has_googles_body(bench: Bench, status: int, word: str) -> None:
    """The error of a fault has the code, status word and message of Google's errors."""
    bench.fault({"call": "values.get", "status": status})
    error = bench.call("GET", DATA).json()["error"]

    assert (error["code"], error["status"]) == (status, word)
    assert error["message"]


def test_success_without_a_text_is_the_normal_answer(bench: Bench) -> None:
    """A fault with status 200 and no `text` gives the normal answer of the call."""
    bench.update("A1", [["before"]])
    edit = {"requests": [{"addSheet": {"properties": {"title": "Other"}}}]}
    bench.fault({"call": "values.get", "status": 200, "edit": edit})
    answer = bench.call("GET", DATA)

    assert (answer.status_code, answer.json()["values"]) == (200, [["before"]])
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data", "Other"]


def test_text_replaces_the_json_of_the_answer(bench: Bench) -> None:
    """`text` replaces the body of the answer. The default status is 503."""
    bench.fault(
        {"call": "values.get", "status": 502, "text": "<html>Bad Gateway</html>"},
        {"call": "values.get", "text": "{"},
        {"call": "values.get", "status": 200, "text": "{"},
    )
    answers = [bench.call("GET", DATA) for _ in range(3)]

    assert [(each.status_code, each.text) for each in answers] == [
        (502, "<html>Bad Gateway</html>"),
        (503, "{"),
        (200, "{"),
    ]


@pytest.mark.parametrize("call", ["values.get", "token"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<p>Bad", "text/html"),
        ("{", "text/html"),
        ("503", "text/html"),
        ('{"error": 1}', "application/json"),
        ("[]\n", "application/json"),
    ],
)
def test_text_that_is_json_has_a_json_content_type(
    bench: Bench, call: str, text: str, kind: str
) -> None:
    """A `text` that is a JSON object or list has a JSON content type, any other has text/html."""
    bench.fault({"call": call, "status": 500, "text": text})
    answer = bench.ask_token() if call == "token" else bench.call("GET", DATA)

    assert answer.headers["Content-Type"] == f"{kind}; charset=UTF-8"
    assert answer.text == text


def test_delay_is_between_effect_and_answer(bench: Bench) -> None:
    """A fault with only `delay_ms` gives the normal answer after the delay."""
    bench.fault({"call": "values.append", "delay_ms": 1500})
    answer = bench.append("Data", [["x"]])

    assert answer.status_code == 200
    assert bench.clock.slept == [1.5]
    assert bench.grid("Data") == [["x"]]


@pytest.mark.parametrize(
    ("member", "rows"), [("hold_ms", [["x"]]), ("delay_ms", [])], ids=["held", "delayed"]
)
def test_read_with_hold_sees_writes_during_the_hold(
    bench: Bench, member: str, rows: list[list[str]]
) -> None:
    """A read with `hold_ms` sees writes during the hold. A read with `delay_ms` does not."""
    append = {"call": "values.append", "status": None, "late_ms": 1000}
    bench.fault(append, {"call": "values.get", member: 1500})
    bench.append("Data", [["x"]])

    assert bench.grid("Data") == rows
    assert bench.clock.slept[-1] == 1.5


def test_write_with_hold_takes_effect_after_the_hold(bench: Bench) -> None:
    """`hold_ms` delays the effect of a write, and `delay_ms` then delays the answer."""
    bench.fault({"call": "values.append", "hold_ms": 1500, "delay_ms": 500})
    answer = bench.append("Data", [["x"]])

    assert answer.status_code == 200
    assert bench.clock.slept == [1.5, 0.5]


def test_late_effect_comes_after_the_answer(bench: Bench) -> None:
    """A write with `late_ms` gets 503, and takes effect that long after the answer."""
    bench.fault({"call": "values.append", "late_ms": 200})
    answer = bench.append("Data", [["x"]])
    before = bench.grid("Data")
    bench.clock.advance(0.3)

    assert answer.status_code == 503
    assert before == []
    assert bench.grid("Data") == [["x"]]


def test_late_effect_with_null_status_has_the_normal_answer(bench: Bench) -> None:
    """With `late_ms` and a null status, the answer is normal. A failed late effect is ignored."""
    bench.fault(*[{"call": "values.append", "status": None, "late_ms": 200}] * 2)
    answer = bench.append("Data", [["x"]])
    bench.append("Data", [["y"]])
    bench.edit({"addSheet": {}}, {"deleteSheet": {"sheetId": 0}})
    bench.clock.advance(1.0)

    assert answer.json()["updates"]["updatedRange"] == "Data!A1"
    assert bench.grid("Sheet2") == []


def test_reset_stops_late_effects(bench: Bench) -> None:
    """A reset cancels late effects of faults."""
    bench.fault({"call": "values.append", "late_ms": 200})
    bench.append("Data", [["x"]])
    bench.client.post("/_emulator/reset")
    bench.clock.advance(1.0)

    assert bench.grid("Data") == []


def test_edit_takes_effect_just_before_the_call(bench: Bench) -> None:
    """The owner's edit takes effect before the call reads, and is not counted as a call."""
    bench.update("Data!A1", [["a"], ["b"]])
    edit = {"requests": [dimension("deleteDimension", "ROWS", 0, 1)]}
    bench.fault({"call": "values.get", "edit": edit})
    calls = bench.stats()["calls"]

    assert bench.grid("Data") == [["b"]]
    assert bench.stats()["calls"] == {**calls, "values.get": 1}


def test_edit_takes_effect_before_a_failing_call(bench: Bench) -> None:
    """The edit takes effect even if the fault answers the call with an error."""
    bench.fault({"call": "values.get", "status": 503, "edit": NEW_SHEET})
    status = read(bench)

    assert status == 503
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data", "New"]


def test_edit_that_fails_is_the_answer_of_the_call(bench: Bench) -> None:
    """If the edit of a fault fails, the call gets the error of the edit."""
    bench.fault({"call": "values.get", "edit": {"requests": [{"deleteSheet": {"sheetId": 7}}]}})
    answer = bench.call("GET", DATA)

    assert answer.status_code == 400
    assert message(answer) == "Invalid requests[0].deleteSheet: No sheet with id: 7"


def test_posting_faults_replaces_the_old_ones(bench: Bench) -> None:
    """Posting an empty list removes all faults."""
    bench.fault({"call": "*", "status": 503, "times": 9})
    bench.fault()

    assert read(bench) == 200


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([{"call": "values.get", "colour": "red"}], id="unknown member"),
        pytest.param([{"call": "values.delete"}], id="unknown call"),
        pytest.param([{}], id="no call"),
        pytest.param([{"call": "*", "times": -1}], id="negative"),
        pytest.param([{"call": "*", "times": "1"}], id="wrong type"),
        pytest.param([{"call": "*", "status": 700}], id="no such status"),
        pytest.param([{"call": "*", "hold_ms": 600_001}], id="hold without end"),
        pytest.param([{"call": "*", "delay_ms": 600_001}], id="delay without end"),
        pytest.param([{"call": "*", "late_ms": 600_001}], id="effect too late"),
        pytest.param([{"call": "*", "times": 1_000_000_001}], id="too many times"),
        pytest.param([{"call": "*", "skip": 1_000_000_001}], id="skip too many"),
        pytest.param([{"call": "*", "edit": {"request": []}}], id="edit of an unknown name"),
        pytest.param([{"call": "*", "edit": {"requests": 5}}], id="edit of a wrong type"),
        pytest.param([{"call": "*", "status": 204, "text": "x"}], id="text of a bodiless answer"),
        pytest.param({"call": "*"}, id="not a list"),
    ],
)
def test_invalid_faults_get_400_and_keep_the_old_ones(bench: Bench, faults: Any) -> None:
    """An invalid list of faults gets 400 and does not replace the old faults."""
    bench.fault({"call": "values.get", "status": 503})
    refused = bench.client.post("/_emulator/faults", json=faults)

    assert refused.status_code == 400
    assert read(bench) == 503
