"""Closing a connection in the middle of things, which ASGI has no message for.

Rules
- All that is known of uvicorn's inside is here: `receive` is a method of the request's cycle, and
  the cycle has the `transport`. Without one (a test client in the same process) closing raises.
"""

from typing import Protocol, runtime_checkable

from starlette.types import Receive


@runtime_checkable
class Transport(Protocol):
    """A connection; uvloop's transports are not asyncio's by inheritance."""

    def close(self) -> None:
        """Send what is buffered, then close."""


async def close_connection(receive: Receive) -> None:
    """Close the client's connection after what was sent so far, and wait until it is closed.

    Raises ConnectionAbortedError where the server has no connection to close.
    """
    cycle = getattr(receive, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if not isinstance(transport, Transport):
        raise ConnectionAbortedError("the emulator drops this connection")
    transport.close()
    message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
