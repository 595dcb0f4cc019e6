"""The Data page: the grid for a key, and the form of a row."""

import asyncio
import json
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from io import StringIO
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest

from gateway.admin.data import changed_values
from gateway.admin.pages import message_of
from gateway.errors import GatewayError, QuotaSpent
from gateway.telemetry.events import configure_logging, reset_logging, tallies
from tests.admin.conftest import NASTY, Console, cells_in, fields_in, odd_tags
from tests.error_tree import concrete_errors


def view(console: Console, key: str = "deleting", **parameters: object) -> dict[str, object]:
    return {"key": console.key_id(key), "sheet": "Cities", **parameters}


def links(page: str) -> list[str]:
    return [unescape(each.partition('"')[0]) for each in page.split('href="')[1:]]


def test_the_grid_shows_the_fields_of_the_key(console: Console) -> None:
    """The grid has the visible fields with types, the number of rows, and a tab for each
    worksheet.
    """
    page = console.page("/data", **view(console))

    assert [row[0] for row in cells_in(page)] == ["New York", "Los Angeles", "Chicago"]
    assert "population" in page
    assert "<small>number</small>" in page
    assert "3 of <b>3</b> rows" in page
    assert {"Cities", "New", "Spaced"} <= {
        dict(parse_qsl(urlsplit(each).query)).get("sheet") for each in links(page)
    }


def test_a_narrow_key_sees_no_hidden_fields_in_the_console(console: Console) -> None:
    """Hidden fields and worksheets of a key appear in no page, form or error of the console."""
    pages = [
        console.page("/data", **view(console, "narrow")),
        console.page("/data/row", **view(console, "narrow", row=2)),
        console.send(
            "GET", f"/data?key={console.key_id('narrow')}&sheet=Cities&order=population"
        ).content.decode(),
        console.send("GET", f"/data?key={console.key_id('narrow')}&sheet=New").content.decode(),
    ]

    for page in pages:
        for hidden in ("country", "8804190", "Spaced", "USA"):
            assert hidden not in page
    assert "New York" in pages[0]


@pytest.mark.parametrize(
    ("condition", "value", "where", "rows"),
    [
        ("$gte", "3898747", {"population": {"$gte": 3898747}}, 2),
        ("$ne", "3898747", {"population": {"$ne": 3898747}}, 2),
        ("filled", "", {"population": {"$exists": True}}, 3),
        ("empty", "", {"population": {"$exists": False}}, 0),
    ],
)
def test_a_condition_becomes_a_where_in_the_url(
    console: Console, condition: str, value: str, where: dict[str, object], rows: int
) -> None:
    """The filter form redirects to a URL with the filter as the API's `where`."""
    asked = view(console, field="population", condition=condition, value=value, order="-name")

    answer = console.send("GET", f"/data?{urlencode(asked)}")
    query = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
    page = console.send("GET", answer.headers["location"]).content.decode()

    assert json.loads(query["where"]) == where
    assert query["order"] == "-name"
    assert len(cells_in(page)) == rows
    assert unescape(fields_in(page)["where"]) == query["where"]


def test_a_second_condition_joins_the_first(console: Console) -> None:
    """A condition on another field is added to `where`; on the same field `$and` combines both."""
    first = json.dumps({"name": "Chicago"})
    found = []
    for field in ("state", "name"):
        asked = view(console, where=first, field=field, condition="$eq", value="Illinois")
        location = console.send("GET", f"/data?{urlencode(asked)}").headers["location"]
        found.append(json.loads(dict(parse_qsl(urlsplit(location).query))["where"]))

    added = {"name": {"$eq": "Illinois"}}
    assert found[0] == {"name": "Chicago", "state": {"$eq": "Illinois"}}
    assert found[1] == {"$and": [{"name": "Chicago"}, added]}


def test_a_lone_surrogate_stays_in_the_filter(console: Console) -> None:
    """Adding a condition keeps a lone surrogate in the existing filter escaped."""
    asked = view(console, where='{"name": "\\ud800Z\u00fcrich"}', field="state", condition="filled")

    location = console.send("GET", f"/data?{urlencode(asked)}").headers["location"]

    (where,) = parse_qs(urlsplit(location).query)["where"]
    assert where == '{"name": "\\ud800Z\u00fcrich", "state": {"$exists": true}}'


def test_a_header_link_cycles_through_orders(console: Console) -> None:
    """Successive clicks on a header sort ascending, descending, and not at all."""
    orders = []
    page = console.page("/data", **view(console))
    for _ in range(3):
        link = links(page.partition("<thead>")[2])[0]
        orders.append(dict(parse_qsl(urlsplit(link).query)).get("order"))
        page = console.send("GET", link).content.decode()

    assert orders == ["name", "-name", None]


def test_pages_follow_the_cursor(console: Console) -> None:
    """ "Next page" links show each row once, and each page shows the total."""
    page = console.page("/data", **view(console, sheet="Many"))
    seen = [row[0] for row in cells_in(page)]
    counts = [len(seen)]
    while "Next page" in page:
        link = next(each for each in links(page) if "cursor=" in each and "row" not in each)
        page = console.send("GET", link).content.decode()
        seen += [row[0] for row in cells_in(page)]
        counts.append(len(cells_in(page)))
        assert "of <b>120</b> rows" in page
        assert "First page" in page

    assert counts == [50, 50, 20]
    assert seen == [str(number) for number in range(120)]


@pytest.mark.parametrize(
    ("row", "form", "status"),
    [
        ("2", {"tag": "\u65e5", "action": "delete"}, 412),
        ("2", {"tag": "\r\nx: y", "action": "delete"}, 412),
        ("", {"write_id": "\u65e5", "o.name": "", "f.name": "x"}, 400),
        (
            "2",
            {"tag": "*", "o.population": "1", "f.population": "9" * 300, "k.population": "number"},
            400,
        ),
        ("schema", {"tag": "*", "action": "delete"}, 405),
    ],
    ids=["tag", "lines in the tag", "ID of the write", "number", "path"],
)
def test_invalid_texts_of_a_form_write_nothing(
    console: Console, row: str, form: dict[str, str], status: int
) -> None:
    """Invalid tags, IDs, numbers or paths in a form write nothing; the page shows the
    API's error.
    """
    before = console.lines("Cities")

    answer = console.send("POST", f"/data/row?{urlencode(view(console, row=row))}", form=form)

    assert answer.status_code == status
    assert b'role="alert"' in answer.content
    assert console.lines("Cities") == before


TOO_DEEP = "where is nested" if sys.version_info < (3, 13) else "where is not JSON"
"""Start of the message for a deeply nested `where`. The json module of Python 3.13 parses
deeper lists.
"""


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("where=%7B", 400, "where is not JSON"),
        ("order=nothing", 400, "nothing"),
        ("cursor=x", 400, "cursor"),
        ("sheet=Nowhere", 404, "can see no worksheet with this name"),
        ("key=key_unknown", 404, "no key with this ID"),
        ("spreadsheet=%E6%97%A5", 400, "Invalid spreadsheet ID"),
        (f"where={'[' * 2000}", 400, TOO_DEEP),
        (f"where={'[' * 2000}&field=name&condition=$eq&value=x", 400, TOO_DEEP),
    ],
)
def test_errors_of_the_api_are_shown(console: Console, query: str, status: int, words: str) -> None:
    """Invalid parameters of the Data page get the API's status, and the page shows its message."""
    start = "" if "key=" in query else f"key={console.key_id('deleting')}&"
    sheet = "" if "sheet=" in query else "sheet=Cities&"

    answer = console.send("GET", f"/data?{start}{sheet}{query}")

    assert answer.status_code == status
    assert words in unescape(answer.content.decode())


@pytest.mark.parametrize("change", ["revoked_at", "expires_at"])
def test_a_key_that_ended_meanwhile_is_named(console: Console, change: str) -> None:
    """The Data page and the row form of a key that was revoked or expired get 404 with the key's
    name and state.
    """
    store, now = console.surface.state["store"], datetime.now(UTC)
    known = console.call(store.find, console.key_id("deleting"))
    gone = replace(known, id=f"key_{change}", name="worn", **{change: now})
    console.call(store.add, gone, change.encode())
    state = "revoked" if change == "revoked_at" else "expired"
    for path in ("/data", "/data/row"):
        answer = console.send("GET", f"{path}?key={gone.id}&sheet=Cities&row=2")
        page = unescape(answer.content.decode())

        assert answer.status_code == 404
        assert "<h1>Not found <small>404</small></h1>" in page
        assert f'The key "worn" is {state}' in page


def test_pages_show_the_seconds_of_retry_after(console: Console) -> None:
    """With spent quota, the Data page, the row form and a save show the seconds to wait, because
    browsers do not show the header.
    """
    row = urlencode(view(console, row=2))
    form = {**fields_in(console.page("/data/row", **view(console, row=2))), "f.state": "new"}
    unread = urlencode(view(console, sheet="x:y!z", row=2))
    console.surface.calls.failure = QuotaSpent(
        "The quota is used up. Try again after the time in Retry-After.", retry_after_seconds=41
    )
    pages = [
        console.send("GET", f"/data?{unread}"),
        console.send("GET", f"/data/row?{unread}"),
        console.send("POST", f"/data/row?{row}", form=form),
    ]

    for answer in pages:
        text = unescape(answer.content.decode())
        assert (answer.status_code, "Retry-After" in text) == (503, False)
        assert "Try again after 41 seconds." in text


@pytest.mark.parametrize(
    "error", [each for each in concrete_errors() if "Retry-After" in each.description()]
)
def test_messages_of_errors_have_seconds_instead_of_the_header(error: type[GatewayError]) -> None:
    """A message that refers to `Retry-After` becomes a sentence with the seconds."""
    made = error.__new__(error)
    GatewayError.__init__(made, retry_after_seconds=1)
    text = message_of(made)

    assert "Retry-After" not in text
    assert re.search("(after|Wait) 1 second[,.;]", text)


def test_a_key_on_a_removed_plan_does_not_block_other_keys(console: Console) -> None:
    """If the first key's plan was removed, the Data page shows the error and still offers
    other keys.
    """
    store = console.surface.state["store"]
    deleting = console.call(store.find, console.key_id("deleting"))
    then = deleting.created_at - timedelta(days=1)
    console.call(
        store.add, replace(deleting, id="key_old", name="old", plan="old", created_at=then), b"old"
    )
    answer = console.send("GET", "/data")
    row = console.send("GET", "/data/row?key=key_old&sheet=Cities&row=2")
    console.call(store.revoke, "key_old", then)

    assert answer.status_code == 403
    assert "The plan 'old' of this key is not in the settings." in unescape(answer.content.decode())
    assert f'<option value="{deleting.id}"' in answer.content.decode()
    assert row.status_code == 404
    assert b"not in the settings" in row.content


def test_a_key_without_filters_has_no_filter_form(console: Console) -> None:
    """A key whose plan excludes filters gets a page without a filter form."""
    page = console.page("/data", **view(console, "free"))

    assert "does not allow filters" in page
    assert "Add filter" not in page


def test_a_save_writes_only_changed_cells(console: Console) -> None:
    """Saving a row writes only its changed cells, and an unchanged form writes nothing."""
    form = fields_in(console.page("/data/row", **view(console, row=3)))
    before = console.surface.calls.writes
    target = f"/data/row?key={console.key_id('deleting')}&sheet=Cities&row=3&order=name"

    nothing = console.send("POST", target, form=form)
    unwritten = console.surface.calls.writes
    saved = console.send("POST", target, form={**form, "f.population": "3900000"})
    page = console.send("GET", saved.headers["location"]).content.decode()

    assert (nothing.status_code, unwritten) == (303, before)
    assert saved.status_code == 303
    assert "order=name" in saved.headers["location"]
    assert "Row 3 saved." in page
    lines = console.lines("Cities")
    assert lines[2] == ["Los Angeles", "California", "USA", "3900000"]


def test_a_conflicting_save_shows_both_values_and_keeps_the_input(console: Console) -> None:
    """A save after another user's change gets 412; the form keeps the input and shows the
    new value.
    """
    form = fields_in(console.page("/data/row", **view(console, row=3)))
    target = f"/data/row?key={console.key_id('deleting')}&sheet=Cities&row=3"
    assert console.send("POST", target, form={**form, "f.state": "Oregon"}).status_code == 303

    lost = console.send("POST", target, form={**form, "f.state": "Nevada"})
    page = lost.content.decode()
    again = console.send("POST", target, form=fields_in(page))

    assert lost.status_code == 412
    assert fields_in(page)["f.state"] == "Nevada"
    assert "In the sheet now: <b>Oregon</b>" in page
    assert "If-Match" not in page
    assert again.status_code == 303
    assert console.lines("Cities")[2][1] == "Nevada"


def test_a_row_is_created_once(console: Console) -> None:
    """Sending a form for a new row twice creates one row."""
    form = fields_in(console.page("/data/row", **view(console)))
    target = f"/data/row?key={console.key_id('deleting')}&sheet=Cities"
    form |= {"f.name": "Austin", "f.population": "961855"}

    answers = [console.send("POST", target, form=form) for _ in range(2)]
    empty = console.send("POST", target, form=fields_in(console.page("/data/row", **view(console))))

    assert [each.status_code for each in answers] == [303, 303]
    assert "row=5" in answers[0].headers["location"]
    lines = console.lines("Cities")
    assert lines[4] == ["Austin", "", "", "961855"]
    assert len(lines) == 5
    assert empty.status_code == 400


def test_a_form_that_is_sent_twice_is_one_write(console: Console) -> None:
    """Sending a form for a create, save or delete twice writes once."""
    forms: list[tuple[object, dict[str, str]]] = [
        ("", {"f.name": "Twin"}),
        ("", {"f.name": "Twin"}),
        (3, {"f.name": "Lima"}),
        (5, {"action": "delete"}),
    ]
    writes, names = [], []
    for row, changed in forms:
        parameters, before = view(console, row=row), console.surface.calls.writes
        form = fields_in(console.page("/data/row", **parameters)) | changed
        target = f"/data/row?{urlencode(parameters)}"
        answers = [console.send("POST", target, form=form) for _ in range(2)]
        assert [each.status_code for each in answers] == [303, 303]
        writes.append(console.surface.calls.writes - before)
        names.append([line[0] for line in console.lines("Cities")[2:]])

    assert writes == [1, 1, 1, 1]
    assert names[1:] == [
        ["Los Angeles", "Chicago", "Twin", "Twin"],
        ["Lima", "Chicago", "Twin", "Twin"],
        ["Lima", "Chicago", "Twin"],
    ]


def test_a_delete_needs_the_tag_of_the_row(console: Console) -> None:
    """A delete with a stale ETag gets 412, and a key without delete rights has no delete button."""
    form = fields_in(console.page("/data/row", **view(console, row=3))) | {"action": "delete"}
    target = f"/data/row?key={console.key_id('deleting')}&sheet=Cities&row=3"

    stale = console.send("POST", target, form={**form, "tag": '"other"'})
    done = console.send("POST", target, form=form)
    other = console.page("/data/row", **view(console, "paid", row=2))

    assert (stale.status_code, done.status_code) == (412, 303)
    assert [row[0] for row in console.lines("Cities")] == ["name", "New York", "Chicago"]
    assert "Delete row" not in other


@pytest.mark.parametrize("action", ["save", "delete", "create"])
def test_the_rights_of_the_key_apply_to_forms(console: Console, action: str) -> None:
    """A form for a read-only key gets 405 and writes nothing."""
    form = {"f.name": "x", "o.name": "New York", "tag": '"x"', "action": action}
    row = "" if action == "create" else "&row=2"
    before = console.surface.cells()

    answer = console.send(
        "POST", f"/data/row?key={console.key_id('read-only')}&sheet=Cities{row}", form=form
    )

    assert answer.status_code == 405
    assert console.surface.cells() == before


def test_user_texts_are_escaped(console: Console) -> None:
    """Pages show titles, headers, cells, key names and parameters as text, without
    running scripts.
    """
    key = console.key_id("deleting")
    pages = [
        console.page("/data", key=key, sheet=NASTY),
        console.page("/data/row", key=key, sheet=NASTY, row=2),
        console.page("/data/row", key=key, sheet=NASTY),
        console.page("/keys"),
        console.page("/data", key=console.key_id("narrow")),
        *(
            console.send("GET", target, session=session).content.decode()
            for session in (None, "")
            for target in (
                "/data?where=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&order=%22%3E%3Cimg%3E",
                "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E?%22%3E%3Cscript%3E",
                "/sign-in?%22%3E%3Cscript%3E",
            )
        ),
    ]

    assert [odd_tags(page) for page in pages] == [[]] * len(pages)
    assert sum(NASTY in unescape(page) for page in pages) == 6
    form = fields_in(pages[1])
    assert form[f"f.{NASTY}"] == NASTY
    assert form["f.b"] == f"{NASTY}\n{NASTY}"


def test_the_checker_of_pages_finds_scripts() -> None:
    """`odd_tags` finds scripts, event handlers and links to other hosts in a page."""
    for text in (NASTY, '<a href="//evil.example">', '<p onclick="x">', "<script>x</script>"):
        assert odd_tags(f"<main>{text}</main>")


def test_the_log_has_ids_and_no_cell(console: Console) -> None:
    """A log line of the console has the IDs of admin and key, but no parameter value and
    no secret.
    """
    written = StringIO()
    configure_logging(written, form="json")
    used = {place: [*counts] for place, counts in tallies.use.items()}
    try:
        console.page("/data", **view(console, where=json.dumps({"name": "Chicago"})))
        console.send("GET", "/sign-in?Chicago", session="")
        console.call(asyncio.sleep, 0.0)  # the log is written at the end of a loop turn
    finally:
        reset_logging()
    page, sign_in = map(json.loads, written.getvalue().splitlines())

    assert page["admin"].startswith("adm_")
    assert (page["key"], page["path"]) == (console.key_id("deleting"), "/data")
    assert (sign_in["admin"], sign_in["key"]) == ("", None)
    assert "Chicago" not in written.getvalue()
    assert console.session not in written.getvalue()
    assert tallies.use == used


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("number", "12.50", 12.5),
        ("number", "007", 7),
        ("number", "-0.5", -0.5),
        ("number", "n/a", "n/a"),
        ("boolean", "FALSE", False),
        ("date", "2026-02-01", "2026-02-01"),
        ("date-time", "2026-02-01T10:30", "2026-02-01T10:30:00"),
        ("time", "10:30", "10:30:00"),
        ("text", "007", "007"),
        ("number", "", ""),
        ("number", "9" * 5000, "9" * 5000),
    ],
)
def test_form_texts_are_parsed_by_kind(kind: str, text: str, value: object) -> None:
    """A form's text becomes a number, boolean or ISO time according to its input, or
    stays a text.
    """
    form = {"o.a": "x", "k.a": kind, "f.a": text, "o.b": "y", "f.b": "y"}

    values, texts = changed_values(form)

    assert (values, texts) == ({"a": value}, {"a": text})
    assert type(values["a"]) is type(value)


@pytest.mark.parametrize("kind", ["date-time", "time"])
def test_omitted_seconds_are_not_a_change(kind: str) -> None:
    """A time whose zero seconds the browser omitted is not a change."""
    day = "2026-02-01T" if kind == "date-time" else ""

    assert changed_values({"o.a": f"{day}10:30:00", "k.a": kind, "f.a": f"{day}10:30"}) == ({}, {})
