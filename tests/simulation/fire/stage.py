"""Stage of a fire: the emulator with a witness, a gateway in front of it, and a key."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from gateway.access.issue import KeyRequest
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.conftest import create_keys
from tests.journeys.mortal import Mortal
from tests.simulation.fire.ledger import Grid
from tests.simulation.fire.orders import SPREADSHEET
from tests.simulation.fire.witness import Witness
from tests.simulation.stage import KEYS, NO_LIMIT, gateway_process, served

HEADER_TTL_SECONDS = 1.0
WRITE_TIMEOUT_SECONDS = 2.0


@contextmanager
def google(folder: Path, *, latency_ms: int) -> Iterator[tuple[str, Witness]]:
    """The emulator of what is in `folder / "seed"`, with its witness."""
    options = EmulatorOptions(seed=folder / "seed", latency_ms=latency_ms)
    emulator = create_emulator(options)
    witness = Witness(app=emulator.app, patience_seconds=WRITE_TIMEOUT_SECONDS)
    with served(emulator, witness, folder) as url:
        yield url, witness


def mortal_gateway(folder: Path, emulator_url: str) -> Mortal:
    """A gateway without limits, except for its timeouts at Google."""
    return gateway_process(
        folder,
        emulator_url,
        {
            "google": {
                "write_timeout_seconds": WRITE_TIMEOUT_SECONDS,
                "reads_per_minute": NO_LIMIT,
                "writes_per_minute": NO_LIMIT,
            },
            "cache": {"header_ttl_seconds": HEADER_TTL_SECONDS},
        },
    )


async def make_key(folder: Path) -> str:
    """A new key store with a key that may write all worksheets."""
    request = KeyRequest(name="fire", spreadsheets=frozenset({SPREADSHEET}))
    return (await create_keys(folder / KEYS, {"fire": request}))["fire"]


def grids_of(url: str) -> dict[str, Grid]:
    """The texts of all worksheets at Google."""
    answer = httpx2.get(f"{url}/_emulator/spreadsheets/{SPREADSHEET}", timeout=60.0).json()
    return {
        title: [[cell["text"] for cell in row] for row in rows] for title, rows in answer.items()
    }
