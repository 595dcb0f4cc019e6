"""Tests of the stored use of keys by hour, in SQLite and PostgreSQL."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import pytest
from sqlalchemy.event import listen
from structlog.testing import capture_logs

from gateway.settings.database import Database
from gateway.storage.key_store import KeyStore
from gateway.storage.usage import KEPT, stored_usage
from gateway.telemetry.events import MOST_PLACES, RequestEvent, request_done, tallies
from tests.storage.by_hand import allow, execute, refuse

HOUR = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = ("hour", "key_id", "code")


@pytest.fixture(autouse=True)
def no_use() -> Iterator[None]:
    """Reset this process's counts, which other tests have changed."""
    tallies.use.clear()
    yield
    tallies.use.clear()


class Clock:
    def __init__(self) -> None:
        self.now = HOUR + timedelta(minutes=30)

    def __call__(self) -> datetime:
        return self.now


def ask(key: str | None = "k1", worksheet: str = "Cities", code: int | None = None) -> None:
    event = RequestEvent("r1", "GET", "/v2", 200 if code is None else 400, code, key)
    event.spreadsheet, event.worksheet = "book", worksheet
    event.reads, event.writes = 2, 1
    request_done(event, 0.001, 24, 1000)


def use(code: int = 0, requests: int = 1, key: str = "k1") -> dict[str, object]:
    return {
        "hour": HOUR.isoformat(),
        "key_id": key,
        "code": code,
        "requests": requests,
        "reads": 2 * requests,
        "writes": requests,
        "rows": 24 * requests,
        "bytes": 1000 * requests,
        "refused": requests if code else 0,
    }


async def stored_in(
    store: KeyStore, since: datetime = HOUR, key_id: str | None = None
) -> list[dict[str, Any]]:
    found = await store.usage(PLACE, since, key_id)
    return sorted(found, key=itemgetter(*PLACE))


async def test_requests_are_summed(store: KeyStore) -> None:
    """Requests of several processes are summed by hour, key and code over all worksheets."""
    for count in (2, 1):
        async with store.storing_usage(Clock()):
            for _ in range(count):
                ask()
                ask(worksheet="Städte \ud800")
            ask(code=4290)
            ask(None, code=4010)

    assert await stored_in(store, HOUR + timedelta(minutes=50)) == [
        use(4010, 2, key=""),
        use(0, 6),
        use(4290, 2),
    ]
    assert await stored_in(store, HOUR, "k2") == []


async def test_sums_by_key_worksheet_or_hour(store: KeyStore) -> None:
    """Sums of one key or of all keys are sorted by use, and include counts that are not
    stored yet.
    """
    async with store.storing_usage(Clock()) as flush:
        for worksheet in ("Cities", "Cities", "Orders"):
            ask(worksheet=worksheet)
        ask("k2", code=4290)
        ask(code=4290)
        await flush()
        by_key = await store.usage(["key_id"], HOUR)
        by_sheet = await store.usage(["worksheet"], HOUR, "k1", 2)
        by_hour = await store.usage(["hour"], HOUR)
        later = await store.usage(["hour"], HOUR + timedelta(hours=1))

    sums = {"requests": 4, "refused": 1, "reads": 8, "writes": 4, "rows": 96, "bytes": 4000}
    assert by_key[0] == {"key_id": "k1", **sums}
    assert [(each["key_id"], each["refused"]) for each in by_key] == [("k1", 1), ("k2", 1)]
    assert [(each["worksheet"], each["requests"]) for each in by_sheet] == [("Cities", 2), ("", 1)]
    assert [(each["hour"], each["requests"]) for each in by_hour] == [(HOUR.isoformat(), 5)]
    assert later == []


@pytest.mark.parametrize("key_id", ["k2", "k1\0", "k1\ud800"])
async def test_any_text_as_key_id(store: KeyStore, key_id: str) -> None:
    """Any text as key ID in a filter gives a result, never a database error."""
    async with store.storing_usage(Clock()):
        ask()

    assert await stored_in(store, HOUR, key_id) == []
    assert await store.names([key_id]) == {}
    assert await store.find(key_id) is None


async def test_concurrent_pages_share_statements(store: KeyStore) -> None:
    """Waiting requests for the same sums share a statement that began after each of the
    requests.
    """
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    listen(store._engine.sync_engine, "before_cursor_execute", note)
    async with store.storing_usage(Clock()) as flush:
        ask()
        await flush()
        statements.clear()
        found = await asyncio.gather(*(store.usage(["hour"], HOUR) for _ in range(9)))
        count = len([each for each in statements if each.startswith("SELECT")])
        ask()
        await flush()
        later = await store.usage(["hour"], HOUR)

    assert count == 2
    assert [each[0]["requests"] for each in found] == [1] * 9
    assert later[0]["requests"] == 2


async def test_an_export_counts_its_own_rows(store: KeyStore) -> None:
    """An export counts the rows in its log line."""
    event = RequestEvent("r1", "GET", "/v2", 200, key="k1", operation="export", rows=7, bytes=70)
    async with store.storing_usage(Clock()):
        request_done(event, 0.001, 0, 0)
    (found,) = await stored_in(store)

    assert (found["rows"], found["bytes"]) == (7, 70)


async def test_counts_that_were_not_stored_are_stored_later(
    store: KeyStore, database: Database
) -> None:
    """Counts that could not be stored are stored later. The failure is logged once."""
    refuse(database, "INSERT", table="key_usage")
    with capture_logs() as logs:
        for _ in range(2):
            async with store.storing_usage(Clock()):
                ask()
    allow(database, "key_usage")
    async with store.storing_usage(Clock()):
        ask()

    assert [line["event"] for line in logs if line["event"] != "request"] == ["usage-failed"] * 2
    assert await stored_in(store) == [use(0, 3)]


async def test_pages_do_not_retry_a_failed_store(store: KeyStore, database: Database) -> None:
    """After a failure only the background task stores counts, so that pages do not wait for a
    locked file.
    """
    async with store.storing_usage(Clock()) as flush:
        ask()
        refuse(database, "INSERT", table="key_usage")
        await flush()
        allow(database, "key_usage")
        await flush()
        shown = await stored_in(store)

    assert shown == []
    assert await stored_in(store) == [use()]


async def test_use_is_kept_for_a_month(store: KeyStore, database: Database) -> None:
    """Hours older than a month are deleted, also if another process stored them."""
    clock = Clock()
    async with store.storing_usage(clock):
        ask()
    clock.now += KEPT
    async with store.storing_usage(clock):
        ask("k2")
    both = await stored_in(store)
    clock.now += timedelta(hours=1)
    async with store.storing_usage(clock):
        pass

    assert [each["key_id"] for each in both] == ["k1", "k2"]
    assert execute(database, "SELECT key_id FROM key_usage") == [("k2",)]


async def test_counts_belong_to_the_hour_of_the_request(store: KeyStore) -> None:
    """Counts that are stored after the end of an hour belong to the hour of the requests."""
    clock = Clock()
    async with store.storing_usage(clock):
        ask()
        clock.now += timedelta(hours=1)
    assert [each["hour"] for each in await stored_in(store)] == [HOUR.isoformat()]


async def test_counts_are_stored_while_the_gateway_runs(store: KeyStore) -> None:
    """Counts are stored every few seconds, so that a killed process loses only the last seconds."""
    async with stored_usage(store._engine, Clock(), every_seconds=0.01):
        ask()
        while not await stored_in(store):
            pass

    assert await stored_in(store) == [use()]


def test_the_number_of_counted_worksheets_is_limited() -> None:
    """Above the maximum number of worksheets, requests are counted without their worksheet."""
    for number in range(MOST_PLACES + 50):
        ask(worksheet=str(number))

    assert len(tallies.use) == MOST_PLACES + 1
    assert sum(counts[0] for counts in tallies.use.values()) == MOST_PLACES + 50
