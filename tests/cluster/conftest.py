"""Fixtures for tests with Redis."""

import os
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from tests.cluster.peers import Office
from tests.cluster.redis_server import COMMAND, REQUIRED, RedisServer
from tests.postgres import PostgresServer


@pytest.fixture(scope="session")
def any_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One Redis server for each pytest process."""
    if not COMMAND:
        if os.environ.get(REQUIRED):
            pytest.fail(f"redis-server is not installed, and {REQUIRED} is set")
        pytest.skip("redis-server is not installed")
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def redis(any_redis: RedisServer) -> AsyncIterator[Redis]:
    """Client of an empty server."""
    client = Redis.from_url(any_redis.url, decode_responses=True, encoding_errors="replace")
    await client.flushall()
    await client.config_set("maxmemory", 0)
    yield client
    await client.aclose()


@pytest.fixture
def server(any_redis: RedisServer) -> RedisServer:
    """A running, empty server that the test can stop."""
    any_redis.restart()
    return any_redis


@pytest.fixture
async def office(server: RedisServer, postgres: PostgresServer) -> AsyncIterator[Office]:
    """Three processes that share a database, an empty Redis, and the worksheet `Cities`."""
    async with Office(postgres, server).opened() as opened:
        yield opened
