"""People sort rows between the gateway's read and its write: the error, and later lists."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import (
    Api,
    OpenGateway,
)

BY_STATE = {"where": '{"state":"Pennsylvania"}'}

Options = Mapping[str, Any]
CONDITIONAL: Mapping[str, tuple[str, str, Options]] = {
    "update": ("PATCH", "Cities/2", {"json": {"country": "seen"}}),
    "delete": ("DELETE", "Cities/2", {}),
    "update by filter": ("PATCH", "Cities", {"params": BY_STATE, "json": {"country": "seen"}}),
    "delete by filter": ("DELETE", "Cities", {"params": BY_STATE}),
    "upsert": (
        "POST",
        "Cities",
        {"params": {"on_conflict": "name"}, "json": {"name": "Philadelphia", "country": "seen"}},
    ),
}
UNCONDITIONAL = {kind: CONDITIONAL[kind] for kind in ("update", "delete")}


def sheet_id(api: Api) -> int:
    return list(api.emulator.everything()).index("Cities")


def sort_before_the_write(api: Api) -> None:
    """Let a person sort the cities by descending name before the next write."""
    rows = {"sheetId": sheet_id(api), "startRowIndex": 1, "endRowIndex": 11}
    downwards = [{"dimensionIndex": 0, "sortOrder": "DESCENDING"}]
    edit = {"requests": [{"sortRange": {"range": rows, "sortSpecs": downwards}}]}
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "edit": edit})


@pytest.mark.parametrize("kind", CONDITIONAL)
def test_a_conditional_write_to_another_record(
    open_deleting_gateway: OpenGateway, kind: str
) -> None:
    """The 4095 error names the row, the expected record and the record that was changed."""
    api = open_deleting_gateway()
    method, path, options = CONDITIONAL[kind]
    headers = {}
    if path != "Cities":
        headers["If-Match"] = api.get(path).headers["etag"]
    sort_before_the_write(api)
    answer = api.send(method, path, headers=headers, **options)

    body = answer.json()
    assert (answer.status_code, body["code"], body["outcome"]) == (409, 4095, "applied")
    assert body["retryable"] is False
    assert body["expected"]["name"] == ("New York" if path != "Cities" else "Philadelphia")
    if method == "DELETE":
        assert body["met"] is None
    else:
        row = api.emulator.texts("Cities")[body["rowIndex"] - 1]
        assert [*body["met"].values()][1:3] == row[:2] != [*body["expected"].values()][1:3]


@pytest.mark.parametrize("kind", UNCONDITIONAL)
@pytest.mark.parametrize("query", [{}, {"order": "population"}], ids=["plain", "sorted"])
def test_lists_show_each_record_once(
    open_deleting_gateway: OpenGateway, kind: str, query: Mapping[str, str]
) -> None:
    """After the sort, a list reads the rows again instead of using the cached ones."""
    api = open_deleting_gateway({"cache.rows_ttl_seconds": 600})
    method, path, options = UNCONDITIONAL[kind]
    assert len(api.get("Cities", params=query).json()["results"]) == 10
    sort_before_the_write(api)
    answer = api.send(method, path, **options)

    assert answer.status_code in (200, 204)
    names = sorted(row["name"] for row in api.get("Cities", params=query).json()["results"])
    assert names == sorted(row[0] for row in api.emulator.texts("Cities")[1:])


def test_a_changed_formula_result_is_not_a_moved_row(open_deleting_gateway: OpenGateway) -> None:
    """An update that changes the result of a formula in its row succeeds."""
    api = open_deleting_gateway()
    formula = {
        "updateCells": {
            "start": {"sheetId": sheet_id(api), "rowIndex": 1, "columnIndex": 2},
            "rows": [{"values": [{"userEnteredValue": {"formulaValue": "=D2*2"}}]}],
            "fields": "userEnteredValue",
        }
    }
    api.emulator.faults({"call": "*", "edit": {"requests": [formula]}})
    read = api.get("Cities/2")
    headers = {"If-Match": read.headers["etag"]}
    answer = api.send("PATCH", "Cities/2", headers=headers, json={"population": 5})

    assert read.json()["country"] == "17608380"
    assert answer.status_code == 200
    assert api.get("Cities/2").json()["country"] == "10"
