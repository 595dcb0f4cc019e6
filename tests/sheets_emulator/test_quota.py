"""Limits per minute, latency and statistics of calls."""

from pathlib import Path
from typing import Any

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import NO_CALLS, Bench, bench_of_account, values_path
from tests.sheets_emulator.conftest import BenchBuilder

DATA = values_path("Data")


def statuses(bench: Bench, count: int) -> list[int]:
    """The statuses of `count` reads, one after the other."""
    return [bench.call("GET", DATA).status_code for _ in range(count)]


def test_reads_above_the_limit_get_the_recorded_429(build: BenchBuilder) -> None:
    """A 429 has the name and value of the limit and the reason, and no `Retry-After`."""
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


def test_limit_counts_the_last_60_seconds(build: BenchBuilder) -> None:
    """A call counts for 60 seconds. A call that gets 429 does not count."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=2))
    first = statuses(bench, 1)
    bench.clock.advance(30)
    second = statuses(bench, 3)
    bench.clock.advance(30.1)
    third = statuses(bench, 2)

    assert (first, second, third) == ([200], [200, 429, 429], [200, 429])


def test_writes_have_their_own_limit(
    build: BenchBuilder,
) -> None:
    """A write above the limit gets 429 without effect. Reads are still allowed."""
    bench = build({"Data": "x\n"}, EmulatorOptions(writes_per_minute=1))
    written = [bench.append("Data!A1", [[row]]).status_code for row in ("a", "b")]

    assert written == [200, 429]
    assert bench.grid("Data") == [["x"], ["a"]]


def test_stats_count_calls_by_name_and_kind(build: BenchBuilder) -> None:
    """Calls above the limit only count in `refused`. Other failed calls count as normal calls.

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


def test_peak_is_the_maximum_of_calls_in_60_seconds(bench: Bench) -> None:
    """The peak is the maximum of any 60 seconds, not of a clock minute."""
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
    """Each service account has its own limit, also within one project."""
    options = EmulatorOptions(reads_per_minute=2, projects=("emulator", project))
    bench = build({"Data": "x\n"}, options)
    other = bench_of_account(bench, 2, tmp_path)

    assert statuses(bench, 3) == [200, 200, 429]
    assert statuses(other, 3) == [200, 200, 429]


def test_limit_of_a_project_is_shared_by_its_accounts(build: BenchBuilder, tmp_path: Path) -> None:
    """All accounts of a project share a limit over 60 seconds. Other projects are not affected."""
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


def test_call_above_the_project_limit_does_not_count_for_its_account(
    build: BenchBuilder, tmp_path: Path
) -> None:
    """A call above the limit of the project counts as refused for the project and the account."""
    options = EmulatorOptions(reads_per_minute_per_project=2, projects=("emulator", "emulator"))
    bench = build({"Data": "x\n"}, options)
    other = bench_of_account(bench, 2, tmp_path)
    statuses(bench, 2)
    statuses(other, 1)
    project = bench.stats()["projects"]["emulator"]
    account = project["accounts"][other.account["client_email"]]

    assert (project["reads"], project["refused"]) == (2, 1)
    assert (account["reads"], account["refused"]) == (0, 1)


def test_limit_of_a_project_is_named_in_its_error(build: BenchBuilder) -> None:
    """The 429 has the name and unit of the project's limit."""
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


def test_writes_of_a_project_have_their_own_limit(build: BenchBuilder) -> None:
    """A write above the limit of the project gets 429. Reads are still allowed."""
    bench = build({"Data": "x\n"}, EmulatorOptions(writes_per_minute_per_project=1))
    answers = [bench.append("Data!A1", [["a"]]) for _ in range(2)]
    metadata = answers[1].json()["error"]["details"][0]["metadata"]

    assert [each.status_code for each in answers] == [200, 429]
    assert metadata["quota_limit"] == "WriteRequestsPerMinutePerProject"
    assert statuses(bench, 2) == [200, 200]


def test_call_without_a_valid_token_is_not_counted(bench: Bench) -> None:
    """A call without a token is not in the statistics, because the account is unknown."""
    bench.client.get(DATA)

    assert bench.stats()["calls"] == {}


def test_latency_is_half_before_and_half_after_the_effect(build: BenchBuilder) -> None:
    """Calls and token requests wait half the latency before and half after the effect."""
    bench = build({"Data": "x\n"}, EmulatorOptions(latency_ms=300))
    bench.clock.slept.clear()
    bench.call("GET", DATA)
    bench.ask_token()

    assert bench.clock.slept == [0.15, 0.15, 0.15, 0.15]


def test_reset_clears_counts_limits_and_data(build: BenchBuilder) -> None:
    """A reset restores the seed and clears counts, limits and faults. The token stays valid."""
    bench = build({"Data": "x\n"}, EmulatorOptions(reads_per_minute=1, writes_per_minute=2))
    bench.append("Data!A1", [["a"]])
    created = bench.call("POST", "/v4/spreadsheets", {}).json()["spreadsheetId"]
    statuses(bench, 2)
    bench.fault({"call": "*", "status": 503})
    bench.client.post("/_emulator/reset")

    assert bench.stats() == NO_CALLS
    assert bench.grid("Data") == [["x"]]
    assert bench.client.get(f"/_emulator/spreadsheets/{created}").status_code == 404
