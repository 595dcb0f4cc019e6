"""Refusals that contradict what was cached of a worksheet: it is dropped, and tried once more."""

from gateway.errors import RowNotRemovable
from gateway.worksheets.writes import Write
from tests.worksheets.conftest import Bench, MakeBench
from tests.worksheets.several_rows import where

LINES = [["name", "state"], ["Austin", "TX"], ["Boston", "MA"], ["Dallas", "TX"]]


async def emptied_behind_frozen_rows(make_bench: MakeBench) -> Bench:
    """A sheet whose first two rows a person froze after the gateway had looked at them."""
    bench = make_bench(LINES, rows=4)
    await bench.look()
    bench.cities.frozen_rows = 2
    return bench


async def test_frozen_rows_that_people_changed(make_bench: MakeBench) -> None:
    """Google keeps one row that is not frozen: the last one is emptied, not removed."""
    bench = await emptied_behind_frozen_rows(make_bench)

    (end,) = await bench.together(
        Write.delete_where(where=where("rowIndex", "$gte", 3), max_rows=9)
    )

    assert [each.row for each in end] == [3, 4]  # type: ignore[union-attr]
    assert bench.cities.lines() == [["name", "state"], ["Austin", "TX"]]


async def test_the_others_of_its_group_go_on(make_bench: MakeBench) -> None:
    """A refusal for a cached fact costs none of the writes that went together."""
    bench = await emptied_behind_frozen_rows(make_bench)

    ends = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9),
        Write.delete_where(where=where("name", "$eq", "Dallas"), max_rows=9),
    )

    assert [len(end) for end in ends] == [1, 1]  # type: ignore[arg-type]
    assert bench.cities.lines() == [["name", "state"], ["Austin", "TX"]]


async def test_a_refusal_after_a_new_look_stands(make_bench: MakeBench) -> None:
    """What Google refuses without any cached fact is the answer."""
    bench = make_bench(LINES)
    bench.cities.array_rows = {3, 4}

    (end,) = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9)
    )

    assert isinstance(end, RowNotRemovable)
    assert len(bench.sheets.batches) == 1
