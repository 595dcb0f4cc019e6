"""`where`, from decoded JSON to conditions, and what of it is refused."""

import json

import pytest

from gateway.errors import InvalidQuery
from gateway.query.operators import OPERATORS
from gateway.query.query import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Scalar,
    make_operand,
)
from gateway.query.where import MAX_CONDITIONS, MAX_DEPTH, parse_where


def compare(field: str, operator: str, *values: Scalar) -> Comparison:
    """A comparison with these operands."""
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
    """Fields and operators are AND, combinators combine."""
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
    """Each operator of the contract parses; `$neq` is `$ne`."""
    assert parse_where({"f": {operator: operand}}) == expected


def test_the_operators_are_the_contracts() -> None:
    """No operator is offered that the contract does not name."""
    assert sorted(OPERATORS) == [
        *("$eq", "$exists", "$gt", "$gte", "$in", "$lt", "$lte", "$ne", "$nin", "$text"),
    ]


def nested(depth: int) -> object:
    """`where` of that many objects, one in the other."""
    where: object = {"a": 1}
    for _ in range(depth - 1):
        where = {"$not": where}
    return where


def nested_in_field(depth: int) -> object:
    """The same with `$not` as an operator of a field."""
    criterion: object = {"$eq": 1}
    for _ in range(depth - 1):
        criterion = {"$not": criterion}
    return {"a": criterion}


def test_where_may_be_8_deep() -> None:
    """8 objects in each other are fine, however they are combined."""
    conditions = [parse_where(nested(MAX_DEPTH)), parse_where(nested_in_field(MAX_DEPTH))]

    for condition in conditions:
        negations = 0
        while isinstance(condition, Negation):
            condition, negations = condition.condition, negations + 1
        assert (negations, condition) == (7, A)


def test_where_may_hold_50_conditions() -> None:
    """50 comparisons are fine, wherever they stand."""
    where = {"$or": [{"a": {"$gt": 1, "$lt": 2}}] * 24 + [{"a": 1}, {"b": 2}]}

    condition = parse_where(where)

    assert isinstance(condition, AnyOf)
    assert len(condition.conditions) == MAX_CONDITIONS // 2 + 1


@pytest.mark.parametrize(
    ("where", "place"),
    [
        pytest.param([], "where must be a JSON object, not a list", id="list"),
        pytest.param("x", "where must be a JSON object, not a string", id="string"),
        pytest.param(None, "where must be a JSON object, not null", id="null"),
        pytest.param(True, "where must be a JSON object, not a boolean", id="boolean"),
        pytest.param(5, "where must be a JSON object, not a number", id="number"),
        pytest.param({"a": []}, "where.a takes one value, not a list", id="list of a field"),
        pytest.param({"a": {}}, "where.a holds no operator; allowed: $eq", id="no operator"),
        pytest.param({"a": {"b": 1}}, "where.a.b is not an operator; allowed: $eq", id="not one"),
        pytest.param({"a": {"$like": 1}}, "where.a.$like is not an operator", id="unknown"),
        pytest.param({"a": {"$GTE": 1}}, "where.a.$GTE is not an operator", id="case matters"),
        pytest.param({"$foo": {"a": 1}}, "where.$foo.a is not an operator", id="no combinator"),
        pytest.param({"a": {"$or": [1]}}, "where.a.$or is not an operator", id="or on a field"),
        pytest.param({"$and": {"a": 1}}, "where.$and takes a list of at least", id="and: object"),
        pytest.param({"$or": []}, "where.$or takes a list of at least", id="or: empty list"),
        pytest.param(
            {"$nor": [{"a": 1}]}, "where.$nor is not an operator; allowed: $and", id="nor"
        ),
        pytest.param({"$or": None}, "where.$or takes a list of at least", id="or: null"),
        pytest.param({"$or": [{}, 1]}, "where.$or[1] must be a JSON object", id="or: number in it"),
        pytest.param({"$not": [{"a": 1}]}, "where.$not must be a JSON object", id="not: list"),
        pytest.param({"a": {"$not": 1}}, "where.a.$not takes an object", id="field not: number"),
        pytest.param({"a": {"$not": {}}}, "where.a.$not holds no operator", id="field not: empty"),
        pytest.param({"a": {"$gt": [1]}}, "where.a.$gt takes one value, not a list", id="range"),
        pytest.param(
            {"a": {"$eq": {}}}, "where.a.$eq takes one value, not an obj", id="eq: object"
        ),
        pytest.param({"a": {"$in": "x"}}, "where.a.$in takes a list of values", id="in: string"),
        pytest.param({"a": {"$nin": None}}, "where.a.$nin takes a list of values", id="nin: null"),
        pytest.param({"a": {"$in": [1, [2]]}}, "where.a.$in[1] takes one value", id="in: nested"),
        pytest.param({"a": {"$text": 5}}, "where.a.$text takes a string", id="text: number"),
        pytest.param({"a": {"$text": None}}, "where.a.$text takes a string", id="text: null"),
        pytest.param({"a": {"$exists": 1}}, "where.a.$exists takes true or", id="exists: number"),
        pytest.param({"a": float("nan")}, "where.a is not a finite number", id="NaN"),
        pytest.param({"a": {"$lt": float("-inf")}}, "where.a.$lt is not a finite", id="infinite"),
        pytest.param({"a": 10**400}, "where.a is not a finite number", id="beyond every double"),
        pytest.param(nested(MAX_DEPTH + 1), "where is nested deeper than 8", id="9 deep"),
        pytest.param(nested_in_field(MAX_DEPTH + 1), "where is nested deeper", id="9 deep, field"),
        pytest.param(
            {"$and": [{"a": 1}] * (MAX_CONDITIONS + 1)},
            "more than 50 conditions",
            id="51 conditions",
        ),
    ],
)
def test_what_is_not_understood_is_refused(where: object, place: str) -> None:
    """An InvalidQuery names the place; nothing is passed over, so never everything matches."""
    with pytest.raises(InvalidQuery) as refused:
        parse_where(where)

    assert place in refused.value.message
