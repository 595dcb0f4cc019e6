"""Connection to Redis with short timeouts, and a flag that shows whether Redis is available.

Rules
- Any error or timeout makes the store unavailable. Then all calls except `probe` fail at once,
  until `returned` is called.
- Redis might execute a command that it did not answer, even much later.
- The URL can contain a password. So the log and exceptions contain only the reason of a failure,
  never the text of an error.
- An outage is logged once for each reason, also at the first connection.
- Redis can lose or damage data at any time, and callers must work without it.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError
from redis.maint_notifications import MaintNotificationsConfig

from gateway.cluster.stored_values import READ
from gateway.settings.model import ConfigError
from gateway.telemetry.events import store_changed

TIMEOUT_SECONDS = 0.25
MAX_CONNECTIONS = 32
_FILE_OPTIONS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}
"""URL options that name files. The library reports a missing file as a refused connection."""

Argument = str | int | float | bytes


class StoreFault(StrEnum):
    """Reason of an outage. The value is the `error` of the log line."""

    REFUSED = "connection refused"
    UNKNOWN_HOST = "unknown host"
    TIMEOUT = "no answer in time"
    PASSWORD = "wrong or missing password"  # noqa: S105 - a reason, not a secret
    NO_RIGHTS = "user lacks rights"
    NOT_REDIS = "not a Redis server"
    TLS = "TLS failed"
    NO_DATABASE = "no database of this number"
    READ_ONLY = "read-only replica"
    FULL = "memory is full"
    CANNOT_SAVE = "cannot save to its disk"
    TOO_MANY_CLIENTS = "too many clients"
    LOADING = "still loading"
    CLOSED = "connection closed"
    OTHER = "unexpected error"


_CAUSES: Sequence[tuple[type[BaseException] | tuple[type[BaseException], ...], StoreFault]] = (
    (ssl.SSLError, StoreFault.TLS),
    (socket.gaierror, StoreFault.UNKNOWN_HOST),
    ((ConnectionRefusedError, FileNotFoundError), StoreFault.REFUSED),
)
"""Reason by exception of the operating system, which the library wraps."""

_ERRORS: Sequence[tuple[type[Exception] | tuple[type[Exception], ...], str, StoreFault]] = (
    (exceptions.AuthenticationError, "", StoreFault.PASSWORD),
    (exceptions.NoPermissionError, "", StoreFault.NO_RIGHTS),
    (exceptions.ResponseError, "can't run this command", StoreFault.NO_RIGHTS),  # within a script
    (exceptions.InvalidResponse, "", StoreFault.NOT_REDIS),
    (exceptions.ReadOnlyError, "", StoreFault.READ_ONLY),
    (exceptions.OutOfMemoryError, "", StoreFault.FULL),
    (exceptions.BusyLoadingError, "", StoreFault.LOADING),
    (exceptions.ResponseError, "MISCONF", StoreFault.CANNOT_SAVE),
    (exceptions.ResponseError, "DB index", StoreFault.NO_DATABASE),
    (exceptions.ConnectionError, "max number of clients", StoreFault.TOO_MANY_CLIENTS),
    ((TimeoutError, exceptions.TimeoutError), "", StoreFault.TIMEOUT),
    # asyncio joins the errors of a name with several addresses, such as localhost, in a text.
    ((exceptions.ConnectionError, OSError), f"[Errno {errno.ECONNREFUSED}]", StoreFault.REFUSED),
    # uvloop raises RuntimeError for a connection that was cut.
    ((exceptions.ConnectionError, OSError, RuntimeError), "", StoreFault.CLOSED),
)
"""Reason by the library's exception and a part of its text. The first match counts."""


def fault_of(error: BaseException) -> StoreFault:
    for kind, fault in _CAUSES:
        if isinstance(error, kind) or isinstance(error.__context__, kind):
            return fault
    for kind, words, fault in _ERRORS:
        if isinstance(error, kind) and words in str(error):
            return fault
    return StoreFault.OTHER


class StoreUnavailable(Exception):
    """Redis failed or did not answer in time, but might have executed the command."""


class Store:
    """Runs Lua scripts in Redis.

    Calls `changed` with the reason of an outage, and with None when Redis is available again.
    """

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
        self._faults: set[StoreFault] = set()
        """Logged reasons of the current outage."""
        self.lost: Callable[[], None] = lambda: None
        """Function that this object calls when Redis becomes unavailable."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, script: str, keys: Sequence[str], *arguments: Argument) -> Any:
        """Run a Lua script, and return its answer, in which strings are bytes.

        Scripts can use the Lua functions of `stored_values.READ`. Raises StoreUnavailable.
        """
        if not self.is_available:
            raise StoreUnavailable
        return await self.probe(script, keys, *arguments)

    async def probe(self, script: str, keys: Sequence[str], *arguments: Argument) -> Any:
        """Run a script like `run`, even if the store is unavailable."""
        if script not in self._scripts:
            self._scripts[script] = self._client.register_script(READ + script)
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        try:  # uvloop raises RuntimeError for a connection that was cut
            async with asyncio.timeout(self._timeout_seconds):
                answer = await self._scripts[script](keys, arguments)
        except (RedisError, OSError, TimeoutError, RuntimeError) as error:
            self._lose(error)
            _raise_if_cancelled(task, cancelled)
            raise StoreUnavailable from error
        _raise_if_cancelled(task, cancelled)
        return answer

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Run a coroutine in a background task without the request's context. Ignores an outage."""

        async def done() -> None:
            with suppress(StoreUnavailable):
                await work

        task = asyncio.get_running_loop().create_task(done(), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Wait for all coroutines of `start`, which end soon because of their timeouts."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def returned(self) -> None:
        """Mark the store as available."""
        if not self.is_available:
            self.is_available = True
            self._faults.clear()
            self._changed(None)

    def _lose(self, error: Exception) -> None:
        fault = fault_of(error)
        if fault not in self._faults:
            self._faults.add(fault)
            self._changed(type(error).__name__ if fault is StoreFault.OTHER else fault.value)
        if self.is_available:
            self.is_available = False
            self.lost()


def _raise_if_cancelled(task: "asyncio.Task[Any] | None", before: int) -> None:
    """Raise CancelledError after more than `before` cancellations. Python 3.11 can lose one."""
    if task and task.cancelling() > before:
        raise asyncio.CancelledError


def check_url(url: str) -> None:
    """Raise ConfigError for a URL that the library does not accept. Does not connect.

    Also raises ConfigError if an option of the URL names a file that does not exist.
    """
    options = parse_qs(urlsplit(url).query)
    for name in sorted(_FILE_OPTIONS & options.keys()):
        if not Path(options[name][0]).is_file():
            raise ConfigError(f"cluster.redis: the file of the option {name} does not exist")
    try:
        pool: Any = _pool(url, TIMEOUT_SECONDS)
        pool.make_connection()
    except (TypeError, ValueError, RedisError):
        pass
    else:
        return
    # Outside the `except` block, because the context of the error can contain the password.
    raise ConfigError(
        'cluster.redis: an option after "?" is unknown, or has an invalid value. Write a "?" in '
        'the password as "%3F"'
    )


@asynccontextmanager
async def repeated(work: Callable[[], Awaitable[object]], seconds: float) -> AsyncIterator[None]:
    """Call `work` every `seconds` in a task during the block, for the first time after `seconds`.

    If `work` raises an error, the calls end. The block does not get this error.
    """

    async def repeat() -> None:
        while True:
            await asyncio.sleep(seconds)
            await work()

    repeating = asyncio.create_task(repeat())
    try:
        yield
    finally:
        repeating.cancel()
        await asyncio.gather(repeating, return_exceptions=True)


@asynccontextmanager
async def open_store(
    url: str,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    changed: Callable[[str | None], None] = store_changed,
) -> AsyncIterator[Store]:
    """Open a store for this URL. It counts as unavailable until `Store.returned` is called."""
    client = Redis.from_pool(_pool(url, timeout_seconds))
    try:
        yield Store(client, timeout_seconds=timeout_seconds, changed=changed)
    finally:
        await client.aclose()


def _pool(url: str, timeout_seconds: float) -> BlockingConnectionPool:
    return BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=timeout_seconds,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        encoding_errors="replace",  # a title can be any text
        # With retries the library would not replace idle connections that the server has closed.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
