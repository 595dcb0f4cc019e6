"""Connections without a network, to an application that answers when the test allows it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.types import Receive, Scope, Send

from gateway.server.connection import Connection
from gateway.server.limits import Edge
from gateway.server.running import GatewayServer
from gateway.settings.address import Proxy
from gateway.settings.model import ServerSettings
from tests.server.transport import Held

REQUEST = b"GET /%d HTTP/1.1\r\nHost: gateway\r\n\r\n"
LAST = b"GET /9 HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
UPLOAD = b"POST /%d HTTP/1.1\r\nHost: gateway\r\nContent-Length: 5\r\n\r\nab"
BODY = b"x" * 10_000
STEPS = 20


@dataclass
class Application:
    """Application that answers when the test allows it. `began` and `ended` are paths of
    requests.
    """

    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    reads_body: bool = True
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.began.append(scope["path"])
        while self.reads_body and (await receive()).get("more_body"):
            continue
        await self.may_answer.wait()
        length = (b"content-length", b"%d" % len(BODY))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": BODY})
        self.ended.append(scope["path"])


class Stage:
    """Application, its server, and connections without a network."""

    def __init__(self, proxies: Sequence[Proxy] = (), **settings: object) -> None:
        self.app = Application()
        given = ServerSettings.model_validate(settings)
        self.edge = Edge(given, proxies)
        self._server = GatewayServer(self.app, given)
        self._server.config.load()

    def connect(self, room: int = 1_000_000, peer: str = "127.0.0.1") -> tuple[Connection, Held]:
        transport = Held(room, peer)
        connection = Connection(
            self._server.config,
            self._server.server_state,
            {},
            asyncio.get_running_loop(),
            edge=self.edge,
        )
        transport.set_protocol(connection)
        connection.connection_made(transport)
        return connection, transport

    def pass_time(self, connection: Connection, seconds: float) -> None:
        """Advance the clock by `seconds`, and by 0.1 seconds more, the tolerance of deadlines."""
        for _ in range(round(seconds * 10) + 2):
            self.edge.sweeper.sweep([connection], 0.1)


async def settled() -> None:
    """Run the event loop until all tasks wait."""
    for _ in range(STEPS):
        await asyncio.sleep(0)


def answers_in(transport: Held) -> int:
    return transport.written.count(b"HTTP/1.1 200 ")
