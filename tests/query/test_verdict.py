"""Tests of conditions that match every row or no row, for any content of cells."""

import json

import pytest
from hypothesis import given

from gateway.query.operators import verdict
from gateway.query.query import parse_where
from tests.query.test_evaluate_reference import ROWS, WHERE, Rows, run

ALWAYS: list[object] = [
    {"name": {"$text": ""}},
    {"name": {"$nin": []}},
    {"name": {"$not": {"$in": []}}},
    {"$not": {"name": {"$in": []}}},
    {"$not": {"name": {"$gt": None}}},
    {"$not": {"name": {"$lte": ""}}},
    {"$not": {"done": {"$lt": False}}},
    {"done": {"$not": {"$gt": True}}},
    {"name": {"$text": "", "$nin": []}},
    {"name": {"$text": ""}, "state": {"$nin": []}},
    {"$and": [{"name": {"$text": ""}}, {"state": {"$nin": []}}]},
    {"$or": [{"state": "x"}, {"name": {"$text": ""}}]},
    {"$or": [{"rowIndex": 2}, {"name": {"$nin": []}}]},
    {"$or": [{"name": {"$in": []}}, {"name": {"$text": ""}}]},
    {"$not": {"$and": [{"state": "x"}, {"name": {"$in": []}}]}},
    {"$not": {"$not": {"name": {"$text": ""}}}},
    {"$not": {"$or": [{"name": {"$in": []}}, {"name": {"$lt": ""}}]}},
    {"rowIndex": {"$nin": []}},
    {"rowIndex": {"$nin": [None, "", "x", 0]}},
    {"rowIndex": {"$text": ""}},
    {"rowIndex": {"$ne": None}},
    {"rowIndex": {"$ne": ""}},
    {"rowIndex": {"$ne": 0}},
    {"rowIndex": {"$ne": True}},
    {"rowIndex": {"$not": {"$gt": None}}},
    {"rowIndex": {"$not": {"$lt": "x"}}},
    {"$not": {"rowIndex": {"$in": []}}},
]
DEPENDS: list[object] = [
    {"name": ""},
    {"name": {"$eq": None}},
    {"name": {"$ne": "x"}},
    {"name": {"$text": "x"}},
    {"name": {"$text": " "}},
    {"name": {"$nin": [None]}},
    {"name": {"$exists": True}},
    {"done": {"$lt": True}},
    {"done": {"$gt": False}},
    {"done": {"$gte": False}},
    {"count": {"$lt": 0}},
    {"count": {"$gt": 1}},
    {"$not": {"name": "x"}},
    {"state": "x", "name": {"$text": ""}},
    {"$or": [{"state": "x"}, {"name": {"$in": []}}]},
    {"$or": [{"name": {"$exists": True}}, {"name": {"$exists": False}}]},
    {"rowIndex": {"$nin": [2, None]}},
    {"rowIndex": {"$ne": "2"}},
    {"rowIndex": {"$text": "1"}},
]
NEVER: list[object] = [
    {"name": {"$in": []}},
    {"name": {"$gt": None}},
    {"$not": {"name": {"$text": ""}}},
    {"state": "x", "name": {"$in": []}},
    {"rowIndex": {"$in": [None, 1]}},
]
ALL_ON_PURPOSE: list[object] = [
    {"rowIndex": {"$gte": 2}},
    {"rowIndex": {"$gte": "2"}},
    {"rowIndex": {"$gt": 0}},
    {"rowIndex": {"$exists": True}},
    {"rowIndex": {"$not": {"$lt": 2}}},
    {"rowIndex": {"$gte": 2}, "name": {"$text": ""}},
]


@pytest.mark.parametrize(
    ("where", "decided"),
    [
        *((where, True) for where in ALWAYS),
        *((where, False) for where in NEVER),
        *((where, None) for where in [*DEPENDS, *ALL_ON_PURPOSE]),
    ],
    ids=json.dumps,
)
def test_a_verdict_depends_on_the_structure_only(where: object, decided: bool | None) -> None:
    """`verdict` is True or False only for conditions that ignore cells. Ranges of `rowIndex`
    give None.
    """
    assert verdict(parse_where(where)) is decided


@given(ROWS, WHERE)
def test_a_verdict_holds_for_all_rows(rows: Rows, where: dict[str, object]) -> None:
    """A condition with the verdict True matches every row of any table. With False it matches
    no row.
    """
    decided = verdict(parse_where(where))

    if decided is not None:
        assert run(rows, where, []) == (run(rows, {}, []) if decided else [])
