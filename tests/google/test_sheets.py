"""Calls of `GoogleSheets` through the pipeline: results, counts and times."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from gateway.errors import UpstreamError
from gateway.google.sheets import AppendedRows, Batch, Fence, KnownRange, Render, Sheets
from gateway.telemetry.events import RequestEvent
from tests.fakes import BOOK, FakeSheets
from tests.google.pipelines import Bench
from tests.google.timers import failing
from tests.request_events import during

Call = Callable[[Sheets], Awaitable[object]]

A_BATCH = Batch(
    sheet_id=0,
    fence=Fence(id=7, key="gw", token="t"),
    changes=[AppendedRows(rows=[[None, 5]])],
    ranges=["'T'!1:1"],
)

CALLS: Mapping[str, tuple[Call, bool]] = {
    "read_values": (lambda s: s.read_values(BOOK, "'T'!A1:B2", render=Render.TYPED), False),
    "read_columns": (lambda s: s.read_columns(BOOK, "'T'!A1:B2", render=Render.TYPED), False),
    "read_ranges": (lambda s: s.read_ranges(BOOK, ["'T'!1:1"] * 2), False),
    "read_several": (
        lambda s: s.read_several(BOOK, [KnownRange("'T'!A1:B", None)] * 2, render=Render.TYPED),
        False,
    ),
    "list_worksheets": (lambda s: s.list_worksheets(BOOK), False),
    "read_sheet": (lambda s: s.read_sheet(BOOK, ["'T'!1:1"]), False),
    "read_spreadsheet": (lambda s: s.read_spreadsheet(BOOK, ["'T'!1:2"]), False),
    "apply": (lambda s: s.apply(BOOK, A_BATCH), True),
    "put_fence": (lambda s: s.put_fence(BOOK, A_BATCH.fence), True),
    "delete_fences": (lambda s: s.delete_fences(BOOK, [A_BATCH.fence]), True),
    "fence_tokens": (lambda s: s.fence_tokens(BOOK, 7), False),
    "find_fences": (lambda s: s.find_fences(BOOK, "gw"), False),
}


def _sheets() -> FakeSheets:
    sheets = FakeSheets()
    sheets.add("T", [["a", "b"], [1, 2.5]])
    return sheets


def test_every_method_has_a_case() -> None:
    """`CALLS` has a call of each method of the Protocol `Sheets`."""
    methods = {name for name, value in vars(Sheets).items() if callable(value) and name[0] != "_"}

    assert methods == set(CALLS)


@pytest.mark.parametrize("kind", CALLS)
async def test_calls_pass_unchanged(kind: str, event: RequestEvent) -> None:
    """A call through the pipeline has the result of a direct call and counts as read or write."""
    call, is_write = CALLS[kind]
    plain, inner = _sheets(), _sheets()

    expected = await call(plain)
    with during(event):
        answer = await call(Bench(sheets={"main": inner}).google)

    assert answer == expected
    assert inner.worksheets[0].cells == plain.worksheets[0].cells
    assert inner.worksheets[0].rows == plain.worksheets[0].rows
    assert (event.reads, event.writes) == (not is_write, is_write)


async def test_a_known_digest_is_passed_through() -> None:
    """A read with the known digest of unchanged columns returns None."""
    google = Bench(sheets={"main": _sheets()}).google
    rendering = await google.read_columns(BOOK, "'T'!A1:B2", render=Render.TYPED)

    assert rendering is not None
    again = google.read_columns(BOOK, "'T'!A1:B2", render=Render.TYPED, known=rendering.digest)
    assert await again is None


@pytest.fixture
def event() -> RequestEvent:
    return RequestEvent(id="r", method="GET", path="/")


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_calls_are_counted_and_timed(is_write: bool, event: RequestEvent) -> None:
    """The event of a request counts each call once, as a read or a write, and adds its time."""
    bench = Bench()

    async def call() -> None:
        bench.timers.clock.advance(0.25)

    with during(event):
        for _ in range(2):
            await bench.make(call, is_write=is_write)

    assert (event.reads, event.writes) == ((0, 2) if is_write else (2, 0))
    assert event.google_ms == 500


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_failed_calls_are_counted(is_write: bool, event: RequestEvent) -> None:
    """A failed call is counted and timed like a successful call, and its error is raised."""
    bench, error = Bench(), UpstreamError("failed")

    async def call() -> None:
        bench.timers.clock.advance(0.25)
        raise error

    with during(event), pytest.raises(UpstreamError) as caught:
        await bench.make(call, is_write=is_write)

    assert caught.value is error
    assert (event.reads, event.writes) == ((0, 1) if is_write else (1, 0))
    assert event.google_ms == 250


async def test_calls_outside_of_a_request() -> None:
    """A call outside of a request works without an event to count in."""
    assert await Bench().make(failing()) == "answer"
