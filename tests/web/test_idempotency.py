"""Idempotency-Key: what makes two requests one."""

import hashlib
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.web.idempotency import (
    IDEMPOTENCY_KEY,
    IdempotentRequest,
    fingerprint,
    parse_key,
    read_idempotent_request,
)
from gateway.worksheets.access import Access, Target, WorksheetId
from gateway.worksheets.writes import WriteIdentity
from tests.web.requests import make_request, make_scope

TARGET = Target(WorksheetId("book", "Cities"), Access(key_id="key_1"))
ADMITTED: Any = SimpleNamespace(caller=SimpleNamespace(key_id="key_1"), is_typed=False)
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
    """The identity of a write like all the others but for what is given."""
    idempotent = IdempotentRequest(key=key, method=method, row=row, fingerprint=fingerprint(body))
    return idempotent.identity(Target(WorksheetId(spreadsheet, title), Access(key_id=key_id)))


async def test_no_idempotent_request_without_the_header() -> None:
    """Most writes come without one."""
    request = make_request(make_scope("POST"))

    assert await read_idempotent_request(request, ADMITTED, BODY) is None


@pytest.mark.parametrize("row", [None, 7])
async def test_idempotent_request_has_key_method_row_and_body(row: int | None) -> None:
    """The row is the one that the path means, however it spells it; creates have none."""
    scope = make_scope("PUT", "/v2/sheets/x/%37", headers={IDEMPOTENCY_KEY: '"k"'})
    idempotent = await read_idempotent_request(make_request(scope), ADMITTED, BODY, row=row)

    assert idempotent == IdempotentRequest(
        key="k", method="PUT", row=row, fingerprint=fingerprint(BODY)
    )
    assert not idempotent.identity(TARGET).removes_rows
    assert idempotent.identity(TARGET).worksheet == TARGET.worksheet


async def test_a_large_body_has_its_fingerprint_made_beside_the_event_loop() -> None:
    """It is the same as ever."""
    rows = [{str(number): number for number in range(1000)}] * 3
    scope = make_scope("POST", headers={IDEMPOTENCY_KEY: "k"})
    idempotent = await read_idempotent_request(make_request(scope), ADMITTED, rows)

    assert idempotent is not None
    assert idempotent.fingerprint == fingerprint(rows)


def test_records_of_earlier_versions_are_found() -> None:
    """Cache keys of records survive a restart, so they must not change."""
    assert identity(method="PATCH", row=7).scope == (
        hashlib.sha256(b'["key_1","k","PATCH","book","Cities","7"]').hexdigest()
    )
    assert identity().scope == (
        hashlib.sha256(b'["key_1","k","POST","book","Cities",null]').hexdigest()
    )


def test_the_methods_that_update_a_row_are_one() -> None:
    """All three do the same. A delete of the row is another write, and so is an update of rows."""
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
    """Both spellings are one key."""
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
    """The same Idempotency-Key for another target or caller is another one."""
    assert identity(**changed).scope != identity().scope
    assert identity(**changed).fingerprint == identity().fingerprint


def test_the_parts_of_a_scope_do_not_run_into_each_other() -> None:
    """No choice of key makes one caller's scope another's."""
    assert identity(key_id="key_1", key="2k").scope != identity(key_id="key_12", key="k").scope


def test_the_body_is_no_part_of_the_scope() -> None:
    """Another body under the same key is seen to be another."""
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
def test_one_body_has_one_fingerprint(one: Any, other: Any) -> None:
    """However it is spelled in JSON."""
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
def test_other_bodies_have_others(one: Any, other: Any) -> None:
    """Different types, names, values or places are different writes."""
    assert fingerprint(one) != fingerprint(other)
