"""What is answered at once: neither a call nor a thread is waited for."""

import json

import pytest

from gateway.query.query import Query, SortTerm
from gateway.query.where import parse_where
from gateway.table.view import Selection
from tests.worksheets.conftest import TARGET, Bench, PlainEncoder

ENCODER = PlainEncoder()
QUERIES = [
    pytest.param(Query(), id="plain"),
    pytest.param(Query(skip=1, limit=1, keys=Selection(("name",))), id="page"),
    pytest.param(Query(wants_total=True), id="total"),
    pytest.param(
        Query(where=parse_where({"population": {"$gt": 0}}), order=(SortTerm("name"),)), id="where"
    ),
]


@pytest.mark.parametrize("query", QUERIES)
async def test_a_page_is_the_one_that_is_waited_for(kept: Bench, query: Query) -> None:
    """Nothing is there at first; then it is the same, for no call, until its time is over."""
    before = await kept.service.list_now(TARGET, query, ENCODER)
    waited = await kept.service.list_rows(TARGET, query, ENCODER)
    kept.sheets.cost()  # counts from here on
    at_once = await kept.service.list_now(TARGET, query, ENCODER)
    kept.clock.advance(5.0)

    assert before is None
    assert at_once is not None
    assert at_once.encoded == waited.encoded
    assert kept.sheets.cost().reads == 0
    assert await kept.service.list_now(TARGET, query, ENCODER) is None


async def test_a_page_that_nobody_asked_for_is_made_at_once(kept: Bench) -> None:
    """The rows are there, whatever is asked of them."""
    await kept.service.list_rows(TARGET, Query(), ENCODER)

    served = await kept.service.list_now(TARGET, Query(skip=2, limit=1), ENCODER)

    assert served is not None
    assert [row["name"] for row in json.loads(served.encoded.body)] == ["Austin"]


async def test_unknown_fields_are_left_to_another_look(kept: Bench) -> None:
    """What names them may have a second reading, or the header may have changed."""
    known = Query(order=(SortTerm("name"),))
    await kept.service.list_rows(TARGET, known, ENCODER)

    assert await kept.service.list_now(TARGET, known, ENCODER) is not None
    assert await kept.service.list_now(TARGET, Query(order=(SortTerm("nope"),)), ENCODER) is None
    unknown = Selection(("x",), checked=("x",))
    assert await kept.service.list_now(TARGET, Query(keys=unknown), ENCODER) is None
    assert kept.service.row_now(TARGET, 2, unknown, ENCODER) is None


async def test_a_row_is_the_one_that_is_waited_for(kept: Bench) -> None:
    """Rows that are not there are left to whoever says so."""
    before = kept.service.row_now(TARGET, 2, None, ENCODER)
    waited = await kept.service.read_row(TARGET, 2, None, ENCODER)
    at_once = kept.service.row_now(TARGET, 2, None, ENCODER)

    assert before is None
    assert at_once is not None
    assert at_once.encoded == waited.encoded
    assert [kept.service.row_now(TARGET, row, None, ENCODER) for row in (0, 1, 5, 99)] == [None] * 4
