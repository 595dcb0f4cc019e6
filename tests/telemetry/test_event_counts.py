"""Events, and the counts that become of them."""

import asyncio
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
from gateway.telemetry.counters import CallKind, CallOutcome
from gateway.telemetry.events import (
    RequestEvent,
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
def test_call_counts_by_its_end(
    error: BaseException | None, outcome: CallOutcome, is_write: bool
) -> None:
    """Every call to Google counts, by what came of it, also one of no request."""
    kind: CallKind = "write" if is_write else "read"
    before = deepcopy(tallies)

    upstream_called(is_write=is_write, seconds=0.25, error=error)

    assert tallies.calls == before.calls | {(kind, outcome): before.calls[kind, outcome] + 1}
    assert tallies.call_durations[kind].seconds == before.call_durations[kind].seconds + 0.25


def test_request_counts_by_kind_status_and_cache() -> None:
    """A request counts once, under names that are known beforehand."""
    before = deepcopy(tallies)

    with capture_logs():
        request_done(
            RequestEvent(
                request_id="r1",
                method="GET",
                path="/v2",
                kind="list",
                status=404,
                cache="hit",
                seconds=0.25,
            )
        )

    new, old = tallies.requests["list"], before.requests["list"]
    counted = [now - then for now, then in zip(new.statuses, old.statuses, strict=True)]
    assert counted == [0, 0, 0, 0, 1, 0]
    assert new.durations.seconds == old.durations.seconds + 0.25
    assert tallies.cache == before.cache | {"hit": before.cache["hit"] + 1}


def test_breaker_state_is_counted() -> None:
    """Each change of the breaker is a warning, and the metrics say how it stands."""
    breaker_changed(False)  # whatever ran before
    openings = tallies.breaker_openings

    with capture_logs() as logs:
        breaker_changed(True)
        is_open = tallies.is_breaker_open
        breaker_changed(False)

    told = [(line["log_level"], line["event"], line["is_open"]) for line in logs]
    assert told == [("warning", "breaker", True), ("warning", "breaker", False)]
    assert (is_open, tallies.is_breaker_open) == (True, False)
    assert tallies.breaker_openings == openings + 1


def test_waits_and_snapshots_are_noted() -> None:
    """Waiting times add up; the last number of snapshots counts."""
    seconds = tallies.budget_waits.seconds

    budget_waited(0.5)
    snapshots_kept(3, 4096)
    snapshots_kept(2, 1024)

    assert tallies.budget_waits.seconds == seconds + 0.5
    assert (tallies.snapshots, tallies.snapshot_bytes) == (2, 1024)
