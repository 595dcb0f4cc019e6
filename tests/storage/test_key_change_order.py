"""Tests that the numbers of key changes follow the order of commits in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from gateway.settings.database import PostgresUrl
from gateway.storage.key_store import KeyChange, KeyStore
from tests.access.watched import issue, issued_digest
from tests.postgres import PostgresServer
from tests.storage.by_hand import connect, execute, waiting_while
from tests.storage.conftest import NOW


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresUrl:
    return postgres.new_database()


@pytest.fixture
async def operator(database: PostgresUrl) -> AsyncIterator[asyncpg.Connection]:
    """Database session of an operator."""
    connection = await connect(database)
    yield connection
    await connection.close()


async def all_changes(store: KeyStore, last: KeyChange | None = None) -> list[KeyChange]:
    return [change for change, _ in await store.changes(last, NOW) or ()]


async def wait_for_a_waiter(connection: asyncpg.Connection) -> None:
    """Wait until a PostgreSQL session waits for a lock."""
    await connection.execute(waiting_while("NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"))


async def test_a_change_waits_for_earlier_transactions(
    store: KeyStore, database: PostgresUrl, operator: asyncpg.Connection
) -> None:
    """A reader that has seen a change has seen all changes with lower numbers."""
    first, _ = await issue(store)
    second, _ = await issue(store)
    watching = await connect(database)
    (*_, last) = await all_changes(store)
    transaction = operator.transaction()
    await transaction.start()
    await operator.execute("UPDATE api_keys SET name = 'x' WHERE id = $1", first.id)
    revoking = asyncio.create_task(store.revoke(second.id, NOW))
    await wait_for_a_waiter(watching)
    meanwhile = await all_changes(store, last)
    await transaction.commit()
    await revoking
    after = await all_changes(store, last)
    await watching.close()

    assert meanwhile == []
    assert [change.number for change in after] == [last.number + 1, last.number + 2]


async def test_no_change_is_missed_under_load(database: PostgresUrl) -> None:
    """With many concurrent changes, a reader of the log sees each change."""
    async with KeyStore.open(database) as store:
        digests = [await issued_digest(store) for _ in range(8)]
        last = (await all_changes(store))[-1]
        seen: list[KeyChange] = []
        is_over = False

        async def change(number: int) -> None:
            connection = await connect(database)
            for name in range(40):
                async with connection.transaction():
                    await connection.execute(
                        "UPDATE api_keys SET name = $1 WHERE id = $2", str(name), digests[number][0]
                    )
                    await asyncio.sleep(0.001 * (number % 3))
            await connection.close()

        async def follow() -> None:
            nonlocal last
            while found := await all_changes(store, last) or not is_over:
                if isinstance(found, list):
                    seen.extend(found)
                    last = found[-1]

        following = asyncio.create_task(follow())
        await asyncio.gather(*(change(number) for number in range(8)))
        is_over = True
        await following

    assert len(seen) == 8 * 40
    assert [each.number for each in seen] == sorted(each.number for each in seen)


async def test_opposite_orders_do_not_deadlock(
    store: KeyStore, operator: asyncpg.Connection, database: PostgresUrl
) -> None:
    """Transactions that change the same keys in opposite orders do not deadlock."""
    first, _ = await issue(store)
    second, _ = await issue(store)
    update = "UPDATE api_keys SET name = name || 'x' WHERE id = $1"
    other, watching = await connect(database), await connect(database)

    async def change_both() -> None:
        async with other.transaction():
            await other.execute(update, second.id)
            await other.execute(update, first.id)

    async with operator.transaction():
        await operator.execute(update, first.id)
        changing = asyncio.create_task(change_both())
        await wait_for_a_waiter(watching)
        await operator.execute(update, second.id)
    await changing
    for each in (other, watching):
        await each.close()

    assert len(await all_changes(store)) == 6


async def test_emptying_the_table_is_a_change_of_every_key(
    store: KeyStore, database: PostgresUrl
) -> None:
    """TRUNCATE of the table of keys is a change of every key, which revokes all keys."""
    _, digest = await issued_digest(store)
    execute(database, "TRUNCATE api_keys")

    changes = await store.changes(None, NOW)
    assert changes is not None
    assert [(change.digest, key) for change, key in changes] == [(digest, None)] * 2


async def test_a_column_of_a_later_version_is_logged(
    store: KeyStore, database: PostgresUrl
) -> None:
    """Changes of a column that a later version added are logged, too."""
    await issue(store)
    (last,) = await all_changes(store)
    execute(database, "ALTER TABLE api_keys ADD COLUMN later VARCHAR")
    execute(database, "UPDATE api_keys SET later = 'x'")

    assert len(await all_changes(store, last)) == 1
