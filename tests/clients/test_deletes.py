"""Deletes by clients of the hosted service, with a key that has delete rights."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import Api

KEY_HEADERS = ("API-Key", "X-API-Key", "Authentication")
HABITS: Mapping[str, Mapping[str, Any]] = {
    "without a body": {},
    "with a content type": {"headers": {"Content-Type": "application/json"}},
    "with an empty object": {"content": b"{}", "headers": {"Content-Type": "application/json"}},
    "with the row as body": {"content": b'{"rowIndex":3}'},
    "with a slash at the end": {"path": "Cities/3/"},
    "with a cache buster": {"path": "Cities/3?_=1700000000"},
    "from a page": {"headers": {"Origin": "https://app.example.org"}},
    **{f"with the key in {name}": {"key_in": name} for name in KEY_HEADERS},
}


@pytest.mark.parametrize("habit", HABITS.values(), ids=HABITS)
def test_a_row_is_deleted(api: Api, habit: Mapping[str, Any]) -> None:
    """Each variant of a DELETE request gets 204 without a body, and removes the row."""
    options = {"path": "Cities/3", **habit}
    if "key_in" in options:
        own = {options.pop("key_in"): api.keys["deleter"], "X-Sheetson-Spreadsheet-Id": "demo"}
        options |= {"key": None, "spreadsheet": None, "headers": own}

    answer = api.send("DELETE", options.pop("path"), **{"key": "deleter", **options})

    assert (answer.status_code, answer.content) == (204, b"")
    assert [line[0] for line in api.emulator.texts("Cities")[2:4]] == ["Chicago", "Houston"]
