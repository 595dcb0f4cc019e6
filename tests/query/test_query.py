"""Tests of a parsed query."""

import pytest

from gateway.query.operators import Operand, Scalar, comparisons, make_operand
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.cells import BOOLEAN, CLOCK, DATE, EMPTY, ERROR, NUMBER, TEXT
from gateway.table.header import Selection


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(5, Operand(5, NUMBER, 5), id="number"),
        pytest.param("5.0", Operand("5.0", NUMBER, 5, "5.0"), id="text that is a number"),
        pytest.param("007", Operand("007", TEXT, "007", "007"), id="text"),
        pytest.param("Ab", Operand("Ab", TEXT, "ab", "Ab"), id="folded text"),
        pytest.param(
            "1899-12-31", Operand("1899-12-31", DATE, 86_400_000, "1899-12-31"), id="date"
        ),
        pytest.param("0:01", Operand("0:01", CLOCK, 60_000, "0:01"), id="clock"),
        pytest.param("#N/A", Operand("#N/A", ERROR, "#N/A", "#N/A"), id="error"),
        pytest.param(True, Operand(True, BOOLEAN, True), id="a boolean is no number"),
        pytest.param(None, Operand(None, EMPTY), id="null"),
        pytest.param("", Operand("", EMPTY), id="empty text"),
        pytest.param(
            "Gro\u0308\u00dfe",
            Operand("Gr\u00f6\u00dfe", TEXT, "gr\u00f6sse", "Gr\u00f6\u00dfe"),
            id="decomposed text",
        ),
    ],
)
def test_operands_have_a_class_and_a_key(value: Scalar, expected: Operand) -> None:
    """`make_operand` parses an operand into its class and its sort key."""
    assert make_operand(value) == expected
    assert type(make_operand(value).value) is type(value)


def test_a_plain_query_needs_no_types() -> None:
    """A query with only `skip`, `limit` and `keys` needs no typed values."""
    assert not Query(skip=5, limit=3, keys=Selection(("name",))).needs_types


def test_where_and_order_need_types_and_fields() -> None:
    """A query with `where` or `order` needs typed values. `comparisons` lists the fields of its
    conditions.
    """
    where = parse_where({"a": 1, "$or": [{"b": 2}, {"$not": {"c": {"$gt": 1, "$lt": 9}}}]})
    query = Query(where=where, order=(SortTerm("d"), SortTerm("a", descending=True)))

    assert query.needs_types
    assert [each.field for each in comparisons(where)] == [*"abcc"]
    assert Query(order=(SortTerm("d"),)).needs_types
