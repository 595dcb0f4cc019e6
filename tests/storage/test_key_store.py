"""Tests of `KeyStore`: adding, listing, revoking and reading keys."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import anyio
import pytest
from sqlalchemy.exc import DBAPIError

from gateway.settings.database import Database
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.key_store import Grants, KeyRecord, KeyStore, record_of
from gateway.table.header import ColumnGrant
from tests.storage.by_hand import spoil
from tests.storage.conftest import NOW

INDIA = timezone(timedelta(hours=5, minutes=30))
RECORD = KeyRecord(
    id="key_00000001",
    name="Büro",
    last4="wxyz",
    plan="paid",
    grants=Grants(
        spreadsheets=frozenset({"one", "two"}),
        worksheets=frozenset({"Städte", "a'!B1:Z9,'x"}),
        may_create=False,
        may_update=False,
        origins=frozenset({"https://a.org"}),
        columns=ColumnGrant(frozenset({"name", " Größe"}), frozenset({"name"})),
        next_url="https://a.org/thanks",
        needs_challenge=True,
    ),
    created_at=NOW,
    expires_at=NOW + timedelta(days=1, microseconds=1),
    last_used_at=NOW,
)
WIDE = replace(
    RECORD,
    id="key_00000000",
    grants=Grants(spreadsheets=None, may_delete=True),
    created_at=NOW + timedelta(seconds=1),
    expires_at=None,
    last_used_at=None,
)


async def active(store: KeyStore) -> Mapping[bytes, KeyRecord]:
    """Active keys of a store by digest."""
    changes = await store.changes(None, NOW)
    assert changes is not None
    return {change.digest: record_of(key) for change, key in changes if key is not None}


@pytest.mark.parametrize("record", [RECORD, WIDE], ids=["narrow", "wide"])
async def test_a_key_is_found_by_its_digest_as_it_was_added(
    store: KeyStore, record: KeyRecord
) -> None:
    """Each field of a key is read unchanged, including `None` and empty sets."""
    await store.add(record, b"digest")

    assert await active(store) == {b"digest": record}
    assert await store.list() == [record]


async def test_keys_are_listed_from_the_oldest(store: KeyStore) -> None:
    """Keys are listed by creation time in microseconds, the oldest first."""
    second = replace(RECORD, id="key_a", created_at=NOW + timedelta(microseconds=1))
    await store.add(WIDE, b"3")
    await store.add(second, b"2")
    await store.add(RECORD, b"1")

    assert await store.list() == [RECORD, second, WIDE]


async def test_pages_of_keys(store: KeyStore) -> None:
    """`page` sorts keys by age or active keys first, and searches names, IDs and last
    characters.
    """
    old = replace(RECORD, id="key_a", name="100% Old_", created_at=NOW - timedelta(days=9))
    gone = replace(RECORD, id="key_b", name="gone", last4="gone", revoked_at=NOW)
    for number, record in enumerate((RECORD, WIDE, old, gone)):
        await store.add(record, b"%d" % number)
    damaged: list[DamagedRow] = []

    async def ids(skip: int = 0, limit: int = 9, **options: Any) -> tuple[list[str], bool]:
        found, has_next = await store.page(damaged.append, skip=skip, limit=limit, **options)
        return [each.id for each in found], has_next

    last = NOW + timedelta(days=2)  # only WIDE never expires
    by_age = ["key_a", RECORD.id, "key_b", WIDE.id]
    assert await ids() == (by_age, False)
    assert await ids(limit=3) == (by_age[:3], True)
    assert await ids(skip=3, limit=1) == (by_age[3:], False)
    assert await ids(skip=4) == ([], False)
    assert await ids(is_newest_first=True) == (by_age[::-1], False)
    assert await ids(active_first_at=last, is_newest_first=True) == (
        [WIDE.id, "key_b", RECORD.id, "key_a"],
        False,
    )
    assert (await ids(active_first_at=last, limit=1)) == ([WIDE.id], True)
    texts = ("old_", "0%", "%", "key_b", "gone", "wxyz", "\0", "x' OR 1=1")
    found = [(await ids(text=each))[0] for each in texts]
    assert found[:5] == [["key_a"], ["key_a"], ["key_a"], ["key_b"], ["key_b"]]
    assert found[5:] == [["key_a", RECORD.id, WIDE.id], [], []]
    assert await store.find("key_a") == old
    assert await store.find("key_") is None
    assert damaged == []


async def test_a_revoked_key_stays_listed(store: KeyStore) -> None:
    """A revoked key stays in the list with the time of its revocation. Other keys stay active."""
    await store.add(RECORD, b"1")
    await store.add(WIDE, b"2")
    later = datetime(2026, 3, 2, tzinfo=UTC)
    is_revoked = await store.revoke(RECORD.id, later)

    assert is_revoked
    assert await active(store) == {b"2": WIDE}
    assert await store.list() == [replace(RECORD, revoked_at=later), WIDE]


async def test_a_key_is_revoked_once(store: KeyStore) -> None:
    """Revoking a revoked or missing key returns False and changes nothing."""
    await store.add(RECORD, b"1")
    await store.revoke(RECORD.id, NOW)

    assert not await store.revoke(RECORD.id, NOW + timedelta(days=1))
    assert not await store.revoke("key_unknown", NOW)
    assert await store.list() == [replace(RECORD, revoked_at=NOW)]


@pytest.mark.parametrize(
    ("earlier", "now", "expected"),
    [
        pytest.param(None, NOW + timedelta(minutes=59), NOW, id="first"),
        pytest.param(NOW, NOW + timedelta(minutes=59), NOW, id="same hour"),
        pytest.param(NOW, NOW + timedelta(hours=1), NOW + timedelta(hours=1), id="next hour"),
        pytest.param(NOW, NOW - timedelta(minutes=1), NOW, id="earlier"),
        pytest.param(
            None, (NOW + timedelta(minutes=5)).astimezone(INDIA), NOW, id="another time zone"
        ),
    ],
)
async def test_last_use_is_stored_by_the_hour(
    store: KeyStore, earlier: datetime | None, now: datetime, expected: datetime
) -> None:
    """The time of last use is stored by the hour, for one key only."""
    await store.add(replace(RECORD, last_used_at=earlier), b"1")
    await store.add(WIDE, b"2")

    await store.touch(RECORD.id, now)

    assert await store.list() == [replace(RECORD, last_used_at=expected), WIDE]


async def test_use_of_a_deleted_key(store: KeyStore) -> None:
    """Storing the last use of a deleted key changes nothing."""
    await store.touch("key_unknown", NOW)

    assert await store.list() == []


async def test_keys_outlive_the_process(database: Database) -> None:
    """A store that is closed and opened again has the same keys."""
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
    async with KeyStore.open(database) as store:
        found = await active(store)

    assert found == {b"1": RECORD}


async def test_the_command_line_works_beside_a_running_gateway(
    store: KeyStore, database: Database
) -> None:
    """A key that another process adds or revokes changes at once in an open store."""
    async with KeyStore.open(database) as other:
        await other.add(RECORD, b"1")
        added = await active(store)
        await other.revoke(RECORD.id, NOW)
        revoked = await active(store)

    assert added == {b"1": RECORD}
    assert revoked == {}


async def test_concurrent_first_opens(database: Database) -> None:
    """Several processes can create the same store at once without an error or a lost key."""
    racers = 8

    async def open_and_add(number: int) -> None:
        async with KeyStore.open(database) as store:
            await store.add(replace(RECORD, id=f"key_{number}"), bytes([number]))

    async with anyio.create_task_group() as group:
        for number in range(racers):
            group.start_soon(open_and_add, number)
    async with KeyStore.open(database) as store:
        records = await store.list()

    assert len(records) == racers


async def test_ping_fails_when_keys_cannot_be_looked_up(database: Database) -> None:
    """`ping` raises an error if the table of keys is missing."""
    async with KeyStore.open(database) as store:
        await store.ping()
        spoil(database, "api_keys")

        with pytest.raises(DBAPIError, match="api_keys"):
            await store.ping()
