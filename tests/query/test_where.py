"""Tests of the parser of `where`. Tests of its errors are in tests/surfaces."""

import json

import pytest

from gateway.query.operators import (
    OPERATORS,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Scalar,
    make_operand,
)
from gateway.query.query import parse_where


def compare(field: str, operator: str, *values: Scalar) -> Comparison:
    """Return a comparison with these operands."""
    return Comparison(field, operator, tuple(make_operand(value) for value in values))


A, B = compare("a", "$eq", 1), compare("b", "$eq", 2)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param('{"a": "x"}', compare("a", "$eq", "x"), id="a value means equality"),
        pytest.param('{"a": null}', compare("a", "$eq", None), id="null"),
        pytest.param('{"a": ""}', compare("a", "$eq", ""), id="empty text"),
        pytest.param('{"a": false}', compare("a", "$eq", False), id="boolean"),
        pytest.param('{"a": 1, "b": 2}', AllOf((A, B)), id="several fields"),
        pytest.param(
            '{"a": {"$gte": 1, "$lte": 9}}',
            AllOf((compare("a", "$gte", 1), compare("a", "$lte", 9))),
            id="several operators",
        ),
        pytest.param('{"$and": [{"a": 1}, {"b": 2}]}', AllOf((A, B)), id="and"),
        pytest.param('{"$or": [{"a": 1}, {"b": 2}]}', AnyOf((A, B)), id="or"),
        pytest.param('{"$or": [{"a": 1}]}', AnyOf((A,)), id="or of one"),
        pytest.param('{"$not": {"a": 1}}', Negation(A), id="not"),
        pytest.param(
            '{"$not": {"a": 1, "b": 2}}', Negation(AllOf((A, B))), id="not of several fields"
        ),
        pytest.param('{"a": {"$not": {"$eq": 1}}}', Negation(A), id="not on a field"),
        pytest.param(
            '{"a": 1, "$or": [{"b": 2}, {"$not": {"a": 1}}]}',
            AllOf((A, AnyOf((B, Negation(A))))),
            id="fields beside combinators",
        ),
        pytest.param("{}", AllOf(()), id="no condition"),
        pytest.param('{"$in": 1}', compare("$in", "$eq", 1), id="a header may begin with $"),
        pytest.param('{"rowIndex": 2}', compare("rowIndex", "$eq", 2), id="rowIndex"),
        pytest.param('{"": 1}', compare("", "$eq", 1), id="empty name, no field of any sheet"),
    ],
)
def test_where_becomes_conditions(where: str, expected: Condition) -> None:
    """Several fields and several operators are combined with AND."""
    assert parse_where(json.loads(where)) == expected


@pytest.mark.parametrize(
    ("operator", "operand", "expected"),
    [
        ("$eq", 1, compare("f", "$eq", 1)),
        ("$ne", "x", compare("f", "$ne", "x")),
        ("$neq", "x", compare("f", "$ne", "x")),
        ("$lt", 1.5, compare("f", "$lt", 1.5)),
        ("$lte", "2020-01-01", compare("f", "$lte", "2020-01-01")),
        ("$gt", True, compare("f", "$gt", True)),
        ("$gte", None, compare("f", "$gte", None)),
        ("$in", [1, "x", None, True], compare("f", "$in", 1, "x", None, True)),
        ("$in", [], compare("f", "$in")),
        ("$nin", ["x"], compare("f", "$nin", "x")),
        ("$text", "bos", compare("f", "$text", "bos")),
        ("$exists", False, compare("f", "$exists", False)),
    ],
    ids=str,
)
def test_every_operator_is_known(operator: str, operand: object, expected: Comparison) -> None:
    """Each documented operator is parsed. `$neq` is an alias of `$ne`."""
    assert parse_where({"f": {operator: operand}}) == expected


def test_the_operators_are_those_documented() -> None:
    """OPERATORS has exactly the documented operators."""
    assert sorted(OPERATORS) == [
        *("$eq", "$exists", "$gt", "$gte", "$in", "$lt", "$lte", "$ne", "$nin", "$text"),
    ]
