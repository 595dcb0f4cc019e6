"""Deletes, and writes to several rows: who may, and everything that is refused."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer
from tests.journeys.conftest import PAGE
from tests.journeys.failure import refused
from tests.surfaces.stage import FIELDS, GRANTED, KEYS, NO_DELETE, Surface, open_surface

PLANS: Mapping[str, object] = {
    "plans.staff.deletes": True,
    "plans.staff.requests_per_minute": 0,
    "plans.narrow.deletes": True,
    "plans.narrow.where_and_order": False,
    "plans.single.deletes": True,
    "plans.single.max_affected": 0,
    "plans.careful.deletes": True,
    "plans.careful.require_if_match": True,
    "plans.looking.deletes": True,
    "plans.looking.writes": False,
}


def deleter(plan: str, **grants: Any) -> KeyRequest:
    all_grants = Grants(spreadsheets=GRANTED, may_delete=True)
    return KeyRequest(name=plan, plan=plan, grants=replace(all_grants, **grants))


OWN: Mapping[str, KeyRequest] = {
    **KEYS,
    **{plan: deleter(plan) for plan in ("staff", "narrow", "single", "careful", "looking")},
    "without plan": deleter("paid"),
    "without grant": deleter("staff", may_delete=False),
    "new only": deleter("staff", worksheets=frozenset({"New"})),
    "page": deleter("staff", origins=frozenset({PAGE})),
    "other": deleter("staff", spreadsheets=frozenset({"other"})),
    "names": deleter("staff", columns=ColumnGrant(readable=frozenset({"name", "state"}))),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open the application with plans and keys that can delete."""
    with open_surface(tmp_path_factory.mktemp("deletes"), OWN, PLANS) as surface:
        yield surface


DONE = 'where={"state":"done"}'
DELETE_ROW = ("DELETE", "Cities/2", b"")
DELETE_WHERE = ("DELETE", f"Cities?{DONE}", b"")
UPDATE_WHERE = ("PATCH", f"Cities?{DONE}", b'{"name":"x"}')
UPDATE_ROWS = ("PATCH", "Cities", b'[{"rowIndex":2,"name":"x"}]')
UPSERT = ("POST", "Cities?on_conflict=name", b'{"name":"x"}')
EVERY = {
    "delete": DELETE_ROW,
    "delete where": DELETE_WHERE,
    "update where": UPDATE_WHERE,
    "update rows": UPDATE_ROWS,
    "upsert": UPSERT,
}
DELETES = {name: EVERY[name] for name in ("delete", "delete where")}

Sent = tuple[str, str, bytes]
Refusal = tuple[int, int]


def refuse(
    surface: Surface,
    sent: Sent,
    headers: Sequence[tuple[str, str]] = (),
    key: str | None = "staff",
    *,
    reads: int = 0,
) -> tuple[Refusal, Answer]:
    method, target, body = sent
    return surface.refused(method, target, key=key, headers=headers, body=body, reads=reads)


def message(answer: Answer) -> str:
    found: str = answer.json()["message"]
    return found


ON_ROWS, ON_ROW = "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS, PATCH, POST, PUT"
NO_ROW = (
    "To update one row, put its rowIndex into the path. To update several rows, send PATCH with "
    "where and a JSON object, or with a JSON list of objects that each have a rowIndex."
)


def not_an_operation(method: str, allowed: str, words: str) -> bytes:
    """Return the whole answer to a method that is not allowed, headers and body."""
    body = (
        '{"type":"SheetsonError","name":"MethodNotAllowed","code":4051,"message":"'
        f'{method} is not supported at this path; allowed: {allowed}. {words}","status":405,'
        '"requestId":"r1","retryable":false,"outcome":"not_applied"}'
    )
    lines = (
        "cache-control: no-store",
        "vary: Accept",
        f"allow: {allowed}",
        f"content-length: {len(body)}",
        "content-type: application/json; charset=utf-8",
        "vary: Origin",
        "x-request-id: r1",
        "server-timing: google;dur=0.0",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    )
    return "\n".join([*lines, body]).encode()


@pytest.mark.parametrize(
    "key",
    [
        *("paid", "free", "read-only", "pages", "any", "expired", "revoked", None),
        *("without plan", "without grant"),
    ],
)
@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("Cities/2", ON_ROW),
        ("Cities/2/", ON_ROW),
        ("Cities/x", ON_ROW),
        ("Nowhere/2", ON_ROW),
        ("Cities", ON_ROWS),
        (f"Cities?{DONE}", ON_ROWS),
        ("Cities?where=", ON_ROWS),
    ],
)
def test_a_delete_without_the_right_is_no_operation(
    surface: Surface, key: str | None, target: str, allowed: str
) -> None:
    """The key and its plan must allow deletes. Otherwise all keys get the same bytes."""
    answer = surface.send("DELETE", target, key=key, headers=[("X-Request-Id", "r1")])

    assert answer.said == not_an_operation("DELETE", allowed, NO_DELETE)


@pytest.mark.parametrize("key", ["paid", "staff", "read-only", None])
@pytest.mark.parametrize("body", [b"", b"{}", b'{"name":"x"}', b"name=x", b" "])
def test_a_patch_without_filter_and_list_is_no_operation(
    surface: Surface, key: str | None, body: bytes
) -> None:
    """A PATCH without filter and list gets the same bytes for every key."""
    answer = surface.send("PATCH", "Cities", key=key, headers=[("X-Request-Id", "r1")], body=body)

    assert answer.said == not_an_operation("PATCH", ON_ROWS, NO_ROW)


@pytest.mark.parametrize("key", ["paid", "staff"])
@pytest.mark.parametrize(("target", "allowed"), [("Cities", ON_ROWS), ("Cities/2", ON_ROW)])
def test_methods_are_the_same_for_all_keys(
    surface: Surface, key: str, target: str, allowed: str
) -> None:
    """`OPTIONS` has the same answer for all keys."""
    assert surface.send("OPTIONS", target, key=key).headers["allow"] == allowed


def test_pages_may_ask_for_deletes(surface: Surface) -> None:
    """A preflight, which has no key, allows everything that a key might allow."""
    answer = surface.send(
        "OPTIONS",
        "Cities/2",
        key=None,
        headers=[
            ("Origin", PAGE),
            ("Access-Control-Request-Method", "DELETE"),
            ("Access-Control-Request-Headers", "authorization,if-match,prefer"),
        ],
    )

    assert "DELETE" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == "authorization,if-match,prefer"


@pytest.mark.parametrize("sent", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize(
    ("key", "refusal"),
    [
        ("new only", (403, 4032)),
        ("other", (404, 101)),
        ("looking", (403, 4034)),
    ],
)
def test_grants_are_those_of_all_writes(
    surface: Surface, sent: Sent, key: str, refusal: Refusal
) -> None:
    """The key must allow the spreadsheet and worksheet, and the plan must allow writes."""
    assert refuse(surface, sent, key=key)[0] == refusal


@pytest.mark.parametrize("sent", [UPDATE_WHERE, UPDATE_ROWS, UPSERT])
@pytest.mark.parametrize(
    ("key", "refusal"), [("read-only", (405, 4050)), (None, (401, 4010)), ("revoked", (401, 4011))]
)
def test_writes_of_several_rows_need_a_key_that_writes(
    surface: Surface, sent: Sent, key: str | None, refusal: Refusal
) -> None:
    """Read-only keys and invalid keys get an error."""
    found, answer = refuse(surface, sent, key=key)

    assert found == refusal
    assert answer.headers.get("allow") == ("GET, HEAD, OPTIONS" if key == "read-only" else None)


@pytest.mark.parametrize("sent", EVERY.values(), ids=EVERY)
def test_origins_are_those_of_all_writes(surface: Surface, sent: Sent) -> None:
    """A page of an origin that the key does not allow cannot write."""
    headers = [("Origin", "https://evil.example")]

    assert refuse(surface, sent, headers, key="page")[0] == (403, 4031)


@pytest.mark.parametrize("sent", EVERY.values(), ids=EVERY)
def test_a_key_in_the_url_writes_nothing(surface: Surface, sent: Sent) -> None:
    """A key in the URL is valid for reads only."""
    method, target, body = sent
    join = "&" if "?" in target else "?"
    target = f"{target}{join}apiKey={surface.keys['staff']}"

    assert refuse(surface, (method, target, body), key=None)[0] == (401, 4012)


@pytest.mark.parametrize("sent", [DELETE_WHERE, UPDATE_WHERE])
@pytest.mark.parametrize("key", ["narrow", "single"])
def test_plans_without_writes_by_filter(surface: Surface, sent: Sent, key: str) -> None:
    """A plan must allow searches and at least one row per write by filter."""
    found, answer = refuse(surface, sent, key=key)

    assert found == (403, 4034)
    assert f"The plan '{key}' of this key does not include writes by filter" in message(answer)


@pytest.mark.parametrize("headers", [[], [("If-Match", "*")]], ids=["none", "any state"])
def test_a_plan_that_demands_conditions_of_deletes(
    surface: Surface, headers: Sequence[tuple[str, str]]
) -> None:
    """With a plan that requires conditions, a delete needs the ETag of its row.

    `*` is not enough.
    """
    found, answer = refuse(surface, DELETE_ROW, headers, key="careful")

    assert found == (428, 4280)
    assert "for every delete" in message(answer)


@pytest.mark.parametrize("sent", [DELETE_WHERE, UPDATE_WHERE, UPDATE_ROWS, UPSERT])
@pytest.mark.parametrize("headers", [[], [("If-Match", "*")], [("If-Match", '"a"')]])
def test_a_plan_that_demands_conditions_takes_single_rows(
    surface: Surface, sent: Sent, headers: Sequence[tuple[str, str]]
) -> None:
    """A plan that requires conditions rejects writes to several rows."""
    found, answer = refuse(surface, sent, headers, key="careful")

    assert found == (428, 4280)
    assert "Send a request for each row, with its ETag" in message(answer)


@pytest.mark.parametrize("sent", [DELETE_WHERE, UPDATE_WHERE, UPDATE_ROWS, UPSERT])
def test_a_condition_is_of_one_row(surface: Surface, sent: Sent) -> None:
    """A condition is rejected where the gateway would ignore it."""
    found, answer = refuse(surface, sent, [("If-Match", '"a"')])

    assert found == (400, 4000)
    assert "If-Match is the ETag of one row" in message(answer)


def test_an_upsert_takes_no_condition_for_existing_rows(surface: Surface) -> None:
    """An upsert rejects `If-Match: *`, because it can create rows."""
    found, answer = refuse(surface, UPSERT, [("If-Match", "*")])

    assert found == (400, 4000)
    assert "If-Match is the ETag of one row" in message(answer)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?where=", "needs a condition"),
        ("?where", "needs a condition"),
        ("?where={}", "needs a condition"),
        ("?where=%7B%7D", "needs a condition"),
        ("?where=%257B%257D", "needs a condition"),
        ('?where={"$and":[{}]}', "an empty object"),
        ('?where={"$or":[{"state":"x"},{}]}', "an empty object"),
        ('?where={"$not":{}}', "an empty object"),
        ('?where={"name":{"$text":""}}', "matches every row"),
        ('?where={"name":{"$nin":[]}}', "matches every row"),
        ('?where={"$not":{"name":{"$in":[]}}}', "matches every row"),
        ("?where[name][$text]=", "matches every row"),
        ("?where=%7B%22name%22%3A%7B%22%24text%22%3A%22%22%7D%7D", "matches every row"),
        ('?where={"rowIndex":{"$nin":[]}}', "matches every row"),
        ('?where={"rowIndex":{"$text":""}}', "matches every row"),
        ('?where={"rowIndex":{"$ne":null}}', "matches every row"),
        ("?where={", "not JSON"),
        ("?where=[]", "must be a JSON object"),
        ("?where=state=done", "not JSON"),
        ('?where={"state":{"$regex":"x"}}', "is not an operator"),
        ('?where={"state":"x"}&where={"state":"y"}', "more than once"),
        (f"?{DONE}&max-affected=x", "max-affected must be a whole number"),
        (f"?{DONE}&max-affected=-1", "max-affected must be a whole number"),
        (f"?{DONE}&max-affected=1&max-affected=2", "more than once"),
        (f"?{DONE}&limit=1", "limit is not a parameter of a"),
        (f"?{DONE}&skip=1", "skip is not a parameter of a"),
        (f"?{DONE}&order=-name", "order is not a parameter of a"),
        (f"?{DONE}&order[]=name", "order is not a parameter of a"),
    ],
)
@pytest.mark.parametrize(("method", "body"), [("DELETE", b""), ("PATCH", b'{"name":"x"}')])
def test_filter_that_is_none(
    surface: Surface, method: str, body: bytes, query: str, words: str
) -> None:
    """A filter without conditions, or with an ignored condition, writes nothing."""
    found, answer = refuse(surface, (method, f"Cities{query}", body))

    assert found == (400, 4002)
    assert words in message(answer)


@pytest.mark.parametrize("where", ['{"rowIndex":{"$gte":2}}', '{"rowIndex":{"$exists":true}}'])
@pytest.mark.parametrize(("method", "body"), [("DELETE", b""), ("PATCH", b'{"name":"x"}')])
def test_all_rows_on_purpose(surface: Surface, method: str, body: bytes, where: str) -> None:
    """A condition on `rowIndex` can select all rows, because it names them on purpose."""
    answer = surface.send(method, f"Cities?where={where}", key="staff", body=body)

    assert (answer.status_code, answer.json()["count"]) == (200, 3)


@pytest.mark.parametrize("prefer", [[], [("Prefer", "max-affected=100")]], ids=["plain", "bound"])
def test_a_bound_does_not_replace_a_filter(
    surface: Surface, prefer: Sequence[tuple[str, str]]
) -> None:
    """A filter that every row meets is rejected, even with a maximum number of rows."""
    target = 'Cities?where={"name":{"$text":""}}&max-affected=100'

    found, answer = refuse(surface, ("DELETE", target, b""), prefer)

    assert found == (400, 4002)
    assert "matches every row" in message(answer)


@pytest.mark.parametrize("where", ["", "{}", '{"name":{"$text":""}}', '{"name":{"$nin":[]}}'])
def test_a_list_may_have_every_row(surface: Surface, where: str) -> None:
    """A read is allowed with a filter that every row meets."""
    answer = surface.send("GET", f"Cities?where={where}")

    assert (answer.status_code, len(answer.json()["results"])) == (200, 3)


@pytest.mark.parametrize("query", ["", "?max-affected=3", "?wherever=x"])
def test_delete_without_row_and_filter(surface: Surface, query: str) -> None:
    """A delete without row and filter is rejected, with any other parameters."""
    found, answer = refuse(surface, ("DELETE", f"Cities{query}", b""))

    assert found == (400, 4002)
    assert "needs a condition" in message(answer)


@pytest.mark.parametrize("sent", [DELETE_WHERE, UPDATE_WHERE])
def test_preference_that_is_no_number(surface: Surface, sent: Sent) -> None:
    """A write by filter with an invalid maximum in `Prefer` writes nothing."""
    found, answer = refuse(surface, sent, [("Prefer", "max-affected=many")])

    assert found == (400, 4000)
    assert 'max-affected="many"' in message(answer)


@pytest.mark.parametrize(
    ("target", "refusal", "words"),
    [
        ("Cities/0", (400, 4003), "is not a row number"),
        ("Cities/x", (400, 4003), "is not a row number"),
        ("Cities/1", (404, 103), "no row 1"),
        (f"Cities/2?{DONE}", (400, 4002), "not both"),
        ("Cities/2?where[state]=x", (400, 4002), "not both"),
    ],
)
def test_row_that_cannot_be_deleted(
    surface: Surface, target: str, refusal: Refusal, words: str
) -> None:
    """Row 1, texts that are not numbers, and a row with a filter are rejected."""
    found, answer = refuse(surface, ("DELETE", target, b""))

    assert found == refusal
    assert words in message(answer)


@pytest.mark.parametrize("sent", EVERY.values(), ids=EVERY)
def test_bad_idempotency_key(surface: Surface, sent: Sent) -> None:
    """Each write rejects an invalid Idempotency-Key."""
    assert refuse(surface, sent, [("Idempotency-Key", '"')])[0] == (400, 4004)


A_ROW = {"rowIndex": 2, "name": "x"}


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        ([], {"#": "no row to update"}),
        ([A_ROW] * 501, {"#": "limit of 500 rows"}),
        ([1, None, "x", []], dict.fromkeys(("#/0", "#/1", "#/2", "#/3"), "a JSON object")),
        ([A_ROW, {"name": "x"}], {"#/1": "rowIndex is missing"}),
        ([{"rowIndex": None, "name": "x"}], {"#/0": "rowIndex is missing"}),
        ([{"rowIndex": "2", "name": "x"}], {"#/0/rowIndex": "must be an integer"}),
        ([{"rowIndex": 2.5, "name": "x"}], {"#/0/rowIndex": "must be an integer"}),
        ([{"rowIndex": True, "name": "x"}], {"#/0/rowIndex": "must be an integer"}),
        ([{"rowIndex": [2], "name": "x"}], {"#/0/rowIndex": "not an object or a list"}),
        ([A_ROW, {"rowIndex": 2, "state": "y"}], {"#/1/rowIndex": "this row twice"}),
        ([{"rowIndex": 2}], {"#/0": "no field to write"}),
        ([{"rowIndex": 2, "apiKey": "k", "spreadsheetId": "s"}], {"#/0": "no field to write"}),
        ([{}], {"#/0": "no field to write"}),
        ([A_ROW, {"rowIndex": 3, "name": {}}], {"#/1/name": "not an object"}),
        ([{"rowIndex": 3, "name": 2**60}], {"#/0/name": "2^53"}),
    ],
    ids=range(15),
)
def test_list_of_updates_that_is_refused(
    surface: Surface, rows: object, problems: Mapping[str, str]
) -> None:
    """A list of updates is rejected as a whole, with a pointer to each problem."""
    found, answer = refuse(surface, ("PATCH", "Cities", json.dumps(rows).encode()))

    places = {each["pointer"]: each["detail"] for each in answer.json()["errors"]}
    assert found == (400, 104)
    assert set(places) == set(problems)
    assert all(words in places[place] for place, words in problems.items())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[", "not JSON"),
        (b'[{"rowIndex":2,"name":"a","name":"b"}]', "appears twice"),
        (b'[{"rowIndex":2,"rowIndex":3,"name":"b"}]', "appears twice"),
        (b'[{"rowIndex":2,"name":NaN}]', "NaN and infinite"),
    ],
)
def test_list_that_is_no_json(surface: Surface, body: bytes, words: str) -> None:
    """An update of a list needs valid JSON, with each field once."""
    found, answer = refuse(surface, ("PATCH", "Cities", body))

    assert found == (400, 104)
    assert words in json.dumps(answer.json())


@pytest.mark.parametrize("row", [1, 0, -3, 100_000_000, 2**53])
def test_row_of_a_list_that_is_never_there(surface: Surface, row: int) -> None:
    """The header row and numbers that no path can have are rejected like in single updates."""
    body = json.dumps([A_ROW, {"rowIndex": row, "name": "x"}]).encode()

    found, answer = refuse(surface, ("PATCH", "Cities", body))

    assert found == (404, 103)
    assert "no row" in message(answer)


@pytest.mark.parametrize("body", [b"", b"[]", b'[{"rowIndex":2,"name":"x"}]', b"{}", b'"x"'])
def test_body_of_an_update_by_filter_is_an_object(surface: Surface, body: bytes) -> None:
    """The body of an update by filter must be an object with fields."""
    assert refuse(surface, ("PATCH", f"Cities?{DONE}", body))[0] == (400, 104)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("on_conflict=", "names no field"),
        ("on_conflict", "names no field"),
        ("on_conflict=,", "names no field"),
        ("on_conflict=[]", "names no field"),
        ("on_conflict[]=", "names no field"),
        ("on_conflict=rowIndex", '"rowIndex", which is not a column'),
        ("on_conflict=name,apiKey", '"apiKey", which is not a column'),
        ("on_conflict=name&on_conflict=state", "more than once"),
        ("on_conflict=name&on_conflict[]=state", "with and without brackets"),
    ],
)
def test_key_fields_that_are_none(surface: Surface, query: str, words: str) -> None:
    """An upsert without key fields is rejected, and never creates rows."""
    found, answer = refuse(surface, ("POST", f"Cities?{query}", b'{"name":"x"}'))

    assert found == (400, 4002)
    assert words in message(answer)


@pytest.mark.parametrize(
    ("keys", "body", "problems"),
    [
        ("name", {"name": None, "state": "x"}, {"#/name": "needs a value"}),
        ("name", {"name": "", "state": "x"}, {"#/name": "needs a value"}),
        ("name", [{"name": "a"}, {"state": "x"}], {"#/1/name": "needs a value"}),
        ("name", [{"name": "a"}, {"name": "a"}], {"#/1": "The row at #/0 has the same key"}),
        ("name", [{"name": 7}, {"name": "7"}], {"#/1": "same key"}),
        ("name", [{"name": 7}, {"name": 7.0}], {"#/1": "same key"}),
        ("name", [{"name": True}, {"name": "TRUE"}], {"#/1": "same key"}),
        ("name", [{"name": 1e21}, {"name": 10**15}, {"name": "1" + "0" * 15}], {"#/2": "same key"}),
        ("name", [{"name": "a"}, {" name ": "a"}], {"#/1": "same key"}),
        (
            "name,state",
            [{"name": "a", "state": "b"}, {"name": "a", "state": "c"}, {"state": "b", "name": "a"}],
            {"#/2": "The row at #/0 has the same key"},
        ),
    ],
    ids=range(10),
)
def test_rows_of_an_upsert_without_a_key_of_their_own(
    surface: Surface, keys: str, body: object, problems: Mapping[str, str]
) -> None:
    """The error points to all rows without a key or with the same key, without a call."""
    sent = ("POST", f"Cities?on_conflict={keys}", json.dumps(body).encode())

    found, answer = refuse(surface, sent)

    places = {each["pointer"]: each["detail"] for each in answer.json()["errors"]}
    assert found == (400, 104)
    assert set(places) == set(problems)
    assert all(words in places[place] for place, words in problems.items())


@pytest.mark.parametrize(
    ("keys", "body", "pointers"),
    [
        ("name", {"state": "x"}, ["#/name"]),
        ("name,state", {"name": "a"}, ["#/state"]),
        ("state,name", [{"country": "a"}, {"name": "x"}], ["#/0/state", "#/0/name"]),
    ],
    ids=range(3),
)
def test_first_row_of_an_upsert_without_its_key(
    surface: Surface, keys: str, body: object, pointers: Sequence[str]
) -> None:
    """The error points to a key field that the worksheet has and the row lacks."""
    sent = ("POST", f"Cities?on_conflict={keys}", json.dumps(body).encode())

    found, answer = refuse(surface, sent, reads=2)

    assert found == (400, 104)
    assert [each["pointer"] for each in answer.json()["errors"]] == pointers
    assert "needs a value" in message(answer)


def test_rows_of_an_upsert_by_a_sign_that_composes_to_a_letter(surface: Surface) -> None:
    """The Kelvin sign equals K in NFC, so that two rows have the same key."""
    surface.sheets.add("Kelvin", [["\u212a", "n"], ["a", "1"]])
    body = json.dumps([{"\u212a": "b", "n": "2"}, {"\u212a": "b", "n": "3"}]).encode()

    found, answer = refuse(surface, ("POST", "Kelvin?on_conflict=K", body))

    assert found == (400, 104)
    assert "The row at #/0 has the same key" in message(answer)


@pytest.mark.parametrize("keys", ["nmae", "name,nmae", "a/b", "a%252Cb", "NAME"])
@pytest.mark.parametrize("body", [{"name": "a"}, [{"name": "a"}, {"name": "b"}]], ids=["1", "2"])
def test_key_field_that_is_no_field(surface: Surface, keys: str, body: object) -> None:
    """The error lists the fields of the worksheet."""
    sent = ("POST", f"Cities?on_conflict={keys}", json.dumps(body).encode())

    found, answer = refuse(surface, sent, reads=2)

    assert found == (400, 4002)
    assert "on_conflict names" in message(answer)
    assert FIELDS in message(answer)


@pytest.mark.parametrize("name", ["nmae", "population"])
def test_hidden_key_field(surface: Surface, name: str) -> None:
    """A hidden key field is an unknown field, and the error does not list it."""
    sent = ("POST", f"Cities?on_conflict={name}", b'{"name":"a"}')

    found, answer = refuse(surface, sent, key="names", reads=2)

    assert found == (400, 4002)
    assert message(answer) == (
        f'on_conflict names "{name}", which is not a field of this worksheet; its fields are '
        'rowIndex, "name", "state".'
    )


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"{", b'{"rowIndex":3}', b'[{"name":{}}]'])
def test_body_of_an_upsert_is_that_of_a_create(surface: Surface, body: bytes) -> None:
    """An upsert rejects the same bodies as a create."""
    assert refuse(surface, ("POST", "Cities?on_conflict=name", body))[0] == (400, 104)


def test_resolution_that_is_none(surface: Surface) -> None:
    """The error for an unknown resolution lists the valid resolutions."""
    found, answer = refuse(surface, UPSERT, [("Prefer", "resolution=overwrite")])

    assert found == (400, 4000)
    assert "merge-duplicates or ignore-duplicates" in message(answer)


def test_failures_of_deletes_count_as_wrong_keys(tmp_path: Path) -> None:
    """Deletes with wrong keys count for the limit of wrong keys, but have the same answer."""
    wrong = [("Authorization", "Bearer sgw_wrong"), ("X-Request-Id", "r1")]
    with open_surface(tmp_path, overrides={"access.failures_per_minute": 20}) as surface:
        answers = [
            surface.send("DELETE", "Cities/2", key=None, headers=wrong).said for _ in range(25)
        ]
        found = refused(surface.send("GET", "Cities", key=None, headers=wrong[:1]))

    assert set(answers) == {not_an_operation("DELETE", ON_ROW, NO_DELETE)}
    assert found == (429, 4292)
