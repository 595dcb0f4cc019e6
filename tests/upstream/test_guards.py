"""Guards: each is a `Sheets` that wraps a `Sheets`."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from gateway.errors import UpstreamRefusal
from gateway.observe import RequestEvent, request_event
from gateway.upstream.base import Dimension, Render, Sheets, Writing
from gateway.upstream.guards import CountedSheets
from tests.fakes import BOOK, FakeSheets

Call = Callable[[Sheets, str], Awaitable[object]]
CALLS: Mapping[str, tuple[Call, bool]] = {
    "read_values": (
        lambda sheets, title: sheets.read_values(
            BOOK, f"'{title}'!A1:B2", render=Render.TYPED, dimension=Dimension.COLUMNS
        ),
        False,
    ),
    "read_ranges": (lambda sheets, title: sheets.read_ranges(BOOK, [f"'{title}'!1:1"] * 2), False),
    "list_worksheets": (lambda sheets, title: sheets.list_worksheets(BOOK), False),
    "append_rows": (
        lambda sheets, title: sheets.append_rows(BOOK, f"'{title}'!A1", [[None, 5]]),
        True,
    ),
    "write_cells": (
        lambda sheets, title: sheets.write_cells(
            BOOK, [Writing(range=f"'{title}'!B2", rows=[[True]])]
        ),
        True,
    ),
    "grow_grid": (lambda sheets, title: sheets.grow_grid(BOOK, 0, 3), True),
}
ON_CELLS = [kind for kind in CALLS if kind not in ("list_worksheets", "grow_grid")]


class Stopwatch:
    """A clock that gains a quarter of a second each time it is looked at."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += 0.25
        return self._seconds


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the gateway runs on."""
    return "asyncio"


@pytest.fixture
def event() -> RequestEvent:
    return RequestEvent(request_id="r", method="GET", path="/")


def _sheets() -> FakeSheets:
    sheets = FakeSheets()
    sheets.add("T", [["a", "b"], [1, 2.5]])
    return sheets


@pytest.mark.parametrize("kind", CALLS)
async def test_calls_pass_unchanged(kind: str) -> None:
    """A guarded call does and answers what the same call does without the guard."""
    call, _ = CALLS[kind]
    plain, inner = _sheets(), _sheets()

    expected = await call(plain, "T")
    answer = await call(CountedSheets(inner), "T")

    assert answer == expected
    assert inner.worksheets[0].cells == plain.worksheets[0].cells
    assert inner.worksheets[0].rows == plain.worksheets[0].rows


@pytest.mark.parametrize("kind", CALLS)
async def test_calls_are_counted_and_timed(kind: str, event: RequestEvent) -> None:
    """Each call counts once, as a read or a write, with its time."""
    call, is_write = CALLS[kind]
    counted = CountedSheets(_sheets(), Stopwatch())

    with request_event(event):
        await call(counted, "T")
        await call(counted, "T")

    counts = (event.upstream_reads, event.upstream_writes)
    assert counts == ((0, 2) if is_write else (2, 0))
    assert event.upstream_seconds == 0.5


@pytest.mark.parametrize("kind", ON_CELLS)
async def test_failed_calls_are_counted(kind: str, event: RequestEvent) -> None:
    """A call that fails counts too, and its error comes out as it is."""
    call, is_write = CALLS[kind]

    with request_event(event), pytest.raises(UpstreamRefusal):
        await call(CountedSheets(_sheets(), Stopwatch()), "absent")

    counts = (event.upstream_reads, event.upstream_writes)
    assert counts == ((0, 1) if is_write else (1, 0))
    assert event.upstream_seconds == 0.25


async def test_calls_of_no_request() -> None:
    """A call outside any request works, and counts for nobody."""
    listed = await CountedSheets(_sheets()).list_worksheets(BOOK)

    assert [each.title for each in listed] == ["T"]
