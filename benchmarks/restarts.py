"""Restarts under load on an inherited socket.  Usage: python benchmarks/restarts.py

This process owns the listening socket, as systemd would. 64 clients with persistent connections
send requests continuously, while the gateway is stopped and replaced 20 times. The new gateway
waits for the lock until the old one has answered its last requests; new connections wait in the
socket. A request fails if it gets no answer, or another status than 200. The emulator replaces
Google.
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gateway.access.issue import create_key
from gateway.access.pepper import load_pepper
from gateway.commands.demo import CITIES, SAMPLE
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.model import Settings, load_settings
from gateway.storage.key_store import Grants, KeyRequest, KeyStore
from sheets_emulator.app import EmulatorOptions, create_emulator

RESTARTS = 20
CLIENTS = 64
LEAST_REQUESTS = 100_000
ROW_EVERY = 50
"""One of this many requests reads a row; the others need no call to Google."""
PATIENCE_SECONDS = 30.0
COMMAND = (sys.executable, "-m", "gateway", "serve")


@dataclass
class Tally:
    """Counts of the requests and their results."""

    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    longest_seconds: float = 0.0


def main() -> None:
    """Print the figures. The exit status is 1 if a request failed."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        emulator = create_emulator(EmulatorOptions(seed=SAMPLE))
        emulator_socket = bind("127.0.0.1", 0)
        emulator.write_credentials(folder / "service-account.json", base_url(emulator_socket))
        stack.enter_context(
            in_background(make_server(emulator.app, shutdown_seconds=1), emulator_socket)
        )
        (folder / "config.toml").write_text(
            f"[google]\nendpoint = {json.dumps(base_url(emulator_socket))}\n"
            'credentials = "service-account.json"\n'
            "[plans.paid]\nrequests_per_minute = 0\nmax_concurrent = 0\n"  # for all clients
        )
        settings = load_settings(folder / "config.toml", {})
        listening = stack.enter_context(bind("127.0.0.1", 0))
        log = stack.enter_context((folder / "log").open("wb"))
        tally = Tally()
        began = time.perf_counter()
        asyncio.run(restart_under_load(folder, settings, listening, log.fileno(), tally))
        seconds = time.perf_counter() - began
        faults = (folder / "log").read_text().count('"level":"error"')
    print(f"{RESTARTS} restarts under {CLIENTS} clients, {seconds:.0f} s")
    print(f"  answered 200         {tally.answered}")
    print(f"  failed               {sum(tally.failed.values())} {dict(tally.failed) or ''}")
    print(f"  connections made     {tally.connections}")
    print(f"  longest answer       {tally.longest_seconds:.2f} s")
    print(f"  errors in the log    {faults}")
    sys.exit(bool(tally.failed) or tally.answered < LEAST_REQUESTS)


async def restart_under_load(
    folder: Path, settings: Settings, listening: socket.socket, log: int, tally: Tally
) -> None:
    """Serve, send requests, and restart, until there are enough requests and restarts."""
    key = await make_key(settings)
    gateway = await start(folder, listening.fileno(), log)
    stop = asyncio.Event()
    clients = [
        asyncio.create_task(ask(listening.getsockname(), key, number, tally, stop))
        for number in range(CLIENTS)
    ]
    for restart in range(1, RESTARTS + 1):
        while tally.answered < restart * LEAST_REQUESTS / RESTARTS:  # noqa: ASYNC110  (now and then)
            await asyncio.sleep(0.05)
        gateway.terminate()
        successor = asyncio.create_task(start(folder, listening.fileno(), log))
        await gateway.wait()
        gateway = await successor
    stop.set()
    await asyncio.gather(*clients)
    gateway.terminate()
    await gateway.wait()


async def start(folder: Path, fd: int, log: int) -> asyncio.subprocess.Process:
    """Start a gateway on the socket, and return its process when it serves."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("--fd", str(fd), "--config", str(folder / "config.toml")),
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        pass_fds=[fd],
        env={name: text for name, text in os.environ.items() if not name.startswith("GATEWAY_")},
    )
    if process.stdout is None or b" on http" not in await process.stdout.readline():
        raise RuntimeError("The gateway did not start; its log says why.")
    return process


async def ask(
    address: tuple[str, int], key: str, number: int, tally: Tally, stop: asyncio.Event
) -> None:
    """Run one client, which sends requests on a connection until the gateway closes it."""
    request = f"GET /livez HTTP/1.1\r\nHost: {address[0]}\r\n\r\n".encode()
    row = (
        f"GET {CITIES.path}/2 HTTP/1.1\r\nHost: {address[0]}\r\n"
        f"Authorization: Bearer {key}\r\nX-Spreadsheet-Id: {DEMO_SPREADSHEET}\r\n\r\n"
    ).encode()
    while not stop.is_set():
        tally.connections += 1
        reader, writer = await asyncio.open_connection(*address)
        is_kept = True
        while is_kept and not stop.is_set():
            number += 1
            is_kept = await ask_once(reader, writer, request if number % ROW_EVERY else row, tally)
        writer.close()


async def ask_once(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, tally: Tally
) -> bool:
    """Send one request. Returns True if the connection can be used again."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length: ")[2].partition("\r")[0])
            await reader.readexactly(length)
    except (OSError, EOFError, TimeoutError) as error:
        tally.failed[type(error).__name__] += 1
        return False
    tally.longest_seconds = max(tally.longest_seconds, time.perf_counter() - began)
    if head.startswith("http/1.1 200 "):
        tally.answered += 1
    else:
        tally.failed[head[9:12]] += 1
    return "connection: close" not in head


async def make_key(settings: Settings) -> str:
    """Create a key for the rows of the sample."""
    async with KeyStore.open(settings.access.database) as store:
        _, key = await create_key(
            KeyRequest(name="restarts", grants=Grants(spreadsheets=frozenset({DEMO_SPREADSHEET}))),
            store=store,
            pepper=load_pepper(settings.access),
            plans=settings.plans,
            now=datetime.now(UTC),
        )
    return key


if __name__ == "__main__":
    main()
