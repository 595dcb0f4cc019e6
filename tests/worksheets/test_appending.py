"""Where created rows land, and that their answers say so."""

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import pytest

from gateway.errors import QuotaSpent, UpstreamError, UpstreamRefusal, WriteOutcomeUnknown
from gateway.google.sheets import Values
from gateway.table.record import Stored
from gateway.worksheets.appending import GROWTH_ROWS
from gateway.worksheets.writes import Create
from tests.fakes import Held
from tests.worksheets.conftest import CITIES, Bench, MakeBench
from tests.worksheets.scripted_sheets import Answer, Cost

HEADER = CITIES[0]


@pytest.mark.parametrize(
    ("lines", "rows", "expected", "cost"),
    [
        pytest.param(CITIES, 100, 5, Cost(1, 1), id="room-below"),
        pytest.param(CITIES, 0, 5, Cost(1, 1), id="full-grid"),
        pytest.param([HEADER], 100, 2, Cost(1, 1), id="header-only"),
        pytest.param([HEADER], 0, 2, Cost(1, 1), id="header-only-full-grid"),
        pytest.param([HEADER, ["x"], [], ["y"]], 100, 5, Cost(1, 1), id="blank-row-inside"),
        pytest.param([HEADER, ["x"], [], ["y"]], 0, 5, Cost(1, 1), id="blank-row-full-grid"),
        pytest.param([HEADER, ["x"], [], [], ["total"]], 9, 6, Cost(1, 1), id="totals-row"),
        pytest.param([HEADER, ["x"], [None, None, 9]], 9, 4, Cost(1, 1), id="last-starts-blank"),
        pytest.param(
            [HEADER, ["x"], [None, None, 9]], 0, 4, Cost(2, 2), id="last-starts-blank-full-grid"
        ),
        pytest.param([HEADER, *[[None, "s"]] * 3], 9, 5, Cost(1, 1), id="all-start-blank"),
        pytest.param([HEADER, ["x"], ["", ""], [""]], 0, 3, Cost(1, 1), id="blank-rows-at-end"),
    ],
)
async def test_row_lands_below_the_last(
    make_bench: MakeBench,
    lines: Sequence[Sequence[Held | None]],
    rows: int,
    expected: int,
    cost: Cost,
) -> None:
    """A new row lands below every row that is not blank, and moves none of them."""
    bench = make_bench(lines, rows=rows)
    before = bench.cities.lines()

    row = await bench.create(name="Reno", state="NV", population=264165)

    assert row == expected
    blank: list[list[object]] = [[]] * (row - 1 - len(before))
    assert bench.cities.lines() == [*before, *blank, ["Reno", "NV", "264165"]]
    assert bench.sheets.cost() == cost


@pytest.mark.parametrize(
    ("header", "fields", "line"),
    [
        pytest.param(["", "b", "c"], {"b": 1, "c": 2}, ["", "1", "2"], id="first-blank"),
        pytest.param(["a", "", "c"], {"c": 2, "a": 1}, ["1", "", "2"], id="middle-blank"),
        pytest.param(["a", "b", "a"], {"a": 1}, ["1"], id="duplicate"),
        pytest.param(["a", " b "], {"b": True}, ["", "TRUE"], id="trimmed-name"),
        pytest.param(["rowIndex", "b"], {"b": 1}, ["", "1"], id="column-called-rowIndex"),
    ],
)
@pytest.mark.parametrize("rows", [1, 9], ids=["full-grid", "room-below"])
async def test_values_stand_under_their_headers(
    make_bench: MakeBench,
    header: Sequence[str],
    fields: Mapping[str, Stored],
    line: Sequence[str],
    rows: int,
) -> None:
    """Odd headers never move a value to another column."""
    bench = make_bench([header], rows=rows)

    written = await bench.created(fields)

    assert written.row == 2
    assert bench.cities.lines()[1:] == [line]


async def test_answer_shows_what_the_sheet_displays(bench: Bench) -> None:
    """The answer has the sent fields in sheet order, as text, an empty one as null."""
    written = await bench.created({"population": 1.0, "name": None, " state ": "=1+2"})

    assert list(written.record.items()) == [
        ("rowIndex", 5),
        ("name", None),
        ("state", "=1+2"),
        ("population", "1"),
    ]


async def test_echo_without_skipped_cells(bench: Bench) -> None:
    """An echo that leaves skipped cells at its start out is understood as well."""
    echo = Values(range="Cities!C5:C5", cells=(("9",),))
    bench.sheets.after("append_rows", Answer(echo))

    written = await bench.created({"name": None, "state": "", "population": 9})

    assert written.record == {"rowIndex": 5, "name": None, "state": None, "population": "9"}


async def test_growing_stays_rare(make_bench: MakeBench) -> None:
    """A grid that had to grow has room for the rows that follow, also if they start blank."""
    bench = make_bench([HEADER, [None, "MA"]], rows=0)
    await bench.create(state="CO")
    bench.sheets.cost()

    rows = [await bench.create(state="TX") for _ in range(3)]

    assert rows == [4, 5, 6]
    assert bench.sheets.cost() == Cost(0, 3)
    assert bench.sheets.count("grow_grid") == 1
    assert bench.cities.rows >= 2 + GROWTH_ROWS


async def test_own_row_may_start_blank(make_bench: MakeBench) -> None:
    """A created row that begins with a blank and fills the grid is no anchor for the next."""
    bench = make_bench(rows=0)

    rows = [await bench.create(state="NV"), await bench.create(name="Salem")]

    assert rows == [5, 6]
    assert bench.cities.lines()[4:] == [["", "NV"], ["Salem"]]
    assert bench.sheets.cost() == Cost(2, 3)


async def test_last_row_of_a_list_may_start_blank(make_bench: MakeBench) -> None:
    """The last of several rows says whether the grid must grow for the next, not the first."""
    bench = make_bench(rows=0)
    await bench.together(Create(rows=({"name": "Reno"}, {"state": "NV"}), is_array=True))

    row = await bench.create(state="OR")

    assert row == 7
    assert bench.cities.lines()[4:] == [["Reno"], ["", "NV"], ["", "OR"]]


async def test_growth_that_stays_open_writes_nothing(make_bench: MakeBench) -> None:
    """If Google leaves open whether the grid grew, the row surely was not written."""
    bench = make_bench([HEADER, [None, "MA"]], rows=0)
    bench.sheets.after("grow_grid", WriteOutcomeUnknown("?", outcome="unknown"))

    with pytest.raises(UpstreamError) as caught:
        await bench.create(state="CO")

    assert caught.value.outcome == "not_applied"
    assert bench.sheets.count("append_rows") == 0
    assert await bench.create(state="CO") == 3


async def test_nothing_is_answered_before_google(bench: Bench) -> None:
    """A create waits for Google's answer, though the row may be there already."""
    gate = asyncio.Event()
    bench.sheets.after("append_rows", gate)

    create = asyncio.create_task(bench.create(name="Reno"))
    await bench.sheets.begun("append_rows")
    is_early = create.done()
    gate.set()

    assert not is_early
    assert await create == 5


@pytest.mark.parametrize(
    ("echo", "is_logged"),
    [
        pytest.param("Cities!A4:A4", True, id="not-below"),
        pytest.param("Cities!B5:B5", True, id="other-column"),
        pytest.param("Cities!A5:B5", True, id="too-wide"),
        pytest.param("Cities!A5:A6", True, id="two-rows"),
        pytest.param("cities!A5", False, id="renamed"),
        pytest.param("Cities!A:A", False, id="unreadable"),
    ],
)
async def test_odd_echo(
    bench: Bench, events: list[MutableMapping[str, Any]], echo: str, is_logged: bool
) -> None:
    """A row that Google put elsewhere is said to be applied, logged, and not sent again."""
    bench.sheets.after("append_rows", Answer(Values(range=echo, cells=(("Reno",),))))

    with pytest.raises(UpstreamError) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "applied"
    assert bench.sheets.cost() == Cost(1, 1)
    assert [event["event"] for event in events] == ["misplaced-write"] * is_logged
    assert await bench.create(name="Salem") == 6
    assert bench.sheets.cost() == Cost(1, 1)


async def test_failed_append_is_told(bench: Bench) -> None:
    """An error of Google's comes out as it is, and the next create succeeds."""
    bench.sheets.before("append_rows", QuotaSpent("later", outcome="not_applied"))

    with pytest.raises(QuotaSpent):
        await bench.create(name="Reno")

    assert bench.sheets.cost() == Cost(1, 1)
    assert await bench.create(name="Reno") == 5


async def test_failed_look_sends_nothing(bench: Bench) -> None:
    """If the look fails, nothing is written."""
    bench.sheets.before("read_columns", QuotaSpent("later"))

    with pytest.raises(QuotaSpent):
        await bench.create(name="Reno")

    assert bench.sheets.cost() == Cost(1, 0)


async def test_unexplained_refusal_is_tried_once_more(bench: Bench) -> None:
    """A refusal that only an old look may explain is tried again after a new one, then told."""
    await bench.page()
    bench.sheets.cost()
    bench.sheets.before("append_rows", UpstreamRefusal("Ungültig"))
    bench.sheets.before("append_rows", UpstreamRefusal("Ungültig"), nth=2)

    with pytest.raises(UpstreamRefusal) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "not_applied"
    assert bench.sheets.cost() == Cost(3, 2)
