"""Paths that depend on the server or on Google's ranges; all others are in tests/surfaces."""

from urllib.parse import quote

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.raw import send_raw

ROW = b'{"name":"written"}'

EXACT_NAMES = [
    pytest.param("A%2FB", "A/B", "slash", id="encoded slash"),
    pytest.param("A%2fB", "A/B", "slash", id="small hex digits"),
    pytest.param("%41%2F%42", "A/B", "slash", id="letters encoded"),
    pytest.param("a%27%21B1%3AZ9%2C%27x", "a'!B1:Z9,'x", "quote", id="a range in quotes"),
    pytest.param("a'!B1:Z9,'x", "a'!B1:Z9,'x", "quote", id="a range, not encoded"),
    pytest.param("D3", "D3", "cell", id="a cell"),
    pytest.param("1", "1", "one", id="a number"),
    pytest.param("%20lead", " lead", "blank", id="leading blank"),
    pytest.param("x:y!z", "x:y!z", "punctuation", id="colon and exclamation mark"),
    pytest.param("St%C3%A4dte%20%F0%9F%8F%99", "Städte 🏙", "Umlaut", id="not ASCII"),
    pytest.param("%252F", "%2F", "percent", id="a percent sign, decoded once"),
    pytest.param("two%0Alines", "two\nlines", "break", id="line break"),
]


@pytest.mark.parametrize(("path", "title", "name"), EXACT_NAMES)
def test_title_with_characters_of_ranges(api: Api, path: str, title: str, name: str) -> None:
    """Reads and writes reach the worksheet of exactly that title, and no other."""
    before = api.emulator.everything()

    rows = send_raw(api, "GET", f"/v2/sheets/{path}")
    row = send_raw(api, "GET", f"/v2/sheets/{path}/2")
    created = send_raw(api, "POST", f"/v2/sheets/{path}", body=ROW)
    updated = send_raw(api, "PUT", f"/v2/sheets/{path}/2", body=b'{"name":"changed"}')
    after = api.emulator.everything()

    assert rows.json() == {"results": [{"rowIndex": 2, "name": name}], "hasNextPage": False}
    assert row.json() == {"rowIndex": 2, "name": name}
    assert (created.status_code, updated.status_code) == (201, 200)
    assert created.headers["location"] == f"/v2/sheets/{quote(title, safe='')}/3"
    assert send_raw(api, "GET", created.headers["location"]).json() == created.json()
    assert api.emulator.texts(title) == [["name"], ["changed"], ["written"]]
    assert {sheet for sheet in after if after[sheet] != before[sheet]} == {title}


@pytest.mark.parametrize(
    "target",
    [
        *("*", "//v2/sheets/Cities", "/v2/sheets/New/../Cities", "/v2/sheets/../../livez"),
        *("/./v2/sheets/Cities", "/v2/x/../sheets/Cities", "/v2/sheets//2", "/V2/sheets/Cities"),
    ],
)
def test_target_is_not_normalised(shared_api: Api, target: str) -> None:
    """The server passes dot segments and double slashes on as they are."""
    answers = [send_raw(shared_api, method, target, body=ROW) for method in ("GET", "POST")]

    assert [refused(answer) for answer in answers] == [(404, 4040)] * 2
    assert shared_api.emulator.stats()["calls"] == {}


def test_absolute_form_of_a_target(shared_api: Api) -> None:
    """A proxy's `GET http://host/path` reads the path; its host is ignored."""
    answer = send_raw(shared_api, "GET", "http://elsewhere.example/v2/sheets/Cities/2")

    assert (answer.status_code, answer.json()["name"]) == (200, "New York")
