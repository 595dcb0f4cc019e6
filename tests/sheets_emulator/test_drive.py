"""The supported part of the Drive API: answers, errors and unsupported calls."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from googleapiclient.discovery_cache import DISCOVERY_DOC_DIR

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import NO_CALLS, Bench, build_bench, write_seed

FILES = "/drive/v3/files"
SHEET_TYPE = "application/vnd.google-apps.spreadsheet"
START_TEXT = "2023-11-14T22:13:20.000Z"  # start of the bench's clock
TIMES = "createdTime,modifiedTime"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An emulator with the spreadsheet `book`, and `closed`, which is not shared."""
    seed = write_seed(tmp_path / "seed", {"book/Data.csv": "x\n", "closed.unshared": ""})
    built = build_bench(tmp_path, EmulatorOptions(seed=seed))
    with built.client:
        yield built


@cache
def members(schema: str) -> frozenset[str]:
    """The members of a resource in Google's discovery document of Drive."""
    text = (Path(DISCOVERY_DOC_DIR) / "drive.v3.json").read_text("utf-8")
    properties: Mapping[str, Any] = json.loads(text)["schemas"][schema]["properties"]
    return frozenset(properties)


def found(bench: Bench, query: str) -> list[str]:
    """The ids of the files that a search finds."""
    answer = bench.call("GET", FILES, q=query).json()
    return [file["id"] for file in answer["files"]]


def times(bench: Bench, file_id: str = "book") -> list[str]:
    """The list [createdTime, modifiedTime] of a file."""
    answer = bench.call("GET", f"{FILES}/{file_id}", fields=TIMES).json()
    return [answer["createdTime"], answer["modifiedTime"]]


def test_file_has_four_fields_unless_others_are_requested(bench: Bench) -> None:
    """The default answer has kind, id, name and mimeType. `fields` can select others."""
    usual = bench.call("GET", f"{FILES}/book").json()
    masked = bench.call("GET", f"{FILES}/book", fields="id,createdTime").json()
    whole = bench.call("GET", f"{FILES}/book", fields="*").json()

    assert usual == {"kind": "drive#file", "id": "book", "name": "book", "mimeType": SHEET_TYPE}
    assert masked == {"id": "book", "createdTime": START_TEXT}
    assert set(whole) <= members("File")


def test_list_has_all_shared_files(bench: Bench) -> None:
    """A list without `q` has all shared files, in the format of Drive's lists."""
    answer = bench.call("GET", FILES).json()
    permissions = bench.call("GET", f"{FILES}/book/permissions", fields="*").json()

    assert answer["kind"] == "drive#fileList"
    assert [file["id"] for file in answer["files"]] == ["book"]
    assert set(answer) <= members("FileList")
    assert set(permissions) <= members("PermissionList")
    assert set(permissions["permissions"][0]) <= members("Permission")


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        (f'mimeType="{SHEET_TYPE}"', True),
        (f"mimeType='{SHEET_TYPE}' and name = 'it\\'s'", True),
        (f'mimeType="{SHEET_TYPE}" and name = "it\'s"', True),
        ('name = "other"', False),
        ('mimeType="application/pdf"', False),
        ('name="it\'s" and trashed = false', True),
        ("trashed = true", False),
        ('parents in "root"', True),
        ('parents in "folder"', False),
        ("", True),
    ],
)
def test_search(bench: Bench, query: str, is_found: bool) -> None:
    """`q` supports the terms that gspread sends, joined by `and`, in single or double quotes."""
    made = bench.call("POST", FILES, {"name": "it's", "mimeType": SHEET_TYPE}).json()

    assert (made["id"] in found(bench, query)) is is_found


def test_modified_time_is_the_time_of_the_last_effective_write(bench: Bench) -> None:
    """Only writes with an effect and edits by the owner change `modifiedTime`."""
    bench.clock.advance(10)
    bench.grid("Data")
    bench.update("Nope!A1", [["x"]])
    bench.fault({"call": "values.update"})
    bench.update("Data!A1", [["x"]])
    unchanged = times(bench)
    bench.update("Data!A1", [["x"]])
    written = times(bench)
    bench.clock.advance(10)
    bench.fault({"call": "values.get", "edit": {"requests": [{"addSheet": {}}]}})
    bench.grid("Data")

    assert unchanged == [START_TEXT, START_TEXT]
    assert written == [START_TEXT, "2023-11-14T22:13:30.000Z"]
    assert times(bench) == [START_TEXT, "2023-11-14T22:13:40.000Z"]


def test_deleted_file_is_not_found(bench: Bench) -> None:
    """A delete gets 204 without a body. Then both APIs answer 404 for the id."""
    deleted = bench.call("DELETE", f"{FILES}/book")
    gone = bench.call("GET", f"{FILES}/book")

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert gone.status_code == 404
    assert gone.json()["error"] == {
        "code": 404,
        "message": "File not found: book.",
        "errors": [{"message": "File not found: book.", "domain": "global", "reason": "notFound"}],
    }
    assert bench.call("GET", "/v4/spreadsheets/book").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{FILES}/closed", None, 404),
        ("POST", FILES, {"name": "x", "mimeType": "text/plain"}, 501),
        ("POST", FILES, {"name": "x", "parents": ["folder"]}, 404),
        ("POST", FILES, {"name": 7}, 400),
        ("POST", FILES, {"name": "x", "mimeType": []}, 400),
        ("POST", FILES, {"name": "x", "parents": [7]}, 400),
        ("POST", FILES, {"name": "x", "parents": "root"}, 400),
        ("POST", FILES, [], 400),
        ("POST", f"{FILES}/none/copy", {}, 404),
        ("GET", f"{FILES}?fields=,", None, 400),
        ("GET", f"{FILES}?q=fullText contains 'x'", None, 501),
        ("PATCH", f"{FILES}/book", {"name": "y"}, 501),
        ("GET", f"{FILES}/book/export", None, 501),
        ("POST", f"{FILES}/book/permissions", {"role": "reader"}, 501),
        ("PUT", "/upload/drive/v2/files/book", None, 501),
    ],
)
def test_invalid_and_unsupported_calls_are_errors(
    bench: Bench, method: str, path: str, body: object, status: int
) -> None:
    """Missing files get 404, invalid bodies 400, and unsupported calls 501."""
    answer = bench.call(method, path, body)

    assert answer.status_code == status
    assert answer.json()["error"]["code"] == status


def test_request_without_a_token_gets_401(bench: Bench) -> None:
    """Drive answers 401 without a token, like the Sheets API."""
    assert bench.client.get(FILES).status_code == 401


def test_drive_calls_are_not_counted_or_limited(bench: Bench) -> None:
    """Statistics, limits and faults do not apply to Drive calls."""
    bench.fault({"call": "*", "times": 5})
    statuses = {bench.call("GET", FILES).status_code for _ in range(5)}

    assert statuses == {200}
    assert bench.stats() == NO_CALLS


def test_reset_undoes_creations_and_deletions(bench: Bench) -> None:
    """A reset deletes created files and restores seeded files, with the time of the reset."""
    made = bench.call("POST", FILES, {}).json()
    bench.call("DELETE", f"{FILES}/book")
    bench.clock.advance(10)
    bench.client.post("/_emulator/reset")

    assert made["name"] == "Untitled"
    assert found(bench, "") == ["book"]
    assert times(bench) == ["2023-11-14T22:13:30.000Z"] * 2
