"""Finding the rows of an open record in the worksheet, and leaving other people's alone."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.ledger import SqlLedger
from gateway.access.store import KeyStore
from gateway.config import ApiSettings, CacheSettings, WriteSettings
from gateway.errors import RowNotFound
from gateway.rows.record import Stored
from gateway.service.ledger import Ledger
from gateway.service.rows import RowService
from gateway.service.ticket import Ticket
from gateway.service.worksheet import WorksheetRef
from gateway.service.writes import Create, Results, Update
from gateway.upstream.base import Value
from gateway.write_errors import WriteOutcomeUnknown
from tests.clock import ManualClock
from tests.fakes import FakeSheets, FakeWorksheet
from tests.service.conftest import CITIES, REF
from tests.service.scripted_sheets import Cost, ScriptedSheets

BERN: Mapping[str, Stored] = {"name": "Bern", "population": 1.0}
TICKET = Ticket(scope="s1", fingerprint="f1", ref=REF, is_create=True)
CHANGE = replace(TICKET, is_create=False)


@pytest.fixture
async def ledger(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SqlLedger]:
    async with KeyStore.open(tmp_path / "keys.db") as store, store.open_ledger(clock) as opened:
        yield opened


@pytest.fixture
def fake() -> FakeSheets:
    return FakeSheets()


@pytest.fixture
def cities(fake: FakeSheets) -> FakeWorksheet:
    """Three cities in rows 2 to 4."""
    return fake.add("Cities", CITIES, rows=100)


@pytest.fixture
def sheets(fake: FakeSheets, cities: FakeWorksheet) -> ScriptedSheets:
    return ScriptedSheets(fake)


@pytest.fixture
def service(sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock) -> RowService:
    return restarted(sheets, ledger, clock)


class DyingLedger:
    """A ledger whose process ends when it is to note what landed."""

    def __init__(self, ledger: SqlLedger) -> None:
        self.find = ledger.find
        self.sending = ledger.sending
        self.complete = ledger.complete
        self.renew = ledger.renew
        self.drop = ledger.drop

    async def landed(
        self, ref: WorksheetRef, landings: Sequence[tuple[Ticket | None, Results]]
    ) -> None:
        raise RuntimeError("killed")


def restarted(sheets: ScriptedSheets, ledger: Ledger, clock: ManualClock) -> RowService:
    """A service that has seen nothing yet."""

    async def no_pause(_: float) -> None:
        return None

    return RowService(
        sheets,
        cache=CacheSettings(),
        writes=WriteSettings(),
        api=ApiSettings(),
        clock=clock,
        ledger=ledger,
        wall_clock=clock,
        sleep=no_pause,
    )


def create(*rows: Mapping[str, Stored], ticket: Ticket | None = TICKET) -> Create:
    return Create(rows=rows or (BERN,), is_array=len(rows) > 1, ticket=ticket)


def names(cities: FakeWorksheet) -> Sequence[Value]:
    """The first cell of each row, from row 5."""
    return [line[0] if line else "" for line in cities.lines()[4:]]


async def killed(
    service: RowService, sheets: ScriptedSheets, sent: Create, *, was_applied: bool
) -> None:
    """A create whose process ended before or after Google applied it."""
    play = sheets.after if was_applied else sheets.before
    play("append_rows", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await service.create_rows(REF, sent)
    sheets.cost()


async def test_rows_are_found_where_they_were_sent(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """The retry costs two reads and no write, and answers as the first request would have."""
    expected = await service.create_rows(REF, create(BERN, {"name": "Basel"}, ticket=None))
    sent = create(BERN, {"name": "Basel"})
    await killed(service, sheets, sent, was_applied=True)
    settled = await service.create_rows(REF, sent)
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


async def test_rows_are_found_when_only_the_note_of_their_answer_is_lacking(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """A process that ended between Google's answer and the note of it leaves one row too."""
    dying = restarted(sheets, DyingLedger(ledger), clock)
    with pytest.raises(RuntimeError):
        await dying.create_rows(REF, create())
    settled = await restarted(sheets, ledger, clock).create_rows(REF, create())

    assert settled.is_replayed
    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


async def test_rows_are_found_below_those_of_others(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """A person who was quicker, or inserted rows, moved them down."""
    await killed(service, sheets, create(), was_applied=True)
    cities.insert_rows(3, 2)
    settled = await service.create_rows(REF, create())

    assert settled.results[0].row == 7


async def test_rows_that_are_not_there_are_not_found(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, clock: ManualClock
) -> None:
    """A row like it from before is not it: it is sent again once it cannot land any more."""
    cities.type(4, "Bern", "", 1)
    await killed(service, sheets, create(), was_applied=False)
    with pytest.raises(WriteOutcomeUnknown):
        await service.create_rows(REF, create())
    young = sheets.cost()
    clock.advance(185)
    settled = await service.create_rows(REF, create())

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
    settled = await service.create_rows(REF, create())

    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


@pytest.mark.parametrize("other", [None, replace(TICKET, scope="s2")], ids=["unkeyed", "keyed"])
async def test_a_row_of_somebody_else_is_not_taken(
    service: RowService,
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    cities: FakeWorksheet,
    clock: ManualClock,
    other: Ticket | None,
) -> None:
    """A row that looks the same and was acknowledged to another request stays that one's."""
    await killed(service, sheets, create(), was_applied=False)
    acknowledged = await restarted(sheets, ledger, clock).create_rows(REF, create(ticket=other))
    later = restarted(sheets, ledger, clock)
    with pytest.raises(WriteOutcomeUnknown):
        await later.create_rows(REF, create())
    clock.advance(185)
    settled = await later.create_rows(REF, create())

    assert acknowledged.results[0].row == 5
    assert settled.results[0].row == 6
    assert names(cities) == ["Bern", "Bern"]


async def test_a_row_of_long_after_is_not_taken(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, clock: ManualClock
) -> None:
    """What was acknowledged when the open create could not land any more is never its row."""
    await killed(service, sheets, create(), was_applied=False)
    clock.advance(3600)
    for _ in range(3):
        await service.create_rows(REF, create(ticket=None))
        clock.advance(60)
    settled = await service.create_rows(REF, create())

    assert not settled.is_replayed
    assert names(cities) == ["Bern"] * 4


async def test_a_row_among_those_of_others_is_found(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock
) -> None:
    """Of rows that look the same each belongs to one request."""
    tickets = [replace(TICKET, scope=scope) for scope in ("a", "b", "c")]
    for ticket in tickets:
        begun = restarted(sheets, ledger, clock)
        await killed(begun, sheets, create(ticket=ticket), was_applied=True)
    later = restarted(sheets, ledger, clock)
    await later.create_rows(REF, create(ticket=None))
    order = [tickets[1], tickets[0], tickets[2]]
    found = [await later.create_rows(REF, create(ticket=ticket)) for ticket in order]

    assert [settled.results[0].row for settled in found] == [6, 5, 7]


async def update(service: RowService) -> tuple[int, Mapping[str, object], bool]:
    """Row, record and replay mark of a keyed update of row 3."""
    change = Update(row=3, fields={"state": "=1", "population": 7}, ticket=CHANGE)
    settled = await service.update_row(REF, change)
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
    change = Update(row=3, fields={"state": "CO"}, ticket=CHANGE)
    await service.update_row(REF, change)
    cities.type(3, None, "XX")
    sheets.cost()
    again = await service.update_row(REF, change)

    assert again.is_replayed
    assert again.results[0].record == {"rowIndex": 3, "state": "CO"}
    assert sheets.cost() == Cost(0, 0)
