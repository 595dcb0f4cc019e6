"""Latency of a new client during pipelined load.  Usage: python -m benchmarks.pipelines

Without a key, one address opens 1,000 connections and sends 400 small requests on each, all at
once. Then the same connections send each request after the answer to the one before. Meanwhile
another address sends requests, each on a new connection, and its latency is measured, directly and
through nginx with the configuration in docs/how-to/reverse-proxy.md. The exit status is 1 if a goal
is missed.
"""

import argparse
import asyncio
import http.client
import multiprocessing
import shutil
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from benchmarks.held_connections import allow_files, connection_from, installed
from benchmarks.processes import HOST
from benchmarks.report import milliseconds, print_header, print_row, surroundings, verdict
from tests.docs.blocks import blocks_of
from tests.docs.proxies import running_nginx

CROWD = "127.0.2.1"
NEWCOMER = "127.0.2.2"
PAUSE_SECONDS = 0.02
"""Pause between two requests of the new client."""
PATIENCE_SECONDS = 60.0
MOST_SECONDS = 1.0
REQUEST = b"GET /livez HTTP/1.1\r\nHost: sheets.example.org\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Connections of one address, and the number of requests that each sends before it waits."""

    port: int
    is_tls: bool
    connections: int
    requests: int
    at_once: int


def main() -> None:
    """Print the table. The exit status is 1 if a goal is missed."""
    options = _options()
    allow_files(options.connections)
    print(f"{surroundings()}; {options.connections:,} connections of one address\n")
    titles = ["asked", "requests", "answered", "seconds", "others asked", "failed"]
    print_header([*titles, "p50", "slowest", "goal (slowest)", "reached"])
    sys.exit(not all([*report(options.connections, options.requests)]))


def report(connections: int, requests: int) -> Iterator[bool]:
    """Yield whether the new client was served in time, directly and through nginx."""
    with installed() as running, ExitStack() as proxies:
        port = urlsplit(running.url).port or 0
        servers: dict[str, tuple[int, ssl.SSLContext | None]] = {"the gateway": (port, None)}
        if shutil.which("nginx") is not None:
            folder = Path(proxies.enter_context(tempfile.TemporaryDirectory()))
            (block,) = blocks_of("nginx")
            address = running.url.removeprefix("http://")
            proxy = proxies.enter_context(running_nginx(block, folder, gateway=address))
            context = ssl.create_default_context(cafile=str(proxy.certificate))
            servers["nginx"] = (urlsplit(proxy.url).port or 0, context)
        for name, (port, tls) in servers.items():
            for kind, at_once in {"pipelined": requests, "one by one": 1}.items():
                crowd = Crowd(
                    port=port,
                    is_tls=tls is not None,
                    connections=connections,
                    requests=requests,
                    at_once=at_once,
                )
                yield report_crowd(f"{name}, {kind}", crowd, tls)


def report_crowd(name: str, crowd: Crowd, tls: ssl.SSLContext | None) -> bool:
    began = time.perf_counter()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        answered = pool.submit(gather, crowd)
        waits, failures = asked(crowd.port, tls, answered.done)
    seconds = time.perf_counter() - began
    slowest = max(waits, default=float("inf"))
    is_good = slowest <= MOST_SECONDS and not failures
    sent = f"{crowd.connections:,} x {crowd.requests}"
    counts = [sent, f"{answered.result():,}", f"{seconds:.1f}", f"{len(waits):,}", f"{failures}"]
    times = [milliseconds(statistics.median(waits or [slowest])), milliseconds(slowest)]
    print_row([name, *counts, *times, f"<= {milliseconds(MOST_SECONDS)}", verdict(is_good)])
    return is_good


# The newcomer


def asked(
    port: int, tls: ssl.SSLContext | None, is_over: Callable[[], bool]
) -> tuple[Sequence[float], int]:
    """Return the seconds of each good answer, and the number of other results."""
    waits, failures = [], 0
    while not is_over():
        time.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        connection = connection_from(NEWCOMER, port, context=tls, patience=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/livez", headers={"Host": "sheets.example.org"})
            failures += connection.getresponse().status != 200
            waits.append(time.perf_counter() - began)
        except (OSError, http.client.HTTPException):
            failures += 1
        finally:
            connection.close()
    return waits, failures


# The crowd


def gather(crowd: Crowd) -> int:
    """Send requests on all connections at once. Returns the number of answers."""
    allow_files(crowd.connections)
    return uvloop.run(_gather(crowd))


async def _gather(crowd: Crowd) -> int:
    loop = asyncio.get_running_loop()
    context = ssl.create_default_context() if crowd.is_tls else None
    if context:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    members = [Member(crowd, loop.create_future()) for _ in range(crowd.connections)]
    opening = (
        loop.create_connection(
            lambda each=each: each, HOST, crowd.port, ssl=context, local_addr=(CROWD, 0)
        )
        for each in members
    )
    opened = await asyncio.gather(*opening, return_exceptions=True)
    for member, result in zip(members, opened, strict=True):
        if isinstance(result, BaseException):
            member.connection_lost(None)
    await asyncio.wait([each.end for each in members], timeout=PATIENCE_SECONDS * 4)
    return sum(each.answers for each in members)


class Member(asyncio.Protocol):
    """One connection of the pipelined load."""

    def __init__(self, crowd: Crowd, end: "asyncio.Future[None]") -> None:
        self._crowd = crowd
        self.end = end
        self.answers = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        transport.write(REQUEST * self._crowd.at_once)

    def data_received(self, data: bytes) -> None:
        come = data.count(b"HTTP/1.1 ")
        self.answers += come
        if self.answers >= self._crowd.requests:
            self._transport.close()
        elif self._crowd.at_once == 1:
            self._transport.write(REQUEST * come)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.end.done():
            self.end.set_result(None)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipelines")
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--requests", type=int, default=400)
    return parser.parse_args()


if __name__ == "__main__":
    main()
