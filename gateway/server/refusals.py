"""Answers to requests that never reach the application."""

from collections.abc import Iterable

import httptools
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import (
    BodyTooLarge,
    GatewayError,
    HeadersTooLarge,
    InvalidPath,
    InvalidRequest,
    MethodNotAllowed,
    QueueFull,
    RequestTimeout,
    UriTooLong,
)
from gateway.settings.model import ServerSettings
from gateway.web.routes import middleware

_ERROR = "gateway.refusal"
_TOLD = frozenset({b"accept", b"origin", b"x-request-id"})
_LONGEST_PATH = 200
_METHODS = ("GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_URL_ERRORS = (httptools.HttpParserInvalidURLError, UnicodeDecodeError)


def refusing_app(settings: ServerSettings) -> ASGIApp:
    """An application that answers every scope of `refusal_scope` as the gateway answers errors."""
    app: ASGIApp = _raise_refusal
    for each in reversed(middleware(settings)):
        app = each.cls(app, *each.args, **each.kwargs)
    return app


def refusal_scope(
    error: GatewayError, *, method: str, url: bytes, headers: Iterable[tuple[bytes, bytes]]
) -> Scope:
    """A request that is refused with this error, as much as is known of it; no query, as keys are.

    A page may have sent it though its Origin has not been read: the answer is open to pages.
    """
    told = [(name, value) for name, value in headers if name in _TOLD]
    if not any(name == b"origin" for name, _ in told):
        told.append((b"origin", b"null"))
    path = url.partition(b"?")[0].partition(b"#")[0][:_LONGEST_PATH]
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
        "headers": told,
        "server": None,
        "client": None,
        "state": {},
        _ERROR: error,
    }


def refuse_scope(scope: Scope, error: GatewayError) -> None:
    """Have a request that was read refused with this error."""
    scope[_ERROR] = error


def unreadable(error: httptools.HttpParserError) -> GatewayError:
    """What a client is told when the parser stopped, for its own reason or for one of ours."""
    cause = error.__context__
    if isinstance(cause, GatewayError):
        return cause.with_traceback(None)  # whose frames hold all that came
    if isinstance(error, _URL_ERRORS) or isinstance(cause, _URL_ERRORS):
        return InvalidPath("The path is not one of HTTP: percent-encode all but visible ASCII.")
    if cause is not None:
        raise cause  # a fault of ours, not the client's
    return InvalidRequest(f"This cannot be read as a request of HTTP/1.1: {error}.")


def head_too_large(settings: ServerSettings, url: bytes) -> GatewayError:
    """The URL alone can be what is too long."""
    if len(url) > settings.max_url_bytes:
        return UriTooLong(f"The URL is longer than {settings.max_url_bytes} bytes.")
    return HeadersTooLarge(f"The headers are longer than {settings.max_head_bytes} bytes.")


def too_many_lines(most: int) -> HeadersTooLarge:
    return HeadersTooLarge(f"The request has more than {most} header lines.")


def chunks_too_large(settings: ServerSettings) -> BodyTooLarge:
    return BodyTooLarge(
        f"With what is around its chunks, the body is far larger than {settings.max_body_bytes} "
        "bytes. Send fewer chunks, and larger ones."
    )


def head_too_slow() -> RequestTimeout:
    return RequestTimeout("The head of the request did not arrive in time.")


def body_too_slow() -> RequestTimeout:
    return RequestTimeout("The body did not arrive in time.")


def no_tunnel() -> MethodNotAllowed:
    return MethodNotAllowed(
        f"CONNECT is not an operation here; allowed: {', '.join(_METHODS)}.",
        allowed_methods=_METHODS,
    )


def too_many_connections() -> QueueFull:
    message = "Too many connections are open, from your address or from all together."
    return QueueFull(message, retry_after_seconds=5)


async def _raise_refusal(scope: Scope, receive: Receive, send: Send) -> None:
    error: GatewayError = scope[_ERROR]
    raise error
