"""Writes through the whole service, while they wait for Google and for each other."""

import asyncio

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import QueueFull, QuotaSpent, ShuttingDown, WriteOutcomeUnknown
from gateway.settings.model import ApiSettings, CacheSettings, WriteSettings
from gateway.telemetry.events import RequestEvent
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.fences import Fences
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Write
from tests.counted_sheets import CountedSheets
from tests.fakes import BOOK
from tests.request_events import during
from tests.worksheets.conftest import CITIES, TARGET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

OTHER = WorksheetId(spreadsheet=BOOK, title="Other")


async def test_one_write_in_flight_per_worksheet(bench: Bench) -> None:
    """Creates and updates of one worksheet never overlap at Google."""
    await asyncio.gather(
        *(bench.create(name=f"c{n}") for n in range(5)),
        *(bench.updated(2, {"population": n}) for n in range(5)),
    )

    assert bench.sheets.most_writes_at_once["Cities"] == 1
    # One for all creates, and each update sees what the one before it left.
    assert bench.sheets.count("apply") == 6
    assert bench.cities.cells[2, 3] == 4


async def test_two_worksheets_in_parallel(bench: Bench) -> None:
    """A slow write does not delay another worksheet."""
    other = bench.fake.add("Other", CITIES)
    gate = asyncio.Event()
    bench.sheets.before("apply", gate)
    held = asyncio.create_task(bench.create(name="x"))
    await bench.sheets.begun("apply")

    written = await bench.created({"name": "y"}, Target(OTHER))
    is_early = held.done()
    gate.set()

    assert not is_early
    assert other.lines()[written.row - 1] == ["y"]
    assert await held == 5


async def test_full_queue_sends_nothing(make_bench: MakeBench) -> None:
    """A write that does not fit into the queue never reaches Google."""
    bench = make_bench(writes=WriteSettings(max_waiting_rows=1))
    gate = asyncio.Event()
    bench.sheets.before("apply", gate)
    held = asyncio.create_task(bench.create(name="x"))
    await bench.sheets.begun("apply")
    waiting = asyncio.create_task(bench.create(name="y"))
    await wait_all_tasks_blocked()

    with pytest.raises(QueueFull) as caught:
        await bench.create(name="z")
    gate.set()

    assert caught.value.outcome == "not_applied"
    assert [await held, await waiting] == [5, 6]
    assert bench.cities.lines()[4:] == [["x"], ["y"]]
    assert bench.sheets.cost() == Cost(1, 2)


async def test_cancelled_create_is_completed_and_remembered(bench: Bench) -> None:
    """A create that is cancelled after sending is completed, and later reads contain it."""
    gate = asyncio.Event()
    bench.sheets.before("apply", gate)
    leaving = asyncio.create_task(bench.create(state="x"))
    await bench.sheets.begun("apply")
    leaving.cancel()
    with pytest.raises(WriteOutcomeUnknown):
        await leaving
    gate.set()

    row = await bench.create(state="y")

    assert row == 6
    assert bench.cities.lines()[4:] == [["", "x"], ["", "y"]]
    assert bench.sheets.cost() == Cost(1, 2)


async def test_failed_write_does_not_stop_the_line(bench: Bench) -> None:
    """A group that Google refused fails completely, and the next group is written."""
    gate = asyncio.Event()
    bench.sheets.before("apply", gate)
    bench.sheets.before("apply", QuotaSpent("x", outcome="not_applied"), nth=2)
    first = asyncio.create_task(bench.create(name="c0"))
    await bench.sheets.begun("apply")
    waiting = [asyncio.create_task(bench.create(name=f"c{n}")) for n in (1, 2)]
    await wait_all_tasks_blocked()
    gate.set()

    results = await asyncio.gather(first, *waiting, return_exceptions=True)

    assert [type(each) for each in results] == [int, QuotaSpent, QuotaSpent]
    assert await bench.create(name="c3") == 6
    assert bench.cities.lines()[4:] == [["c0"], ["c3"]]


async def test_closing_service_finishes_what_waits(bench: Bench) -> None:
    """Closing waits for waiting writes and refuses new ones; reads continue."""
    tasks = [asyncio.create_task(bench.create(name=f"c{n}")) for n in range(3)]
    await bench.sheets.begun("read_sheet")

    await bench.service.aclose()

    assert [task.result() for task in tasks] == [5, 6, 7]
    with pytest.raises(ShuttingDown):
        await bench.create(name="late")
    assert (await bench.record(7))["name"] == "c2"


async def test_calls_count_for_the_right_request(bench: Bench) -> None:
    """The calls of a group count for the request of its first write."""
    sheets = CountedSheets(bench.sheets)
    service = RowService(
        sheets,
        cache=CacheSettings(),
        writes=WriteSettings(),
        api=ApiSettings(),
        clock=bench.clock,
        ledger=bench.ledger,
        wall_clock=bench.clock,
        fences=Fences(sheets, key="gw", clock=bench.clock),
    )
    names = ("first", "joins", "updates")
    events = [RequestEvent(id=name, method="POST", path="/") for name in names]

    async def as_request(event: RequestEvent, row: int | None) -> None:
        with during(event):
            if row is None:
                await service.write(TARGET, Write.create(rows=({"name": event.id},)))
            else:
                await service.write(TARGET, Write.update(row=row, fields={"name": event.id}))

    await asyncio.gather(*map(as_request, events, (None, None, 2)))

    counts = [(event.reads, event.writes) for event in events]
    assert counts == [(1, 1), (0, 0), (1, 1)]
