"""The work of writes: counted in steps as it is taken, in short turns of the event loop.

Rules
- A block of work runs few instructions for each of its steps (`uncounted`), and no turn of the
  loop runs many (`longest_turn`): there is no time in here.
- Each check finds the bugs that were there once: a property made anew for each column, a form of
  each row for each subset of its numbers, a loop that nobody counts.
"""

import asyncio
from collections.abc import Callable, Mapping
from unittest.mock import patch

import msgspec
import pytest

from gateway.google.calls import Apply
from gateway.google.cells import encoded_changes
from gateway.google.rendering import KnownColumns, Limits
from gateway.google.sheets import Batch, Fence
from gateway.google.wire import Answer
from gateway.query.operators import Comparison, Operand, make_operand, make_operands
from gateway.table.column_types import CellForm, NumberFormat, SeenCell, SheetForms
from gateway.table.header import Header, parse_header
from gateway.table.record import Stored
from gateway.table.steps import Work, finish
from gateway.table.table import RowPatch, Table, make_table
from gateway.worksheets import planning
from gateway.worksheets import worksheet as worksheet_module
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.answers import Encodings
from gateway.worksheets.batch import asked_cells, request_of, requests_of
from gateway.worksheets.looks import RowLook
from gateway.worksheets.planning import NewRows, Plan, Planned, Planner, RowChange
from gateway.worksheets.snapshot import Effect, Origin, Snapshot
from gateway.worksheets.typed_writes import with_stored_values
from gateway.worksheets.writes import Write
from tests.counted_work import longest_turn, uncounted
from tests.fakes import Formatted
from tests.worksheets.conftest import KEPT, WORKSHEET, Bench, MakeBench

COLUMNS, ROWS, TYPED_ROWS = 900, 60, 20
NAMES = [f"f{column}" for column in range(COLUMNS)]
MOST_INSTRUCTIONS = 1_500_000
"""Maximum instructions of one turn of the loop: about 30 ms."""
MOST_TYPED_INSTRUCTIONS = 1_300_000
"""Maximum instructions of a turn of a typed write, with the dates of one row."""
BESIDE = 60 * COLUMNS
"""Instructions that run once per column, such as for a view of the header."""
KEYS = 16

PLANNER = Planner(ignore_unknown=False)
EVERY_ROW = Comparison(field="f0", operator="$gte", operands=make_operands(["v"]))


def line(row: int) -> list[str]:
    return [f"v{row}", *["cell"] * (COLUMNS - 1)]


def wide_look() -> RowLook:
    return RowLook(
        sheet_id=1,
        header=wide_header(),
        rows={2 + row: line(row) for row in range(ROWS)},
        missing=frozenset(),
        sent_at=0.0,
    )


def wide_header() -> Header:
    return parse_header(NAMES)


def wide_table() -> Table:
    lines = [NAMES, *map(line, range(ROWS))]
    columns = [*zip(*lines, strict=True)]
    return finish(make_table(columns).with_typed(columns))


def new_fields(row: int, count: int = COLUMNS - 1) -> dict[str, str]:
    """Values for all columns but the first, which identifies the rows."""
    return {NAMES[1 + column]: f"new {row}" for column in range(count)}


NUMBERED = tuple((2 + row, new_fields(row)) for row in range(ROWS))
UPDATES = Write.update_rows(rows=NUMBERED)
CREATES = Write.create(rows=tuple(new_fields(row) for row in range(ROWS)), is_array=True)
PATCH = Write.update_where(where=EVERY_ROW, fields=new_fields(0), max_rows=100)
REMOVAL = Write.delete_where(where=EVERY_ROW, max_rows=100)
UPSERT = Write.upsert(
    rows=tuple({"f0": f"v{row * 2}", **new_fields(row)} for row in range(ROWS)), keys=("f0",)
)


def by_number() -> Work[Planned]:
    return PLANNER.planned(0, UPDATES, wide_look())


def by_filter(write: Write = PATCH, *, clears: bool = False) -> Work[Planned]:
    planner = Planner(ignore_unknown=False, clears=clears)
    return planner.planned(0, write, wide_table())


def upserted(upsert: Write = UPSERT, table: Table | None = None) -> Work[Planned]:
    return PLANNER.planned(0, upsert, table or wide_table())


def numbers(count: int) -> Table:
    """A worksheet whose key columns contain only numbers."""
    columns: list[list[object]] = [[f"k{at}", *range(at, at + count)] for at in range(KEYS)]
    columns.append(["v", *["old"] * count])
    return finish(make_table([[*map(str, column)] for column in columns]).with_typed(columns))


def numeric_upsert(patterns: int, count: int = 500) -> Write:
    """Rows whose keys are numbers and texts in this number of patterns."""
    return Write.upsert(
        keys=tuple(f"k{at}" for at in range(KEYS)),
        rows=tuple(
            {
                f"k{at}": str(row + at) if row % patterns >> at & 1 else row + at
                for at in range(KEYS)
            }
            | {"v": "new"}
            for row in range(count)
        ),
    )


def answer(lines: int, columns: int) -> Work[object]:
    cell = {"formattedValue": "cell", "effectiveValue": {"stringValue": "cell"}}
    grid = {"rowCount": 1000, "columnCount": columns}
    properties = {"title": "T", "sheetId": 1, "gridProperties": grid}
    data = [{"startRow": row, "rowData": [{"values": [cell] * columns}]} for row in range(lines)]
    body = msgspec.json.encode(
        {"updatedSpreadsheet": {"sheets": [{"properties": properties, "data": data}]}}
    )
    fence = Fence(id=1, key="gw", token="t")
    call = Apply("book", Batch(sheet_id=1, fence=fence, ranges=["A1"] * lines))
    found = Answer(status=200, headers={}, body=body, digest=b"")
    return in_instructions(call.decode(found, Limits(len(body), len(body), KnownColumns())))


def in_instructions(work: Work[object]) -> Work[object]:
    """Work whose steps are bytes, which take fewer instructions per step."""
    while True:
        try:
            byte_count = next(work)
        except StopIteration as done:
            return done.value
        yield byte_count // 10


def plan_of(planned: Planned) -> Plan:
    return Plan(
        outcomes={}, writes=[planned], header=wide_header(), sheet_id=1, after_row=2, looked_at=0.0
    )


def batch_of(planned: Planned) -> Batch:
    changes, _ = finish(requests_of(plan_of(planned), {}))
    return Batch(sheet_id=1, fence=FENCE, changes=changes)


ID = WorksheetId("book", "T")
FENCE = Fence(id=1, key="gw", token="t")
FORMATS = {at: NumberFormat("DATE") for at in range(COLUMNS)}


def requested(planned: Planned) -> Work[object]:
    """The request of a write whose new rows get number formats."""
    forms = SheetForms(formats=FORMATS, are_in_place=False)
    return request_of(ID, plan_of(planned), FENCE, forms)


ALTERNATE = Write.update_rows(
    rows=tuple((2 + row, dict.fromkeys(NAMES[1::2], "new")) for row in range(ROWS))
)
WORKS: Mapping[str, Callable[[], Work[object]]] = {
    "an update of rows": by_number,
    "a create": lambda: PLANNER.planned(0, CREATES, wide_header()),
    "an update by filter": by_filter,
    "a delete by filter": lambda: by_filter(REMOVAL),
    "rows that are emptied": lambda: by_filter(REMOVAL, clears=True),
    "an upsert": upserted,
    "keys of numbers": lambda: upserted(numeric_upsert(1), numbers(3_000)),
    "keys of numbers and texts": lambda: upserted(numeric_upsert(300), numbers(300)),
    "requests": lambda: requests_of(plan_of(finish(by_number())), {}),
    "requests of alternate columns": lambda: requests_of(
        plan_of(finish(PLANNER.planned(0, ALTERNATE, wide_look()))), {}
    ),
    "a request of an update": lambda: requested(finish(by_number())),
    "a request of creates with formats": lambda: requested(
        finish(PLANNER.planned(0, CREATES, wide_header()))
    ),
    "encoded requests": lambda: encoded_changes(1, batch_of(finish(by_number())).changes),
    "the cells to ask back": lambda: asked_cells([finish(by_number())]),
    "an answer of many ranges": lambda: answer(2_000, 3),
    "an answer of wide rows": lambda: answer(30, 900),
}


@pytest.mark.parametrize("make", WORKS.values(), ids=list(WORKS))
def test_all_that_a_write_does_is_counted(make: Callable[[], Work[object]]) -> None:
    """No block runs many more instructions than its number of steps."""
    assert uncounted(make(), BESIDE) == ""


def test_the_patterns_of_new_keys_are_counted() -> None:
    """A longer number format of a key costs more steps for each new row."""
    fields = {"day": "2026-02-01", "other": "2026-02-01"}

    def steps(pattern: str, key: str) -> int:
        write = Write.upsert(keys=(key,), rows=(fields,) * ROWS, is_typed=True)
        rows: list[list[Stored]] = [[*fields.values()] for _ in range(ROWS)]
        new = NewRows(placements=[], rows=rows)
        planned = Planned(index=0, write=write, slots=range(ROWS), created=new)
        days = SeenCell(CellForm(NumberFormat("DATE", pattern)))
        forms = SheetForms(rows=[[days, SeenCell(CellForm(NumberFormat("DATE")))]])
        return sum(with_stored_values(planned, forms, {}, parse_header([*fields])))

    short, long = "yyyy-mm-dd", "yyyy-mm-dd" + "." * 80
    assert steps(long, "day") - steps(short, "day") >= 10 * 80 * ROWS
    assert steps(long, "other") == steps(short, "other")


def test_a_read_is_compared_with_one_write_at_a_time() -> None:
    """One block walks the cells of one of the writes that ended during the read."""
    table = wide_table()
    read = Origin(began_seconds=0.0, byte_count=0)
    encodings = Encodings(table, 0)
    snapshot = Snapshot(table=table, grid_rows=ROWS, displayed=read, encodings=encodings)
    effects = [
        Effect(
            header=table.header,
            rows=[RowPatch(row=2 + row, texts={1: "new"}, values={1: "new"})],
            before={2 + row: line(row)},
        )
        for row in range(5)
    ]

    assert max(snapshot.after(effects)) == effects[0].cell_count


_gathered: Callable[[RowChange], Mapping[int, object]] = vars(RowChange)["values"].func


def rebuilding(change: RowChange) -> Mapping[int, object]:
    """A planted bug: all written cells are collected once for each column."""
    return [_gathered(change) for _ in range(COLUMNS // 3)][-1]


def in_all_forms(value: object) -> Operand:
    """A planted bug: a value is compared once for each set of keys."""
    for _ in range(2**KEYS):
        pass
    return make_operand(value)  # type: ignore[arg-type]


def uncounted_loop() -> Work[object]:
    yield 1
    return [row for row in range(20_000) if row % 7 == 3]


def test_uncounted_work_is_found() -> None:
    """The check finds each planted bug."""
    change = finish(by_number()).changes[0]

    def patched() -> Work[object]:
        yield planning.UPDATE_STEPS * COLUMNS
        return rebuilding(change)

    with patch.object(planning, "make_operand", in_all_forms):
        assert uncounted(upserted(numeric_upsert(1, 5), numbers(5)), BESIDE)
    assert uncounted(patched(), BESIDE)
    assert uncounted(uncounted_loop(), BESIDE)


async def wide_bench(make_bench: MakeBench) -> Bench:
    """A wide worksheet whose rows are cached."""
    bench = make_bench([NAMES, *map(line, range(ROWS))], cache=KEPT, rows=ROWS + 1)
    await bench.page()
    return bench


WRITES: Mapping[str, Write] = {
    "a create": CREATES,
    "an update of rows": UPDATES,
    "an update of alternate columns": ALTERNATE,
    "an update by filter": PATCH,
    "a delete by filter": REMOVAL,
    "an upsert": UPSERT,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
async def test_a_large_write_lets_others_run(make_bench: MakeBench, write: Write) -> None:
    """From request to answer no turn of the loop runs many instructions."""
    bench = await wide_bench(make_bench)
    before = bench.cities.lines()

    assert await longest_turn(bench.together(write)) < MOST_INSTRUCTIONS
    assert bench.cities.lines() != before


RECORD = dict.fromkeys(NAMES[1:], "2026-02-01T10:30:00") | {NAMES[1]: "new"}
TYPED_WRITES: Mapping[str, Write] = {
    "an update of rows": Write.update_rows(
        rows=[(2 + row, RECORD) for row in range(TYPED_ROWS)], is_typed=True
    ),
    "an upsert": Write.upsert(
        rows=tuple({"f0": f"v{row}", **RECORD} for row in range(TYPED_ROWS)),
        keys=("f0",),
        is_typed=True,
    ),
}


@pytest.mark.parametrize("write", TYPED_WRITES.values(), ids=list(TYPED_WRITES))
async def test_typed_records_that_are_sent_back_let_others_run(
    make_bench: MakeBench, write: Write
) -> None:
    """One cell of each record changes, and the answer has all dates of the record."""
    day = Formatted(46_054.4375, "2/1/2026 10:30:00 AM")
    lines = [[f"v{row}", *[day] * (COLUMNS - 1)] for row in range(TYPED_ROWS)]
    bench = make_bench([NAMES, *lines], cache=KEPT, rows=TYPED_ROWS + 1)

    assert await longest_turn(bench.together(write)) < MOST_TYPED_INSTRUCTIONS
    assert [line[1:3] for line in bench.cities.lines()[1:]] == [["new", day.text]] * TYPED_ROWS


async def test_a_long_turn_is_found(make_bench: MakeBench) -> None:
    """The check of turns finds cells that are collected once for each column."""
    bench = await wide_bench(make_bench)

    with patch.object(RowChange, "values", property(rebuilding)):
        update = Write.update_rows(rows=NUMBERED[:1])
        assert await longest_turn(bench.together(update)) > MOST_INSTRUCTIONS


async def test_rows_that_come_while_others_are_patched(make_bench: MakeBench) -> None:
    """Rows that arrive during a write are patched in counted steps, too."""
    bench = await wide_bench(make_bench)
    worksheet = bench.service._pool.get(WORKSHEET, bench.service._resources)
    rows = range(2, 2 + ROWS)
    effect = Effect(
        header=wide_header(),
        rows=[RowPatch(row=row, texts={1: "new"}, values={1: "new"}) for row in rows],
        before={row: line(row - 2) for row in rows},
    )

    with patch.object(worksheet_module, "finish", None):
        taking = asyncio.create_task(worksheet.take_in(effect))
        await asyncio.sleep(0)
        worksheet.expire()  # other rows, for an earlier read
        await taking

    (kept,) = worksheet.snapshots()
    assert kept.is_expired
    assert {kept.table.text(row, 1) for row in rows} == {"new"}
