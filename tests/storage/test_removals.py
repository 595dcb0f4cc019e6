"""Numbers in records follow the rows that the gateway removes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from sqlalchemy import func, select

from gateway.errors import HeaderChanged, RowNumberUnknown
from gateway.google.sheets import Fence
from gateway.settings.database import Database
from gateway.storage.key_store import KeyStore
from gateway.storage.removals import removals
from gateway.storage.write_ledger import SqlLedger
from gateway.storage.write_records import purge_removals
from gateway.worksheets.idempotency import Answer, OpenWrite, Sending
from gateway.worksheets.row_numbers import GONE
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import number_only
from tests.clock import ManualClock
from tests.storage.by_hand import allow, refuse
from tests.storage.conftest import (
    FENCE,
    IDENTITY,
    OTHER_IDENTITY,
    WORKSHEET,
    Unsendable,
    results,
)

REMOVAL = Fence(id=77, key="gw", token="removal")
SECOND = Fence(id=78, key="gw", token="second")


async def remove(ledger: SqlLedger, *rows: int, fence: Fence = REMOVAL) -> None:
    await ledger.moving(WORKSHEET, fence, rows)
    await ledger.moved(WORKSHEET, fence, is_applied=True)


async def answer_of(ledger: SqlLedger, scope: str = IDENTITY.scope) -> Answer | None:
    entry = await ledger.find(scope)
    assert entry is not None
    return entry.answer


async def test_answers_follow(ledger: SqlLedger) -> None:
    await ledger.sending([Sending(IDENTITY, 7, [["a"], ["b"]])], FENCE)
    await ledger.completed([(IDENTITY, results(7, 8))])
    await remove(ledger, 2, 5, 9)
    await remove(ledger, 2, fence=SECOND)

    answer = await answer_of(ledger)
    assert not isinstance(answer, Exception | None)
    assert [(each.row, each.record["rowIndex"]) for each in answer] == [(4, 4), (5, 5)]


@pytest.mark.parametrize(("removed", "is_told"), [((7,), False), ((8,), True), ((2, 6, 7), False)])
async def test_a_removed_row_has_no_number(
    ledger: SqlLedger, removed: Sequence[int], is_told: bool
) -> None:
    await ledger.completed([(IDENTITY, results(7))])
    await remove(ledger, *removed)
    assert isinstance(await answer_of(ledger), RowNumberUnknown) is not is_told


async def test_numbers_below_an_open_removal_are_unknown(ledger: SqlLedger) -> None:
    await ledger.completed([(IDENTITY, results(7)), (OTHER_IDENTITY, results(3))])
    await ledger.moving(WORKSHEET, REMOVAL, [5])

    assert isinstance(await answer_of(ledger), RowNumberUnknown)
    assert await answer_of(ledger, OTHER_IDENTITY.scope) == results(3)
    await ledger.moved(WORKSHEET, REMOVAL, is_applied=False)
    assert await answer_of(ledger) == results(7)


async def test_open_writes_follow(ledger: SqlLedger) -> None:
    await ledger.sending([Sending(IDENTITY, 9, [[], [], []], [7, 0, 5])], FENCE)
    await remove(ledger, 5, 6)

    entry = await ledger.find(IDENTITY.scope)
    assert entry is not None
    assert (entry.first_row, entry.numbers) == (7, (5, 0, GONE))


async def test_records_after_a_removal_know_of_it(ledger: SqlLedger) -> None:
    await remove(ledger, 2)
    await ledger.sending([Sending(IDENTITY, 7, [["a"]], [7])], FENCE)
    entry = await ledger.find(IDENTITY.scope)
    assert entry is not None
    assert entry.numbers == (7,)
    await remove(ledger, 3, fence=SECOND)
    await ledger.completed([(IDENTITY, results(6))])
    assert await answer_of(ledger) == results(6)


async def test_records_know_the_last_removal_before_them(ledger: SqlLedger) -> None:
    """Of several that are kept for other records."""
    await ledger.completed([(OTHER_IDENTITY, results(9))])
    await remove(ledger, 2)
    await remove(ledger, 3, fence=SECOND)
    await ledger.completed([(IDENTITY, results(7))])

    assert await answer_of(ledger) == results(7)
    assert await answer_of(ledger, OTHER_IDENTITY.scope) == results(7)


async def test_other_worksheets_stay(ledger: SqlLedger) -> None:
    await ledger.completed([(IDENTITY, results(7))])
    other = WorksheetId(WORKSHEET.spreadsheet, "Others")
    await ledger.moving(other, REMOVAL, [2])
    await ledger.moved(other, REMOVAL, is_applied=True)
    assert await answer_of(ledger) == results(7)


async def test_deletes_answer_with_numbers_of_before(ledger: SqlLedger) -> None:
    identity = replace(IDENTITY, removes_rows=True)
    await ledger.moving(WORKSHEET, REMOVAL, [4, 7])
    await ledger.sending([Sending(identity, 1, [], [4, 7])], REMOVAL)
    entry = await ledger.find(identity.scope)
    assert entry is not None
    assert entry.numbers == (4, 7)
    await ledger.moved(WORKSHEET, REMOVAL, is_applied=True)
    answer = (number_only(4), number_only(7))
    await ledger.completed([(identity, answer)])
    await remove(ledger, 2, fence=SECOND)
    assert await answer_of(ledger) == answer


async def test_errors_with_a_number_follow(ledger: SqlLedger) -> None:
    await ledger.complete(IDENTITY, HeaderChanged("It is in row 7, not row 70.", row=7))
    await remove(ledger, 2)
    answer = await answer_of(ledger)
    assert isinstance(answer, HeaderChanged)
    assert (answer.row, answer.message) == (6, "It is in row 6, not row 70.")


async def test_open_removals_outlive_the_process(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    await ledger.moving(WORKSHEET, REMOVAL, [2])
    await ledger.moving(WORKSHEET, SECOND)
    await ledger.moved(WORKSHEET, SECOND, is_applied=False)
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        found = later.open_writes
        assert [*later.open_fences()] == [REMOVAL.id]
    assert found == [
        OpenWrite(
            worksheet=WORKSHEET,
            fence=REMOVAL,
            sent_at=clock(),
            updated_rows=frozenset(),
            is_exclusive=True,
        )
    ]


async def count(ledger: SqlLedger) -> int:
    async with ledger._engine.connect() as connection:
        found = await connection.execute(select(func.count()).select_from(removals))
        return int(found.scalar_one())


async def test_removals_go_with_the_records_that_follow_them(ledger: SqlLedger) -> None:
    await ledger.sending([Sending(IDENTITY, 7, [["a"]], [7])], FENCE)
    await remove(ledger, 2)
    await remove(ledger, 3, fence=SECOND)
    assert await count(ledger) == 2
    await ledger.drop(IDENTITY)
    await remove(ledger, 4, fence=FENCE)
    assert await count(ledger) == 0


async def test_a_removal_that_cannot_be_noted_is_refused(
    ledger: SqlLedger, unsendable: Unsendable
) -> None:
    async with ledger._engine.begin() as connection:
        await connection.exec_driver_sql("DROP TABLE row_removals")
    with pytest.raises(unsendable[0]) as failure:
        await ledger.moving(WORKSHEET, REMOVAL, [2])
    assert failure.value.outcome == "not_applied"


@pytest.mark.parametrize("is_applied", [True, False])
async def test_an_answer_made_while_a_removal_was_open_has_no_number_after_it(
    ledger: SqlLedger, is_applied: bool
) -> None:
    """Nobody knows whether the rows had gone when it was looked for."""
    await ledger.moving(WORKSHEET, REMOVAL, [5])
    await ledger.complete(IDENTITY, results(7))
    await ledger.complete(OTHER_IDENTITY, results(3))
    await ledger.moved(WORKSHEET, REMOVAL, is_applied=is_applied)
    await remove(ledger, 2, fence=SECOND)

    answer = await answer_of(ledger)
    assert isinstance(answer, RowNumberUnknown) if is_applied else answer == results(6)
    assert await answer_of(ledger, OTHER_IDENTITY.scope) == results(2)


async def test_an_open_removal_elsewhere_is_no_matter(ledger: SqlLedger) -> None:
    other = WorksheetId(WORKSHEET.spreadsheet, "Others")
    await ledger.moving(other, REMOVAL, [2])
    await ledger.complete(IDENTITY, results(7))
    await remove(ledger, 5, fence=SECOND)
    await ledger.moved(other, REMOVAL, is_applied=True)
    assert await answer_of(ledger) == results(6)


async def test_records_elsewhere_keep_no_removals(ledger: SqlLedger) -> None:
    other = WorksheetId(WORKSHEET.spreadsheet, "Others")
    await ledger.complete(replace(IDENTITY, worksheet=other), results(7))
    await remove(ledger, 2)
    assert await count(ledger) == 0


async def test_removals_are_purged_at_the_start(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    """A worksheet of which no row is removed any more keeps none."""
    await ledger.sending([Sending(IDENTITY, 7, [["a"]], [7])], FENCE)
    await remove(ledger, 2)
    await ledger.drop(IDENTITY)
    assert await count(ledger) == 1
    async with KeyStore.open(database) as store, store.open_ledger(clock):
        pass
    assert await count(ledger) == 0


async def test_purges_walk_no_records(ledger: SqlLedger) -> None:
    """They look them up in an index, as they come with every removal."""
    query = purge_removals("book/Cities").compile(
        dialect=ledger._engine.dialect, compile_kwargs={"literal_binds": True}
    )
    is_file = ledger._engine.dialect.name == "sqlite"
    async with ledger._engine.connect() as connection:
        if not is_file:  # it prefers to walk tables that are as short as these
            await connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        explain = "EXPLAIN QUERY PLAN" if is_file else "EXPLAIN"
        plan = (await connection.exec_driver_sql(f"{explain} {query}")).all()
    steps = str(plan)
    assert re.search("(?i)index[^,]* idempotency_records_by_removal", steps)
    assert not is_file or "SCAN" not in steps


async def test_an_outcome_that_cannot_be_stored_is_stored_with_the_next(
    ledger: SqlLedger, database: Database, unsendable: Unsendable
) -> None:
    await ledger.completed([(IDENTITY, results(7))])
    await ledger.moving(WORKSHEET, REMOVAL, [2])
    refuse(database, "UPDATE", table="row_removals")
    await ledger.moved(WORKSHEET, REMOVAL, is_applied=True)
    assert isinstance(await answer_of(ledger), RowNumberUnknown)
    assert [*ledger.open_fences()] == [REMOVAL.id]
    with pytest.raises(unsendable[0]):  # numbers cannot follow two of which one is open
        await ledger.moving(WORKSHEET, SECOND, [3])

    allow(database, table="row_removals")
    await remove(ledger, 3, fence=SECOND)
    assert await answer_of(ledger) == results(5)
    assert not ledger.open_fences()


async def test_open_updates_of_an_earlier_process_follow(
    ledger: SqlLedger, database: Database, clock: ManualClock
) -> None:
    await ledger.sending([Sending(IDENTITY, 1, [["a"], ["b"], ["c"]], [7, 4, 0])], FENCE)
    await remove(ledger, 2, 4)
    async with KeyStore.open(database) as store, store.open_ledger(clock) as later:
        found = later.open_writes
    assert [each.updated_rows for each in found] == [{5}]


@pytest.mark.parametrize("seed", range(10))
async def test_any_series_of_removals_leaves_true_numbers(ledger: SqlLedger, seed: int) -> None:
    """Each record has the number at which its row is, or none if it is gone."""
    random = Random(seed)  # noqa: S311
    sheet = [f"row {number}" for number in range(40)]
    noted: dict[str, str] = {}
    for step in range(25):
        identity = replace(IDENTITY, scope=f"s{step}")
        row = random.choice(sheet)
        noted[identity.scope] = row
        if random.random() < 0.5:
            await ledger.complete(identity, results(sheet.index(row) + 2))
        else:
            number = sheet.index(row) + 2
            await ledger.sending([Sending(identity, number, [["a"]], [number])], FENCE)
        gone = sorted(random.sample(range(len(sheet)), random.randint(0, 2)))
        fence = replace(REMOVAL, token=f"removal {step}")
        await ledger.moving(WORKSHEET, fence, [number + 2 for number in gone])
        is_applied = random.random() < 0.7
        await ledger.moved(WORKSHEET, fence, is_applied=is_applied)
        if is_applied:
            sheet = [each for number, each in enumerate(sheet) if number not in gone]
        for scope, row in noted.items():
            entry = await ledger.find(scope)
            assert entry is not None
            number = sheet.index(row) + 2 if row in sheet else GONE
            if entry.answer is None:
                assert entry.numbers == (number,)
            elif row in sheet:
                assert entry.answer == results(number)
            else:
                assert isinstance(entry.answer, RowNumberUnknown)
