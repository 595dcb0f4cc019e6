"""The `/_emulator/*` routes."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench
from tests.sheets_emulator.conftest import BenchBuilder

ADD_SHEET = {"requests": [{"addSheet": {"properties": {"title": "New"}}}]}


def test_spreadsheet_is_shown_cell_by_cell(build: BenchBuilder) -> None:
    """Every cell with typed value, formula and displayed text."""
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
    """Only the displayed error remains."""
    bench = build({"Data": "=1/0\n"})
    cells = bench.client.get("/_emulator/spreadsheets/book").json()["Data"]

    assert cells == [[{"value": "#DIV/0!", "formula": "=1/0", "text": "#DIV/0!"}]]


def test_control_needs_no_credentials_and_counts_nothing(bench: Bench) -> None:
    """Control requests do not count as calls."""
    bench.client.get("/_emulator/spreadsheets/book")
    bench.client.post("/_emulator/faults", json=[])

    assert bench.stats()["calls"] == {}


@pytest.mark.parametrize("fault", [{}, {"apply": True, "status": 500}, {"edit": ADD_SHEET}])
@pytest.mark.parametrize("moment", [0.5, 1.5], ids=["before the effect", "after the effect"])
def test_call_from_before_a_reset_does_not_touch_the_data_of_after_it(
    build: BenchBuilder, moment: float, fault: dict[str, Any]
) -> None:
    """The effect of what was running is dropped or undone, and the answer is a 503."""
    bench = build({"Data": "a\n"}, EmulatorOptions(latency_ms=2000))
    bench.fault({"call": "values.append", **fault})
    bench.clock.later(moment, bench.emulator.service.reset)
    answer = bench.append("Data", [["x"]])

    assert (answer.status_code, answer.json()["error"]["status"]) == (503, "UNAVAILABLE")
    assert bench.grid("Data") == [["a"]]
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data"]


def test_late_effect_from_before_a_reset_does_not_come(bench: Bench) -> None:
    """An effect that was to come after an answer that is still under way is dropped too."""
    bench.fault({"call": "values.append", "delay_ms": 1000, "late_ms": 200})
    bench.clock.later(0.5, bench.emulator.service.reset)
    bench.append("Data", [["x"]])
    bench.clock.advance(2.0)

    assert bench.grid("Data") == []


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1", 200), ("::1", 200), ("192.0.2.7", 403), ("10.0.0.1", 403)]
)
def test_control_is_for_clients_on_this_machine(bench: Bench, host: str, status: int) -> None:
    """A client of another machine is refused."""
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
def test_other_requests_are_refused(bench: Bench, method: str, path: str, status: int) -> None:
    """Unknown spreadsheets and wrong methods."""
    assert bench.client.request(method, path).status_code == status
