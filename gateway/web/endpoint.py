"""Wrap a handler as an ASGI application."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.web.state import State

Handler = Callable[[Request[State]], Awaitable[Any]]
"""Gives the answer, itself an ASGI application."""


class Endpoint:
    """Spares a request what Starlette wraps functions in: a second catcher of errors.

    The first one stands around all routes, and knows what to make of them.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = await self._handle(Request(scope, receive, send))
        await answer(scope, receive, send)
