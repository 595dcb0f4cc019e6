"""Updates of several rows, deletes and writes by filter: rows, results and costs."""

from dataclasses import replace

import pytest

from gateway.errors import (
    GatewayError,
    PreconditionFailed,
    RowNotRemovable,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Batch, EmptiedRow, RemovedRows
from gateway.query.query import Query
from gateway.settings.model import WriteSettings
from gateway.table.header import IfMatch
from gateway.worksheets.writes import Write, WriteIdentity
from tests.worksheets.conftest import (
    CITIES,
    KEPT,
    TARGET,
    TTL_OF_ROWS_SECONDS,
    WORKSHEET,
    Bench,
    MakeBench,
)
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.several_rows import (
    ABOVE_700_000,
    AUSTIN,
    BOSTON,
    DENVER,
    IN_TEXAS,
    PAST_THE_GRID,
    carried_out,
    data,
    numbers_of,
    where,
)


async def test_rows_are_deleted_by_their_numbers_of_before(bench: Bench) -> None:
    """Waiting deletes share a batch, from the bottom up; the same number twice removes two rows."""
    ends = await bench.together(Write.delete(row=2), Write.delete(row=4), Write.delete(row=2))

    assert ends == [(), (), ()]
    assert data(bench) == []
    assert bench.sheets.cost() == Cost(2, 2)


async def test_many_deletes_share_a_write(make_bench: MakeBench) -> None:
    bench = make_bench([CITIES[0], *([f"city {n}", "", n] for n in range(60))])

    ends = await bench.together(*(Write.delete(row=row) for row in range(2, 42)))

    assert set(ends) == {()}
    assert [line[0] for line in data(bench)] == [f"city {n}" for n in range(40, 60)]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_delete_holds_its_condition(bench: Bench) -> None:
    tag = (await bench.read(3)).tag
    await carried_out(bench, Write.delete(row=2))

    with pytest.raises(PreconditionFailed):
        await carried_out(bench, Write.delete(row=3, condition=IfMatch(tags=frozenset({tag}))))
    await carried_out(bench, Write.delete(row=2, condition=IfMatch(tags=frozenset({tag}))))
    assert data(bench) == [AUSTIN]


async def test_the_last_row_that_is_not_frozen_is_emptied(make_bench: MakeBench) -> None:
    bench = make_bench(CITIES[:2], rows=0)
    bench.cities.frozen_rows = 1

    await carried_out(bench, Write.delete(row=2))
    (batch,) = bench.sheets.batches
    assert batch.changes == [EmptiedRow(row=2)]
    assert data(bench) == []


async def test_a_row_is_emptied_if_numbers_must_stay(make_bench: MakeBench) -> None:
    bench = make_bench(writes=WriteSettings(delete="clear"))

    assert await carried_out(bench, Write.delete(row=3)) == []
    assert await carried_out(bench, Write.delete_where(where=IN_TEXAS, max_rows=9)) == [
        {"rowIndex": 4}
    ]
    assert data(bench) == [BOSTON]


@pytest.mark.parametrize(
    "write", [Write.delete(row=4), Write.delete_where(where=IN_TEXAS, max_rows=9)]
)
async def test_the_record_of_a_row_to_empty_names_it(make_bench: MakeBench, write: Write) -> None:
    """After a kill only the record shows that a late copy may still empty the row."""
    bench = make_bench(writes=WriteSettings(delete="clear"))
    bench.sheets.before("apply", RuntimeError("killed"))
    identity = WriteIdentity(scope="s", fingerprint="f", worksheet=WORKSHEET, key_id="")

    await bench.together(replace(write, identity=identity))
    assert [*bench.ledger.entries["s"].numbers] == [4]


async def test_a_row_that_google_keeps(bench: Bench) -> None:
    """Google's message can be in any language and quote cells, so it goes to the log only."""
    words = "Invalid requests[1].deleteDimension: \u00ab900 EUR\u00bb ist Teil einer Matrix."
    bench.sheets.before("apply", UpstreamRefusal(words))

    with pytest.raises(RowNotRemovable, match="array formula or merged cells") as failure:
        await carried_out(bench, Write.delete(row=3))
    assert failure.value.outcome == "not_applied"
    assert "EUR" not in failure.value.message


async def test_rows_are_updated_by_filter(bench: Bench) -> None:
    await bench.look()
    write = Write.update_where(where=ABOVE_700_000, fields={"state": "big"}, max_rows=2)

    assert await carried_out(bench, write) == [{"rowIndex": 3}, {"rowIndex": 4}]
    assert [line[1] for line in data(bench)] == ["MA", "big", "big"]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_filter_of_numbers_needs_no_types(bench: Bench) -> None:
    await bench.look()
    write = Write.delete_where(where=where("rowIndex", "$gte", 3), max_rows=2)

    assert await carried_out(bench, write) == [{"rowIndex": 3}, {"rowIndex": 4}]
    assert data(bench) == [BOSTON]
    assert bench.sheets.cost() == Cost(1, 1)
    (removed,) = bench.sheets.batches[-1].changes
    assert removed == RemovedRows(first_row=3, last_row=4)


@pytest.mark.parametrize(
    ("write", "numbers"),
    [
        (Write.update_where(where=IN_TEXAS, fields={"state": "x"}, max_rows=9), [3]),
        (Write.delete_where(where=IN_TEXAS, max_rows=9), [3]),
        (Write.upsert(keys=("name",), rows=({"name": "Austin", "state": "x"},)), [3]),
    ],
    ids=["update by filter", "delete by filter", "upsert"],
)
async def test_rows_that_move_out_of_the_grid_are_found_again(
    make_bench: MakeBench, write: Write, numbers: list[int]
) -> None:
    """If a person deletes a row above just before the write, the rows are read again."""
    bench = make_bench(rows=0)
    bench.sheets.before("apply", lambda: bench.cities.delete_rows(2), PAST_THE_GRID)

    assert [record["rowIndex"] for record in await carried_out(bench, write)] == numbers
    assert data(bench)[0] == DENVER
    assert len(bench.sheets.batches) == 2


async def test_waiting_filters_share_a_read_and_a_write(bench: Bench) -> None:
    await bench.look()
    ends = await bench.together(
        Write.update_where(where=where("name", "$eq", "Boston"), fields={"state": "1"}, max_rows=9),
        Write.update_where(where=where("name", "$eq", "Austin"), fields={"state": "2"}, max_rows=9),
        Write.upsert(keys=("name",), rows=({"name": "Denver", "population": 3},)),
    )

    assert not any(isinstance(end, BaseException) for end in ends)
    assert [line[1:] for line in data(bench)] == [["1", "654776"], ["CO", "3"], ["2", "964254"]]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_filters_of_many_rows_do_not_share_a_write(make_bench: MakeBench) -> None:
    """A batch has a maximum number of rows; a larger write goes alone."""
    names = [*["a"] * 300, *["b"] * 300, *["c"] * 200]
    bench = make_bench([CITIES[0], *([name, "", ""] for name in names)])
    await bench.together(
        *(
            Write.update_where(
                where=where("name", "$eq", name), fields={"state": "x"}, max_rows=300
            )
            for name in "abc"
        )
    )

    assert [line[1] for line in data(bench)] == ["x"] * 800
    assert [len(batch.changes) for batch in bench.sheets.batches] == [500, 300]


async def test_a_filter_sees_what_one_before_it_wrote(bench: Bench) -> None:
    ends = await bench.together(
        Write.update_where(where=IN_TEXAS, fields={"state": "CO"}, max_rows=9),
        Write.update_where(where=where("state", "$eq", "CO"), fields={"population": 0}, max_rows=9),
    )

    assert [numbers_of(end) for end in ends] == [[4], [3, 4]]
    assert [line[2] for line in data(bench)] == ["654776", "0", "0"]


async def test_a_filter_sees_what_one_before_it_emptied(make_bench: MakeBench) -> None:
    lines = [CITIES[0], ["Reno", "NV", 1], ["", "", 7], ["Erie", "PA", 3]]
    bench = make_bench(lines, writes=WriteSettings(delete="clear"))
    delete = Write.delete_where(where=where("state", "$eq", "NV"), max_rows=9)
    update = Write.update_where(where=where("name", "$eq", ""), fields={"state": "NV"}, max_rows=9)

    ends = await bench.together(delete, update)

    assert [numbers_of(end) for end in ends] == [[2], [2, 3]]
    assert data(bench) == [["", "NV"], ["", "NV", "7"], ["Erie", "PA", "3"]]


async def test_deletes_by_filter_share_a_write(bench: Bench) -> None:
    """Each answer has the row numbers after the delete before it."""
    await bench.look()
    ends = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9),
        Write.delete_where(where=IN_TEXAS, max_rows=9),
    )

    assert [numbers_of(end) for end in ends] == [[2], [3]]
    assert data(bench) == [DENVER]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_what_writes_nothing_is_noted_before_rows_are_removed(bench: Bench) -> None:
    """Then its record is from before the removal."""
    await bench.look()
    identity = WriteIdentity(scope="s", fingerprint="f", worksheet=TARGET.worksheet, key_id="")
    rows = ({"name": "Denver"},)
    ends = await bench.together(
        Write.upsert(keys=("name",), rows=rows, merges=False, identity=identity),
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9),
    )

    assert [numbers_of(end) for end in ends] == [[3], [2]]
    assert bench.ledger.calls[:3] == ["find", "completed", "noting"]


async def test_kinds_do_not_mix(bench: Bench) -> None:
    ends = await bench.together(
        Write.create(rows=({"name": "Reno"},)),
        Write.update(row=2, fields={"state": "x"}),
        Write.delete(row=3),
        Write.delete_where(where=IN_TEXAS, max_rows=9),
        Write.upsert(keys=("name",), rows=({"name": "Waco"},)),
    )

    assert not any(isinstance(end, BaseException) for end in ends)
    assert [line[0] for line in data(bench)] == ["Boston", "Reno", "Waco"]


async def test_kept_rows_follow(make_bench: MakeBench) -> None:
    """Cached rows are updated after a delete without a call."""
    bench = make_bench(cache=KEPT)
    await bench.page()
    await bench.look()
    bench.sheets.cost()

    await carried_out(bench, Write.delete(row=2))
    assert await bench.names() == ["Denver", "Austin"]
    assert (await bench.record(2))["name"] == "Denver"
    assert bench.sheets.cost() == Cost(1, 1)
    assert await bench.create(name="Reno") == 4
    assert await bench.names() == ["Denver", "Austin", "Reno"]


async def test_a_window_ends_above_removed_rows(make_bench: MakeBench) -> None:
    """Rows above the last one may be blank, so the new end is unknown."""
    blank = ["", "", ""]
    lines = [*CITIES, blank, blank, ["Reno", "NV", 1]]
    bench = make_bench(lines, cache={**KEPT, "window_above_cells": 1})
    await bench.page()
    bench.clock.advance(TTL_OF_ROWS_SECONDS)
    await bench.create(name="Erie")
    page = Query(limit=3)
    before = await bench.page(page)
    for row in (8, 7):
        await carried_out(bench, Write.delete(row=row))

    after = await bench.page(page)
    assert (before.has_next, after.has_next) == (True, False)


@pytest.mark.parametrize("was_applied", [True, False])
async def test_a_delete_without_an_answer_is_settled(bench: Bench, was_applied: bool) -> None:
    lost = WriteOutcomeUnknown("lost")
    getattr(bench.sheets, "after" if was_applied else "before")("apply", lost)

    assert await carried_out(bench, Write.delete(row=3)) == []
    assert data(bench) == [BOSTON, AUSTIN]
    assert [each[1] for each in bench.ledger.batches.values()] == [True]


async def test_a_delete_that_broke_off_is_settled_first(bench: Bench) -> None:
    """After any interruption the delete may have been sent."""
    bench.sheets.after("apply", RuntimeError("broken"))
    (end,) = await bench.together(Write.delete(row=2))
    await bench.create(name="Reno")

    assert isinstance(end, RuntimeError)
    assert [each[1] for each in bench.ledger.batches.values()] == [True]


async def test_nothing_is_written_while_a_delete_is_open(make_bench: MakeBench) -> None:
    """A late delete could move every row, so all writes wait for its outcome."""
    bench = make_bench(repeatable_ids=True)
    late: list[Batch] = []
    bench.sheets.before("apply", WriteOutcomeUnknown("lost"))
    with pytest.raises(WriteOutcomeUnknown):
        await carried_out(bench, Write.delete(row=2))
    late += bench.sheets.batches

    for write in (
        Write.update(row=3, fields={"state": "x"}),
        Write.create(rows=({"name": "Reno"},)),
        Write.delete(row=3),
        Write.upsert(keys=("name",), rows=({"name": "Waco"},)),
    ):
        with pytest.raises(GatewayError) as failure:
            await carried_out(bench, write)
        assert (failure.value.outcome, failure.value.status) == ("not_applied", 503)
    assert data(bench) == [BOSTON, DENVER, AUSTIN]
    bench.fake.land(late[0])
    await bench.updated(3, {"state": "x"})
    assert data(bench) == [DENVER, ["Austin", "x", "964254"]]


async def test_what_waits_behind_an_open_delete_is_not_written(make_bench: MakeBench) -> None:
    """Writes that came at the same time, but in another group, are not sent either."""
    bench = make_bench(repeatable_ids=True)
    bench.sheets.before("apply", WriteOutcomeUnknown("lost"))
    ends = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9),
        Write.upsert(keys=("name",), rows=({"name": "Austin", "state": "x"},)),
    )

    assert [getattr(end, "outcome", None) for end in ends] == ["unknown", "not_applied"]
    assert data(bench) == [BOSTON, DENVER, AUSTIN]


async def test_a_delete_that_cannot_be_noted_is_not_sent(bench: Bench) -> None:
    bench.ledger.trouble = UpstreamError("disk", outcome="not_applied")
    with pytest.raises(UpstreamError):
        await bench.service.write(TARGET, Write.delete(row=2))
    assert len(data(bench)) == 3
