"""Query parameters that are refused, and strange ones that are not."""

import json
from typing import Any

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.raw import send_raw


def nested(depth: int) -> dict[str, Any]:
    """A condition of so many objects, one inside the other."""
    condition: dict[str, Any] = {"name": "x"}
    for _ in range(depth - 1):
        condition = {"$and": [condition]}
    return condition


NUMBERS = [
    *("-1", "1.5", "1.0", "1e9", "abc", "９", "٣", "0x10", "NaN", "true", "null", "1,2", "1 2"),
    *("--1", "+5"),
]

# Conditions that are wrong whatever the sheet's fields are.
CONDITIONS = [
    *("{", "}", "x", "{]", '{"name"', '{"name":}', '{"name":"x"}}', '{"name":"x",}', '"{}"x'),
    *('{"name":"a","name":"b"}', '{"name":{"$gt":"a","$gt":"b"}}'),
    *("[]", '["name"]', '"x"', "1", "true", "null", '[{"name":"x"}]'),
    *('{"name":["x"]}', '{"name":{}}', '{"name":{"$eq":["x"]}}', '{"name":{"$eq":{}}}'),
    *(
        '{"name":{"$regex":"x"}}',
        '{"name":{"$where":"x"}}',
        '{"name":{"gte":1}}',
        '{"name":{"":1}}',
    ),
    *('{"name":{"first":"x"}}', '{"name":{"$gte":1,"$nope":2}}', '{"name":{"$GTE":1}}'),
    *('{"$or":1}', '{"$or":[]}', '{"$or":{}}', '{"$or":[1]}', '{"$or":["name"]}', '{"$and":null}'),
    *('{"$not":1}', '{"$not":[]}', '{"name":{"$not":"x"}}', '{"name":{"$not":{}}}'),
    *('{"name":{"$in":"x"}}', '{"name":{"$in":{}}}', '{"name":{"$nin":null}}'),
    *('{"name":{"$in":[["x"]]}}', '{"name":{"$in":[{}]}}', '{"name":{"$gt":[1]}}'),
    *('{"name":{"$text":1}}', '{"name":{"$text":null}}', '{"name":{"$exists":1}}'),
    *('{"name":{"$exists":"true"}}', '{"population":NaN}', '{"population":{"$gt":Infinity}}'),
    *('{"population":1e999}', '{"population":' + "9" * 400 + "}", '{"population":{"$in":[1e999]}}'),
    json.dumps(nested(9)),
    json.dumps({"$or": [{"name": "x"}] * 51}),
    json.dumps({"name": {"$in": [{"$eq": 1}]}}),
    json.dumps({"name": "x" * 4096}),
]

# What names a field that is none; the header must be read to know.
UNKNOWN_FIELDS = [
    *(
        ("order", term)
        for term in ("nope", "--name", "name,nope", "NAME", "name desc", "name-", "1")
    ),
    ("where", '{"nope":1}'),
    ("where", '{"NAME":"x"}'),
    ("where", '{"__proto__":1}'),
    ("where", '{"name":"x","nope":1}'),
    ("where", '{"$or":[{"name":"x"},{"nope":{"$exists":false}}]}'),
    ("where", '{"$not":{"nope":1}}'),
    ("where", '{"$nor":1}'),
    ("where", '{"":1}'),
]

# What is wrong, and what the message says of it.
MENDED = [
    pytest.param("where", '{"name":"x"', "position 11", id="cut short"),
    pytest.param("where", "name=x", "position 0", id="not JSON"),
    *(pytest.param("where", text, "object", id=text) for text in ('"x"', "[]", "null")),
    *(
        pytest.param("where", text, "$eq, $ne, $lt, $lte, $gt, $gte, $in, $nin, $text, $exists")
        for text in ('{"name":{"$regex":"x"}}', '{"name":{"eq":"x"}}', '{"name":{}}')
    ),
    pytest.param("where", '{"name":{"$regex":"x"}}', "name.$regex", id="operator's place"),
    pytest.param("where", '{"nope":1}', '"name", "state", "country", "population"', id="fields"),
    pytest.param("where", '{"$or":[{"name":"x"},{"nope":1}]}', '"nope"', id="deep field"),
    pytest.param("where", '{"$nor":[{"name":1}]}', "$nor", id="combinator"),
    pytest.param("where", '{"$or":1}', "$or", id="or a number"),
    pytest.param("where", '{"$and":[]}', "$and", id="and of nothing"),
    pytest.param("where", '{"$and":[1]}', "$and[0]", id="and of a number"),
    pytest.param("where", '{"name":["x"]}', "name", id="list as value"),
    pytest.param("where", '{"name":{"$gte":["x"]}}', "$gte", id="list as operand"),
    pytest.param("where", '{"name":{"$in":"x"}}', "$in", id="in a string"),
    pytest.param("where", '{"name":{"$in":[{}]}}', "$in[0]", id="in an object"),
    pytest.param("where", '{"name":{"$text":1}}', "$text", id="text a number"),
    pytest.param("where", '{"name":{"$exists":"yes"}}', "$exists", id="exists a string"),
    pytest.param("where", '{"name":{"$not":1}}', "$not", id="not a number"),
    pytest.param("where", '{"population":NaN}', "NaN", id="NaN"),
    pytest.param("where", '{"population":1e999}', "finite", id="infinite"),
    pytest.param("where", json.dumps(nested(9)), "8", id="depth"),
    pytest.param("where", json.dumps({"$or": [{"name": "x"}] * 51}), "50", id="conditions"),
    pytest.param("where", json.dumps({"name": "x" * 4096}), "4096", id="length"),
    pytest.param("order", "name,nope", "nope", id="second field of an order"),
    pytest.param("order", "--name", "-name", id="two signs"),
]

STRANGE = [
    *(
        "limit=",
        "skip=&limit=&where=&order=&keys=",
        "limit=007",
        "limit=" + "9" * 5000,
    ),
    *("limit=1000000000", "skip=" + "9" * 30, "skip=00", "limit=5&limit=5", "where={}", "keys=["),
    *("keys=,,,", "keys=[]", "keys=nope", "keys=%00", "keys=%ff", "keys=[1]", 'keys=["name",1]'),
    *(
        "nope=1",
        "LIMIT=x",
        "Where={",
        "&&&",
        "=",
        "?",
        ";",
        "a=b=c",
        "%ff=%ff",
        "%00",
        "[]=1",
        "x[]=1",
    ),
    *("callback=x", "__proto__[x]=1", "limit%5b%5d=x", "no-cache=1", "fields=x", "page=-1"),
]


def test_what_is_not_a_number_is_told_so(shared_api: Api) -> None:
    """A limit or skip that is no whole number from 0 is refused, without a call."""
    answers = [
        shared_api.get("Cities", params={name: text})
        for name in ("limit", "skip")
        for text in NUMBERS
    ]

    assert {refused(answer) for answer in answers} == {(400, 4002)}
    assert {answer.json()["message"].split()[0] for answer in answers} == {"limit", "skip"}
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("where", CONDITIONS, ids=lambda where: where[:30])
def test_a_condition_that_is_not_understood_is_refused(shared_api: Api, where: str) -> None:
    """What cannot be a filter is never taken for "everything", and costs no call."""
    answer = shared_api.get("Cities", params={"where": where})

    assert refused(answer) == (400, 4002)
    assert "where" in answer.json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize(
    "where",
    ["[" * 4000, '{"a":' * 800, "[" * 2000 + "]" * 2000, '{"$not":' * 400 + "1" + "}" * 400],
    ids=["lists, open", "objects, open", "lists", "objects"],
)
def test_a_condition_nested_without_end_is_refused(shared_api: Api, where: str) -> None:
    """However deep it is nested, a condition is refused and not followed."""
    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities?where={where}")

    assert refused(answer) == (400, 4002)
    assert "where" in answer.json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("length", [8_000, 20_000, 60_000])
def test_a_url_that_is_too_long_is_refused(shared_api: Api, length: int) -> None:
    """A filter may be 4 KiB, a URL 8 KiB; longer ones end before they are looked at."""
    where = '{"name":"' + "x" * length + '"}'

    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities?where={where}")

    assert refused(answer) == ((400, 4002) if length == 8_000 else (414, 4140))


@pytest.mark.parametrize(("parameter", "value", "said"), MENDED)
def test_the_error_of_a_query_says_how_to_mend_it(
    shared_api: Api, parameter: str, value: str, said: str
) -> None:
    """The message has the place, and what is allowed there."""
    answer = shared_api.get("Cities", params={parameter: value})

    assert refused(answer) == (400, 4002)
    assert said in answer.json()["message"]


@pytest.mark.parametrize(("parameter", "value"), UNKNOWN_FIELDS)
def test_a_field_that_is_no_header_is_refused(shared_api: Api, parameter: str, value: str) -> None:
    """An unknown field in where or order is an error that names the fields; it costs one read."""
    answer = shared_api.get("Cities", params={parameter: value})

    assert refused(answer) == (400, 4002)
    assert '"name", "state", "country", "population"' in answer.json()["message"]
    assert shared_api.emulator.calls() == (1, 0)


@pytest.mark.parametrize("order", ["-", ",", "name,", ",name", "name,,state", "name,-", " ", "- "])
def test_an_order_without_a_field_is_refused(shared_api: Api, order: str) -> None:
    """A term that names nothing is told so, without a call."""
    answer = shared_api.get("Cities", params={"order": order})

    assert refused(answer) == (400, 4002)
    assert "order" in answer.json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2",
        "skip=0&skip=1",
        "order=name&order=state",
        "keys=name&keys=state",
        "where=%7B%22name%22:%22a%22%7D&where=%7B%22name%22:%22b%22%7D",
    ],
)
def test_two_different_values_of_a_parameter_are_refused(shared_api: Api, query: str) -> None:
    """Which of two values is meant is not guessed."""
    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities?{query}")

    assert refused(answer) == (400, 4002)
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("query", STRANGE, ids=lambda query: query[:30])
def test_a_strange_query_is_answered(shared_api: Api, query: str) -> None:
    """Empty parameters are absent, unknown ones and unknown keys are passed over."""
    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities?{query}")

    assert answer.status_code == 200
    assert set(answer.json()) == {"results", "hasNextPage"}
    assert all("rowIndex" in record for record in answer.json()["results"])
