"""A public Python client of the hosted service, as it comes from its package, on the gateway.

Nothing of it is changed but the base URL, which it takes as an argument.
"""

from typing import Any

import pysheetson
import pytest
import requests

from tests.journeys.conftest import Api

CHICAGO = {"name": "Chicago", "state": "Illinois", "country": "USA", "population": "2746388"}
TEXAS = ["Houston", "San Antonio", "Dallas"]


def client_of(api: Api, key: str = "paid") -> Any:
    """Its client, on the gateway."""
    return pysheetson.SheetsonClient(
        api_key=api.keys.get(key, key), spreadsheet_id="demo", base_url=f"{api.url}/v2"
    )


def names(page: dict[str, Any]) -> list[str]:
    return [row["name"] for row in page["results"]]


@pytest.fixture
def client(api: Api) -> Any:
    """A client with a key that may do all."""
    return client_of(api)


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda client: client.list_rows("Cities", skip=2, limit=1), [{"rowIndex": 4, **CHICAGO}]),
        (
            lambda client: client.list_rows(
                "Cities", order_by="population", desc=True, limit=2, keys=["name"]
            ),
            [{"rowIndex": 2, "name": "New York"}, {"rowIndex": 3, "name": "Los Angeles"}],
        ),
    ],
    ids=["page", "order and fields"],
)
def test_it_lists_a_page(client: Any, read: Any, found: object) -> None:
    """`skip`, `limit`, `order_by`, `desc` and `keys` become what the gateway takes."""
    assert read(client) == {"results": found, "hasNextPage": True}


def test_it_pages_to_the_end(client: Any) -> None:
    """Its loop of skip and limit sees every row once."""
    seen: list[str] = []
    while page := client.list_rows("Long", skip=len(seen), limit=50)["results"]:
        seen += [row["number"] for row in page]

    assert seen == [str(number) for number in range(1, 131)]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"state": "Texas"}, TEXAS),
        ('  {"state": "Texas"} ', TEXAS),
        ({"population": {"$gte": 2_000_000, "$lte": 3_000_000}}, ["Chicago", "Houston"]),
        ({"population": {"$gte": "3000000"}}, ["New York", "Los Angeles"]),
        ({"name": {"$in": ["Dallas", "Phoenix"]}}, ["Phoenix", "Dallas"]),
        ("{'state': 'Texas'}", TEXAS),
        ({}, ["New York", "Los Angeles", "Chicago"]),
    ],
    ids=["equality", "text", "range", "range of texts", "list", "single quotes", "nothing"],
)
def test_it_searches(client: Any, where: object, found: list[str]) -> None:
    """Filters given as a dict or as text find their rows."""
    assert names(client.search_rows("Cities", where=where, limit=3)) == found


def test_it_creates_reads_and_updates_a_row(client: Any, api: Api) -> None:
    """A row goes through its whole life; the update leaves the other cells alone."""
    created = client.create_row("Cities", {"name": "Austin", "population": 961855})
    updated = client.update_row("Cities", created["rowIndex"], {"population": "964000"})
    read = client.get_row("Cities", created["rowIndex"], extra_params={"keys": "name,population"})

    assert created == {"rowIndex": 12, "name": "Austin", "population": "961855"}
    assert updated == {"rowIndex": 12, "population": "964000"}
    assert read == {"rowIndex": 12, "name": "Austin", "population": "964000"}
    assert api.emulator.texts("Cities")[11] == ["Austin", "", "", "964000"]


def test_it_puts_a_whole_record_back(client: Any, api: Api) -> None:
    """A row that was read, changed in one field and sent back keeps its formulas and dates."""
    before = api.emulator.cells("Orders")[2]
    row = client.get_row("Orders", 3)
    client.update_row("Orders", row["rowIndex"], {**row, "note": "paid"})

    assert api.emulator.cells("Orders")[2][:4] == before[:4]
    assert api.emulator.cell("Orders", 3, 5)["value"] == "paid"


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda client: client.list_rows("Nowhere"), ["404 Not Found", "'code': 105", "Nowhere"]),
        (lambda client: client.get_row("Cities", 99), ["404 Not Found", "'code': 103"]),
        (lambda client: client.create_row("Cities", {}), ["400 Bad Request", "'code': 104"]),
        (lambda client: client.update_row("Cities", 2, {"town": "x"}), ["'code': 104", "town"]),
        (lambda client: client.search_rows("Cities", where="{"), ["400 Bad Request", "4002"]),
        (
            lambda client: client.delete_row("Cities", 3),
            ["405 Method Not Allowed", "4051", "Rows cannot be deleted"],
        ),
    ],
    ids=["worksheet", "row", "empty body", "field", "where", "delete"],
)
def test_it_raises_what_the_gateway_says(client: Any, api: Api, act: Any, words: list[str]) -> None:
    """Its one exception has the status and the whole body of the error, and nothing is written."""
    before = api.emulator.everything()
    with pytest.raises(RuntimeError) as raised:
        act(client)

    assert type(raised.value).__name__ == "SheetsonError"
    assert "'type': 'SheetsonError'" in str(raised.value)
    assert [word for word in words if word not in str(raised.value)] == []
    assert api.emulator.everything() == before


@pytest.mark.parametrize(
    ("key", "words"), [("sgw_wrong", "401 Unauthorized.*4011"), ("free", "403 Forbidden.*4034")]
)
def test_missing_grant_is_reported(api: Api, key: str, words: str) -> None:
    """A search with an invalid key, and one on a plan without search."""
    with pytest.raises(RuntimeError, match=words):
        client_of(api, key).search_rows("Cities", where={"state": "Texas"})


def test_it_deletes_a_row(api: Api) -> None:
    """The row goes; then this client looks for JSON in the answer, which 204 never has."""
    with pytest.raises(requests.exceptions.JSONDecodeError):
        client_of(api, "deleter").delete_row("Cities", 3)

    assert [line[0] for line in api.emulator.texts("Cities")[2:4]] == ["Chicago", "Houston"]


def test_its_batches_go_on_after_a_refusal(client: Any, api: Api) -> None:
    """Of a create, an update and a delete the last is refused, and the rest is done."""
    outcome = client.batch_operations(
        "Cities",
        [
            {"operation": "create", "data": {"name": "Tokyo", "country": "Japan"}},
            {"operation": "delete", "row_number": 5},
            {"operation": "update", "row_number": 2, "data": {"population": 14000000}},
        ],
    )

    assert (outcome["successful_operations"], outcome["failed_operations"]) == (2, 1)
    assert [each["success"] for each in outcome["batch_results"]] == [True, False, True]
    assert "405" in outcome["batch_results"][1]["error"]
    assert api.emulator.texts("Cities")[11] == ["Tokyo", "", "Japan"]
    assert api.emulator.cell("Cities", 2, 4)["value"] == 14000000


def test_its_data_frames_become_rows(client: Any, api: Api) -> None:
    """Each line of a data frame is a create, numbers stay numbers."""
    frame = pysheetson.pd.DataFrame([{"name": "c", "amount": 3}, {"name": "d", "amount": 4}])
    (outcome,) = client.create_rows_from_dataframe("My Sheet", frame)
    listed = client.list_rows("My Sheet")  # the library below encodes the name

    assert outcome["failed_operations"] == 0
    assert names(listed) == ["a", "b", "c", "d"]
    assert [cell["value"] for cell in api.emulator.cells("My Sheet")[4][:2]] == ["d", 4]
