"""Writes with a fence while people edit the sheet, and their answers."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    InvalidBody,
    PreconditionFailed,
    QueueFull,
    RowNumberUnknown,
    SpreadsheetNotShared,
    UpstreamError,
    UpstreamRefusal,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.table.header import IfMatch
from gateway.worksheets.writes import Write, WriteIdentity
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import CITIES, TARGET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

LOST = WriteOutcomeUnknown("no answer")
Edit = Callable[[FakeWorksheet], object]


def names(bench: Bench) -> list[object]:
    return [line[0] if line else "" for line in bench.cities.lines()[1:]]


def sort(sheet: FakeWorksheet) -> None:
    """Sort the data rows by the first column."""
    rows = sorted(sheet.lines()[1:])
    for number, row in enumerate(rows, start=2):
        sheet.type(number, *[*row, "", "", ""][:3])


def insert_column(sheet: FakeWorksheet) -> None:
    """Insert a column before the first."""
    sheet.cells = {(row, column + 1): held for (row, column), held in sheet.cells.items()}
    sheet.columns += 1


EDITS: dict[str, Edit] = {
    "deletes-a-row-above": lambda sheet: sheet.delete_rows(2),
    "sorts": sort,
    "inserts-a-column": insert_column,
    "corrects-a-word": lambda sheet: sheet.type(5, "Reno!"),
    "deletes-it": lambda sheet: sheet.delete_rows(5),
    "appends-the-same": lambda sheet: sheet.type(6, "Reno"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
async def test_people_edit_before_a_lost_answer_is_settled(bench: Bench, edit: Edit) -> None:
    """An applied create is never reported as not applied, and never sent again."""
    bench.sheets.after("apply", lambda: edit(bench.cities), LOST)

    (end,) = await bench.together(Write.create(rows=({"name": "Reno"},)))

    assert bench.sheets.count("apply") == 1
    if isinstance(end, BaseException):
        assert isinstance(end, RowNumberUnknown)
        assert end.outcome == "applied"
    else:
        row = end[0].row
        assert names(bench)[row - 2] == "Reno"
        assert names(bench).count("Reno") == (2 if edit is EDITS["appends-the-same"] else 1)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
async def test_people_edit_while_a_create_is_answered(bench: Bench, edit: Edit) -> None:
    """The answer shows the worksheet as of the write, without later edits."""
    bench.sheets.after("apply", lambda: edit(bench.cities))

    assert await bench.create(name="Reno") == 5


async def test_a_fuller_row_of_a_person_is_not_taken(bench: Bench) -> None:
    """A row that a person typed is never acknowledged as the written row."""
    bench.sheets.before("apply", lambda: bench.cities.type(5, "Reno", "NV", 1), LOST)

    row = await bench.create(name="Reno")

    assert row == 6
    assert names(bench)[3:] == ["Reno", "Reno"]


async def test_an_equal_row_above_is_not_ours(bench: Bench) -> None:
    """Of two equal rows, the one at the end is the created row."""
    bench.sheets.before("apply", lambda: bench.cities.type(5, "Reno"))
    bench.sheets.after("apply", LOST)

    assert await bench.create(name="Reno") == 6
    assert names(bench)[3:] == ["Reno", "Reno"]


async def test_rows_deleted_above_the_last_known_one(bench: Bench) -> None:
    """If people deleted rows after the read, the created rows are found further up."""
    await bench.create(name="Reno")
    bench.sheets.before("apply", lambda: bench.cities.delete_rows(3, 3))
    bench.sheets.cost()

    row = await bench.create(name="Salem")

    assert row == 3
    assert names(bench) == ["Boston", "Salem"]
    assert bench.sheets.cost().writes == 1


async def test_a_header_changed_under_a_create(bench: Bench) -> None:
    """The row is written, and the error names the row and the changed header."""
    bench.sheets.before("apply", lambda: bench.cities.type(1, "state", "name"))

    with pytest.raises(HeaderChanged) as caught:
        await bench.create(name="Reno")

    assert (caught.value.outcome, caught.value.row) == ("applied", 5)
    assert await bench.create(name="Salem") == 6
    assert bench.cities.lines()[5] == ["", "Salem"]


async def test_another_column_changed_under_a_create(bench: Bench) -> None:
    """A change of another column's name does not affect the create."""
    bench.sheets.before("apply", lambda: bench.cities.type(1, None, None, None, "mayor"))

    assert await bench.create(name="Reno") == 5


async def test_a_tab_renamed_while_another_takes_its_title(bench: Bench) -> None:
    """A row that was written to a renamed tab is reported as an error."""
    await bench.create(name="Reno")

    def swap() -> None:
        bench.cities.title = "Old"
        bench.fake.add("Cities", CITIES, rows=100)

    bench.sheets.before("apply", swap)
    with pytest.raises(UpstreamError) as caught:
        await bench.create(name="Salem")

    assert caught.value.outcome == "applied"
    assert names(bench)[-1] == "Salem"


async def test_a_tab_made_anew(bench: Bench) -> None:
    """The tab was deleted and created again: it is read again, and gets the row."""
    await bench.create(name="Reno")
    bench.fake.worksheets.clear()
    new = bench.fake.add("Cities", CITIES[:1], rows=10)
    new.sheet_id = 77

    assert await bench.create(name="Salem") == 2
    assert new.lines()[1:] == [["Salem"]]


async def test_an_update_is_sent_right_after_its_look(bench: Bench) -> None:
    """If more than a second passes between read and write, the row is read again."""
    bench.sheets.after("read_sheet", lambda: bench.clock.advance(0.5))
    tag = (await bench.read(2)).tag
    ledger_sending = bench.ledger.sending
    slow = iter([True, False])

    async def sending(*arguments: object) -> object:
        if next(slow):
            bench.clock.advance(2)
            bench.cities.type(2, "by hand")
        return await ledger_sending(*arguments)  # type: ignore[arg-type]

    bench.ledger.sending = sending  # type: ignore[method-assign, assignment]
    with pytest.raises(PreconditionFailed):
        await bench.service.write(
            TARGET,
            Write.update(row=2, fields={"name": "ours"}, condition=IfMatch(frozenset({tag}))),
        )

    assert names(bench)[0] == "by hand"


async def test_an_update_that_waited_for_its_record_looks_again(bench: Bench) -> None:
    """If storing the record takes long, the row is read again before the write."""

    async def sending(*_: object) -> tuple[()]:
        bench.clock.advance(2)
        return ()

    bench.ledger.sending = sending  # type: ignore[method-assign, assignment]
    await bench.service.write(TARGET, Write.update(row=2, fields={"name": "ours"}))

    assert names(bench)[0] == "ours"
    assert bench.sheets.cost() == Cost(2, 1)


@pytest.mark.parametrize("repeatable_ids", [False, True], ids=["refused", "accepted"])
async def test_no_late_copy_overwrites_a_later_update(
    make_bench: MakeBench, repeatable_ids: bool
) -> None:
    """The outcome of an update without an answer is found before the next update of its row."""
    bench = make_bench(repeatable_ids=repeatable_ids)
    late: list[Callable[[], object]] = []

    def hold(bench: Bench = bench) -> None:
        inner = bench.fake.apply_now
        batches: list[object] = []

        def keep(spreadsheet: str, batch: object) -> object:
            batches.append(batch)
            bench.fake.apply_now = inner  # type: ignore[method-assign]
            late.append(lambda: inner(spreadsheet, batch))  # type: ignore[arg-type]
            raise LOST

        bench.fake.apply_now = keep  # type: ignore[method-assign, assignment]

    bench.sheets.before("apply", hold)
    (first,) = await bench.together(Write.update(row=2, fields={"name": "a"}))
    (second,) = await bench.together(Write.update(row=2, fields={"name": "b"}))
    for land in late:
        with suppress(GatewayError):
            land()

    if repeatable_ids:
        assert isinstance(first, WriteOutcomeUnknown)
        assert isinstance(second, QueueFull)
        assert second.outcome == "not_applied"
    else:
        assert names(bench)[0] == "b"


async def test_an_open_update_blocks_its_row_while_it_may_land(make_bench: MakeBench) -> None:
    """A row with an open update costs only searches; after 185 s it is free."""
    bench = make_bench(repeatable_ids=True)
    bench.sheets.before("apply", LOST)
    await bench.together(Write.update(row=2, fields={"name": "a"}))
    bench.sheets.cost()
    (blocked,) = await bench.together(Write.update(row=2, fields={"name": "b"}))
    cost = bench.sheets.cost()
    bench.clock.advance(186)
    await bench.updated(2, {"name": "c"})

    assert isinstance(blocked, QueueFull)
    assert cost == Cost(1, 0)
    assert names(bench)[0] == "c"


async def test_open_updates_are_not_searched_one_after_the_other(bench: Bench) -> None:
    """If one outcome cannot be found now, other open updates block their rows unsearched."""
    away = SpreadsheetNotShared("x", outcome="not_applied")
    for row in (2, 3):
        bench.sheets.after("apply", LOST)
        bench.sheets.before("fence_tokens", away)
        await bench.together(Write.update(row=row, fields={"name": "a"}))
    searches = bench.sheets.count("fence_tokens")
    gate = asyncio.Event()
    bench.sheets.before("apply", gate)
    held = asyncio.create_task(bench.create(name="first"))
    await bench.sheets.begun("apply", 3)
    bench.sheets.before("fence_tokens", away, away)
    updates = [Write.update(row=row, fields={"name": "b"}) for row in (2, 3, 4)]
    ends = asyncio.create_task(bench.together(*updates))
    await asyncio.sleep(0)
    gate.set()
    await held

    assert [isinstance(end, QueueFull) for end in await ends] == [True, True, False]
    assert bench.sheets.count("fence_tokens") == searches + 1


async def test_what_was_not_sent_is_sent_once_more(bench: Bench) -> None:
    """If no connection is possible, a write is tried twice, then it fails."""
    away = UpstreamUnreachable("x", outcome="not_applied")
    bench.sheets.before("apply", away)
    assert await bench.create(name="Reno") == 5
    for nth in (1, 2):
        bench.sheets.before("apply", away, nth=nth)

    with pytest.raises(UpstreamUnreachable):
        await bench.create(name="Salem")

    assert names(bench)[3:] == ["Reno"]


async def test_cost_of_a_lost_answer(bench: Bench) -> None:
    """A create with a lost answer costs 2 reads more: for the fence and for its row."""
    bench.sheets.after("apply", LOST)

    await bench.create(name="Reno")

    assert bench.sheets.cost() == Cost(1 + 2, 1)


async def test_a_large_worksheet_is_read_to_its_end(make_bench: MakeBench) -> None:
    """If the end is unknown and the grid is large, one more read finds the end."""
    bench = make_bench(rows=5000)

    assert await bench.create(name="Reno") == 5
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_column_of_formulas_in_front(make_bench: MakeBench) -> None:
    """Creates go one below the other although the first column is blank."""
    bench = make_bench([["id", "name"], [None, "a"]])

    rows = [await bench.create(name=f"n{number}") for number in range(3)]

    assert rows == [3, 4, 5]


async def test_many_creates_in_few_writes(bench: Bench) -> None:
    """Creates that wait for a running batch go together in the next batch."""
    gate = asyncio.Event()
    bench.sheets.before("apply", gate)
    first = asyncio.create_task(bench.create(name="first"))
    await bench.sheets.begun("apply")
    others = [asyncio.create_task(bench.create(name=f"n{number}")) for number in range(80)]
    await asyncio.sleep(0)
    gate.set()
    rows = [await each for each in [first, *others]]

    assert rows == [*range(5, 86)]
    assert bench.sheets.cost() == Cost(1, 2)


async def test_a_header_changed_under_a_create_of_an_earlier_process(bench: Bench) -> None:
    """A row found by its fence under other field names is not answered as its fields."""
    create = Write.create(
        rows=({"name": "Reno"},),
        identity=WriteIdentity(scope="s1", fingerprint="f1", worksheet=TARGET.worksheet, key_id=""),
    )
    bench.sheets.before("apply", lambda: bench.cities.type(1, "state", "name"))
    bench.sheets.after("apply", RuntimeError("killed"))
    (killed,) = await bench.together(create)
    (end,) = await bench.together(create)

    assert isinstance(killed, BaseException)
    assert isinstance(end, HeaderChanged)
    assert (end.outcome, end.row) == ("applied", 5)
    assert names(bench)[3:] == ["Reno"]


async def test_a_header_changed_under_an_update_of_an_earlier_process(bench: Bench) -> None:
    """A value that was found in another column is not answered as its field."""
    update = Write.update(
        row=2,
        fields={"name": "Reno"},
        identity=WriteIdentity(scope="s1", fingerprint="f1", worksheet=TARGET.worksheet, key_id=""),
    )
    bench.sheets.before("apply", lambda: bench.cities.type(1, "state", "name"))
    bench.sheets.after("apply", RuntimeError("killed"))
    (killed,) = await bench.together(update)
    (end,) = await bench.together(update)

    assert isinstance(killed, BaseException)
    assert isinstance(end, HeaderChanged)
    assert (end.outcome, end.row) == ("applied", 2)


async def test_a_refusal_that_cannot_be_explained_keeps_other_errors(bench: Bench) -> None:
    """If the reason of a refusal cannot be read, each write keeps its own error."""
    bench.sheets.before("apply", UpstreamRefusal("Unable to parse range"))
    bench.sheets.before("list_worksheets", UpstreamError("away"))

    bad, good = await bench.together(
        Write.create(rows=({"nope": "x"},)), Write.create(rows=({"name": "Reno"},))
    )

    assert isinstance(bad, InvalidBody)
    assert not isinstance(good, BaseException)
    assert names(bench)[3:] == ["Reno"]
