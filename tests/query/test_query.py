"""Properties of a parsed query."""

import pytest

from gateway.query.query import (
    Operand,
    Query,
    Scalar,
    SortTerm,
    comparisons,
    make_operand,
)
from gateway.query.where import parse_where
from gateway.table.header import Selection


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(5, Operand(5, number=5), id="number"),
        pytest.param("5.0", Operand("5.0", number=5), id="text that is a number"),
        pytest.param("007", Operand("007"), id="text"),
        pytest.param("2020-01-01", Operand("2020-01-01", serial=43_831), id="date"),
        pytest.param(True, Operand(True), id="a boolean is no number"),
        pytest.param(None, Operand(None), id="null"),
        pytest.param("", Operand(""), id="empty text"),
        pytest.param("Gro\u0308\u00dfe", Operand("Gr\u00f6\u00dfe"), id="decomposed text"),
    ],
)
def test_operands_know_their_readings(value: Scalar, expected: Operand) -> None:
    """An operand is read as a number and as a date once, when it is made."""
    assert make_operand(value) == expected
    assert type(make_operand(value).value) is type(value)


def test_a_plain_query_needs_no_types() -> None:
    """A page of some fields is answered by the displayed rendering alone."""
    assert not Query(skip=5, limit=3, keys=Selection(("name",))).needs_types


def test_where_and_order_need_types_and_fields() -> None:
    """Comparing needs the typed rendering, and every field of where and order must exist."""
    where = parse_where({"a": 1, "$or": [{"b": 2}, {"$not": {"c": {"$gt": 1, "$lt": 9}}}]})
    query = Query(where=where, order=(SortTerm("d"), SortTerm("a", descending=True)))

    assert query.needs_types
    assert [each.field for each in comparisons(where)] == [*"abcc"]
    assert Query(order=(SortTerm("d"),)).needs_types
