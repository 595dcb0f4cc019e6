"""Finding the rows of an open record in the worksheet."""

from collections.abc import Mapping

import pytest

from gateway.errors import RowNotFound, WriteOutcomeUnknown
from gateway.storage.write_ledger import SqlLedger
from gateway.table.tag import row_tag
from gateway.table.view import ColumnGrant
from gateway.worksheets.access import Access, Target
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Update
from tests.clock import ManualClock
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import TARGET, WORKSHEET
from tests.worksheets.recovery.conftest import (
    BERN,
    CHANGE,
    DyingLedger,
    create,
    killed,
    names,
    restarted,
)
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets


async def test_rows_are_found_where_they_were_sent(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """The retry costs two reads and no write, and answers as the first request would have."""
    expected = await service.create_rows(TARGET, create(BERN, {"name": "Basel"}, identity=None))
    sent = create(BERN, {"name": "Basel"})
    await killed(service, sheets, sent, was_applied=True)
    settled = await service.create_rows(TARGET, sent)
    cost = sheets.cost()

    assert settled.is_replayed
    assert [written.row for written in settled.results] == [7, 8]
    assert [written.tag for written in settled.results] == [
        written.tag for written in expected.results
    ]
    assert [{**written.record} for written in settled.results] == [
        {"rowIndex": 7, "name": "Bern", "population": "1"},
        {"rowIndex": 8, "name": "Basel"},
    ]
    assert names(cities) == ["Bern", "Basel", "Bern", "Basel"]
    assert cost == Cost(2, 0)


async def test_a_retry_is_answered_with_what_its_key_sees(
    service: RowService, sheets: ScriptedSheets, clock: ManualClock
) -> None:
    """The row that is found has no more in its answer and its tag than a row just written."""
    target = Target(WORKSHEET, Access(columns=ColumnGrant(frozenset({"name"}))))
    sent = create({"name": "Bern"})
    sheets.after("append_rows", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await service.create_rows(target, sent)
    settled = await service.create_rows(target, sent)
    (written,) = settled.results

    assert settled.is_replayed
    assert written.record == {"rowIndex": 5, "name": "Bern"}
    assert written.tag == row_tag(["name"], ["Bern"])


async def test_rows_are_found_when_only_the_note_of_their_answer_is_lacking(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """A process that ended between Google's answer and the note of it leaves one row too."""
    dying = restarted(sheets, DyingLedger(ledger), clock)
    with pytest.raises(RuntimeError):
        await dying.create_rows(TARGET, create())
    settled = await restarted(sheets, ledger, clock).create_rows(TARGET, create())

    assert settled.is_replayed
    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


async def test_rows_are_found_below_those_of_others(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """A person who was quicker, or inserted rows, moved them down."""
    await killed(service, sheets, create(), was_applied=True)
    cities.insert_rows(3, 2)
    settled = await service.create_rows(TARGET, create())

    assert settled.results[0].row == 7


async def test_rows_that_are_not_there_are_not_found(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, clock: ManualClock
) -> None:
    """A row like it from before is not it: it is sent again once it cannot land any more."""
    cities.type(4, "Bern", "", 1)
    await killed(service, sheets, create(), was_applied=False)
    with pytest.raises(WriteOutcomeUnknown):
        await service.create_rows(TARGET, create())
    young = sheets.cost()
    clock.advance(185)
    settled = await service.create_rows(TARGET, create())

    assert young == Cost(1, 0)
    assert not settled.is_replayed
    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


async def test_a_grid_that_ends_above_is_no_trouble(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, clock: ManualClock
) -> None:
    """In a full grid the rows would have been below its end; they are not there."""
    cities.rows = 4
    await killed(service, sheets, create(), was_applied=False)
    clock.advance(185)
    settled = await service.create_rows(TARGET, create())

    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


async def update(service: RowService) -> tuple[int, Mapping[str, object], bool]:
    """Row, record and replay mark of a keyed update of row 3."""
    change = Update(row=3, fields={"state": "=1", "population": 7}, identity=CHANGE)
    settled = await service.update_row(TARGET, change)
    return settled.results[0].row, settled.results[0].record, settled.is_replayed


UPDATED = {"rowIndex": 3, "state": "=1", "population": "7"}


async def test_an_update_that_was_applied_is_found(
    service: RowService, sheets: ScriptedSheets
) -> None:
    """The row holds what was to be written: nothing is written again. 2 reads."""
    sheets.after("write_cells", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    sheets.cost()
    found = await update(service)

    assert found == (3, UPDATED, True)
    assert sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize("is_deleted", [False, True], ids=["unchanged", "row deleted"])
async def test_an_update_that_was_not_applied_is_sent_again(
    service: RowService,
    sheets: ScriptedSheets,
    cities: FakeWorksheet,
    clock: ManualClock,
    is_deleted: bool,
) -> None:
    """Once the first cannot come after it any more; if the row is gone then, it is not there."""
    sheets.before("write_cells", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    if is_deleted:
        cities.delete_rows(3, 2)
        cities.rows = 2
    with pytest.raises(WriteOutcomeUnknown):
        await update(service)
    clock.advance(185)

    if is_deleted:
        with pytest.raises(RowNotFound):
            await update(service)
    else:
        assert await update(service) == (3, UPDATED, False)


async def test_an_update_without_a_change_is_answered_again(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """What was not written because it was there already is not written later either."""
    change = Update(row=3, fields={"state": "CO"}, identity=CHANGE)
    await service.update_row(TARGET, change)
    cities.type(3, None, "XX")
    sheets.cost()
    again = await service.update_row(TARGET, change)

    assert again.is_replayed
    assert again.results[0].record == {"rowIndex": 3, "state": "CO"}
    assert sheets.cost() == Cost(0, 0)
