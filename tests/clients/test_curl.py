"""curl samples of the hosted service, run with curl."""

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.journeys.conftest import Api

PATIENCE_SECONDS = 20

Curl = Callable[..., tuple[int, Any]]


@pytest.fixture
def curl(api: Api) -> Curl:
    """Return a function that runs curl on a path below `/v2/sheets/`.

    The function returns status and parsed JSON.
    """
    program = shutil.which("curl") or pytest.skip("curl is not installed")

    def run(path: str, *arguments: str, key: str | None = "paid") -> tuple[int, Any]:
        signed = ["-H", f"Authorization: Bearer {api.keys[key]}"] if key else []
        words = [*signed, *(["-H", "X-Spreadsheet-Id: demo"] if key else []), *arguments]
        done = subprocess.run(  # noqa: S603 - our own words
            [program, "-q", "-s", "-w", "\n%{http_code}", f"{api.url}/v2/sheets/{path}", *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        )
        body, _, status = done.stdout.rpartition("\n")
        return int(status), json.loads(body or "null")

    return run


def test_curl_lists_rows_with_the_key_in_the_url(curl: Curl, api: Api) -> None:
    """With `-G` curl puts the credentials into the URL, and the list succeeds."""
    words = [f"apiKey={api.keys['paid']}", "spreadsheetId=demo", "limit=1"]
    encoded = [part for word in words for part in ("--data-urlencode", word)]
    status, body = curl("Cities", "-G", *encoded, key=None)

    assert (status, [row["name"] for row in body["results"]]) == (200, ["New York"])


def test_missing_g_option_is_reported(curl: Curl, api: Api) -> None:
    """Without `-G` curl posts the credentials as a form; the error says "add -G".

    Nothing is written.
    """
    before = api.emulator.everything()
    words = ["--data-urlencode", f"apiKey={api.keys['paid']}"]
    status, body = curl("Cities", *words, key=None)

    assert (status, body["code"]) == (401, 4010)
    assert "add -G" in body["message"]
    assert api.emulator.everything() == before


def test_curl_filters_and_sorts_rows(curl: Curl) -> None:
    """A list with filter, order and keys in the hosted service's notation gives the right rows."""
    status, body = curl(
        "Cities",
        "-G",
        "--data-urlencode",
        'where={"population": {"$gte": 2000000, "$lte": 3000000}}',
        "--data-urlencode",
        "order=-population",
        "--data-urlencode",
        "keys=name,country",
    )

    assert status == 200
    assert body["results"] == [
        {"rowIndex": 4, "name": "Chicago", "country": "USA"},
        {"rowIndex": 5, "name": "Houston", "country": "USA"},
    ]


@pytest.mark.parametrize("typed", [True, False], ids=["with a type", "with curl's own type"])
def test_curl_creates_and_updates_rows(curl: Curl, api: Api, typed: bool) -> None:
    """A body with `-d` is parsed as JSON, even with curl's default content type."""
    header = ["-H", "Content-Type: application/json"] if typed else []
    created = curl("Cities", "-X", "POST", *header, "-d", '{"name": "Austin", "population": "9"}')
    updated = curl("Cities/12", "-X", "PUT", *header, "-d", '{"population" : 961855}')

    assert created == (201, {"rowIndex": 12, "name": "Austin", "population": "9"})
    assert updated == (200, {"rowIndex": 12, "population": "961855"})
    assert api.emulator.texts("Cities")[11] == ["Austin", "", "", "961855"]


def test_curl_deletes_with_a_key_with_delete_rights(curl: Curl, api: Api) -> None:
    """A delete gets 405 and keeps the row, unless the key has delete rights."""
    status, body = curl("Cities/3", "-X", "DELETE")
    kept = api.emulator.texts("Cities")[2][0]
    deleted = curl("Cities/3", "-X", "DELETE", key="deleter")

    assert (status, body["code"], kept) == (405, 4051, "Los Angeles")
    assert (deleted, api.emulator.texts("Cities")[2][0]) == ((204, None), "Chicago")
