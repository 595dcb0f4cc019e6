"""Counters."""

import pytest

from gateway.telemetry.counters import BUCKET_SECONDS, Durations, Tallies


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
    """A duration is in the first bucket whose bound it does not pass."""
    durations = Durations()
    durations.add(seconds)

    assert [at for at, count in enumerate(durations.counts) if count] == [bucket]
    assert durations.seconds == seconds


@pytest.mark.parametrize("status", [0, 101, 200, 304, 404, 499, 599])
def test_every_status_counts_in_its_class(status: int) -> None:
    """A status counts by its hundreds, and a request without an answer too."""
    tallies = Tallies()
    tallies.count_request("read", status, 0.1, "")

    assert tallies.requests["read"].statuses[status // 100] == 1
    assert sum(tallies.requests["read"].statuses) == 1
    assert sum(tallies.requests["list"].statuses) == 0


def test_only_the_change_to_open_is_an_opening() -> None:
    """A breaker that is said to be open twice opened once."""
    tallies = Tallies()
    for is_open in (False, True, True, False, True):
        tallies.note_breaker(is_open=is_open)

    assert (tallies.breaker_openings, tallies.is_breaker_open) == (2, True)
