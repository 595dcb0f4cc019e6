"""Cached rows after removals: no new read, and the same rows as a new read would show."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest

from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.header import parse_header
from gateway.table.steps import finish
from gateway.table.table import RowPatch, make_table
from gateway.worksheets.answers import Encodings
from gateway.worksheets.snapshot import Effect, Origin, RowSpan, Snapshot, Window
from gateway.worksheets.writes import Results, Write
from tests.query.sheet import evaluate
from tests.worksheets.conftest import KEPT, TARGET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

FIRST_TWO = Query(limit=2)
BY_NAME = Query(order=(SortTerm("name"),))
IN_TEXAS = Query(where=parse_where({"state": "TX"}))
LARGE = Query(where=parse_where({"population": {"$gt": 700_000}}), wants_total=True)

HEADER = parse_header(["name", "n"])
READ = Origin(began_seconds=0.0, byte_count=0, digest=b"read")
SPANS = [RowSpan(first, count) for first in (2, 3, 5, 8, 30) for count in (1, 3, 10, 100)]

Rows = list[list[str]]


async def delete(bench: Bench, row: int) -> Results:
    return (await bench.service.write(TARGET, Write.delete(row=row))).results


@pytest.fixture
def large(make_bench: MakeBench) -> Bench:
    """Three cities in a worksheet that is read in windows."""
    return make_bench(cache={**KEPT, "window_above_cells": 5})


async def test_searches_follow_without_a_read(kept: Bench) -> None:
    """Orders, filters, totals and single rows are those of the remaining rows."""
    for query in (BY_NAME, IN_TEXAS, LARGE):
        await kept.page(query)
    kept.sheets.cost()
    await delete(kept, 2)

    assert await kept.names(BY_NAME) == ["Austin", "Denver"]
    assert await kept.names(IN_TEXAS) == ["Austin"]
    assert (await kept.page(LARGE)).total == 2
    assert (await kept.record(3))["name"] == "Austin"
    assert kept.sheets.cost() == Cost(1, 1)


async def test_writes_after_a_delete_follow_too(kept: Bench) -> None:
    """Rows that moved up are updated at their new numbers; a created row is below them."""
    await kept.page(BY_NAME)
    await kept.look()
    await delete(kept, 3)
    await delete(kept, 2)
    kept.sheets.cost()

    assert await kept.create(name="Reno", population=5) == 3
    await kept.updated(2, {"name": "Zwolle"})
    assert await kept.names(BY_NAME) == ["Reno", "Zwolle"]
    assert await kept.names(LARGE) == ["Zwolle"]
    assert kept.sheets.cost() == Cost(1, 2)


@pytest.mark.parametrize("is_large", [False, True], ids=["all rows", "a window"])
async def test_rows_read_while_a_delete_is_sent_lose_it_once(
    make_bench: MakeBench, is_large: bool
) -> None:
    """Rows read during a delete may or may not contain it, so they are read again."""
    cache = {**KEPT, "window_above_cells": 1} if is_large else KEPT
    bench = make_bench([["name"], *[["same"]] * 4], cache=cache)
    await bench.page()
    gate = asyncio.Event()
    bench.sheets.after("apply", gate)
    deleting = asyncio.create_task(delete(bench, 3))
    await bench.sheets.begun("apply")
    assert len((await bench.page(no_cache=True)).records) == 3
    gate.set()
    await deleting

    assert len((await bench.page()).records) == 3


@pytest.mark.parametrize("query", [Query(), BY_NAME], ids=["list", "order"])
async def test_a_read_that_ran_meanwhile_is_repeated(kept: Bench, query: Query) -> None:
    """It is unknown which rows the read saw, so the read is repeated."""
    gate = asyncio.Event()
    kept.sheets.after("read_columns", gate)
    early = asyncio.create_task(kept.names(query))
    await kept.sheets.begun("read_columns")
    await delete(kept, 2)
    gate.set()

    assert {*await early} == {"Austin", "Denver"}
    assert {*await kept.names(query)} == {"Austin", "Denver"}


async def test_a_window_that_was_read_meanwhile_is_read_again(large: Bench) -> None:
    """The window may show the rows before or after the removal, so it is read again."""
    await large.page()
    large.clock.advance(10.0)
    gate = asyncio.Event()
    large.sheets.after("read_ranges", gate)
    early = asyncio.create_task(large.names(FIRST_TWO))
    await large.sheets.begun("read_ranges")
    await delete(large, 2)
    gate.set()

    assert await early == ["Denver", "Austin"]


async def test_the_end_that_a_read_saw_before_a_removal_is_unknown(kept: Bench) -> None:
    """A row created while that read is repeated is found at the first attempt."""
    first, second = asyncio.Event(), asyncio.Event()
    kept.sheets.after("read_columns", first)
    early = asyncio.create_task(kept.names())
    await kept.sheets.begun("read_columns")
    await kept.together(Write.delete(row=2), Write.delete(row=3))
    kept.sheets.after("read_columns", second)
    first.set()
    await kept.sheets.begun("read_columns", 2)
    kept.sheets.cost()

    assert await kept.create(name="Reno") == 3
    assert kept.sheets.cost() == Cost(1, 1)
    second.set()
    assert await early == ["Austin", "Reno"]


async def test_windows_with_the_end_follow_without_a_read(large: Bench) -> None:
    """No row follows the last page, so all rows that move into it are known."""
    await large.page()
    large.clock.advance(10.0)
    everything = Query(limit=5)
    await large.names(everything)
    large.sheets.cost()
    await delete(large, 3)

    assert await large.names(everything) == ["Boston", "Austin"]
    assert large.sheets.cost() == Cost(1, 1)
    await large.names(FIRST_TWO)
    await delete(large, 2)
    assert await large.names(FIRST_TWO) == ["Austin"]


def test_many_rows_may_go() -> None:
    """The remaining rows stay cached, however many rows were removed."""
    snapshot = snapshot_of([["a", "1"] for _ in range(4_000)])
    rows = range(2, 3_002)
    effect = Effect(header=HEADER, removed=rows, before=dict.fromkeys(rows, ("a", "1")))

    left = finish(snapshot.changed(effect))

    assert left is not None
    assert left.table.last_row == 1_001


@pytest.mark.parametrize("seed", range(100))
def test_any_series_of_writes_leaves_what_a_read_would_show(seed: int) -> None:
    """All cached rows and windows equal the cells of the sheet."""
    random = Random(seed)  # noqa: S311
    rows: Rows = [
        [random.choice("abc"), random.choice("012")] for _ in range(random.randint(1, 12))
    ]
    snapshot: Snapshot | None = snapshot_of(rows)
    for _ in range(12):
        windows = [window_of(rows, span) for span in SPANS]
        effect, after = make_effect(rows, random)
        snapshot = snapshot and finish(snapshot.changed(effect))
        check_snapshot(snapshot, after)
        for window in windows:
            changed = window.changed(effect)
            if changed is not None:
                fresh = window_of(after, window.span)
                assert (trimmed(changed.rows), changed.has_next) == (fresh.rows, fresh.has_next)
            elif effect.removed:
                assert window.has_next
        rows = after


def make_effect(rows: Rows, random: Random) -> tuple[Effect, Rows]:
    """A random write, and the rows after it."""
    numbers = range(2, len(rows) + 2)
    kind = random.choice(("remove", "remove", "update", "create")) if rows else "create"
    if kind == "remove":
        removed = sorted(random.sample(numbers, random.randint(1, min(3, len(rows)))))
        before = {row: rows[row - 2] for row in removed}
        after = [row for number, row in enumerate(rows, 2) if number not in before]
        while after and not any(after[-1]):
            after.pop()
        effect = Effect(
            header=HEADER,
            before=before,
            removed=removed,
            last_row=random.choice((0, len(after) + 1)),
        )
        return effect, after
    row, texts = len(rows) + 2, {0: random.choice("abc"), 1: random.choice("012")}
    before = {}
    if kind == "update":
        row = random.choice(numbers)
        before = {row: rows[row - 2]}
        texts = random.choice((texts, {1: "7"}, {0: "", 1: ""} if row != numbers[-1] else {0: "x"}))
    patch = RowPatch(row=row, texts=texts, values={**texts})
    after = [*rows, *([["", ""]] if kind == "create" else [])]
    after[row - 2] = [texts.get(at, text) for at, text in enumerate(after[row - 2])]
    return Effect(header=HEADER, rows=[patch], before=before, last_row=len(after) + 1), after


def columns_of(rows: Rows) -> tuple[tuple[str, ...], ...]:
    """Columns as Google returns them: without trailing blank cells."""
    columns = [[name, *(row[at] for row in rows)] for at, name in enumerate(HEADER.cells)]
    for column in columns:
        while column[-1] == "":
            column.pop()
    return tuple(map(tuple, columns))


def snapshot_of(rows: Rows) -> Snapshot:
    table = make_table(columns_of(rows))
    return Snapshot(
        table=finish(table.with_typed(columns_of(rows))),
        grid_rows=100,
        displayed=READ,
        typed=READ,
        encodings=Encodings(table, 0),
    )


def check_snapshot(snapshot: Snapshot | None, rows: Rows) -> None:
    assert snapshot is not None
    fresh = snapshot_of(rows)
    table = snapshot.table
    assert table.last_row == fresh.table.last_row
    shown = [[table.text(row, at) for at in (0, 1)] for row in range(2, table.last_row + 1)]
    assert shown == rows
    assert snapshot.displays_as(fresh)
    assert fresh.displays_as(snapshot)
    assert table.typed == fresh.table.typed
    assert not fresh.lags(snapshot)
    for query in (BY_NAME, Query(where=parse_where({"n": "1"}), wants_total=True)):
        page, expected = evaluate(table, query), evaluate(fresh.table, query)
        assert (page.places, page.total) == (expected.places, expected.total)


def window_of(rows: Rows, span: RowSpan) -> Window:
    end = span.first_row - 2 + span.row_count
    return Window(
        span=span,
        header=HEADER,
        rows=trimmed(rows[span.first_row - 2 : end]),
        has_next=len(rows) > end,
        read_seconds=0.0,
    )


def trimmed(rows: Sequence[Sequence[str]]) -> Rows:
    """Rows as lists, without trailing blank cells."""
    return [[*"|".join(row).rstrip("|").split("|")] if any(row) else [] for row in rows]
