"""Deletes of clients of the hosted service, with keys that may delete."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pysheetson
import pytest
import requests

from gateway.access.issue import KeyRequest
from gateway.storage.key_store import Grants
from tests.clients.test_curl import CURL, PATIENCE_SECONDS
from tests.journeys.conftest import (
    DEMO,
    Api,
    EmulatorControl,
    make_keys,
    running_gateways,
)

KEYS: Mapping[str, KeyRequest] = {
    "deleter": KeyRequest(name="deleter", grants=Grants(spreadsheets=DEMO, may_delete=True)),
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO)),
}
LEFT = ["New York", "Chicago", "Houston"]


@pytest.fixture
def api(emulator: EmulatorControl, tmp_path: Path) -> Iterator[Api]:
    """A gateway whose plan allows deletes, on a freshly seeded emulator."""
    with running_gateways(emulator, make_keys(tmp_path, KEYS)) as start:
        yield start({"plans.paid.deletes": True, "cache.header_ttl_seconds": 0})


def first_names(api: Api) -> list[str]:
    return [line[0] for line in api.emulator.texts("Cities")[1:4]]


HABITS: Sequence[tuple[str, Mapping[str, Any]]] = [
    ("without a body", {}),
    ("with a content type", {"headers": {"Content-Type": "application/json"}}),
    ("with an empty object", {"content": b"{}", "headers": {"Content-Type": "application/json"}}),
    ("with the row as body", {"content": b'{"rowIndex":3}'}),
    ("with a slash at the end", {"path": "Cities/3/"}),
    ("with a cache buster", {"path": "Cities/3?_=1700000000"}),
    ("from a page", {"headers": {"Origin": "https://app.example.org"}}),
]


@pytest.mark.parametrize("habit", [habit for _, habit in HABITS], ids=[name for name, _ in HABITS])
def test_a_row_is_deleted(api: Api, habit: Mapping[str, Any]) -> None:
    """204 without a body, however the request is dressed."""
    options = {"path": "Cities/3", **habit}

    answer = api.send("DELETE", options.pop("path"), key="deleter", **options)

    assert (answer.status_code, answer.content) == (204, b"")
    assert first_names(api) == LEFT


@pytest.mark.parametrize("name", ["API-Key", "X-API-Key", "Authentication"])
def test_the_key_may_be_in_any_header(api: Api, name: str) -> None:
    answer = httpx2.delete(
        f"{api.url}/v2/sheets/Cities/3",
        headers={name: api.keys["deleter"], "X-Sheetson-Spreadsheet-Id": "demo"},
    )

    assert answer.status_code == 204
    assert first_names(api) == LEFT


def test_curl_deletes(api: Api) -> None:
    """As in the sample of the docs."""
    if CURL is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(  # noqa: S603 - our own words
        [
            *(CURL, "-q", "-s", "-w", "%{http_code}", "-X", "DELETE"),
            *("-H", f"Authorization: Bearer {api.keys['deleter']}"),
            *("-H", "X-Spreadsheet-Id: demo", f"{api.url}/v2/sheets/Cities/3"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )

    assert done.stdout == "204"
    assert first_names(api) == LEFT


def client_of(api: Api, key: str) -> Any:
    return pysheetson.SheetsonClient(
        api_key=api.keys[key], spreadsheet_id="demo", base_url=f"{api.url}/v2"
    )


def test_pysheetson_deletes(api: Api) -> None:
    """The row goes; then this client looks for JSON in the answer, which 204 never has."""
    with pytest.raises(requests.exceptions.JSONDecodeError):
        client_of(api, "deleter").delete_row("Cities", 3)

    assert first_names(api) == LEFT


def test_pysheetson_is_refused_in_words(api: Api) -> None:
    """A key that may not delete gets the error that this client shows."""
    with pytest.raises(RuntimeError, match=r"405 Method Not Allowed.*4051.*Rows cannot be deleted"):
        client_of(api, "paid").delete_row("Cities", 3)

    assert first_names(api)[1] == "Los Angeles"
