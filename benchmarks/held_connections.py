"""Connections that attackers keep open: memory, and service for other clients.

Usage: python -m benchmarks.held_connections

Three attacks without a key, on the loopback, with limited duration. First, clients of 64 addresses
send 64 pipelined requests on each of 4,096 connections, and do not read the first answer. The table
shows the growth of the gateway's process. Then one address opens as many connections as possible
and sends half a request head on each, first to the gateway, and then to nginx with the
configuration in docs/how-to/reverse-proxy.md. The table shows the service for another address. The
exit status is 1 if a goal is missed.
"""

import argparse
import asyncio
import contextlib
import http.client
import multiprocessing
import resource
import shutil
import socket
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.emulator import peak_megabytes
from benchmarks.processes import (
    HOST,
    SPREADSHEET,
    Running,
    Site,
    emulator,
    gateway,
    make_site,
    resident_megabytes,
)
from benchmarks.report import milliseconds, print_header, print_row, surroundings, verdict
from benchmarks.sheet import make_cities, write_csv
from tests.docs.blocks import blocks_of
from tests.docs.proxies import running_nginx

ADDRESSES = 64
PIPELINED = 64
LINES = 96
RECEIVE_BYTES = 4_096
SETTLE_SECONDS = 5.0
"""Time after the last sent byte in which the gateway parses what has arrived."""
MOST_GROWTH_MEGABYTES = 300
PAUSE_SECONDS = 0.02
"""Pause between two requests of the other client."""
PATIENCE_SECONDS = 2.0
MOST_P99_SECONDS = 1.0
"""Goal for the other client's p99, while the attacker uses the same machine."""
SPARE_FILES = 512
HELD_SECONDS = 1.0
"""Time after which an open connection counts as accepted."""
AGAIN_SECONDS = 5.0
"""Time before an attacker reopens a closed connection."""
AT_ONCE = 64
"""Number of connections that an attacker opens at the same time."""

LARGE = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: gateway\r\n\r\n"
"""Request for an answer of 1.7 MB that needs no key."""
HEAD = b"GET /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\n" + b"%b\r\n"
HALF_HEAD = b"GET /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nX-Slow: "
HEADS: Mapping[str, bytes] = {
    "of short lines": HEAD % (b"a: b\r\n" * LINES),
    "of one line": HEAD % (b"X: " + b"y" * 555 + b"\r\n"),
}


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Half request heads from one address; each closed connection is reopened."""

    address: str
    port: int
    is_tls: bool
    most: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Service:
    """Results of the other client: seconds of good answers, and number of other results."""

    good: Sequence[float]
    failures: int


def main() -> None:
    """Print the tables. The exit status is 1 if a goal is missed."""
    options = _options()
    allow_files(options.connections)
    print(f"{surroundings()}; {options.connections:,} connections\n")
    are_good = [*report_memory(options.connections)]
    print()
    are_good += report_service(options.connections, options.seconds)
    sys.exit(not all(are_good))


@contextmanager
def installed() -> Iterator[Running]:
    """Run a gateway that trusts a proxy on this machine's own address."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_csv(folder / "seed" / SPREADSHEET / "Cities.csv", make_cities(10))
        google = stack.enter_context(emulator(folder))
        site: Site = make_site(folder, google.url)
        with site.config.open("a", encoding="utf-8") as file:
            file.write(f'[access]\ntrusted_proxies = ["{HOST}"]\n')
        yield stack.enter_context(gateway(site))


# Memory


def report_memory(connections: int) -> Iterator[bool]:
    """Yield for each kind of head whether the memory growth is within its goal."""
    print_header(["64 pipelined heads", "connections", "bytes sent", "growth", "goal", "reached"])
    for name, head in HEADS.items():
        sent = LARGE + head * PIPELINED
        with installed() as running, ExitStack() as clients:
            before = resident_megabytes(running.pid)
            held = [
                opened(clients, running, f"127.0.1.{number % ADDRESSES + 1}", sent)
                for number in range(connections)
            ]
            time.sleep(SETTLE_SECONDS)
            growth = peak_megabytes(running.pid) - before
            answered = sum(is_answered(client) for client in held)
        is_good = growth <= MOST_GROWTH_MEGABYTES and answered == connections
        goal = f"<= {MOST_GROWTH_MEGABYTES} MB"
        figures = [f"{answered:,}", f"{len(sent):,} each", f"{growth:,.0f} MB", goal]
        print_row([name, *figures, verdict(is_good)])
        yield is_good


def opened(clients: ExitStack, running: Running, address: str, sent: bytes) -> socket.socket:
    """Open a connection from an address, and send as much of the bytes as fits."""
    client = clients.enter_context(socket.socket())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    client.bind((address, 0))
    client.connect((HOST, urlsplit(running.url).port))
    client.settimeout(SETTLE_SECONDS)
    with contextlib.suppress(TimeoutError):  # the buffers of the system are full
        client.sendall(sent)
    return client


def is_answered(client: socket.socket) -> bool:
    """True if the first bytes of an answer have arrived."""
    with contextlib.suppress(OSError):
        return client.recv(13, socket.MSG_PEEK) == b"HTTP/1.1 200 "
    return False


# Service


def report_service(connections: int, seconds: float) -> Iterator[bool]:
    """Yield whether the other client was served, directly and through nginx."""
    titles = ["one address holds", "half heads at once", "others asked", "failed", "p50", "p99"]
    print_header([*titles, "goal (p99, none failed)", "reached"])
    with installed() as running:
        port = urlsplit(running.url).port or 0
        attack = Attack(
            address="127.0.2.1", port=port, is_tls=False, most=connections + 1_000, seconds=seconds
        )
        yield report_attack(
            "the gateway", attack, lambda: connection_from("127.0.2.2", port, context=None)
        )
        if shutil.which("nginx") is None:
            print_row(["nginx is not installed"])
            return
        (block,) = blocks_of("nginx")
        with tempfile.TemporaryDirectory() as folder:
            port_of_gateway = running.url.removeprefix("http://")
            with running_nginx(block, Path(folder), gateway=port_of_gateway) as proxy:
                port = urlsplit(proxy.url).port or 0
                attack = Attack(
                    address="127.0.2.1", port=port, is_tls=True, most=connections, seconds=seconds
                )
                context = ssl.create_default_context(cafile=str(proxy.certificate))
                yield report_attack(
                    "nginx", attack, lambda: connection_from("127.0.2.2", port, context=context)
                )


def report_attack(
    name: str, attack: Attack, connect: Callable[[], http.client.HTTPConnection]
) -> bool:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        held = pool.submit(hold, attack)
        service = served(connect, held.done)
        most = held.result()
    good = service.good or [float("inf")]
    p99 = statistics.quantiles(good, n=100)[98] if len(good) > 1 else good[0]
    is_good = p99 <= MOST_P99_SECONDS and not service.failures
    times = [milliseconds(statistics.median(good)), milliseconds(p99)]
    asked = len(service.good) + service.failures
    cells = [name, f"{most:,}", f"{asked:,}", f"{service.failures:,}", *times]
    print_row([*cells, f"<= {milliseconds(MOST_P99_SECONDS)}", verdict(is_good)])
    return is_good


def served(
    connect: Callable[[], http.client.HTTPConnection], is_over: Callable[[], bool]
) -> Service:
    """Request repeatedly, each time on a new connection, and return the results."""
    good, failures = [], 0
    while not is_over():
        time.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        connection = connect()
        try:
            connection.request("GET", "/livez", headers={"Host": "sheets.example.org"})
            failures += connection.getresponse().status != 200
            good.append(time.perf_counter() - began)
        except (OSError, http.client.HTTPException):
            failures += 1
        finally:
            connection.close()
    return Service(good=good, failures=failures)


def connection_from(
    address: str,
    port: int,
    *,
    context: ssl.SSLContext | None,
    patience: float = PATIENCE_SECONDS,
) -> http.client.HTTPConnection:
    """Return a connection from an address, which its first request opens."""
    source = (address, 0)
    if context is None:
        return http.client.HTTPConnection(HOST, port, timeout=patience, source_address=source)
    return http.client.HTTPSConnection(
        HOST, port, timeout=patience, source_address=source, context=context
    )


def hold(attack: Attack) -> int:
    """Run the attack. Returns the maximum number of connections held at once."""
    allow_files(attack.most)
    return asyncio.run(_hold(attack))


async def _hold(attack: Attack) -> int:
    context = ssl.create_default_context() if attack.is_tls else None
    if context:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opening, held, most = asyncio.Semaphore(AT_ONCE), 0, 0

    async def keep() -> None:
        nonlocal held, most
        while True:
            async with opening:
                reader, writer = await asyncio.open_connection(
                    HOST, attack.port, ssl=context, local_addr=(attack.address, 0)
                )
                writer.write(HALF_HEAD)
            end = asyncio.ensure_future(reader.read())
            is_held = not (await asyncio.wait([end], timeout=HELD_SECONDS))[0]
            held += is_held
            most = max(most, held)
            try:
                await end
            finally:
                held -= is_held
                end.cancel()
                writer.transport.abort()

    async def keep_on() -> None:
        while True:
            with contextlib.suppress(OSError):
                await keep()
            await asyncio.sleep(AGAIN_SECONDS)

    tasks = [asyncio.create_task(keep_on()) for _ in range(attack.most)]
    await asyncio.wait(tasks, timeout=attack.seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return most


def allow_files(connections: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.held_connections")
    parser.add_argument("--connections", type=int, default=4_096)
    parser.add_argument(
        "--seconds",
        type=float,
        default=20.0,
        help="duration of each attack with half request heads",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
