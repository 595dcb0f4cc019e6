"""Faults as data: each member does what it says."""

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
    """Other calls are answered normally, and so is the next one."""
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
def test_a_fault_that_names_nothing_else_is_a_503(
    bench: Bench, members: dict[str, Any], status: int
) -> None:
    """Left out, the status is 503, unless another thing is to happen to the call."""
    bench.fault({"call": "values.get", **members})

    assert read(bench) == status


def test_times_and_skip_choose_the_calls(bench: Bench) -> None:
    """The fault is used `times` times after `skip` matching calls."""
    bench.fault({"call": "values.get", "status": 500, "times": 2, "skip": 1})

    assert [read(bench) for _ in range(5)] == [200, 500, 500, 200, 200]


def test_first_of_several_faults_is_used(bench: Bench) -> None:
    """A list is used up in its order."""
    bench.fault({"call": "values.get", "status": 500}, {"call": "*", "status": 503, "times": 2})

    assert [read(bench) for _ in range(4)] == [500, 503, 503, 200]


def test_star_leaves_tokens_out(bench: Bench) -> None:
    """`*` is every call of the API; the token endpoint has to be named."""
    bench.fault({"call": "*", "status": 503}, {"call": "token", "status": 500, "times": 1})
    tokens = [bench.ask_token().status_code for _ in range(2)]

    assert tokens == [500, 200]
    assert read(bench) == 503


def test_match_chooses_calls_by_their_body(bench: Bench) -> None:
    """Only calls whose body holds the text are meant."""
    bench.fault({"call": "values.append", "status": 503, "match": '"Oslo"'})
    statuses = [bench.append("Data", [[city]]).status_code for city in ("Rome", "Oslo", "Oslo")]

    assert statuses == [200, 503, 200]


@pytest.mark.parametrize(("apply", "grid"), [(False, []), (True, [["x"]])])
def test_apply_decides_about_the_effect(bench: Bench, apply: bool, grid: list[list[str]]) -> None:
    """A write that is answered with an error takes effect only with `apply`."""
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
    """An error of a fault looks like Google's."""
    bench.fault({"call": "values.get", "status": status})
    error = bench.call("GET", DATA).json()["error"]

    assert (error["code"], error["status"]) == (status, word)
    assert error["message"]


def test_success_without_a_text_is_the_answer_of_the_call(bench: Bench) -> None:
    """A fault may say 200 for a call that something else happens to."""
    bench.update("A1", [["before"]])
    edit = {"requests": [{"addSheet": {"properties": {"title": "Other"}}}]}
    bench.fault({"call": "values.get", "status": 200, "edit": edit})
    answer = bench.call("GET", DATA)

    assert (answer.status_code, answer.json()["values"]) == (200, [["before"]])
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data", "Other"]


def test_text_takes_the_place_of_the_json(bench: Bench) -> None:
    """`text` is the body as it is, of the 503 that a fault is unless it says otherwise."""
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
def test_text_that_is_json_says_so(bench: Bench, call: str, text: str, kind: str) -> None:
    """Clients that go by the content type read it as what it is."""
    bench.fault({"call": call, "status": 500, "text": text})
    answer = bench.ask_token() if call == "token" else bench.call("GET", DATA)

    assert answer.headers["Content-Type"] == f"{kind}; charset=UTF-8"
    assert answer.text == text


def test_delay_lies_between_effect_and_answer(bench: Bench) -> None:
    """A fault with nothing but a delay answers normally after it."""
    bench.fault({"call": "values.append", "delay_ms": 1500})
    answer = bench.append("Data", [["x"]])

    assert answer.status_code == 200
    assert bench.clock.slept == [1.5]
    assert bench.grid("Data") == [["x"]]


@pytest.mark.parametrize(
    ("member", "rows"), [("hold_ms", [["x"]]), ("delay_ms", [])], ids=["held", "delayed"]
)
def test_a_held_read_sees_what_came_meanwhile(
    bench: Bench, member: str, rows: list[list[str]]
) -> None:
    """A hold is before a read sees the data, a delay after it."""
    append = {"call": "values.append", "status": None, "late_ms": 1000}
    bench.fault(append, {"call": "values.get", member: 1500})
    bench.append("Data", [["x"]])

    assert bench.grid("Data") == rows
    assert bench.clock.slept[-1] == 1.5


def test_a_held_write_takes_effect_after_the_hold(bench: Bench) -> None:
    """Hold, effect and delay follow each other."""
    bench.fault({"call": "values.append", "hold_ms": 1500, "delay_ms": 500})
    answer = bench.append("Data", [["x"]])

    assert answer.status_code == 200
    assert bench.clock.slept == [1.5, 0.5]


def test_late_effect_comes_after_the_answer(bench: Bench) -> None:
    """The write is answered first, with an error, and is there only after `late_ms`."""
    bench.fault({"call": "values.append", "late_ms": 200})
    answer = bench.append("Data", [["x"]])
    before = bench.grid("Data")
    bench.clock.advance(0.3)

    assert answer.status_code == 503
    assert before == []
    assert bench.grid("Data") == [["x"]]


def test_late_effect_without_an_error_is_answered_as_if_done(bench: Bench) -> None:
    """With a status of null the answer is the usual one; a failing late effect is ignored."""
    bench.fault(*[{"call": "values.append", "status": None, "late_ms": 200}] * 2)
    answer = bench.append("Data", [["x"]])
    bench.append("Data", [["y"]])
    bench.edit({"addSheet": {}}, {"deleteSheet": {"sheetId": 0}})
    bench.clock.advance(1.0)

    assert answer.json()["updates"]["updatedRange"] == "Data!A1"
    assert bench.grid("Sheet2") == []


def test_reset_stops_late_effects(bench: Bench) -> None:
    """Pending effects of faults do not happen after a reset."""
    bench.fault({"call": "values.append", "late_ms": 200})
    bench.append("Data", [["x"]])
    bench.client.post("/_emulator/reset")
    bench.clock.advance(1.0)

    assert bench.grid("Data") == []


def test_edit_takes_effect_just_before_the_call(bench: Bench) -> None:
    """A person's edit comes in between and is counted nowhere."""
    bench.update("Data!A1", [["a"], ["b"]])
    edit = {"requests": [dimension("deleteDimension", "ROWS", 0, 1)]}
    bench.fault({"call": "values.get", "edit": edit})
    calls = bench.stats()["calls"]

    assert bench.grid("Data") == [["b"]]
    assert bench.stats()["calls"] == {**calls, "values.get": 1}


def test_edit_comes_before_a_failing_call_too(bench: Bench) -> None:
    """The edit takes effect for every kind of answer."""
    bench.fault({"call": "values.get", "status": 503, "edit": NEW_SHEET})
    status = read(bench)

    assert status == 503
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data", "New"]


def test_edit_that_cannot_be_done_is_reported(bench: Bench) -> None:
    """A bad edit is answered with its own refusal."""
    bench.fault({"call": "values.get", "edit": {"requests": [{"deleteSheet": {"sheetId": 7}}]}})
    answer = bench.call("GET", DATA)

    assert answer.status_code == 400
    assert message(answer) == "Invalid requests[0].deleteSheet: No sheet with id: 7"


def test_posting_replaces_the_list(bench: Bench) -> None:
    """An empty list clears what is pending."""
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
def test_bad_faults_are_refused_and_the_old_ones_stay(bench: Bench, faults: Any) -> None:
    """A 400 changes nothing."""
    bench.fault({"call": "values.get", "status": 503})
    refused = bench.client.post("/_emulator/faults", json=faults)

    assert refused.status_code == 400
    assert read(bench) == 503
