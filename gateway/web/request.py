"""The request, as the functions of this package pass it."""

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
    """An HTTP request, and the results of its routing and admission.

    `event.path` is the raw path without a slash at its end.
    """

    scope: Scope
    receive: Receive
    head: Head
    event: RequestEvent
    state: "State"
    cors: HeaderLines
    """CORS header lines of the answer."""
    title: str = ""
    """Raw path segment with the worksheet's name; "" if the path has none."""
    row: str = ""
    """Raw path segment with the row number; "" if the path has none."""
    lease: RateLease | None = None
    """Rate-limit lease of the key; None until admission."""
