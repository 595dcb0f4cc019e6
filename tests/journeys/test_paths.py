"""Paths: which worksheet and row a request is about, however it is spelled."""

from urllib.parse import quote

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.raw import send_raw

ROW = b'{"name":"written"}'
NO_HEADERS: list[tuple[str, str]] = []

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

NO_SUCH_NAME = [
    *("cities", "CITIES", "Cities%20", "%20Cities", "Cities%0A", "lead", "d3", "01", "1:1", "A1"),
    *("..", "%2E%2E", "%2e%2e%2fCities", ".", "%2F", "a%2F5", "a%2Fb", "A%5CB", "A+B"),
    *("Cities!A1", "'Cities'", "%27Cities%27", "Cities'!A1:Z9", "Cities!A1:D4:append"),
    *("Cities:append", "Cities%3Fx=1", "Cities%23x", "Cities;x", "R1C1", "Sheet1", "%", "%zz"),
    *("x%3Ay", "two%0D%0Alines", "St%C3%A4dte", "Sta%CC%88dte%20%F0%9F%8F%99", "N" * 300),
    *("__proto__", "constructor", "nul%01", "%E2%80%AE", "%F0%9F%8F%99", "-1", "%EF%BC%91"),
]

NOT_TEXT = ["%00", "Cities%00", "%ff", "%E9", "%C3", "%ED%A0%80", "%C0%AF", "%F5%80%80%80"]

NOT_ROWS = [
    *("0", "-1", "+2", "2.0", "2e0", "02", "007", "abc", "NaN", "null", "2,3", "2:3", "0x2", "2_0"),
    *("%D9%A3", "%EF%BC%92", "2%20", "%202", "2%0A", "2%00", "%ff", "..", "*", "A2", "%252"),
    *("100000000", "9" * 5000),
]

NO_ROUTES = [
    *("*", "/v2", "/v2/", "/v2/sheets", "/v2/sheets/", "/v10", "/V2/sheets/Cities"),
    *("/v2/Sheets/Cities", "/v3/sheets/Cities", "/sheets/Cities", "/v2/sheets%2FCities"),
    *("/v2/sheets//2", "/v2/sheets//", "//v2/sheets/Cities", "/v2//sheets/Cities"),
    *("/v2/sheets/Cities//", "/v2/sheets/Cities//2", "/v2/sheets/Cities/2//"),
    *("/v2/sheets/Cities/2/3", "/v2/sheets/A/B/2", "/v2/sheets/New/../Cities"),
    *("/v2/sheets/../../livez", "/./v2/sheets/Cities", "/v2/x/../sheets/Cities"),
    *("/_emulator/stats", "/v4/spreadsheets/demo", "/favicon.ico"),
]


@pytest.mark.parametrize(("path", "title", "name"), EXACT_NAMES)
def test_a_name_reads_the_worksheet_with_exactly_that_name(
    shared_api: Api, path: str, title: str, name: str
) -> None:
    """Each path segment is decoded once, and any character may be part of a name."""
    rows = send_raw(shared_api, "GET", f"/v2/sheets/{path}")
    row = send_raw(shared_api, "GET", f"/v2/sheets/{path}/2")

    assert rows.json() == {"results": [{"rowIndex": 2, "name": name}], "hasNextPage": False}
    assert row.json() == {"rowIndex": 2, "name": name}


@pytest.mark.parametrize(("path", "title", "name"), EXACT_NAMES)
def test_a_name_writes_to_the_worksheet_with_exactly_that_name(
    api: Api, path: str, title: str, name: str
) -> None:
    """A create and an update change that worksheet and no other, and Location leads back to it."""
    before = api.emulator.everything()

    created = send_raw(api, "POST", f"/v2/sheets/{path}", body=ROW)
    updated = send_raw(api, "PUT", f"/v2/sheets/{path}/2", body=b'{"name":"changed"}')
    after = api.emulator.everything()

    assert (created.status_code, updated.status_code) == (201, 200)
    assert created.headers["location"] == f"/v2/sheets/{quote(title, safe='')}/3"
    assert send_raw(api, "GET", created.headers["location"]).json() == created.json()
    assert api.emulator.texts(title) == [["name"], ["changed"], ["written"]]
    assert {sheet for sheet in after if after[sheet] != before[sheet]} == {title}


@pytest.mark.parametrize("path", NO_SUCH_NAME, ids=lambda path: path[:20])
def test_a_name_that_no_worksheet_has_is_not_found(shared_api: Api, path: str) -> None:
    """Names match exactly, case and blanks included; nothing else is read or written."""
    before = shared_api.emulator.everything()

    answers = [
        send_raw(shared_api, method, f"/v2/sheets/{path}{row}", body=ROW)
        for method, row in [("GET", ""), ("GET", "/2"), ("POST", ""), ("PATCH", "/2")]
    ]

    assert [refused(answer) for answer in answers] == [(404, 105)] * 4
    outcomes = [answer.json().get("outcome") for answer in answers]
    assert outcomes == [None, None, "not_applied", "not_applied"]
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize("path", NOT_TEXT)
@pytest.mark.parametrize("row", ["", "/2"], ids=["worksheet", "row"])
def test_a_name_that_is_no_text_is_invalid(shared_api: Api, path: str, row: str) -> None:
    """A segment that is not percent-encoded UTF-8, or holds NUL, is refused without a call."""
    answers = [
        send_raw(shared_api, method, f"/v2/sheets/{path}{row}", body=ROW)
        for method in ("GET", "POST")
    ]

    assert [refused(answer) for answer in answers] == [(400, 4003)] * 2
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("row", NOT_ROWS, ids=lambda row: row[:20])
def test_what_is_no_row_number_is_invalid(shared_api: Api, row: str) -> None:
    """A row in the path is 1 to 8 ASCII digits, the first not 0; others cost no call."""
    before = shared_api.emulator.everything()

    answers = [
        send_raw(shared_api, method, f"/v2/sheets/Cities/{row}", body=ROW)
        for method in ("GET", "POST", "PUT", "PATCH")
    ]

    assert [refused(answer) for answer in answers] == [(400, 4003)] * 4
    assert shared_api.emulator.stats()["calls"] == {}
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize("row", ["1", "12", "13", "999", "99999999"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH"])
def test_the_header_and_rows_past_the_last_are_not_found(
    shared_api: Api, method: str, row: str
) -> None:
    """Row 1 and rows below the last data row are 103, and the sheet never grows by an update."""
    before = shared_api.emulator.everything()

    answer = send_raw(shared_api, method, f"/v2/sheets/Cities/{row}", body=ROW)

    assert refused(answer) == (404, 103)
    assert row in answer.json()["message"]
    assert shared_api.emulator.everything() == before
    assert shared_api.emulator.calls()[1] == 0


def test_the_header_row_costs_no_call(shared_api: Api) -> None:
    """Row 1 is known not to be a record without a look at the sheet."""
    answers = [shared_api.send(method, "Cities/1", json={}) for method in ("GET", "PUT")]

    assert [answer.status_code for answer in answers] == [404, 400]
    assert shared_api.post("Cities/1", json={"name": "x"}).status_code == 404
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("row", ["2", "%32", "2/", "2?x=y", "2/?x=y"])
def test_a_row_is_found_however_it_is_spelled(shared_api: Api, row: str) -> None:
    """Every segment is decoded, and a trailing slash or a query change nothing."""
    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities/{row}")

    assert (answer.status_code, answer.json()["name"]) == (200, "New York")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "Cities/", 200),
        ("HEAD", "Cities/", 200),
        ("GET", "Cities/2/", 200),
        ("POST", "Cities/", 201),
        ("POST", "Cities/2/", 200),
        ("PUT", "Cities/2/", 200),
        ("PATCH", "Cities/2/", 200),
        ("OPTIONS", "Cities/", 204),
    ],
)
def test_a_trailing_slash_is_the_same_resource(
    api: Api, method: str, path: str, status: int
) -> None:
    """The answer comes at once, without a redirect, which would break a CORS preflight."""
    answer = send_raw(api, method, f"/v2/sheets/{path}", body=ROW if method[0] == "P" else None)

    assert answer.status_code == status
    assert answer.headers.get("location") == ("/v2/sheets/Cities/12" if status == 201 else None)


@pytest.mark.parametrize("path", ["/livez", "/livez/", "/readyz", "/readyz/"])
def test_health_needs_no_key(shared_api: Api, path: str) -> None:
    """Whether the gateway lives and is ready is told to everybody, without a call to Google."""
    answer = send_raw(shared_api, "GET", path, headers=NO_HEADERS)

    assert (answer.status_code, set(answer.json())) == (200, {"status"})
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("target", NO_ROUTES)
def test_other_paths_are_no_routes(shared_api: Api, target: str) -> None:
    """Dot segments and double slashes are taken as they are, never tidied into another path."""
    answers = [send_raw(shared_api, method, target, body=ROW) for method in ("GET", "POST")]

    assert [refused(answer) for answer in answers] == [(404, 4040)] * 2
    message = answers[0].json()["message"]
    assert "/v2/sheets/{sheetName}" in message
    assert "/docs" in message
    assert ("two slashes" in message) == ("//" in target)
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("target", ["/v1", "/v1/", "/v1/sheets/Cities", "/v1/a/b/c", "/v1//x"])
def test_version_1_is_gone(shared_api: Api, target: str) -> None:
    """Paths of the first version answer 410 and name the second, with or without a key."""
    answers = [
        send_raw(shared_api, method, target, headers=headers)
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        for headers in (None, NO_HEADERS)
    ]

    assert [refused(answer) for answer in answers] == [(410, 4100)] * 10
    assert "/v2/sheets/" in answers[0].json()["message"]
    assert "with a key of this gateway" in answers[0].json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}


ON_ROWS, ON_ROW = "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS, PATCH, POST, PUT"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "Cities", ON_ROWS),
        ("PATCH", "Cities", ON_ROWS),
        ("PATCH", "Cities/", ON_ROWS),
        ("DELETE", "Cities", ON_ROWS),
        ("TRACE", "Cities", ON_ROWS),
        ("DELETE", "Cities/2", ON_ROW),
        ("DELETE", "Cities/2/", ON_ROW),
        ("TRACE", "Cities/2", ON_ROW),
        ("PROPFIND", "Cities/2", ON_ROW),
    ],
)
def test_other_methods_are_not_allowed(
    shared_api: Api, method: str, path: str, allowed: str
) -> None:
    """A method that is no operation of a path answers 405 with those that are, without a call."""
    before = shared_api.emulator.everything()

    answer = send_raw(shared_api, method, f"/v2/sheets/{path}", body=ROW)

    assert refused(answer) == (405, 4051)
    assert answer.headers["allow"] == allowed
    assert shared_api.emulator.stats()["calls"] == {}
    assert shared_api.emulator.everything() == before


def test_put_without_a_row_says_where_the_row_goes(shared_api: Api) -> None:
    """Clients that forget the row are told to put it into the path."""
    answers = [shared_api.send(method, "Cities", json={"name": "x"}) for method in ("PUT", "PATCH")]

    assert all("rowIndex" in answer.json()["message"] for answer in answers)


@pytest.mark.parametrize("path", ["Cities", "Cities/2", "Cities/2/"])
def test_delete_says_what_empties_a_row(shared_api: Api, path: str) -> None:
    """Rows cannot be deleted: the way to empty one is told, and nowhere else."""
    answer = send_raw(shared_api, "DELETE", f"/v2/sheets/{path}")
    elsewhere = send_raw(shared_api, "DELETE", "/livez")

    assert answer.json()["message"].endswith(
        "Rows cannot be deleted: empty their cells with an update of nulls."
    )
    assert refused(elsewhere) == (405, 4051)
    assert "deleted" not in elsewhere.json()["message"]


def test_the_absolute_form_of_a_target_is_the_same(shared_api: Api) -> None:
    """A proxy's `GET http://host/path` reads the path; its host decides nothing."""
    answer = send_raw(shared_api, "GET", "http://elsewhere.example/v2/sheets/Cities/2")

    assert (answer.status_code, answer.json()["name"]) == (200, "New York")


def test_a_name_that_is_nearly_right_is_told_the_right_one(shared_api: Api) -> None:
    """The message repeats the name that was not found and says what it may have meant."""
    answer = shared_api.get("citties")

    assert refused(answer) == (404, 105)
    assert '"citties"' in answer.json()["message"]
    assert '"Cities"' in answer.json()["message"]


def test_a_near_name_is_not_told_to_a_key_that_may_not_see_it(shared_api: Api) -> None:
    """A key of some worksheets hears of no other, however near its name is."""
    answer = shared_api.get("Citiez", key="misnamed")

    assert refused(answer) == (404, 105)
    assert "Cities" not in answer.text
