"""Cache of active keys."""

import asyncio
import sqlite3
from contextlib import aclosing, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from secrets import token_bytes

import pytest

from gateway.access.keys import ActiveKeys
from gateway.storage.key_store import KeyStore
from tests.access.conftest import NOW
from tests.access.watched import (
    WIDE,
    Instant,
    WatchedStore,
    active_keys,
    ids,
    issued_digest,
    outcomes,
)
from tests.clock import ManualClock


async def test_known_keys_need_no_store_query(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """For 2 seconds after a refresh, a request with an active key reads nothing from the
    key store, and gets the same holder object.
    """
    first, second = [(await issued_digest(store))[1] for _ in range(2)]
    await keys.load()
    asked = watched.asked
    holder = await keys.find(first)
    clock.advance(1.99)

    assert await keys.find(first) is holder is not None
    assert await keys.find(second) is not None
    assert watched.asked == asked


async def test_a_use_after_two_seconds_starts_a_refresh(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """A request with an active key more than 2 seconds after the last refresh starts a
    refresh and does not wait for it.
    """
    key_id, digest = await issued_digest(store)
    await keys.load()
    await store.revoke(key_id, NOW)
    clock.advance(2.0)
    before = await ids(keys, [digest] * 3)
    await keys.aclose()

    assert before == [key_id] * 3
    assert await ids(keys, [digest]) == [None]


async def test_a_new_key_is_found_at_once(
    keys: ActiveKeys, store: KeyStore, database: Path, clock: ManualClock
) -> None:
    """A new key is valid at once, also if another process created the key a moment ago."""
    await keys.load()
    async with KeyStore.open(database) as other:
        expected = [await issued_digest(other) for _ in range(3)]
        found = await ids(keys, [digest for _, digest in expected])

    assert found == [key_id for key_id, _ in expected]


async def test_a_key_created_during_a_refresh_is_found(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore
) -> None:
    """A key that is created during a refresh is valid at once, because the lookup starts
    a second refresh.
    """
    watched.keep_waiting()
    early = asyncio.create_task(keys.find(token_bytes(32)))
    await watched.is_asked.wait()
    key_id, digest = await issued_digest(store)
    late = asyncio.create_task(keys.find(digest))
    await asyncio.sleep(0)
    watched.gate.set()
    holder = await late

    assert await early is None
    assert holder is not None
    assert holder.record.id == key_id


async def test_a_revocation_applies_within_4_5_seconds(
    keys: ActiveKeys, store: KeyStore, clock: ManualClock
) -> None:
    """A revoked key is unknown after 4.5 seconds, also if no request used the key meanwhile."""
    key_id, digest = await issued_digest(store)
    await keys.load()
    await store.revoke(key_id, NOW)
    clock.advance(4.5)

    assert await ids(keys, [digest]) == [None]


async def test_age_of_keys_starts_when_the_query_is_sent(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """The age of cached keys counts from the start of the refresh, so a slow store does
    not extend it.
    """
    key_id, digest = await issued_digest(store)
    watched.keep_waiting()
    loading = asyncio.create_task(keys.load())
    await watched.is_asked.wait()
    clock.advance(4.0)
    watched.gate.set()
    await loading
    await store.revoke(key_id, NOW)
    watched.keep_waiting()
    clock.advance(0.49)
    early = await ids(keys, [digest])
    clock.advance(0.01)
    late = asyncio.create_task(keys.find(digest))
    watched.gate.set()

    assert early == [key_id]
    assert await late is None


async def test_a_flood_of_guesses_asks_the_store_rarely(
    keys: ActiveKeys, watched: WatchedStore, clock: ManualClock
) -> None:
    """Unknown keys that arrive at the same time share one query; later unknown keys cause
    one query in 0.05 seconds.
    """
    await keys.load()
    clock.advance(1.0)
    asked = watched.asked
    await outcomes(keys, [token_bytes(32) for _ in range(1000)])
    at_once = watched.asked - asked
    began_at = clock()
    for _ in range(100):
        await keys.find(token_bytes(32))

    assert at_once == 1
    assert clock() - began_at == pytest.approx(100 * 0.05)


async def test_guessed_and_revoked_keys_are_not_stored(keys: ActiveKeys, store: KeyStore) -> None:
    """The cache keeps only digests of active keys, and nothing of unknown keys."""
    _, active = await issued_digest(store)
    key_id, revoked = await issued_digest(store)
    await keys.load()
    await store.revoke(key_id, NOW)
    await issued_digest(store)
    guesses = [token_bytes(32) for _ in range(100)]
    await outcomes(keys, guesses)
    kept = repr(vars(keys))

    assert repr(active) in kept
    assert [each for each in [*guesses, revoked] if repr(each) in kept] == []


async def test_a_restored_backup_replaces_all_keys(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, tmp_path: Path, clock: ManualClock
) -> None:
    """After a restore of a backup, exactly the keys in the restored store are valid."""
    both = [await issued_digest(store) for _ in range(2)]
    with closing(sqlite3.connect(tmp_path / "keys.db")) as source:
        source.execute("VACUUM INTO ?", [str(tmp_path / "backup.db")])
    (tmp_path / "backup.db").chmod(0o600)
    gone = [await issued_digest(store) for _ in range(2)]
    before = await ids(keys, [digest for _, digest in both + gone])
    async with KeyStore.open(tmp_path / "backup.db") as backup:
        new = [await issued_digest(backup) for _ in range(3)]
        watched.store = backup
        clock.advance(4.5)
        after = await ids(keys, [digest for _, digest in both + gone + new])

    assert before == [key_id for key_id, _ in both + gone]
    assert after == [*(key_id for key_id, _ in both), None, None, *(key_id for key_id, _ in new)]


async def test_a_key_expires_in_memory(store: KeyStore, clock: ManualClock) -> None:
    """The cached holder has the expiry time; keys that expired earlier are not loaded."""
    now = Instant()
    expires_at = NOW + timedelta(seconds=1)
    key_id, digest = await issued_digest(store, replace(WIDE, expires_at=expires_at))
    async with aclosing(active_keys(store, clock, now)) as keys:
        now.now += timedelta(hours=23)
        holder = await keys.find(digest)
        now.now += timedelta(days=2)
        async with aclosing(active_keys(store, clock, now)) as later_started:
            later = await later_started.find(digest)

    assert holder is not None
    assert (holder.record.id, holder.record.expires_at) == (key_id, expires_at)
    assert later is None


async def test_many_keys_are_read_in_parts(keys: ActiveKeys, store: KeyStore) -> None:
    """A store with more keys than one page is read completely, with changes made between
    two pages.
    """
    first_id, first = await issued_digest(store)
    digests = [(await issued_digest(store))[1] for _ in range(600)]
    await store.revoke(first_id, NOW)
    await keys.load()

    assert first not in keys
    assert [each for each in digests if each not in keys] == []
