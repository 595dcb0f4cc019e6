"""The memory of indexes counts as that of the rows that they are made of."""

import pytest

from gateway.query.evaluate import evaluate
from gateway.query.query import Query, SortTerm
from gateway.query.where import parse_where
from gateway.table.steps import finish
from gateway.table.table import Table, make_table
from gateway.worksheets.answers import Encodings
from gateway.worksheets.snapshots import Origin, Snapshot, Snapshots
from gateway.worksheets.worksheet_id import WorksheetId

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
        encodings=Encodings(ROWS_BYTES),
    )


def searched(table: Table) -> int:
    """The bytes of the indexes after a query."""
    finish(evaluate(table, QUERY, table.header.whole))
    return table.index_bytes


def test_a_query_adds_to_what_a_snapshot_takes() -> None:
    """Each structure counts: 20 to 200 bytes a row for two columns."""
    snapshot = make_snapshot()
    before = snapshot.byte_count

    added = searched(snapshot.table)

    assert snapshot.byte_count == before + added
    assert 20 * ROWS <= added <= 200 * ROWS


def test_indexes_push_out_the_rows_renewed_longest_ago() -> None:
    """Rows with their indexes take the place of other rows."""
    snapshot, other = make_snapshot(), make_snapshot()
    snapshots = Snapshots(2 * snapshot.byte_count + ROWS)
    snapshots.keep(OTHER, other)
    snapshots.keep(WORKSHEET, snapshot)
    searched(snapshot.table)

    snapshots.weigh(WORKSHEET, snapshot)

    assert WORKSHEET in snapshots
    assert OTHER not in snapshots


def test_indexes_that_leave_no_room_are_dropped() -> None:
    """The rows stay, and the next query makes its index anew."""
    snapshot = make_snapshot()
    snapshots = Snapshots(snapshot.byte_count + ROWS)
    snapshots.keep(WORKSHEET, snapshot)
    searched(snapshot.table)

    snapshots.weigh(WORKSHEET, snapshot)

    assert snapshots.get(WORKSHEET, needs_types=True) is snapshot
    assert snapshot.table.index_bytes == 0


@pytest.mark.parametrize("is_dropped", [True, False], ids=["dropped", "replaced"])
def test_a_snapshot_that_is_kept_no_more_is_not_weighed(is_dropped: bool) -> None:
    """A query may end after its rows were read anew."""
    snapshot, newer = make_snapshot(), make_snapshot()
    snapshots = Snapshots(10 * snapshot.byte_count)
    snapshots.keep(WORKSHEET, snapshot)
    searched(snapshot.table)
    if is_dropped:
        snapshots.drop(WORKSHEET)
    else:
        snapshots.keep(WORKSHEET, newer)

    snapshots.weigh(WORKSHEET, snapshot)

    kept = snapshots.get(WORKSHEET, needs_types=True)
    assert kept is (None if is_dropped else newer)
