"""Upserts: rows, results and costs."""

from collections.abc import Sequence

from gateway.worksheets.writes import Fields, Write
from tests.fakes import Formatted
from tests.worksheets.conftest import (
    Bench,
    MakeBench,
)
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.several_rows import (
    carried_out,
    data,
    numbers_of,
)


async def test_a_nightly_list_is_one_write(make_bench: MakeBench) -> None:
    """400 rows, 100 of them new, cost 2 reads and 1 write, once the sheet ID is known."""
    bench = make_bench([["sku", "price"], *([f"sku {n}", n] for n in range(300))])
    await bench.updated(2, {"price": 0})
    bench.sheets.cost()
    rows: tuple[Fields, ...] = tuple({"sku": f"sku {n}", "price": n + 1} for n in range(400))

    ends = await carried_out(bench, Write.upsert(keys=("sku",), rows=rows, is_array=True))

    assert [end["created"] for end in ends] == [False] * 300 + [True] * 100
    assert data(bench) == [[f"sku {n}", str(n + 1)] for n in range(400)]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_numbers_are_keys_by_their_value(make_bench: MakeBench) -> None:
    """Texts are keys as they are; a number also matches the text of its plain notation."""
    bench = make_bench([["sku", "price"], [7, 1], ["007", 2], ["7.5", 3]])
    rows: tuple[Fields, ...] = (
        {"sku": 7, "price": 10},
        {"sku": "007", "price": 20},
        {"sku": 7.5, "price": 30},
    )

    ends = await carried_out(bench, Write.upsert(keys=("sku",), rows=rows))
    assert [(end["rowIndex"], end["created"]) for end in ends] == [
        (2, False),
        (3, False),
        (4, False),
    ]


async def test_upserts_of_one_new_key_make_one_row(bench: Bench) -> None:
    rows = ({"name": "Reno", "state": "NV"},)
    ends = await bench.together(*[Write.upsert(keys=("name",), rows=rows)] * 5)

    assert [numbers_of(end) for end in ends] == [[5]] * 5
    assert [each.record["created"] for end in ends if isinstance(end, tuple) for each in end] == [
        True,
        *[False] * 4,
    ]
    assert len(data(bench)) == 4


async def test_upserts_of_different_new_keys_share_a_write(bench: Bench) -> None:
    await bench.look()
    upserts = [Write.upsert(keys=("name",), rows=({"name": f"new {n}"},)) for n in range(5)]
    ends = await bench.together(*upserts)

    assert [numbers_of(end) for end in ends] == [[row] for row in range(5, 10)]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_an_upsert_waits_for_a_new_cell_that_may_display_its_key(
    make_bench: MakeBench,
) -> None:
    """In a column of formatted numbers an upsert waits for a new row that may have its key."""
    bench = make_bench([["price"], [Formatted(7, "$7.00")]])
    await bench.look()
    rows: Sequence[Fields] = [{"price": 5}, {"price": "$5.00"}, {"price": "$6.00"}]
    ends = await bench.together(*(Write.upsert(keys=("price",), rows=(row,)) for row in rows))

    assert sorted(number for end in ends for number in numbers_of(end)) == [3, 4, 5]
    assert numbers_of(ends[1]) == [5]
    assert bench.sheets.cost().writes == 2


async def test_upserts_of_existing_rows_share_a_write(bench: Bench) -> None:
    """Upserts of existing rows share a batch, because their keys stay unchanged."""
    await bench.look()
    rows: tuple[Fields, ...] = ({"name": "Boston", "state": "x"}, {"name": "Denver", "state": "x"})
    ends = await bench.together(*(Write.upsert(keys=("name",), rows=(row,)) for row in rows))

    assert not [end for end in ends if isinstance(end, BaseException)]
    assert [line[1] for line in data(bench)] == ["x", "x", "TX"]
    assert bench.sheets.cost() == Cost(2, 1)
