"""The specification's own words on ten cities that came in through the API."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk, running_gateways
from tests.journeys.workbook import CITIES

HEADER, *LINES = [line.split(",") for line in CITIES.splitlines()]
SENT: list[dict[str, Any]] = [
    {"name": name, "state": state, "country": country, "population": int(population)}
    for name, state, country, population in LINES
]
SHOWN = [
    {"rowIndex": row} | dict(zip(HEADER, line, strict=True)) for row, line in enumerate(LINES, 2)
]
NEW_YORK = (
    '{"rowIndex":2,"name":"New York","state":"New York","country":"USA","population":"8804190"}'
)
BY_POPULATION = sorted(SHOWN, key=lambda city: int(str(city["population"])))


@pytest.fixture(scope="module")
def filled(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """A gateway whose worksheet `New` got the cities; tests that write use other worksheets."""
    with running_gateways(emulator, access) as start:
        api = start()
        for city in SENT:
            assert api.post("New", json=city).status_code == 201
        yield api


def listed(api: Api, **parameters: str) -> list[dict[str, Any]]:
    answer = api.get("New", params=parameters)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def names(cities: list[dict[str, Any]]) -> list[Any]:
    return [city["name"] for city in cities]


def test_a_created_row_is_answered_201_with_its_row_and_the_fields_sent(filled: Api) -> None:
    """A create answers 201 and the new row's rowIndex, a number, before the fields that it sent."""
    answer = filled.post("Cities", json={"name": "Austin", "population": 961855})

    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.text == '{"rowIndex":12,"name":"Austin","population":"961855"}'


def test_rows_are_added_at_the_end_of_the_worksheet(filled: Api) -> None:
    """Rows that were created one after the other follow each other in the worksheet."""

    assert filled.emulator.texts("New") == [HEADER, *LINES]


def test_a_row_is_read_with_all_its_cells(filled: Api) -> None:
    """Reading a row gives rowIndex first and then every cell in the order of the headers."""
    answer = filled.get("New/2")

    assert answer.status_code == 200
    assert answer.text == NEW_YORK


def test_all_rows_are_listed_in_worksheet_order(filled: Api) -> None:
    """Without parameters the rows come in the order of the worksheet, with hasNextPage."""
    answer = filled.get("New")

    assert answer.status_code == 200
    assert answer.json() == {"results": SHOWN, "hasNextPage": False}


def test_a_list_has_exactly_two_members(filled: Api) -> None:
    """A list answer is its results and hasNextPage, in this order, and nothing else."""
    answer = filled.get("New", params={"limit": "1"})

    assert answer.text == '{"results":[' + NEW_YORK + '],"hasNextPage":true}'


@pytest.mark.parametrize("key_at", ["Authorization", "API-Key", "apiKey"])
@pytest.mark.parametrize("spreadsheet_at", ["X-Spreadsheet-Id", "spreadsheetId"])
@pytest.mark.parametrize("path", ["New", "New/2"])
def test_a_read_takes_its_credentials_from_headers_and_from_the_url(
    filled: Api, path: str, key_at: str, spreadsheet_at: str
) -> None:
    """A read may carry its key and its spreadsheet id in headers or in query parameters."""
    key = filled.keys["two"]
    places = {
        "Authorization": ("headers", f"Bearer {key}"),
        "API-Key": ("headers", key),
        "apiKey": ("params", key),
        "X-Spreadsheet-Id": ("headers", "demo"),
        "spreadsheetId": ("params", "demo"),
    }
    sent: dict[str, dict[str, str]] = {"headers": {}, "params": {}}
    for name in (key_at, spreadsheet_at):
        kind, value = places[name]
        sent[kind][name] = value
    answer = filled.get(path, key=None, spreadsheet=None, **sent)

    assert answer.status_code == 200
    assert NEW_YORK in answer.text


@pytest.mark.parametrize(
    ("limit", "count", "has_next"),
    [
        pytest.param(None, 24, True, id="default"),
        pytest.param("", 24, True, id="empty"),
        pytest.param("0", 0, True, id="none"),
        pytest.param("99", 99, True, id="under-the-maximum"),
        pytest.param("100", 100, True, id="maximum"),
        pytest.param("101", 100, True, id="over-the-maximum"),
        pytest.param("1000000000", 100, True, id="far-over-the-maximum"),
    ],
)
def test_a_list_is_limited(filled: Api, limit: str | None, count: int, has_next: bool) -> None:
    """A list holds 24 rows unless `limit` says otherwise, and never more than 100."""
    page = filled.get("Long", params={} if limit is None else {"limit": limit}).json()

    assert len(page["results"]) == count
    assert page["hasNextPage"] is has_next


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param(
            {"state": "California"}, ["Los Angeles", "San Diego", "San Jose"], id="equal-text"
        ),
        pytest.param({"population": 2304580}, ["Houston"], id="equal-number"),
        pytest.param({"population": "2304580"}, ["Houston"], id="equal-number-as-string"),
        pytest.param(
            {"population": {"$gte": 2746388}}, ["New York", "Los Angeles", "Chicago"], id="gte"
        ),
        pytest.param({"population": {"$lte": 1304379}}, ["Dallas", "San Jose"], id="lte"),
        pytest.param(
            {"population": {"$gte": 1304379, "$lte": 1434625}},
            ["San Antonio", "San Diego", "Dallas"],
            id="inclusive-range",
        ),
        pytest.param(
            {"state": "Texas", "population": {"$lte": 2000000}},
            ["San Antonio", "Dallas"],
            id="two-fields",
        ),
        pytest.param({"state": "Nevada"}, [], id="none"),
    ],
)
def test_where_searches(filled: Api, where: object, expected: list[str]) -> None:
    """`where` maps a field to a value for equality, or to bounds that are both inclusive."""
    found = listed(filled, where=json.dumps(where))

    assert names(found) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        pytest.param("population", names(BY_POPULATION), id="ascending-numbers"),
        pytest.param("-population", names(BY_POPULATION[::-1]), id="descending-numbers"),
        pytest.param("name", sorted(names(SHOWN)), id="ascending-text"),
        pytest.param("-name", sorted(names(SHOWN), reverse=True), id="descending-text"),
    ],
)
def test_order_sorts(filled: Api, order: str, expected: list[str]) -> None:
    """`order` sorts by a field, ascending, or descending with a `-` before its name."""
    found = listed(filled, order=order)

    assert names(found) == expected


def test_keys_select_fields(filled: Api) -> None:
    """`keys` leaves the named fields only, and rowIndex with them."""
    found = listed(filled, keys="name,population", limit="1")

    assert found == [{"rowIndex": 2, "name": "New York", "population": "8804190"}]


@pytest.mark.parametrize("limit", [1, 3, 5, 9, 10, 11])
def test_pages_lead_to_the_end(filled: Api, limit: int) -> None:
    """Following hasNextPage with `skip` and `limit` gives every row once, and then ends."""
    seen: list[dict[str, Any]] = []
    pages = 0
    has_next = True
    while has_next and pages <= len(SHOWN):
        page = filled.get("New", params={"skip": str(len(seen)), "limit": str(limit)}).json()
        seen += page["results"]
        has_next = page["hasNextPage"]
        pages += 1

    assert seen == SHOWN
    assert pages == -(-len(SHOWN) // limit)


def test_a_page_past_the_end_is_empty(filled: Api) -> None:
    """Skipping all rows gives an empty page that no other follows."""
    answer = filled.get("New", params={"skip": "10"})

    assert answer.text == '{"results":[],"hasNextPage":false}'


def test_parameters_combine(filled: Api) -> None:
    """Search, order, paging and fields of one request apply in this order."""
    answer = filled.get(
        "New",
        params={
            "where": '{"country":"USA","population":{"$gte":1304379}}',
            "order": "-population",
            "skip": "2",
            "limit": "2",
            "keys": "name",
        },
    )

    assert answer.text == (
        '{"results":[{"rowIndex":4,"name":"Chicago"},{"rowIndex":5,"name":"Houston"}],'
        '"hasNextPage":true}'
    )


def test_has_next_page_counts_the_rows_found(filled: Api) -> None:
    """hasNextPage is about the rows that the search found, not about those of the worksheet."""
    page = filled.get("New", params={"where": '{"state":"California"}', "limit": "3"}).json()

    assert names(page["results"]) == ["Los Angeles", "San Diego", "San Jose"]
    assert page["hasNextPage"] is False


@pytest.mark.parametrize("parameter", ["where", "order"])
def test_search_and_order_need_a_paid_plan(filled: Api, parameter: str) -> None:
    """On a plan without search and sorting a list that asks for one of them is refused."""
    value = {"where": '{"state":"Texas"}', "order": "name"}[parameter]
    answer = filled.get("New", key="free", params={parameter: value})

    assert answer.status_code == 403
    assert answer.json()["code"] == 4034


def test_the_free_plan_lists_pages_and_fields(filled: Api) -> None:
    """`limit`, `skip` and `keys` are for all plans."""
    parameters = {"limit": "1", "skip": "1", "keys": "name"}
    answer = filled.get("New", key="free", params=parameters)

    assert answer.json() == {
        "results": [{"rowIndex": 3, "name": "Los Angeles"}],
        "hasNextPage": True,
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_an_updated_row_is_answered_with_its_row_and_the_fields_sent(
    filled: Api, method: str
) -> None:
    """An update answers rowIndex and the fields sent; the cells it did not name stay."""
    population = {"POST": 1, "PUT": 2, "PATCH": 3}[method]
    answer = filled.send(method, "Cities/3", json={"population": population})

    assert answer.status_code == 200
    assert answer.text == f'{{"rowIndex":3,"population":"{population}"}}'
    assert filled.get("Cities/3").json() == {**SHOWN[1], "population": str(population)}


def test_rows_are_not_deleted(filled: Api) -> None:
    """Deleting a row is not an operation of the service."""
    answer = filled.send("DELETE", "New/2")

    assert answer.status_code == 405
    assert "DELETE" not in answer.headers["allow"]
    assert filled.get("New/2").text == NEW_YORK


def test_headers_are_the_keys_exactly(filled: Api) -> None:
    """The keys of a record are the headers just as they are written, blanks included."""

    assert filled.get("Spaced/2").text == '{"rowIndex":2," name ":"a","amount":"1"}'
