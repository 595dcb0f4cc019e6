"""Where a fire burns: the emulator with a witness, a gateway in front of it, and a key."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2

from gateway.access.issue import KeyRequest
from gateway.storage.key_store import Grants
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from tests.journeys.conftest import create_keys
from tests.journeys.mortal import Mortal
from tests.simulation.fire.orders import SPREADSHEET
from tests.simulation.fire.truth import NUMBER
from tests.simulation.fire.witness import Witness
from tests.simulation.stage import KEYS, NO_LIMIT, Tables, gateway_process, served

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
"""Of a gateway that is in nobody's way but that knows when to stop waiting for Google."""


def _watch_all(witness: Witness, emulator: Emulator) -> None:
    witness.watch(emulator, SPREADSHEET)


@contextmanager
def google(
    folder: Path,
    *,
    latency_ms: int,
    repeatable_metadata_ids: bool = False,
    per_minute: int = 0,
    watch: Callable[[Witness, Emulator], None] = _watch_all,
) -> Iterator[tuple[str, Witness]]:
    """The emulator of what is in `folder / "seed"`, with its witness; `watch` says of what.

    `per_minute` is Google's quota of reads and of writes, 0: none.
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
    watch(witness, emulator)
    with served(emulator, witness, folder) as url:
        yield url, witness


def mortal_gateway(folder: Path, emulator_url: str, settings: Tables = SETTINGS) -> Mortal:
    """A gateway with the settings of a fire, or others."""
    return gateway_process(folder, emulator_url, settings)


async def make_key(folder: Path, *, may_delete: bool = False) -> str:
    """A new key store with a key that may write all worksheets."""
    return (await make_keys(folder, {"fire": ALL_COLUMNS}, may_delete=may_delete))["fire"]


async def make_keys(
    folder: Path, columns: Mapping[str, ColumnGrant], *, may_delete: bool = False
) -> Mapping[str, str]:
    """A new key store with keys that may write these columns of all worksheets, by their names."""
    requests = {
        name: KeyRequest(
            name=name,
            grants=Grants(
                spreadsheets=frozenset({SPREADSHEET}), may_delete=may_delete, columns=each
            ),
        )
        for name, each in columns.items()
    }
    return await create_keys(folder / KEYS, requests)


def numbers_at(url: str, spreadsheet: str = SPREADSHEET) -> Counter[int]:
    """How often each number is in the worksheets as they are at Google."""
    answer = httpx2.get(f"{url}/_emulator/spreadsheets/{spreadsheet}", timeout=60.0).json()
    return Counter(
        int(found[1])
        for rows in answer.values()
        for row in rows
        for cell in row
        if (found := NUMBER.match(cell["text"]))
    )
