"""Where a fire burns: the emulator with a witness, a gateway in front of it, and a key."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from gateway.access.issue import KeyRequest, create_key
from gateway.access.pepper import load_pepper
from gateway.server.running import base_url, bind, in_background, make_server
from gateway.settings.model import load_settings
from gateway.storage.key_store import KeyStore
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.fire.ledger import Grid
from tests.journeys.fire.mortal import Mortal, prepare
from tests.journeys.fire.orders import SPREADSHEET
from tests.journeys.fire.witness import Witness

HEADER_TTL_SECONDS = 1.0
WRITE_TIMEOUT_SECONDS = 2.0
NO_LIMIT = 1_000_000


@contextmanager
def google(folder: Path, *, latency_ms: int) -> Iterator[tuple[str, Witness]]:
    """The emulator of what is in `folder / "seed"`, with its witness."""
    options = EmulatorOptions(seed=folder / "seed", latency_ms=latency_ms)
    emulator = create_emulator(options)
    listening = bind("127.0.0.1", 0)
    emulator.write_credentials(folder / "credentials.json", base_url(listening))
    witness = Witness(app=emulator.app, patience_seconds=WRITE_TIMEOUT_SECONDS)
    with in_background(make_server(witness, shutdown_seconds=1), listening) as url:
        yield url, witness


def mortal_gateway(folder: Path, emulator_url: str) -> Mortal:
    """A gateway that is in nobody's way but that knows when to stop waiting for Google."""
    return prepare(
        folder,
        {
            "google": {
                "endpoint": emulator_url,
                "credentials": str(folder / "credentials.json"),
                "write_timeout_seconds": WRITE_TIMEOUT_SECONDS,
                "reads_per_minute": NO_LIMIT,
                "writes_per_minute": NO_LIMIT,
            },
            "cache": {"header_ttl_seconds": HEADER_TTL_SECONDS},
            "access": {"database": str(folder / "keys.db")},
            "plans.paid": {"requests_per_minute": NO_LIMIT},
        },
    )


async def make_key(database: Path) -> str:
    """A new key store with a key that may write all worksheets."""
    settings = load_settings(None, {}, {"access.database": str(database)})
    request = KeyRequest(name="fire", spreadsheets=frozenset({SPREADSHEET}))
    async with KeyStore.open(database) as store:
        _, key = await create_key(
            request,
            store=store,
            pepper=load_pepper(settings.access),
            plans=settings.plans,
            now=datetime.now(UTC),
        )
    return key


def grids_of(url: str) -> dict[str, Grid]:
    """The texts of all worksheets as they are at Google."""
    answer = httpx2.get(f"{url}/_emulator/spreadsheets/{SPREADSHEET}", timeout=60.0).json()
    return {
        title: [[cell["text"] for cell in row] for row in rows] for title, rows in answer.items()
    }
