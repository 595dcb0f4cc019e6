"""Closing a connection during an answer, for which ASGI has no message.

Rules: only this module knows uvicorn internals: `receive` is a method of the request's cycle, which
has the `transport`. Without a transport (a test client in the same process) closing raises.
"""

from typing import Protocol, runtime_checkable

from starlette.types import Receive


@runtime_checkable
class Transport(Protocol):
    """A connection; uvloop's transports do not inherit from asyncio's."""

    def close(self) -> None:
        """Close after sending the buffered data."""


async def close_connection(receive: Receive) -> None:
    """Close the client's connection after the data sent so far, and wait until it is closed.

    Raises ConnectionAbortedError if there is no connection.
    """
    cycle = getattr(receive, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if not isinstance(transport, Transport):
        raise ConnectionAbortedError("the emulator drops this connection")
    transport.close()
    message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
