"""The engines that processes share, PostgreSQL and Redis: real servers that can be restarted."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis

from tests.cluster.redis_server import COMMAND, REQUIRED, RedisServer
from tests.postgres import PostgresServer, running_server

DUMP = "dump.rdb"
"""The file that Redis reads at its start if it is in its folder."""
SAVED = "saved.rdb"


@dataclass(frozen=True, kw_only=True)
class Engines:
    """Both servers, and the database of the gateways."""

    postgres: PostgresServer
    redis: RedisServer
    folder: Path
    """Redis's."""
    database: str
    """The URL of a migrated database."""

    def flush(self) -> None:
        with Redis.from_url(self.redis.url) as client:
            client.flushall()

    def save(self) -> None:
        """Keep a copy of what Redis knows now."""
        with Redis.from_url(self.redis.url) as client:
            client.save()
        (self.folder / DUMP).replace(self.folder / SAVED)

    def restart_redis(self, *, with_copy: bool = False) -> None:
        """Replace Redis by an empty one, or by one with the copy of the last `save`."""
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
    """Start both; skip the test where one is not installed, but not in CI."""
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
