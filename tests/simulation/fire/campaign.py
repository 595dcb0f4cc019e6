"""A fire from its start to its report: emulator, gateway, faults, kills, a person, and clients.

Rules
- The person moves a column only while nothing is under way at Google, since a late effect would
  land in the columns of before, and waits until no header seen before is trusted any more.
- Around that no gateway is killed: a new one has no header to trust wrongly.
- Meanwhile people sort, delete, insert and correct rows, and append some by hand and by script.
- With its key a create is asked for until it is settled.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2

from tests.journeys.mortal import Mortal
from tests.journeys.workbook import write_seed
from tests.simulation.fire.clients import Clerk, Patience, perform_all
from tests.simulation.fire.disturbances import edited_now_and_then, killed_now_and_then
from tests.simulation.fire.faults import Weather, plan
from tests.simulation.fire.ledger import Entry, Problem, UpdateEntry, problems_of
from tests.simulation.fire.metadata import Span, filled_now_and_then
from tests.simulation.fire.orders import (
    FIRST_SHARED,
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
    make_key,
    mortal_gateway,
    numbers_at,
)
from tests.simulation.fire.truth import FIRST_UPDATE
from tests.simulation.fire.witness import Witness
from tests.simulation.stage import CREDENTIALS

IMPATIENT = Patience(answer_seconds=30.0, asks=40, longest_pause_seconds=1.0)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """How large a fire is and how hot."""

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
    """Between two edits of people, on average."""
    latency_ms: int = 20
    mixture: Mixture = USUAL
    update_share: float = 0.3
    """So many creates are followed by an update."""
    moves_columns: bool = False
    """At any time, not only between waves; updates may write to another column then."""
    swaps_tabs: bool = False
    """People give worksheets each other's names."""
    slowest_look_ms: int = 0
    """Slow looks take half a second at least, and so long at most; 0: there are none."""
    look_share: float = 0.1
    trip_share: float = 0.0
    """So many writes meet an edit of a person on their way."""
    full_seconds: float = 0.0
    """Between two times at which others fill the metadata, on average; 0: never."""
    has_repeatable_ids: bool = False
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
            slowest_look_ms=self.slowest_look_ms,
            look_share=self.look_share,
            trip_share=self.trip_share,
        )


@dataclass(frozen=True, kw_only=True)
class Report:
    """What came of a fire."""

    entries: Sequence[Entry]
    updates: Sequence[UpdateEntry]
    problems: Sequence[Problem]
    unexplained: Sequence[Entry | UpdateEntry]
    """Answered `unknown` though neither Google failed nor the client's connection was lost."""
    batches: int
    edits: int
    removed_rows: int
    lost_rows: int
    moved_rows: int
    """Rows of which the 201 told another place than that of their effect, a later one."""
    kills: int
    replays: int
    renamings: int
    filled: int
    """So often others filled the metadata."""
    seconds: float

    def __str__(self) -> str:
        outcomes = Counter(entry.outcome for entry in self.entries)
        updates = Counter(update.outcome for update in self.updates)
        sorts = Counter(problem.kind for problem in self.problems)
        lines = [
            f"{len(self.entries)} creates in {self.seconds:.0f} s: {dict(outcomes)}",
            f"{len(self.updates)} updates: {dict(updates)}",
            f"{self.batches} batches, {self.lost_rows} rows in lost ones, {self.kills} kills, "
            f"{self.replays} replays, {sum(entry.is_cut for entry in self.entries)} cut off, "
            f"{sum(entry.asks > 1 for entry in self.entries)} asked again",
            f"{self.edits} edits by people, {self.renamings} renamings of tabs, "
            f"metadata filled {self.filled} times, {self.removed_rows} numbered rows removed; "
            f"{self.moved_rows} rows had moved when they were looked for",
            f"unknown for no reason: {len(self.unexplained)}",
            *(f"  {each}" for each in self.unexplained[:20]),
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
    kills: list[float] = field(default_factory=list)
    """When the gateway was killed."""
    full: list[Span] = field(default_factory=list)
    """When the metadata was full."""
    calm: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Who has it keeps the gateway alive."""


def burn(campaign: Campaign, folder: Path) -> Report:
    """Run a fire in an empty folder."""
    grids = seeds(campaign.worksheets)
    worksheets = {title: csv_of(grid) for title, grid in grids.items()}
    write_seed(folder / "seed", {SPREADSHEET: worksheets})
    with google(
        folder,
        latency_ms=campaign.latency_ms,
        repeatable_metadata_ids=campaign.has_repeatable_ids,
    ) as (url, witness):
        return asyncio.run(_burn(campaign, folder, url, witness, list(grids)))


def unexplained(
    entries: Sequence[Entry | UpdateEntry], saw_failure: Callable[[float, float], bool]
) -> list[Entry | UpdateEntry]:
    """Answers `unknown` though Google answered all the time, and the client was not cut off."""
    return [
        entry
        for entry in entries
        if entry.outcome == "unknown"
        and not entry.is_cut
        and not saw_failure(entry.asked_at, entry.answered_at)
    ]


async def _burn(
    campaign: Campaign, folder: Path, url: str, witness: Witness, titles: Sequence[str]
) -> Report:
    scene = Scene(
        campaign=campaign,
        url=url,
        witness=witness,
        gateway=mortal_gateway(folder, url),
        person=Person(
            url=url,
            credentials=folder / CREDENTIALS,
            truth=witness.truth,
            chance=random.Random(campaign.seed),  # noqa: S311 - no secret
            moves_columns=campaign.moves_columns,
            swaps_tabs=campaign.swaps_tabs,
        ),
        key=await make_key(folder),
    )
    await asyncio.to_thread(scene.person.arrive)
    began = time.monotonic()
    async with (
        _clerks(scene, titles) as clerks,
        killed_now_and_then(
            scene.gateway,
            scene.kills,
            random.Random(campaign.seed),  # noqa: S311 - no secret
            pause_seconds=campaign.kill_seconds,
            calm=scene.calm,
        ),
        edited_now_and_then(
            scene.person,
            random.Random(campaign.seed),  # noqa: S311 - no secret
            pause_seconds=campaign.visit_seconds,
            calm=scene.calm,
        ),
        filled_now_and_then(
            url,
            folder / CREDENTIALS,
            scene.full,
            random.Random(campaign.seed),  # noqa: S311 - no secret
            pause_seconds=campaign.full_seconds,
        ),
    ):
        async with asyncio.timeout(campaign.end_seconds):
            await _waves(scene, clerks)
    await asyncio.sleep(campaign.latest_ms / 1000)
    entries = [entry for clerk in clerks for entry in clerk.entries]
    updates = [update for clerk in clerks for update in clerk.updates]
    truth = witness.truth
    problems = problems_of(entries, truth, updates)
    if numbers_at(url) != truth.numbers():
        detail = f"{numbers_at(url) - truth.numbers()}, {truth.numbers() - numbers_at(url)}"
        problems.append(Problem(kind="witness", detail=f"more and less than noted: {detail}"))
    return Report(
        entries=entries,
        updates=updates,
        problems=problems,
        unexplained=unexplained([*entries, *updates], witness.saw_failure),
        batches=witness.batches,
        edits=truth.edits,
        removed_rows=truth.removed.total(),
        lost_rows=len(witness.lost),
        moved_rows=_moved_rows(entries, witness),
        kills=scene.gateway.kills,
        replays=sum(clerk.replays for clerk in clerks),
        renamings=truth.renamings,
        filled=len(scene.full),
        seconds=time.monotonic() - began,
    )


def _moved_rows(entries: Sequence[Entry], witness: Witness) -> int:
    rows = {effect.number: effect.row for effect in witness.truth.effects}
    return sum(
        place != rows.get(number)
        for entry in entries
        for place, number in zip(entry.places, entry.numbers, strict=False)
        if number < FIRST_SHARED
    )


async def _waves(scene: Scene, clerks: Sequence[Clerk]) -> None:
    """Creates wave by wave; before each but the first the person moves a column."""
    campaign = scene.campaign
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    size = campaign.creates // campaign.waves
    faults = plan(
        chance,
        campaign.weather,
        batches=campaign.creates,
        reads=campaign.creates,
        edit=scene.person.edit_on_the_way,
    )
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
async def _clerks(scene: Scene, titles: Sequence[str]) -> AsyncIterator[list[Clerk]]:
    headers = {"Authorization": f"Bearer {scene.key}", "X-Spreadsheet-Id": SPREADSHEET}
    numbers = count(FIRST_UPDATE)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(
        base_url=scene.gateway.url, headers=headers, limits=limits
    ) as client:
        yield [
            Clerk(
                client=client,
                worksheet=title,
                patience=scene.campaign.patience,
                is_up=scene.gateway.is_up,
                numbers=numbers,
                chance=random.Random(scene.campaign.seed + index),  # noqa: S311 - no secret
                update_share=scene.campaign.update_share,
            )
            for index, title in enumerate(titles)
        ]
