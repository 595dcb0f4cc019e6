"""The control routes `/_emulator/*`."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench
from tests.sheets_emulator.conftest import BenchBuilder

ADD_SHEET = {"requests": [{"addSheet": {"properties": {"title": "New"}}}]}


def test_spreadsheet_is_shown_cell_by_cell(build: BenchBuilder) -> None:
    """The answer has the value, formula and displayed text of each cell."""
    bench = build({"Data": "x,$5,TRUE\n=A1,,2020-01-01\n"})

    assert bench.client.get("/_emulator/spreadsheets/book").json() == {
        "Data": [
            [
                {"value": "x", "formula": None, "text": "x"},
                {"value": 5, "formula": None, "text": "$5"},
                {"value": True, "formula": None, "text": "TRUE"},
            ],
            [
                {"value": "x", "formula": "=A1", "text": "x"},
                {"value": None, "formula": None, "text": ""},
                {"value": 43831, "formula": None, "text": "2020-01-01"},
            ],
        ]
    }


def test_error_is_shown_without_its_explanation(build: BenchBuilder) -> None:
    """The value of a failed formula is the displayed error, such as `#DIV/0!`."""
    bench = build({"Data": "=1/0\n"})
    cells = bench.client.get("/_emulator/spreadsheets/book").json()["Data"]

    assert cells == [[{"value": "#DIV/0!", "formula": "=1/0", "text": "#DIV/0!"}]]


def test_control_needs_no_credentials_and_is_not_counted(bench: Bench) -> None:
    """Control requests work without a token and are not in the statistics."""
    bench.client.get("/_emulator/spreadsheets/book")
    bench.client.post("/_emulator/faults", json=[])

    assert bench.stats()["calls"] == {}


@pytest.mark.parametrize("fault", [{}, {"apply": True, "status": 500}, {"edit": ADD_SHEET}])
@pytest.mark.parametrize("moment", [0.5, 1.5], ids=["before the effect", "after the effect"])
def test_call_that_runs_at_a_reset_has_no_effect(
    build: BenchBuilder, moment: float, fault: dict[str, Any]
) -> None:
    """A call that runs at a reset gets 503 and has no effect."""
    bench = build({"Data": "a\n"}, EmulatorOptions(latency_ms=2000))
    bench.fault({"call": "values.append", **fault})
    bench.clock.later(moment, bench.emulator.service.reset)
    answer = bench.append("Data", [["x"]])

    assert (answer.status_code, answer.json()["error"]["status"]) == (503, "UNAVAILABLE")
    assert bench.grid("Data") == [["a"]]
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data"]


def test_late_effect_of_a_call_that_runs_at_a_reset_is_dropped(bench: Bench) -> None:
    """A reset during a call also cancels an effect that is planned after the answer."""
    bench.fault({"call": "values.append", "delay_ms": 1000, "late_ms": 200})
    bench.clock.later(0.5, bench.emulator.service.reset)
    bench.append("Data", [["x"]])
    bench.clock.advance(2.0)

    assert bench.grid("Data") == []


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1", 200), ("::1", 200), ("192.0.2.7", 403), ("10.0.0.1", 403)]
)
def test_control_is_only_for_clients_on_this_machine(bench: Bench, host: str, status: int) -> None:
    """A client with an address that is not a loopback address gets 403."""
    client = TestClient(bench.emulator.app, client=(host, 50_000))

    assert client.get("/_emulator/stats").status_code == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/_emulator/spreadsheets/none", 404),
        ("GET", "/_emulator/reset", 405),
        ("POST", "/_emulator/stats", 405),
    ],
)
def test_other_control_requests_are_errors(
    bench: Bench, method: str, path: str, status: int
) -> None:
    """An unknown spreadsheet gets 404, and a wrong method gets 405."""
    assert bench.client.request(method, path).status_code == status
