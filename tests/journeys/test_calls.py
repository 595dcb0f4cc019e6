"""Cost of each path in calls to Google."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway

NO_ROWS_KEPT = {"cache.rows_ttl_seconds": 0}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "cold": NO_ROWS_KEPT,
    "warm": NO_ROWS_KEPT,
    "after-ttl": {**NO_ROWS_KEPT, "cache.header_ttl_seconds": 0},
}
SORTED_BY_NAME = {"params": {"where": '{"state":"Texas"}', "order": "-name"}}
BODY = {"json": {"name": "n", "amount": 7}}


def cost(api: Api, method: str, path: str, **options: Any) -> tuple[int, int, int]:
    """Number of reads and writes of one request, and its status."""
    reads, writes = api.emulator.calls()
    answer = api.send(method, path, **options)
    after = api.emulator.calls()
    return after[0] - reads, after[1] - writes, answer.status_code


@pytest.mark.parametrize("seen", ["cold", "warm", "after-ttl"])
@pytest.mark.parametrize(
    ("method", "path", "options", "costs"),
    [
        pytest.param("GET", "Cities/2", {}, [(1, 0)] * 3, id="read"),
        pytest.param("GET", "Cities", {}, [(1, 0)] * 3, id="list"),
        pytest.param("GET", "Cities", {"params": {"skip": "5"}}, [(1, 0)] * 3, id="page"),
        pytest.param("GET", "Cities", SORTED_BY_NAME, [(2, 0)] * 3, id="where-and-order"),
        pytest.param("POST", "Cities/2", {"json": {"name": "n"}}, [(1, 1)] * 3, id="update"),
        pytest.param(
            "POST",
            "Cities/2",
            {"json": {"name": "n", "population": 1}},
            [(1, 1)] * 3,
            id="update-of-cells-apart",
        ),
        pytest.param("POST", "Cities/2", {"json": {"country": "USA"}}, [(1, 0)] * 3, id="same"),
        pytest.param("POST", "BlankRow/3", BODY, [(2, 1)] * 3, id="update-of-a-blank-row"),
        pytest.param("POST", "Cities", {"json": {"name": "n"}}, [(1, 1)] * 3, id="create"),
        pytest.param("POST", "BlankRow", BODY, [(1, 1)] * 3, id="create-below-blanks"),
        pytest.param("POST", "HeaderOnly", BODY, [(1, 1)] * 3, id="create-the-first"),
        pytest.param("POST", "BlankFirst", BODY, [(1, 1)] * 3, id="create-growing"),
    ],
)
def test_the_cost_of_a_path(
    open_gateway: OpenGateway,
    method: str,
    path: str,
    options: Mapping[str, Any],
    costs: list[tuple[int, int]],
    seen: str,
) -> None:
    """Each operation costs the documented calls with a cold, a fresh and an expired header."""
    api = open_gateway(SETTINGS[seen])
    if seen != "cold":
        api.get(path.partition("/")[0])
    reads, writes, status = cost(api, method, path, **options)

    assert status in (200, 201)
    assert (reads, writes) == costs[list(SETTINGS).index(seen)]


def test_later_creates_need_no_read(api: Api) -> None:
    """Each create after the first costs one write and no read while the header is fresh."""
    costs = [cost(api, "POST", "Cities", json={"name": f"city {each}"}) for each in range(4)]

    assert costs == [(1, 1, 201), (0, 1, 201), (0, 1, 201), (0, 1, 201)]
    calls = api.emulator.stats()["calls"]
    assert set(calls) - {"token"} == {"spreadsheets.get", "spreadsheets.batchUpdate"}


def test_a_full_grid_grows_with_the_row(api: Api) -> None:
    """If the grid has no free row, the write of the new row also adds a row to the grid."""
    costs = [cost(api, "POST", "BlankFirst", **BODY) for _ in range(3)]

    assert costs == [(1, 1, 201), (0, 1, 201), (0, 1, 201)]


def test_every_page_of_a_list_costs_one_read(api: Api) -> None:
    """Limit, skip and keys of a list do not change its cost."""
    costs = {
        cost(api, "GET", "Long", params=parameters)
        for parameters in ({"limit": "0"}, {"limit": "100"}, {"skip": "999"}, {"keys": "number"})
    }

    assert costs == {(1, 0, 200)}


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        pytest.param("GET", "Nowhere", {}, 404, id="list"),
        pytest.param("POST", "Nowhere", BODY, 404, id="create"),
        pytest.param("POST", "Nowhere/2", BODY, 404, id="update"),
        pytest.param("POST", "Cities/99", {"json": {"name": "n"}}, 404, id="row-below-the-grid"),
    ],
)
def test_a_missing_worksheet_or_row_costs_two_reads(
    reading_api: Api, method: str, path: str, options: Mapping[str, Any], status: int
) -> None:
    """A missing worksheet or row costs the failed call and one read of the worksheet list."""

    assert cost(reading_api, method, path, **options) == (2, 0, status)


def test_a_sheet_that_changes_during_a_search_is_read_once_more(open_gateway: OpenGateway) -> None:
    """If a sheet changes between the two reads of a search, the gateway repeats both reads once."""
    api = open_gateway(NO_ROWS_KEPT)
    api.get("Cities")
    cell = {"userEnteredValue": {"stringValue": "Renamed"}}
    start = {
        "sheetId": list(api.emulator.everything()).index("Cities"),
        "rowIndex": 1,
        "columnIndex": 0,
    }
    update = {"rows": [{"values": [cell]}], "fields": "userEnteredValue", "start": start}
    api.emulator.faults(
        {"call": "values.get", "skip": 1, "edit": {"requests": [{"updateCells": update}]}}
    )
    reads, writes, _ = cost(api, "GET", "Cities", params={"where": '{"rowIndex":2}'})

    assert (reads, writes) == (4, 0)
    assert api.names("Cities", where='{"name":"Renamed"}') == ["Renamed"]
