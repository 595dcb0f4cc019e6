"""A person renames a tab and gives its old title to another tab: writes go to the tab with the
title.

The renamed tab, `Archive`, keeps its sheet ID, which the gateway has cached. The new tab has the
same rows one row higher, so a wrong tab would mean a wrong row.
"""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import (
    Api,
    OpenGateway,
)
from tests.journeys.failure import refused

NEW_ID = 77
TEXAS = '{"state":"Texas"}'
LARGE = '{"population":{"$gt":2000000}}'
"""A filter that needs both renderings of the cells."""
MARKED = {"country": "seen"}
UPSERTED = {"name": "Chicago", "country": "seen"}

Options = Mapping[str, Any]
WRITES: Mapping[str, tuple[str, Options, list[str], int]] = {
    "delete": (
        "DELETE",
        {"params": {"where": TEXAS}},
        ["Los Angeles", "Chicago", "Phoenix", "Philadelphia", "San Diego", "San Jose"],
        2,
    ),
    "update": (
        "PATCH",
        {"params": {"where": TEXAS}, "json": MARKED},
        ["Houston", "San Antonio", "Dallas"],
        2,
    ),
    "update by numbers": (
        "PATCH",
        {"params": {"where": LARGE}, "json": MARKED},
        ["Los Angeles", "Chicago", "Houston"],
        2,
    ),
    "upsert": ("POST", {"params": {"on_conflict": "name"}, "json": UPSERTED}, ["Chicago"], 2),
}
"""Method, options, names of the rows that remain or changed, and number of reads of rows."""


@pytest.fixture
def api(open_deleting_gateway: OpenGateway) -> Api:
    """A gateway that has cached the header and sheet ID of `Cities`."""
    api = open_deleting_gateway()
    assert upsert(api, "New York").status_code == 200
    return api


def upsert(api: Api, name: str) -> httpx2.Response:
    answer: httpx2.Response = api.post(
        "Cities", params={"on_conflict": "name"}, json={"name": name, "state": "New York"}
    )
    return answer


def archive(api: Api, title: str = "Cities") -> dict[str, Any]:
    """Rename the tab to `Archive`, and give its title to a copy without the first data row."""
    old = list(api.emulator.everything()).index(title)
    renamed = {"properties": {"sheetId": old, "title": "Archive"}, "fields": "title"}
    copy = {"sourceSheetId": old, "newSheetId": NEW_ID, "newSheetName": title}
    first = {"sheetId": NEW_ID, "dimension": "ROWS", "startIndex": 1, "endIndex": 2}
    return {
        "requests": [
            {"updateSheetProperties": renamed},
            {"duplicateSheet": copy},
            {"deleteDimension": {"range": first}},
        ]
    }


def swap(api: Api, *, skip: int = 0, title: str = "Cities") -> list[list[str]]:
    """Swap the tabs before the next call after `skip` calls. Returns the rows of `Archive`."""
    api.emulator.faults({"call": "*", "skip": skip, "edit": archive(api, title)})
    return api.emulator.texts(title)


def names(api: Api, *, marked: bool) -> list[str]:
    rows = api.emulator.texts("Cities")[1:]
    return [row[0] for row in rows if not marked or row[2] == "seen"]


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_after_the_swap(api: Api, kind: str) -> None:
    """A write with the cached sheet ID of `Archive` reads again and writes to the new tab."""
    method, options, expected, reads = WRITES[kind]
    kept = swap(api)
    before = api.emulator.calls()
    answer = api.send(method, "Cities", **options)
    after = api.emulator.calls()

    assert answer.status_code == 200, answer.text
    assert api.emulator.texts("Archive") == kept
    assert names(api, marked=method != "DELETE") == expected
    # Of the archive, the header with the new id, and of the new tab.
    assert (after[0] - before[0], after[1] - before[1]) == (2 * reads + 1, 1)


@pytest.mark.parametrize("kind", [name for name, (*_, reads) in WRITES.items() if reads == 2])
def test_a_swap_between_both_renderings(api: Api, kind: str) -> None:
    """If the tabs swap between the two reads of a search, the gateway repeats both reads."""
    method, options, expected, _ = WRITES[kind]
    kept = swap(api, skip=1)
    answer = api.send(method, "Cities", **options)

    assert answer.status_code == 200, answer.text
    assert api.emulator.texts("Archive") == kept
    assert names(api, marked=method != "DELETE") == expected


@pytest.mark.parametrize("kind", WRITES)
def test_a_swap_between_the_header_and_the_rows(
    open_deleting_gateway: OpenGateway, kind: str
) -> None:
    """If the tabs swap after the read of the header, the write still goes to the new tab."""
    api = open_deleting_gateway()
    method, options, expected, reads = WRITES[kind]
    kept = swap(api, skip=1)
    answer = api.send(method, "Cities", **options)

    assert answer.status_code == 200, answer.text
    assert api.emulator.texts("Archive") == kept
    assert names(api, marked=method != "DELETE") == expected
    assert api.emulator.calls() == (2 * (1 + reads), 1)


def test_a_swap_between_a_blank_row_and_the_rows_below(open_deleting_gateway: OpenGateway) -> None:
    """If a row is blank, the gateway reads the rows below it from the same tab."""
    api = open_deleting_gateway()
    kept = swap(api, skip=1, title="BlankRow")
    answer = api.send("PATCH", "BlankRow/3", json={"name": "c"})

    assert answer.json() == {"rowIndex": 3, "name": "c"}
    assert api.emulator.texts("Archive") == kept
    assert api.emulator.texts("BlankRow")[1:] == [[], ["c", "2"]]


def test_a_deleted_tab(api: Api) -> None:
    """If the tab with the cached sheet ID is deleted, the write goes to the tab with the title."""
    edit = archive(api)
    edit["requests"].append({"deleteSheet": {"sheetId": 0}})
    api.emulator.faults({"call": "*", "edit": edit})
    before = api.emulator.calls()
    answer = upsert(api, "Chicago")
    after = api.emulator.calls()

    assert answer.status_code == 200
    assert api.emulator.texts("Cities")[2][:2] == ["Chicago", "New York"]
    assert (after[0] - before[0], after[1] - before[1]) == (5, 1)


def test_a_renamed_tab_without_a_replacement(api: Api) -> None:
    """A title that no tab has gets 404, and the renamed tab is not changed."""
    edit = archive(api)
    api.emulator.faults({"call": "*", "edit": {"requests": edit["requests"][:1]}})
    kept = api.emulator.texts("Cities")
    answer = upsert(api, "Chicago")

    assert refused(answer) == (404, 105)
    assert api.emulator.texts("Archive") == kept
