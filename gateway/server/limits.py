"""Limits and state that all connections of a server share, and errors above the limits.

Rules of pipelined requests:
- A client can send several requests at once. If each connection began its next request right after
  an answer, an iteration of the event loop would take as long as one request of every such
  connection, and would delay all other clients.
- So these connections wait in a queue to begin one request each. A few of these requests begin in
  each iteration. Requests that arrive separately do not wait.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

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
"""Maximum bytes of a read, and maximum unparsed bytes per connection (about 30 requests)."""
DRAIN_SECONDS = 2.0
"""Seconds that a connection without a request stays open after the server begins to stop."""
LINGER_SECONDS = 2.0
"""Seconds to wait after the last answer until the client closes the connection.

An immediate close could reset the connection before the client has read the answer.
"""
MAX_REFUSED = 64
"""Maximum number of connections over a limit that get an error answer at the same time.

A connection needs a file descriptor until the client has read the answer. Further connections are
closed without an answer, so that calls to Google have free descriptors.
"""

PER_TURN = 16
"""Maximum number of pipelined requests that begin in one iteration of the event loop."""


class Pipelines:
    """Queue of connections that wait to begin their next pipelined request."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[Any, None] = OrderedDict()
        """Connections as dictionary keys, in the order of the queue."""
        self._is_scheduled = False

    def add(self, connection: Any) -> None:  # a Connection, which imports this
        """Queue a connection, once, to parse the bytes of its next request."""
        self.waiting[connection] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(min(PER_TURN, len(self.waiting))):
            connection, _ = self.waiting.popitem(last=False)
            loop.call_soon(connection.buffer_updated, 0)  # an error does not stop others
        self._is_scheduled = bool(self.waiting)
        if self._is_scheduled:
            loop.call_soon(self._begin)


class Edge:
    """Settings and state that the connections of one server share. `proxies` are trusted."""

    def __init__(self, settings: ServerSettings, proxies: Sequence[Proxy] = ()) -> None:
        self.settings = settings
        self.refusing_app = Frame(_raise_refusal, settings)
        """ASGI application that answers with the error `scope[ERROR]`."""
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
        """Read buffer of all connections. The bytes of a read are copied before the next read."""
        self.unread = UnreadAnswers(self.sweeper, settings.answer_timeout_seconds)
        self.pipelines = Pipelines()
        self.acceptor: Acceptor | None = None
        self.is_draining = False


ERROR = "gateway.refusal"
"""Key of the error in the ASGI scope of a refused request."""
_KEPT_HEADERS = frozenset({b"accept", b"origin", b"x-request-id"})
_MAX_PATH_LENGTH = 200
_URL_ERRORS = (httptools.HttpParserInvalidURLError, UnicodeDecodeError)


def refusal_scope(
    error: GatewayError, *, method: str, url: bytes, headers: Iterable[tuple[bytes, bytes]]
) -> Scope:
    """Return the ASGI scope of a refused request for `Edge.refusing_app`.

    `url` and `headers` are the parts that have arrived, with lower-case names of headers. The scope
    has no query string, because it might contain an API key. If no Origin header has arrived, pages
    of all origins can read the answer.
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
    """Translate an error of the parser into the error that the client gets.

    If a callback in `Connection` raised a GatewayError, returns this error. Raises other errors of
    callbacks, which are bugs.
    """
    cause = error.__context__
    if isinstance(cause, GatewayError):
        return cause.with_traceback(None)  # the traceback references all received bytes
    if isinstance(error, _URL_ERRORS) or isinstance(cause, _URL_ERRORS):
        return InvalidPath(
            "The path is invalid. Percent-encode everything but visible ASCII characters."
        )
    if cause is not None:
        raise cause  # a bug of ours, not the client's error
    return InvalidRequest(f"The request is not valid HTTP/1.1: {error}.")


def too_many_connections() -> QueueFull:
    message = (
        "Too many connections are open, from your address or in total. Close some connections, "
        "or retry later."
    )
    return QueueFull(message, retry_after_seconds=5)


async def _raise_refusal(request: Request) -> NoReturn:
    error: GatewayError = request.scope[ERROR]
    raise error
