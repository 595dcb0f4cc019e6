"""Operations of all kinds on a few worksheets, while Google fails, and people edit the rows.

Rules
- What counts is what the emulator applied: all versions of the worksheets, and the gateway's
  batches between them.
- A person changes rows at any time, also between a batch and the look that it was planned on. So a
  batch is judged by the states of that time; what only the gateway changed is one state.
- The writes that a killed gateway leaves open are in its store, but for creates without a key: the
  next one settles them before it writes to their rows.
- Options add what is rarer: tabs that get each other's names, slow looks, full metadata, rows that
  are emptied in place of being removed, a key that sees some columns, edits on the way of a write.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

import httpx2

from gateway.table.header import ALL_COLUMNS, ColumnGrant
from sheets_emulator.app import Emulator
from tests.journeys.workbook import write_seed
from tests.simulation.fire.clients import Patience
from tests.simulation.fire.disturbances import edited_now_and_then, killed_now_and_then
from tests.simulation.fire.faults import Weather, plan
from tests.simulation.fire.ledger import Problem
from tests.simulation.fire.metadata import Span, filled_now_and_then
from tests.simulation.fire.orders import SPREADSHEET
from tests.simulation.fire.person import Person
from tests.simulation.fire.stage import (
    HEADER_TTL_SECONDS,
    SETTINGS,
    WRITE_TIMEOUT_SECONDS,
    google,
    make_keys,
)
from tests.simulation.fire.witness import Witness
from tests.simulation.stage import CREDENTIALS, NO_LIMIT, Tables, gateway_process
from tests.simulation.verbs.answers import (
    METADATA_FULL,
    NUMBER_UNKNOWN,
    ROWS_MOVED,
    problems_of_full_metadata,
)
from tests.simulation.verbs.clients import Clerk, work_all
from tests.simulation.verbs.defects import Defect, Gateway, gateway_with
from tests.simulation.verbs.entries import ListRead, Repeat
from tests.simulation.verbs.history import History
from tests.simulation.verbs.operations import (
    LIMITED_FIELDS,
    Draw,
    Mixture,
    seed_texts,
    titles,
)
from tests.simulation.verbs.verdict import judge

PATIENCE = Patience(answer_seconds=60.0, asks=60, longest_pause_seconds=1.0)
LONGEST_ROW = 1000
WINDOW_ABOVE_CELLS = 100
MOST_PROBLEMS = 20


@dataclass(frozen=True, kw_only=True)
class Verbs:
    """How many operations there are, and what disturbs them."""

    operations: int = 1000
    worksheets: int = 4
    clients: int = 8
    """Of each worksheet."""
    fault_share: float = 0.05
    latest_ms: int = 4500
    kill_seconds: float = 8.0
    """Between two kills, on average; 0: none."""
    visit_seconds: float = 0.4
    """Between two edits of people, on average; 0: none."""
    read_share: float = 0.3
    """So many operations are followed by a read."""
    swaps_tabs: bool = False
    """People give worksheets each other's names, and one more worksheet that no client names."""
    slowest_look_ms: int = 0
    """Slow looks take half a second at least, and so long at most; 0: there are none."""
    look_share: float = 0.1
    """So many reads are slow looks."""
    trip_share: float = 0.0
    """So many writes meet an edit of a person between their look and their effect."""
    partial_keys: float = 0.0
    """So many conditional updates and deletes have a key that sees some columns."""
    clears: bool = False
    """Deletes empty rows."""
    full_seconds: float = 0.0
    """Between two times at which others fill the metadata, on average; 0: never."""
    has_windows: bool = False
    """Worksheets are read in windows soon."""
    header_ttl_seconds: float = HEADER_TTL_SECONDS
    rows_ttl_seconds: float = 1.0
    latency_ms: int = 20
    seed: int = 1
    end_seconds: float = 600.0
    """After so long the clients are given up."""
    mixture: Mixture = field(default_factory=Mixture)

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

    @property
    def settings(self) -> Tables:
        return {
            **SETTINGS,
            "cache": {
                "header_ttl_seconds": self.header_ttl_seconds,
                "rows_ttl_seconds": self.rows_ttl_seconds,
                **({"window_above_cells": WINDOW_ABOVE_CELLS} if self.has_windows else {}),
            },
            "writes": {"delete": "clear" if self.clears else "shift"},
            "plans.paid": {
                "deletes": True,
                "max_limit": LONGEST_ROW,
                "max_concurrent": 0,
                "requests_per_minute": NO_LIMIT,
            },
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """What came of one spreadsheet, or of several."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """By kind, outcome and status."""
    figures: Counter[str] = field(default_factory=Counter)
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0

    @property
    def kinds(self) -> set[str]:
        return {problem.kind for problem in self.problems}

    def __add__(self, other: "Report") -> "Report":
        figures = Counter(self.figures)
        figures.update(other.figures)
        return Report(
            outcomes=self.outcomes + other.outcomes,
            figures=figures,
            problems=(*self.problems, *other.problems),
            seconds=self.seconds + other.seconds,
        )

    def __str__(self) -> str:
        sorts = Counter(problem.kind for problem in self.problems)
        lines = [
            f"{self.outcomes.total()} operations in {self.seconds:.0f} s",
            *(f"  {name}: {number}" for name, number in sorted(self.outcomes.items())),
            *(f"{name}: {number}" for name, number in self.figures.items()),
            f"problems: {dict(sorts) or 'none'}",
            *(f"  {each.kind}: {each.detail}" for each in self.problems[:MOST_PROBLEMS]),
        ]
        return "\n".join(lines)


@dataclass(kw_only=True)
class Scene:
    """All that takes part in a campaign."""

    campaign: Verbs
    folder: Path
    url: str
    """The emulator's."""
    witness: Witness
    history: History
    person: Person
    key: str
    limited_key: str
    full: list[Span] = field(default_factory=list)
    """When the metadata was full."""
    kills: list[float] = field(default_factory=list)
    last_reads: list[ListRead] = field(default_factory=list)


def run(folder: Path, campaign: Verbs, defect: Defect | None = None) -> Report:
    """All operations on a new spreadsheet, in an empty folder.

    With a `defect` the gateway serves in this process, and is not killed.
    """
    seeds = seed_texts(campaign.worksheets, has_archive=campaign.swaps_tabs)
    write_seed(folder / "seed", {SPREADSHEET: seeds})
    history = History(
        slowest_look_seconds=campaign.slowest_look_ms / 1000,
        kept_seconds=campaign.rows_ttl_seconds,
    )

    def watch(witness: Witness, emulator: Emulator) -> None:
        history.watch(emulator, SPREADSHEET)
        witness.watch_calls(emulator)

    with google(folder, latency_ms=campaign.latency_ms, watch=watch) as (url, witness):
        return asyncio.run(_run(folder, campaign, url, witness, history, defect))


async def _run(
    folder: Path,
    campaign: Verbs,
    url: str,
    witness: Witness,
    history: History,
    defect: Defect | None,
) -> Report:
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    keys = await make_keys(
        folder,
        {"all": ALL_COLUMNS, "some": ColumnGrant(frozenset(LIMITED_FIELDS))},
        may_delete=True,
    )
    scene = Scene(
        campaign=campaign,
        folder=folder,
        url=url,
        witness=witness,
        history=history,
        person=Person(
            url=url,
            credentials=folder / CREDENTIALS,
            truth=history,
            chance=random.Random(campaign.seed),  # noqa: S311 - no secret
            swaps_tabs=campaign.swaps_tabs,
            leaves_blank=frozenset(LIMITED_FIELDS if campaign.partial_keys else ()),
        ),
        key=keys["all"],
        limited_key=keys["some"],
    )
    await asyncio.to_thread(scene.person.arrive)
    faults = plan(
        chance,
        campaign.weather,
        batches=campaign.operations,
        reads=campaign.operations,
        edit=scene.person.edit_on_the_way,
    )
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        calm = asyncio.Lock()
        gateway = await stack.enter_async_context(_gateway(scene, defect, calm))
        clerks = await stack.enter_async_context(_clerks(scene, gateway))
        async with (
            _people(scene, calm),
            filled_now_and_then(
                url,
                folder / CREDENTIALS,
                scene.full,
                chance,
                pause_seconds=campaign.full_seconds,
            ),
            asyncio.timeout(campaign.end_seconds),
        ):
            httpx2.post(f"{url}/_emulator/faults", json=faults).raise_for_status()
            await work_all(clerks, range(campaign.operations), campaign.clients)
        await asyncio.sleep(campaign.latest_ms / 1000)
        httpx2.post(f"{url}/_emulator/faults", json=[]).raise_for_status()
        async with calm:
            for clerk in clerks:
                read = await clerk.read(no_cache=True)
                scene.last_reads += [read] if read else []
    return _report(scene, clerks, time.monotonic() - began)


@asynccontextmanager
async def _gateway(
    scene: Scene, defect: Defect | None, calm: asyncio.Lock
) -> AsyncIterator[Gateway]:
    campaign = scene.campaign
    if defect is not None:
        with gateway_with(defect, scene.folder, scene.url, campaign.settings) as planted:
            yield planted
        return
    mortal = gateway_process(scene.folder, scene.url, campaign.settings)
    async with killed_now_and_then(
        mortal,
        scene.kills,
        random.Random(campaign.seed),  # noqa: S311 - no secret
        pause_seconds=campaign.kill_seconds,
        calm=calm,
    ):
        yield mortal


@asynccontextmanager
async def _people(scene: Scene, calm: asyncio.Lock) -> AsyncIterator[None]:
    async with edited_now_and_then(
        scene.person,
        random.Random(scene.campaign.seed),  # noqa: S311 - no secret
        pause_seconds=scene.campaign.visit_seconds,
        calm=calm,
    ):
        yield


@asynccontextmanager
async def _clerks(scene: Scene, gateway: Gateway) -> AsyncIterator[Sequence[Clerk]]:
    campaign = scene.campaign
    numbers = count(1)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    clients = [
        httpx2.AsyncClient(
            base_url=gateway.url,
            headers={"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": SPREADSHEET},
            limits=limits,
        )
        for key in (scene.key, scene.limited_key)
    ]
    async with clients[0], clients[1]:
        make = partial(
            Clerk,
            client=clients[0],
            limited_client=clients[1],
            patience=PATIENCE,
            is_up=gateway.is_up,
            read_share=campaign.read_share,
        )
        yield [
            make(
                worksheet=title,
                draw=Draw(
                    chance=random.Random(campaign.seed * 100 + index),  # noqa: S311 - no secret
                    mixture=replace(campaign.mixture, partial_keys=campaign.partial_keys),
                    numbers=numbers,
                ),
            )
            for index, title in enumerate(titles(campaign.worksheets))
        ]


def _report(scene: Scene, clerks: Sequence[Clerk], seconds: float) -> Report:
    entries = [entry for clerk in clerks for entry in clerk.entries]
    reads = [read for clerk in clerks for read in clerk.reads]
    courses = scene.history.courses(scene.witness.sent, scene.kills)
    verdict = judge(
        entries,
        reads,
        scene.last_reads,
        courses,
        saw_failure=scene.witness.saw_failure,
        kept_seconds=scene.campaign.rows_ttl_seconds,
    )
    complaints = [each for clerk in clerks for each in clerk.complaints]
    repeats = [entry.repeat for entry in entries if entry.repeat]
    batches = [batch for course in courses.values() for batch in course.batches]
    return Report(
        outcomes=Counter(
            f"{each.operation.kind}: {each.outcome}, {each.answer.status} {each.answer.code or ''}"
            for each in entries
        ),
        figures=Counter(
            {
                "batches": verdict.batches,
                "judged on one state": verdict.exact_batches,
                "with a lost answer": sum(batch.is_lost for batch in batches),
                "landed after their gateway was killed": sum(batch.is_late for batch in batches),
                "rows written": sum(len(batch.effects) for batch in batches),
                "rows removed": sum(len(batch.removed) for batch in batches),
                "edits by people": scene.history.edits,
                "tabs renamed": scene.history.renamings,
                "in another tab than before": sum(
                    commit.course.tab != entry.worksheet for entry, commit in verdict.commits
                ),
                "rows emptied": sum(len(batch.cleared) for batch in batches),
                "conditions of the key that sees some columns": sum(
                    each.operation.is_limited for each in entries
                ),
                "told that rows moved": sum(each.answer.code == ROWS_MOVED for each in entries),
                "refused for full metadata": sum(
                    each.answer.code == METADATA_FULL for each in entries
                ),
                "metadata filled": len(scene.full),
                "kills": len(scene.kills),
                "asked again": sum(entry.asks > 1 for entry in entries),
                "cut off": sum(entry.is_cut for entry in entries),
                "replays": sum(repeat.answer.is_replayed for repeat in repeats),
                "replays of rows that moved": _moved(repeats),
                "lists": len(reads),
                "lists judged": verdict.judged_lists,
                "stale lists": sum(clerk.stale_reads for clerk in clerks),
            }
        ),
        problems=(
            *verdict.problems,
            *problems_of_full_metadata(
                entries, scene.full, scene.witness.saw_lost_write, courses.values()
            ),
            *(Problem(kind="list", detail=each) for each in complaints),
        ),
        seconds=seconds,
    )


def _moved(repeats: Sequence[Repeat]) -> int:
    return sum(repeat.answer.code == NUMBER_UNKNOWN for repeat in repeats)
