"""Twenty rows with a formula in each, and updates of these rows."""

from gateway.table.header import IfMatch
from gateway.table.record import Stored
from gateway.worksheets.writes import Results, Write
from tests.fakes import Formatted
from tests.worksheets.conftest import Bench

SUM = Formatted(3.0, "3")
LINES = [["name", "sum", "note"], *([f"n{row}", SUM, "x"] for row in range(2, 22))]
"""Rows 2 to 21, each with a formula between two values."""


def update(row: int, *, condition: IfMatch | None = None, **fields: Stored) -> Write:
    return Write.update(row=row, fields=fields, condition=condition)


def renamed(*rows: int, **fields: Stored) -> list[Write]:
    """One update for each of these rows."""
    return [Write.update(row=row, fields={"name": f"new {row}", **fields}) for row in rows]


def record(end: Results | BaseException) -> dict[str, object]:
    """Record in the answer of an update."""
    assert not isinstance(end, BaseException), end
    (written,) = end
    return dict(written.record)


def names(bench: Bench, *rows: int) -> list[object]:
    """First cells of the rows."""
    return [bench.cities.cells.get((row, 1)) for row in rows]
