"""Tests of the change log of keys."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from gateway.settings.database import Database
from gateway.storage.key_store import KeyChange, KeyStore
from tests.access.watched import issue, issued_digest
from tests.storage.by_hand import execute
from tests.storage.conftest import NOW

DIGEST = bytes(32)


async def news(store: KeyStore, last: KeyChange | None) -> Sequence[tuple[KeyChange, bool]]:
    """Changes after a known change, each with True if its key is active."""
    changes = await store.changes(last, NOW)
    assert changes is not None
    return [(change, key is not None) for change, key in changes]


async def test_added_and_revoked_keys_are_changes(store: KeyStore) -> None:
    """Each added or revoked key is one change, with the present record of the key."""
    first_id, first = await issued_digest(store)
    _, second = await issued_digest(store)
    added = await news(store, None)
    await store.revoke(first_id, NOW)
    revoked = await news(store, added[-1][0])

    assert added == [(KeyChange(1, first), True), (KeyChange(2, second), True)]
    assert revoked == [(KeyChange(3, first), False)]
    assert await news(store, None) == [
        (KeyChange(1, first), False),
        (KeyChange(2, second), True),
        (KeyChange(3, first), False),
    ]
    assert await news(store, revoked[-1][0]) == []


@pytest.mark.parametrize(
    ("sql", "is_active"),
    [
        ("UPDATE api_keys SET revoked_at = '2026-03-01T12:00:00+00:00'", False),
        ("UPDATE api_keys SET expires_at = '2020-01-01T12:00:00+00:00'", False),
        ("UPDATE api_keys SET expires_at = '2030-01-01T12:00:00+00:00'", True),
        ("UPDATE api_keys SET spreadsheets = '[\"other\"]'", True),
        ("DELETE FROM api_keys", False),
        ("UPDATE api_keys SET revoked_at = '2026-03-01', last_used_at = '2026-03-01'", False),
    ],
    ids=["revoked", "expired", "expiry", "grant", "deleted", "revoked and used"],
)
async def test_changes_by_sql_are_logged(
    store: KeyStore, database: Database, sql: str, is_active: bool
) -> None:
    """A change by SQL is in the log, because triggers write the log."""
    _, digest = await issued_digest(store)
    ((last, _),) = await news(store, None)
    execute(database, sql)

    assert await news(store, last) == [(KeyChange(2, digest), is_active)]


async def test_both_digests_of_a_changed_digest_are_reported(
    store: KeyStore, database: Database
) -> None:
    """A changed digest causes changes of the old and of the new digest, so that the old key
    ends.
    """
    _, digest = await issued_digest(store)
    ((last, _),) = await news(store, None)
    execute(database, "UPDATE api_keys SET digest = $1", DIGEST)

    assert {change.digest: active for change, active in await news(store, last)} == {
        digest: False,
        DIGEST: True,
    }


async def test_a_use_is_not_a_change(store: KeyStore) -> None:
    """The use of a key is not a change."""
    record, _ = await issue(store)
    ((last, _),) = await news(store, None)
    await store.touch(record.id, NOW + timedelta(hours=1))

    assert await news(store, last) == []


@pytest.mark.parametrize(
    "known",
    [
        lambda last: last._replace(number=last.number + 1),
        lambda last: last._replace(digest=DIGEST),
    ],
    ids=["too few changes", "another key"],
)
async def test_changes_of_another_store_are_not_continued(
    store: KeyStore, known: Callable[[KeyChange], KeyChange]
) -> None:
    """If the last change is from another store, `changes` returns None, so that all keys are
    read again.
    """
    await issue(store)
    ((last, _),) = await news(store, None)

    assert await store.changes(known(last), NOW) is None


async def test_an_empty_store_has_no_changes(store: KeyStore) -> None:
    """An empty store has no changes, and does not count as another store."""
    assert await store.changes(None, NOW) == []
