"""Tests of the notes of sent batches, which show outcomes and moved rows after a restart.

A record describes an idempotent write. A removal is a delete of rows. Clearing empties rows.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from sqlalchemy import event, func, select

from gateway.errors import HeaderChanged, UpstreamError
from gateway.google.sheets import Fence
from gateway.settings.database import Database
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger, _Batch
from gateway.storage.write_records import purge_removals, sent_batches
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import OpenWrite, Sending
from gateway.worksheets.writes import number_only
from tests.clock import ManualClock
from tests.postgres import PostgresServer
from tests.storage.by_hand import allow, execute, refuse
from tests.storage.conftest import (
    FENCE,
    IDENTITY,
    OTHER_IDENTITY,
    ROWS,
    WORKSHEET,
    Unsendable,
    results,
)

REMOVAL = Fence(id=77, key="gw", token="removal")
SECOND = Fence(id=78, key="gw", token="second")
OTHERS = WorksheetId(WORKSHEET.spreadsheet, "Others")


def removal(*rows: int) -> Sequence[Sending]:
    return [Sending(None, 1, [], removed=rows, is_exclusive=True)]


def clearing(*rows: int) -> Sequence[Sending]:
    return [Sending(None, 1, [], removed=rows)]


def update(*rows: int) -> Sequence[Sending]:
    return [Sending(None, 1, [], updated=rows)]


async def remove(ledger: SqlLedger, *rows: int, fence: Fence = REMOVAL) -> None:
    await ledger.sending(WORKSHEET, removal(*rows), fence)
    await ledger.settled(WORKSHEET, fence, is_applied=True)


async def clear(ledger: SqlLedger, *rows: int) -> None:
    await ledger.sending(WORKSHEET, clearing(*rows), REMOVAL)
    await ledger.settled(WORKSHEET, REMOVAL, is_applied=True)


async def state(ledger: SqlLedger, scope: str = IDENTITY.scope) -> str:
    """State of a record's row numbers after later removals: kept, moved or open."""
    entry = await ledger.find(scope)
    assert entry is not None
    if entry.open_removal is not None:
        assert entry.open_removal.worksheet == WORKSHEET
        return f"open {entry.open_removal.fence.id}"
    return "moved" if entry.is_moved else "kept"


async def tokens(ledger: SqlLedger) -> set[str]:
    """Tokens of all notes of batches in the store."""
    async with ledger._engine.connect() as connection:
        return set(await connection.scalars(select(sent_batches.c.token)))


async def count(ledger: SqlLedger) -> int:
    async with ledger._engine.connect() as connection:
        found = await connection.execute(select(func.count()).select_from(sent_batches))
        return int(found.scalar_one())


@contextmanager
def commits(ledger: SqlLedger) -> Iterator[list[str]]:
    """List of the transactions that change the store during the block."""
    found: list[str] = []
    engine, changes = ledger._engine.sync_engine, list[str]()

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        changes.append(statement.split()[0])

    def committed(_: Any) -> None:
        if not {*changes} <= {"SELECT"}:
            found.append(" ".join(changes))
        changes.clear()

    event.listen(engine, "before_cursor_execute", executed)
    event.listen(engine, "commit", committed)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", executed)
        event.remove(engine, "commit", committed)


@pytest.mark.parametrize("has_key", [False, True], ids=["without a key", "with a key"])
async def test_a_batch_is_stored_in_one_commit(ledger: SqlLedger, *, has_key: bool) -> None:
    """One transaction stores a batch's note, the records of its writes, and the previous
    batch's outcome.
    """
    identity = IDENTITY if has_key else None
    await ledger.sending(WORKSHEET, update(2), FENCE)
    with commits(ledger) as found:
        await ledger.settled(WORKSHEET, FENCE, is_applied=True)
        assert found == []
        sendings = [Sending(identity, 5, ROWS, [5], updated=[5]), *update(9)]
        await ledger.sending(WORKSHEET, sendings, SECOND)

    assert len(found) == 1
    assert await tokens(ledger) == {SECOND.token}
    assert (await ledger.find(IDENTITY.scope) is not None) is has_key


async def test_appends_without_a_key_are_not_stored(ledger: SqlLedger) -> None:
    """Writes that only append rows without an Idempotency-Key store nothing."""
    with commits(ledger) as found:
        await ledger.sending(WORKSHEET, [Sending(None, 5, ROWS)], FENCE)

    assert found == []


async def test_open_batches_outlive_the_process(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """After a restart, the row numbers of all open batches are known. Other batches are unknown."""
    batches: Sequence[tuple[Sequence[Sending], OpenWrite]] = [
        (update(7, 3), opened(clock, 1, rows={3, 7})),
        (removal(2, 4), opened(clock, 2, is_exclusive=True, is_removal=True)),
        (clearing(5, 8), opened(clock, 3, rows={5, 8}, is_removal=True)),
        ([Sending(None, 1, [], is_exclusive=True)], opened(clock, 4, is_exclusive=True)),
        ([*update(6), *update(9)], opened(clock, 5, rows={6, 9})),
    ]
    for sendings, batch in batches:
        await ledger.sending(WORKSHEET, sendings, batch.fence)
    for fence, is_applied in ((REMOVAL, True), (SECOND, False)):
        await ledger.sending(WORKSHEET, update(10), fence)
        await ledger.settled(WORKSHEET, fence, is_applied=is_applied)
    await ledger.aclose()
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        found = later.open_writes
        assert sorted(later.open_fences()) == [1, 2, 3, 4, 5]

    assert found == [batch for _, batch in batches]


def opened(
    clock: ManualClock,
    number: int,
    *,
    rows: set[int] | None = None,
    is_exclusive: bool = False,
    is_removal: bool = False,
) -> OpenWrite:
    return OpenWrite(
        worksheet=WORKSHEET,
        fence=Fence(id=number, key="gw", token=f"t{number}"),
        sent_at=clock(),
        updated_rows=frozenset(rows or ()),
        is_exclusive=is_exclusive,
        is_removal=is_removal,
    )


async def test_a_clean_stop_deletes_completed_batches(
    store: KeyStore, database: Database, clock: ManualClock
) -> None:
    """After a clean stop, no note of a batch with a known outcome is left."""
    async with store.open_ledger(clock) as ledger:
        await ledger.sending(WORKSHEET, update(2), FENCE)
        await ledger.settled(WORKSHEET, FENCE, is_applied=True)
        assert await count(ledger) == 1

    assert execute(database, "SELECT token FROM row_removals") == []


async def test_a_fence_stays_until_its_batch_is_deleted(
    ledger: SqlLedger, clock: ManualClock
) -> None:
    """The fence of a batch is needed until its note is deleted, because a killed process leaves
    the note.
    """
    await ledger.sending(WORKSHEET, update(2), FENCE)
    await ledger.settled(WORKSHEET, FENCE, is_applied=True)
    kept = await ledger.kept_fences([FENCE.id, SECOND.id])
    assert [*ledger.open_fences()] == [FENCE.id]
    await ledger.sending(WORKSHEET, update(3), SECOND)

    assert [*ledger.open_fences()] == [SECOND.id]
    assert kept == {FENCE.id}
    assert await ledger.kept_fences([FENCE.id, SECOND.id]) == {SECOND.id}


async def test_writes_sent_by_another_process_are_left_out(
    postgres: PostgresServer, clock: ManualClock
) -> None:
    """`sending` returns the writes that another process has sent. The batch's note has no rows
    of them.
    """
    twin = Sending(IDENTITY, 1, [], [4], removed=[4], is_exclusive=True)
    async with (
        KeyStore.open(postgres.new_database()) as store,
        store.open_ledger(clock) as ledger,
        store.open_ledger(clock) as other,
    ):
        await other.sending(WORKSHEET, [twin], SECOND)
        await ledger.sending(WORKSHEET, [twin], FENCE)
        alone = await tokens(ledger)
        taken = await ledger.sending(WORKSHEET, [twin, *update(7)], REMOVAL)
        (row,) = await noted(ledger, REMOVAL)

    assert [*taken] == [IDENTITY]
    assert alone == {SECOND.token}
    assert row == ("[7]", "[]", False)


async def noted(ledger: SqlLedger, fence: Fence) -> Sequence[tuple[Any, ...]]:
    columns = (sent_batches.c.updated, sent_batches.c.removed, sent_batches.c.is_exclusive)
    query = select(*columns).where(sent_batches.c.token == fence.token)
    async with ledger._engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(query)]


@pytest.mark.parametrize(
    ("removed", "expected"),
    [((7,), "moved"), ((8,), "kept"), ((2,), "moved"), ((6, 9), "moved"), ((9, 12), "kept")],
)
async def test_a_removal_at_or_above_a_row_moves_the_row(
    ledger: SqlLedger, removed: Sequence[int], expected: str
) -> None:
    """Removing a row moves records of this row and of rows below. Records of rows above stay."""
    await ledger.completed([(IDENTITY, results(3, 7))])
    await remove(ledger, *removed)

    entry = await ledger.find(IDENTITY.scope)
    assert entry is not None
    assert entry.answer == results(3, 7)
    assert await state(ledger) == expected


@pytest.mark.parametrize(("emptied", "expected"), [((7,), "moved"), ((2, 8), "kept")])
async def test_a_clearing_affects_only_its_rows(
    ledger: SqlLedger, emptied: Sequence[int], expected: str
) -> None:
    """Clearing rows changes only the records of these rows."""
    await ledger.completed([(IDENTITY, results(3, 7))])
    await clear(ledger, *emptied)

    assert await state(ledger) == expected


async def test_each_of_several_removals_counts(ledger: SqlLedger) -> None:
    """A record has moved if any of several removals moved its row, not only the last removal."""
    await ledger.completed([(IDENTITY, results(7))])
    await remove(ledger, 5)
    await remove(ledger, 9, fence=SECOND)

    assert await state(ledger) == "moved"


async def test_an_update_moves_no_rows(ledger: SqlLedger) -> None:
    """An update moves no rows, whether its outcome is open or applied."""
    await ledger.completed([(IDENTITY, results(7))])
    await ledger.sending(WORKSHEET, update(7), FENCE)
    assert await state(ledger) == "kept"
    await ledger.settled(WORKSHEET, FENCE, is_applied=True)
    await ledger.complete(OTHER_IDENTITY, results(3))

    assert await state(ledger) == "kept"


async def test_an_answer_waits_for_an_open_removal(ledger: SqlLedger) -> None:
    """While a removal is open, a record's row number is unknown. If the removal is not applied,
    the row has not moved.
    """
    await ledger.completed([(IDENTITY, results(7)), (OTHER_IDENTITY, results(3))])
    await ledger.sending(WORKSHEET, removal(5), REMOVAL)

    assert await state(ledger) == f"open {REMOVAL.id}"
    assert await state(ledger, OTHER_IDENTITY.scope) == "kept"
    await ledger.settled(WORKSHEET, REMOVAL, is_applied=False)
    assert await state(ledger) == "kept"


@pytest.mark.parametrize("numbers", [(), (0, 0), (3, 0)], ids=["create", "zeros", "upsert"])
async def test_open_appends_are_moved_by_any_removal(
    ledger: SqlLedger, numbers: Sequence[int]
) -> None:
    """After a removal, the row numbers of an open append are unknown, because its record has no
    position.
    """
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 9, [[], []], numbers)], FENCE)
    await remove(ledger, 12)

    assert await state(ledger) == "moved"


async def test_open_updates_are_moved_like_answers(ledger: SqlLedger) -> None:
    """Removals move open updates by row number, like completed records."""
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 9, [[], []], [7, 5])], FENCE)
    await remove(ledger, 8)
    before = await state(ledger)
    await remove(ledger, 6, fence=SECOND)

    assert (before, await state(ledger)) == ("kept", "moved")


async def test_earlier_removals_do_not_move_later_records(ledger: SqlLedger) -> None:
    """A removal does not move a later record, even if its note stays for an earlier record."""
    await ledger.completed([(OTHER_IDENTITY, results(9))])
    await remove(ledger, 2)
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 7, [["a"]], [7])], FENCE)
    assert await state(ledger) == "kept"
    await remove(ledger, 3, fence=SECOND)
    assert await state(ledger) == "moved"
    await ledger.completed([(IDENTITY, results(6))])

    assert await state(ledger) == "kept"
    assert await state(ledger, OTHER_IDENTITY.scope) == "moved"


async def test_other_worksheets_stay(ledger: SqlLedger) -> None:
    await ledger.completed([(IDENTITY, results(7))])
    await ledger.sending(OTHERS, removal(2), REMOVAL)
    opened = await state(ledger)
    await ledger.settled(OTHERS, REMOVAL, is_applied=True)

    assert [opened, await state(ledger)] == ["kept", "kept"]


async def test_answers_of_deletes_never_move(ledger: SqlLedger) -> None:
    """Later removals never change the row numbers in the answer of a delete."""
    identity = replace(IDENTITY, removes_rows=True)
    sending = Sending(identity, 1, [], [4, 7], removed=[4, 7], is_exclusive=True)
    await ledger.sending(WORKSHEET, [sending], REMOVAL)
    assert await state(ledger) == "kept"
    await ledger.settled(WORKSHEET, REMOVAL, is_applied=True)
    answer = (number_only(4), number_only(7))
    await ledger.completed([(identity, answer)])
    await remove(ledger, 2, fence=SECOND)
    entry = await ledger.find(identity.scope)

    assert entry is not None
    assert (entry.answer, entry.is_moved) == (answer, False)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (HeaderChanged("It is in row 7.", row=7), "moved"),
        (UpstreamError("misplaced", outcome="applied"), "kept"),
        ((), "kept"),
    ],
    ids=["with a row", "without", "no rows"],
)
async def test_answers_without_a_row_are_not_moved(
    ledger: SqlLedger, answer: HeaderChanged | UpstreamError | tuple[()], expected: str
) -> None:
    """Removals never change answers without a row number."""
    await ledger.complete(IDENTITY, answer)
    await remove(ledger, 2)

    assert await state(ledger) == expected


async def test_removals_go_with_the_records_before_them(ledger: SqlLedger) -> None:
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 7, [["a"]], [7])], FENCE)
    await remove(ledger, 2)
    await remove(ledger, 3, fence=SECOND)
    assert await count(ledger) == 2
    await ledger.drop(IDENTITY)
    await remove(ledger, 4, fence=FENCE)
    assert await count(ledger) == 0


async def test_a_batch_that_cannot_be_stored_is_not_sent(
    ledger: SqlLedger, database: Database, unsendable: Unsendable
) -> None:
    """A batch whose note cannot be stored is not sent. The next commit deletes a note that was
    stored despite the error.
    """
    refuse(database, "INSERT", table="row_removals")
    with pytest.raises(unsendable) as failure:
        await ledger.sending(WORKSHEET, update(2), REMOVAL)
    allow(database, table="row_removals")
    await ledger.complete(IDENTITY, results(7))

    assert failure.value.outcome == "not_applied"
    assert not ledger.open_fences()


async def test_repeated_store_failures_leave_no_open_fence(
    ledger: SqlLedger, database: Database, unsendable: Unsendable
) -> None:
    """Transactions that fail before their commit leave no fences to check."""
    refuse(database, "INSERT", table="row_removals")
    for number in range(3):
        with pytest.raises(unsendable):
            await ledger.sending(WORKSHEET, update(2), replace(FENCE, id=number + 1))

    assert not ledger.open_fences()


async def test_outcome_of_a_batch_that_was_not_stored(ledger: SqlLedger) -> None:
    """In SQLite, the outcome of a batch without a note needs no transaction. PostgreSQL needs
    one transaction.
    """
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS, [5])], FENCE)
    with commits(ledger) as found:
        await ledger.settled(WORKSHEET, FENCE, is_applied=False)

    assert len(found) == (ledger._engine.dialect.name == "postgresql")


@pytest.mark.parametrize("passed_seconds", [-900, 900], ids=["set back", "later"])
async def test_age_of_an_open_removal(
    ledger: SqlLedger, database: Database, passed_seconds: float
) -> None:
    """The age of an earlier process's open removal counts from the start, of an own removal
    from its note.
    """
    await ledger.completed([(IDENTITY, results(7))])
    await ledger.sending(WORKSHEET, removal(2), REMOVAL)
    clock = ManualClock()
    clock.advance(passed_seconds)
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        started_at = clock()
        clock.advance(100)
        earlier = await later.find(IDENTITY.scope)
        await later.settled(WORKSHEET, REMOVAL, is_applied=False)
        await later.sending(WORKSHEET, removal(3), SECOND)
        noted_at = clock()
        clock.advance(100)
        own = await later.find(IDENTITY.scope)

    assert earlier is not None
    assert earlier.open_removal is not None
    assert own is not None
    assert own.open_removal is not None
    assert earlier.open_removal.sent_at == started_at
    assert own.open_removal.sent_at == noted_at


async def test_statements_have_a_limited_number_of_parameters(ledger: SqlLedger) -> None:
    """One statement has at most 500 tokens, because databases limit a statement's parameters."""
    await ledger.sending(WORKSHEET, update(2), FENCE)
    for number in range(2500):
        ledger._batches[f"t{number}"] = _Batch(is_applied=number % 2 == 0)
    await ledger.settled(WORKSHEET, FENCE, is_applied=True)
    longest: list[int] = []
    event.listen(
        ledger._engine.sync_engine,
        "before_cursor_execute",
        lambda _connection, _cursor, _statement, values, *_: longest.append(len(values)),
    )
    await ledger.sending(WORKSHEET, update(3), SECOND)

    assert max(longest) == 502  # 500 tokens and two other values
    assert await tokens(ledger) == {SECOND.token}


@pytest.mark.parametrize("is_applied", [True, False])
async def test_an_answer_stored_during_a_removal(ledger: SqlLedger, is_applied: bool) -> None:
    """If a removal that was open when an answer was stored is applied, the answer's rows have
    moved.
    """
    await ledger.sending(WORKSHEET, removal(5), REMOVAL)
    await ledger.complete(IDENTITY, results(7))
    await ledger.complete(OTHER_IDENTITY, results(3))
    await ledger.settled(WORKSHEET, REMOVAL, is_applied=is_applied)

    assert await state(ledger) == ("moved" if is_applied else "kept")
    assert await state(ledger, OTHER_IDENTITY.scope) == "kept"


async def test_records_elsewhere_keep_no_removals(ledger: SqlLedger) -> None:
    await ledger.complete(replace(IDENTITY, worksheet=OTHERS), results(7))
    await remove(ledger, 2)
    assert await count(ledger) == 0


async def test_removals_are_purged_at_the_start(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """The start of a process deletes notes of removals that no record needs, for all worksheets."""
    await ledger.sending(WORKSHEET, [Sending(IDENTITY, 7, [["a"]], [7])], FENCE)
    await remove(ledger, 2)
    await ledger.drop(IDENTITY)
    assert await count(ledger) == 1
    async with KeyStore.open(database) as store, store.open_ledger(clock):
        pass
    assert await count(ledger) == 0


async def test_purges_use_an_index(ledger: SqlLedger) -> None:
    """The deletion of old notes uses an index, and does not scan the records."""
    query = purge_removals("book/Cities").compile(
        dialect=ledger._engine.dialect, compile_kwargs={"literal_binds": True}
    )
    is_file = ledger._engine.dialect.name == "sqlite"
    async with ledger._engine.connect() as connection:
        if not is_file:  # PostgreSQL prefers a scan of short tables
            await connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        explain = "EXPLAIN QUERY PLAN" if is_file else "EXPLAIN"
        plan = (await connection.exec_driver_sql(f"{explain} {query}")).all()
    steps = str(plan)
    assert re.search("(?i)index[^,]* idempotency_records_by_removal", steps)
    assert not is_file or "SCAN" not in steps


async def test_an_outcome_that_cannot_be_stored_is_stored_with_the_next(
    ledger: SqlLedger, database: Database, unsendable: Unsendable
) -> None:
    """An outcome that cannot be stored counts in this process at once, and is stored before the
    next removal.
    """
    await ledger.completed([(IDENTITY, results(7))])
    await ledger.sending(WORKSHEET, removal(2), REMOVAL)
    refuse(database, "UPDATE", table="row_removals")
    await ledger.settled(WORKSHEET, REMOVAL, is_applied=True)
    assert await state(ledger) == "moved"
    assert [*ledger.open_fences()] == [REMOVAL.id]
    with pytest.raises(unsendable):  # records can store only one open removal
        await ledger.sending(WORKSHEET, removal(3), SECOND)

    allow(database, table="row_removals")
    await remove(ledger, 9, fence=replace(SECOND, token="third"))
    assert await state(ledger) == "moved"
    assert not ledger.open_fences()


@pytest.mark.parametrize("seed", range(10))
async def test_any_series_of_removals_leaves_true_answers(ledger: SqlLedger, seed: int) -> None:
    """After random series of removals, no record with a moved row is reported as unmoved."""
    random = Random(seed)  # noqa: S311
    sheet = [f"row {number}" for number in range(40)]
    noted: dict[str, tuple[str, int]] = {}
    removals = 0
    for step in range(25):
        identity = replace(IDENTITY, scope=f"s{step}")
        row = random.choice(sheet)
        number = sheet.index(row) + 2
        noted[identity.scope] = (row, number)
        if random.random() < 0.5:
            await ledger.complete(identity, results(number))
        else:
            sending = Sending(identity, number, [["a"]], [number])
            await ledger.sending(WORKSHEET, [sending], FENCE)
        gone = sorted(random.sample(range(len(sheet)), random.randint(0, 2)))
        if not gone:
            continue
        fence = replace(REMOVAL, token=f"removal {step}")
        await ledger.sending(WORKSHEET, removal(*(number + 2 for number in gone)), fence)
        is_applied = random.random() < 0.3
        await ledger.settled(WORKSHEET, fence, is_applied=is_applied)
        if is_applied:
            removals += 1
            sheet = [each for number, each in enumerate(sheet) if number not in gone]
        for scope, (text, told) in noted.items():
            is_there = text in sheet and sheet.index(text) + 2 == told
            assert await state(ledger, scope) == ("kept" if is_there else "moved")
    assert removals
