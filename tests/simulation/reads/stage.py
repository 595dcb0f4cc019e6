"""Stage of read campaigns: a watched emulator, a gateway as a process, and keys."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from gateway.access.issue import KeyRequest
from gateway.storage.key_store import Grants
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.conftest import create_keys
from tests.journeys.workbook import write_seed
from tests.simulation.reads.visitor import Visitor, visitor
from tests.simulation.reads.watch import Watch
from tests.simulation.stage import KEYS, NO_LIMIT, Tables, gateway_process, served

SPREADSHEET = "reads"
OWN_SPREADSHEET = "own"
"""One that only the first key may read beside the other."""
KEEPING: Mapping[str, object] = {
    "cache.rows_ttl_seconds": 5.0,
    "cache.max_stale_seconds": 3600.0,
    "google.reads_per_minute": NO_LIMIT,
    "google.writes_per_minute": NO_LIMIT,
}
"""Settings of a gateway that keeps what it read as usual, and that no budget holds back."""
NAMES_AND_AMOUNTS = "name,group,amount\n" + "".join(
    f"name {row:05},group {row % 7},{row * 37 % 1000}\n" for row in range(100)
)


@dataclass(frozen=True, kw_only=True)
class Scenery:
    """Worksheets, behaviour of Google, keys, and the gateway's settings by table."""

    worksheets: int
    text: str = NAMES_AND_AMOUNTS
    """The contents of each worksheet, as a CSV."""
    latency_ms: int = 300
    reads_per_minute: int = 60
    """Google's limit of reads and of writes; 0: none."""
    keys: int = 1
    settings: Tables = field(default_factory=dict)

    @property
    def titles(self) -> Sequence[str]:
        return [f"Reads{index}" for index in range(self.worksheets)]


@dataclass(frozen=True, kw_only=True)
class Google:
    """The emulator, and who watches it."""

    url: str
    watch: Watch

    def stats(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx2.get(f"{self.url}/_emulator/stats").json()
        return answer

    async def answer_with(self, *faults: Mapping[str, object]) -> None:
        """From now on calls go wrong like this; without faults, all is well again."""
        async with httpx2.AsyncClient(base_url=self.url) as client:
            (await client.post("/_emulator/faults", json=faults)).raise_for_status()


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A gateway, its keys, and Google."""

    url: str
    keys: Sequence[str]
    google: Google
    titles: Sequence[str]

    @asynccontextmanager
    async def visitor(self, number: int = 0) -> AsyncIterator[Visitor]:
        """A client with the key of this number."""
        async with visitor(self.url, self.keys[number], SPREADSHEET) as client:
            yield client


@asynccontextmanager
async def set_up(folder: Path, scenery: Scenery) -> AsyncIterator[Stage]:
    """All of it for the time of the block, in an empty folder."""
    worksheets = dict.fromkeys(scenery.titles, scenery.text)
    write_seed(folder / "seed", dict.fromkeys((SPREADSHEET, OWN_SPREADSHEET), worksheets))
    with _google(folder, scenery) as google:
        gateway = gateway_process(folder, google.url, scenery.settings)
        keys = await create_keys(folder / KEYS, dict(_key_requests(scenery.keys)))
        await gateway.start()
        try:
            yield Stage(
                url=gateway.url, keys=list(keys.values()), google=google, titles=scenery.titles
            )
        finally:
            await gateway.kill()


@contextmanager
def _google(folder: Path, scenery: Scenery) -> Iterator[Google]:
    limit = scenery.reads_per_minute
    options = EmulatorOptions(
        seed=folder / "seed",
        latency_ms=scenery.latency_ms,
        reads_per_minute=limit,
        writes_per_minute=limit,
    )
    emulator = create_emulator(options)
    watch = Watch(app=emulator.app)
    with served(emulator, watch, folder) as url:
        yield Google(url=url, watch=watch)


def _key_requests(count: int) -> Iterator[tuple[str, KeyRequest]]:
    for number in range(count):
        name = f"reader {number}"
        spreadsheets = (SPREADSHEET,) if number else (SPREADSHEET, OWN_SPREADSHEET)
        yield name, KeyRequest(name=name, grants=Grants(spreadsheets=frozenset(spreadsheets)))
