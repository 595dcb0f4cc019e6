"""`sheets-gateway demo`: the gateway on its emulator, with a sample workbook."""

import asyncio
import json
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

from gateway.access.issue import KeyRequest, create_key
from gateway.access.pepper import pepper_of
from gateway.app import create_app
from gateway.server.running import in_background, make_gateway_server, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.model import Settings, load_settings
from gateway.storage.key_store import KeyStore
from gateway.telemetry.events import configure_logging
from sheets_emulator.app import EmulatorOptions, create_emulator

SAMPLE = Path(__file__).parent / "sample"
SPREADSHEET = "demo"
WORKSHEET = "Cities"

_CURL = r"curl -s -w '\n'"
"""Prints a line break after each answer, so that the prompt starts on its own line."""

_CONFIG = """
[google]
reads_per_minute = 600
writes_per_minute = 600
[plans.paid]
deletes = true
"""
"""The emulator has no quota, so the demo should not wait for one."""


@dataclass(frozen=True, kw_only=True)
class Demo:
    url: str
    emulator_url: str
    paid_key: str
    free_key: str
    read_only_key: str


@contextmanager
def running_demo(listening: socket.socket, environ: Mapping[str, str]) -> Iterator[Demo]:
    """Serve the demo on `listening` during the block, then delete its data.

    Settings come from the environment; a `config.toml` in the working directory is ignored.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sheets-gateway-")))
        emulator = create_emulator(EmulatorOptions(seed=SAMPLE))
        emulator_socket = bind("127.0.0.1", 0)
        credentials = folder / "service-account.json"
        emulator.write_credentials(credentials, base_url(emulator_socket))
        config = folder / "config.toml"
        config.write_text(_CONFIG)
        settings = load_settings(
            config,
            environ,
            {
                "google.endpoint": base_url(emulator_socket),
                "google.credentials": str(credentials),
                "access.database": str(folder / "keys.db"),
            },
        )
        paid, free, read_only = asyncio.run(_create_keys(settings))
        emulator_server = make_server(emulator.app, shutdown_seconds=1)
        emulator_url = stack.enter_context(in_background(emulator_server, emulator_socket))
        server = make_gateway_server(
            create_app(settings), settings.server, proxies=settings.access.trusted_proxies
        )
        yield Demo(
            url=stack.enter_context(in_background(server, listening)),
            emulator_url=emulator_url,
            paid_key=paid,
            free_key=free,
            read_only_key=read_only,
        )


@contextmanager
def log_in_file() -> Iterator[Path]:
    """Write the log to a file during the block, so that it does not mix with the output."""
    with tempfile.TemporaryDirectory(prefix="sheets-gateway-log-") as folder:
        path = Path(folder) / "requests.log"
        with path.open("w", encoding="utf-8") as stream:
            configure_logging(stream)
            try:
                yield path
            except RuntimeError:  # a server did not start
                sys.stderr.write(path.read_text("utf-8"))
                raise
            finally:
                configure_logging()


def stop_at_signal() -> SimpleQueue[int]:
    """Queue the signals SIGINT, SIGTERM and SIGHUP, unless SIGHUP is ignored."""
    # Not an Event: if a handler sets it while this thread starts waiting for it, the wait never
    # ends.
    signals = SimpleQueue[int]()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda number, _: signals.put(number))
    return signals


def curl_lines(demo: Demo) -> Iterator[tuple[str, str]]:
    """Titles and curl commands for a shell."""
    rows = f"{demo.url}/v2/sheets/{WORKSHEET}"
    where = json.dumps({"population": {"$gte": 2_000_000}})
    paid = _headers(demo.paid_key)
    body = json.dumps({"name": "Austin", "state": "Texas", "country": "USA", "population": 961855})
    change = json.dumps({"population": 964000})
    send = "-H 'Content-Type: application/json' -d"
    yield "list rows", f"{_CURL} '{rows}?limit=3' {paid}"
    yield (
        "search and sort",
        f"{_CURL} -G '{rows}' {paid} --data-urlencode {shlex.quote(f'where={where}')} "
        "--data-urlencode 'order=-population'",
    )
    yield "read one row", f"{_CURL} '{rows}/2' {paid}"
    yield "create a row", f"{_CURL} '{rows}' {paid} {send} {shlex.quote(body)}"
    yield "update a row", f"{_CURL} '{rows}/12' {paid} {send} {shlex.quote(change)}"
    yield (
        "an error: this key may only read",
        f"{_CURL} '{rows}' {_headers(demo.read_only_key)} {send} {shlex.quote(body)}",
    )
    yield (
        "an error: no sorting on the free plan",
        f"{_CURL} '{rows}?order=name' {_headers(demo.free_key)}",
    )


async def _create_keys(settings: Settings) -> list[str]:
    requests = [
        KeyRequest(
            name="demo paid",
            plan="paid",
            spreadsheets=frozenset({SPREADSHEET}),
            may_delete=True,
        ),
        KeyRequest(name="demo free", plan="free", spreadsheets=frozenset({SPREADSHEET})),
        KeyRequest(
            name="demo read-only",
            plan="paid",
            spreadsheets=frozenset({SPREADSHEET}),
            read_only=True,
        ),
    ]
    async with KeyStore.open(settings.access.database) as store:
        created = [
            await create_key(
                request,
                store=store,
                pepper=await pepper_of(store, settings.access),
                plans=settings.plans,
                now=datetime.now(UTC),
            )
            for request in requests
        ]
    return [key for _, key in created]


def _headers(key: str) -> str:
    return f"-H 'Authorization: Bearer {key}' -H 'X-Spreadsheet-Id: {SPREADSHEET}'"
