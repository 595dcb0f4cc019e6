"""A fire from its start to its report: emulator, gateway, faults, kills, a person, and clients.

Rules
- The person moves a column only while nothing is running at Google, since a late effect would
  land in the columns of before, and waits until no header seen before is trusted any more.
- Around that no gateway is killed: a new one has no header to trust wrongly.
- Meanwhile a visitor adds rows at the ends of the worksheets, where the gateway is about to.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2

from tests.journeys.mortal import Mortal
from tests.journeys.workbook import write_seed
from tests.simulation.fire.clients import Clerk, Patience, perform_all
from tests.simulation.fire.faults import Weather, plan
from tests.simulation.fire.ledger import Entry, Grid, Problem, problems_of
from tests.simulation.fire.orders import (
    FIRST_VISITED,
    SPREADSHEET,
    USUAL,
    Mixture,
    csv_of,
    draw,
    seeds,
)
from tests.simulation.fire.person import Person
from tests.simulation.fire.stage import (
    HEADER_TTL_SECONDS,
    WRITE_TIMEOUT_SECONDS,
    google,
    grids_of,
    make_key,
    mortal_gateway,
)
from tests.simulation.fire.witness import Witness
from tests.simulation.stage import CREDENTIALS

IMPATIENT = Patience(answer_seconds=30.0, asks=4, longest_pause_seconds=1.0)
SLACK = 0.001
"""The share of answers that may be `unknown` though Google answered."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """Size and intensity of a fire."""

    creates: int
    seed: int = 1
    worksheets: int = 8
    clients: int = 3
    """Of each worksheet."""
    waves: int = 2
    """Between two of them the person moves a column."""
    fault_share: float = 0.1
    latest_ms: int = 4500
    kill_seconds: float = 5.0
    """Between two kills, on average."""
    visit_seconds: float = 0.3
    """Between two rows that the visitor adds, on average."""
    latency_ms: int = 20
    mixture: Mixture = USUAL
    patience: Patience = IMPATIENT
    end_seconds: float = 60.0
    """After so long the clients are given up."""

    @property
    def weather(self) -> Weather:
        return Weather(
            share=self.fault_share,
            latest_ms=self.latest_ms,
            slowest_ms=600,
            timeout_ms=int(WRITE_TIMEOUT_SECONDS * 1000) + 1000,
        )


@dataclass(frozen=True, kw_only=True)
class Report:
    """Results of a fire."""

    entries: Sequence[Entry]
    problems: Sequence[Problem]
    unexplained: Sequence[Entry]
    """Answered `unknown` though neither an append nor the client's connection was lost."""
    appends: int
    lost_rows: int
    kills: int
    replays: int
    seconds: float

    @property
    def may_be_unexplained(self) -> float:
        return SLACK * len(self.entries)

    def __str__(self) -> str:
        outcomes = Counter(entry.outcome for entry in self.entries)
        sorts = Counter(problem.kind for problem in self.problems)
        lines = [
            f"{len(self.entries)} creates in {self.seconds:.0f} s: {dict(outcomes)}",
            f"{self.appends} appends, {self.lost_rows} rows in lost ones, {self.kills} kills, "
            f"{self.replays} replays, {sum(entry.is_cut for entry in self.entries)} cut off",
            f"unknown for no reason: {len(self.unexplained)}",
            f"problems: {dict(sorts) or 'none'}",
            *(f"  {each.kind}: {each.detail}" for each in self.problems[:20]),
        ]
        return "\n".join(lines)


@dataclass(kw_only=True)
class Scene:
    """All that takes part in a fire while it burns."""

    campaign: Campaign
    url: str
    """The emulator's."""
    witness: Witness
    gateway: Mortal
    person: Person
    key: str
    calm: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Who has it keeps the gateway alive."""


def burn(campaign: Campaign, folder: Path) -> Report:
    """Run a fire in an empty folder."""
    grids = seeds(campaign.worksheets)
    worksheets = {title: csv_of(grid) for title, grid in grids.items()}
    write_seed(folder / "seed", {SPREADSHEET: worksheets})
    with google(folder, latency_ms=campaign.latency_ms) as (url, witness):
        return asyncio.run(_burn(campaign, folder, url, witness, grids))


def unexplained(entries: Sequence[Entry], lost: set[int]) -> list[Entry]:
    """Answers `unknown` about rows that Google was not asked for in vain."""
    return [
        entry
        for entry in entries
        if entry.outcome == "unknown" and not entry.is_cut and not _numbers(entry) & lost
    ]


async def _burn(
    campaign: Campaign, folder: Path, url: str, witness: Witness, grids: dict[str, Grid]
) -> Report:
    scene = Scene(
        campaign=campaign,
        url=url,
        witness=witness,
        gateway=mortal_gateway(folder, url),
        person=Person(url=url, credentials=folder / CREDENTIALS),
        key=await make_key(folder),
    )
    await asyncio.to_thread(scene.person.arrive)
    began = time.monotonic()
    async with _clerks(scene, list(grids)) as clerks, _dying(scene), _visiting(scene, clerks):
        async with asyncio.timeout(campaign.end_seconds):
            await _waves(scene, clerks)
    await asyncio.sleep(campaign.latest_ms / 1000)
    after = grids_of(url)
    problems = [
        problem
        for clerk, (title, before) in zip(clerks, grids.items(), strict=True)
        for problem in problems_of(clerk.entries, before, after[title])
    ]
    entries = [entry for clerk in clerks for entry in clerk.entries]
    return Report(
        entries=entries,
        problems=problems,
        unexplained=unexplained(entries, witness.lost),
        appends=witness.appends,
        lost_rows=len(witness.lost),
        kills=scene.gateway.kills,
        replays=sum(clerk.replays for clerk in clerks),
        seconds=time.monotonic() - began,
    )


async def _waves(scene: Scene, clerks: Sequence[Clerk]) -> None:
    """Creates wave by wave; before each but the first the person moves a column."""
    campaign = scene.campaign
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    size = campaign.creates // campaign.waves
    faults = plan(chance, campaign.weather, appends=campaign.creates, reads=campaign.creates)
    httpx2.post(f"{scene.url}/_emulator/faults", json=faults).raise_for_status()
    for wave in range(campaign.waves):
        first = wave * 10 * campaign.creates
        creates = draw(chance, campaign.mixture, first=first, count=size)
        warm = len(clerks) if wave else 0
        async with scene.calm:
            if wave:
                await asyncio.sleep(campaign.latest_ms / 1000)
                await asyncio.to_thread(scene.person.move_column)
                await asyncio.sleep(HEADER_TTL_SECONDS)
            await perform_all(clerks, creates[:warm], 1)
        await perform_all(clerks, creates[warm:], campaign.clients)


@asynccontextmanager
async def _dying(scene: Scene) -> AsyncIterator[None]:
    """The gateway serves for the time of the block, but is killed now and then."""
    chance = random.Random(scene.campaign.seed)  # noqa: S311 - no secret
    await scene.gateway.start()

    async def kill_now_and_then() -> None:
        while True:
            await asyncio.sleep(scene.campaign.kill_seconds * chance.uniform(0.5, 1.5))
            async with scene.calm:
                await scene.gateway.kill()
                await scene.gateway.start()

    killer = asyncio.create_task(kill_now_and_then())
    try:
        yield
    finally:
        killer.cancel()
        with suppress(asyncio.CancelledError):
            await killer
        await asyncio.to_thread(scene.gateway.incarnation.close)


@asynccontextmanager
async def _visiting(scene: Scene, clerks: Sequence[Clerk]) -> AsyncIterator[None]:
    """A visitor adds rows for the time of the block; the ledgers say that they are there."""
    chance = random.Random(scene.campaign.seed)  # noqa: S311 - no secret

    async def visit_now_and_then() -> None:
        for number in count(FIRST_VISITED):
            await asyncio.sleep(scene.campaign.visit_seconds * chance.uniform(0.5, 1.5))
            index = chance.randrange(len(clerks))
            async with scene.calm:
                row = await asyncio.to_thread(scene.person.add_row, index, number)
                clerks[index].entries.append(Entry(rows=(row,), outcome="applied"))

    visitor = asyncio.create_task(visit_now_and_then())
    try:
        yield
    finally:
        async with scene.calm:
            visitor.cancel()
        with suppress(asyncio.CancelledError):
            await visitor


@asynccontextmanager
async def _clerks(scene: Scene, titles: Sequence[str]) -> AsyncIterator[list[Clerk]]:
    headers = {"Authorization": f"Bearer {scene.key}", "X-Spreadsheet-Id": SPREADSHEET}
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(
        base_url=scene.gateway.url, headers=headers, limits=limits
    ) as client:
        yield [
            Clerk(
                client=client,
                path=f"/v2/sheets/{title}",
                patience=scene.campaign.patience,
                is_up=scene.gateway.is_up,
            )
            for title in titles
        ]


def _numbers(entry: Entry) -> set[int]:
    return {int(dict(fields)["id"].partition(":")[2]) for fields in entry.rows}
