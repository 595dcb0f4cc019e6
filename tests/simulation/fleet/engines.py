"""The servers that processes share, PostgreSQL and Redis, and the proxies in front of them.

Rules
- Both are real servers that can be restarted. A TCP proxy between a process and a server can cut,
  refuse or suspend connections.
- A proxy listens on one loopback port until it is closed. It refuses a connection by accepting and
  resetting it.
- A suspended proxy accepts connections and passes no data in either direction. Data sent meanwhile
  passes afterwards.
"""

import asyncio
import os
import shutil
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from redis import Redis

from tests.cluster.redis_server import COMMAND, REQUIRED, RedisServer
from tests.postgres import PostgresServer, running_server

DUMP = "dump.rdb"
"""File name of the data that Redis loads at its start."""
SAVED = "saved.rdb"


@dataclass(frozen=True, kw_only=True)
class Engines:
    """PostgreSQL and Redis, and the gateways' database."""

    postgres: PostgresServer
    redis: RedisServer
    folder: Path
    """Folder of Redis."""
    database: str
    """URL of a migrated database."""

    def flush(self) -> None:
        with Redis.from_url(self.redis.url) as client:
            client.flushall()

    def save(self) -> None:
        """Save a copy of the data in Redis."""
        with Redis.from_url(self.redis.url) as client:
            client.save()
        (self.folder / DUMP).replace(self.folder / SAVED)

    def restart_redis(self, *, with_copy: bool = False) -> None:
        """Replace Redis by an empty server, or by one with the copy of the last `save`."""
        self.redis.kill()
        if with_copy and (self.folder / SAVED).exists():
            shutil.copy(self.folder / SAVED, self.folder / DUMP)
        self.redis.start()
        (self.folder / DUMP).unlink(missing_ok=True)

    def restart_postgres(self) -> None:
        self.postgres.stop()
        self.postgres.start()


@contextmanager
def running_engines(folder: Path) -> Iterator[Engines]:
    """Start PostgreSQL and Redis. Skips the test if one is not installed, but fails in CI."""
    if not COMMAND:
        reason = "redis-server is not installed"
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(reason)
    own = folder / "redis"
    own.mkdir()
    redis = RedisServer(own)
    with running_server() as postgres:
        try:
            redis.start()
            yield Engines(
                postgres=postgres,
                redis=redis,
                folder=own,
                database=postgres.new_database().url.get_secret_value(),
            )
        finally:
            redis.kill()


HOST = "127.0.0.1"
_CHUNK = 65536
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


@dataclass(kw_only=True)
class Proxy:
    """A loopback port that forwards to another loopback port."""

    target: int
    port: int = 0
    refuses: bool = False
    _passes: asyncio.Event = field(default_factory=asyncio.Event)
    _links: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def hang(self) -> None:
        self._passes.clear()

    def heal(self) -> None:
        """Pass all data again."""
        self.refuses = False
        self._passes.set()

    def cut(self) -> int:
        """Reset all connections. Returns their number."""
        links = [*self._links]
        for link in links:
            _reset(link)
        return len(links) // 2

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection until one side closes it."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Reset all connections, and wait until they have ended."""
        self.heal()
        self.cut()
        await asyncio.gather(*self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            _reset(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, self.target)
        except OSError:
            _reset(writer)
            return
        ends = {writer, far_writer}
        self._links |= ends
        ways = [
            asyncio.create_task(self._carry(reader, far_writer)),
            asyncio.create_task(self._carry(far_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links -= ends
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for end in ends:
                end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def proxied(target: int) -> AsyncIterator[Proxy]:
    """Run a proxy in front of a port during the block."""
    proxy = Proxy(target=target)
    proxy.heal()
    server = await asyncio.start_server(proxy.serve, HOST, 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.aclose()
        await server.wait_closed()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST, as a firewall does for a dead machine."""
    taken = writer.get_extra_info("socket")
    if taken is not None:
        with suppress(OSError):
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
    writer.transport.abort()
