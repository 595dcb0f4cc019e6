"""The parameters of a list, one by one, as the contract's table of *List parameters* says."""

import json
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused

MIXED = ["zip", "price", "share", "text", "nothing", "count"]


def nested(depth: int) -> str:
    """A `where` of this depth."""
    return '{"$not":' * (depth - 1) + '{"label":"zip"}' + "}" * (depth - 1)


def conditions(count: int) -> str:
    """A `where` with this many conditions that every row of `Mixed` meets."""
    return json.dumps({"$and": [{"label": {"$ne": f"no {each}"}} for each in range(count)]})


def sized(count: int) -> str:
    """A `where` of this many bytes that every row of `Mixed` meets."""
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


@pytest.mark.parametrize(
    ("worksheet", "keys", "expected"),
    [
        pytest.param("Mixed", "done,label", {"label": "zip", "done": "TRUE"}, id="names"),
        pytest.param("Mixed", " done , label ", {"label": "zip", "done": "TRUE"}, id="blanks"),
        pytest.param("Mixed", '["done","label"]', {"label": "zip", "done": "TRUE"}, id="array"),
        pytest.param("Mixed", "label,unknown", {"label": "zip"}, id="unknown-passed-over"),
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
    ("where", "expected"),
    [
        pytest.param(nested(7), ["zip"], id="seven-deep"),
        pytest.param(nested(8), MIXED[1:], id="eight-deep"),
        pytest.param('{"$and":[' * 7 + '{"label":"zip"}' + "]}" * 7, ["zip"], id="eight-joined"),
        pytest.param(conditions(50), MIXED, id="fifty-conditions"),
        pytest.param(sized(4096), MIXED, id="four-kibibytes"),
    ],
)
def test_searches_at_their_limits_are_answered(
    reading_api: Api, where: str, expected: list[str]
) -> None:
    """A search as deep, as long and of as many conditions as allowed is carried out."""
    found = listed(reading_api, "Mixed", where=where)

    assert [record["label"] for record in found] == expected


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
    """An empty parameter is absent, so that even the free plan may send it."""
    empty = dict.fromkeys(("where", "order", "limit", "skip", "keys"), "")
    answer = reading_api.get("Cities", key="free", params=empty)

    assert answer.text == reading_api.get("Cities").text


def test_keys_without_a_field_are_refused(reading_api: Api) -> None:
    """The error lists the fields, also where no row would be answered."""
    answers = [
        reading_api.get(f"Mixed{path}", params={"keys": "unknown", **more})
        for path, more in (("", {}), ("/2", {}), ("", {"limit": "0"}), ("", {"skip": "999"}))
    ]

    assert {refused(answer) for answer in answers} == {(400, 4002)}
    assert all('"label", "value", "when"' in answer.json()["message"] for answer in answers)


@pytest.mark.parametrize("name", ["foo", "lang", "_", "key"])
def test_unknown_parameters_are_passed_over(reading_api: Api, name: str) -> None:
    """Words that neither this API nor another service knows change nothing."""
    answer = reading_api.get("Cities", params={name: "1"})

    assert answer.text == reading_api.get("Cities").text


def test_search_and_order_can_be_allowed(open_gateway: OpenGateway) -> None:
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
