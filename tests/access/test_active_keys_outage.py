"""Cache of active keys of a PostgreSQL server, with outages and signals of changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from secrets import token_bytes

import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from gateway.access.keys import BELIEVED_SECONDS, ActiveKeys, server_outage
from gateway.errors import KeysUnavailable
from gateway.storage.key_store import KeyStore
from tests.access.conftest import NOW
from tests.access.watched import WatchedStore, active_keys, ids, issued_digest, outcomes
from tests.clock import ManualClock

GRACE_SECONDS = 300.0
PATIENCE_SECONDS = 10.0
SHORT = replace(server_outage(GRACE_SECONDS), wait_seconds=0.01, answer_seconds=0.3)
"""As at a server, but the waits, which are real, are shorter."""
AWAY = OperationalError("select", {}, Exception("the server is away"))


@pytest.fixture
async def keys(watched: WatchedStore, clock: ManualClock) -> AsyncIterator[ActiveKeys]:
    async with aclosing(active_keys(watched, clock, outage=SHORT)) as made:
        yield made


async def test_a_known_key_is_valid_for_the_grace_period(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """Cached keys stay valid for the grace period after the last refresh. Then they get
    503 until the server answers.
    """
    key_id, digest = await issued_digest(store)
    await keys.load()
    watched.error = AWAY
    clock.advance(GRACE_SECONDS - 5.0)
    early = await ids(keys, [digest])
    clock.advance(5.0)
    late = await outcomes(keys, [digest])
    watched.error = None

    assert early == [key_id]
    assert isinstance(late[0], KeysUnavailable)
    assert await ids(keys, [digest]) == [key_id]


async def test_an_unknown_key_gets_503_in_an_outage(
    keys: ActiveKeys, watched: WatchedStore
) -> None:
    """While the server is away, an unknown key gets a temporary error, because it might
    be a new key.
    """
    await keys.load()
    watched.error = AWAY

    assert isinstance((await outcomes(keys, [token_bytes(32)]))[0], KeysUnavailable)


async def test_a_hanging_server_does_not_delay_known_keys(
    watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """With a server that does not answer, only the first use of a cached key waits
    briefly, and one refresh runs.
    """
    key_id, digest = await issued_digest(store)
    outage = replace(SHORT, answer_seconds=PATIENCE_SECONDS)
    async with aclosing(active_keys(watched, clock, outage=outage)) as keys:
        await keys.load()
        clock.advance(BELIEVED_SECONDS)
        asked = watched.asked
        watched.keep_waiting()
        async with asyncio.timeout(PATIENCE_SECONDS / 2):
            first = await ids(keys, [digest])
        others = asyncio.create_task(ids(keys, [digest] * 100))
        await asyncio.sleep(0)
        is_waiting = not others.done()
        watched.gate.set()

    assert first == [key_id]
    assert not is_waiting
    assert watched.asked == asked + 1


async def test_a_refresh_without_an_answer_times_out(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """A refresh that gets no answer times out, and the next refresh succeeds as soon as
    the server is back.
    """
    key_id, digest = await issued_digest(store)
    await keys.load()
    await store.revoke(key_id, NOW)
    clock.advance(BELIEVED_SECONDS)
    watched.keep_waiting()
    meanwhile = await ids(keys, [digest])
    await keys.aclose()
    watched.gate.set()
    await keys.find(digest)
    await keys.aclose()

    assert meanwhile == [key_id]
    assert await ids(keys, [digest]) == [None]


async def test_a_failing_server_is_asked_rarely_and_logged_once_a_minute(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """A failing server gets one refresh a second, and one log line a minute, however
    often a key is used.
    """
    _, digest = await issued_digest(store)
    await keys.load()
    watched.error, asked, began_at = AWAY, watched.asked, clock()
    clock.advance(BELIEVED_SECONDS)
    with capture_logs() as lines:
        while watched.asked < asked + 100:
            await keys.find(digest)
            await keys.aclose()
    seconds = clock() - began_at

    assert seconds == pytest.approx(BELIEVED_SECONDS + 99.0)
    assert [line["event"] for line in lines] == ["fault"] * 2


async def test_a_notification_starts_a_refresh(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore
) -> None:
    """After a signal of a change, nothing can be cached until the changes are read."""
    key_id, digest = await issued_digest(store)
    await keys.load()
    fresh_until = keys.fresh_until()
    await store.revoke(key_id, NOW)
    keys.changed()
    meanwhile = keys.fresh_until()
    await keys.aclose()

    assert digest not in keys
    assert meanwhile < 0 < fresh_until <= keys.fresh_until()


async def test_a_notification_during_a_refresh_starts_another(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore
) -> None:
    """A signal during a refresh starts a second refresh, because the first one might have
    missed the change.
    """
    key_id, digest = await issued_digest(store)
    await keys.load()
    watched.keep_waiting()
    keys.changed()
    await watched.is_asked.wait()
    await store.revoke(key_id, NOW)
    keys.changed()
    watched.gate.set()
    await keys.aclose()

    assert digest not in keys


async def test_a_failed_refresh_after_a_notification_is_repeated(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore
) -> None:
    """If the refresh after a signal fails, the next use of a key starts another refresh."""
    key_id, digest = await issued_digest(store)
    await keys.load()
    watched.error = AWAY
    await store.revoke(key_id, NOW)
    keys.changed()
    await keys.aclose()
    watched.error = None
    found = await ids(keys, [digest])
    await keys.aclose()

    assert found == [key_id]
    assert digest not in keys
