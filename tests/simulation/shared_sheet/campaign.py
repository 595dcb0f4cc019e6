"""Two gateways with stores of their own, and a script, on one worksheet with sparse rows.

Rules
- Clients of both gateways create rows and update rows that they read shortly before, while Google
  fails and the script appends and moves rows.
- Nobody removes rows: every row that was acknowledged is there once at the end.
- What counts is what the emulator applied; neither gateway is asked.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from threading import Event
from typing import cast

import httpx2
from starlette.types import ASGIApp

from gateway.access.issue import KeyRequest
from gateway.app import create_app
from gateway.google.sheets import Sheets
from gateway.server.running import in_background, make_gateway_server
from gateway.server.sockets import bind
from gateway.settings.model import GoogleSettings, load_settings
from gateway.storage.key_store import Grants
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.conftest import LOOKS_EACH_TIME, create_keys
from tests.journeys.workbook import write_seed
from tests.simulation.fire.campaign import IMPATIENT, unexplained
from tests.simulation.fire.clients import Clerk
from tests.simulation.fire.faults import Weather, plan
from tests.simulation.fire.ledger import Entry, Problem, problems_of
from tests.simulation.fire.metadata import filled_now_and_then
from tests.simulation.fire.orders import FIRST_VISITED
from tests.simulation.fire.stage import WRITE_TIMEOUT_SECONDS, numbers_at
from tests.simulation.fire.truth import FIRST_UPDATE, Truth
from tests.simulation.fire.witness import Witness
from tests.simulation.reads.visitor import visitor
from tests.simulation.shared_sheet.clients import Editor
from tests.simulation.shared_sheet.defects import Defect
from tests.simulation.shared_sheet.looks import Looks, NotedSheets
from tests.simulation.shared_sheet.script import append_until, edit_on_the_way
from tests.simulation.shared_sheet.sheet import SPREADSHEET, TEXT, TITLE, sparse_creates
from tests.simulation.shared_sheet.verdicts import (
    judge_numbers,
    met,
    misreported,
    silent,
    unseen,
    wrongly_refused,
)
from tests.simulation.stage import CREDENTIALS, KEYS, served
from tests.stand_in import open_google, stand_in

GATEWAYS = 2
NUMBERS = 100_000_000
"""Of the rows of each gateway."""
KNOWN = 15
"""Rows of so many creates of each gateway are updated, the last ones."""
MOST_PROBLEMS = 20
SOUND = Defect()


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """How many operations there are, and what disturbs them."""

    operations: int = 200
    """Creates and conditional updates, of both gateways together."""
    clients: int = 6
    """Of each gateway."""
    update_share: float = 0.5
    fault_share: float = 0.1
    latest_ms: int = 2500
    latency_ms: int = 20
    script_pause_seconds: float = 0.05
    read_pause_seconds: float = 0.2
    """Between a read and the update under its tag, at most."""
    rows_ttl_seconds: float = 0.3
    slowest_look_ms: int = 0
    """Slow looks take half a second at least, and so long at most; 0: there are none."""
    look_share: float = 0.1
    trip_share: float = 0.0
    """So many writes meet a script that sorts all rows or inserts one, on their way."""
    full_seconds: float = 0.0
    """Between two times at which others fill the metadata, on average; 0: never."""
    seed: int = 1
    end_seconds: float = 600.0
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
class Outcome:
    """What came of one worksheet, or of several."""

    creates: Counter[str] = field(default_factory=Counter)
    """By their outcomes."""
    updates: Counter[str] = field(default_factory=Counter)
    """By their outcomes and statuses."""
    figures: Counter[str] = field(default_factory=Counter)
    longest_seconds: float = 0.0
    """From a look's answer to the commit of an update that met another state."""
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0

    @property
    def kinds(self) -> set[str]:
        return {problem.kind for problem in self.problems}

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(
            creates=self.creates + other.creates,
            updates=self.updates + other.updates,
            figures=_sum(self.figures, other.figures),
            longest_seconds=max(self.longest_seconds, other.longest_seconds),
            problems=(*self.problems, *other.problems),
            seconds=self.seconds + other.seconds,
        )

    def __str__(self) -> str:
        sorts = Counter(problem.kind for problem in self.problems)
        lines = [
            f"{self.creates.total()} creates in {self.seconds:.0f} s: {dict(self.creates)}",
            f"{self.updates.total()} conditional updates: {dict(self.updates)}",
            *(f"{name}: {number}" for name, number in self.figures.items()),
            f"longest time from look to commit of an update in a changed row: "
            f"{self.longest_seconds:.2f} s",
            f"problems: {dict(sorts) or 'none'}",
            *(f"  {each.kind}: {each.detail}" for each in self.problems[:MOST_PROBLEMS]),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The clients of one gateway."""

    clerk: Clerk
    editor: Editor
    operations: Iterator[bool]
    """For each that is left, whether it is an update."""


async def run(folder: Path, campaign: Sharing, defect: Defect = SOUND) -> Outcome:
    """All operations on a new worksheet, then what came of them; `defect` is the gateways'."""
    write_seed(folder / "seed", {SPREADSHEET: {TITLE: TEXT}})
    emulator = create_emulator(
        EmulatorOptions(seed=folder / "seed", latency_ms=campaign.latency_ms)
    )
    witness = Witness(app=emulator.app, patience_seconds=WRITE_TIMEOUT_SECONDS)
    witness.watch(emulator, SPREADSHEET)
    looks = Looks()
    folders = _make_folders(folder)
    keys = [await _make_key(each) for each in folders]
    began = time.monotonic()
    with served(emulator, witness, folder) as google_url, ExitStack() as stack:
        urls = [
            stack.enter_context(_gateway(each, google_url, campaign, looks, defect))
            for each in folders
        ]
        async with _clients(urls, keys, campaign) as clients:
            script_rows = await _course(clients, google_url, folder / CREDENTIALS, campaign)
        await asyncio.sleep(campaign.latest_ms / 1000)
        is_as_noted = numbers_at(google_url, SPREADSHEET) == witness.truth.numbers()
    return _judged(
        clients,
        witness,
        looks,
        script_rows=script_rows,
        is_as_noted=is_as_noted,
        seconds=time.monotonic() - began,
    )


def _make_folders(folder: Path) -> Sequence[Path]:
    """One for each gateway, since each has a key store and a pepper of its own."""
    folders = [folder / f"gateway-{number}" for number in range(GATEWAYS)]
    for each in folders:
        each.mkdir()
    return folders


async def _make_key(folder: Path) -> str:
    request = KeyRequest(name="shared", grants=Grants(spreadsheets=frozenset({SPREADSHEET})))
    return (await create_keys(folder / KEYS, {"shared": request}))["shared"]


@contextmanager
def _gateway(
    folder: Path, google_url: str, campaign: Sharing, looks: Looks, defect: Defect
) -> Iterator[str]:
    given = {
        "google.endpoint": google_url,
        "google.credentials": str(folder.parent / CREDENTIALS),
        "google.write_timeout_seconds": WRITE_TIMEOUT_SECONDS,
        "access.database": str(folder / KEYS),
        "cache.rows_ttl_seconds": campaign.rows_ttl_seconds,
        "plans.paid.max_concurrent": 0,
    }
    settings = load_settings(None, {}, {**LOOKS_EACH_TIME, **given})
    app: ASGIApp = create_app(settings, stand_in(partial(_opened, settings.google, looks, defect)))
    server = make_gateway_server(defect.app(app), settings.server)
    with in_background(server, bind("127.0.0.1", 0)) as url:
        yield url


@asynccontextmanager
async def _opened(settings: GoogleSettings, looks: Looks, defect: Defect) -> AsyncIterator[Sheets]:
    async with open_google(settings) as sheets:
        yield defect.sheets(cast(Sheets, NotedSheets(sheets, looks)))


@asynccontextmanager
async def _clients(
    urls: Sequence[str], keys: Sequence[str], campaign: Sharing
) -> AsyncIterator[Sequence[Clients]]:
    numbers = count(FIRST_UPDATE)
    is_up = asyncio.Event()
    is_up.set()
    clerks: list[Clerk] = []
    found = []

    def rows() -> Sequence[int]:
        known = [
            place for each in clerks for entry in each.entries[-KNOWN:] for place in entry.places
        ]
        return known or [2]

    async with AsyncExitStack() as stack:
        for index, (url, key) in enumerate(zip(urls, keys, strict=True)):
            client = (await stack.enter_async_context(visitor(url, key, SPREADSHEET))).client
            chance = random.Random(campaign.seed * GATEWAYS + index)  # noqa: S311 - no secret
            clerks.append(
                Clerk(
                    client=client,
                    worksheet=TITLE,
                    patience=IMPATIENT,
                    is_up=is_up,
                    numbers=numbers,
                    chance=chance,
                )
            )
            editor = Editor(
                client=client,
                worksheet=TITLE,
                patience=IMPATIENT,
                numbers=numbers,
                chance=chance,
                rows=rows,
                longest_pause_seconds=campaign.read_pause_seconds,
            )
            size = campaign.operations // GATEWAYS
            kinds = [chance.random() < campaign.update_share for _ in range(size)]
            found.append(Clients(clerk=clerks[-1], editor=editor, operations=iter(kinds)))
        yield found


async def _course(
    clients: Sequence[Clients], google_url: str, credentials: Path, campaign: Sharing
) -> int:
    """All operations, and the script as long as they take; how many rows it appended."""
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    faults = plan(
        chance,
        campaign.weather,
        batches=campaign.operations,
        reads=2 * campaign.operations,
        edit=lambda: edit_on_the_way(chance),
    )
    httpx2.post(f"{google_url}/_emulator/faults", json=faults).raise_for_status()
    is_over = Event()
    script = asyncio.create_task(
        asyncio.to_thread(
            append_until,
            is_over,
            google_url,
            credentials,
            pause_seconds=campaign.script_pause_seconds,
            seed=campaign.seed,
        )
    )
    try:
        async with (
            filled_now_and_then(
                google_url,
                credentials,
                [],
                chance,
                pause_seconds=campaign.full_seconds,
                spreadsheet=SPREADSHEET,
            ),
            asyncio.timeout(campaign.end_seconds),
        ):
            await asyncio.gather(
                *(_work(each, index, campaign) for index, each in enumerate(clients))
            )
    finally:
        is_over.set()
        appended = await script
    return appended


async def _work(clients: Clients, index: int, campaign: Sharing) -> None:
    creates = sparse_creates(clients.clerk.chance, first=1 + index * NUMBERS)

    async def one() -> None:
        for is_update in clients.operations:
            if is_update:
                await clients.editor.update()
            else:
                await clients.clerk.perform(next(creates))

    await asyncio.gather(*(one() for _ in range(campaign.clients)))


def _judged(
    clients: Sequence[Clients],
    witness: Witness,
    looks: Looks,
    *,
    script_rows: int,
    is_as_noted: bool,
    seconds: float,
) -> Outcome:
    truth = witness.truth
    entries = [entry for each in clients for entry in each.clerk.entries]
    updates = [update for each in clients for update in each.editor.updates]
    update_entries = [update.entry for update in updates]
    made = met(updates, truth, looks.before)
    changed = [each for each in made if not each.is_as_named]
    later = witness.lost | witness.outside_answers()
    numbers = judge_numbers(entries, truth, later)
    for_no_reason = unexplained([*entries, *update_entries], witness.saw_failure)
    problems = [
        *problems_of(entries, truth, update_entries),
        *unseen(made),
        *misreported(made, witness.saw_failure),
        *silent(made, witness.saw_failure),
        *wrongly_refused(updates, truth),
        *numbers.problems,
        *(Problem(kind="moved", detail=each) for each in truth.displaced),
        *_not_there_once(entries, truth, script_rows),
        *(Problem(kind="unexplained", detail=str(each)) for each in for_no_reason),
    ]
    if not is_as_noted:
        problems.append(Problem(kind="witness", detail="the worksheet is not as noted"))
    return Outcome(
        creates=Counter(entry.outcome for entry in entries),
        updates=Counter(f"{each.entry.outcome}, {each.status}" for each in updates),
        figures=Counter(
            {
                "worksheets with fences of both gateways": int(_fence_keys(truth) == GATEWAYS),
                "rows created": len(truth.effects),
                "row numbers true at the commit": numbers.at_commit,
                "other row numbers of a later look": numbers.later,
                "batches": witness.batches,
                "rows in batches without a good answer": len(witness.lost),
                "rows that their answer does not show": len(later - witness.lost),
                "creates asked for again": sum(entry.asks > 1 for entry in entries),
                "replays": sum(each.clerk.replays for each in clients),
                "reads for a tag that failed": sum(each.editor.failed_reads for each in clients),
                "rows appended by the script": script_rows,
                "moves of rows by the script": _moves(truth),
                "moves of rows by gateways": len(truth.displaced),
                "cells overwritten by gateways": len(truth.overwritten),
                "conditional updates committed": len(made),
                "in a row that changed after the look": len(changed),
                "of them in another record": sum(each.is_other_record for each in changed),
            }
        ),
        longest_seconds=max((each.seconds for each in changed), default=0.0),
        problems=tuple(problems),
        seconds=seconds,
    )


def _not_there_once(entries: Sequence[Entry], truth: Truth, script_rows: int) -> Iterator[Problem]:
    """Acknowledged rows that are not there, or twice, at the end."""
    there = truth.numbers()
    acknowledged = [number for entry in entries if entry.places for number in entry.numbers]
    for number in [*acknowledged, *range(FIRST_VISITED, FIRST_VISITED + script_rows)]:
        if there[number] != 1:
            detail = f"{number} is there {there[number]} times at the end"
            yield Problem(kind="doubled" if there[number] else "lost", detail=detail)


def _sum(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """The sums of all figures, also of those that are zero."""
    total = Counter(one)
    total.update(other)
    return total


def _fence_keys(truth: Truth) -> int:
    metadata = truth.workbook.metadata if truth.workbook else ()
    return len({each.key for each in metadata})


def _moves(truth: Truth) -> int:
    """How often a row got another number; gateways move none, so it was the script."""
    return sum(
        before.rows != after.rows and bool(before.rows)
        for stays in truth.stays.values()
        for before, after in pairwise(stays)
    )
