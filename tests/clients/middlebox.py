"""HTTP server between a client and the gateway that loses, truncates and replaces answers.

Rules: a fault is used once, by the next request that is not a preflight. After the last fault,
requests get the gateway's answers. A machine serves many tests. Each test has its own `Middlebox`,
which records the requests since its creation.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

from tests.journeys.conftest import client_of

PATIENCE_SECONDS = 30.0
PAGE = "<!doctype html><title>Bad gateway</title>"

_PER_CONNECTION = ("connection", "content-length", "host", "keep-alive", "transfer-encoding")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of one answer; without `status` and `kept_bytes` the connection closes first."""

    is_forwarded: bool = False
    """True if the gateway gets the request."""
    status: int | None = None
    """Status of the answer that replaces the gateway's answer, with `headers` and `text`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = PAGE
    kept_bytes: int | None = None
    """Number of body bytes after which the gateway's answer is truncated."""
    is_held: bool = False
    """True if the answer waits for `Middlebox.release`."""


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """Received request. Header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(kw_only=True)
class Middlebox:
    url: str
    gateway: httpx2.Client
    arrived: list[Arrived] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    released: threading.Event = field(default_factory=threading.Event)
    holding: threading.Event = field(default_factory=threading.Event)

    def fail(self, *faults: Fault) -> None:
        self.faults.extend(faults)

    def release(self) -> None:
        self.released.set()

    def sent(self, name: str) -> list[str | None]:
        """Return the values of a header in all received requests, in order."""
        return [each.headers.get(name.lower()) for each in self.arrived]

    def take(self) -> Fault | None:
        return self.faults.popleft() if self.faults else None


@dataclass(kw_only=True)
class Machine:
    """HTTP server of middleboxes. The newest middlebox receives the requests."""

    url: str
    gateway: httpx2.Client
    newest: Middlebox

    def renewed(self) -> Middlebox:
        """Return a new middlebox, and release the answers that the previous middlebox holds."""
        self.newest.release()
        self.newest = Middlebox(url=self.url, gateway=self.gateway)
        return self.newest


@contextmanager
def running_machine(gateway_url: str) -> Iterator[Machine]:
    """Run a machine in front of the gateway."""
    with client_of(gateway_url, timeout_seconds=PATIENCE_SECONDS) as gateway:
        server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
        url = f"http://127.0.0.1:{server.server_port}"
        machine = Machine(url=url, gateway=gateway, newest=Middlebox(url=url, gateway=gateway))
        server.RequestHandlerClass = _handler_of(lambda: machine.newest)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield machine
        finally:
            machine.newest.release()
            server.shutdown()
            server.server_close()
            thread.join(PATIENCE_SECONDS)


def _handler_of(newest: Callable[[], Middlebox]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = PATIENCE_SECONDS

        def answer(self) -> None:
            middlebox = newest()
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if self.command == "OPTIONS":
                self.pass_on(self.forward(middlebox, headers, body))
                return
            middlebox.arrived.append(
                Arrived(method=self.command, target=self.path, headers=headers, body=body)
            )
            fault = middlebox.take()
            response = None
            if fault is None or fault.is_forwarded or fault.kept_bytes is not None:
                response = self.forward(middlebox, headers, body)
            if fault is not None and fault.is_held:
                middlebox.holding.set()
                middlebox.released.wait(PATIENCE_SECONDS)
            if fault is None:
                self.pass_on(response)
            elif fault.kept_bytes is not None:
                self.pass_on(response, fault.kept_bytes)
                self.close_connection = True
            elif fault.status is not None:
                lines = {"Access-Control-Allow-Origin": "*", **fault.headers}
                self.say(fault.status, list(lines.items()), fault.text.encode())
            else:
                self.close_connection = True

        def forward(
            self, middlebox: Middlebox, headers: Mapping[str, str], body: bytes
        ) -> httpx2.Response:
            kept = {name: text for name, text in headers.items() if name not in _PER_CONNECTION}
            return middlebox.gateway.request(
                self.command,
                self.path,
                headers={**kept, "accept-encoding": "identity"},
                content=body,
            )

        def pass_on(self, response: httpx2.Response | None, kept_bytes: int | None = None) -> None:
            assert response is not None
            lines = [
                (name, value)
                for name, value in response.headers.multi_items()
                if name not in _PER_CONNECTION
            ]
            self.say(response.status_code, lines, response.content, kept_bytes)

        def say(
            self,
            status: int,
            lines: Sequence[tuple[str, str]],
            body: bytes,
            kept_bytes: int | None = None,
        ) -> None:
            self.send_response_only(status)
            for name, value in lines:
                self.send_header(name, value)
            if status not in (204, 304):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:kept_bytes])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
            """Print nothing, because requests are recorded."""

        do_DELETE = do_GET = do_OPTIONS = do_PATCH = do_POST = do_PUT = answer  # noqa: N815

    return Handler
