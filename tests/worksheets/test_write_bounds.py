"""Limits of one write: rows that it reads, values that it sends, and its answer."""

from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import pytest

from gateway.errors import InvalidBody, SheetTooLarge, WriteTooLarge
from gateway.google.sheets import WrittenCells
from gateway.worksheets import batch, looks, planning
from gateway.worksheets.writes import Write, Written
from tests.worksheets.conftest import CITIES, KEPT, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.several_rows import ABOVE_700_000, carried_out, data, where

COLUMNS = 20
NAMES = [f"f{column}" for column in range(COLUMNS)]
IN_ALL = where("f0", "$eq", "x")


def wide(bench: MakeBench, *, rows: int, text: str, columns: int = COLUMNS) -> Bench:
    """A worksheet of long texts, whose first column is the same in all rows."""
    names = [f"f{column}" for column in range(columns)]
    return bench([names, *[["x", *[text] * (columns - 1)] for _ in range(rows)]], cache=KEPT)


def asked(bench: Bench) -> Sequence[str]:
    """Ranges of the last batch's answer, without the name of the worksheet."""
    return [each.rpartition("!")[2] for each in bench.sheets.batches[-1].ranges]


def sent_rows(bench: Bench) -> list[int]:
    changes = bench.sheets.batches[-1].changes
    return sorted({each.row for each in changes if isinstance(each, WrittenCells)})


async def test_a_write_by_filter_sends_8_mib_at_most(make_bench: MakeBench) -> None:
    """Fields times matched rows count; a larger write is refused, a smaller one is written."""
    rows, bytes_ = 100, planning.MAX_WRITTEN_BYTES
    bench = wide(make_bench, rows=rows, text="y", columns=4)
    before = data(bench)
    large = {"f1": "z" * 45_000, "f2": "z" * (bytes_ // rows - 45_000)}

    (end,) = await bench.together(Write.update_where(where=IN_ALL, fields=large, max_rows=rows))

    assert isinstance(end, WriteTooLarge)
    assert (end.outcome, end.retryable, data(bench) == before) == ("not_applied", False, True)
    assert bench.sheets.cost().writes == 0
    small = {"f1": "z" * 45_000, "f2": "z" * (bytes_ // rows - 45_010)}
    await carried_out(bench, Write.update_where(where=IN_ALL, fields=small, max_rows=rows))
    assert data(bench)[-1][2] == small["f2"]


@pytest.fixture
def most_cells() -> Iterator[int]:
    """A smaller limit of the cells that a write reads, for smaller worksheets."""
    assert looks.MAX_TARGET_CELLS == 500_000
    cells = 6_000
    with (
        patch.object(looks, "MAX_TARGET_CELLS", cells),
        patch.object(planning, "MAX_TARGET_CELLS", cells),
    ):
        yield cells


async def test_rows_of_one_request_have_500_000_cells_at_most(
    make_bench: MakeBench, most_cells: int
) -> None:
    """An update of a large list fails after its read; other updates are carried out."""
    bench = wide(make_bench, rows=32, text="y", columns=most_cells // 30)
    listed = Write.update_rows(rows=tuple((2 + at, {"f1": "new"}) for at in range(31)))
    single = Write.update(row=33, fields={"f1": "single"})

    ends = await bench.together(listed, single)

    assert isinstance(ends[0], WriteTooLarge)
    assert isinstance(ends[1], tuple)
    assert [row[1] for row in data(bench)] == ["y"] * 31 + ["single"]


async def test_updates_that_are_too_large_together_go_one_by_one(
    make_bench: MakeBench, most_cells: int
) -> None:
    """Each request is within the limit, so all are carried out one by one."""
    bench = wide(make_bench, rows=40, text="y", columns=most_cells // 30)
    halves = [
        Write.update_rows(rows=tuple((row, {"f1": f"new {row}"}) for row in rows))
        for rows in (range(2, 22), range(22, 42))
    ]

    ends = await bench.together(*halves)

    assert [type(end) for end in ends] == [tuple, tuple]
    assert [row[1] for row in data(bench)] == [f"new {row}" for row in range(2, 42)]


async def test_rows_that_a_filter_finds_have_500_000_cells_at_most(
    make_bench: MakeBench, most_cells: int
) -> None:
    """Updates, deletes and upserts get the same error."""
    columns = most_cells // 30
    names = [f"f{column}" for column in range(columns)]
    lines = [["x", f"k{at}", *["y"] * (columns - 2)] for at in range(31)]
    bench = make_bench([names, *lines], cache=KEPT)
    upsert = Write.upsert(keys=("f1",), rows=tuple({"f1": f"k{at}", "f2": "v"} for at in range(31)))
    before = data(bench)

    for write in (
        Write.update_where(where=IN_ALL, fields={"f1": "new"}, max_rows=100),
        Write.delete_where(where=IN_ALL, max_rows=100),
        upsert,
    ):
        (end,) = await bench.together(write)
        assert isinstance(end, WriteTooLarge)
    assert (data(bench), bench.sheets.cost().writes) == (before, 0)


async def test_what_is_asked_back(bench: Bench) -> None:
    """The answer shows changed rows completely, and the rows beside a removed one."""
    await bench.together(Write.update(row=2, fields={"state": "ma"}))
    assert asked(bench) == ["1:1", "2:2"]

    await bench.together(Write.update_rows(rows=((2, {"state": "MA"}), (3, {"name": "Aurora"}))))
    assert asked(bench) == ["1:1", "2:2", "3:3"]

    await bench.together(Write.update_where(where=ABOVE_700_000, fields={"name": "x"}, max_rows=9))
    assert asked(bench) == ["1:1", "3:3", "4:4"]

    await bench.together(Write.delete(row=3))
    assert asked(bench) == ["1:1", "A1:ZZZ6"]


async def test_a_create_does_not_ask_for_a_whole_wide_worksheet(make_bench: MakeBench) -> None:
    """If the end is unknown, it is read first, because the answer would be too large."""
    bench = wide(make_bench, rows=300, text="y", columns=400)
    bench.sheets.cost()

    assert await bench.create(f0="new") == 302

    assert asked(bench) == ["1:1", "A301:ZZZ"]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_large_answer_is_not_asked_for(make_bench: MakeBench) -> None:
    """A write by filter is answered without its rows, which are read for the next list."""
    rows = 60
    bench = wide(make_bench, rows=rows, text="y", columns=3)
    await bench.page()
    text = "z" * (batch.MAX_ASKED_BYTES // 2 // rows + 1)
    bench.sheets.cost()

    await carried_out(bench, Write.update_where(where=IN_ALL, fields={"f1": text}, max_rows=rows))

    assert asked(bench) == ["1:1"]
    assert sent_rows(bench) == [*range(2, 62)]
    assert {record["f1"] for record in (await bench.page()).records} == {text}


async def test_a_list_is_answered_by_its_written_cells(make_bench: MakeBench) -> None:
    """The answer leaves out long texts between written columns, which stay unchanged."""
    rows, text = 60, "y" * 3_000
    bench = wide(make_bench, rows=rows, text=text)
    await bench.page()
    update = Write.update_rows(
        rows=tuple((2 + row, {"f1": f"a{row}", "f19": f"b{row}"}) for row in range(rows))
    )

    records = await carried_out(bench, update)

    assert records[7] == {"rowIndex": 9, "f1": "a7", "f19": "b7"}
    assert asked(bench)[:3] == ["1:1", "B2:B2", "T2:T2"]
    bench.sheets.cost()
    assert (await bench.record(9)) == {
        **dict.fromkeys(NAMES, text), "rowIndex": 9, "f0": "x", "f1": "a7", "f19": "b7",
    }  # fmt: skip
    assert bench.sheets.cost() == Cost(0, 0)


async def test_the_tag_of_a_huge_row_is_not_claimed(make_bench: MakeBench) -> None:
    """The answer shows only the written cells; a read of the row returns its tag."""
    bench = wide(make_bench, rows=1, text="y" * 49_000, columns=30)

    written = await bench.updated(2, {"f1": "new"})

    assert isinstance(written, Written)
    assert (dict(written.record), written.tag) == ({"rowIndex": 2, "f1": "new"}, "")
    assert (await bench.read(2)).tag


async def test_a_write_that_google_refuses_for_its_size(bench: Bench) -> None:
    """A write that Google refuses for its size is not sent again."""
    bench.sheets.before("apply", WriteTooLarge("large", outcome="not_applied"))
    before = data(bench)

    (end,) = await bench.together(Write.update(row=2, fields={"name": "x"}))

    assert isinstance(end, WriteTooLarge)
    assert (bench.sheets.cost(), data(bench)) == (Cost(1, 1), before)


async def test_a_batch_that_google_refuses_for_its_size(bench: Bench) -> None:
    """The writes are sent one by one: only the one that is too large fails."""
    large = WriteTooLarge("large", outcome="not_applied")
    bench.sheets.before("apply", large)  # all three
    bench.sheets.before("apply", large, nth=3)  # the second of them

    ends = await bench.together(*(Write.update(row=row, fields={"name": "x"}) for row in (2, 3, 4)))

    assert [type(end) for end in ends] == [tuple, WriteTooLarge, tuple]
    assert [row[0] for row in data(bench)] == ["x", "Denver", "x"]
    assert bench.sheets.cost() == Cost(4, 4)


async def test_a_row_that_is_too_large_to_look_at(bench: Bench) -> None:
    """The update of a huge row fails; an update of another row is carried out."""
    for nth in (1, 2):  # together, then by itself
        bench.sheets.before("read_sheet", SheetTooLarge("large"), nth=nth)

    ends = await bench.together(*(Write.update(row=row, fields={"name": "x"}) for row in (2, 3)))

    assert [type(end) for end in ends] == [WriteTooLarge, tuple]
    assert isinstance(ends[0], WriteTooLarge)
    assert ends[0].outcome == "not_applied"
    assert [row[0] for row in data(bench)] == ["Boston", "x", "Austin"]


async def test_upserts_that_depend_on_each_other_are_matched_in_turn(bench: Bench) -> None:
    """An upsert that cannot share a batch is matched only in its turn."""
    count, matched = 12, 0
    original = planning._rows_of

    def counting(*args: Any, **options: Any) -> object:
        nonlocal matched
        matched += 1
        return original(*args, **options)

    upserts = [
        Write.upsert(keys=("name",), rows=({"name": f"new {at % 2}", "population": at},))
        if at % 2
        else Write.upsert(keys=("population",), rows=({"population": 1000 + at, "name": f"{at}"},))
        for at in range(count)
    ]
    with patch.object(planning, "_rows_of", counting):
        ends = await bench.together(*upserts)

    assert all(isinstance(end, tuple) for end in ends)
    assert matched < 3 * count
    assert len(data(bench)) > len(CITIES)


async def test_a_wrong_create_costs_no_look_at_a_fresh_header(bench: Bench) -> None:
    """A read is made only if a newer header may have the field."""
    await bench.look()

    with pytest.raises(InvalidBody):
        await bench.created({"name": "a", " name": "b"})
    assert bench.sheets.cost() == Cost(0, 0)

    with pytest.raises(InvalidBody):
        await bench.created({"name": "a", "mayor": "b"})
    assert bench.sheets.cost() == Cost(1, 0)
