"""Limits and state shared by all connections of a server, and answers to what exceeds them.

Rules of pipelined requests, of which a few begin in each turn of the loop:
- A connection with a further request in its buffer could begin it right after each answer. Then a
  turn of the loop would take as long as a request of every such connection, and delay each step of
  all other clients by that time.
- So these connections queue, each for one request. Requests that arrive separately do not.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

import httptools
from starlette.types import Scope

from gateway.errors import GatewayError, InvalidPath, InvalidRequest, QueueFull
from gateway.server.accepting import Acceptor
from gateway.server.slots import Slots, Sweeper
from gateway.server.unread import UnreadAnswers
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings
from gateway.web.frame import Frame
from gateway.web.request import Request

READ_BYTES = 16_384
"""Maximum size of a read, and of one connection's unparsed bytes: some 30 usual requests."""
DRAIN_SECONDS = 2.0
"""Time for which a connection without a request stays readable after the stop begins."""
LINGER_SECONDS = 2.0
"""Time for which a refused client may keep sending, so that it reads its answer."""
MAX_REFUSED = 64
"""Maximum number of connections over a limit that get an error answer at the same time.

Each holds a descriptor until the client has read the answer. Further connections are cut off
without an answer, so that refusals leave descriptors for calls to Google.
"""

PER_TURN = 16
"""Maximum number of pipelined requests that begin in one turn of the loop."""


class Pipelines:
    """The connections of one server that wait to begin their next request."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Callable[[], None], None] = OrderedDict()
        self._is_scheduled = False

    def __contains__(self, begin: Callable[[], None]) -> bool:
        return begin in self._waiting

    def add(self, begin: Callable[[], None]) -> None:
        """Queue a connection to begin its request; a queued one is not added twice."""
        self._waiting[begin] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin)

    def discard(self, begin: Callable[[], None]) -> None:
        self._waiting.pop(begin, None)

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(min(PER_TURN, len(self._waiting))):
            begin, _ = self._waiting.popitem(last=False)
            loop.call_soon(begin)  # an error of one does not stop the others
        self._is_scheduled = bool(self._waiting)
        if self._is_scheduled:
            loop.call_soon(self._begin)


class Edge:
    """Settings and state of one server's connections."""

    def __init__(self, settings: ServerSettings, proxies: Sequence[Proxy] = ()) -> None:
        self.settings = settings
        self.refusing_app = Frame(_raise_refusal, settings)
        """Answers each scope with its error as an API error."""
        self.sweeper = Sweeper(
            min(
                settings.head_timeout_seconds,
                settings.body_timeout_seconds,
                settings.idle_timeout_seconds,
                settings.answer_timeout_seconds,
            )
        )
        self.slots = Slots(settings, proxies)
        self.buffer = memoryview(bytearray(READ_BYTES))
        """Read buffer shared by all connections."""
        self.unread = UnreadAnswers(self.sweeper, settings.answer_timeout_seconds)
        self.pipelines = Pipelines()
        self.acceptor: Acceptor | None = None
        self.is_draining = False


ERROR = "gateway.refusal"
"""Name of the error in the scope of a refused request."""
_KEPT_HEADERS = frozenset({b"accept", b"origin", b"x-request-id"})
_MAX_PATH_LENGTH = 200
_URL_ERRORS = (httptools.HttpParserInvalidURLError, UnicodeDecodeError)


def refusal_scope(
    error: GatewayError, *, method: str, url: bytes, headers: Iterable[tuple[bytes, bytes]]
) -> Scope:
    """The scope of a refused request, without its query, which may contain a key.

    Its Origin may not have arrived yet, so the answer allows any page.
    """
    kept = [(name, value) for name, value in headers if name in _KEPT_HEADERS]
    if not any(name == b"origin" for name, _ in kept):
        kept.append((b"origin", b"null"))
    path = url.partition(b"?")[0].partition(b"#")[0][:_MAX_PATH_LENGTH]
    raw_path = path if path.startswith(b"/") else b"/"
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "raw_path": raw_path,
        "query_string": b"",
        "headers": kept,
        "state": {},
        ERROR: error,
    }


def unreadable(error: httptools.HttpParserError) -> GatewayError:
    """The error for a request that the parser rejected, by its own rules or by our callbacks."""
    cause = error.__context__
    if isinstance(cause, GatewayError):
        return cause.with_traceback(None)  # its frames reference all received bytes
    if isinstance(error, _URL_ERRORS) or isinstance(cause, _URL_ERRORS):
        return InvalidPath(
            "The path is invalid. Percent-encode everything but visible ASCII characters."
        )
    if cause is not None:
        raise cause  # a bug of ours, not the client's error
    return InvalidRequest(f"This cannot be read as a request of HTTP/1.1: {error}.")


def too_many_connections() -> QueueFull:
    message = "Too many connections are open, from your address or in all."
    return QueueFull(message, retry_after_seconds=5)


async def _raise_refusal(request: Request) -> NoReturn:
    error: GatewayError = request.scope[ERROR]
    raise error
