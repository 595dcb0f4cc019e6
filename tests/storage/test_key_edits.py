"""Tests of edits of keys: grants, rotations, and the log of edits."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gateway.settings.database import Database
from gateway.storage.key_store import Grants, KeyEdit, KeyRecord, KeyStore, record_of
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute
from tests.storage.conftest import NOW
from tests.storage.test_key_store import RECORD, WIDE, active

LATER = NOW + timedelta(hours=24)
SECOND = timedelta(seconds=1)


def edit(action: Any, at: Any = NOW, **changes: Any) -> KeyEdit:
    return KeyEdit(key_id=WIDE.id, at=at, by="ann", action=action, changes=changes)


async def rotate(store: KeyStore, digest: bytes, at: Any = NOW) -> bool:
    until = at + timedelta(hours=24)
    return await store.rotate(edit("rotated", at), digest, "new4", until)


@pytest.mark.parametrize(
    "grants",
    [
        pytest.param({}, id="all but deletes"),
        pytest.param({"may_create": False, "may_update": False}, id="read"),
        pytest.param({"may_read": False, "may_update": False}, id="create only"),
        pytest.param({"may_update": False}, id="read and create"),
        pytest.param({"may_create": False}, id="read and update"),
        pytest.param({"may_create": False, "may_update": False, "may_delete": True}, id="delete"),
        pytest.param({"may_delete": True, "may_refresh": True}, id="everything"),
    ],
)
async def test_rights_are_stored(store: KeyStore, grants: Mapping[str, Any]) -> None:
    """Each combination of rights is read back from the store unchanged."""
    record = replace(RECORD, grants=Grants(spreadsheets=None, **grants))
    await store.add(record, b"1")

    assert await active(store) == {b"1": record}


@pytest.mark.parametrize(
    ("flags", "rights"),
    [
        ("read_only = true, may_delete = false", ["read"]),
        ("read_only = true, may_delete = true", ["read"]),
        ("read_only = false, may_delete = true", ["read", "create", "update", "delete"]),
    ],
)
async def test_flags_of_earlier_versions(
    store: KeyStore, database: Database, flags: str, rights: list[str]
) -> None:
    """A key without a `rights` column value has the rights of its older flag columns."""
    await store.add(WIDE, b"1")
    execute(database, f"UPDATE api_keys SET {flags}")  # noqa: S608
    (record,) = await store.list()

    assert record.grants.rights == rights


async def test_both_secrets_work_during_a_rotation(store: KeyStore) -> None:
    """During a rotation both secrets find one record. The old secret expires when the overlap
    ends.
    """
    await store.add(WIDE, b"old")
    changed = await rotate(store, b"new")
    found = await active(store)
    (listed,) = await store.list()

    assert changed
    assert found[b"new"] == listed == replace(WIDE, last4="new4", old_ends_at=LATER)
    assert found[b"old"] == replace(listed, expires_at=LATER)


async def test_a_key_that_expires_before_its_old_secret(store: KeyStore) -> None:
    """If a key expires before its old secret, both secrets end at the expiry."""
    ending = replace(WIDE, expires_at=NOW + SECOND)
    await store.add(ending, b"old")
    await rotate(store, b"new")

    assert {each.expires_at for each in (await active(store)).values()} == {NOW + SECOND}


async def test_a_second_rotation_during_a_rotation(store: KeyStore) -> None:
    """A second rotation fails until the overlap of the first rotation ends, or until `--end`
    ends it.
    """
    await store.add(WIDE, b"1")
    await rotate(store, b"2")
    refused = await rotate(store, b"3", LATER - SECOND)
    ended = await store.end_rotation(edit("ended"))
    again = await store.end_rotation(edit("ended"))
    rotated = await rotate(store, b"3", LATER - SECOND)

    assert (refused, ended, again, rotated) == (False, True, False, True)
    assert {*await active(store)} == {b"2", b"3"}


async def test_a_rotation_after_the_overlap(store: KeyStore) -> None:
    """An expired old secret does not prevent a rotation, and a day later it is not found."""
    await store.add(WIDE, b"1")
    await rotate(store, b"2")
    rotated = await rotate(store, b"3", LATER)
    changes = await store.changes(None, LATER + timedelta(days=3)) or []

    assert rotated
    assert {change.digest for change, key in changes if key is not None} == {b"3"}


async def test_edits_of_a_key_with_two_secrets_are_changes_of_both(store: KeyStore) -> None:
    """An edit of a key with two secrets is reported as a change of both digests."""
    await store.add(WIDE, b"old")
    await rotate(store, b"new")
    last = (await store.changes(None, NOW) or [])[-1][0]
    await store.revoke(WIDE.id, NOW)
    found = await store.changes(last, NOW)

    assert {change.digest: key for change, key in found or ()} == {b"old": None, b"new": None}


async def test_emptying_the_table_ends_both_secrets(postgres: PostgresServer) -> None:
    """TRUNCATE of the table of keys is also a change of the old secrets."""
    database = postgres.new_database()
    async with KeyStore.open(database) as store:
        await store.add(WIDE, b"old")
        await rotate(store, b"new")
        await asyncio.to_thread(execute, database, "TRUNCATE api_keys")

        assert await active(store) == {}


async def test_an_update_of_an_outdated_record_fails(store: KeyStore) -> None:
    """Of two updates from the same record, the second update fails for each changed field."""
    await store.add(WIDE, b"1")
    narrow = replace(WIDE, grants=replace(WIDE.grants, worksheets=frozenset({"Cities"})))
    renamed = replace(narrow, name="other")
    first = await store.update(WIDE, narrow, edit("updated", worksheets=(None, ["Cities"])))
    lost = await store.update(WIDE, replace(WIDE, name="third"), edit("updated"))
    second = await store.update(narrow, renamed, edit("updated", name=(WIDE.name, "other")))
    await store.revoke(WIDE.id, NOW, by="bob")
    late = await store.update(renamed, WIDE, edit("updated"))
    (record,) = await store.list()

    assert (first, lost, second, late) == (True, False, True, False)
    assert record == replace(renamed, revoked_at=NOW)


async def test_edits_are_logged(store: KeyStore) -> None:
    """The log of edits has user, time, action and the changed fields. A failed edit is not
    logged.
    """
    await store.add(WIDE, b"1", by="eve")
    await store.update(WIDE, replace(WIDE, plan="free"), edit("updated", plan=("paid", "free")))
    await rotate(store, b"2", NOW + 2 * SECOND)
    await rotate(store, b"3", NOW + 2 * SECOND)
    await store.revoke(WIDE.id, NOW + 3 * SECOND, by="bob")
    await store.add(RECORD, b"4")
    edits = await store.edits(WIDE.id)

    assert [(each.action, each.by) for each in edits] == [
        ("updated", "ann"),
        ("created", "eve"),
        ("rotated", "ann"),
        ("revoked", "bob"),
    ]
    assert edits[0].changes == {"plan": ["paid", "free"]}
    assert len(await store.edits()) == 5


@pytest.mark.parametrize(
    "damage", ["rights = 'x'", "rights = '[\"fly\"]'", "old_ends_at = 'x'", "old_ends_at = NULL"]
)
async def test_a_damaged_rotation_grants_nothing(
    store: KeyStore, database: Database, damage: str
) -> None:
    """A damaged rotation invalidates at least the old secret of the key. Other keys stay valid."""
    await store.add(WIDE, b"old")
    await rotate(store, b"new")
    await store.add(RECORD, b"other")
    execute(database, f"UPDATE api_keys SET {damage} WHERE id = '{WIDE.id}'")  # noqa: S608
    readable: dict[bytes, KeyRecord] = {}
    for change, key in await store.changes(None, NOW) or ():
        try:
            readable |= {} if key is None else {change.digest: record_of(key)}
        except ValueError:
            continue

    assert readable[b"other"] == RECORD
    assert b"old" not in readable
