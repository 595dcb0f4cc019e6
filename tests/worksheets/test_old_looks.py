"""Reads that take long: their age counts from sending, and old reads are repeated."""

from collections.abc import Callable, Sequence

import pytest

from gateway.errors import LookOutdated, PreconditionFailed, RowNotFound, SheetTooLarge
from gateway.settings.model import WriteSettings
from gateway.table.header import IfMatch
from gateway.worksheets.planning import FRESH_LOOK_SECONDS
from gateway.worksheets.writes import ByFilter, ByKey, Write
from tests.fakes import FakeWorksheet, Held
from tests.forwarding import Kind
from tests.worksheets.conftest import TTL_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost
from tests.worksheets.several_rows import where

LINES: Sequence[Sequence[Held | None]] = [
    ["name", "state", "open"],
    ["Austin", "TX", "yes"],
    ["Boston", "MA", "yes"],
    ["Denver", "CO", "no"],
]
SLOW_SECONDS = 6.0
BY_NAME = where("name", "$eq", "Austin")
FIELDS = {"open": "done"}

WRITES = [
    pytest.param(Write.update(row=2, fields=FIELDS), "read_sheet", id="update"),
    pytest.param(Write.update_rows(rows=((2, FIELDS),)), "read_sheet", id="list"),
    pytest.param(Write.delete(row=2), "read_sheet", id="delete"),
    pytest.param(
        Write.update_where(where=BY_NAME, fields=FIELDS, max_rows=9),
        "read_columns",
        id="update-filter",
    ),
    pytest.param(Write.delete_where(where=BY_NAME, max_rows=9), "read_columns", id="delete-filter"),
    pytest.param(
        Write.upsert(rows=({"name": "Austin", **FIELDS},), keys=("name",)),
        "read_columns",
        id="upsert",
    ),
]


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Three cities."""
    return make_bench(LINES)


def late(bench: Bench, kind: Kind, seconds: float, *, nth: int = 1) -> None:
    """A read is answered late, with rows as of its sending."""
    bench.sheets.after(kind, lambda: bench.clock.advance(seconds), nth=nth)


def swap(sheet: FakeWorksheet) -> None:
    """Swap the first two rows."""
    first, second = sheet.lines()[1:3]
    sheet.type(2, *second)
    sheet.type(3, *first)


async def carried_out(bench: Bench, write: Write) -> None:
    (end,) = await bench.together(write)
    if isinstance(end, BaseException):
        raise end


@pytest.mark.parametrize(("write", "kind"), WRITES)
async def test_a_quick_look_is_enough(bench: Bench, write: Write, kind: Kind) -> None:
    """A read that takes a second is not repeated."""
    await bench.look()
    late(bench, kind, FRESH_LOOK_SECONDS)

    await carried_out(bench, write)

    is_typed = isinstance(write.selector, ByFilter | ByKey)
    assert bench.sheets.cost() == Cost(2 if is_typed else 1, 1)


@pytest.mark.parametrize(("write", "kind"), WRITES)
async def test_an_old_look_is_repeated(bench: Bench, write: Write, kind: Kind) -> None:
    """A slow read costs 1 read more; if the rows are the same, the write is sent."""
    await bench.look()
    late(bench, kind, SLOW_SECONDS)

    await carried_out(bench, write)

    is_typed = isinstance(write.selector, ByFilter | ByKey)
    assert bench.sheets.cost() == Cost(3 if is_typed else 2, 1)
    austin = [line for line in bench.cities.lines() if line[0] == "Austin"]
    assert austin == ([] if write.rows is None else [["Austin", "TX", "done"]])


@pytest.mark.parametrize(("write", "kind"), WRITES[3:])
async def test_rows_that_move_during_a_look(bench: Bench, write: Write, kind: Kind) -> None:
    """People sort during a slow read: the write goes to the record's new row."""
    await bench.look()
    bench.sheets.after(kind, lambda: swap(bench.cities))
    late(bench, kind, SLOW_SECONDS)

    await carried_out(bench, write)

    shown = [line for line in bench.cities.lines()[1:] if line[0] != "Austin"]
    assert shown == [["Boston", "MA", "yes"], ["Denver", "CO", "no"]]
    assert ["Austin", "TX", "yes"] not in bench.cities.lines()


@pytest.mark.parametrize(
    "make", [Write.delete, lambda **given: Write.update(fields=FIELDS, **given)]
)
async def test_a_condition_is_compared_again(bench: Bench, make: Callable[..., Write]) -> None:
    """`If-Match` holds in a slow read, but the row is another one in the second read."""
    condition = IfMatch(frozenset({(await bench.read(2)).tag}))
    bench.sheets.after("read_sheet", lambda: swap(bench.cities))
    late(bench, "read_sheet", SLOW_SECONDS)

    with pytest.raises(PreconditionFailed) as raised:
        await carried_out(bench, make(row=2, condition=condition))

    assert raised.value.existing["name"] == "Boston"
    assert len(bench.cities.lines()) == len(LINES)
    assert not bench.sheets.batches


async def test_other_cells_of_a_row_do_not_matter(bench: Bench) -> None:
    """An update without a condition is sent if its own cells have not changed."""
    bench.sheets.after("read_sheet", lambda: bench.cities.type(2, None, "LA"))
    late(bench, "read_sheet", SLOW_SECONDS)

    await carried_out(bench, Write.update(row=2, fields=FIELDS))

    assert bench.cities.lines()[1] == ["Austin", "LA", "done"]
    assert len(bench.sheets.batches) == 1


@pytest.mark.parametrize(("write", "kind"), WRITES[3:])
async def test_rows_that_never_rest(bench: Bench, write: Write, kind: Kind) -> None:
    """If each slow read shows other rows, nothing is written, and the client can retry."""
    await bench.look()
    for nth in range(1, 13):
        bench.sheets.before("read_sheet", lambda: swap(bench.cities), nth=nth)
        late(bench, kind, SLOW_SECONDS, nth=nth)

    with pytest.raises(LookOutdated) as raised:
        await carried_out(bench, write)

    assert (raised.value.outcome, raised.value.retryable) == ("not_applied", True)
    assert not bench.sheets.batches


async def test_a_row_that_goes_during_a_look(bench: Bench) -> None:
    """The last row is deleted during a slow read: the update writes nothing below the data."""
    bench.sheets.after("read_sheet", lambda: bench.cities.delete_rows(4))
    late(bench, "read_sheet", SLOW_SECONDS)

    with pytest.raises(RowNotFound):
        await carried_out(bench, Write.update(row=4, fields=FIELDS))

    assert len(bench.cities.lines()) == len(LINES) - 1


async def test_a_slow_look_at_the_header_of_a_create(bench: Bench) -> None:
    """The header moves during a read that takes longer than the header's lifetime."""
    bench.sheets.after("read_sheet", lambda: bench.cities.type(1, "state", "name"))
    late(bench, "read_sheet", TTL_SECONDS + 1)

    await carried_out(bench, Write.create(rows=({"name": "El Paso"},)))

    assert bench.cities.lines()[-1] == ["", "El Paso"]


@pytest.mark.parametrize(
    "make", [Write.delete, lambda **given: Write.update(fields=FIELDS, **given)]
)
async def test_a_blank_cell_that_is_filled_during_a_look(
    bench: Bench, make: Callable[..., Write]
) -> None:
    """A condition also covers blank cells at the end of the row."""
    bench.cities.type(2, None, None, "")
    condition = IfMatch(frozenset({(await bench.read(2)).tag}))
    bench.sheets.after("read_sheet", lambda: bench.cities.type(2, None, None, "edited"))
    late(bench, "read_sheet", SLOW_SECONDS)

    with pytest.raises(PreconditionFailed):
        await carried_out(bench, make(row=2, condition=condition))

    assert not bench.sheets.batches


async def test_a_small_look_that_is_slow_is_repeated(bench: Bench) -> None:
    """The age of the second read counts from its sending, too."""
    condition = IfMatch(frozenset({(await bench.read(2)).tag}))
    late(bench, "read_sheet", SLOW_SECONDS)
    bench.sheets.after("read_sheet", lambda: swap(bench.cities), nth=2)
    late(bench, "read_sheet", SLOW_SECONDS, nth=2)

    with pytest.raises(PreconditionFailed):
        await carried_out(bench, Write.delete(row=2, condition=condition))

    assert not bench.sheets.batches


async def test_google_is_slow_all_the_time(bench: Bench) -> None:
    """An update without a condition is sent after the second repeated read."""
    for nth in range(1, 10):
        late(bench, "read_sheet", SLOW_SECONDS, nth=nth)
    await carried_out(bench, Write.update(row=2, fields=FIELDS))

    assert bench.cities.lines()[1] == ["Austin", "TX", "done"]
    assert bench.sheets.cost() == Cost(3, 1)


@pytest.mark.parametrize(("write", "kind"), WRITES[2:])
async def test_google_is_too_slow_for_conditions(bench: Bench, write: Write, kind: Kind) -> None:
    """A delete or conditional write is not sent if its rows were read long ago."""
    await bench.look()
    for nth in range(1, 10):
        late(bench, kind, SLOW_SECONDS, nth=nth)
        if kind != "read_sheet":
            late(bench, "read_sheet", SLOW_SECONDS, nth=nth)

    with pytest.raises(LookOutdated):
        await carried_out(bench, write)

    assert bench.sheets.cost().reads <= 4
    assert not bench.sheets.batches[1:]


async def test_rows_beside_that_change_during_a_look(bench: Bench) -> None:
    """The repeated read shows the neighbours, too: the planned row is removed."""
    condition = IfMatch(frozenset({(await bench.read(3)).tag}))
    bench.sheets.after("read_sheet", lambda: bench.cities.type(2, "Ames", "IA", "no"))
    late(bench, "read_sheet", SLOW_SECONDS)

    await carried_out(bench, Write.delete(row=3, condition=condition))

    assert [line[0] for line in bench.cities.lines()[1:]] == ["Ames", "Denver"]


async def test_a_row_is_not_cleared_on_slow_looks(make_bench: MakeBench) -> None:
    """A delete that empties its row is not sent on an old read either."""
    bench = make_bench(LINES, writes=WriteSettings.model_validate({"delete": "clear"}))
    for nth in range(1, 10):
        late(bench, "read_sheet", SLOW_SECONDS, nth=nth)

    with pytest.raises(LookOutdated):
        await carried_out(bench, Write.delete(row=2))

    assert not bench.sheets.batches


async def test_a_small_look_that_is_too_large(bench: Bench) -> None:
    """If the rows are too large for one answer, the writes go one by one."""
    await bench.look()
    late(bench, "read_columns", SLOW_SECONDS)
    bench.sheets.before("read_sheet", SheetTooLarge("too large"))

    ends = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Austin"), max_rows=9),
        Write.delete_where(where=where("name", "$eq", "Denver"), max_rows=9),
    )

    assert [len(end) for end in ends if not isinstance(end, BaseException)] == [1, 1]
