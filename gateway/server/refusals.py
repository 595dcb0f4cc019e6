"""Answers to requests that never reach the application."""

from collections.abc import Iterable
from typing import NoReturn

import httptools
from starlette.types import ASGIApp, Scope

from gateway.errors import GatewayError, InvalidPath, InvalidRequest, QueueFull
from gateway.settings.model import ServerSettings
from gateway.web.frame import Frame
from gateway.web.request import Request

ERROR = "gateway.refusal"
"""Name of the error in the scope of a refused request."""
_KEPT_HEADERS = frozenset({b"accept", b"origin", b"x-request-id"})
_MAX_PATH_LENGTH = 200
_URL_ERRORS = (httptools.HttpParserInvalidURLError, UnicodeDecodeError)


def refusing_app(settings: ServerSettings) -> ASGIApp:
    """An application that answers each scope with an error as an API error."""
    return Frame(_raise_refusal, settings)


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
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw_path.decode("latin-1"),
        "raw_path": raw_path,
        "query_string": b"",
        "root_path": "",
        "headers": kept,
        "server": None,
        "client": None,
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
