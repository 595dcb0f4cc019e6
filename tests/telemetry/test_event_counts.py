"""Events, and the counts for metrics that events change."""

import asyncio
import time
from copy import deepcopy

import pytest
from structlog.testing import capture_logs

from gateway.errors import (
    QuotaSpent,
    SpreadsheetNotFound,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.telemetry.events import (
    BUCKET_SECONDS,
    CALL_KINDS,
    CallKind,
    CallOutcome,
    Durations,
    RequestEvent,
    Tallies,
    breaker_changed,
    budget_waited,
    request_done,
    snapshots_kept,
    tallies,
    upstream_called,
)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(None, "ok", id="answered"),
        pytest.param(QuotaSpent("x"), "quota", id="quota"),
        pytest.param(UpstreamRefusal("x"), "refused", id="invalid"),
        pytest.param(SpreadsheetNotFound(), "refused", id="not-found"),
        pytest.param(UpstreamAuth("x"), "refused", id="account"),
        pytest.param(UpstreamError("x"), "failed", id="failed"),
        pytest.param(UpstreamUnreachable("x"), "failed", id="unreachable"),
        pytest.param(UpstreamTimeout("x"), "timeout", id="late"),
        pytest.param(WriteOutcomeUnknown("x"), "unknown", id="open"),
        pytest.param(asyncio.CancelledError(), "cancelled", id="cancelled"),
        pytest.param(ZeroDivisionError(), "failed", id="fault"),
    ],
)
@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
def test_calls_are_counted_by_outcome(
    error: BaseException | None, outcome: CallOutcome, is_write: bool
) -> None:
    """Each call to Google is counted by kind and outcome, also a call outside of a request."""
    kind: CallKind = "write" if is_write else "read"
    before = deepcopy(tallies)

    upstream_called("main", is_write=is_write, seconds=0.25, error=error)

    assert tallies.calls == before.calls | {(kind, outcome): before.calls[kind, outcome] + 1}
    assert tallies.call_durations[kind].seconds == before.call_durations[kind].seconds + 0.25


def test_calls_of_the_last_minute_are_counted_by_account() -> None:
    """`calls_of_minute` counts the calls of 60 s; older calls are removed to limit memory."""
    now = time.monotonic()
    tallies.call_seconds["spare", "read"].extend([now - 61, now - 60.5, now - 59])

    upstream_called("spare", is_write=False, seconds=0.25)
    counted = [tallies.calls_of_minute("spare", kind) for kind in CALL_KINDS]

    assert counted == [2, 0]
    assert len(tallies.call_seconds["spare", "read"]) == 2
    assert tallies.calls_of_minute("unknown", "read") == 0


def test_request_counts_by_kind_status_and_cache() -> None:
    """A request is counted once by operation, class of status and cache result."""
    before = deepcopy(tallies)

    with capture_logs():
        request_done(
            RequestEvent("r1", "GET", "/v2", status=404, cache="hit", operation="list"),
            seconds=0.25,
        )

    new, old = tallies.requests["list"], before.requests["list"]
    counted = [now - then for now, then in zip(new.statuses, old.statuses, strict=True)]
    assert counted == [0, 0, 0, 0, 1, 0]
    assert new.durations.seconds == old.durations.seconds + 0.25
    assert tallies.cache == before.cache | {"hit": before.cache["hit"] + 1}


def test_breaker_state_is_counted() -> None:
    """A change of the breaker logs a warning and updates the breaker's state and openings."""
    breaker_changed(False)  # because another test can have opened it
    openings = tallies.breaker_openings

    with capture_logs() as logs:
        breaker_changed(True)
        is_open = tallies.is_breaker_open
        breaker_changed(False)

    told = [(line["log_level"], line["event"], line["is_open"]) for line in logs]
    assert told == [("warning", "breaker", True), ("warning", "breaker", False)]
    assert (is_open, tallies.is_breaker_open) == (True, False)
    assert tallies.breaker_openings == openings + 1


def test_waits_and_snapshots_are_counted() -> None:
    """Waiting times are added up; of the snapshot counts, the latest is kept."""
    seconds = tallies.budget_waits.seconds

    budget_waited(0.5)
    snapshots_kept(3, 4096)
    snapshots_kept(2, 1024)

    assert tallies.budget_waits.seconds == seconds + 0.5
    assert (tallies.snapshots, tallies.snapshot_bytes) == (2, 1024)


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [
        pytest.param(0.0, 0, id="none"),
        pytest.param(0.0005, 0, id="at-a-bound"),
        pytest.param(0.00051, 1, id="over-a-bound"),
        pytest.param(30.0, len(BUCKET_SECONDS) - 1, id="at-the-last-bound"),
        pytest.param(1e9, len(BUCKET_SECONDS), id="over-all"),
    ],
)
def test_a_duration_is_in_one_bucket(seconds: float, bucket: int) -> None:
    """A duration counts in the first bucket whose upper bound is at least the duration."""
    durations = Durations()
    durations.add(seconds)

    assert [at for at, count in enumerate(durations.counts) if count] == [bucket]
    assert durations.seconds == seconds


@pytest.mark.parametrize("status", [0, 101, 200, 304, 404, 499, 599])
def test_every_status_counts_in_its_class(status: int) -> None:
    """A status is counted by its first digit; a request without an answer counts as 0."""
    before = deepcopy(tallies)
    with capture_logs():
        request_done(RequestEvent("r1", "GET", "/v2", status=status, operation="read"), 0.1)

    expected = before.requests["read"].statuses
    expected[status // 100] += 1
    assert tallies.requests["read"].statuses == expected
    assert tallies.requests["list"] == before.requests["list"]


def test_only_the_change_to_open_is_an_opening() -> None:
    """A breaker that is reported as open twice in a row counts as one opening."""
    tallies = Tallies()
    for is_open in (False, True, True, False, True):
        tallies.note_breaker(is_open=is_open)

    assert (tallies.breaker_openings, tallies.is_breaker_open) == (2, True)
