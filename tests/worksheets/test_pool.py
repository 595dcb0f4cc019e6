"""The pool of worksheets: its limits, and which worksheet is dropped first."""

import asyncio
from collections.abc import Sequence

from anyio import wait_all_tasks_blocked

from gateway.query.evaluate import evaluate
from gateway.query.query import Query, SortTerm, parse_where
from gateway.settings.model import CacheSettings, WriteSettings
from gateway.table.steps import finish
from gateway.table.table import Table, make_table
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.answers import Encodings
from gateway.worksheets.rows import Pool
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshot import TYPED, Origin, Rows, Snapshot
from gateway.worksheets.worksheet import Resources, Worksheet
from gateway.worksheets.write_queue import WriteQueues
from gateway.worksheets.writes import Outcome, Write
from tests.clock import ManualClock
from tests.fakes import FakeSheets

ROWS = 5_000
ROWS_BYTES = 100_000
WORKSHEET = WorksheetId(spreadsheet="book", title="Cities")
OTHER = WorksheetId(spreadsheet="book", title="Other")
QUERY = Query(
    where=parse_where({"name": {"$text": "x"}, "n": {"$gte": 5}}),
    order=(SortTerm("name"), SortTerm("n", descending=True)),
)


def make_snapshot() -> Snapshot:
    names = [f"Name {number * 7_919 % ROWS}" for number in range(ROWS)]
    numbers = [number * 104_729 % ROWS for number in range(ROWS)]
    table = make_table([["name", *names], ["n", *map(str, numbers)]])
    origin = Origin(began_seconds=0.0, byte_count=ROWS_BYTES)
    return Snapshot(
        table=finish(table.with_typed([["name", *names], ["n", *numbers]])),
        grid_rows=ROWS + 1,
        displayed=origin,
        typed=origin,
        encodings=Encodings(table, ROWS_BYTES),
    )


def searched(table: Table) -> int:
    """Bytes of the indexes after a query."""
    finish(evaluate(table, QUERY, table.header.whole))
    return table.index_bytes


def test_a_query_adds_to_what_a_snapshot_takes() -> None:
    """Each index counts: 20 to 200 bytes per row for two columns."""
    snapshot = make_snapshot()
    before = snapshot.byte_count

    added = searched(snapshot.table)

    assert snapshot.byte_count == before + added
    assert 20 * ROWS <= added <= 200 * ROWS


class Stage:
    """A pool of at most three worksheets, with a limit for the bytes of rows."""

    def __init__(self, max_bytes: int = 2**30) -> None:
        settings = CacheSettings(max_bytes=max_bytes)
        self.pool = Pool(max_worksheets=3, max_bytes=max_bytes)
        self.resources = Resources(
            sheets=FakeSheets(),
            scheduler=Scheduler(),
            queues=WriteQueues(WriteSettings()),
            settings=settings,
            clock=ManualClock(),
            perform=nothing,
            weigh=self.pool.weigh,
        )

    def __getitem__(self, worksheet: WorksheetId) -> Worksheet:
        return self.pool.get(worksheet, self.resources)


def kept(worksheet: Worksheet) -> Rows | None:
    block = worksheet.blocks.get(TYPED)
    return None if block is None else block.rows


async def nothing(_: Worksheet, __: Sequence[Write]) -> Sequence[Outcome]:
    return ()


def test_indexes_push_out_the_rows_renewed_longest_ago() -> None:
    """Rows with their indexes replace the rows that were read longest ago."""
    snapshot, other = make_snapshot(), make_snapshot()
    stage = Stage(2 * snapshot.byte_count + ROWS)
    stage[OTHER].keep(other, began=0)
    stage[WORKSHEET].keep(snapshot, began=0)
    searched(snapshot.table)

    stage.pool.weigh(stage[WORKSHEET])

    assert kept(stage[WORKSHEET]) is snapshot
    assert kept(stage[OTHER]) is None


def test_indexes_that_leave_no_room_are_dropped() -> None:
    """The rows stay, and the next query makes its index again."""
    snapshot = make_snapshot()
    stage = Stage(snapshot.byte_count + ROWS)
    stage[WORKSHEET].keep(snapshot, began=0)
    searched(snapshot.table)

    stage.pool.weigh(stage[WORKSHEET])

    assert kept(stage[WORKSHEET]) is snapshot
    assert snapshot.table.index_bytes == 0


def worksheets(*titles: str) -> list[WorksheetId]:
    return [WorksheetId(spreadsheet="book", title=title) for title in titles]


def test_a_worksheet_is_one_object() -> None:
    """A worksheet is identified by title and spreadsheet."""
    stage = Stage()

    assert stage[WORKSHEET] is stage[WorksheetId(spreadsheet="book", title="Cities")]
    assert stage[WORKSHEET] is not stage[WorksheetId(spreadsheet="book", title="cities")]
    assert stage[WORKSHEET] is not stage[WorksheetId(spreadsheet="other", title="Cities")]


def test_made_up_names_push_out_no_worksheet() -> None:
    """Worksheets with rows stay while there are worksheets that were never read."""
    stage = Stage()
    first, second, *made_up = worksheets("a", "b", "c", "d", "e")
    known = [stage[first], stage[second]]
    for each in known:
        each.keep(make_snapshot(), began=0)

    for name in made_up:
        kept(stage[name])

    assert [stage[first], stage[second]] == known


def test_the_worksheet_used_longest_ago_goes() -> None:
    """The worksheet used longest ago is dropped with its rows."""
    stage = Stage()
    first, second, third, fourth = worksheets("a", "b", "c", "d")
    known = {}
    for each in (first, second, third):
        known[each] = stage[each]
        stage[each].keep(make_snapshot(), began=0)
    kept(stage[first])

    kept(stage[fourth])

    assert stage[first] is known[first]
    assert kept(known[second]) is None
    assert len([*stage.pool.demands()]) == 2


async def test_a_busy_worksheet_stays() -> None:
    """A busy worksheet stays, because its write queue must not exist twice."""
    stage = Stage()
    first, *others = worksheets("a", "b", "c", "d", "e")
    busy, gate = stage[first], asyncio.Event()
    task = asyncio.create_task(busy.queue.exclusively(gate.wait))
    await wait_all_tasks_blocked()
    for each in others:
        stage[each].keep(make_snapshot(), began=0)

    is_same = stage[first] is busy
    gate.set()
    await task

    assert is_same
