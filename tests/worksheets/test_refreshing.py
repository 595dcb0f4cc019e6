"""Reads that writes overtake, and the line of the writes in which they wait then."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from anyio import wait_all_tasks_blocked

from gateway.settings.model import CacheSettings
from gateway.worksheets.header_cache import HeaderCache
from gateway.worksheets.loader import Loader
from gateway.worksheets.refreshing import Refresher
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshots import Snapshot, Snapshots
from gateway.worksheets.worksheet_id import WorksheetId
from tests.clock import ManualClock
from tests.fakes import FakeSheets
from tests.worksheets.conftest import CITIES, WORKSHEET
from tests.worksheets.scripted_sheets import ScriptedSheets

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Rig:
    """A refresher, and the line of writes as a lock: who holds it is alone with the worksheet."""

    refresher: Refresher
    sheets: ScriptedSheets
    line: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def be_overtaken(self) -> None:
        """A read of what is displayed begins, and a write ends before it lands."""
        gate = asyncio.Event()
        self.sheets.before("read_columns", gate)
        flight = self.refresher.flight(WORKSHEET, needs_types=False)
        await wait_all_tasks_blocked()
        self.refresher.may_be_written(WORKSHEET)
        gate.set()
        await flight.outcome()


@pytest.fixture
def rig(clock: ManualClock) -> Rig:
    fake = FakeSheets()
    fake.add("Cities", CITIES, rows=100)
    sheets, line = ScriptedSheets(fake), asyncio.Lock()
    settings = CacheSettings()
    header_cache = HeaderCache(settings, clock)

    async def quietly(_: WorksheetId, work: Callable[[], Awaitable[Snapshot]]) -> Snapshot:
        async with line:
            return await work()

    refresher = Refresher(
        Loader(sheets, header_cache, clock, Scheduler()),
        header_cache=header_cache,
        snapshots=Snapshots(settings.max_bytes),
        clock=clock,
        quietly=quietly,
        max_worksheets=10,
    )
    return Rig(refresher=refresher, sheets=sheets, line=line)


@pytest.mark.parametrize("needs_types", [False, True], ids=["displayed", "both halves"])
async def test_after_one_that_was_overtaken_a_read_waits_in_line(
    rig: Rig, needs_types: bool
) -> None:
    """It begins when no write is under way, and is kept then."""
    await rig.be_overtaken()
    async with rig.line:
        flight = rig.refresher.flight(WORKSHEET, needs_types=needs_types)
        await wait_all_tasks_blocked()
        was_over = flight.is_over
    async with asyncio.timeout(PATIENCE_SECONDS):
        snapshot = await flight.outcome()

    assert not was_over
    assert snapshot.table.last_row == 4
    assert (snapshot.typed is not None) == needs_types


@pytest.mark.parametrize("joins", [False, True], ids=["none in line", "another one in line"])
async def test_a_read_alone_in_line_waits_for_nobody_behind_it(rig: Rig, joins: bool) -> None:
    """Both halves are read there and then: a read of one that waits in line would wait for it."""
    await rig.be_overtaken()
    async with rig.line:
        flight = rig.refresher.flight(WORKSHEET, needs_types=True)
        await wait_all_tasks_blocked()
        await rig.be_overtaken()
        others = [rig.refresher.flight(WORKSHEET, needs_types=False)] if joins else []
        await wait_all_tasks_blocked()
    async with asyncio.timeout(PATIENCE_SECONDS):
        snapshots = [await each.outcome() for each in (flight, *others)]

    assert [each.table.last_row for each in snapshots] == [4] * len(snapshots)
    assert snapshots[0].typed is not None
