"""Keys that can read or write only some columns of a worksheet.

Such a key gets the same bytes and costs the same calls as an unrestricted key on a copy without the
hidden columns. Only the ETag of a single row differs, because it also covers hidden cells.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    KeysOnDisk,
    OpenGateway,
    make_keys,
    running_emulator,
)
from tests.journeys.failure import anonymous, refused, without_cursors
from tests.journeys.staff import KEYS, READS, WITHHELD, WORKBOOK, WRITES, Ask, random_query


def visible(answer: httpx2.Response) -> tuple[Any, ...]:
    """The parts of an answer that a client can compare: no times, request ID or rate."""
    varying = {"age", "cache-status", "date", "ratelimit", "server-timing", "x-request-id"}
    headers = {
        name: without_cursors(text) for name, text in answer.headers.items() if name not in varying
    }
    if is_row_tag(headers.get("etag", "")):
        headers["etag"] = "of a row"
    return answer.status_code, sorted(headers.items()), anonymous(answer)


def is_row_tag(tag: str) -> bool:
    """True if an ETag is strong, as of a single row. ETags of lists are weak."""
    return re.fullmatch('"[A-Za-z0-9_-]{16}"', tag) is not None


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with the staff worksheet and its copy without hidden columns."""
    with running_emulator(tmp_path_factory.mktemp("staff"), WORKBOOK) as control:
        yield control


@pytest.fixture
def access(tmp_path: Path) -> KeysOnDisk:
    """The keys, in a key store with an empty write ledger."""
    return make_keys(tmp_path, KEYS)


def answered(api: Api, ask: Ask, key: str, spreadsheet: str) -> tuple[Any, tuple[int, int]]:
    """The answer for a key, and its cost in reads and writes."""
    if ask.faults:
        api.emulator.faults(*ask.faults)
    before = api.emulator.calls()
    answer = api.send(ask.method, ask.path, key=key, spreadsheet=spreadsheet, **ask.options)
    after = api.emulator.calls()
    return visible(answer), (after[0] - before[0], after[1] - before[1])


def both(api: Api, ask: Ask) -> tuple[Any, Any]:
    """Answers to a key with some columns, and to an unrestricted key on the copy."""
    return answered(api, ask, "some", "whole"), answered(api, ask, "twin", "twin")


SETTINGS = {
    "read each time": {},
    "kept": {"cache.rows_ttl_seconds": 60, "cache.header_ttl_seconds": 60},
    "windows": {"cache.window_above_cells": 1},
    "kept windows": {"cache.window_above_cells": 1, "cache.rows_ttl_seconds": 60},
    "unknown fields ignored": {"api.unknown_fields": "ignore"},
    "empty cells left out": {"api.empty_cell": "omit"},
    "typed": {"api.values": "typed"},
    "typed, kept": {"api.values": "typed", "cache.rows_ttl_seconds": 60},
    "typed windows": {"api.values": "typed", "cache.window_above_cells": 1},
    "typed, empty cells left out": {"api.values": "typed", "api.empty_cell": "omit"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))
def test_hidden_columns_are_as_columns_that_do_not_exist(
    open_gateway: OpenGateway, settings: Mapping[str, object]
) -> None:
    """Every answer equals, byte for byte, the answer of a worksheet without the hidden columns."""
    api = open_gateway(settings)
    found, expected = {}, {}
    again = {f"{name} again": ask for name, ask in READS.items()}
    for name, ask in {**READS, **WRITES, **again}.items():
        if ask.method == "GET":  # what another key was answered must not be given to this one
            for spreadsheet in ("whole", "twin"):
                api.send("GET", ask.path, key="all", spreadsheet=spreadsheet, **ask.options)
        found[name], expected[name] = both(api, ask)
        if "cache.window_above_cells" in settings:
            # Whether anything follows a page takes a look more if the next row is blank.
            found[name], expected[name] = found[name][:1], expected[name][:1]

    assert {name: each for name, each in found.items() if each != expected[name]} == {}
    assert len({repr(each) for each in found.values()}) > len(found) // 3
    assert all("hidden" not in repr(each) for each in found.values())


def test_writes_of_a_restricted_key_leave_hidden_cells(api: Api) -> None:
    """Rows of a restricted key are written into its columns; hidden cells keep their values."""
    before = api.emulator.texts("Staff", "whole")
    for ask in WRITES.values():
        both(api, ask)
    after, twin = (api.emulator.texts("Staff", each) for each in ("whole", "twin"))

    def seen(row: Sequence[str]) -> list[str]:
        return ([*row, *[""] * 7])[0:6:3][:2] + ([*row, *[""] * 7])[5:6]

    assert [seen(row) for row in after] == [([*row, "", "", ""])[:3] for row in twin]
    assert [row[1:3] + row[4:5] + row[6:7] for row in after[: len(before)]] == [
        row[1:3] + row[4:5] + row[6:7] for row in before
    ]
    assert {text for row in after[len(before) :] for text in row[1:3] + row[6:]} == {""}
    assert len(after) == len(before) + 5


def test_random_queries_show_nothing_of_hidden_columns(open_gateway: OpenGateway) -> None:
    """Random searches, sorts and selections get the same answer as on the copy."""
    api = open_gateway({"cache.rows_ttl_seconds": 60, "cache.max_stale_seconds": 60})
    random = Random(1)  # noqa: S311 - cases, not secrets
    asks = [random_query(random) for _ in range(150)]
    for ask in asks[:75]:
        api.send("GET", ask.path, key="all", spreadsheet="whole", **ask.options)
    api.send("GET", "Staff?order=name", key="all", spreadsheet="whole")
    api.send("GET", "Staff?order=name", key="all", spreadsheet="twin")

    different = [ask for ask in asks if len({repr(each) for each in both(api, ask)}) != 1]

    assert different == []


def test_a_change_of_hidden_cells_is_a_conflict(api: Api) -> None:
    """A change of hidden cells changes the row's ETag, so `If-Match` fails without showing them."""
    seen = api.get("Staff/2", key="some", spreadsheet="whole")
    api.post("Staff/2", key="all", spreadsheet="whole", json={"salary": 5, " salary": "more"})
    known = {"If-None-Match": seen.headers["etag"]}
    now = api.get("Staff/2", key="some", spreadsheet="whole", headers=known)
    conflict, updated = (
        api.post(
            "Staff/2",
            key="some",
            spreadsheet="whole",
            headers={"If-Match": answer.headers["etag"]},
            json={"note": "new"},
        )
        for answer in (seen, now)
    )

    assert (now.status_code, updated.status_code) == (200, 200)
    assert now.content == seen.content
    assert refused(conflict) == (412, 4120)
    assert conflict.json()["existing"] == seen.json()
    assert conflict.headers["etag"] == now.headers["etag"]
    assert api.emulator.texts("Staff", "whole")[1][:3] == ["Ann", "more", "5"]


@pytest.mark.parametrize("is_known", [False, True], ids=["header not known", "header known"])
def test_read_only_columns_are_not_written(open_gateway: OpenGateway, is_known: bool) -> None:
    """Writing a column that the key can only read gets 403 with the name, and writes nothing."""
    api = open_gateway({"cache.header_ttl_seconds": 60})
    if is_known:
        api.get("Staff", key="team", spreadsheet="whole")
    before = api.emulator.texts("Staff", "whole"), api.emulator.calls()
    answers = [
        api.send(ask.method, ask.path, key="team", spreadsheet="whole", **ask.options)
        for ask in WITHHELD
    ]

    assert [refused(answer) for answer in answers] == [(403, 4032)] * len(WITHHELD)
    for answer in answers:
        error = answer.json()
        assert error["outcome"] == "not_applied"
        assert 'not allowed to write "team' in error["message"]
        assert [each["pointer"].rpartition("/")[2][:4] for each in error["errors"]] == ["team"]
        assert "salary" not in answer.text
    assert (api.emulator.texts("Staff", "whole"), api.emulator.calls()) == before


def test_a_key_that_reads_all_and_writes_some(api: Api) -> None:
    """A key that reads all columns gets 403 for a read-only column and 104 for an unknown one."""
    read = api.get("Staff/2", key="writes name", spreadsheet="whole")
    whole = api.get("Staff/2", key="all", spreadsheet="whole")
    name, team, nope = (
        api.post("Staff/2", key="writes name", spreadsheet="whole", json={each: "x"})
        for each in ("name", "team", "nope")
    )

    assert visible(read) == visible(whole)
    assert read.headers["etag"] == whole.headers["etag"]
    assert name.json() == {"rowIndex": 2, "name": "x"}
    assert refused(team) == (403, 4032)
    assert refused(nope) == (400, 104)


@pytest.mark.parametrize("worksheet", ["Staff", "Other"])
def test_a_key_without_an_existing_column_gets_row_numbers(api: Api, worksheet: str) -> None:
    """A key none of whose columns exists gets only `rowIndex`, and every field is unknown to it."""
    listed = api.get(worksheet, key="none", spreadsheet="whole", params={"limit": "1"})
    row = api.get(f"{worksheet}/2", key="none", spreadsheet="whole")
    last = api.get(worksheet, key="none", spreadsheet="whole", params={"order": "-rowIndex"})
    fields = [
        api.get(worksheet, key="none", spreadsheet="whole", params=parameters)
        for parameters in ({"where": '{"name":"Ann"}'}, {"where": '{"nope":"Ann"}'})
    ]
    writes = [
        api.post(f"{worksheet}{row}", key="none", spreadsheet="whole", json={name: "x"})
        for row in ("", "/2")
        for name in ("name", "nope")
    ]

    assert listed.json()["results"] == [{"rowIndex": 2}]
    assert row.json() == {"rowIndex": 2}
    assert last.status_code == 200
    assert {refused(answer) for answer in fields} == {(400, 4002)}
    assert all(answer.json()["message"].endswith("fields are rowIndex.") for answer in fields)
    assert {refused(answer) for answer in writes} == {(400, 104)}
    assert all(answer.json()["message"].endswith("its fields are none.") for answer in writes)


def test_the_column_grant_uses_the_current_header(api: Api) -> None:
    """After a person renames columns, the key reads the column that has the granted name now."""
    api.get("Staff", key="some", spreadsheet="whole")
    for old, new in (("name", "former"), ("salary", "name")):
        column = api.emulator.texts("Staff", "whole")[0].index(old)
        place = {"sheetId": _sheet_id(api), "rowIndex": 0, "columnIndex": column}
        rows = [{"values": [{"userEnteredValue": {"stringValue": new}}]}]
        edit = {"updateCells": {"start": place, "rows": rows, "fields": "userEnteredValue"}}
        api.emulator.faults({"call": "*", "times": 1, "edit": {"requests": [edit]}})
        api.get("Staff", key="some", spreadsheet="whole")

    answer = api.get("Staff/2", key="some", spreadsheet="whole")

    assert answer.json() == {"rowIndex": 2, "name": "100", "team ": "red", "note": "first"}


def _sheet_id(api: Api) -> int:
    answer = api.emulator.client.get("/_emulator/spreadsheets/whole")
    return list(answer.json()).index("Staff")
