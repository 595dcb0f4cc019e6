"""Set-up of all campaigns: an observed emulator, and a gateway process."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from starlette.types import ASGIApp

from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from gateway.telemetry.events import configure_logging, reset_logging
from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from tests.journeys.conftest import create_keys
from tests.journeys.mortal import Mortal, prepare
from tests.simulation.witness import Witness

NO_LIMIT = 1_000_000
PATIENCE_SECONDS = 60.0
SPREADSHEET = "simulated"
FIRST_VISITED = 2_000_000_000
"""Number of the first row that a person adds; clients of the gateway use lower numbers."""
CREDENTIALS = "credentials.json"
KEYS = "keys.db"

Tables = Mapping[str, Mapping[str, object]]
"""Settings of a gateway by table of the configuration file."""
HEADER_TTL_SECONDS = 1.0
WRITE_TIMEOUT_SECONDS = 2.0
SETTINGS: Tables = {
    "google": {
        "write_timeout_seconds": WRITE_TIMEOUT_SECONDS,
        "reads_per_minute": NO_LIMIT,
        "writes_per_minute": NO_LIMIT,
    },
    "cache": {"header_ttl_seconds": HEADER_TTL_SECONDS},
}
"""Default settings of campaigns: no quota to wait for, and a short timeout of writes."""


@contextmanager
def served(emulator: Emulator, app: ASGIApp, folder: Path) -> Iterator[str]:
    """Serve an emulator through `app` during the block, and yield the URL."""
    listening = bind("127.0.0.1", 0)
    emulator.write_credentials(folder / CREDENTIALS, base_url(listening))
    with in_background(make_server(app, shutdown_seconds=1), listening) as url:
        yield url


@contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """Write the log of this process and its libraries to a file during the block."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    root.handlers.clear()  # `configure_logging` would close these handlers
    with path.open("w", encoding="utf-8") as log:
        configure_logging(log)
        try:
            yield
        finally:
            reset_logging()
            root.handlers[:] = handlers
            root.setLevel(level)


def gateway_process(folder: Path, emulator_url: str, settings: Tables) -> Mortal:
    """Return a gateway in front of the emulator, without rate limits and not yet started."""
    own: Tables = {
        "google": {"endpoint": emulator_url, "credentials": str(folder / CREDENTIALS)},
        "access": {"database": str(folder / KEYS)},
        "plans.paid": {"requests_per_minute": NO_LIMIT},
    }
    tables = {**own, **settings}
    return prepare(folder, {name: {**own.get(name, {}), **table} for name, table in tables.items()})


async def stop_after(seconds: float, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Run tasks for some seconds, then cancel them. Raises the exception of a failed task."""
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


@contextmanager
def google(
    folder: Path,
    *,
    latency_ms: int,
    repeatable_metadata_ids: bool = False,
    per_minute: int = 0,
    watch: Callable[[Emulator], object] = lambda _: None,
) -> Iterator[tuple[str, Witness]]:
    """Yield URL and witness of an emulator with the spreadsheets in `folder / "seed"`.

    The witness records the calls. `watch` gets the emulator before it serves. `per_minute` is
    Google's quota of reads and of writes; 0 means no quota.
    """
    options = EmulatorOptions(
        seed=folder / "seed",
        latency_ms=latency_ms,
        repeatable_metadata_ids=repeatable_metadata_ids,
        reads_per_minute=per_minute,
        writes_per_minute=per_minute,
    )
    emulator = create_emulator(options)
    witness = Witness(app=emulator.app, patience_seconds=WRITE_TIMEOUT_SECONDS)
    watch(emulator)
    witness.watch(emulator)
    with served(emulator, witness, folder) as url:
        yield url, witness


def mortal_gateway(folder: Path, emulator_url: str, settings: Tables = SETTINGS) -> Mortal:
    """Return a gateway process that can be killed, by default with the settings of campaigns."""
    return gateway_process(folder, emulator_url, settings)


def client_of(url: str, key: str, spreadsheet: str = SPREADSHEET) -> httpx2.AsyncClient:
    """Return an HTTP client of a gateway, with unlimited connections."""
    return httpx2.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": spreadsheet},
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        timeout=PATIENCE_SECONDS,
    )


async def make_key(folder: Path, spreadsheets: Iterable[str] = (SPREADSHEET,)) -> str:
    """Create a key store, and return a key with all rights for all worksheets."""
    made = await make_keys(folder, {"all": ALL_COLUMNS}, spreadsheets)
    return made["all"]


async def make_keys(
    folder: Path,
    columns: Mapping[str, ColumnGrant],
    spreadsheets: Iterable[str] = (SPREADSHEET,),
) -> Mapping[str, str]:
    """Create a key store, and return keys by name; each can write the given columns."""
    requests = {
        name: KeyRequest(
            name=name,
            grants=Grants(spreadsheets=frozenset(spreadsheets), may_delete=True, columns=each),
        )
        for name, each in columns.items()
    }
    return await create_keys(folder / KEYS, requests)
