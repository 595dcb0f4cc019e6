"""The Keys pages: the list, and forms to create, change, rotate and revoke a key."""

import json
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from io import StringIO
from urllib.parse import urlencode

import pytest

from gateway.admin.console import OPERATIONS
from gateway.admin.snippets import first_request
from gateway.storage.key_store import Grants
from gateway.telemetry.events import configure_logging, reset_logging
from tests.admin.conftest import NASTY, SAME_ORIGIN, Console, fields_in, odd_tags
from tests.asgi_client import Answer
from tests.fakes import BOOK

SECRET = re.compile(r"sgw_[0-9A-Za-z]{36}")
LONG = "n" * 10_000
RTL = "\u202edrowssap \u05e9\u05dc\u05d5\u05dd"


def new_form(console: Console, **texts: str) -> dict[str, str]:
    """Return the filled form of a new key for the test spreadsheet. A text of "" clears a
    checkbox.
    """
    form = {**fields_in(console.page("/keys/new")), "spreadsheets": BOOK, "name": "made"}
    form |= {"plan": "paid", **texts}  # a choice
    return {name: text for name, text in form.items() if text}


def make(console: Console, **texts: str) -> tuple[str, str]:
    """Create a key, and return its ID and secret."""
    form = new_form(console, **texts)
    answer = console.send("POST", "/keys/new", form=form)
    assert answer.status_code == 200, answer.content.decode()
    return form["id"], SECRET.findall(answer.content.decode())[0]


def edit_form(console: Console, key_id: str, **texts: str) -> dict[str, str]:
    """Return the filled form of a key. A text of "" clears a checkbox."""
    form = {**fields_in(console.page(f"/keys/{key_id}")), "action": "save"}
    form |= {"plan": "paid", **texts}
    return {name: text for name, text in form.items() if text or name not in texts}


def save(console: Console, key_id: str, form: dict[str, str]) -> Answer:
    return console.send("POST", f"/keys/{key_id}", form=form)


def count(console: Console) -> int:
    return len(console.call(console.surface.state["store"].list))


def record_of(console: Console, key_id: str) -> object:
    records = console.call(console.surface.state["store"].list)
    return next(each for each in records if each.id == key_id)


def status_of(console: Console, key: str, method: str = "GET") -> int:
    headers = [("Authorization", f"Bearer {key}"), ("Content-Type", "application/json")]
    body = b'{"name": "x"}' if method == "POST" else b""
    return console.surface.send(method, "Cities", key=None, headers=headers, body=body).status_code


def test_a_secret_is_shown_once_with_a_request_that_runs(console: Console) -> None:
    """The answer to the form shows a new secret and a working curl command; no other
    page, URL or log has it.
    """
    log = StringIO()
    configure_logging(log)
    form = new_form(console, name="once")
    made = console.send("POST", "/keys/new", form=form)
    page = unescape(made.content.decode())
    secret = SECRET.findall(page)[0]
    again = console.send("POST", "/keys/new", form=form)
    others = [
        again,
        console.send("GET", again.headers["location"]),
        console.send("GET", "/keys"),
        console.send("GET", f"/data?key={form['id']}"),
    ]
    reset_logging()

    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    assert "curl 'https://api.example/v2/sheets/Cities?limit=3' \\\n" in page
    assert f"  -H 'Authorization: Bearer {secret}' \\\n  -H 'X-Spreadsheet-Id: {BOOK}'" in page
    assert "location" not in made.headers
    assert status_of(console, secret) == 200
    assert not any(secret.encode() in each.said for each in others)
    assert "/keys/new" in log.getvalue()
    assert secret not in log.getvalue()


def test_a_form_that_is_sent_again_creates_no_second_key(console: Console) -> None:
    """A repeated form creates no second key but leads to the first; a repeated rotation
    does nothing.
    """
    form = new_form(console, name="twice")
    first, count_before = console.send("POST", "/keys/new", form=form), count(console)
    reads = console.surface.calls.reads
    again = console.send("POST", "/keys/new", form={**form, "name": "another"})
    assert console.surface.calls.reads == reads
    rotation = {**fields_in(console.page(f"/keys/{form['id']}")), "action": "rotate"}
    rotation |= {"overlap": "0"}
    rotated = [save(console, form["id"], rotation) for _ in range(2)]
    forged = console.send("POST", "/keys/new", form={**form, "id": "key_../x"})

    assert first.status_code == 200
    assert (again.status_code, again.headers["location"]) == (303, f"/keys/{form['id']}?done=made")
    assert "This form has already made this key" in console.page(f"/keys/{form['id']}", done="made")
    assert [each.status_code for each in rotated] == [200, 303]
    assert rotated[1].headers["location"].endswith("done=rotated")
    note = "The key got another secret after you opened its page, so this form made none."
    assert note in console.page(f"/keys/{form['id']}", done="rotated")
    assert status_of(console, SECRET.findall(rotated[0].content.decode())[0]) == 200
    assert (forged.status_code, count(console)) == (400, count_before)


@pytest.mark.parametrize(
    ("texts", "field", "words"),
    [
        ({"name": LONG}, "name", "1 to 200"),
        ({"name": RTL}, "name", "printable"),
        ({"spreadsheets": ""}, "spreadsheets", "name at least one"),
        ({"any": "on"}, "spreadsheets", "not both"),
        ({"spreadsheets": "elsewhere"}, "spreadsheets", "elsewhere"),
        ({"worksheets": f"Cities\r\n{NASTY}x"}, "worksheets", "there is no worksheet"),
        ({"columns": "name\r\nnowhere"}, "columns", "there is no field"),
        ({"may.read": ""}, "may", "without read"),
        ({"origins": NASTY}, "origins", "is not scheme"),
        ({"expiresAt": "soon"}, "expiresAt", "must be a time"),
        ({"next": "https://a.example/"}, "next", "only create"),
        ({"plan": NASTY}, "plan", "is not configured"),
    ],
    ids=lambda each: ascii(each)[:40],
)
def test_an_error_is_shown_next_to_its_field(
    console: Console, texts: dict[str, str], field: str, words: str
) -> None:
    """An invalid field gets 400 with a message at the field; the form keeps its input,
    and no key exists.
    """
    form = new_form(console, **texts)
    before = count(console)

    answer = console.send("POST", "/keys/new", form=form)
    page = answer.content.decode()
    noted = re.search(f'id="error-{field}">(.*?)</p>', page, re.DOTALL)
    kept = fields_in(page)

    assert answer.status_code == 400
    assert noted is not None
    assert words in unescape(noted[1])
    assert f'error-{field}"' in page.partition(f'id="error-{field}"')[0]  # as its description
    assert odd_tags(page) == []
    assert count(console) == before
    for name, text in form.items():
        if name not in ("plan", "action"):
            assert kept[name] == text.replace("\r\n", "\n") or kept[name] == "on"


def test_a_form_that_is_not_utf_8_creates_no_key(console: Console) -> None:
    """A form with a lone surrogate or another byte that is not UTF-8 gets 400."""
    body = urlencode(new_form(console, name="NAME"))
    lines = [*SAME_ORIGIN, ("Content-Type", "application/x-www-form-urlencoded")]
    before = count(console)
    for odd in ("%ED%A0%80", "%FF", "\xff"):
        sent = body.replace("NAME", odd).encode("latin-1")
        answer = console.send("POST", "/keys/new", headers=lines, body=sent)

        assert answer.status_code == 400
    assert count(console) == before


def test_a_conflicting_edit_keeps_the_input(console: Console) -> None:
    """A save after another tab's save gets 412 and shows the new values; a second save
    overwrites.
    """
    key_id, secret = make(console, name="raced")
    mine = edit_form(console, key_id, name="mine", **{"may.create": ""})
    theirs = edit_form(console, key_id, name="theirs", origins="https://a.example")
    first, lost = save(console, key_id, theirs), save(console, key_id, mine)
    page = lost.content.decode()
    kept = fields_in(page)
    won = save(console, key_id, {**kept, "plan": "paid", "action": "save"})
    last = fields_in(console.page(f"/keys/{key_id}"))

    assert (first.status_code, lost.status_code, won.status_code) == (303, 412, 303)
    assert (kept["name"], "may.create" in kept) == ("mine", False)
    assert re.findall("Now: <b>(.*?)</b>", page) == ["theirs", "yes"]
    assert status_of(console, secret, "POST") == 403
    assert (last["name"], last["origins"]) == ("mine", "https://a.example")


def test_a_conflict_marks_only_the_fields_that_the_user_changed(console: Console) -> None:
    """A tab that changes only the columns keeps the name and the expiry of another tab's save.

    Browsers send an unchanged expiry without its seconds.
    """
    key_id, _ = make(console, name="before", expiresAt="2030-01-01T10:00:00")
    theirs = edit_form(console, key_id, name="renamed", expiresAt="2031-02-03T04:05:06")
    mine = edit_form(console, key_id, columns="name", expiresAt="2030-01-01T10:00")
    save(console, key_id, theirs)
    lost = save(console, key_id, mine)
    page = lost.content.decode()
    kept = fields_in(page)
    won = save(console, key_id, {**kept, "plan": "paid", "action": "save"})
    last = fields_in(console.page(f"/keys/{key_id}"))
    same = save(console, key_id, {**last, "plan": "paid", "action": "save"})
    edits = console.call(console.surface.state["store"].edits, key_id)

    assert (lost.status_code, won.status_code, same.status_code) == (412, 303, 303)
    assert re.findall("Now: <b>(.*?)</b>", page) == ["empty"]
    assert (kept["columns"], kept["name"]) == ("name", "renamed")
    assert (last["columns"], last["name"]) == ("name", "renamed")
    assert last["expiresAt"] == "2031-02-03T04:05:06"
    assert [set(each.changes) for each in edits[-2:]] == [{"name", "expiresAt"}, {"columns"}]


def test_an_unchanged_expiry_without_seconds_is_not_a_change(console: Console) -> None:
    """After another tab's save, a save without changes does not conflict and changes nothing."""
    key_id, _ = make(console, name="dated", expiresAt="2030-01-01T10:00:00")
    mine = edit_form(console, key_id, expiresAt="2030-01-01T10:00")
    save(console, key_id, edit_form(console, key_id, name="renamed"))

    assert save(console, key_id, mine).status_code == 303
    assert fields_in(console.page(f"/keys/{key_id}"))["name"] == "renamed"


def test_a_refused_change_still_meets_a_conflict(console: Console) -> None:
    """If another tab saves between a refused save and its correction, the correction gets 412."""
    key_id, _ = make(console, name="before")
    refused = save(console, key_id, edit_form(console, key_id, name="mine", origins="odd"))
    kept = fields_in(refused.content.decode())
    save(console, key_id, edit_form(console, key_id, name="theirs"))
    corrected = save(console, key_id, {**kept, "origins": "", "plan": "paid", "action": "save"})

    assert (refused.status_code, corrected.status_code) == (400, 412)
    assert re.findall("Now: <b>(.*?)</b>", corrected.content.decode()) == ["theirs"]


def test_a_change_that_is_sent_twice_is_not_a_conflict(console: Console) -> None:
    """Sending the same change twice succeeds both times and writes one history entry."""
    key_id, _ = make(console)
    form = edit_form(console, key_id, name="twice", origins="https://b.example\nhttps://a.example")
    wide = edit_form(console, key_id, spreadsheets="", any="on")
    answers = [save(console, key_id, form) for _ in range(2)]
    stale = save(console, key_id, wide)
    warned = save(console, key_id, edit_form(console, key_id, spreadsheets="", any="on"))

    assert [each.headers.get("location") for each in answers] == [f"/keys/{key_id}?done=saved"] * 2
    assert stale.status_code == 412
    assert "This key can use every spreadsheet" in warned.content.decode()
    assert "Saved." in warned.content.decode()
    assert len(console.call(console.surface.state["store"].edits, key_id)) == 3


def test_an_unchanged_list_keeps_its_value(console: Console) -> None:
    """Saving a form keeps worksheet names with line breaks, which browsers send as
    several lines.
    """
    odd = ["a\r\nb", " lead", "c\rd"]
    made = console.surface.sheets
    made.add("a\r\nb", [["x"]])
    made.add("c\rd", [["x"]])
    body = {"name": "odd", "spreadsheets": [BOOK], "worksheets": odd}
    headers = [("Authorization", f"Bearer {console.admin_key}")]
    found = console.send("POST", "/admin/v1/keys", headers=headers, body=_json(body)).json()
    before = console.surface.calls.reads

    saved = save(console, found["id"], edit_form(console, found["id"], name="even"))
    shown = console.send("GET", f"/admin/v1/keys/{found['id']}", headers=headers).json()

    assert saved.status_code == 303
    assert (shown["name"], shown["worksheets"]) == ("even", sorted(odd))
    assert console.surface.calls.reads == before


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def test_a_key_is_rotated_ended_and_revoked(console: Console) -> None:
    """A rotation, the end of the old secret, and a revocation apply at once; a revoked
    key has no form.
    """
    key_id, secret = make(console, name="worn")
    rotation = {**fields_in(console.page(f"/keys/{key_id}")), "action": "rotate"}
    odd = save(console, key_id, {**rotation, "overlap": "soon"})
    rotated = save(console, key_id, {**rotation, "overlap": "3600"})
    new = SECRET.findall(rotated.content.decode())[0]
    both = [status_of(console, each) for each in (secret, new)]
    page = console.page(f"/keys/{key_id}")
    ended = save(console, key_id, {"action": "end"})
    after = [status_of(console, each) for each in (secret, new)]
    again = save(console, key_id, {"action": "end"})
    revoked = save(console, key_id, {"action": "revoke"})
    gone = save(console, key_id, {"action": "revoke"})
    last = console.page(f"/keys/{key_id}")

    assert (odd.status_code, rotated.status_code, both) == (400, 200, [200, 200])
    assert "Two secrets are valid" in page
    assert after == [401, 200]
    assert "is no longer valid" in console.send("GET", again.headers["location"]).content.decode()
    assert [each.status_code for each in (ended, again, revoked, gone)] == [303] * 4
    assert status_of(console, new) == 401
    assert 'action="/keys' not in last
    assert "revoked" in last


def test_a_form_of_a_key_that_was_revoked_meanwhile_says_so(console: Console) -> None:
    """Saving or rotating a key that another administrator revoked gets 404 with the reason."""
    key_id, _ = make(console, name="worn")
    form = edit_form(console, key_id, name="new name")
    save(console, key_id, {"action": "revoke"})
    for action in ("save", "rotate"):
        answer = save(console, key_id, {**form, "action": action})
        page = unescape(answer.content.decode())

        assert answer.status_code == 404
        assert "<h1>Not found <small>404</small></h1>" in page
        assert "This key is revoked" in page
        assert "its name" not in page


def test_active_keys_come_first_with_their_rights_in_words(console: Console) -> None:
    """Active keys are listed before revoked keys, newest first, with rights in words and
    a link to each.
    """
    gone, _ = make(console, name="gone")
    save(console, gone, {"action": "revoke"})
    form, _ = make(console, name="form", **{"may.read": "", "may.update": ""})
    page = console.page("/keys")
    rows = [unescape(each) for each in page.split("<tr>")[2:]]

    assert "form" in rows[0]
    assert "create only" in rows[0]
    assert f"/data?key={form}" not in rows[0]
    assert f'href="/keys/{form}"' in rows[0]
    assert f"/data?key={console.key_id('paid')}" in page
    assert [">revoked<" in each for each in rows].index(True) > len(rows) - 10


ONLY_CREATE = {"may.read": "", "may.update": ""}


@pytest.mark.parametrize(
    ("texts", "sheet", "row", "placeholders"),
    [
        ({}, "SHEET", {"FIELD": "value"}, ["SHEET", "FIELD"]),
        ({"worksheets": "Cities", "columns": "state\r\nname"}, "Cities", {"name": "value"}, []),
        (
            {"worksheets": "Cities", "columns": "state\r\nname", "writableColumns": "state"},
            "Cities",
            {"state": "value"},
            [],
        ),
        ({"columns": "state"}, "SHEET", {"state": "value"}, ["SHEET"]),
        (
            {"spreadsheets": "", "any": "on"},
            "SHEET",
            {"FIELD": "value"},
            ["SPREADSHEET_ID", "SHEET", "FIELD"],
        ),
    ],
    ids=["nothing known", "columns", "writable columns", "no worksheet", "any spreadsheet"],
)
def test_the_first_request_of_a_key_that_can_only_create(
    console: Console,
    texts: dict[str, str],
    sheet: str,
    row: dict[str, str],
    placeholders: list[str],
) -> None:
    """The command creates a row with the first granted field, and the page names the
    placeholders. A command without placeholders succeeds.
    """
    form = new_form(console, **ONLY_CREATE, **texts)
    page = console.send("POST", "/keys/new", form=form).content.decode()
    curl = unescape(page.partition('labelledby="curl-label">')[2].partition("</pre>")[0])
    words = shlex.split(curl)
    named = re.findall("<code>(.*?)</code>", page.partition("replace ")[2].partition("</p>")[0])

    assert words[:2] == ["curl", f"https://api.example/v2/sheets/{sheet}"]
    assert json.loads(words[words.index("-d") + 1]) == row
    assert named == placeholders
    if not placeholders:
        secret = SECRET.findall(page)[0]
        lines = [("Authorization", f"Bearer {secret}"), ("Content-Type", "application/json")]
        sent = words[words.index("-d") + 1].encode()
        answer = console.surface.send("POST", sheet, key=None, headers=lines, body=sent)
        assert answer.status_code == 201


def test_the_first_request_of_a_key_with_turnstile_names_the_token() -> None:
    """The command of a key that needs Turnstile has a placeholder for the token."""
    grants = Grants(
        spreadsheets=frozenset({BOOK}), may_read=False, may_update=False, needs_challenge=True
    )
    curl, placeholders = first_request("https://api.example", "KEY", grants, "It's")

    assert json.loads(shlex.split(curl)[-1]) == {"FIELD": "value", "cf-turnstile-response": "TOKEN"}
    assert placeholders == ["FIELD", "TOKEN"]
    assert shlex.split(curl)[1] == "https://api.example/v2/sheets/It%27s"


def test_many_keys_are_paged(console: Console) -> None:
    """The list has 100 keys a page, and `find` filters it; revoked keys are not offered
    for the Data page.
    """
    store, now = console.surface.state["store"], datetime.now(UTC)
    deleting = console.call(store.find, console.key_id("deleting"))
    for number in range(120):
        gone = replace(deleting, id=f"key_old{number}", name=f"old {number}", revoked_at=now)
        console.call(store.add, gone, b"old%d" % number)
    first = console.page("/keys")
    (link,) = re.findall(r'href="(/keys\?skip=100)"', first)
    second, found = (
        console.page(link.partition("?")[0], skip=100),
        console.page("/keys", find="D 77"),
    )
    nothing = console.send("GET", "/keys?find=%00'&skip=5").content.decode()
    rows = "/data?key=key_"

    assert first.count("<tr>") == 101
    assert 20 < second.count("<tr>") <= 101
    assert first.count("<option") == 0 < first.count(rows)
    assert found.count("<tr>") == 2
    assert "old 77" in found
    assert "No key matches." in nothing
    assert console.send("GET", "/keys?skip=x").status_code == 400
    assert "old 7" not in console.page("/data")


def test_key_names_are_escaped_everywhere(console: Console) -> None:
    """Every page and every answer to a form escapes the name of a key."""
    form = new_form(console, name=NASTY, worksheets=NASTY)
    key_id = form["id"]
    made = console.send("POST", "/keys/new", form=form)
    pages = [
        console.send(each.method, f"{each.path.replace('{id}', key_id)}?key={key_id}")
        for each in OPERATIONS
        if each.method == "GET"
    ]
    edit = edit_form(console, key_id)
    pages += [made, save(console, key_id, {**edit, "tag": "x"})]
    pages += [save(console, key_id, {**edit, "origins": NASTY})]
    pages += [save(console, key_id, {**edit, "action": "rotate", "overlap": "0"})]
    pages += [console.send("POST", f"/keys/{key_id}", form={"action": NASTY, "name": NASTY})]
    save(console, key_id, {"action": "revoke"})
    texts = [each.content.decode() for each in pages if b"<html" in each.content]

    assert sum(NASTY in unescape(text) for text in texts) >= 8
    assert not any(NASTY in text for text in texts)
    assert [odd_tags(text) for text in texts] == [[]] * len(texts)
