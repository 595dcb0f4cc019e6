"""Repeated requests after deletes: the same answer again, or 4094 if the rows moved."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.errors import QueueFull, RowNumberUnknown, UpstreamAuth, WriteOutcomeUnknown
from gateway.query.query import parse_where
from gateway.settings.model import WriteSettings
from gateway.storage.write_ledger import SqlLedger
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Write
from tests.clock import ManualClock
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import TARGET
from tests.worksheets.recovery.conftest import (
    LOST,
    TICKET,
    create,
    killed,
    restarted,
)
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

CREATE = create()
"""A create whose row is row 5."""
KEYED: Sequence[Write] = [
    Write.update(row=3, fields={"state": "x"}, identity=TICKET),
    Write.update_where(
        where=parse_where({"name": "Denver"}), fields={"state": "x"}, max_rows=9, identity=TICKET
    ),
    Write.upsert(keys=("name",), rows=({"name": "Denver", "state": "x"},), identity=TICKET),
]
"""An update of all cells of row 3."""
DELETES: Sequence[Write] = [
    Write.delete(row=3, identity=replace(TICKET, removes_rows=True)),
    Write.delete_where(
        where=parse_where({"name": "Denver"}),
        max_rows=9,
        identity=replace(TICKET, removes_rows=True),
    ),
]


async def carried_out(service: RowService, write: Write) -> Settled:
    return await service.write(TARGET, write)


@pytest.fixture(params=["shift", "clear"])
def clears(request: pytest.FixtureRequest) -> bool:
    """True if deletes empty rows, so that no other row moves."""
    return bool(request.param == "clear")


@pytest.fixture
def service(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, *, clears: bool
) -> RowService:
    writes = WriteSettings(delete="clear" if clears else "shift")
    return restarted(sheets, ledger, clock, recorded=ledger.open_fences, writes=writes)


@pytest.mark.parametrize("write", KEYED, ids=["update", "filter", "upsert"])
@pytest.mark.parametrize("row", [2, 3, 4])
async def test_an_answer_is_given_again_unless_its_rows_moved(
    service: RowService, sheets: ScriptedSheets, write: Write, row: int, *, clears: bool
) -> None:
    """A replay costs no call. A delete below, or emptying another row, changes nothing."""
    first = await carried_out(service, write)
    await carried_out(service, Write.delete(row=row))
    sheets.cost()
    if row == 3 or (row < 3 and not clears):
        for _ in range(2):
            with pytest.raises(RowNumberUnknown) as caught:
                await carried_out(service, write)
            assert (caught.value.outcome, caught.value.is_replayed) == ("applied", True)
    else:
        again = await carried_out(service, write)
        assert again == replace(first, is_replayed=True)

    assert sheets.cost() == Cost(0, 0)


@pytest.mark.parametrize("write", DELETES, ids=["delete", "delete by filter"])
async def test_a_delete_has_its_answer_for_good(
    service: RowService, cities: FakeWorksheet, write: Write
) -> None:
    """The answer of a delete has row numbers from before the delete."""
    first = await carried_out(service, write)
    await carried_out(service, Write.delete(row=2))
    rows = cities.lines()
    again = await carried_out(service, write)

    assert again == replace(first, is_replayed=True)
    assert cities.lines() == rows


@pytest.mark.parametrize("row", [2, 5])
async def test_a_created_row_that_was_emptied_or_moved_is_not_told(
    service: RowService, cities: FakeWorksheet, row: int, *, clears: bool
) -> None:
    """The row number is reported as unknown, and no second row is created."""
    await carried_out(service, CREATE)
    await carried_out(service, Write.delete(row=row))
    lines = cities.lines()
    if clears and row == 2:
        assert (await carried_out(service, CREATE)).results[0].row == 5
    else:
        with pytest.raises(RowNumberUnknown):
            await carried_out(service, CREATE)

    assert cities.lines() == lines


async def left_open(
    service: RowService, sheets: ScriptedSheets, row: int, *, was_applied: bool
) -> None:
    """A delete without an answer, while Google is unavailable for a search, too."""
    play = sheets.after if was_applied else sheets.before
    play("apply", LOST)
    sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await carried_out(service, Write.delete(row=row))
    sheets.cost()


@pytest.mark.parametrize("was_applied", [True, False])
async def test_an_answer_waits_for_an_open_delete(
    service: RowService, sheets: ScriptedSheets, *, was_applied: bool
) -> None:
    """A repetition finds the outcome of the delete. While that fails, it gets 503 `applied`."""
    write = KEYED[0]
    first = await carried_out(service, write)
    await left_open(service, sheets, 3, was_applied=was_applied)
    sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(QueueFull) as caught:
        await carried_out(service, write)
    error = caught.value
    if was_applied:
        with pytest.raises(RowNumberUnknown):
            await carried_out(service, write)
    else:
        assert await carried_out(service, write) == replace(first, is_replayed=True)

    assert (error.status, error.outcome, error.retryable) == (503, "applied", True)
    assert error.retry_after_seconds == 10
    assert sheets.count("apply") == 2


async def test_an_open_delete_below_is_no_matter(
    service: RowService, sheets: ScriptedSheets
) -> None:
    """A delete below the row costs no call and no wait."""
    await carried_out(service, KEYED[0])
    await left_open(service, sheets, 4, was_applied=True)
    again = await carried_out(service, KEYED[0])

    assert again.is_replayed
    assert sheets.cost() == Cost(0, 0)


async def test_a_repeat_after_a_restart_settles_the_delete(
    service: RowService, sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock
) -> None:
    """The repetition finds the outcome itself, because no other write might ever do so."""
    await carried_out(service, KEYED[0])
    await left_open(service, sheets, 3, was_applied=True)

    with pytest.raises(RowNumberUnknown):
        await carried_out(restarted(sheets, ledger, clock), KEYED[0])


@pytest.mark.parametrize("is_create", [True, False], ids=["create", "update"])
async def test_an_open_write_whose_rows_moved_is_applied(
    service: RowService,
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    *,
    is_create: bool,
) -> None:
    """The fence proves that the write was applied; its moved rows are not searched."""
    write = CREATE if is_create else KEYED[0]
    if is_create:
        await killed(service, sheets, CREATE, was_applied=True)
    else:
        sheets.after("apply", RuntimeError("killed"))
        with pytest.raises(RuntimeError):
            await carried_out(service, write)
    later = restarted(sheets, ledger, clock)
    await carried_out(later, Write.delete(row=3))
    sheets.cost()
    for _ in range(2):
        with pytest.raises(RowNumberUnknown) as caught:
            await carried_out(later, write)
        assert caught.value.outcome == "applied"

    assert sheets.cost() == Cost(1, 0)
