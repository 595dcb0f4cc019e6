"""Refusals that contradict cached facts of a worksheet: one new try with new facts."""

from gateway.errors import RowNotRemovable
from gateway.worksheets.writes import Write
from tests.worksheets.conftest import Bench, MakeBench
from tests.worksheets.several_rows import where

LINES = [["name", "state"], ["Austin", "TX"], ["Boston", "MA"], ["Dallas", "TX"]]


async def emptied_behind_frozen_rows(make_bench: MakeBench) -> Bench:
    """A sheet whose first two rows a person froze after the gateway read it."""
    bench = make_bench(LINES, rows=4)
    await bench.look()
    bench.cities.frozen_rows = 2
    return bench


async def test_frozen_rows_that_people_changed(make_bench: MakeBench) -> None:
    """Google keeps one unfrozen row, so the last one is emptied instead of removed."""
    bench = await emptied_behind_frozen_rows(make_bench)

    (end,) = await bench.together(
        Write.delete_where(where=where("rowIndex", "$gte", 3), max_rows=9)
    )

    assert [each.row for each in end] == [3, 4]  # type: ignore[union-attr]
    assert bench.cities.lines() == [["name", "state"], ["Austin", "TX"]]


async def test_the_others_of_its_group_go_on(make_bench: MakeBench) -> None:
    """Other writes of the group succeed after a refusal for a wrong cached fact."""
    bench = await emptied_behind_frozen_rows(make_bench)

    ends = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9),
        Write.delete_where(where=where("name", "$eq", "Dallas"), max_rows=9),
    )

    assert [len(end) for end in ends] == [1, 1]  # type: ignore[arg-type]
    assert bench.cities.lines() == [["name", "state"], ["Austin", "TX"]]


async def test_a_refusal_after_a_new_look_stands(make_bench: MakeBench) -> None:
    """A refusal after a new read is the answer."""
    bench = make_bench(LINES)
    bench.cities.array_rows = {3, 4}

    (end,) = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9)
    )

    assert isinstance(end, RowNotRemovable)
    assert len(bench.sheets.batches) == 1
