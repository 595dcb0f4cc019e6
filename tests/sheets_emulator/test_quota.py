"""Per-minute limits, latency and counting."""

from typing import Any

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, values_path
from tests.sheets_emulator.conftest import BenchBuilder

DATA = values_path("Data")


def statuses(bench: Bench, count: int) -> list[int]:
    return [bench.call("GET", DATA).status_code for _ in range(count)]


def test_reads_past_the_limit_are_refused_with_the_recorded_body(build: BenchBuilder) -> None:
    """429 names the quota, its limit and why, and has no Retry-After."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=1))
    bench.call("GET", DATA)
    answer = bench.call("GET", DATA)
    error = answer.json()["error"]
    info: dict[str, Any] = error["details"][0]

    assert answer.status_code == 429
    assert "retry-after" not in answer.headers
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert error["message"] == (
        "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per "
        "user' of service 'sheets.googleapis.com' for consumer 'project_number:123456789012'."
    )
    assert info["reason"] == "RATE_LIMIT_EXCEEDED"
    assert info["metadata"]["quota_limit_value"] == "1"
    assert info["metadata"]["quota_limit"] == "ReadRequestsPerMinutePerUser"


def test_window_slides(build: BenchBuilder) -> None:
    """A call counts for a minute from its own moment; a refused one does not count."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=2))
    first = statuses(bench, 1)
    bench.clock.advance(30)
    second = statuses(bench, 3)
    bench.clock.advance(30.1)
    third = statuses(bench, 2)

    assert (first, second, third) == ([200], [200, 429, 429], [200, 429])


def test_writes_have_a_limit_of_their_own_and_a_refused_one_has_no_effect(
    build: BenchBuilder,
) -> None:
    """Reads go on when writes are spent; nothing is written by a refused call."""
    bench = build({"Data": "x\n"}, EmulatorOptions(writes_per_minute=1))
    written = [bench.append("Data!A1", [[row]]).status_code for row in ("a", "b")]

    assert written == [200, 429]
    assert bench.grid("Data") == [["x"], ["a"]]


def test_stats_count_calls_by_name_and_kind(build: BenchBuilder) -> None:
    """Refused calls are in `refused` only; failing ones count as the calls they are."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=2))
    bench.fault({"call": "values.get", "status": 503})
    statuses(bench, 3)
    bench.append("Nope", [["x"]])
    bench.ask_token()

    assert bench.stats() == {
        "calls": {"values.get": 2, "values.append": 1, "token": 1},
        "reads": 2,
        "writes": 1,
        "refused": 1,
    }


def test_call_without_a_valid_token_is_not_counted(bench: Bench) -> None:
    """There is no account to count it for."""
    bench.client.get(DATA)

    assert bench.stats()["calls"] == {}


def test_latency_is_half_before_and_half_after_the_effect(build: BenchBuilder) -> None:
    """Every call takes the given time, tokens included."""
    bench = build({"Data": "x\n"}, EmulatorOptions(latency_ms=300))
    bench.clock.slept.clear()
    bench.call("GET", DATA)
    bench.ask_token()

    assert bench.clock.slept == [0.15, 0.15, 0.15, 0.15]


def test_reset_clears_counts_limits_and_data(build: BenchBuilder) -> None:
    """After a reset all is as at the start, and the token still works."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=1, writes_per_minute=2))
    bench.append("Data!A1", [["a"]])
    created = bench.call("POST", "/v4/spreadsheets", {}).json()["spreadsheetId"]
    statuses(bench, 2)
    bench.fault({"call": "*", "status": 503})
    bench.client.post("/_emulator/reset")

    assert bench.stats() == {"calls": {}, "reads": 0, "writes": 0, "refused": 0}
    assert bench.grid("Data") == [["x"]]
    assert bench.client.get(f"/_emulator/spreadsheets/{created}").status_code == 404
