"""Request in the web layer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from starlette.types import Receive, Scope

from gateway.access.rates import RateLease
from gateway.telemetry.events import RequestEvent
from gateway.web.head import Head

if TYPE_CHECKING:
    from gateway.web.state import State

HeaderLines = Sequence[tuple[bytes, bytes]]


class Request(msgspec.Struct):
    """The head of a request, and the results of its steps so far.

    `event.path` is the raw path without a last slash.
    """

    scope: Scope
    receive: Receive
    head: Head
    event: RequestEvent
    state: "State"
    cors: HeaderLines
    """CORS lines of the answer."""
    title: str = ""
    """Raw path segment of the worksheet, "" on other paths."""
    row: str = ""
    """Raw path segment of the row, "" on other paths."""
    lease: RateLease | None = None
    """Rate-limit lease, set at admission."""
