"""Idempotency-Key: when two requests are the same write."""

import hashlib
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.storage.key_store import Grants
from gateway.web.idempotency import (
    IDEMPOTENCY_KEY,
    IdempotentRequest,
    fingerprint,
    parse_key,
    read_idempotent_request,
)
from gateway.worksheets.access import Access, Target, WorksheetId
from gateway.worksheets.writes import WriteIdentity
from tests.callers import make_caller
from tests.web.requests import make_request, make_scope

TARGET = Target(WorksheetId("book", "Cities"), Access(key_id="key_1"))
ADMITTED: Any = SimpleNamespace(caller=make_caller(Grants(spreadsheets=None)), is_typed=False)
BODY: Mapping[str, Any] = {"name": "Bern", "population": 1}


def identity(
    *,
    key: str = "k",
    method: str = "POST",
    title: str = "Cities",
    row: int | None = None,
    key_id: str = "key_1",
    spreadsheet: str = "book",
    body: Mapping[str, Any] = BODY,
) -> WriteIdentity:
    """Return the identity of a default write, with the given parts changed."""
    idempotent = IdempotentRequest(key=key, method=method, row=row, fingerprint=fingerprint(body))
    return idempotent.identity(Target(WorksheetId(spreadsheet, title), Access(key_id=key_id)))


async def test_no_idempotent_request_without_the_header() -> None:
    """A write without `Idempotency-Key` is not an idempotent request."""
    request = make_request(make_scope("POST"))

    assert await read_idempotent_request(request, ADMITTED, BODY) is None


@pytest.mark.parametrize("row", [None, 7])
async def test_idempotent_request_has_key_method_row_and_body(row: int | None) -> None:
    """The row is the number in the path, however the path encodes it. A create has no row."""
    scope = make_scope("PUT", "/v2/sheets/x/%37", headers={IDEMPOTENCY_KEY: '"k"'})
    idempotent = await read_idempotent_request(make_request(scope), ADMITTED, BODY, row=row)

    assert idempotent == IdempotentRequest(
        key="k", method="PUT", row=row, fingerprint=fingerprint(BODY)
    )
    assert not idempotent.identity(TARGET).removes_rows
    assert idempotent.identity(TARGET).worksheet == TARGET.worksheet


async def test_the_fingerprint_of_a_large_body() -> None:
    """A large body, fingerprinted in a thread, has the same fingerprint as in the event loop."""
    rows = [{str(number): number for number in range(1000)}] * 3
    scope = make_scope("POST", headers={IDEMPOTENCY_KEY: "k"})
    idempotent = await read_idempotent_request(make_request(scope), ADMITTED, rows)

    assert idempotent is not None
    assert idempotent.fingerprint == fingerprint(rows)


def test_digests_of_scopes_never_change() -> None:
    """Scopes are stored in the database, so a new version must compute the same digests."""
    assert identity(method="PATCH", row=7).scope == (
        hashlib.sha256(b'["key_1","k","PATCH","book","Cities","7"]').hexdigest()
    )
    assert identity().scope == (
        hashlib.sha256(b'["key_1","k","POST","book","Cities",null]').hexdigest()
    )


def test_methods_that_update_a_row_share_a_scope() -> None:
    """POST, PUT and PATCH of a row are one write. Deletes and writes without a row differ."""
    updates = {identity(method=method, row=7).scope for method in ("POST", "PUT", "PATCH")}
    others = {
        *(identity(method=method).scope for method in ("POST", "PATCH", "DELETE")),
        identity(method="DELETE", row=7).scope,
    }

    assert len(updates) == 1
    assert len(others) == 4
    assert updates.isdisjoint(others)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (["8e03978e-40d5"], "8e03978e-40d5"),
        (['"8e03978e-40d5"'], "8e03978e-40d5"),
        ([" k "], "k"),
        ([r'"a\"b\\c"'], 'a"b\\c'),
        (["a\"b'c,;~!"], "a\"b'c,;~!"),
        (["x" * 255], "x" * 255),
        (["k", '"k"'], "k"),
        ([], None),
    ],
    ids=["bare", "quoted", "blanks", "escapes", "punctuation", "longest", "twice", "none"],
)
def test_a_key_is_bare_or_quoted(values: Sequence[str], key: str | None) -> None:
    """An Idempotency-Key with quotes is the same key as without quotes."""
    assert parse_key(values) == key


@pytest.mark.parametrize(
    "changed",
    [
        {"key": "other"},
        {"method": "PUT"},
        {"title": "Towns"},
        {"row": 2},
        {"key_id": "key_2"},
        {"spreadsheet": "other"},
    ],
    ids=str,
)
def test_a_key_counts_for_one_target_and_caller(changed: Mapping[str, Any]) -> None:
    """The same Idempotency-Key for another target, method or caller is another write."""
    assert identity(**changed).scope != identity().scope
    assert identity(**changed).fingerprint == identity().fingerprint


def test_scopes_of_two_callers_differ() -> None:
    """No choice of Idempotency-Key gives one caller the scope of another caller."""
    assert identity(key_id="key_1", key="2k").scope != identity(key_id="key_12", key="k").scope


def test_the_body_is_not_in_the_scope() -> None:
    """Another body under the same Idempotency-Key changes the fingerprint, not the scope."""
    other = identity(body={"name": "Basel"})

    assert other.scope == identity().scope
    assert other.fingerprint != identity().fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0}, {"a": -0.0}),
        ({"a": 1e300}, {"a": 1e300}),
        ([{"a": 1}, {"b": 2}], [{"a": 1.0}, {"b": 2}]),
    ],
    ids=["order", "number", "zero", "huge", "list"],
)
def test_equal_json_has_one_fingerprint(one: Any, other: Any) -> None:
    """The order of members and the spelling of numbers do not change a body's fingerprint."""
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {"a": ""}),
        ({"a": None}, {}),
        ({"a": "b"}, {"b": "a"}),
        ({"a": 1}, [{"a": 1}]),
        ([{"a": 1}, {"b": 2}], [{"b": 2}, {"a": 1}]),
        ([{"a": 1, "b": 2}], [{"a": 1}, {"b": 2}]),
    ],
    ids=["boolean", "text", "empty", "absent", "names", "list", "order", "rows"],
)
def test_different_bodies_have_different_fingerprints(one: Any, other: Any) -> None:
    """Bodies that differ in types, names, values or order have different fingerprints."""
    assert fingerprint(one) != fingerprint(other)
