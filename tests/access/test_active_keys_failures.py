"""Cache of active keys with a slow, failing or damaged store."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from secrets import token_bytes

from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from gateway.access.keys import ActiveKeys
from gateway.errors import KeysUnavailable, write_outcome
from gateway.storage.key_store import KeyStore
from tests.access.watched import WatchedStore, ids, issued_digest, outcomes
from tests.clock import ManualClock

LOCKED = OperationalError("select", {}, Exception("database is locked"))


async def test_a_request_waits_for_one_refresh(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """A request that waits for a slow store is answered after one timeout, not after two."""
    key_id, digest = await issued_digest(store)
    await keys.load()
    clock.advance(60.0)
    watched.keep_waiting()
    waiting = asyncio.create_task(ids(keys, [digest]))
    await watched.is_asked.wait()
    clock.advance(60.0)
    watched.gate.set()

    assert await waiting == [key_id]
    assert watched.asked == 3


async def test_a_cancelled_request_does_not_cancel_the_query(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore
) -> None:
    """If the first of several waiting requests is cancelled, the others get the answer of
    the same query.
    """
    key_id, digest = await issued_digest(store)
    watched.keep_waiting()
    first, second = (asyncio.create_task(ids(keys, [digest])) for _ in range(2))
    await watched.is_asked.wait()
    first.cancel()
    await asyncio.wait([first])
    watched.gate.set()

    assert first.cancelled()
    assert await second == [key_id]
    assert watched.asked == 2  # the second found nothing more


async def test_a_failed_query_is_retryable_503(keys: ActiveKeys, watched: WatchedStore) -> None:
    """A failing store raises an error that allows a retry, and logs the cause once."""
    watched.error = LOCKED
    with capture_logs() as events:
        failures = await outcomes(keys, [token_bytes(32) for _ in range(3)])

    for failure in failures:
        assert isinstance(failure, KeysUnavailable)
        assert (failure.status, failure.code, failure.retryable) == (503, 5031, True)
        assert failure.retry_after_seconds
        assert write_outcome(failure) == "not_applied"
    assert [event["event"] for event in events] == ["fault"]
    assert "database is locked" in str(events[0]["exc_info"])


async def test_known_keys_go_on_working_while_the_store_fails(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """Cached keys stay valid for the grace period while the store fails; no valid key is
    reported as unknown.
    """
    key_id, digest = await issued_digest(store)
    await keys.load()
    _, new = await issued_digest(store)
    watched.error = LOCKED
    clock.advance(4.0)
    early = await ids(keys, [digest, digest])
    clock.advance(0.5)
    late = await outcomes(keys, [digest, new])
    watched.error = None

    assert early == [key_id] * 2
    assert [type(each) for each in late] == [KeysUnavailable] * 2
    assert None not in await ids(keys, [digest, new])


async def test_a_failed_background_refresh_is_logged(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """A failed refresh in the background is logged, and the cached key stays valid meanwhile."""
    key_id, digest = await issued_digest(store)
    await keys.load()
    clock.advance(2.0)
    watched.error = OSError("disk")
    with capture_logs() as events:
        served = await ids(keys, [digest])
        await keys.aclose()

    assert served == [key_id]
    assert [(event["event"], str(event["exc_info"])) for event in events] == [("fault", "disk")]


async def test_a_damaged_key_does_not_affect_other_keys(
    keys: ActiveKeys, store: KeyStore, database: Path
) -> None:
    """A damaged record of a key makes this key invalid and logs one line; other keys are
    still read.
    """
    spoiled_id, spoiled = await issued_digest(store)
    key_id, digest = await issued_digest(store)
    with closing(sqlite3.connect(database)) as other:
        other.execute("UPDATE api_keys SET spreadsheets = 'x' WHERE id = ?", [spoiled_id])
        other.commit()

    with capture_logs() as events:
        found = await ids(keys, [digest, spoiled, spoiled])

    assert found == [key_id, None, None]
    assert [(event["event"], event["row"]) for event in events] == [("damaged-row", spoiled_id)]


async def test_closing_waits_for_the_store(
    keys: ActiveKeys, watched: WatchedStore, store: KeyStore, clock: ManualClock
) -> None:
    """After closing, no query of the store is running."""
    _, digest = await issued_digest(store)
    await keys.load()
    clock.advance(2.0)
    watched.keep_waiting()
    await keys.find(digest)
    closing_task = asyncio.create_task(keys.aclose())
    await watched.is_asked.wait()
    is_early = closing_task.done()
    watched.gate.set()
    await closing_task

    assert not is_early
