"""Finding the outcome of a write with an open record, by its fence."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from gateway.errors import (
    QueueFull,
    RowNotFound,
    RowNumberUnknown,
    UpstreamAuth,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Fence
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.table.header import ColumnGrant
from gateway.worksheets.access import Access, Target
from gateway.worksheets.fences import BURNT
from gateway.worksheets.idempotency import OpenWrite, Sending, Settled
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Write
from tests.clock import ManualClock
from tests.fakes import FakeSheets, FakeWorksheet
from tests.storage.by_hand import take_fences
from tests.worksheets.conftest import CITIES, TARGET, WORKSHEET, PlainEncoder
from tests.worksheets.recovery.conftest import (
    BERN,
    CHANGE,
    TICKET,
    changed,
    create,
    dies,
    killed,
    names,
    restarted,
)
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets


async def test_rows_are_found_where_they_were_sent(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """The retry costs 2 reads and no write, and gets the answer of the first request."""
    expected = await service.write(TARGET, create(BERN, {"name": "Basel"}, identity=None))
    sent = create(BERN, {"name": "Basel"})
    await killed(service, sheets, sent, was_applied=True)
    settled = await service.write(TARGET, sent)
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
    """The answer with the found row has the same fields and tag as that of a new row."""
    grant = ColumnGrant(frozenset({"name"}), tag_key=b"key")
    target = Target(WORKSHEET, Access(columns=grant))
    sent = create({"name": "Bern"})
    sheets.after("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await service.write(target, sent)
    settled = await service.write(target, sent)
    (written,) = settled.results
    read = await service.read_row(target, 5, None, PlainEncoder())

    assert settled.is_replayed
    assert written.record == {"rowIndex": 5, "name": "Bern"}
    assert written.tag == read.encoded.tag


async def test_rows_are_found_when_only_the_note_of_their_answer_is_lacking(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """A process that was killed before it stored Google's answer leaves exactly one row."""
    dying = restarted(sheets, changed(ledger, completed=dies), clock)
    with pytest.raises(RuntimeError):
        await dying.write(TARGET, create())
    settled = await restarted(sheets, ledger, clock).write(TARGET, create())

    assert settled.is_replayed
    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


async def test_rows_are_found_below_those_of_others(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """Rows that people appended or inserted have moved the written rows down."""
    await killed(service, sheets, create(), was_applied=True)
    cities.insert_rows(3, 2)
    settled = await service.write(TARGET, create())

    assert settled.results[0].row == 7


async def test_rows_are_found_after_any_time(
    service: RowService, sheets: ScriptedSheets, clock: ManualClock
) -> None:
    """The fence of an open write is never deleted, and its record has the expected row."""
    await service.write(TARGET, create({"name": "Aarau"}, identity=None))
    await killed(service, sheets, create(), was_applied=True)
    for _ in range(5):
        clock.advance(20_000)
        await service.write(TARGET, create({"name": "Basel"}, identity=None))
    settled = await service.write(TARGET, create())

    assert (settled.results[0].row, settled.is_replayed) == (6, True)


async def test_rows_of_a_write_that_did_not_know_the_end(
    service: RowService, sheets: ScriptedSheets
) -> None:
    """The row of the first create after a start is found if no other row is equal."""
    await killed(service, sheets, create(), was_applied=True)
    await service.write(TARGET, create({"name": "Basel"}, identity=None))
    settled = await service.write(TARGET, create())

    assert (settled.results[0].row, settled.is_replayed) == (5, True)


async def test_rows_that_are_not_there_are_sent_anew(
    service: RowService, sheets: ScriptedSheets, fake: FakeSheets, cities: FakeWorksheet
) -> None:
    """An equal older row does not count. The fence is burnt before the write is sent again."""
    cities.type(4, "Bern", "", 1)
    await killed(service, sheets, create(), was_applied=False)
    settled = await service.write(TARGET, create())
    again = await service.write(TARGET, create())

    assert not settled.is_replayed
    assert again.is_replayed
    assert settled.results[0].row == again.results[0].row == 5
    assert names(cities) == ["Bern"]
    assert sum(fence.token.endswith(BURNT) for fence in fake.fences) == 1


async def test_rows_that_land_late_are_found(
    service: RowService, sheets: ScriptedSheets, fake: FakeSheets, cities: FakeWorksheet
) -> None:
    """The first copy may be applied until its fence is burnt."""
    await killed(service, sheets, create(), was_applied=False)
    (late,) = sheets.batches
    # The first two prove that ids are unique.
    sheets.before("put_fence", lambda: fake.land(late), nth=3)
    settled = await service.write(TARGET, create())

    assert (settled.results[0].row, settled.is_replayed) == (5, True)
    assert names(cities) == ["Bern"]


async def test_rows_are_as_open_as_before_while_google_cannot_be_asked(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """While Google is unavailable a retry reports "unknown"; the next one finds the rows."""
    await killed(service, sheets, create(), was_applied=True)
    sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown) as caught:
        await service.write(TARGET, create())
    settled = await service.write(TARGET, create())

    assert (caught.value.outcome, caught.value.retry_after_seconds) == ("unknown", 10)
    assert settled.is_replayed
    assert names(cities) == ["Bern"]


async def test_where_ids_can_be_used_twice_time_must_pass(
    ledger: SqlLedger, clock: ManualClock
) -> None:
    """If Google accepts used IDs, two late searches must prove that no fence exists."""
    fake = FakeSheets(repeatable_ids=True)
    cities, sheets = fake.add("Cities", CITIES, rows=100), ScriptedSheets(fake)
    service = restarted(sheets, ledger, clock)
    await killed(service, sheets, create(), was_applied=False)
    waits = []
    for seconds in (0, 179, 1, 29):
        clock.advance(seconds)
        with pytest.raises(WriteOutcomeUnknown) as caught:
            await service.write(TARGET, create())
        waits.append(caught.value.retry_after_seconds)
    clock.advance(1)
    settled = await service.write(TARGET, create())

    assert waits == [185] * 4
    assert not settled.is_replayed
    assert names(cities) == ["Bern"]


async def test_a_grid_that_ends_above_is_no_trouble(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """In a full grid the rows are below its end when they are sent again."""
    cities.rows = 4
    await killed(service, sheets, create(), was_applied=False)
    settled = await service.write(TARGET, create())

    assert settled.results[0].row == 5
    assert names(cities) == ["Bern"]


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda sheet: sheet.delete_rows(5), id="deleted"),
        pytest.param(lambda sheet: sheet.type(5, "Berne"), id="corrected"),
        pytest.param(lambda sheet: sheet.type(9, "Bern", None, 1.0), id="copied"),
    ],
)
async def test_found_rows_that_people_changed_are_applied_for_good(
    service: RowService,
    sheets: ScriptedSheets,
    cities: FakeWorksheet,
    edit: Callable[[FakeWorksheet], object],
) -> None:
    """The row number is reported as unknown, and later answers are the same."""
    await killed(service, sheets, create(), was_applied=True)
    edit(cities)
    errors = []
    for _ in range(2):
        with pytest.raises(RowNumberUnknown) as caught:
            await service.write(TARGET, create())
        errors.append(caught.value)

    assert [(error.outcome, error.is_replayed) for error in errors] == [("applied", True)] * 2
    assert sheets.count("apply") == 1


async def update(service: RowService) -> tuple[int, Mapping[str, object], bool]:
    """Row, record and replay header of an update of row 3 with an Idempotency-Key."""
    change = Write.update(row=3, fields={"state": "=1", "population": 7}, identity=CHANGE)
    settled = await service.write(TARGET, change)
    return settled.results[0].row, settled.results[0].record, settled.is_replayed


UPDATED = {"rowIndex": 3, "state": "=1", "population": "7"}


async def test_an_update_that_was_applied_is_found(
    service: RowService, sheets: ScriptedSheets
) -> None:
    """The fence and the written cells prove the update, so nothing is written again. 2 reads."""
    sheets.after("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    sheets.cost()
    found = await update(service)

    assert found == (3, UPDATED, True)
    assert sheets.cost() == Cost(2, 0)


async def test_an_update_that_only_seems_applied_is_not(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """A person may have typed the same values; only the fence proves the update."""
    sheets.before("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    cities.type(3, None, "=1", 7)
    found = await update(service)

    assert found == (3, UPDATED, False)


@pytest.mark.parametrize("is_deleted", [False, True], ids=["unchanged", "row deleted"])
async def test_an_update_that_was_not_applied_is_sent_anew(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, is_deleted: bool
) -> None:
    """It is sent again when the first copy cannot be applied any more; else 404 without row."""
    sheets.before("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    if is_deleted:
        cities.delete_rows(3, 2)
        cities.rows = 2

    if is_deleted:
        with pytest.raises(RowNotFound):
            await update(service)
    else:
        assert await update(service) == (3, UPDATED, False)


async def test_a_found_update_of_a_row_that_changed_since(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """The update was applied, but its row number is unknown."""
    sheets.after("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    cities.insert_rows(2)
    for _ in range(2):
        with pytest.raises(RowNumberUnknown) as caught:
            await update(service)

    assert (caught.value.outcome, caught.value.is_replayed) == ("applied", True)
    assert sheets.count("apply") == 1


@pytest.mark.parametrize("count", [1, 6])
async def test_open_writes_of_one_batch_are_settled_once(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, count: int
) -> None:
    """One search of the shared fence answers all writes of the batch."""
    fence = Fence(id=5, key="gw", token="t")
    left = [
        OpenWrite(
            worksheet=WORKSHEET,
            fence=fence,
            sent_at=clock(),
            updated_rows=frozenset({2 + number}),
        )
        for number in range(count)
    ]
    service = restarted(sheets, ledger, clock, open_writes=left)

    await service.write(TARGET, Write.delete(row=2))
    assert sheets.count("fence_tokens") == 1


async def test_an_open_update_of_a_dead_process_holds_its_row(
    sheets: ScriptedSheets, ledger: SqlLedger, tmp_path: Path, clock: ManualClock
) -> None:
    """A later update of the row waits for the outcome, because a late copy would overwrite it."""
    service = restarted(sheets, ledger, clock)
    sheets.before("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await update(service)
    async with KeyStore.open(tmp_path / "keys.db") as store, store.open_ledger(clock) as later:
        successor = restarted(sheets, later, clock, open_writes=later.open_writes)
        sheets.before("fence_tokens", UpstreamAuth("no token"))
        plain = Write.update(row=3, fields={"state": "XX"})
        other = Write.update(row=2, fields={"state": "YY"})
        with pytest.raises(QueueFull) as caught:
            await successor.write(TARGET, plain)
        await successor.write(TARGET, other)
        before = sheets.count("fence_tokens")
        await successor.write(TARGET, plain)
        found = await update(successor)

    assert (caught.value.outcome, before) == ("not_applied", 1)
    assert found == (3, UPDATED, False)


async def test_an_update_without_a_change_is_answered_again(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """A retry of an update that changed nothing writes nothing either."""
    change = Write.update(row=3, fields={"state": "CO"}, identity=CHANGE)
    await service.write(TARGET, change)
    cities.type(3, None, "XX")
    sheets.cost()
    again = await service.write(TARGET, change)

    assert again.is_replayed
    assert again.results[0].record == {"rowIndex": 3, "state": "CO"}
    assert sheets.cost() == Cost(0, 0)


REPEATS: Mapping[str, Callable[[RowService], Awaitable[Settled]]] = {
    "create": lambda service: service.write(TARGET, create()),
    "update": lambda service: service.write(
        TARGET, Write.update(row=2, fields={"name": "Bern"}, identity=TICKET)
    ),
}


@pytest.mark.parametrize("repeat", REPEATS.values(), ids=REPEATS)
async def test_an_open_write_without_a_fence_stays_unknown(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    tmp_path: Path,
    repeat: Callable[[RowService], Awaitable[Settled]],
) -> None:
    """A write that an older version sent without a fence is never sent again."""
    await ledger.sending(WORKSHEET, [Sending(TICKET, 5, [["Bern"]], [2])], Fence.random("gw"))
    take_fences(tmp_path / "keys.db", TICKET.scope)
    async with KeyStore.open(tmp_path / "keys.db") as store, store.open_ledger(clock) as later:
        service = restarted(sheets, later, clock, open_writes=later.open_writes)
        for _ in range(2):
            clock.advance(200)
            with pytest.raises(WriteOutcomeUnknown) as caught:
                await repeat(service)
            assert (caught.value.outcome, caught.value.retry_after_seconds) == ("unknown", 185)
    assert sheets.cost() == Cost(0, 0)
