"""Closing a connection during an answer, for which ASGI has no message.

Rules:
- Only this module knows uvicorn's internals: `receive` is a method of the request's cycle, which
  has the `transport`.
- Without a transport, as in a test client in the same process, closing raises.
"""

from typing import Protocol, runtime_checkable

from starlette.types import Receive


@runtime_checkable
class Transport(Protocol):
    """A connection. The transports of uvloop do not inherit from the transports of asyncio."""

    def close(self) -> None:
        """Close the connection after the buffered data was sent."""


async def close_connection(receive: Receive) -> None:
    """Close the client's connection after the data sent so far, and wait for the end.

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
