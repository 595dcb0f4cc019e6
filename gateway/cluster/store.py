"""Redis, which may be gone at any moment: short waits, and a state that says whether to ask it.

Rules
- An error of any kind, and an answer that takes too long, make the store unavailable. Then all but
  `probe` fails at once, until `returned` is called.
- A command whose answer did not come may be carried out, even much later.
- The URL may hold a password: log and errors have no more than the reason of a failure, never the
  text of an error.
- An outage is reported once for each reason, the first contact included.
- Everything in Redis may be lost, and nothing read from it is trusted further than that.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
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

from gateway.settings.model import ConfigError
from gateway.telemetry.events import store_changed

TIMEOUT_SECONDS = 0.25
MAX_CONNECTIONS = 16
_FILE_OPTIONS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}
"""Options of the URL; the error of a missing file looks as if nothing listened."""

Argument = str | int | float | bytes


class StoreFault(StrEnum):
    """A reason; its value is the `error` of the log."""

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
"""Errors of the system, which the library wraps."""

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
"""Errors of the library, with a part of their text; the first that fits counts."""


def fault_of(error: BaseException) -> StoreFault:
    for kind, fault in _CAUSES:
        if isinstance(error, kind) or isinstance(error.__context__, kind):
            return fault
    for kind, words, fault in _ERRORS:
        if isinstance(error, kind) and words in str(error):
            return fault
    return StoreFault.OTHER


class StoreUnavailable(Exception):
    """Redis does not answer, or not in time; what was asked may have been done."""


class Store:
    """Runs scripts in Redis.

    `changed` is called with the reason when it is unavailable, and with None when it is there.
    """

    def __init__(
        self,
        client: Redis,
        raw_client: Redis | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        changed: Callable[[str | None], None] = store_changed,
    ) -> None:
        self._clients = {False: client, True: raw_client or client}
        self._timeout_seconds = timeout_seconds
        self._changed = changed
        self._scripts: dict[tuple[str, bool], AsyncScript] = {}
        self.is_available = False
        self._faults: set[StoreFault] = set()
        """Reasons of the present outage, as reported."""
        self.lost: Callable[[], None] = lambda: None
        """Called when it becomes unavailable."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(
        self, script: str, keys: Sequence[str], *arguments: Argument, is_raw: bool = False
    ) -> Any:
        """The script's answer; its texts are bytes if it `is_raw`. Raises StoreUnavailable."""
        if not self.is_available:
            raise StoreUnavailable
        return await self.probe(script, keys, *arguments, is_raw=is_raw)

    async def probe(
        self, script: str, keys: Sequence[str], *arguments: Argument, is_raw: bool = False
    ) -> Any:
        """The script's answer, from an unavailable store too. Raises StoreUnavailable."""
        if (script, is_raw) not in self._scripts:
            self._scripts[script, is_raw] = self._clients[is_raw].register_script(script)
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        try:  # uvloop raises RuntimeError for a connection that was cut
            async with asyncio.timeout(self._timeout_seconds):
                answer = await self._scripts[script, is_raw](keys, arguments)
        except (RedisError, OSError, TimeoutError, RuntimeError) as error:
            self._lose(error)
            _raise_if_cancelled(task, cancelled)
            raise StoreUnavailable from error
        _raise_if_cancelled(task, cancelled)
        return answer

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something that no request waits for, and that may be lost, in no request's context."""

        async def done() -> None:
            with suppress(StoreUnavailable):
                await work

        task = asyncio.get_running_loop().create_task(done(), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Wait for what was started: Redis answers soon, or is given up."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def returned(self) -> None:
        """Note that everything may be asked again."""
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
    """Raise CancelledError if the task was cancelled since; Python 3.11's `wait_for` loses it."""
    if task and task.cancelling() > before:
        raise asyncio.CancelledError


def check_url(url: str) -> None:
    """Raise ConfigError for options that the library does not take; connects to nothing."""
    options = parse_qs(urlsplit(url).query)
    for name in sorted(_FILE_OPTIONS & options.keys()):
        if not Path(options[name][0]).is_file():
            raise ConfigError(f"cluster.redis: the file of {name} is not there")
    try:
        pool: Any = _pool(url, TIMEOUT_SECONDS, has_texts=True)
        pool.make_connection()
    except (TypeError, ValueError, RedisError):
        pass
    else:
        return
    # Outside the handler: the error's context may contain the password.
    raise ConfigError(
        "cluster.redis: an option after the ? is unknown, or has an invalid value. Percent-"
        "encode a ? that belongs to the password, as %3F"
    )


@asynccontextmanager
async def open_store(
    url: str,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    changed: Callable[[str | None], None] = store_changed,
) -> AsyncIterator[Store]:
    """A store that is taken for unavailable until `returned`; Redis need not be there."""
    client, raw_client = (
        Redis.from_pool(_pool(url, timeout_seconds, has_texts=has_texts))
        for has_texts in (True, False)
    )
    try:
        yield Store(client, raw_client, timeout_seconds=timeout_seconds, changed=changed)
    finally:
        await client.aclose()
        await raw_client.aclose()


def _pool(url: str, timeout_seconds: float, *, has_texts: bool) -> BlockingConnectionPool:
    return BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=timeout_seconds,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        decode_responses=has_texts,
        encoding_errors="replace",  # anything may stand in Redis
        # With them the library would not replace idle connections that the server has closed.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )
