"""HTTP servers in the role of gateways behind a proxy."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer


@dataclass
class StandIns:
    """HTTP servers in the role of gateways, and methods and headers of all received requests."""

    ports: list[int] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


@contextmanager
def stand_ins(are_alive: Sequence[bool]) -> Iterator[StandIns]:
    """Run servers that answer, or that close the connection after they read a request."""
    found, servers = StandIns(), []
    for is_alive in are_alive:
        server = HTTPServer(("127.0.0.1", 0), handler(found, is_alive))
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        servers.append(server)
        found.ports.append(server.server_port)
    try:
        yield found
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def handler(found: StandIns, is_alive: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65_537)
            self.close_connection = True
            if not self.raw_requestline or not self.parse_request():
                return
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            found.seen.append(self.command)
            found.headers.append(dict(self.headers.items()))
            if is_alive:
                self.wfile.write(
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                )

    return Handler
