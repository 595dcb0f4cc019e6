"""Raw bytes that are sent to a connection with a manual clock, and their recorded outcomes.

`python -m tests.server.streams COUNT FILE` writes streams and outcomes in the format of
`streams.jsonl`.
"""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from random import Random
from typing import TextIO

from starlette.types import Receive, Scope, Send

from gateway.errors import GatewayError
from gateway.server.connection import Connection
from gateway.server.limits import Edge
from gateway.server.running import GatewayServer
from gateway.settings.model import ServerSettings
from tests.fuzz.pipelines import any_pipeline
from tests.server.transport import Held, receive

SETTINGS = ServerSettings(
    max_head_bytes=300,
    max_body_bytes=20_000,
    head_timeout_seconds=10.0,
    body_timeout_seconds=20.0,
    idle_timeout_seconds=30.0,
)
STEP_SECONDS = 0.5
MOST_STEPS = 100
STEPS = 40
"""Number of event loop iterations in which four requests are answered."""
_ANSWER = re.compile(rb"HTTP/1\.1 (\d{3}) .*?\r\n\r\n", re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """Statuses in order, byte counts of the echoed bodies, kind of the connection's end, and
    seconds until this end.
    """

    statuses: Sequence[int]
    echoed: Sequence[int]
    end: str
    seconds: float


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the method and the body after the whole body has arrived."""
    body, status, is_whole = scope["method"].encode(), 200, False
    try:
        while not is_whole:
            message = await receive()
            body += message.get("body", b"")
            is_whole = not message.get("more_body")
    except GatewayError as error:
        body, status = b"", error.status
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


async def played(parts: Sequence[bytes], *, ends: bool = False) -> Outcome:
    """Send each part after the connection has handled the part before, and return the outcome.

    With `ends`, the client then closes its sending side. Otherwise the client stays silent.
    """
    server, edge = GatewayServer(echo, SETTINGS), Edge(SETTINGS)
    server.config.load()
    loop, transport = asyncio.get_running_loop(), Held()
    connection = Connection(server.config, server.server_state, {}, loop, edge=edge)
    transport.set_protocol(connection)
    connection.connection_made(transport)
    for part in parts:
        if not transport.is_closed:
            receive(connection, part)
            await _settled(2 if len(parts) > 20 else STEPS)
    if ends and not transport.is_closed and not connection.eof_received():
        transport.close()
    await _settled()
    steps = 0
    while not transport.is_closed and steps < MOST_STEPS:
        steps += 1
        edge.sweeper.sweep([connection], STEP_SECONDS)
        await _settled()
    connection.connection_lost(None)
    await _settled()
    end = "half closed" if transport.has_ended else "closed" if transport.is_closed else "open"
    _, *found = _ANSWER.split(transport.written)
    statuses = [int(each) for each in found[::2]]
    echoed = [
        len(body) for status, body in zip(statuses, found[1::2], strict=True) if status == 200
    ]
    return Outcome(statuses, echoed, end, steps * STEP_SECONDS)


async def _settled(steps: int = STEPS) -> None:
    """Run `steps` iterations of the event loop."""
    for _ in range(steps):
        await asyncio.sleep(0)


def any_stream(random: Random) -> bytes:
    """Returns one to three requests, some of them invalid or incomplete."""
    raw = any_pipeline(random, b"gw_" + b"k" * 20)
    return raw[: random.randrange(len(raw))] if random.random() < 0.3 else raw


async def record(count: int, file: TextIO) -> None:
    """Write `count` random streams with their outcomes as JSON lines. The random seed is fixed."""
    random = Random(1)  # noqa: S311
    for _ in range(count):
        raw, ends = any_stream(random), random.random() < 0.3
        outcome = await played([raw], ends=ends)
        file.write(json.dumps([raw.decode("latin-1"), ends, *astuple(outcome)]) + "\n")


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w", encoding="ascii") as target:
        asyncio.run(record(int(sys.argv[1]), target))
