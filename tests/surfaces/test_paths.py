"""Paths: worksheet and row of a request, in every spelling; other paths and methods."""

from urllib.parse import quote

import pytest

from tests.journeys.failure import refused
from tests.journeys.operations import ROW
from tests.surfaces.stage import NO_DELETE, WORKBOOK, Surface

ALL_METHODS = ("GET", "POST", "PUT", "PATCH")


@pytest.mark.parametrize(
    ("segment", "title"),
    [
        ("%43ities", "Cities"),
        ("A%2FB", "A/B"),
        ("A%2fB", "A/B"),
        ("%41%2F%42", "A/B"),
        ("a%27%21B1%3AZ9%2C%27x", "a'!B1:Z9,'x"),
        ("a'!B1:Z9,'x", "a'!B1:Z9,'x"),
        ("D3", "D3"),
        ("1", "1"),
        ("%20lead", " lead"),
        ("x:y!z", "x:y!z"),
        ("St%C3%A4dte%20%F0%9F%8F%99", "Städte 🏙"),
        ("A%252FB", "A%2FB"),
        ("100%25", "100%"),
        ("50%", "50%"),
        ("%zy", "%zy"),
        ("a+b", "a+b"),
        ("...", "..."),
        ("two%0Alines", "two\nlines"),
    ],
)
def test_segment_is_decoded_once(surface: Surface, segment: str, title: str) -> None:
    """The path is decoded once to the exact title. `Location` leads to the new row."""
    if title not in WORKBOOK:
        surface.sheets.add(title, [["name"], ["own"]])
    before = surface.cells()

    row = surface.send("GET", f"{segment}/2")
    created = surface.send("POST", segment, body=b'{"name":"created"}')
    updated = surface.send("PUT", f"{segment}/2", body=b'{"name":"changed"}')

    after = surface.cells()
    assert [each.status_code for each in (row, created, updated)] == [200, 201, 200]
    assert created.headers["location"].startswith(f"/v2/sheets/{quote(title, safe='')}/")
    assert surface.send("GET", created.headers["location"]).json()["name"] == "created"
    assert {each for each in after if after[each] != before[each]} == {title}


@pytest.mark.parametrize(
    "segment",
    [
        *("cities", "CITIES", "Cities%20", "%20Cities", "Cities%0A", "lead", "d3", "01", "1:1"),
        *("A1", "..", "%2E%2E", "%2e%2e%2fCities", ".", "%2F", "a%2F5", "a%2Fb", "A%5CB", "A+B"),
        *(
            "Cities!A1",
            "Cities!A1:D4",
            "'Cities'",
            "%27Cities%27",
            "Cities'!A1:Z9",
            "Cities!A1:D4:append",
        ),
        *("Cities:append", "Cities%3Fx=1", "Cities%23x", "Cities;x", "R1C1", "Sheet1", "%", "%zz"),
        *("x%3Ay", "two%0D%0Alines", "St%C3%A4dte", "Sta%CC%88dte", "N" * 300),
        *("__proto__", "constructor", "nul%01", "%E2%80%AE", "%F0%9F%8F%99", "-1", "%EF%BC%91"),
    ],
    ids=lambda segment: segment[:20],
)
@pytest.mark.parametrize(
    ("method", "row"), [("GET", ""), ("GET", "/2"), ("POST", ""), ("PATCH", "/2")]
)
def test_title_of_no_worksheet(surface: Surface, segment: str, method: str, row: str) -> None:
    """Titles match exactly, with case and blanks."""
    code, answer = surface.refused(method, f"{segment}{row}", body=ROW, reads=3)

    assert code == (404, 105)
    assert answer.json().get("outcome") == (None if method == "GET" else "not_applied")


@pytest.mark.parametrize(
    "segment",
    [*("%00", "Cities%00", "a%00b", "%ff", "%E9", "%C3", "%ED%A0%80", "%C0%AF", "%F5%80%80%80")],
)
@pytest.mark.parametrize("row", ["", "/2"], ids=["worksheet", "row"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_segment_that_is_no_text(surface: Surface, segment: str, row: str, method: str) -> None:
    """A title must be percent-encoded UTF-8 without NUL."""
    code, answer = surface.refused(method, f"{segment}{row}", body=ROW)

    assert code == (400, 4003)
    assert "worksheet name" in answer.json()["message"]


@pytest.mark.parametrize("row", ["2", "%32", "2/", "2?x=y", "2/?x=y"])
def test_row_number(surface: Surface, row: str) -> None:
    """A row number is decoded once. A trailing slash or a query changes nothing."""
    assert surface.send("GET", f"Cities/{row}").json()["name"] == "New York"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        *(
            (row, '" is not a row number')
            for row in (
                *("0", "-1", "+2", "2.0", "2e0", "02", "007", "NaN", "null", "2,3", "2:3", "0x2"),
                *(
                    "2_0",
                    "１",
                    "2%D9%A3",
                    "%D9%A3",
                    "%EF%BC%92",
                    "2%20",
                    "%202",
                    "2%0A",
                    "2%00",
                    "%ff",
                    "..",
                ),
                *("*", "A2", "%252", "%2532", "%30", "100000000"),
            )
        ),
        ("search", '"search" is not a row number'),
        ("a%20b%0A", '"a b\\n" is not a row number'),
        ("9" * 5000, f'"{"9" * 100}…" is not a row number'),
    ],
    ids=lambda text: text[:20],
)
@pytest.mark.parametrize("method", ALL_METHODS)
def test_text_that_is_no_row_number(surface: Surface, method: str, row: str, said: str) -> None:
    """A row number has 1 to 8 ASCII digits, not 0 first.

    The error shows the text and the solution.
    """
    segment = quote(row, safe="%*,:+")

    code, answer = surface.refused(method, f"Cities/{segment}", body=ROW)

    message = answer.json()["message"]
    assert code == (400, 4003)
    assert said in message
    assert "rowIndex" in message
    assert "use ?where=" in message
    assert "In a worksheet's name, write / as %2F" in message


@pytest.mark.parametrize("row", ["1", "5", "6", "999", "99999999"])
@pytest.mark.parametrize("method", ALL_METHODS)
def test_row_without_data(surface: Surface, method: str, row: str) -> None:
    """Row 1 and rows below the last record get 404. Updates never add rows to the sheet."""
    reads = 0 if row == "1" else 1 if method == "GET" else 2

    code, answer = surface.refused(method, f"Cities/{row}", body=ROW, reads=reads)

    assert code == (404, 103)
    assert row in answer.json()["message"]


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
def test_trailing_slash(surface: Surface, method: str, path: str, status: int) -> None:
    """A trailing slash causes no redirect, which would break a CORS preflight."""
    answer = surface.send(method, path, body=ROW if method[0] == "P" else b"")

    assert answer.status_code == status
    assert answer.headers.get("location") == ("/v2/sheets/Cities/5" if status == 201 else None)


@pytest.mark.parametrize("path", ["/livez", "/livez/", "/readyz", "/readyz/"])
def test_health_needs_no_key(surface: Surface, path: str) -> None:
    """The health path needs no key and costs no call to Google."""
    answer = surface.send("GET", path, key=None, spreadsheet=None)

    assert (answer.status_code, set(answer.json())) == (200, {"status"})
    assert (surface.calls.reads, surface.calls.writes) == (0, 0)


@pytest.mark.parametrize(
    "target",
    [
        *("/v2", "/v2/", "/v10", "/V2/sheets/Cities"),
        *("/v2/Sheets/Cities", "/v3/sheets/Cities", "/sheets/Cities", "/v2/sheets%2FCities"),
        *("/v2/sheets//2", "/v2/sheets//", "//v2/sheets/Cities", "/v2//sheets/Cities"),
        *("/v2/sheets/Cities//", "/v2/sheets/Cities//2", "/v2/sheets/Cities/2//"),
        *("/v2/sheets/Cities/2/3", "/v2/sheets/A/B/2", "/v2/sheets/New/../Cities"),
        *("/_emulator/stats", "/v4/spreadsheets/demo", "/favicon.ico"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_path_without_a_route(surface: Surface, method: str, target: str) -> None:
    """Dot segments and double slashes are never normalised to another path."""
    code, answer = surface.refused(method, target, body=ROW)

    message = answer.json()["message"]
    assert code == (404, 4040)
    assert "/v2/sheets/{sheetName}" in message
    assert "/docs" in message
    assert ("two slashes" in message) == ("//" in target)


@pytest.mark.parametrize("target", ["/v1", "/v1/", "/v1/sheets/Cities", "/v1/a/b/c", "/v1//x"])
@pytest.mark.parametrize("method", [*ALL_METHODS, "DELETE"])
@pytest.mark.parametrize("key", ["paid", None])
def test_version_1_is_gone(surface: Surface, target: str, method: str, key: str | None) -> None:
    """Version 1 gets 410, which names version 2, with or without a key."""
    code, answer = surface.refused(method, target, key=key)

    assert code == (410, 4100)
    assert "/v2/sheets/" in answer.json()["message"]
    assert "with a key from this gateway's operator" in answer.json()["message"]


ON_ROWS, ON_ROW = "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS, PATCH, POST, PUT"


@pytest.mark.parametrize(
    ("method", "path", "allowed", "said"),
    [
        ("PUT", "Cities", ON_ROWS, "rowIndex"),
        ("PATCH", "Cities", ON_ROWS, "rowIndex"),
        ("PATCH", "Cities/", ON_ROWS, "rowIndex"),
        ("DELETE", "Cities", ON_ROWS, NO_DELETE),
        ("TRACE", "Cities", ON_ROWS, ""),
        ("DELETE", "Cities/2", ON_ROW, NO_DELETE),
        ("DELETE", "Cities/2/", ON_ROW, NO_DELETE),
        ("TRACE", "Cities/2", ON_ROW, ""),
        ("PROPFIND", "Cities/2", ON_ROW, ""),
        ("POST", "/v2/sheets", "GET, HEAD, OPTIONS", ""),
        ("DELETE", "/v2/sheets", "GET, HEAD, OPTIONS", ""),
    ],
)
def test_method_of_no_operation(
    surface: Surface, method: str, path: str, allowed: str, said: str
) -> None:
    """405 lists the allowed methods, and suggests the request that was probably meant."""
    code, answer = surface.refused(method, path, body=ROW)

    assert code == (405, 4051)
    assert answer.headers["allow"] == allowed
    assert said in answer.json()["message"]


def test_advice_on_deletion_is_for_rows(surface: Surface) -> None:
    """Only the error for rows has the advice on deletes."""
    answer = surface.send("DELETE", "/livez")

    assert refused(answer) == (405, 4051)
    assert "deleted" not in answer.json()["message"]


def test_advice_on_near_titles(surface: Surface) -> None:
    """The error repeats the title, and names a similar title if the key can see it."""
    seen = surface.send("GET", "citties").json()["message"]
    hidden = surface.send("GET", "Citiez", key="misnamed")

    assert '"citties"' in seen
    assert '"Cities"' in seen
    assert refused(hidden) == (404, 105)
    assert b"Cities" not in hidden.content
