"""Helpers for tests of writes to several rows."""

from gateway.errors import (
    UpstreamRefusal,
)
from gateway.query.operators import Comparison, make_operands
from gateway.worksheets.writes import Results, Write
from tests.worksheets.conftest import (
    CITIES,
    Bench,
)

BOSTON, DENVER, AUSTIN = (
    ["" if cell is None else str(cell) for cell in line] for line in CITIES[1:]
)
HEADER = [str(cell) for cell in CITIES[0]]


def where(field: str, operator: str, *values: str | float) -> Comparison:
    return Comparison(field=field, operator=operator, operands=make_operands(values))


IN_TEXAS = where("state", "$eq", "TX")
ABOVE_700_000 = where("population", "$gt", 700_000)


async def carried_out(bench: Bench, write: Write) -> list[dict[str, object]]:
    """Carry out one write and return its records."""
    (results,) = await bench.together(write)
    if isinstance(results, BaseException):
        raise results
    return [dict(each.record) for each in results]


def data(bench: Bench) -> list[list[object]]:
    return [[str(cell) for cell in line] for line in bench.cities.lines()[1:]]


PAST_THE_GRID = UpstreamRefusal(
    "Invalid requests[1].updateCells: Attempting to write row: 4, beyond the last requested row "
    "of: 3"
)


def numbers_of(end: Results | BaseException) -> list[int]:
    assert not isinstance(end, BaseException)
    return [each.row for each in end]
