"""The parameters of a list, one by one, as the contract's table of *List parameters* says."""

import json
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway

MIXED = ["zip", "price", "share", "text", "nothing", "count"]


def nested(depth: int) -> str:
    """A `where` of so many objects, one in the other."""
    return '{"$not":' * (depth - 1) + '{"label":"zip"}' + "}" * (depth - 1)


def conditions(count: int) -> str:
    """A `where` of so many conditions that every row of `Mixed` meets."""
    return json.dumps({"$and": [{"label": {"$ne": f"no {each}"}} for each in range(count)]})


def sized(count: int) -> str:
    """A `where` of so many bytes that every row of `Mixed` meets."""
    empty = '{"label":{"$ne":""}}'
    return empty.replace('""', '"' + "x" * (count - len(empty)) + '"')


def listed(api: Api, path: str, **parameters: str) -> list[dict[str, Any]]:
    answer = api.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.mark.parametrize(
    ("parameters", "rows", "has_next"),
    [
        pytest.param({"limit": "0"}, [], True, id="limit-0"),
        pytest.param({"limit": "0", "skip": "130"}, [], False, id="limit-0-at-the-end"),
        pytest.param({"limit": "1"}, [2], True, id="limit-1"),
        pytest.param({"limit": "", "skip": "110"}, list(range(112, 132)), False, id="empty-limit"),
        pytest.param({"limit": "007"}, list(range(2, 9)), True, id="leading-zeros"),
        pytest.param({"skip": "", "limit": "2"}, [2, 3], True, id="empty-skip"),
        pytest.param({"skip": "0", "limit": "2"}, [2, 3], True, id="skip-0"),
        pytest.param({"skip": "127", "limit": "2"}, [129, 130], True, id="last-page-but-one"),
        pytest.param({"skip": "128", "limit": "2"}, [130, 131], False, id="last-page"),
        pytest.param({"skip": "129", "limit": "2"}, [131], False, id="last-row"),
        pytest.param({"skip": "130"}, [], False, id="at-the-end"),
        pytest.param({"skip": "9" * 5000}, [], False, id="far-past-the-end"),
        pytest.param({"order": "-rowIndex", "limit": "2"}, [131, 130], True, id="order-then-page"),
        pytest.param(
            {"where": '{"number":{"$gt":127}}', "skip": "1", "limit": "2"},
            [130, 131],
            False,
            id="where-then-page",
        ),
    ],
)
def test_pages(
    reading_api: Api, parameters: dict[str, str], rows: list[int], has_next: bool
) -> None:
    """`skip` and `limit` cut the page out, and hasNextPage is true while rows remain."""
    page = reading_api.get("Long", params=parameters).json()

    assert [record["rowIndex"] for record in page["results"]] == rows
    assert page["hasNextPage"] is has_next


@pytest.mark.parametrize("name", ["limit", "skip"])
@pytest.mark.parametrize("value", ["-1", "1.0", "1e2", "ten", "0x10", "９", "+5", "1 2", "null"])
def test_counts_that_are_none_are_refused(reading_api: Api, name: str, value: str) -> None:
    """A `limit` or `skip` that is no whole number from 0 is 400, and names the parameter."""
    answer = reading_api.get("Long", params={name: value})

    assert (answer.status_code, answer.json()["code"]) == (400, 4002)
    assert name in answer.json()["message"]


@pytest.mark.parametrize(
    ("worksheet", "keys", "expected"),
    [
        pytest.param("Mixed", "done,label", {"label": "zip", "done": "TRUE"}, id="names"),
        pytest.param("Mixed", " done , label ", {"label": "zip", "done": "TRUE"}, id="blanks"),
        pytest.param("Mixed", '["done","label"]', {"label": "zip", "done": "TRUE"}, id="array"),
        pytest.param("Mixed", "label,unknown", {"label": "zip"}, id="unknown-passed-over"),
        pytest.param("Mixed", "unknown", {}, id="only-unknown"),
        pytest.param("Mixed", "rowIndex,label", {"label": "zip"}, id="rowIndex"),
        pytest.param("Mixed", ",,,", {}, id="commas"),
        pytest.param(
            "Mixed",
            "",
            {"label": "zip", "value": "007", "when": "2020-01-01", "done": "TRUE"},
            id="empty",
        ),
        pytest.param("Spaced", "name", {" name ": "a"}, id="trimmed"),
        pytest.param("Commas", '["a,b"]', {"a,b": "1"}, id="name-with-a-comma"),
        pytest.param("RowIndex", "rowIndex", {}, id="column-named-rowIndex"),
    ],
)
def test_keys(reading_api: Api, worksheet: str, keys: str, expected: dict[str, str | None]) -> None:
    """`keys` leaves the named fields, in sheet order; rowIndex is always there."""
    first = listed(reading_api, worksheet, keys=keys, limit="1")[0]
    row = reading_api.get(f"{worksheet}/2", params={"keys": keys}).json()

    assert list(first.items()) == [("rowIndex", 2), *expected.items()]
    assert row == first


def test_keys_do_not_narrow_the_search(reading_api: Api) -> None:
    """A list may search and sort by fields that its answer does not hold."""
    found = listed(
        reading_api, "Mixed", keys="label", where='{"done":true}', order="-value", limit="1"
    )

    assert found == [{"rowIndex": 2, "label": "zip"}]


@pytest.mark.parametrize(
    ("parameter", "value", "named"),
    [
        pytest.param("order", "unknown", '"label"', id="order-unknown"),
        pytest.param("order", "label,unknown", "unknown", id="order-second-unknown"),
        pytest.param("order", "--label", "-label", id="order-two-signs"),
        pytest.param("order", "-", "order", id="order-sign-only"),
        pytest.param("order", "label,,done", "order", id="order-gap"),
        pytest.param("where", '{"unknown":1}', '"label"', id="where-unknown"),
        pytest.param(
            "where", '{"$or":[{"label":1},{"unknown":1}]}', "unknown", id="where-deep-unknown"
        ),
        pytest.param("where", '{"label":{"$regex":"."}}', "$gte", id="where-operator"),
        pytest.param("where", '{"label":{"eq":"."}}', "$gte", id="where-no-operator"),
        pytest.param("where", '{"$nor":[{"label":1}]}', "$nor", id="where-combinator"),
        pytest.param("where", '{"label":{}}', "$gte", id="where-no-operators"),
        pytest.param("where", '{"label":"zip"', "position 14", id="where-cut-short"),
        pytest.param("where", "label=zip", "position 0", id="where-not-json"),
        pytest.param("where", '"zip"', "object", id="where-a-string"),
        pytest.param("where", "[]", "object", id="where-a-list"),
        pytest.param("where", "null", "object", id="where-null"),
        pytest.param("where", '{"$or":1}', "$or", id="where-or-a-number"),
        pytest.param("where", '{"$and":[]}', "$and", id="where-and-of-nothing"),
        pytest.param("where", '{"$and":[1]}', "$and[0]", id="where-and-of-a-number"),
        pytest.param("where", '{"label":["zip"]}', "label", id="where-a-list-as-value"),
        pytest.param("where", '{"label":{"$gte":["zip"]}}', "$gte", id="where-a-list-as-operand"),
        pytest.param("where", '{"label":{"$in":"zip"}}', "$in", id="where-in-a-string"),
        pytest.param("where", '{"label":{"$in":[{}]}}', "$in[0]", id="where-in-an-object"),
        pytest.param("where", '{"label":{"$text":1}}', "$text", id="where-text-a-number"),
        pytest.param("where", '{"label":{"$exists":"yes"}}', "$exists", id="where-exists-a-string"),
        pytest.param("where", '{"label":{"$not":1}}', "$not", id="where-not-a-number"),
        pytest.param("where", '{"value":NaN}', "NaN", id="where-nan"),
        pytest.param("where", '{"value":1e999}', "finite", id="where-infinite"),
        pytest.param("where", nested(9), "8", id="where-too-deep"),
        pytest.param("where", "[" * 2000, "where", id="where-far-too-deep"),
        pytest.param("where", conditions(51), "50", id="where-too-many-conditions"),
        pytest.param("where", sized(4097), "4096", id="where-too-long"),
    ],
)
def test_what_is_not_understood_is_refused(
    reading_api: Api, parameter: str, value: str, named: str
) -> None:
    """A search or order that makes no sense is 400 and says what is wrong, never everything."""
    answer = reading_api.get("Mixed", params={parameter: value})

    assert (answer.status_code, answer.json()["code"]) == (400, 4002)
    assert named in answer.json()["message"]


@pytest.mark.parametrize(
    "where",
    [nested(7), conditions(50), sized(4096)],
    ids=["seven-deep", "fifty-conditions", "four-kibibytes"],
)
def test_searches_at_their_limits_are_answered(reading_api: Api, where: str) -> None:
    """A search as deep, as long and of as many conditions as allowed is carried out."""
    found = listed(reading_api, "Mixed", where=where)

    assert [record["label"] for record in found] == (["zip"] if "zip" in where else MIXED)


def test_the_deepest_search_is_answered(reading_api: Api) -> None:
    """Eight objects, one in the other, are allowed."""
    found = listed(reading_api, "Mixed", where=nested(8))

    assert [record["label"] for record in found] == MIXED[1:]


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"where": '{"state":"Texas"}'}, id="where"),
        pytest.param({"where": "{}"}, id="where-everything"),
        pytest.param({"order": "name"}, id="order"),
        pytest.param({"order": "rowIndex"}, id="order-by-row"),
    ],
)
def test_search_and_order_are_never_dropped(reading_api: Api, parameters: dict[str, str]) -> None:
    """On a plan without them `where` and `order` are 403 4034, not a list of everything."""
    answer = reading_api.get("Cities", key="free", params=parameters)

    assert (answer.status_code, answer.json()["code"]) == (403, 4034)


def test_empty_parameters_are_absent(reading_api: Api) -> None:
    """An empty parameter is none at all, so that also the free plan may send it."""
    empty = dict.fromkeys(("where", "order", "limit", "skip", "keys"), "")
    answer = reading_api.get("Cities", key="free", params=empty)

    assert answer.text == reading_api.get("Cities").text


@pytest.mark.parametrize("name", ["foo", "Limit", "filter", "page", "_", "key"])
def test_unknown_parameters_are_passed_over(reading_api: Api, name: str) -> None:
    """Parameters that the API does not know change nothing."""
    answer = reading_api.get("Cities", params={name: "1"})

    assert answer.text == reading_api.get("Cities").text


def test_search_and_order_can_be_allowed(open_gateway: OpenGateway) -> None:
    """What a plan may do is a setting."""
    api = open_gateway({"plans.free.where_and_order": True, "plans.paid.where_and_order": False})
    free = api.get("Cities", key="free", params={"order": "-name", "limit": "1", "keys": "name"})
    paid = api.get("Cities", params={"order": "-name"})

    assert free.json()["results"] == [{"rowIndex": 11, "name": "San Jose"}]
    assert paid.status_code == 403


@pytest.mark.parametrize(
    ("maximum", "limit", "count"),
    [
        pytest.param(5, None, 5, id="below-the-default"),
        pytest.param(5, "100", 5, id="cut"),
        pytest.param(5, "4", 4, id="under-it"),
        pytest.param(120, None, 24, id="default-stays"),
        pytest.param(120, "125", 120, id="above-the-usual"),
    ],
)
def test_the_maximum_is_the_plans(
    open_gateway: OpenGateway, maximum: int, limit: str | None, count: int
) -> None:
    """`max_limit` of the key's plan is the most rows of a list; other plans keep theirs."""
    api = open_gateway({"plans.paid.max_limit": maximum})
    page = api.get("Long", params={} if limit is None else {"limit": limit}).json()
    other = api.get("Long", key="free", params={"limit": "100"}).json()

    assert (len(page["results"]), page["hasNextPage"]) == (count, True)
    assert len(other["results"]) == 100


@pytest.mark.parametrize(
    ("parameters", "headers"),
    [
        pytest.param({"no-cache": "true"}, {}, id="parameter"),
        pytest.param({}, {"Cache-Control": "no-cache"}, id="header"),
    ],
)
def test_fresh_data_can_be_asked_for(
    api: Api, parameters: dict[str, str], headers: dict[str, str]
) -> None:
    """A list that asks for fresh data shows what a person has changed since the last look."""
    first = api.get("HeaderOnly").json()
    title = list(api.emulator.everything()).index("HeaderOnly")
    cell = {"userEnteredValue": {"stringValue": "by hand"}}
    edit = {
        "requests": [
            {"appendCells": {"sheetId": title, "fields": "*", "rows": [{"values": [cell]}]}}
        ]
    }
    api.emulator.faults({"call": "*", "edit": edit})
    second = api.get("HeaderOnly", params=parameters, headers=headers).json()

    assert first["results"] == []
    assert second["results"] == [{"rowIndex": 2, "name": "by hand", "amount": None}]
