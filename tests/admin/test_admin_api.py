"""The admin API: authorisation, errors and operations."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from gateway.admin.console import API, COOKIE, OPERATIONS, Operation
from gateway.admin.keys import KeyBody
from gateway.errors import UpstreamTimeout
from gateway.google.sheets import Sheets
from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.telemetry.events import configure_logging, reset_logging
from tests.admin.conftest import NASTY, SAME_ORIGIN, Console
from tests.asgi_client import Answer
from tests.fakes import BOOK
from tests.forwarding import Call, ForwardingSheets, Kind, T

Headers = Sequence[tuple[str, str]]

OF_API = [each for each in OPERATIONS if each.path.startswith(API)]
UNSAFE = [each for each in OPERATIONS if each.method != "GET"]


class AnswersAfter(ForwardingSheets):
    """`Sheets` that answer no call before a time."""

    def __init__(self, inner: Sheets, instant: datetime) -> None:
        self.inner, self.instant = inner, instant

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        left = self.instant - datetime.now(UTC)
        await asyncio.sleep(left.total_seconds() + 0.01)
        return await call(self.inner)


def name_of(operation: object) -> str | None:
    return f"{operation.method} {operation.path}" if isinstance(operation, Operation) else None


def path_of(operation: Operation) -> str:
    return operation.path.replace("{id}", "key_unknown1")


def ask(
    console: Console, method: str, path: str, body: object = None, headers: Headers = ()
) -> Answer:
    """Send a request with the admin key to a path below `/admin/v1`.

    `body` is JSON or bytes.
    """
    headers = [("Authorization", f"Bearer {console.admin_key}"), *headers]
    if not isinstance(body, bytes):
        body = b"" if body is None else json.dumps(body).encode()
    return console.send(method, f"{API}{path}", headers=headers, body=body, session="")


def refused(answer: Answer) -> tuple[int, int]:
    """Return status and code of an error, after its headers and members are checked."""
    members = answer.json()
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert {"type", "name", "message", "requestId", "retryable"} <= members.keys()
    assert members["status"] == answer.status_code
    return answer.status_code, members["code"]


def test_two_admin_keys_are_ambiguous(console: Console) -> None:
    """Two different admin keys in one request get 400, whatever the order of the headers."""
    keys = [("Authorization", f"Bearer {each}") for each in (console.admin_key, "x")]

    answers = [console.send("GET", f"{API}/keys", headers=each) for each in (keys, keys[::-1])]

    assert [each.json()["code"] for each in answers] == [4001, 4001]


@pytest.mark.parametrize("operation", OF_API, ids=name_of)
@pytest.mark.parametrize("credentials", ["none", "API key", "Basic", "a wrong session"])
def test_each_operation_needs_an_admin_key(
    console: Console, operation: Operation, credentials: str
) -> None:
    """A request without a valid admin key or session gets 401 as JSON."""
    headers: Headers = {
        "none": SAME_ORIGIN,
        "API key": [("Authorization", f"Bearer {console.surface.keys['paid']}")],
        "Basic": [("Authorization", "Basic YTpi")],
        "a wrong session": [("Cookie", f"__Host-{COOKIE}=x"), *SAME_ORIGIN],
    }[credentials]

    answer = console.send(operation.method, path_of(operation), headers=headers, session="")

    assert refused(answer) == (401, 4011 if credentials == "API key" else 4010)
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("method", "path", "expected", "allowed"),
    [
        ("GET", "", (404, 4040), None),
        ("GET", "/nothing", (404, 4040), None),
        ("PUT", "/keys", (405, 4051), "GET, HEAD, POST"),
        ("OPTIONS", "/keys/x/rotate", (405, 4051), "DELETE, POST"),
        ("GET", "/keys?since=1", (400, 4002), None),
        ("GET", "/keys?apiKey=x", (400, 4002), None),
        ("GET", "/keys?limit=501", (400, 4002), None),
        ("GET", "/keys?limit=-1", (400, 4002), None),
        ("GET", f"/keys?skip={'9' * 5000}", (400, 4002), None),
        ("GET", "/keys?skip=%D9%A3", (400, 4002), None),
    ],
)
def test_errors_have_documented_codes(
    console: Console, method: str, path: str, expected: tuple[int, int], allowed: str | None
) -> None:
    """Unknown paths get 404, other methods 405 with `Allow`, and invalid parameters 400."""
    answer = ask(console, method, path)

    assert refused(answer) == expected
    assert answer.headers.get("allow") == allowed
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("operation", UNSAFE, ids=name_of)
@pytest.mark.parametrize(
    "headers",
    [
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
        [("Sec-Fetch-Site", "same-site"), ("Origin", "https://gateway.example")],
        [("Origin", "https://evil.example")],
        [("Origin", "null")],
        [],
    ],
)
def test_other_sites_cannot_change_anything(
    console: Console, operation: Operation, headers: Headers
) -> None:
    """A write with the session cookie from a page of another origin gets 403."""
    answer = console.send(operation.method, path_of(operation), headers=headers)

    assert answer.status_code == 403
    assert b"did not come from a page of the console" in answer.content


def test_a_list_of_keys_has_no_secret(console: Console) -> None:
    """The list of keys has the members of `keys list --json` and no secret; HEAD has the
    same length.
    """
    answer, head = ask(console, "GET", "/keys"), ask(console, "HEAD", "/keys")
    (found,) = [each for each in answer.json()["keys"] if each["name"] == "deleting"]

    assert answer.json()["damaged"] == []
    assert found["may"] == ["read", "create", "update", "delete"]
    assert (found["state"], found["worksheets"]) == ("active", None)
    assert found["last4"] == console.surface.keys["deleting"][-4:]
    assert not any(key.encode() in answer.said for key in console.surface.keys.values())
    assert head.status_code == 200
    assert head.headers["content-length"] == str(len(answer.content))


def test_a_list_of_keys_is_paged(console: Console) -> None:
    """`limit` and `skip` page through all keys, oldest first; `find` filters by name."""
    every = ask(console, "GET", "/keys").json()
    pages, ids = [], []
    for skip in range(0, len(every["keys"]), 2):
        pages.append(ask(console, "GET", f"/keys?skip={skip}&limit=2").json())
        ids += [each["id"] for each in pages[-1]["keys"]]
    found = ask(console, "GET", "/keys?find=DELETI").json()

    assert ids == [each["id"] for each in every["keys"]]
    assert [each["hasNextPage"] for each in pages] == [True] * (len(pages) - 1) + [False]
    assert every["hasNextPage"] is found["hasNextPage"] is False
    assert [each["name"] for each in found["keys"]] == ["deleting"]


def make(console: Console, **members: object) -> tuple[dict[str, Any], str]:
    """Create a key for the test spreadsheet, and return the key and its ETag."""
    answer = ask(console, "POST", "/keys", {"name": "made", "spreadsheets": [BOOK], **members})
    assert answer.status_code == 201, answer.content
    assert answer.headers["location"] == f"{API}/keys/{answer.json()['id']}"
    return answer.json(), answer.headers["etag"]


def status_of(console: Console, key: str, method: str = "GET", target: str = "Cities") -> int:
    """Return the status of a request to the API with a key."""
    headers = [("Authorization", f"Bearer {key}"), ("Content-Type", "application/json")]
    body = b'{"name": "x"}' if method == "POST" else b""
    sent = console.surface.send(method, target, key=None, headers=headers, body=body)
    return int(sent.status_code)


def test_each_operation_on_a_key_applies_at_once(console: Console) -> None:
    """Each change of a key applies at once. A secret is in one answer only, and never in
    the log.
    """
    log, said = StringIO(), list[bytes]()
    configure_logging(log)

    def do(method: str, path: str = "", json_body: object = None, tag: str = "") -> Answer:
        lines = [("If-Match", tag)] if tag else []
        answer = ask(console, method, f"/keys{path}", json_body, lines)
        said.append(answer.said)
        return answer

    made = do("POST", "", {"name": "life", "spreadsheets": [BOOK], "plan": "all"})
    key, path = made.json()["key"], f"/{made.json()['id']}"
    first, allowed = [status_of(console, key, each) for each in ("GET", "POST")], do("GET", path)
    missing = do("PATCH", path, {"may": ["read"]})
    stale = do("PATCH", path, {"may": ["read"]}, '"x"')
    narrow = do("PATCH", path, {"may": ["read"]}, allowed.headers["etag"])
    narrowed = [status_of(console, key, each) for each in ("GET", "POST")]
    again = do("PATCH", path, {"name": "late"}, allowed.headers["etag"])
    rotated = do("POST", f"{path}/rotate", {"overlap_seconds": 60})
    both = [status_of(console, each) for each in (key, rotated.json()["key"])]
    third = do("POST", f"{path}/rotate")
    ended, without = do("DELETE", f"{path}/rotate"), do("DELETE", f"{path}/rotate")
    after_end = [status_of(console, each) for each in (key, rotated.json()["key"])]
    revoked, gone = do("DELETE", path), status_of(console, rotated.json()["key"])
    late = [do("DELETE", path), do("PATCH", path, {"name": "x"}, "*"), do("POST", f"{path}/rotate")]
    shown = do("GET", path).json()
    reset_logging()

    assert first == [200, 201]
    assert allowed.headers["etag"] == made.headers["etag"]
    assert (refused(missing), refused(stale)) == ((428, 4280), (412, 4120))
    assert stale.json()["existing"]["worksheets"] is None
    assert stale.headers["etag"] == allowed.headers["etag"]
    assert "of the current key" in stale.json()["message"]
    assert (narrow.status_code, narrow.json()["may"], narrowed) == (200, ["read"], [200, 405])
    assert narrow.headers["etag"] != allowed.headers["etag"]
    assert refused(again) == (412, 4120)
    assert (rotated.status_code, both, after_end) == (201, [200, 200], [401, 200])
    assert rotated.json()["oldSecretEndsAt"] is not None
    assert (refused(third), refused(without)) == ((400, 4000), (404, 4040))
    assert ended.json()["oldSecretEndsAt"] is None
    assert (revoked.json(), gone) == ({"id": path[1:], "state": "revoked"}, 401)
    assert [refused(each) for each in late] == [(404, 4040)] * 3
    assert (shown["state"], shown["name"]) == ("revoked", "life")
    for secret in (key, rotated.json()["key"]):
        assert b"\n".join(said).count(secret.encode()) == 1
        assert secret not in log.getvalue()
    assert f"{API}/keys{path}" in log.getvalue()
    assert console.admin_key not in log.getvalue()
    edits = console.call(console.surface.state["store"].edits, path[1:])
    actions = ["created", "updated", "rotated", "ended", "revoked"]
    assert [each.action for each in edits] == actions
    assert {each.by.partition(" (")[0] for each in edits} == {"admin"}


@pytest.mark.parametrize(
    ("members", "pointers"),
    [
        ({"name": ""}, ["#/name"]),
        ({"name": "n" * 201, "plan": "gold"}, ["#/name", "#/plan"]),
        ({"name": "\ud800"}, ["#/name"]),
        ({"plan": "\ud800"}, ["#/plan"]),
        ({"spreadsheets": []}, ["#/spreadsheets"]),
        ({"spreadsheets": ["other-book"]}, ["#/spreadsheets"]),
        ({"spreadsheets": ["a/b"]}, ["#/spreadsheets"]),
        ({"spreadsheets": [f"book{each}" for each in range(21)]}, ["#/spreadsheets"]),
        ({"worksheets": ["n", "m" * 50_000]}, ["#/worksheets"]),
        ({"spreadsheets": ["\x01" * 50_001], "plan": "p" * 201}, ["#/plan", "#/spreadsheets"]),
        ({"next": "https://a.example/" + "n" * 2000, "may": ["create"]}, ["#/next"]),
        ({"worksheets": ["Nowhere"]}, ["#/worksheets"]),
        ({"worksheets": [NASTY, "Cities", ""]}, ["#/worksheets"]),
        ({"columns": ["nowhere"]}, ["#/columns"]),
        ({"columns": ["name"], "writableColumns": ["state"]}, ["#/writableColumns"]),
        ({"may": []}, ["#/may"]),
        ({"may": ["create", "update"]}, ["#/may"]),
        ({"origins": ["\ud800", NASTY]}, ["#/origins", "#/origins"]),
        ({"next": "https://a.example/"}, ["#/next"]),
        ({"turnstile": True}, ["#/turnstile"]),
        ({"expiresAt": "soon"}, ["#/expiresAt"]),
        ({"expiresAt": "9999-12-31T23:59:59-10:00"}, ["#/expiresAt"]),
        ({"expiresAt": "2000-01-01"}, ["#/expiresAt"]),
        ({"mayDelete": True}, ["#"]),
        ({"\ud800": 1}, ["#"]),
        ({"name": 5}, ["#"]),
        ({"may": ["write"]}, ["#"]),
        ({"check": None}, ["#"]),
        (["name"], ["#"]),
        (b'{"name": "a", "name": "b"}', ["#"]),
        (b'{"name": NaN}', ["#"]),
        (b'{"name": ' + b"9" * 5000 + b"}", ["#"]),
        (b"[" * 100_000, ["#"]),
        (b'{"name": "\xff"}', ["#"]),
        ("name".encode("utf-16"), ["#"]),
    ],
    ids=lambda each: ascii(each)[:40],
)
def test_an_invalid_body_creates_no_key(
    console: Console, members: Any, pointers: list[str]
) -> None:
    """An invalid body gets 400 with the pointer of each invalid member, and no key is created."""
    body = members
    if isinstance(members, dict):
        body = {"name": "mistaken", "spreadsheets": [BOOK], **members}
    before = ask(console, "GET", "/keys").content

    answer = ask(console, "POST", "/keys", body)

    assert refused(answer) == (400, 104)
    assert [each["pointer"] for each in answer.json()["errors"]] == pointers
    assert answer.json()["outcome"] == "not_applied"
    assert len(answer.content) < 5000
    assert ask(console, "GET", "/keys").content == before


@pytest.mark.parametrize(
    "header",
    [("If-Match", '"a"'), ("Idempotency-Key", '"a"'), ("X-HTTP-Method-Override", "PATCH")],
    ids=lambda each: each[0],
)
def test_headers_without_effect_are_rejected(console: Console, header: tuple[str, str]) -> None:
    """If-Match and Idempotency-Key on operations without support, and method override, get 400."""
    before = ask(console, "GET", "/keys").content
    key_id = console.key_id("paid")
    requests = [
        ("POST", "/keys"),
        ("DELETE", f"/keys/{key_id}"),
        ("POST", f"/keys/{key_id}/rotate"),
    ]
    answers = [ask(console, *each, None, [header]) for each in requests]

    assert [refused(each) for each in answers] == [(400, 4000)] * 3
    assert ask(console, "GET", "/keys").content == before


class _Failing:
    """Key store whose second `find` raises an error."""

    def __init__(self, store: KeyStore, error: Exception) -> None:
        self._store = store
        self._error = error
        self._is_used = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def find(self, key_id: str) -> KeyRecord | None:
        if self._is_used:
            raise self._error
        self._is_used = True
        return await self._store.find(key_id)


def failing(console: Console, error: Exception) -> Console:
    state = console.surface.state
    state = {**state, "store": _Failing(state["store"], error)}
    return replace(console, surface=replace(console.surface, state=state))


class _Busy(sqlite3.OperationalError):
    sqlite_errorcode = sqlite3.SQLITE_BUSY


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ConnectionResetError(), "unknown"),
        (OperationalError("UPDATE", {}, _Busy("database is locked")), "not_applied"),
    ],
    ids=["lost", "locked"],
)
def test_the_outcome_after_a_failing_store(
    console: Console, error: Exception, outcome: str
) -> None:
    """If the connection is lost, the outcome of a change is `unknown`; if the store is
    locked, `not_applied`.
    """
    made, tag = make(console)

    answer = ask(
        failing(console, error), "PATCH", f"/keys/{made['id']}", {"name": "b"}, [("If-Match", tag)]
    )

    assert refused(answer) == (503, 5031)
    assert answer.json()["outcome"] == outcome
    assert answer.json()["retryable"] is (outcome == "not_applied")


def test_a_failing_store_after_a_rotation_hides_no_secret(console: Console) -> None:
    """If the store fails after a rotation, the answer still has the new secret."""
    made, tag = make(console)
    late = failing(console, OSError())
    rotated = ask(late, "POST", f"/keys/{made['id']}/rotate", {"overlap_seconds": 60})
    shown = ask(console, "GET", f"/keys/{made['id']}").json()

    assert rotated.status_code == 201
    assert status_of(console, rotated.json()["key"]) == 200
    assert rotated.headers["etag"] == tag
    assert {**shown, "key": rotated.json()["key"]} == rotated.json()


def test_names_are_verified_in_the_sheet_by_default(console: Console) -> None:
    """A create checks worksheets with one read and columns with two; `"check": false`
    sends no read.
    """
    reads = []
    for members in ({}, {"columns": ["name"]}, {"check": False, "worksheets": ["Later"]}):
        before = console.surface.calls.reads
        found, tag = make(console, **members)
        reads.append(console.surface.calls.reads - before)
    before = console.surface.calls.reads
    headers = [("If-Match", tag)]
    renamed = ask(console, "PATCH", f"/keys/{found['id']}", {"name": "b"}, headers)
    console.surface.calls.failure = UpstreamTimeout("Google is slow.")
    unchecked, _ = make(console, worksheets=["Perhaps"])

    assert reads == [1, 2, 0]
    assert (renamed.status_code, console.surface.calls.reads - before) == (200, 1)
    assert unchecked["warnings"] == [f"not checked: spreadsheet {BOOK}: Google is slow."]


def test_an_expiry_that_passes_during_the_check_of_names(console: Console) -> None:
    """A key that expires while Google is read is not created: the answer names the expiry."""
    calls, ends = console.surface.calls, datetime.now(UTC) + timedelta(seconds=2)
    inner, calls.inner = calls.inner, AnswersAfter(calls.inner, ends)
    members = {"name": "short", "spreadsheets": [BOOK], "expiresAt": ends.isoformat()}
    try:
        answer = ask(console, "POST", "/keys", members)
    finally:
        calls.inner = inner

    assert refused(answer) == (400, 104)
    assert [each["pointer"] for each in answer.json()["errors"]] == ["#/expiresAt"]
    assert calls.reads == 1


def test_warnings_equal_the_command_line_warnings(console: Console) -> None:
    """Creating an unrestricted key, or a key whose plan excludes its rights, gives the
    command line's warnings.
    """
    found, tag = make(
        console, spreadsheets=None, may=["read", "delete"], expiresAt="2999-12-31T18:00:00+02:00"
    )
    path, headers = f"/keys/{found['id']}", [("If-Match", tag)]
    changed = ask(console, "PATCH", path, {"plan": "all"}, headers).json()

    assert [each.partition(":")[0] for each in found["warnings"]] == [
        "this key can use every spreadsheet shared with the account.",
        "this key cannot delete rows yet",
    ]
    assert found["expiresAt"] == "2999-12-31T16:00:00+00:00"
    assert changed["warnings"] == []


def test_operations_and_members_are_documented() -> None:
    """The reference page has a line for each operation and for each member of a key."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "admin-api.md").read_text("utf-8")
    members = [name for name in KeyBody.__struct_encode_fields__ if f"`{name}`" not in page]

    assert [name_of(each) for each in OF_API if f"| `{name_of(each)}`" not in page] == []
    assert members == []
