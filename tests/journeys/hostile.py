"""An emulator that can send answers no Sheets API sends: compression bombs, stalls, nonsense."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.conftest import KEY_BITS, EmulatorControl, client_of
from tests.journeys.workbook import write_seed

Trick = Callable[[Receive, Send], Awaitable[None]]
CALLS = "/v4/"
DRIP_SECONDS = 0.05
_START = b'{"range":"Cities!A1:D11","majorDimension":"COLUMNS","values":['


def start_of(length: int) -> bytes:
    """The first bytes of an answer that might continue."""
    return (_START + b'["name"' + b',"x"' * length)[:length]


def packed(unit: bytes, size: int) -> bytes:
    """A compressed answer of this size that repeats the unit in its columns."""
    return gzip.compress(_START + unit * (size // len(unit)) + b"[]]}", compresslevel=6)


def answering(body: bytes, headers: Mapping[str, str] | None = None) -> Trick:
    """This body, with the status 200."""

    async def answer(_: Receive, send: Send) -> None:
        await _begin(send, headers or {})
        await send({"type": "http.response.body", "body": body})

    return answer


def stalling(start: bytes) -> Trick:
    """The start of an answer, then nothing until the client is gone."""

    async def answer(receive: Receive, send: Send) -> None:
        await _begin(send, {"content-length": "1000000"})
        await send({"type": "http.response.body", "body": start, "more_body": True})
        await _sent_at(receive)

    return answer


def dripping(start: bytes) -> Trick:
    """The start of an answer, then blanks one by one until the client leaves."""

    async def answer(receive: Receive, send: Send) -> None:
        await _begin(send, {})
        gone = asyncio.ensure_future(_sent_at(receive))
        await send({"type": "http.response.body", "body": start, "more_body": True})
        while not (await asyncio.wait([gone], timeout=DRIP_SECONDS))[0]:
            await send({"type": "http.response.body", "body": b" ", "more_body": True})

    return answer


@dataclass(kw_only=True)
class Hostile:
    """The emulator's application, with `trick` in place of its answers to Sheets calls."""

    app: ASGIApp
    trick: Trick | None = None
    peers: list[tuple[str, int]] = field(default_factory=list)
    """Address and port of the client of each call that got the trick."""
    ended: int = 0
    """Number of calls with the trick that ended, by an answer or because the client left."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_call = scope["type"] == "http" and scope["path"].startswith(CALLS)
        if self.trick is None or not is_call:
            await self.app(scope, receive, send)
            return
        self.peers.append(tuple(scope["client"]))
        try:
            await self.trick(receive, send)
        finally:
            self.ended += 1


@contextmanager
def running_hostile(folder: Path) -> Iterator[tuple[EmulatorControl, Hostile]]:
    """An emulator with the workbook of the journeys, and the `Hostile` application around it."""
    write_seed(folder / "seed")
    emulator = create_emulator(EmulatorOptions(seed=folder / "seed", key_bits=KEY_BITS))
    hostile = Hostile(app=emulator.app)
    listening = bind("127.0.0.1", 0)
    credentials = folder / "service-account.json"
    emulator.write_credentials(credentials, base_url(listening))
    with (
        in_background(make_server(hostile, shutdown_seconds=1), listening) as url,
        client_of(url) as client,
    ):
        yield EmulatorControl(url=url, credentials=credentials, client=client), hostile


async def _begin(send: Send, headers: Mapping[str, str]) -> None:
    given: Sequence[tuple[bytes, bytes]] = [
        (name.encode(), value.encode())
        for name, value in {"content-type": "application/json", **headers}.items()
    ]
    await send({"type": "http.response.start", "status": 200, "headers": given})


async def _sent_at(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
