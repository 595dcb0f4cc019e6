"""Tests of Google's spent quota, stored in PostgreSQL."""

import math

import pytest
from structlog.testing import capture_logs

from gateway.google.quota import LONGEST_SECONDS
from gateway.settings.database import PostgresUrl
from gateway.storage.key_store import KeyStore
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute, spoil


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresUrl:
    return postgres.new_database()


async def test_a_restart_restores_the_spent_quota(database: PostgresUrl, store: KeyStore) -> None:
    """After a restart, the last stored values for reads and for writes are loaded."""
    async with store.open_spent_quota("main") as spent:
        before = [spent.seconds(is_write=is_write) for is_write in (False, True)]
        for seconds in range(30):
            spent.note(seconds, is_write=True)
        spent.note(5.0, is_write=False)
    stored = execute(database, "SELECT count(*) FROM spent_quota")
    async with KeyStore.open(database) as later, later.open_spent_quota("main") as spent:
        after = [spent.seconds(is_write=is_write) for is_write in (False, True)]

    assert stored == [(2,)]
    assert before == [0.0, 0.0]
    assert after == [pytest.approx(5, abs=3), pytest.approx(29, abs=3)]


async def test_a_failure_is_logged_once(database: PostgresUrl, store: KeyStore) -> None:
    """If the table cannot be written, one line is logged, and calls to Google continue."""
    with capture_logs() as logged:
        async with store.open_spent_quota("main") as spent:
            spoil(database, "spent_quota")
            for seconds in range(3):
                spent.note(seconds, is_write=True)
                await store.ping()

    assert [line["event"] for line in logged] == ["quota-file-failed"]


@pytest.mark.parametrize("number", [math.inf, 1e300, math.nan, -math.inf])
async def test_a_damaged_number_is_limited(
    database: PostgresUrl, store: KeyStore, number: float
) -> None:
    """A damaged value delays calls no longer than a pause after Google's 429."""
    execute(database, "INSERT INTO spent_quota VALUES ('main', true, $1)", number)
    async with store.open_spent_quota("main") as spent:
        assert 0 <= spent.seconds(is_write=True) <= LONGEST_SECONDS


async def test_a_gateway_starts_without_the_table(database: PostgresUrl, store: KeyStore) -> None:
    """If the table cannot be read, the gateway starts and logs the failure."""
    spoil(database, "spent_quota")
    with capture_logs() as logged:
        async with store.open_spent_quota("main") as spent:
            assert spent.seconds(is_write=True) == 0

    assert [line["event"] for line in logged] == ["quota-file-failed"]
