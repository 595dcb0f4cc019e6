"""Batches without an Idempotency-Key after a kill: late copies overwrite no other write."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from gateway.errors import (
    GatewayError,
    PreconditionFailed,
    QueueFull,
    UpstreamAuth,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Batch
from gateway.query.query import parse_where
from gateway.settings.model import WriteSettings
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.table.header import IfMatch, row_tag
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Write
from tests.clock import ManualClock
from tests.fakes import FakeSheets, FakeWorksheet
from tests.worksheets.conftest import CITIES, TARGET
from tests.worksheets.recovery.conftest import LOST, create, restarted
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

LATE: Mapping[str, Any] = {"state": "late"}
IS_DENVER = parse_where({"name": "Denver"})
CHANGES: Mapping[str, Write] = {
    "update": Write.update(row=3, fields=LATE),
    "list": Write.update_rows(rows=((3, LATE), (4, {"population": 5}))),
    "filter": Write.update_where(where=IS_DENVER, fields=LATE, max_rows=9),
    "upsert": Write.upsert(keys=("name",), rows=({"name": "Denver", **LATE},)),
    "upsert that adds": Write.upsert(
        keys=("name",), rows=({"name": "Denver", **LATE}, {"name": "Reno", "state": "NV"})
    ),
}
CLEARINGS: Mapping[str, Write] = {
    "delete": Write.delete(row=3),
    "delete by filter": Write.delete_where(where=IS_DENVER, max_rows=9),
}
DENVER = row_tag([str(name) for name in CITIES[0]], ["Denver", "CO", "715522"])
MINE = Write.update(row=3, fields={"state": "mine"}, condition=IfMatch(frozenset({DENVER})))
OTHER_ROW = Write.update(row=2, fields={"state": "other"})


async def carried_out(service: RowService, write: Write) -> object:
    return await service.write(TARGET, write)


async def left(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, write: Write, *, clears: bool
) -> Batch:
    """The batch of a process that was killed just before Google applied it."""
    sheets.before("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await carried_out(restarted(sheets, ledger, clock, writes=settings(clears)), write)
    (batch,) = sheets.batches
    sheets.cost()
    return batch


def settings(clears: bool) -> WriteSettings:
    return WriteSettings(delete="clear" if clears else "shift")


Restart = Callable[[], Any]


@pytest.fixture
def restart(tmp_path: Path, sheets: ScriptedSheets, clock: ManualClock) -> Restart:
    """Start the service of the next process on the same storage."""

    @asynccontextmanager
    async def opened(*, clears: bool = False) -> AsyncIterator[RowService]:
        async with KeyStore.open(tmp_path / "keys.db") as store, store.open_ledger(clock) as later:
            yield restarted(
                sheets,
                later,
                clock,
                open_writes=later.open_writes,
                recorded=later.open_fences,
                writes=settings(clears),
            )

    return opened


def land_late(fake: FakeSheets, batch: Batch) -> None:
    """Make Google apply the batch of the killed process, unless its fence's ID is used."""
    with suppress(UpstreamRefusal):
        fake.land(batch)


@pytest.mark.parametrize(
    ("write", "clears"),
    [
        *(pytest.param(write, False, id=name) for name, write in CHANGES.items()),
        *(pytest.param(write, True, id=f"clearing {name}") for name, write in CLEARINGS.items()),
        *(pytest.param(write, False, id=name) for name, write in CLEARINGS.items()),
    ],
)
async def test_a_late_copy_overwrites_no_later_update(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    fake: FakeSheets,
    cities: FakeWorksheet,
    restart: Restart,
    write: Write,
    *,
    clears: bool,
) -> None:
    """An acknowledged update stays, whenever Google applies the killed process's batch."""
    late = await left(sheets, ledger, clock, write, clears=clears)
    async with restart() as service:
        await service.write(TARGET, MINE)
        land_late(fake, late)

    assert [line[:2] for line in cities.lines()[1:]] == [
        ["Boston", "MA"],
        ["Denver", "mine"],
        ["Austin", "TX"],
    ]


@pytest.mark.parametrize("name", ["update", "list", "filter", "upsert"])
async def test_only_the_noted_rows_wait(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, restart: Restart, name: str
) -> None:
    """Creates and updates of other rows work while Google cannot be asked for the outcome."""
    await left(sheets, ledger, clock, CHANGES[name], clears=False)
    async with restart() as service:
        sheets.before("fence_tokens", UpstreamAuth("no token"))
        with pytest.raises(QueueFull) as caught:
            await service.write(TARGET, MINE)
        await service.write(TARGET, OTHER_ROW)
        created = await service.write(TARGET, create(identity=None))
        before = sheets.count("fence_tokens")
        await service.write(TARGET, MINE)

    assert (caught.value.outcome, before) == ("not_applied", 1)
    assert created.results[0].row == 5


async def test_a_note_holds_up_its_rows_for_the_longest_call_only(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    restart: Restart,
) -> None:
    """After 185 s no copy can be applied, so the record is deleted and its rows are free."""
    await left(sheets, ledger, clock, CHANGES["update"], clears=False)
    async with restart() as service:
        clock.advance(186)
        await service.write(TARGET, MINE)
        settled = sheets.count("fence_tokens")
    async with restart() as service:
        await service.write(TARGET, Write.update(row=3, fields={"state": "again"}))

    assert (settled, sheets.count("fence_tokens")) == (0, 0)


@pytest.mark.parametrize("name", CHANGES)
async def test_a_settled_note_costs_a_restart_one_read(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, restart: Restart, name: str
) -> None:
    """The next commit deletes the record. If a kill comes first, a restart costs 1 read."""
    await carried_out(restarted(sheets, ledger, clock), CHANGES[name])
    sheets.cost()
    async with restart() as service:
        await service.write(TARGET, Write.update(row=3, fields={"state": "mine"}))
        first = sheets.cost()
        await service.write(TARGET, Write.update(row=3, fields={"state": "again"}))

    assert (first, sheets.cost()) == (Cost(2, 1), Cost(1, 1))


async def test_a_clean_stop_leaves_nothing_to_settle(
    sheets: ScriptedSheets, clock: ManualClock, restart: Restart
) -> None:
    """After a clean stop the next process has no open write."""
    async with restart() as service:
        await service.write(TARGET, Write.update(row=3, fields=LATE))
    sheets.cost()
    async with restart() as service:
        await service.write(TARGET, Write.update(row=3, fields={"state": "mine"}))

    assert sheets.cost() == Cost(1, 1)


TOWNS = replace(TARGET, worksheet=WorksheetId(TARGET.worksheet.spreadsheet, "Towns"))


@pytest.mark.parametrize("name", [*CHANGES, "delete"])
async def test_a_renamed_tab_is_known_by_its_id(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    fake: FakeSheets,
    cities: FakeWorksheet,
    restart: Restart,
    name: str,
) -> None:
    """A batch under the old title is blocked by its fence; until that is proved, writes wait."""
    late = await left(sheets, ledger, clock, {**CHANGES, **CLEARINGS}[name], clears=False)
    cities.title = "Towns"
    async with restart() as service:
        sheets.before("fence_tokens", UpstreamAuth("no token"))
        with pytest.raises(QueueFull) as refusal:
            await service.write(TOWNS, MINE)
        await service.write(TOWNS, MINE)
        land_late(fake, late)
        sheets.cost()
        await service.write(TOWNS, OTHER_ROW)

    assert refusal.value.outcome == "not_applied"
    assert [line[:2] for line in cities.lines()[2:]] == [["Denver", "mine"], ["Austin", "TX"]]
    assert sheets.cost() == Cost(1, 1)


async def test_a_look_from_before_a_renamed_batch_landed_is_repeated(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    fake: FakeSheets,
    cities: FakeWorksheet,
    restart: Restart,
) -> None:
    """The condition is checked against the rows after the earlier batch."""
    late = await left(sheets, ledger, clock, CHANGES["update"], clears=False)
    cities.title = "Towns"
    async with restart() as service:
        sheets.before("fence_tokens", lambda: land_late(fake, late))
        with pytest.raises(PreconditionFailed):
            await service.write(TOWNS, MINE)

    assert cities.lines()[2][:2] == ["Denver", "late"]


async def test_a_write_left_open_counts_after_its_tab_is_renamed(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    fake: FakeSheets,
    cities: FakeWorksheet,
) -> None:
    """The open write also counts within the same process."""
    service = restarted(sheets, ledger, clock, recorded=ledger.open_fences)
    sheets.before("apply", LOST)
    sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await service.write(TARGET, Write.update(row=3, fields=LATE))
    (late,) = sheets.batches
    cities.title = "Towns"
    await service.write(TOWNS, MINE)
    land_late(fake, late)

    assert cities.lines()[2][:2] == ["Denver", "mine"]


async def test_other_tabs_of_the_spreadsheet_wait_for_nothing(
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    clock: ManualClock,
    fake: FakeSheets,
    restart: Restart,
) -> None:
    """Writes to tabs with other sheet IDs do not wait for the open batch."""
    await left(sheets, ledger, clock, CHANGES["upsert that adds"], clears=False)
    fake.add("Towns", CITIES, rows=100)
    async with restart() as service:
        await service.write(TOWNS, MINE)

    assert sheets.cost() == Cost(1, 1)


async def updated_and_killed(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, row: int
) -> int:
    """Open fences of a process that was killed after one acknowledged update."""
    later = await next_ledger(ledger, clock)
    service = restarted(
        sheets, later, clock, open_writes=later.open_writes, recorded=later.open_fences
    )
    await service.write(TARGET, Write.update(row=row, fields=LATE))
    return len(later.open_fences())


async def next_ledger(ledger: SqlLedger, clock: ManualClock) -> SqlLedger:
    """The ledger of the next process, which the test does not close."""
    later = SqlLedger(ledger._engine, clock, max_bytes=10**9)
    await later.load()
    return later


async def test_notes_of_killed_processes_do_not_pile_up(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """The next process deletes certainly old records, although no process runs for 185 s."""
    for row in range(5, 65):
        cities.type(row, "Reno")
    opened: list[int] = []
    for life in range(60):
        opened.append(await updated_and_killed(sheets, ledger, clock, 5 + life))
        clock.advance(20)
    clock.advance(336)
    later = await next_ledger(ledger, clock)
    left = [*later.open_fences()]

    assert max(opened) == 335 // 20 + 1  # with its own
    assert left == []


async def test_a_turn_settles_a_few_batches_only(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """A delete with many open batches gets 503; each repetition finds some more outcomes."""
    for row in range(5, 17):
        cities.type(row, "Reno")
    for life in range(12):
        await updated_and_killed(sheets, ledger, clock, 5 + life)
    sheets.cost()
    costs: list[Cost] = []
    later = await next_ledger(ledger, clock)
    service = restarted(sheets, later, clock, open_writes=later.open_writes)
    for _ in range(2):
        with pytest.raises(QueueFull) as refusal:
            await service.write(TARGET, Write.delete(row=2))
        assert refusal.value.outcome == "not_applied"
        assert refusal.value.retry_after_seconds is not None
        costs.append(sheets.cost())
    await service.write(TARGET, Write.delete(row=2))

    assert [*costs, sheets.cost()] == [Cost(5, 0), Cost(5, 0), Cost(3, 1)]


@contextmanager
def commits_before(ledger: SqlLedger, sheets: ScriptedSheets) -> Iterator[list[int]]:
    """Number of commits before each batch is sent."""
    counts: list[int] = []
    found: list[str] = []

    def committed(_: object) -> None:
        found.append("commit")

    async def counted(apply: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        counts.append(len(found))
        try:
            return await apply(*arguments)
        finally:
            found.clear()

    apply, engine = sheets.apply, ledger._engine.sync_engine
    sheets.apply = lambda *arguments: counted(apply, *arguments)  # type: ignore[method-assign]
    event.listen(engine, "commit", committed)
    try:
        yield counts
    finally:
        event.remove(engine, "commit", committed)


@pytest.mark.parametrize(
    "writes",
    [
        *([write] * 2 for write in CHANGES.values()),
        [Write.update(row=3, fields=LATE), Write.update(row=3, fields={"state": "later"})],
        [Write.delete(row=3), Write.delete(row=3)],
    ],
    ids=[*CHANGES, "updates", "deletes"],
)
async def test_a_batch_takes_one_commit(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, writes: Sequence[Write]
) -> None:
    """One commit before the batch also stores the outcome of the last batch, except a removal."""
    service = restarted(sheets, ledger, clock)
    with commits_before(ledger, sheets) as counts:
        for write in writes:
            await carried_out(service, write)

    # The outcome of a removal is stored at once; a batch that writes nothing is not sent.
    expected = [1, 2] if writes[0].kind == "delete" else [1] * len(counts)
    assert counts
    assert counts == expected


async def test_a_write_that_cannot_be_noted_is_not_sent(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock
) -> None:
    """Without a stored record a late copy could overwrite a later update."""
    async with ledger._engine.begin() as connection:
        await connection.exec_driver_sql("DROP TABLE row_removals")
    with pytest.raises(GatewayError) as failure:
        await restarted(sheets, ledger, clock).write(TARGET, Write.update(row=3, fields=LATE))

    assert failure.value.outcome == "not_applied"
    assert not sheets.batches
