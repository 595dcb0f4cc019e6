"""Where reads are put to the test: a watched emulator, a gateway as a process, and keys."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from gateway.access.issue import KeyRequest, create_key
from gateway.access.pepper import load_pepper
from gateway.server.running import base_url, bind, in_background, make_server
from gateway.settings.model import load_settings
from gateway.storage.key_store import KeyStore
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.fire.mortal import prepare
from tests.journeys.reads.visitor import Visitor, visitor
from tests.journeys.reads.watch import Watch

SPREADSHEET = "reads"
OWN_SPREADSHEET = "own"
"""One that only the first key may read beside the other."""
NO_LIMIT = 1_000_000
KEEPING: Mapping[str, object] = {
    "cache.rows_ttl_seconds": 5.0,
    "cache.max_stale_seconds": 3600.0,
    "google.reads_per_minute": NO_LIMIT,
    "google.writes_per_minute": NO_LIMIT,
}
"""Settings of a gateway that keeps what it read as usual, and that no budget holds back."""


@dataclass(frozen=True, kw_only=True)
class Scenery:
    """What is there: worksheets, Google's ways, keys, and the settings of the gateway by table."""

    worksheets: int
    rows: int = 100
    latency_ms: int = 300
    reads_per_minute: int = 60
    """Google's limit of reads and of writes; 0: none."""
    keys: int = 1
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def titles(self) -> Sequence[str]:
        return [f"Reads{index}" for index in range(self.worksheets)]


@dataclass(frozen=True, kw_only=True)
class Google:
    """The emulator, and who watches it."""

    url: str
    credentials: Path
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
    _write_seed(folder / "seed", scenery)
    with _google(folder, scenery) as google:
        gateway = prepare(folder, _settings(folder, google, scenery))
        keys = await _make_keys(folder / "keys.db", scenery.keys)
        await gateway.start()
        try:
            yield Stage(url=gateway.url, keys=keys, google=google, titles=scenery.titles)
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
    listening = bind("127.0.0.1", 0)
    credentials = folder / "credentials.json"
    emulator.write_credentials(credentials, base_url(listening))
    watch = Watch(app=emulator.app)
    with in_background(make_server(watch, shutdown_seconds=1), listening) as url:
        yield Google(url=url, credentials=credentials, watch=watch)


def _settings(folder: Path, google: Google, scenery: Scenery) -> Mapping[str, Mapping[str, object]]:
    own: Mapping[str, Mapping[str, object]] = {
        "google": {"endpoint": google.url, "credentials": str(google.credentials)},
        "access": {"database": str(folder / "keys.db")},
        "plans.paid": {"requests_per_minute": NO_LIMIT},
    }
    tables = {**own, **scenery.settings}
    return {name: {**own.get(name, {}), **table} for name, table in tables.items()}


def _write_seed(folder: Path, scenery: Scenery) -> None:
    lines = [f"name {row:05},group {row % 7},{row * 37 % 1000}\n" for row in range(scenery.rows)]
    text = "name,group,amount\n" + "".join(lines)
    for spreadsheet in (SPREADSHEET, OWN_SPREADSHEET):
        (folder / spreadsheet).mkdir(parents=True)
        for title in scenery.titles:
            (folder / spreadsheet / f"{title}.csv").write_text(text, encoding="utf-8")


async def _make_keys(database: Path, count: int) -> list[str]:
    settings = load_settings(None, {}, {"access.database": str(database)})
    pepper = await asyncio.to_thread(load_pepper, settings.access)
    spreadsheets = frozenset({SPREADSHEET})
    async with KeyStore.open(database) as store:
        created = [
            await create_key(
                KeyRequest(
                    name=f"reader {number}",
                    spreadsheets=spreadsheets if number else spreadsheets | {OWN_SPREADSHEET},
                ),
                store=store,
                pepper=pepper,
                plans=settings.plans,
                now=datetime.now(UTC),
            )
            for number in range(count)
        ]
    return [key for _, key in created]
