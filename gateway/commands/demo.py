"""`sheets-gateway demo`: the gateway on its emulator, with a sample workbook or one's own."""

import asyncio
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from secrets import token_bytes

from gateway.access.issue import KeyRequest, create_key
from gateway.access.keys import ALPHABET, RandomBytes
from gateway.access.pepper import pepper_of
from gateway.app import create_app
from gateway.commands.demo_lines import (
    CITIES,
    SPREADSHEET,
    Example,
    curl_lines,
    find_example,
    find_fields,
)
from gateway.commands.doctor.account import check_accounts
from gateway.commands.options import say
from gateway.server.running import in_background, make_gateway_server, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.address import is_loopback
from gateway.settings.model import GoogleSettings, Settings, load_settings
from gateway.storage.key_store import Grants, KeyStore
from gateway.telemetry.events import configure_logging
from sheets_emulator.app import EmulatorOptions, create_emulator
from sheets_emulator.state.seed import Seed

SAMPLE = Path(__file__).parent / "sample"

_PUBLIC_DIGITS = "PublicKeyOfTheDemoOnLoopback00"
"""Of the paid key for the sample workbook, so that the documentation can show it."""

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
    fields: Mapping[str, Sequence[str]]
    """By the path of their worksheet."""
    example: Example
    warnings: Sequence[str]
    """Guesses and losses while the seed was read, and the findings of `check`."""

    def curl_lines(self) -> Iterator[tuple[str, str]]:
        return curl_lines(
            self.url,
            self.example,
            paid=self.paid_key,
            free=self.free_key,
            read_only=self.read_only_key,
        )


@contextmanager
def running_demo(
    listening: socket.socket, environ: Mapping[str, str], seed: Seed | None = None
) -> Iterator[Demo]:
    """Serve the demo on `listening` during the block, then delete its data.

    Settings come from the environment; a `config.toml` in the working directory is ignored. The
    data are those of `seed`, by default the sample workbook. Raises ConfigError and NoExample.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sheets-gateway-")))
        emulator = create_emulator(EmulatorOptions(seed=seed or SAMPLE))
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
        host = listening.getsockname()[0]
        paid, free, read_only = asyncio.run(_create_keys(settings, paid_bytes(host, seed)))
        emulator_server = make_server(emulator.app, shutdown_seconds=1)
        emulator_url = stack.enter_context(in_background(emulator_server, emulator_socket))
        server = make_gateway_server(
            create_app(settings), settings.server, proxies=settings.access.trusted_proxies
        )
        url = stack.enter_context(in_background(server, listening))
        fields = find_fields(url, paid)
        yield Demo(
            url=url,
            emulator_url=emulator_url,
            paid_key=paid,
            free_key=free,
            read_only_key=read_only,
            fields=fields,
            example=CITIES if seed is None else find_example(url, paid, fields),
            warnings=[*emulator.notes, *asyncio.run(_warnings(settings.google))],
        )


def paid_bytes(host: str, seed: Seed | None) -> RandomBytes:
    """Bytes of the paid key: known for the sample workbook on loopback, else random."""
    return _public_digits if seed is None and is_loopback(host) else token_bytes


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
                say(*path.read_text("utf-8").splitlines(), err=True)
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


async def _warnings(settings: GoogleSettings) -> Sequence[str]:
    """The warnings of `check` about the spreadsheet."""
    found = check_accounts(settings, SPREADSHEET, time.time)
    return [each.text async for each in found if each.level != "ok"]


async def _create_keys(settings: Settings, paid_bytes: RandomBytes) -> list[str]:
    requests = [
        KeyRequest(
            name="demo paid",
            plan="paid",
            grants=Grants(spreadsheets=frozenset({SPREADSHEET}), may_delete=True),
        ),
        KeyRequest(
            name="demo free", plan="free", grants=Grants(spreadsheets=frozenset({SPREADSHEET}))
        ),
        KeyRequest(
            name="demo read-only",
            plan="paid",
            grants=Grants(spreadsheets=frozenset({SPREADSHEET}), read_only=True),
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
                random_bytes=random_bytes,
            )
            for request, random_bytes in zip(
                requests, (paid_bytes, token_bytes, token_bytes), strict=True
            )
        ]
    return [key for _, key in created]


def _public_digits(count: int) -> bytes:
    return bytes(map(ALPHABET.index, _PUBLIC_DIGITS[:count]))
