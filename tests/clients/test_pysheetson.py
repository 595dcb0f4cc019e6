"""pysheetson, a public Python client of the hosted service, used with the gateway.

The package is unchanged. Only its argument for the base URL differs.
"""

from typing import Any

import pysheetson
import pytest
import requests

from tests.journeys.conftest import Api

CHICAGO = {"name": "Chicago", "state": "Illinois", "country": "USA", "population": "2746388"}
TEXAS = ["Houston", "San Antonio", "Dallas"]


def client_of(api: Api, key: str = "paid") -> Any:
    """Return pysheetson's client for the gateway."""
    return pysheetson.SheetsonClient(
        api_key=api.keys.get(key, key), spreadsheet_id="demo", base_url=f"{api.url}/v2"
    )


def names(page: dict[str, Any]) -> list[str]:
    return [row["name"] for row in page["results"]]


@pytest.fixture
def client(api: Api) -> Any:
    """Return a client whose key has all rights."""
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
def test_pysheetson_lists_a_page(client: Any, read: Any, found: object) -> None:
    """`skip`, `limit`, `order_by`, `desc` and `keys` of pysheetson give the right page."""
    assert read(client) == {"results": found, "hasNextPage": True}


def test_pysheetson_pages_to_the_end(client: Any) -> None:
    """A loop with `skip` and `limit` gives every row once."""
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
def test_pysheetson_filters_rows(client: Any, where: object, found: list[str]) -> None:
    """Filters of pysheetson, as a dict or as a text, find the right rows."""
    assert names(client.search_rows("Cities", where=where, limit=3)) == found


def test_pysheetson_creates_reads_and_updates_a_row(client: Any, api: Api) -> None:
    """pysheetson creates, reads and updates a row; the update keeps other cells."""
    created = client.create_row("Cities", {"name": "Austin", "population": 961855})
    updated = client.update_row("Cities", created["rowIndex"], {"population": "964000"})
    read = client.get_row("Cities", created["rowIndex"], extra_params={"keys": "name,population"})

    assert created == {"rowIndex": 12, "name": "Austin", "population": "961855"}
    assert updated == {"rowIndex": 12, "population": "964000"}
    assert read == {"rowIndex": 12, "name": "Austin", "population": "964000"}
    assert api.emulator.texts("Cities")[11] == ["Austin", "", "", "964000"]


def test_pysheetson_sends_a_whole_record_back(client: Any, api: Api) -> None:
    """Sending back a whole record with one changed field keeps formulas and dates."""
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
            ["405 Method Not Allowed", "4051", "This key cannot delete rows"],
        ),
    ],
    ids=["worksheet", "row", "empty body", "field", "where", "delete"],
)
def test_pysheetson_raises_the_errors_of_the_gateway(
    client: Any, api: Api, act: Any, words: list[str]
) -> None:
    """pysheetson's exception has status and body of the gateway's error; nothing is written."""
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
    """A search with an invalid key gets 401, and on a plan without filters 403."""
    with pytest.raises(RuntimeError, match=words):
        client_of(api, key).search_rows("Cities", where={"state": "Texas"})


def test_pysheetson_deletes_a_row(api: Api) -> None:
    """The gateway deletes the row, but pysheetson raises JSONDecodeError: 204 has no body."""
    with pytest.raises(requests.exceptions.JSONDecodeError):
        client_of(api, "deleter").delete_row("Cities", 3)

    assert [line[0] for line in api.emulator.texts("Cities")[2:4]] == ["Chicago", "Houston"]


def test_batches_continue_after_an_error(client: Any, api: Api) -> None:
    """If the delete in a batch gets an error, the create and update still succeed."""
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


def test_data_frames_become_rows(client: Any, api: Api) -> None:
    """Each row of a data frame becomes a created row, and numbers stay numbers."""
    frame = pysheetson.pd.DataFrame([{"name": "c", "amount": 3}, {"name": "d", "amount": 4}])
    (outcome,) = client.create_rows_from_dataframe("My Sheet", frame)
    listed = client.list_rows("My Sheet")  # requests encodes the name

    assert outcome["failed_operations"] == 0
    assert names(listed) == ["a", "b", "c", "d"]
    assert [cell["value"] for cell in api.emulator.cells("My Sheet")[4][:2]] == ["d", 4]
