"""Conditions of typed writes also cover values whose display stays the same."""

import json
from collections.abc import Callable, Sequence

import pytest

from gateway.errors import PreconditionFailed, RowsMoved
from gateway.query.query import Query
from gateway.table.header import IfMatch
from gateway.web.answers import TYPED_ENCODERS
from gateway.worksheets.writes import Write
from tests.fakes import Formatted, Held
from tests.worksheets.conftest import KEPT, TARGET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.several_rows import where

LINES: Sequence[Sequence[Held | None]] = [
    ["name", "n", "open"],
    ["Austin", Formatted(12.3, "12"), True],
    ["Boston", Formatted(12.3, "12"), False],
]
SLOW_SECONDS = 6.0


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Two cities whose numbers have equal displays."""
    return make_bench(LINES)


async def tag_of(bench: Bench, row: int) -> IfMatch:
    served = await bench.service.read_row(TARGET, row, None, TYPED_ENCODERS["null"])
    bench.sheets.cost()
    return IfMatch(frozenset({served.encoded.tag}))


def change(bench: Bench) -> None:
    """A person changes a value, but its display stays the same."""
    bench.cities.type(2, None, Formatted(12.4, "12"))


def update(condition: IfMatch, *, is_typed: bool = True) -> Write:
    return Write.update(row=2, fields={"open": False}, condition=condition, is_typed=is_typed)


def delete(condition: IfMatch) -> Write:
    return Write.delete(row=2, condition=condition, is_typed=True)


@pytest.mark.parametrize("make", [update, delete])
async def test_a_condition_is_compared_again(
    bench: Bench, make: Callable[[IfMatch], Write]
) -> None:
    """A value that changes during a slow read breaks the condition; nothing is written."""
    condition = await tag_of(bench, 2)
    bench.sheets.after("read_sheet", lambda: change(bench))
    bench.sheets.after("read_sheet", lambda: bench.clock.advance(SLOW_SECONDS))

    with pytest.raises(PreconditionFailed) as raised:
        await bench.service.write(TARGET, make(condition))

    assert raised.value.existing == {"rowIndex": 2, "name": "Austin", "n": 12.4, "open": True}
    assert not bench.sheets.batches


@pytest.mark.parametrize("make", [update, delete])
async def test_a_condition_that_holds_costs_no_more(
    bench: Bench, make: Callable[[IfMatch], Write]
) -> None:
    """A typed write with a condition costs as many calls as one without types."""
    condition = await tag_of(bench, 2)
    await bench.service.write(TARGET, make(condition))

    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_value_that_changes_within_the_write_is_reported(bench: Bench) -> None:
    """If a value changes between read and write, the answer is 4095."""
    condition = await tag_of(bench, 2)
    bench.sheets.before("apply", lambda: change(bench))

    with pytest.raises(RowsMoved) as raised:
        await bench.service.write(TARGET, update(condition))

    assert (raised.value.outcome, raised.value.row) == ("applied", 2)


async def test_displayed_conditions_cover_displays_alone(bench: Bench) -> None:
    """Without types, a changed value with an equal display is no conflict."""
    condition = IfMatch(frozenset({(await bench.read(2)).tag}))
    bench.sheets.before("apply", lambda: change(bench))

    settled = await bench.service.write(TARGET, update(condition, is_typed=False))

    assert settled.results[0].record == {"rowIndex": 2, "open": "FALSE"}


BY_NUMBER = where("n", "$eq", 12.3)


@pytest.mark.parametrize("is_typed", [False, True])
@pytest.mark.parametrize("way", ["filter", "upsert"])
async def test_the_value_that_found_a_row_is_reported_if_it_changes(
    make_bench: MakeBench, way: str, *, is_typed: bool
) -> None:
    """A filter or key compares values, so a changed value with an equal display is an error."""
    bench = make_bench([*LINES[:2], ["Boston", Formatted(7, "7"), False]])
    await bench.look()
    bench.sheets.before("apply", lambda: change(bench))
    write = Write.update_where(
        where=BY_NUMBER, fields={"open": False}, max_rows=9, is_typed=is_typed
    )
    if way == "upsert":
        row = {"n": 12.3, "open": False}
        write = Write.upsert(rows=(row,), keys=("n",), is_typed=is_typed)

    (error,) = await bench.together(write)

    assert isinstance(error, RowsMoved)
    assert (error.outcome, error.row) == ("applied", 2)
    assert bench.sheets.cost() == Cost(2, 1)


async def test_another_value_that_changes_is_no_other_record(bench: Bench) -> None:
    """A row found by its name is the same record, whatever value another cell has."""
    bench.sheets.before("apply", lambda: change(bench))
    write = Write.update_where(
        where=where("name", "$eq", "Austin"), fields={"open": False}, max_rows=9
    )

    (results,) = await bench.together(write)

    assert not isinstance(results, BaseException)


async def test_digits_beyond_those_that_google_prints_do_not_count(bench: Bench) -> None:
    """Google may return different last digits in the read and in the answer."""
    number = Formatted(12.3 * (1 + 1e-15), "12")
    bench.sheets.before("apply", lambda: bench.cities.type(2, None, number))
    write = Write.update_where(where=BY_NUMBER, fields={"open": False}, max_rows=9)

    (results,) = await bench.together(write)

    assert not isinstance(results, BaseException)


async def numbers(bench: Bench) -> list[object]:
    """Numbers of a typed list."""
    served = await bench.service.list_rows(TARGET, Query(), TYPED_ENCODERS["null"])
    return [row["n"] for row in json.loads(served.encoded.body)["results"]]


async def test_no_list_is_older_than_a_refusal(make_bench: MakeBench) -> None:
    """After a 412 with a changed value, the cached rows are read again."""
    bench = make_bench(LINES, cache=KEPT)
    condition = await tag_of(bench, 2)
    change(bench)
    with pytest.raises(PreconditionFailed):
        await bench.service.write(TARGET, update(condition))

    assert await numbers(bench) == [12.4, 12.3]


async def test_no_list_is_older_than_the_tag_of_a_write(make_bench: MakeBench) -> None:
    """Cached rows get a formula's new value, although its display is equal."""
    bench = make_bench(LINES, cache=KEPT)
    assert await numbers(bench) == [12.3, 12.3]
    bench.sheets.before("apply", lambda: change(bench))
    write = Write.update(row=2, fields={"open": False}, is_typed=True)
    settled = await bench.service.write(TARGET, write)

    assert await numbers(bench) == [12.4, 12.3]
    assert IfMatch(frozenset({settled.results[0].tag})) == await tag_of(bench, 2)
