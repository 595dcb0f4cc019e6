"""Roles: spreadsheets that an account cannot read or cannot write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response

from sheets_emulator.app import EmulatorOptions
from sheets_emulator.operations import OPERATIONS
from tests.sheets_emulator.bench import Bench, bench_of_account, message, values_path
from tests.sheets_emulator.conftest import BenchBuilder

BOOK = "/v4/spreadsheets/book"
DATA = values_path("Data!A1")
FILE = "/drive/v3/files/book"
DENIED = "The caller does not have permission"
RAW = {"valueInputOption": "RAW"}
ROW: dict[str, Any] = {"values": [["y"]]}
FILTERS = [{"a1Range": "Data!A1"}]
WRITTEN = {**RAW, "data": [{"dataFilter": FILTERS[0], "values": [["y"]]}]}
LOOKUP = {"dataFilters": [{"developerMetadataLookup": {"metadataKey": "key"}}]}
METADATA = {
    "metadataId": 1,
    "metadataKey": "key",
    "location": {"spreadsheet": True},
    "visibility": "DOCUMENT",
}

CALLS: Mapping[str, tuple[str, str, object, dict[str, str]]] = {
    "spreadsheets.get": ("GET", BOOK, None, {}),
    "spreadsheets.getByDataFilter": (
        "POST",
        f"{BOOK}:getByDataFilter",
        {"dataFilters": FILTERS},
        {},
    ),
    "spreadsheets.sheets.copyTo": (
        "POST",
        f"{BOOK}/sheets/0:copyTo",
        {"destinationSpreadsheetId": "book"},
        {},
    ),
    "spreadsheets.batchUpdate": (
        "POST",
        f"{BOOK}:batchUpdate",
        {"requests": [{"addSheet": {}}]},
        {},
    ),
    "developerMetadata.get": ("GET", f"{BOOK}/developerMetadata/1", None, {}),
    "developerMetadata.search": ("POST", f"{BOOK}/developerMetadata:search", LOOKUP, {}),
    "values.get": ("GET", DATA, None, {}),
    "values.batchGet": ("GET", f"{BOOK}/values:batchGet", None, {"ranges": "Data"}),
    "values.append": ("POST", f"{DATA}:append", ROW, RAW),
    "values.update": ("PUT", DATA, ROW, RAW),
    "values.batchUpdate": (
        "POST",
        f"{BOOK}/values:batchUpdate",
        {**RAW, "data": [{"range": "Data!A1", **ROW}]},
        {},
    ),
    "values.clear": ("POST", f"{DATA}:clear", None, {}),
    "values.batchClear": ("POST", f"{BOOK}/values:batchClear", {"ranges": ["Data!A1"]}, {}),
    "values.batchGetByDataFilter": (
        "POST",
        f"{BOOK}/values:batchGetByDataFilter",
        {"dataFilters": FILTERS},
        {},
    ),
    "values.batchUpdateByDataFilter": (
        "POST",
        f"{BOOK}/values:batchUpdateByDataFilter",
        WRITTEN,
        {},
    ),
    "values.batchClearByDataFilter": (
        "POST",
        f"{BOOK}/values:batchClearByDataFilter",
        {"dataFilters": FILTERS},
        {},
    ),
}
"""A request of each call that names a spreadsheet: method, path, body and parameters."""


@pytest.fixture
def bench(build: BenchBuilder) -> Bench:
    """A client of the first of two accounts."""
    return build({"Data": "x\n"}, EmulatorOptions(projects=("emulator", "emulator")))


@pytest.fixture
def other(bench: Bench, tmp_path: Path) -> Bench:
    """A client of the second account. The spreadsheet has an item of developer metadata."""
    second = bench_of_account(bench, 2, tmp_path)
    bench.edit({"createDeveloperMetadata": {"developerMetadata": METADATA}})
    return second


def share(bench: Bench, role: str, *, spreadsheet_id: str = "book") -> Response:
    """Give the account of the client a role, and return the answer."""
    path = f"/_emulator/spreadsheets/{spreadsheet_id}/access"
    return bench.client.post(path, json={"account": bench.account["client_email"], "role": role})


def call(bench: Bench, name: str) -> Response:
    """The answer to the request of this call in `CALLS`."""
    method, path, body, parameters = CALLS[name]
    return bench.call(method, path, body, **parameters)


def test_the_table_has_every_call() -> None:
    """`CALLS` has every call except spreadsheets.create, which needs no spreadsheet."""
    assert set(CALLS) == set(OPERATIONS) - {"spreadsheets.create"}


@pytest.mark.parametrize("name", CALLS)
def test_account_without_access_gets_403(bench: Bench, other: Bench, name: str) -> None:
    """Every call of an account without access gets 403. Calls of another account succeed."""
    share(other, "none")
    before = bench.client.get("/_emulator/spreadsheets/book").json()
    answer = call(other, name)

    assert (answer.status_code, message(answer)) == (403, DENIED)
    assert bench.client.get("/_emulator/spreadsheets/book").json() == before
    assert call(bench, name).status_code == 200


@pytest.mark.parametrize("name", CALLS)
def test_reader_can_read_but_not_write(bench: Bench, other: Bench, name: str) -> None:
    """Reads of a reader succeed, and writes get 403 without effect."""
    share(other, "reader")
    before = bench.client.get("/_emulator/spreadsheets/book").json()
    answer = call(other, name)

    assert answer.status_code == (200 if OPERATIONS[name].kind == "read" else 403)
    assert answer.status_code == 200 or message(answer) == DENIED
    assert bench.client.get("/_emulator/spreadsheets/book").json() == before
    assert call(bench, name).status_code == 200


def test_role_is_checked_before_the_range(other: Bench) -> None:
    """An append of a reader to an unknown worksheet gets 403, not 400."""
    share(other, "reader")

    assert other.append("None!A1", [["y"]]).status_code == 403


def test_copy_needs_access_to_both_spreadsheets(other: Bench) -> None:
    """copyTo needs read access to the source and write access to the destination."""
    created = other.call("POST", "/v4/spreadsheets", {}).json()["spreadsheetId"]
    path, body = f"{BOOK}/sheets/0:copyTo", {"destinationSpreadsheetId": created}
    statuses = []
    for role_here, role_there in (("reader", "writer"), ("none", "writer"), ("reader", "reader")):
        share(other, role_here)
        share(other, role_there, spreadsheet_id=created)
        statuses.append(other.call("POST", path, body).status_code)

    assert statuses == [200, 403, 403]


def test_access_can_be_restored(other: Bench) -> None:
    """The role `writer` allows writes again, and so does a reset."""
    share(other, "none")
    share(other, "writer")
    given_back = call(other, "values.update").status_code
    share(other, "none")
    other.client.post("/_emulator/reset")

    assert given_back == 200
    assert call(other, "values.update").status_code == 200


def test_role_of_a_user_applies_to_calls_on_behalf_of_the_user(bench: Bench) -> None:
    """A call on behalf of a user needs the user's role, not the account's."""
    own_token, bench.token = bench.token, bench.token_for(sub="ada@example.com")
    share(bench, "none")
    as_user = call(bench, "values.get").status_code
    bench.token = own_token

    assert as_user == 200
    assert call(bench, "values.get").status_code == 403


def test_edit_of_the_owner_needs_no_role(other: Bench) -> None:
    """The edit of a fault is made by the owner, also if the calling account is a reader."""
    share(other, "reader")
    other.owner_edits({"addSheet": {"properties": {"title": "New"}}})

    assert [each["title"] for each in other.sheets()] == ["Data", "New"]


def test_late_write_of_a_reader_has_no_effect(other: Bench) -> None:
    """A write of a reader has no effect, also with `late_ms`."""
    share(other, "reader")
    other.fault({"call": "values.update", "late_ms": 200})
    other.update("Data!A1", [["y"]])
    other.clock.advance(1)

    assert other.grid("Data") == [["x"]]


def test_drive_has_only_shared_files(bench: Bench, other: Bench) -> None:
    """Drive answers 404 without access. A reader can read the file, but not delete it."""
    share(other, "none")
    hidden = other.call("GET", FILE).status_code
    listed = other.call("GET", "/drive/v3/files").json()["files"]
    share(other, "reader")
    seen = other.call("GET", FILE).status_code
    denied = other.call("DELETE", FILE).status_code

    assert (hidden, listed, seen, denied) == (404, [], 200, 403)
    assert bench.call("DELETE", FILE).status_code == 204


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"account": "a@b.c"},
        {"account": "", "role": "none"},
        {"account": "a@b.c", "role": "owner"},
        {"account": "a@b.c", "role": "none", "more": 1},
    ],
)
def test_invalid_body_of_an_access_change_gets_400(bench: Bench, body: object) -> None:
    """A body without account or role, or with an unknown role or member, gets 400."""
    answer = bench.client.post("/_emulator/spreadsheets/book/access", json=body)

    assert answer.status_code == 400


@pytest.mark.parametrize("spreadsheet_id", ["none", "closed"])
def test_spreadsheets_without_data_cannot_be_shared(bench: Bench, spreadsheet_id: str) -> None:
    """An unknown spreadsheet and an unshared spreadsheet get 404."""
    assert share(bench, "writer", spreadsheet_id=spreadsheet_id).status_code == 404
