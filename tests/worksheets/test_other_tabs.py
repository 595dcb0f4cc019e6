"""Two calls of one read while another tab takes the title: one tab's rows, or a new read."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.errors import (
    RowNotFound,
    RowNumberUnknown,
    SpreadsheetNotFound,
    UpstreamError,
    WriteOutcomeUnknown,
)
from gateway.query.query import Query, parse_where
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.writes import Write
from tests.fakes import FakeWorksheet, Held
from tests.worksheets.conftest import CITIES, KEPT, WORKSHEET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.several_rows import IN_TEXAS, carried_out, where

UNANSWERED = WriteOutcomeUnknown("no answer", outcome="unknown")
Lines = Sequence[Sequence[Held | None]]
OTHER: Lines = [CITIES[0], ["Salem", "OR", 1], ["Austin", "TX", 2]]
"""The other tab: Austin is in row 3, and row 4 is blank."""


class Tabs:
    """Two tabs, one of which has the title `Cities`."""

    def __init__(self, bench: Bench, lines: Lines = OTHER, *, rows: int = 100) -> None:
        self.old = bench.cities
        self.new = bench.fake.add("Next", lines, rows=rows)

    def swap(self) -> None:
        """Rename the first tab, and give its title to the other one."""
        self.old.title, self.new.title = "Archive", "Cities"

    def swap_again(self) -> None:
        """Give the title to the tab that does not have it."""
        self.old.title, self.new.title = self.new.title, self.old.title


def first_cells(worksheet: FakeWorksheet) -> list[object]:
    return [line[0] if line else "" for line in worksheet.lines()[1:]]


async def test_the_end_of_a_large_worksheet(make_bench: MakeBench) -> None:
    """A create reads the end of the tab whose header it read, or reads both again."""
    bench = make_bench(rows=5000)
    tabs = Tabs(bench, rows=5000)
    bench.sheets.before("read_columns", tabs.swap)

    assert await bench.create(name="Reno") == 4
    assert first_cells(tabs.new) == ["Salem", "Austin", "Reno"]
    assert first_cells(tabs.old) == ["Boston", "Denver", "Austin"]
    assert bench.sheets.cost() == Cost(4, 1)


async def test_rows_that_are_kept_are_of_the_new_tab(make_bench: MakeBench) -> None:
    """Rows of the new tab that a write read replace the cached rows of the old one."""
    bench = make_bench(cache=KEPT)
    tabs = Tabs(bench)
    await bench.look()
    tabs.swap()

    await carried_out(bench, Write.delete_where(where=IN_TEXAS, max_rows=9))

    assert await bench.names() == ["Salem"]
    assert first_cells(tabs.old) == ["Boston", "Denver", "Austin"]


async def test_equal_tabs_are_told_apart(make_bench: MakeBench) -> None:
    """Equal rows in both tabs do not hide that the tab has changed."""
    bench = make_bench(cache=KEPT)
    await bench.look()
    await bench.page()
    tabs = Tabs(bench, CITIES)
    tabs.swap()

    await carried_out(bench, Write.delete_where(where=IN_TEXAS, max_rows=9))

    assert first_cells(tabs.new) == ["Boston", "Denver"]
    assert first_cells(tabs.old) == ["Boston", "Denver", "Austin"]


async def test_a_spreadsheet_that_is_not_found_by_a_sheet_id(bench: Bench) -> None:
    """A 404 may mean a missing sheet ID, so the tab is searched by its title."""
    await bench.look()
    bench.sheets.before("read_columns", SpreadsheetNotFound())

    await carried_out(bench, Write.upsert(keys=("name",), rows=({"name": "Reno"},)))

    assert first_cells(bench.cities) == ["Boston", "Denver", "Austin", "Reno"]
    assert bench.sheets.cost() == Cost(5, 1)


async def test_tabs_that_swap_at_each_look(bench: Bench) -> None:
    """If the tabs swap at each read, nothing is written, and the error says so."""
    tabs = Tabs(bench)
    tabs.new.title = "Archive"
    for nth in range(1, 9):
        bench.sheets.before("read_columns", tabs.swap_again, nth=nth)

    with pytest.raises(UpstreamError) as caught:
        await carried_out(
            bench,
            Write.update_where(
                where=parse_where({"rowIndex": 2}), fields={"name": "Reno"}, max_rows=1
            ),
        )

    assert (caught.value.outcome, caught.value.retryable) == ("not_applied", True)
    assert "Reno" not in first_cells(tabs.old) + first_cells(tabs.new)
    assert bench.sheets.cost() == Cost(6, 0)


async def test_a_blank_row_that_is_slowly_looked_at(make_bench: MakeBench) -> None:
    """A read that is repeated after a second is compared with the rows below, too."""
    bench = make_bench([*CITIES, [], ["Waco"]])
    tabs = Tabs(bench)
    bench.sheets.after("read_columns", lambda: bench.clock.advance(2), tabs.swap)

    with pytest.raises(RowNotFound):
        await bench.updated(5, {"name": "X"})

    assert first_cells(tabs.new) == ["Salem", "Austin"]
    assert first_cells(tabs.old) == ["Boston", "Denver", "Austin", "", "Waco"]


async def test_rows_past_the_grid_of_another_tab(bench: Bench) -> None:
    """The grid size is that of the tab whose rows were read."""
    tabs = Tabs(bench, rows=3)
    tabs.swap()
    bench.sheets.after("list_worksheets", tabs.swap_again, nth=2)

    ends = await bench.together(*(Write.update(row=row, fields={"state": "X"}) for row in (2, 4)))

    assert [type(end) for end in ends] == [tuple, tuple]
    assert [line[1] for line in tabs.old.lines()[1:]] == ["X", "CO", "X"]


async def test_a_write_under_the_old_title_lands_after_the_look(bench: Bench) -> None:
    """A write under the new title reads again, because rows moved since its first read."""
    gate, landed = asyncio.Event(), asyncio.Event()
    bench.sheets.before("apply", gate)
    bench.sheets.after("apply", landed.set)
    under_old = asyncio.ensure_future(bench.together(Write.delete(row=2)))
    await bench.sheets.begun("apply")
    bench.cities.title = "Towns"
    bench.fake.add("Cities", OTHER, rows=100)
    towns = Target(WorksheetId(WORKSHEET.spreadsheet, "Towns"))
    bench.sheets.after("read_columns", lambda: bench.clock.advance(0.1), gate.set, landed, nth=2)

    await bench.service.write(
        towns, Write.delete_where(where=where("name", "$eq", "Denver"), max_rows=9)
    )

    assert first_cells(bench.cities) == ["Austin"]
    assert [type(end) for end in await under_old] == [UpstreamError]


async def test_a_removal_that_google_refuses_after_the_title_went_away(bench: Bench) -> None:
    """The refusal is about another tab: the tab with the title is read."""
    tabs = Tabs(bench)

    def swap() -> None:
        tabs.swap()
        tabs.old.array_rows.add(3)

    bench.sheets.before("apply", swap)

    await carried_out(bench, Write.delete(row=3))

    assert first_cells(tabs.new) == ["Salem"]
    assert first_cells(tabs.old) == ["Boston", "Denver", "Austin"]
    assert bench.sheets.count("apply") == 2


async def test_a_removal_that_google_refuses_after_the_grid_shrank(make_bench: MakeBench) -> None:
    """A person removed the other rows: the last row is emptied."""
    bench = make_bench(rows=4)
    bench.cities.frozen_rows = 1

    def shrink() -> None:
        bench.cities.delete_rows(3, 2)
        bench.cities.rows = 2

    bench.sheets.before("apply", shrink)

    await carried_out(bench, Write.delete(row=2))

    assert first_cells(bench.cities) == []
    assert bench.sheets.count("apply") == 2


async def test_a_key_is_created_under_the_old_title_during_a_slow_look(bench: Bench) -> None:
    """An upsert under the new title reads all rows again, although it read its rows just before."""
    gate, landed = asyncio.Event(), asyncio.Event()
    bench.sheets.before("apply", gate)
    bench.sheets.after("apply", landed.set)
    under_old = asyncio.ensure_future(bench.together(Write.create(rows=({"name": "Reno"},))))
    await bench.sheets.begun("apply")
    bench.cities.title = "Towns"
    bench.fake.add("Cities", OTHER, rows=100)
    towns = Target(WorksheetId(WORKSHEET.spreadsheet, "Towns"))
    bench.sheets.after("read_columns", lambda: bench.clock.advance(2), gate.set, landed, nth=1)

    await bench.service.write(
        towns, Write.upsert(keys=("name",), rows=({"name": "Reno", "state": "NV"},))
    )
    await under_old

    assert first_cells(bench.cities).count("Reno") == 1


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(OTHER, ["Salem", "Austin"], id="it ends"),
        pytest.param([*OTHER, *[["x"]] * 9], ["Salem", "Austin", "x", "x"], id="it goes on"),
    ],
)
async def test_a_page_at_the_end_of_a_large_worksheet(
    make_bench: MakeBench, lines: Lines, expected: list[str]
) -> None:
    """The page's rows and its next page are those of one tab."""
    bench = make_bench(cache={**KEPT, "window_above_cells": 5})
    await bench.page()
    bench.clock.advance(10.0)
    bench.sheets.cost()
    bench.sheets.before("read_ranges", Tabs(bench, lines).swap, nth=2)
    page = await bench.page(Query(limit=4))

    assert [record["name"] for record in page.records] == expected
    assert page.has_next == (len(expected) == 4)
    assert bench.sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize("rows", [4, 5, 6], ids=lambda rows: f"grid of {rows} rows")
async def test_a_page_at_the_end_of_the_grid(make_bench: MakeBench, rows: int) -> None:
    """A page costs at most 2 reads, wherever the grid ends."""
    bench = make_bench(rows=rows, cache={**KEPT, "window_above_cells": 5})
    await bench.page()
    bench.clock.advance(10.0)
    bench.sheets.cost()

    page = await bench.page(Query(limit=3))

    assert (len(page.records), page.has_next) == (3, False)
    assert bench.sheets.cost().reads <= 2


async def test_a_lost_answer(bench: Bench) -> None:
    """An equal row of another tab does not count as the written row."""
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("fence_tokens", Tabs(bench, [*CITIES, ["Reno"]]).swap)

    with pytest.raises(RowNumberUnknown):
        await bench.create(name="Reno")

    assert first_cells(bench.cities)[3:] == ["Reno"]


async def test_a_lost_answer_of_an_update(bench: Bench) -> None:
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("fence_tokens", Tabs(bench, [CITIES[0], ["Reno", "MA"]]).swap)

    with pytest.raises(RowNumberUnknown):
        await bench.updated(2, {"name": "Reno"})

    assert first_cells(bench.cities)[0] == "Reno"
