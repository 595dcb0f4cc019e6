"""Row numbers of created rows, and their answers."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.errors import QuotaSpent, UpstreamRefusal
from gateway.worksheets.writes import Write
from tests.fakes import Held
from tests.worksheets.conftest import CITIES, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

HEADER = CITIES[0]


@pytest.mark.parametrize(
    ("lines", "rows", "expected"),
    [
        pytest.param(CITIES, 100, 5, id="room-below"),
        pytest.param(CITIES, 0, 5, id="full-grid"),
        pytest.param([HEADER], 100, 2, id="header-only"),
        pytest.param([HEADER], 0, 2, id="header-only-full-grid"),
        pytest.param([HEADER, ["x"], [], ["y"]], 100, 5, id="blank-row-inside"),
        pytest.param([HEADER, ["x"], [], ["y"]], 0, 5, id="blank-row-full-grid"),
        pytest.param([HEADER, ["x"], [], [], ["total"]], 9, 6, id="totals-row"),
        pytest.param([HEADER, ["x"], [None, None, 9]], 9, 4, id="last-starts-blank"),
        pytest.param([HEADER, ["x"], [None, None, 9]], 0, 4, id="last-starts-blank-full-grid"),
        pytest.param([HEADER, *[[None, "s"]] * 3], 9, 5, id="all-start-blank"),
        pytest.param([HEADER, ["x"], ["", ""], [""]], 0, 3, id="blank-rows-at-end"),
    ],
)
async def test_row_lands_below_the_last(
    make_bench: MakeBench,
    lines: Sequence[Sequence[Held | None]],
    rows: int,
    expected: int,
) -> None:
    """A new row is below every row that is not blank, and moves no row."""
    bench = make_bench(lines, rows=rows)
    before = bench.cities.lines()

    row = await bench.create(name="Reno", state="NV", population=264165)

    assert row == expected
    blank: list[list[object]] = [[]] * (row - 1 - len(before))
    assert bench.cities.lines() == [*before, *blank, ["Reno", "NV", "264165"]]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_own_row_may_start_blank(make_bench: MakeBench) -> None:
    """The next row goes below a created row whose first cell is blank, also in a full grid."""
    bench = make_bench(rows=0)

    rows = [await bench.create(state="NV"), await bench.create(name="Salem")]

    assert rows == [5, 6]
    assert bench.cities.lines()[4:] == [["", "NV"], ["Salem"]]
    assert bench.sheets.cost() == Cost(1, 2)


async def test_last_row_of_a_list_may_start_blank(make_bench: MakeBench) -> None:
    """The next row goes below a created list of rows whose last row begins with a blank."""
    bench = make_bench(rows=0)
    await bench.together(Write.create(rows=({"name": "Reno"}, {"state": "NV"}), is_array=True))

    row = await bench.create(state="OR")

    assert row == 7
    assert bench.cities.lines()[4:] == [["Reno"], ["", "NV"], ["", "OR"]]


async def test_nothing_is_answered_before_google(bench: Bench) -> None:
    """A create waits for Google's answer, although the row may be in the sheet already."""
    gate = asyncio.Event()
    bench.sheets.after("apply", gate)

    create = asyncio.create_task(bench.create(name="Reno"))
    await bench.sheets.begun("apply")
    is_early = create.done()
    gate.set()

    assert not is_early
    assert await create == 5


async def test_failed_append_is_told(bench: Bench) -> None:
    """The client gets Google's error unchanged, and the next create succeeds."""
    bench.sheets.before("apply", QuotaSpent("later", outcome="not_applied"))

    with pytest.raises(QuotaSpent):
        await bench.create(name="Reno")

    assert bench.sheets.cost() == Cost(1, 1)
    assert await bench.create(name="Reno") == 5


async def test_failed_look_sends_nothing(bench: Bench) -> None:
    """If the read of the end fails, nothing is written."""
    bench.sheets.before("read_sheet", QuotaSpent("later"))

    with pytest.raises(QuotaSpent):
        await bench.create(name="Reno")

    assert bench.sheets.cost() == Cost(1, 0)


async def test_unexplained_refusal_is_tried_once_more(bench: Bench) -> None:
    """A refusal that an old read might explain is tried once more after a new read."""
    await bench.create(name="Salem")
    bench.sheets.cost()
    refusal = UpstreamRefusal("Invalid requests[1].appendCells: Ungültig")
    bench.sheets.before("apply", refusal)
    bench.sheets.before("apply", refusal, nth=2)

    with pytest.raises(UpstreamRefusal) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "not_applied"
    assert bench.sheets.cost() == Cost(3, 2)
