"""Redis, which may be gone at any moment: short waits, and a state that says whether to ask it.

Rules
- An error of any kind, and an answer that takes too long, make the store unavailable. Then all but
  `probe` fails at once, until `returned` is called.
- A command whose answer did not come may be carried out, even much later.
- The URL may hold a password: log and errors have no more than the type of Redis's error.
- Everything in Redis may be lost, and nothing read from it is trusted further than that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from gateway.telemetry.events import store_changed

TIMEOUT_SECONDS = 0.25
MAX_CONNECTIONS = 16

Argument = str | int | float | bytes


class StoreUnavailable(Exception):
    """Redis does not answer, or not in time; what was asked may have been done."""


class Store:
    """Runs scripts in Redis; `changed` is called when it becomes unavailable, or returns."""

    def __init__(
        self,
        client: Redis,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        changed: Callable[[str | None], None] = store_changed,
    ) -> None:
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._changed = changed
        self._scripts: dict[str, AsyncScript] = {}
        self.is_available = False
        self.lost: Callable[[], None] = lambda: None
        """Called when it becomes unavailable."""

    async def run(self, script: str, keys: Sequence[str], *arguments: Argument) -> Any:
        """The script's answer. Raises StoreUnavailable."""
        if not self.is_available:
            raise StoreUnavailable
        return await self.probe(script, keys, *arguments)

    async def probe(self, script: str, keys: Sequence[str], *arguments: Argument) -> Any:
        """The script's answer, from an unavailable store too. Raises StoreUnavailable."""
        if script not in self._scripts:
            self._scripts[script] = self._client.register_script(script)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._scripts[script](keys, arguments)
        except (RedisError, OSError, TimeoutError) as error:
            self._lose(error)
            raise StoreUnavailable from error

    def returned(self) -> None:
        """Note that everything may be asked again."""
        if not self.is_available:
            self.is_available = True
            self._changed(None)

    def _lose(self, error: Exception) -> None:
        if self.is_available:
            self.is_available = False
            self._changed(type(error).__name__)
            self.lost()


@asynccontextmanager
async def open_store(url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> AsyncIterator[Store]:
    """A store that is taken for unavailable until `returned`; Redis need not be there."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=timeout_seconds,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )
    client = Redis.from_pool(pool)
    try:
        yield Store(client, timeout_seconds=timeout_seconds)
    finally:
        await client.aclose()
