"""Search and order on cells of every kind, as the contract's *Comparison* and *Order* say."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.journeys.conftest import Api

LABELS = {
    "Mixed": ["zip", "price", "share", "text", "nothing", "count"],
    "Texts": [
        *("digits", "padded", "comma", "plus", "wide", "huge", "infinite", "exponent"),
        *("number", "money", "minus", "upper", "lower", "same", "long", "empty"),
    ],
    "Moments": ["us", "noon", "later", "text", "number", "empty"],
}
NUMBERS = ["digits", "exponent", "number", "money"]
"""What is 1250 in the worksheet `Texts`: text that is a number, and numbers in any format."""


def labels(api: Api, worksheet: str, **parameters: str) -> list[Any]:
    answer = api.get(worksheet, params={**parameters, "keys": "label"})
    assert answer.status_code == 200, answer.text
    return [record["label"] for record in answer.json()["results"]]


def without(worksheet: str, *left_out: str) -> list[str]:
    return [label for label in LABELS[worksheet] if label not in left_out]


@pytest.mark.parametrize(
    ("worksheet", "where", "expected"),
    [
        ("Mixed", {"label": "zip"}, ["zip"]),
        ("Mixed", {"label": "ZIP"}, []),
        ("Mixed", {"label": {"$eq": "zip"}}, ["zip"]),
        ("Mixed", {"label": {"$ne": "zip"}}, without("Mixed", "zip")),
        ("Mixed", {"label": {"$neq": "zip"}}, without("Mixed", "zip")),
        ("Mixed", {"value": {"$lt": 1250}}, ["share"]),
        ("Mixed", {"value": {"$lte": 1250}}, ["share", "count"]),
        ("Mixed", {"value": {"$gt": 1250}}, ["price"]),
        ("Mixed", {"value": {"$gte": 1250}}, ["price", "count"]),
        ("Mixed", {"value": {"$gt": 0.5, "$lt": 1250.5}}, ["count"]),
        ("Mixed", {"value": {"$in": [0.5, "007", None]}}, ["zip", "share", "nothing"]),
        ("Mixed", {"value": {"$in": []}}, []),
        ("Mixed", {"value": {"$nin": [0.5, "007", None]}}, ["price", "text", "count"]),
        ("Mixed", {"value": {"$nin": []}}, LABELS["Mixed"]),
        ("Mixed", {"label": {"$text": "I"}}, ["zip", "price", "nothing"]),
        ("Mixed", {"value": {"$text": "250"}}, ["price", "count"]),
        ("Mixed", {"value": {"$exists": True}}, without("Mixed", "nothing")),
        ("Mixed", {"value": {"$exists": False}}, ["nothing"]),
        ("Mixed", {}, LABELS["Mixed"]),
        ("Mixed", {"done": True, "when": {"$exists": True}}, ["zip"]),
        ("Mixed", {"$and": [{"done": True}, {"value": 0.5}]}, ["share"]),
        ("Mixed", {"$or": [{"value": 0.5}, {"label": "zip"}]}, ["zip", "share"]),
        ("Mixed", {"$not": {"label": "zip"}}, without("Mixed", "zip")),
        ("Mixed", {"value": {"$not": {"$gte": 1250}}}, without("Mixed", "price", "count")),
        ("Mixed", {"$or": [{"label": "zip"}], "done": False}, []),
        ("Mixed", {"rowIndex": 3}, ["price"]),
        ("Mixed", {"rowIndex": "3"}, ["price"]),
        ("Mixed", {"rowIndex": {"$gte": 4, "$ne": 6}}, ["share", "text", "count"]),
        ("Mixed", {"rowIndex": {"$in": [2, 7, 8]}}, ["zip", "count"]),
        # A number: number cells, and texts that are exactly its plain notation.
        ("Texts", {"value": 1250}, ["digits", "number", "money"]),
        ("Texts", {"value": 1250.0}, ["digits", "number", "money"]),
        ("Texts", {"value": 7}, []),
        ("Texts", {"value": 123}, []),
        ("Texts", {"value": {"$gte": 0}}, NUMBERS),
        ("Texts", {"value": {"$lt": 0}}, ["minus"]),
        ("Mixed", {"value": 0.5}, ["share"]),
        ("Moments", {"at": 44377}, ["number"]),
        # A string: the displayed text, or number cells of the number in any plain spelling.
        ("Texts", {"value": "1250"}, ["digits", "number", "money"]),
        ("Texts", {"value": "1,250"}, ["comma"]),
        ("Texts", {"value": "$1,250.00"}, ["money"]),
        ("Texts", {"value": "1250.00"}, ["number", "money"]),
        ("Texts", {"value": {"$ne": "1.25E+3"}}, without("Texts", "number", "money")),
        ("Texts", {"value": "007"}, ["padded"]),
        ("Texts", {"value": "+441632960000"}, ["plus"]),
        ("Texts", {"value": "１２３"}, ["wide"]),
        ("Texts", {"value": "1e400"}, ["huge"]),
        ("Texts", {"value": "inf"}, ["infinite"]),
        ("Mixed", {"value": "nan"}, ["text"]),
        ("Mixed", {"value": "0.5"}, ["share"]),
        ("Mixed", {"value": "50%"}, ["share"]),
        ("Mixed", {"value": "1250.5"}, ["price"]),
        # Ranges of strings: in the class of the string, as `order` sorts it.
        ("Texts", {"value": {"$gte": 1250}}, NUMBERS),
        ("Texts", {"value": {"$gte": "1250"}}, ["digits", "number", "money"]),
        ("Texts", {"value": {"$lt": "1250"}}, ["exponent", "minus"]),
        ("Texts", {"value": {"$lte": "-1"}}, ["minus"]),
        ("Texts", {"value": {"$gte": "B"}}, ["wide", "infinite", "upper", "long"]),
        ("Texts", {"value": {"$gt": "a"}}, ["wide", "infinite", "upper", "long"]),
        ("Texts", {"value": {"$lt": "1"}}, ["minus"]),
        ("Texts", {"value": {"$lt": "A"}}, ["padded", "comma", "plus", "huge"]),
        ("Mixed", {"value": {"$gte": "2020-01-01"}}, []),
        # Booleans: boolean cells; a text matches the cells that display it.
        ("Mixed", {"done": True}, ["zip", "share"]),
        ("Mixed", {"done": False}, ["price"]),
        ("Mixed", {"done": "TRUE"}, ["zip", "share", "count"]),
        ("Mixed", {"done": {"$ne": True}}, ["price", "text", "nothing", "count"]),
        ("Mixed", {"value": True}, []),
        ("Mixed", {"done": 1}, []),
        # null and "": empty cells, which meet no range.
        ("Mixed", {"when": None}, ["share", "nothing"]),
        ("Mixed", {"when": ""}, ["share", "nothing"]),
        ("Mixed", {"when": {"$ne": None}}, without("Mixed", "share", "nothing")),
        ("Mixed", {"value": {"$lt": 1e9}}, ["price", "share", "count"]),
        ("Mixed", {"value": {"$gte": None}}, []),
        ("Mixed", {"value": {"$lt": ""}}, []),
        ("Mixed", {"value": {"$ne": 0.5}}, without("Mixed", "share")),
        # Dates and times: date cells in any format, by the clock on the wall.
        ("Moments", {"at": "2021-06-30"}, ["us", "text"]),
        ("Moments", {"at": "6/30/2021"}, ["us"]),
        ("Moments", {"at": "2021-06-30T12:00:00"}, ["noon"]),
        ("Moments", {"at": "2021-06-30T12:00"}, ["noon"]),
        ("Moments", {"at": "2021-06-30T12:00:00Z"}, ["noon"]),
        ("Moments", {"at": "2021-06-30T12:00:00+02:00"}, ["noon"]),
        ("Moments", {"at": "2021-06-30T12:00:00.0004"}, ["noon"]),
        ("Moments", {"at": "2021-06-30T12:00:00.002"}, []),
        ("Moments", {"at": {"$gte": "2021-06-30T12:00:00"}}, ["noon", "later"]),
        ("Moments", {"at": {"$gt": "2021-06-30"}}, ["noon", "later"]),
        ("Moments", {"at": {"$lte": "2021-06-30"}}, ["us", "text"]),
        ("Moments", {"at": {"$lt": "2021-06-30"}}, []),
        ("Moments", {"at": {"$gte": "2021-06-30", "$lt": "2021-07-01"}}, ["us", "noon", "text"]),
        ("Moments", {"at": {"$in": ["2021-07-01", None]}}, ["later", "empty"]),
    ],
    ids=str,
)
def test_conditions(
    reading_api: Api, worksheet: str, where: object, expected: Sequence[str]
) -> None:
    """Operators find their rows; cells compare with an operand according to both kinds."""

    assert labels(reading_api, worksheet, where=json.dumps(where)) == expected


@pytest.mark.parametrize(
    ("worksheet", "order", "expected"),
    [
        ("Mixed", "value", ["share", "count", "price", "zip", "text", "nothing"]),
        ("Mixed", "-value", ["text", "zip", "price", "count", "share", "nothing"]),
        ("Mixed", "done", ["count", "price", "zip", "share", "text", "nothing"]),
        ("Mixed", "-done", ["zip", "share", "price", "count", "text", "nothing"]),
        ("Mixed", "when", ["count", "zip", "text", "price", "share", "nothing"]),
        ("Mixed", "-when", ["price", "text", "zip", "count", "share", "nothing"]),
        ("Mixed", "-rowIndex", LABELS["Mixed"][::-1]),
        ("Mixed", "done,-value", ["count", "price", "zip", "share", "text", "nothing"]),
        ("Mixed", "-done,value", ["share", "zip", "price", "count", "text", "nothing"]),
        ("Mixed", " -done , value ", ["share", "zip", "price", "count", "text", "nothing"]),
        (
            "Texts",
            "value",
            [
                *("minus", "number", "money", "exponent", "digits"),
                *("plus", "padded", "comma", "huge", "same", "lower", "upper", "long"),
                *("infinite", "wide", "empty"),
            ],
        ),
        (
            "Texts",
            "-value",
            [
                *("wide", "infinite", "long", "upper", "lower", "same", "huge", "comma"),
                *("padded", "plus", "digits", "exponent", "number", "money", "minus", "empty"),
            ],
        ),
        ("Moments", "at", ["number", "us", "text", "noon", "later", "empty"]),
    ],
    ids=str,
)
def test_order(reading_api: Api, worksheet: str, order: str, expected: Sequence[str]) -> None:
    """By class and value, `-` the other way round; empty last; ties as they lie."""

    assert labels(reading_api, worksheet, order=order) == expected


@pytest.mark.parametrize(
    ("path", "where", "rows"),
    [
        pytest.param("BlankRow", {"name": None}, [3], id="blank-row"),
        pytest.param("Totals", {"amount": 3}, [5], id="totals-below-a-gap"),
        pytest.param("Totals", {"name": {"$exists": False}}, [4, 5], id="empty-cells"),
        pytest.param("Duplicates", {"name": "second"}, [], id="later-duplicate-is-no-field"),
        pytest.param("Spaced", {"name": "a"}, [2], id="trimmed-name"),
        pytest.param("Spaced", {" name ": "a"}, [2], id="name-as-written"),
        pytest.param("RowIndex", {"rowIndex": 2}, [2], id="rowIndex-is-the-row"),
        pytest.param("RowIndex", {"rowIndex": 99}, [], id="rowIndex-is-no-column"),
        pytest.param("BlankFirst", {"amount": {"$gte": 2}}, [3], id="blank-first-header"),
        pytest.param("HeaderOnly", {"name": None}, [], id="no-rows"),
    ],
)
def test_searching_odd_worksheets(
    reading_api: Api, path: str, where: object, rows: list[int]
) -> None:
    """Search finds the right rows also where headers are odd and rows are blank."""
    page = reading_api.get(path, params={"where": json.dumps(where)}).json()

    assert [record["rowIndex"] for record in page["results"]] == rows
    assert page["hasNextPage"] is False
