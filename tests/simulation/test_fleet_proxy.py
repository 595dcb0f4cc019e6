"""The proxy before PostgreSQL or Redis carries, cuts, refuses or delays connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.simulation.fleet.engines import HOST, Proxy, proxied


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(100):
            writer.write(data)
    writer.close()


@asynccontextmanager
async def before_an_echo() -> AsyncIterator[Proxy]:
    """Yield a proxy in front of an echo server."""
    server = await asyncio.start_server(_echo, HOST, 0)
    async with proxied(server.sockets[0].getsockname()[1]) as proxy:
        yield proxy
    server.close()
    await server.wait_closed()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"x")
    return await asyncio.wait_for(reader.readexactly(1), 0.3)


async def test_the_proxy_carries_both_directions() -> None:
    """The proxy carries bytes in both directions."""
    async with before_an_echo() as proxy:
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        heard = await ask(reader, writer)
        writer.close()

    assert heard == b"x"


async def test_the_proxy_cuts_connections() -> None:
    """`cut` resets open connections; new connections work."""
    async with before_an_echo() as proxy:
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        await ask(reader, writer)
        count = proxy.cut()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await ask(reader, writer)
        writer.close()
        again = await asyncio.open_connection(HOST, proxy.port)
        heard = await ask(*again)
        again[1].close()

    assert count == 1
    assert heard == b"x"


async def test_the_proxy_refuses_connections() -> None:
    """While `refuses` is set, the proxy resets each new connection."""
    async with before_an_echo() as proxy:
        proxy.refuses = True
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await ask(*await asyncio.open_connection(HOST, proxy.port))
        proxy.heal()
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        heard = await ask(reader, writer)
        writer.close()

    assert heard == b"x"


async def test_the_proxy_hangs() -> None:
    """After `hang` no bytes pass; after `heal` all held bytes pass."""
    async with before_an_echo() as proxy:
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        proxy.hang()
        with pytest.raises(TimeoutError):
            await ask(reader, writer)
        proxy.heal()
        heard = await asyncio.wait_for(reader.readexactly(1), 1.0)
        writer.close()

    assert heard == b"x"
