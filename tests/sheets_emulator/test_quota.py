"""Per-minute limits, latency and counting."""

from pathlib import Path
from typing import Any

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import NO_CALLS, Bench, bench_of_account, values_path
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
    """Refused calls are in `refused` only; failing ones count as the calls they are.

    The project and its only account have the same counts.
    """
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=2))
    bench.fault({"call": "values.get", "status": 503})
    statuses(bench, 3)
    bench.append("Nope", [["x"]])
    bench.ask_token()

    usage = {"reads": 2, "writes": 1, "refused": 1, "peak_reads": 2, "peak_writes": 1}
    assert bench.stats() == {
        "calls": {"values.get": 2, "values.append": 1, "token": 1},
        "reads": 2,
        "writes": 1,
        "refused": 1,
        "projects": {"emulator": {**usage, "accounts": {bench.account["client_email"]: usage}}},
    }


def test_peak_is_the_highest_number_of_calls_in_a_minute(bench: Bench) -> None:
    """Calls of any 60 seconds, not of a minute by the clock; a quiet minute leaves it."""
    bench.clock.advance(59)
    statuses(bench, 2)
    bench.clock.advance(59)
    statuses(bench, 2)
    bench.clock.advance(2)
    statuses(bench, 1)
    bench.clock.advance(500)
    statuses(bench, 1)
    usage = bench.stats()["projects"]["emulator"]

    assert (usage["reads"], usage["peak_reads"]) == (6, 4)


@pytest.mark.parametrize("project", ["emulator", "other"])
def test_limit_is_per_account(build: BenchBuilder, tmp_path: Path, project: str) -> None:
    """A service account is one user, whatever others spend, in its project or another one."""
    options = EmulatorOptions(reads_per_minute=2, projects=("emulator", project))
    bench = build({"Data": "x\n"}, options)
    other = bench_of_account(bench, 2, tmp_path)

    assert statuses(bench, 3) == [200, 200, 429]
    assert statuses(other, 3) == [200, 200, 429]


def test_limit_of_a_project_holds_over_all_its_accounts(
    build: BenchBuilder, tmp_path: Path
) -> None:
    """Its window slides as well, and other projects have limits of their own."""
    options = EmulatorOptions(
        reads_per_minute=2,
        reads_per_minute_per_project=3,
        projects=("emulator", "emulator", "other"),
    )
    bench = build({"Data": "x\n"}, options)
    second, third = (bench_of_account(bench, number, tmp_path) for number in (2, 3))
    at_first = [statuses(each, 2) for each in (bench, second, third)]
    bench.clock.advance(30)
    too_early = statuses(second, 1)
    bench.clock.advance(30.1)
    later = [statuses(each, 2) for each in (second, bench)]

    assert at_first == [[200, 200], [200, 429], [200, 200]]
    assert too_early == [429]
    assert later == [[200, 200], [200, 429]]


def test_call_that_the_project_refuses_does_not_count_for_its_account(
    build: BenchBuilder, tmp_path: Path
) -> None:
    """It counts as refused for both."""
    options = EmulatorOptions(reads_per_minute_per_project=2, projects=("emulator", "emulator"))
    bench = build({"Data": "x\n"}, options)
    other = bench_of_account(bench, 2, tmp_path)
    statuses(bench, 2)
    statuses(other, 1)
    project = bench.stats()["projects"]["emulator"]
    account = project["accounts"][other.account["client_email"]]

    assert (project["reads"], project["refused"]) == (2, 1)
    assert (account["reads"], account["refused"]) == (0, 1)


def test_limit_of_a_project_is_named_in_its_refusal(build: BenchBuilder) -> None:
    """As for a user's limit, with another name and unit."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute_per_project=1))
    bench.call("GET", DATA)
    error = bench.call("GET", DATA).json()["error"]

    assert error["message"] == (
        "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of "
        "service 'sheets.googleapis.com' for consumer 'project_number:123456789012'."
    )
    assert error["details"][0]["metadata"] == {
        "service": "sheets.googleapis.com",
        "consumer": "projects/123456789012",
        "quota_metric": "sheets.googleapis.com/read_requests",
        "quota_limit": "ReadRequestsPerMinutePerProject",
        "quota_limit_value": "1",
        "quota_unit": "1/min/{project}",
        "quota_location": "global",
    }


def test_writes_of_a_project_have_a_limit_of_their_own(build: BenchBuilder) -> None:
    """Reads go on; the refusal has fewer members, as that of a user's writes."""
    bench = build({"Data": "x\n"}, EmulatorOptions(writes_per_minute_per_project=1))
    answers = [bench.append("Data!A1", [["a"]]) for _ in range(2)]
    metadata = answers[1].json()["error"]["details"][0]["metadata"]

    assert [each.status_code for each in answers] == [200, 429]
    assert metadata["quota_limit"] == "WriteRequestsPerMinutePerProject"
    assert statuses(bench, 2) == [200, 200]


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

    assert bench.stats() == NO_CALLS
    assert bench.grid("Data") == [["x"]]
    assert bench.client.get(f"/_emulator/spreadsheets/{created}").status_code == 404
