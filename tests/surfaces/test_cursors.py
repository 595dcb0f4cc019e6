"""Paging by a cursor and links to other pages, over HTTP, with the calls of Google."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer
from tests.fakes import BOOK, FakeWorksheet
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

NAMED = ColumnGrant(frozenset({"name", "state"}))
KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED)),
    "other": KeyRequest(name="other", grants=Grants(spreadsheets=GRANTED)),
    "named": KeyRequest(name="named", grants=Grants(spreadsheets=GRANTED, columns=NAMED)),
}
BASE: Mapping[str, object] = {
    "plans.paid.requests_per_minute": 0,
    "access.pepper": "pepper of the first gateway",
}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "read each time": BASE,
    "kept": {**BASE, "cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600},
    "windows": {**BASE, "cache.window_above_cells": 1},
    "few steps": {**BASE, "api.max_query_steps": 500},
}
HEADER = ["name", "state", "secret"]
ROWS = [[f"name {number:03}", "abc"[number % 3], f"hidden {number}"] for number in range(300)]
WHERE = f"where={quote(json.dumps({'state': 'a'}))}"
LISTS = ["", WHERE, "order=name", "order=-name", "order=state", f"{WHERE}&order=-state"]


@pytest.fixture
def surface(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Surface]:
    """The application with the worksheet `Long`."""
    with open_surface(tmp_path, KEYS, SETTINGS[getattr(request, "param", "kept")]) as surface:
        surface.sheets.add("Long", [HEADER, *ROWS])
        yield surface


def sheet(surface: Surface) -> FakeWorksheet:
    return next(each for each in surface.sheets.worksheets if each.title == "Long")


def page(surface: Surface, parameters: str, cursor: str | None = "", key: str = "paid") -> Any:
    target = f"Long?{parameters}" + ("" if cursor is None else f"&cursor={cursor}")
    answer = surface.send("GET", target, key=key)
    assert answer.status_code == 200, answer.content
    return answer.json()


def walked(surface: Surface, parameters: str, key: str = "paid") -> list[int]:
    """Return the row numbers of all pages."""
    found: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        body = page(surface, parameters, cursor, key)
        assert body["hasNextPage"] is (body["cursor"] is not None)
        found += [row["rowIndex"] for row in body["results"]]
        cursor = body["cursor"]
    return found


def listed(surface: Surface, parameters: str) -> list[int]:
    """Return the row numbers of a list, read by page numbers."""
    found: list[int] = []
    while True:
        body = page(surface, f"{parameters}&limit=100&skip={len(found)}", None)
        found += [row["rowIndex"] for row in body["results"]]
        if not body["hasNextPage"]:
            return found


@pytest.mark.parametrize("surface", ["kept", "windows"], indirect=True)
@pytest.mark.parametrize("values", ["displayed", "typed"])
@pytest.mark.parametrize("parameters", LISTS)
def test_a_walk_gives_every_row_once(surface: Surface, parameters: str, values: str) -> None:
    """Cursors give every row once, in the order of the list, with any `where` and `order`."""
    wanted = listed(surface, parameters)

    assert walked(surface, f"{parameters}&limit=77&values={values}") == wanted


@pytest.mark.parametrize("parameters", LISTS)
def test_a_walk_of_kept_rows_costs_no_call(surface: Surface, parameters: str) -> None:
    """All pages of cached rows cost no further call."""
    page(surface, parameters)
    surface.calls.reads = 0

    walked(surface, f"{parameters}&limit=50")

    assert surface.calls.reads == 0


@pytest.mark.parametrize("surface", ["read each time", "windows"], indirect=True)
def test_a_cursor_covers_rows_of_the_pages_before(surface: Surface) -> None:
    """After edits of the next two rows, rows of earlier pages show the position."""
    cursor = ""
    for _ in range(6):
        cursor = page(surface, "limit=2", cursor)["cursor"]
    for number in (14, 15):
        sheet(surface).type(number, f"edited {number}", "x", "")

    after = page(surface, "limit=2", cursor)

    assert [row["name"] for row in after["results"]] == ["edited 14", "edited 15"]


@pytest.mark.parametrize("surface", ["windows"], indirect=True)
def test_a_page_of_a_large_worksheet_costs_one_read(surface: Surface) -> None:
    """Only rows near the last row are read, and all rows if it is not among them."""
    page(surface, "limit=3")
    cursor = page(surface, "limit=100")["cursor"]
    surface.calls.reads = 0

    second = page(surface, "limit=3", cursor)
    reads = surface.calls.reads
    sheet(surface).insert_rows(2, 150)
    surface.calls.reads = 0
    shifted = page(surface, "limit=4", cursor)

    assert [row["rowIndex"] for row in second["results"]] == [102, 103, 104]
    assert reads == 1
    assert [row["rowIndex"] for row in shifted["results"]] == [252, 253, 254, 255]
    assert surface.calls.reads == 2


@pytest.mark.parametrize("surface", ["read each time", "windows"], indirect=True)
@pytest.mark.parametrize("parameters", ["", "order=state"])
@pytest.mark.parametrize("edit", ["insert", "delete", "delete the last row given"])
def test_a_shifted_row_is_neither_lost_nor_given_twice(
    surface: Surface, parameters: str, edit: str
) -> None:
    """Rows inserted or deleted between two pages neither hide nor repeat a row."""
    first = page(surface, f"{parameters}&limit=20")
    names = [row["name"] for row in first["results"]]
    last = first["results"][-1]["rowIndex"]
    if edit == "insert":
        sheet(surface).insert_rows(3, 2)
    else:
        sheet(surface).delete_rows(3 if edit == "delete" else last, 1)

    rest = page(surface, f"{parameters}&limit=20", first["cursor"])

    state = next(row[1] for row in ROWS if row[0] == names[-1])
    alike = [row[0] for row in ROWS if not parameters or row[1] == state]
    at = alike.index(names[-1]) + 1
    assert [row["name"] for row in rest["results"]] == alike[at : at + 20]


@pytest.mark.parametrize("surface", ["read each time", "windows"], indirect=True)
def test_a_sorted_sheet_has_lost_the_place(surface: Surface) -> None:
    """After a sort of the sheet a cursor gets 410, not retryable. With `order` it loses nothing."""
    plain = page(surface, "limit=20")["cursor"]
    by_name = page(surface, "limit=20&order=name")["cursor"]
    shuffled = sorted(ROWS, key=lambda row: hash((row[1], row[0][::-1])))
    for number, row in enumerate(shuffled, 2):
        sheet(surface).type(number, *row)

    lost = surface.send("GET", f"Long?limit=20&cursor={plain}")
    found = page(surface, "limit=20&order=name", by_name)

    assert refused(lost) == (410, 4101)
    assert lost.json()["retryable"] is False
    assert [row["name"] for row in found["results"]] == [row[0] for row in ROWS[20:40]]


def test_limit_keys_values_and_count_may_change(surface: Surface) -> None:
    """These parameters can change from page to page.

    `total` is always the number of matching rows.
    """
    cursor = page(surface, f"{WHERE}&limit=10")["cursor"]

    body = page(surface, f"{WHERE}&limit=2&keys=name&values=typed&count=true&no-cache=true", cursor)

    assert body["results"] == [
        {"rowIndex": 32, "name": "name 030"},
        {"rowIndex": 35, "name": "name 033"},
    ]
    assert body["total"] == 100


def test_limit_0_gives_a_cursor_of_the_same_place(surface: Surface) -> None:
    """A page with `limit` 0 gives a cursor at the same row, on the first and on later pages."""
    begin = page(surface, "limit=0")
    cursor = page(surface, "limit=5")["cursor"]
    later = page(surface, "limit=0", cursor)

    assert (begin["results"], begin["hasNextPage"]) == ([], True)
    assert page(surface, "limit=1", begin["cursor"])["results"][0]["rowIndex"] == 2
    assert later["cursor"] == cursor


OTHERS = {
    "another key": ("", "other"),
    "another where": (WHERE, "paid"),
    "another order": ("order=-name", "paid"),
    "skip": ("skip=1", "paid"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_cursor_of_another_request_is_refused(surface: Surface, case: str) -> None:
    """A cursor from another list gets 400 without a call."""
    parameters, key = OTHERS[case]
    cursor = page(surface, "limit=5")["cursor"]
    surface.calls.reads = 0

    answer = surface.send("GET", f"Long?{parameters}&cursor={cursor}", key=key)

    assert refused(answer) == (400, 4002)
    assert surface.calls.reads == 0
    assert refused(surface.send("GET", f"Cities?cursor={cursor}")) == (400, 4002)


def test_a_damaged_cursor_is_refused(surface: Surface) -> None:
    """A cursor that is cut, extended or changed in any character gets 400 without a call."""
    cursor = page(surface, "limit=5")["cursor"]
    changed = [
        cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
        for at in range(len(cursor))
    ]
    surface.calls.reads = 0

    for damaged in [*changed, cursor[:-1], cursor + "A", cursor + "=", cursor * 30, "x", "%FF"]:
        assert refused(surface.send("GET", f"Long?cursor={damaged}")) == (400, 4002)
    assert surface.calls.reads == 0


def test_a_cursor_depends_on_the_pepper(tmp_path: Path, surface: Surface) -> None:
    """A gateway with another pepper rejects the cursor."""
    cursor = page(surface, "limit=5")["cursor"]
    (tmp_path / "b").mkdir()
    with open_surface(
        tmp_path / "b", KEYS, {**BASE, "access.pepper": "pepper of another gateway"}
    ) as other:
        other.sheets.add("Long", [HEADER, *ROWS])

        answer = other.send("GET", f"Long?cursor={cursor}")

        assert refused(answer) == (400, 4002)
        assert other.calls.reads == 0


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.text(max_size=40) | st.binary(max_size=60).map(base64.urlsafe_b64encode).map(bytes.decode)
)
def test_any_text_as_a_cursor_is_refused(surface: Surface, text: str) -> None:
    """Any text as a cursor gets a client error, except the empty text, which is the first page."""
    answer = surface.send("GET", f"Cities?cursor={quote(text, errors='replace')}")

    assert answer.status_code == (400 if text else 200)


def test_hidden_cells_are_in_no_cursor_and_no_link(surface: Surface) -> None:
    """Sheets that differ only in hidden cells give equal answers."""
    before = surface.send("GET", "Long?limit=5&cursor=", key="named")
    plain = surface.send("GET", "Long?limit=5&order=state&count=true", key="named")
    for number, row in enumerate(ROWS, 2):
        sheet(surface).type(number, *row[:2], f"other {number % 2}")

    after = surface.send("GET", "Long?limit=5&cursor=&no-cache=true", key="named")
    again = surface.send("GET", "Long?limit=5&order=state&count=true&no-cache=true", key="named")

    assert after.content == before.content
    assert after.headers["etag"] == before.headers["etag"]
    assert linked(again)["next"]["cursor"] == linked(plain)["next"]["cursor"]
    assert walked(surface, "limit=100", "named") == [*range(2, 302)]


def test_edits_of_hidden_cells_lose_no_place(surface: Surface) -> None:
    """Edits of hidden cells do not affect the cursor of a key that cannot see them."""
    cursor = page(surface, "limit=5", key="named")["cursor"]
    for number in range(2, 302):
        sheet(surface).type(number, *ROWS[number - 2][:2], "changed")

    body = page(surface, "limit=1&no-cache=true", cursor, "named")

    assert [row["rowIndex"] for row in body["results"]] == [7]


def linked(answer: Answer) -> dict[str, dict[str, str]]:
    """Return the parameters of each link by its relation."""
    text = answer.headers.get("link", "")
    found = re.findall(r'<\?([^>]*)>; rel="([a-z]+)"', text)
    assert ", ".join(f'<?{query}>; rel="{name}"' for query, name in found) == text
    return {name: dict(parse_qsl(query)) for query, name in found}


def test_links_lead_through_all_pages(surface: Surface) -> None:
    """Links lead through all pages, and the link to the first page has no `cursor`."""
    target, found = f"Long?limit=90&{WHERE}&order=-name", list[str]()
    while target:
        answer = surface.send("GET", target)
        found += [row["name"] for row in answer.json()["results"]]
        following = re.search(r'<([^>]*)>; rel="next"', answer.headers.get("link", ""))
        target = f"Long{following[1]}" if following else ""

    assert found == [row[0] for row in ROWS[::-1] if row[1] == "a"]


LINKS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "limit=100&skip=0": {"next": {"limit": "100", "skip": "100"}},
    "limit=100&skip=150": {
        "next": {"limit": "100", "skip": "250"},
        "first": {"limit": "100", "skip": "0"},
        "prev": {"limit": "100", "skip": "50"},
    },
    "limit=100&skip=250": {
        "first": {"limit": "100", "skip": "0"},
        "prev": {"limit": "100", "skip": "150"},
    },
    "limit=5&skip=2": {
        "next": {"limit": "5", "skip": "7"},
        "first": {"limit": "5", "skip": "0"},
        "prev": {"limit": "5", "skip": "0"},
    },
    "limit=0&skip=0": {},
    "limit=0&skip=3": {},
}


@pytest.mark.parametrize("parameters", LINKS)
def test_a_list_with_skip_has_links_with_skip(surface: Surface, parameters: str) -> None:
    """A list with `skip` links to the next, first and previous page, if they exist."""
    assert linked(surface.send("GET", f"Long?{parameters}")) == LINKS[parameters]


def test_a_link_has_all_parameters_but_keys_and_ignored_ones(surface: Surface) -> None:
    """A link has no API key and no cache buster, and the spreadsheet ID only if the URL has it."""
    key = surface.keys["paid"]
    sent = f"limit=2&keys=name&_=1&apiKey={key}&spreadsheetId={BOOK}&{WHERE}&nonsense=1"

    answer = surface.send("GET", f"Long?{sent}", key=None, spreadsheet=None)
    other = surface.send("GET", f"Long?limit=2&keys=name&{WHERE}", spreadsheet=BOOK)

    found = linked(answer)["next"]
    cursor = found.pop("cursor")
    assert found == {
        "limit": "2",
        "keys": "name",
        "where": '{"state": "a"}',
        "spreadsheetId": BOOK,
    }
    assert linked(other)["next"] == {
        "limit": "2",
        "keys": "name",
        "where": '{"state": "a"}',
        "cursor": cursor,
    }
    assert key.encode() not in answer.said


def test_no_page_behind_the_last_has_no_link(surface: Surface) -> None:
    """A page behind the last row has neither link nor cursor."""
    answer = surface.send("GET", "Cities?cursor=")

    assert answer.json()["cursor"] is None
    assert "link" not in answer.headers


def test_head_and_304_have_the_same_links(surface: Surface) -> None:
    """HEAD and 304 have the links and `X-Total-Count` of the 200."""
    answer = surface.send("GET", "Long?limit=2&count=true")
    head = surface.send("HEAD", "Long?limit=2&count=true")
    tag = ("If-None-Match", answer.headers["etag"])
    known = surface.send("GET", "Long?limit=2&count=true", headers=[tag])

    assert known.status_code == 304
    for each in (answer, head, known):
        assert each.headers["link"] == answer.headers["link"]
        assert each.headers["x-total-count"] == "300"


def test_pages_may_read_both_headers(surface: Surface) -> None:
    """CORS exposes `Link` and `X-Total-Count`."""
    answer = surface.send("GET", "Long?limit=2", headers=[("Origin", "https://a.example")])

    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {"Link", "X-Total-Count"} <= {*exposed}


def test_a_link_is_safe_in_a_header(surface: Surface) -> None:
    """Characters in a link are percent-encoded, and a long link is left out."""
    odd = surface.send("GET", 'Long?limit=2&keys=["name"]')
    long = surface.send("GET", f"Long?limit=2&keys=name,{'x' * 2000}")

    assert re.fullmatch(r"<\?[A-Za-z0-9._~!$&'()*+,;=:@/?%-]+>; rel=\"next\"", odd.headers["link"])
    assert "link" not in long.headers


def test_each_key_has_links_of_its_own(surface: Surface) -> None:
    """Keys that see the same columns share cached answers, but not cursors."""
    cursors = [
        linked(surface.send("GET", "Long?limit=2", key=key))["next"]["cursor"]
        for key in ("paid", "other", "paid")
    ]

    assert cursors[0] == cursors[2] != cursors[1]
    assert page(surface, "limit=1", cursors[1], "other")["results"][0]["rowIndex"] == 4


def test_the_tag_of_a_page_is_stable(surface: Surface) -> None:
    """The ETag and cursor of a page are equal after the rows are read again."""
    tags = [
        surface.send("GET", f"Long?limit=9&cursor=&no-cache={each}").headers["etag"]
        for each in ("false", "true", "true")
    ]

    assert len(set(tags)) == 1


def test_log_lines_have_no_cursor(surface: Surface, capsys: pytest.CaptureFixture[str]) -> None:
    """Log lines have no cursor and no other parameter value."""
    cursor = page(surface, "limit=9")["cursor"]
    page(surface, "limit=9", cursor)
    surface.send("GET", f"Long?limit=9&cursor={cursor}x")

    written: Sequence[str] = capsys.readouterr()
    assert all(cursor[:20] not in text for text in written)


def test_an_order_field_that_the_key_no_longer_sees_is_refused(surface: Surface) -> None:
    """A cursor is rejected if the key cannot see the order field now."""
    cursor = page(surface, "limit=9&order=secret")["cursor"]
    sheet(surface).type(1, "name", "state", "renamed")

    answer = surface.send("GET", f"Long?limit=9&order=secret&cursor={cursor}&no-cache=true")

    assert refused(answer) == (400, 4002)


@pytest.mark.parametrize("surface", ["few steps"], indirect=True)
def test_a_place_that_takes_too_many_steps_has_no_link(surface: Surface) -> None:
    """If equal rows make a cursor too costly, the list has no `Link`.

    With `cursor` it is an error.
    """
    surface.sheets.add("Same", [["a", "b"], *[["x", "y"]] * 1_000])

    plain = surface.send("GET", "Same?limit=2")
    asked = surface.send("GET", "Same?limit=2&cursor=")

    assert plain.status_code == 200
    assert "link" not in plain.headers
    assert refused(asked) == (400, 4006)
