"""Calls are counted for the request that made them."""

import pytest

from gateway.errors import UpstreamError
from gateway.google.counted import Counted
from gateway.telemetry.events import RequestEvent, request_event
from tests.google.timers import failing


class Stopwatch:
    """A clock that gains a quarter of a second each time it is looked at."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += 0.25
        return self._seconds


@pytest.fixture
def event() -> RequestEvent:
    return RequestEvent(request_id="r", method="GET", path="/")


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_calls_are_counted_and_timed(is_write: bool, event: RequestEvent) -> None:
    """Each call counts once, as a read or a write, with its time."""
    counted = Counted(Stopwatch())

    with request_event(event):
        answers = [await counted(failing(), is_write=is_write) for _ in range(2)]

    assert answers == ["answer", "answer"]
    assert (event.upstream_reads, event.upstream_writes) == ((0, 2) if is_write else (2, 0))
    assert event.upstream_seconds == 0.5


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_failed_calls_are_counted(is_write: bool, event: RequestEvent) -> None:
    """A call that fails counts too, and its error comes out as it is."""
    error = UpstreamError("failed")

    with request_event(event), pytest.raises(UpstreamError) as caught:
        await Counted(Stopwatch())(failing(error), is_write=is_write)

    assert caught.value is error
    assert (event.upstream_reads, event.upstream_writes) == ((0, 1) if is_write else (1, 0))
    assert event.upstream_seconds == 0.25


async def test_calls_of_no_request() -> None:
    """A call outside any request works, and counts for nobody."""
    assert await Counted()(failing(), is_write=False) == "answer"
