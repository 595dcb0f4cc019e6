"""Simulated processes in one event loop, with separate connections and one fake spreadsheet.

Clocks are real, because Redis reports the age of its data. Rows and headers are cached long enough
that no test depends on its duration.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
from redis.asyncio import Redis

from gateway.cluster.scripts import PROBE
from gateway.cluster.shared_rows import SharedRows
from gateway.cluster.store import Store, open_store
from gateway.cluster.write_lock import open_write_lock
from gateway.query.query import Query
from gateway.settings.model import ApiSettings, CacheSettings, WriteSettings
from gateway.storage.database import open_database
from gateway.storage.write_ledger import open_ledger
from gateway.table.record import Record
from gateway.worksheets.answers import Freshness
from gateway.worksheets.fences import Fences
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.rows import RowService
from gateway.worksheets.sharing import Peers
from gateway.worksheets.writes import Fields, Write, WriteIdentity
from tests.cluster.redis_server import RedisServer
from tests.counted_sheets import CountedSheets
from tests.fakes import FakeSheets
from tests.postgres import DATABASE, USER, PostgresServer
from tests.worksheets.conftest import CITIES, TARGET, WORKSHEET, PlainEncoder
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

KEPT_SECONDS = 600.0
PATIENCE_SECONDS = 10.0
POLL_SECONDS = 0.01
STORE_TIMEOUT_SECONDS = 5.0
"""Timeout of Redis, long enough for a slow machine."""

CUT_HOLDERS = (
    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_locks "
    "WHERE locktype = 'advisory' AND granted"
)
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
EVERYTHING = Query()


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The answer to a list request."""

    records: list[Record]
    freshness: Freshness

    @property
    def names(self) -> list[object]:
        return [record["name"] for record in self.records]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A simulated process; `sheets` counts and delays its calls to Google."""

    service: RowService
    sheets: ScriptedSheets
    store: Store

    async def create(self, name: str, identity: WriteIdentity | None = None) -> Settled:
        return await self.service.write(
            TARGET, Write.create(rows=({"name": name},), identity=identity)
        )

    async def created(self, name: str) -> int:
        """Create a row, and return its number."""
        (written,) = (await self.create(name)).results
        return written.row

    async def update(self, row: int, **fields: str) -> Settled:
        given: Fields = fields
        return await self.service.write(TARGET, Write.update(row=row, fields=given))

    async def delete(self, row: int, identity: WriteIdentity | None = None) -> Settled:
        return await self.service.write(TARGET, Write.delete(row=row, identity=identity))

    async def listed(self, query: Query = EVERYTHING, *, no_cache: bool = False) -> Listed:
        encoder = PlainEncoder()
        served = await self.service.list_rows(TARGET, query, encoder, no_cache=no_cache)
        return Listed(records=encoder.pages[0].records, freshness=served.freshness)

    async def names(self) -> list[object]:
        return (await self.listed()).names

    def cost(self) -> Cost:
        """Return the numbers of this process's calls since the last use of `cost`."""
        return self.sheets.cost()


class Office:
    """The spreadsheet, PostgreSQL, Redis and the simulated processes."""

    def __init__(
        self,
        postgres: PostgresServer,
        server: RedisServer,
        *,
        max_waiting_seconds: float = PATIENCE_SECONDS,
        longest_seconds: float = KEPT_SECONDS,
        rows_ttl_seconds: float = KEPT_SECONDS,
    ) -> None:
        self._max_waiting_seconds = max_waiting_seconds
        self._longest_seconds = longest_seconds
        self._rows_ttl_seconds = rows_ttl_seconds
        self.fake = FakeSheets()
        self.cities = self.fake.add("Cities", CITIES, rows=100)
        self.google = ScriptedSheets(self.fake)
        """All calls of all processes."""
        self.peers: list[Peer] = []
        self.postgres = postgres
        self.server = server
        self.database = postgres.new_database()
        self.gates: list[asyncio.Event] = []

    @asynccontextmanager
    async def opened(self, count: int = 3) -> AsyncIterator["Office"]:
        async with AsyncExitStack() as stack:
            for _ in range(count):
                self.peers.append(await stack.enter_async_context(self._peer()))
            try:
                yield self
            finally:
                for gate in self.gates:
                    gate.set()

    def gate(self) -> asyncio.Event:
        """Return an event that holds a call until it is set; the end of the block sets it."""
        self.gates.append(asyncio.Event())
        return self.gates[-1]

    def held_names(self) -> list[object]:
        """Return the names in the worksheet at Google."""
        return [line[0] for line in self.cities.lines()[1:]]

    async def settle_in(self, *peers: Peer) -> None:
        """Make all processes cache the rows, and reset the counts of calls."""
        for peer in peers or self.peers:
            await peer.listed()
        for peer in self.peers:
            peer.cost()

    async def cut_holder(self) -> None:
        """End the PostgreSQL sessions that hold the lock of a worksheet."""
        await self.asked(CUT_HOLDERS)

    async def is_waiting(self) -> bool:
        """True if a process waits for the lock."""
        return bool(await self.asked(WAITING))

    async def is_storing(self) -> bool:
        """True if a process waits for `held_records`."""
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND NOT granted"
        return bool(await self.asked(query))

    @asynccontextmanager
    async def held_records(self) -> AsyncIterator[None]:
        """Block the storing of answers of writes with an Idempotency-Key, during the block."""
        connection = await self._connection()
        try:
            async with connection.transaction():
                await connection.execute(f"LOCK TABLE {self._schema}.idempotency_records")
                yield
        finally:
            await connection.close()

    async def row(self) -> Mapping[str, Any]:
        """Return the worksheet's row in PostgreSQL."""
        connection = await self._connection()
        try:
            return dict(await connection.fetchrow(f"SELECT * FROM {self._schema}.worksheets"))  # noqa: S608
        finally:
            await connection.close()

    async def asked(self, query: str) -> object:
        """Return the first value in PostgreSQL's answer to a query."""
        connection = await self._connection()
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    async def epoch(self) -> object:
        """Return the worksheet's epoch in Redis, which changes when cached rows become outdated."""
        async with self.redis() as client:
            return await client.get(f"{{gateway}}:epoch:{WORKSHEET.spreadsheet}/{WORKSHEET.title}")

    async def reconnect(self) -> None:
        """Reconnect all processes to Redis after an outage."""
        for peer in self.peers:
            await peer.store._client.connection_pool.disconnect()
            await peer.store.probe(PROBE, ["x"])
            peer.store.returned()

    @asynccontextmanager
    async def redis(self) -> AsyncIterator[Any]:
        """Yield a client of the processes' Redis."""
        client = Redis.from_url(self.server.url)
        try:
            yield client
        finally:
            await client.aclose()

    @property
    def _schema(self) -> str:
        """Name of the schema with the processes' tables; it equals their user name."""
        return self.database.url.get_secret_value().split("//")[1].split(":")[0]

    async def _connection(self) -> Any:
        return await asyncpg.connect(
            host=str(self.postgres.folder), port=self.postgres.port, user=USER, database=DATABASE
        )

    @asynccontextmanager
    async def _peer(self) -> AsyncIterator[Peer]:
        sheets = ScriptedSheets(self.google)
        counted = CountedSheets(sheets)
        async with (
            open_store(self.server.url, timeout_seconds=STORE_TIMEOUT_SECONDS) as store,
            open_database(self.database) as engine,
            open_ledger(engine, time.time) as ledger,
        ):
            store.returned()
            rows = SharedRows(store)
            async with open_write_lock(
                self.database,
                engine,
                rows,
                clock=time.time,
                max_waiting_seconds=self._max_waiting_seconds,
                longest_seconds=self._longest_seconds,
            ) as lock:
                service = RowService(
                    counted,
                    cache=CacheSettings(
                        rows_ttl_seconds=self._rows_ttl_seconds, header_ttl_seconds=KEPT_SECONDS
                    ),
                    writes=WriteSettings(),
                    api=ApiSettings(),
                    clock=time.monotonic,
                    ledger=ledger,
                    wall_clock=time.time,
                    fences=Fences(counted, key="gw", clock=time.time, kept=ledger.kept_fences),
                    peers=Peers(rows=rows, lock=lock),
                )
                try:
                    yield Peer(service=service, sheets=sheets, store=store)
                finally:
                    await service.aclose()
                    await store.finish()


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    """Wait until `check` returns True."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await check():  # noqa: ASYNC110 - engines set no events
            await asyncio.sleep(POLL_SECONDS)


def identity_of(name: str) -> WriteIdentity:
    """Return the identity of the create of `name`, which is equal for one Idempotency-Key."""
    return WriteIdentity(scope=f"key of {name}", fingerprint=name, worksheet=WORKSHEET, key_id="")
