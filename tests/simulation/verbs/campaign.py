"""Send operations of all kinds to a few worksheets, while Google fails and people edit rows.

Rules
- The check uses the emulator's record: all versions of the worksheets and the gateways' batches
  between them. It does not ask a gateway.
- People change rows at any time, also between a batch and the read (look) on which the batch was
  planned. So a batch is checked against the versions of that time. If only its own gateway changed
  rows, there is one such version.
- Open writes of a killed gateway are in its store, except creates without a key. The next gateway
  finds out their outcome before it writes to the same rows.
- Between two waves of operations a person moves a column. No write is running at Google then,
  because a late effect would hit the old columns, and no gateway is killed until each knows the new
  header.
- Columns can be filled down: rows with values only in these columns are not records. Every new row
  then has these values, too.
- Options add rarer events: exchanged tab titles, slow reads, full metadata, deletes that only clear
  rows, keys with limited columns, and edits just before a write.
- Other scenarios (fire, shared_sheet, overwritten) are settings of this campaign.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

import httpx2

from gateway.table.header import ALL_COLUMNS, ColumnGrant
from tests.journeys.workbook import write_seed
from tests.simulation.asking import Patience
from tests.simulation.command import in_turn
from tests.simulation.disturbances import (
    Span,
    edited_now_and_then,
    filled_now_and_then,
    killed_now_and_then,
)
from tests.simulation.faults import Weather, plan
from tests.simulation.people import HABITS, Person
from tests.simulation.report import Problem, Report
from tests.simulation.stage import (
    CREDENTIALS,
    HEADER_TTL_SECONDS,
    NO_LIMIT,
    SETTINGS,
    SPREADSHEET,
    WRITE_TIMEOUT_SECONDS,
    Tables,
    client_of,
    gateway_process,
    google,
    logged_to,
    make_keys,
)
from tests.simulation.verbs.answers import (
    METADATA_FULL,
    NUMBER_UNKNOWN,
    PRECONDITION,
    ROWS_MOVED,
    problems_of_full_metadata,
)
from tests.simulation.verbs.clients import Clerk, work_all
from tests.simulation.verbs.defects import Defect, Gateway, gateway_with
from tests.simulation.verbs.entries import ListRead
from tests.simulation.verbs.history import LOOK_SECONDS, History
from tests.simulation.verbs.operations import (
    ARCHIVE,
    HEADER,
    LIMITED_FIELDS,
    Draw,
    Mixture,
    native_tables,
    seed_texts,
    titles,
)
from tests.simulation.verbs.verdict import judge
from tests.simulation.witness import Witness

OPERATIONS = 1000
"""Maximum operations on one spreadsheet; more would fill the metadata in three minutes."""
ANSWER_SECONDS = 60.0
LONGEST_ROW = 1000
WINDOW_ABOVE_CELLS = 100
FILLED_ROWS = 200
"""Rows below the records that contain only filled-down columns; people use some of them."""
TAG_READ = "read for a tag: "
"""Prefix of the status of failed reads of an ETag in a report; 0 means no answer."""


@dataclass(frozen=True, kw_only=True)
class Verbs:
    """Number of operations, and their disturbances."""

    operations: int = OPERATIONS
    seconds: float = 0.0
    """Duration, used instead of the number of operations; 0 to use the number."""
    worksheets: int = 4
    gateways: int = 1
    """Number of gateways, each with its own store; several gateways are not killed."""
    clients: int = 8
    """Number of clients of each worksheet at each gateway."""
    waves: int = 1
    """Number of waves; between two waves a person moves a column."""
    fault_share: float = 0.05
    latest_ms: int = 4500
    kill_seconds: float = 8.0
    """Average seconds between two kills; 0 means none."""
    visit_seconds: float = 0.4
    """Average seconds between two edits of people; 0 means none."""
    read_share: float = 0.3
    """Share of the operations that a read follows."""
    rest_seconds: float = 0.0
    """Longest pause of a client before each operation."""
    read_pause_seconds: float = 0.0
    """Longest pause between the read of an ETag and the write with this ETag."""
    moves_columns: bool = False
    """True if people move columns at any time, so that writes can go to another column."""
    swaps_tabs: bool = False
    """True if people exchange titles of worksheets, also with a worksheet that no client uses."""
    slowest_look_ms: int = 0
    """Longest delay of a slow read in milliseconds, at least 500; 0 means no slow reads."""
    look_share: float = 0.1
    """Share of the reads that are slow."""
    trip_share: float = 0.0
    """Share of the writes that meet an edit of a person between their read and their effect."""
    partial_keys: float = 0.0
    """Share of conditional updates and deletes with a key for only some columns."""
    clears: bool = False
    """True if a delete clears the row and does not remove it."""
    full_seconds: float = 0.0
    """Average seconds between two times when other programs fill the metadata; 0 means never."""
    has_windows: bool = False
    """True if the gateway reads even small worksheets in windows."""
    header_ttl_seconds: float = HEADER_TTL_SECONDS
    rows_ttl_seconds: float = 1.0
    latency_ms: int = 20
    more_rows: int = 0
    """Additional rows of each worksheet before all operations."""
    title_rows: int = 0
    """Rows above the header of each worksheet; the gateways' settings name the header row."""
    native_table: bool = False
    """True if the rows of each worksheet are a native table, below which people append rows."""
    filled_down: bool = False
    """True if two columns are filled down below the records; people use these rows."""
    writes_per_minute: int = NO_LIMIT
    """The gateway's quota of writes."""
    look_seconds: float = LOOK_SECONDS
    """Maximum age of the read on which a batch was planned, when the batch reaches Google."""
    has_repeatable_ids: bool = False
    """True if Google reuses metadata IDs; the gateway then waits longer after lost answers."""
    asks: int = 60
    """Maximum number of requests for one write with an Idempotency-Key."""
    longest_pause: float = 1.0
    """Longest pause in seconds between two requests for one write."""
    seed: int = 1
    end_seconds: float = 600.0
    """Seconds after which the campaign gives up waiting for its clients."""
    mixture: Mixture = field(default_factory=Mixture)
    habits: Mapping[str, int] = field(default_factory=lambda: HABITS)
    """Weights of the kinds of edits of people."""
    leaves_blank: frozenset[str] = frozenset()
    """Fields that are empty in half of the rows that people add."""

    @property
    def patience(self) -> Patience:
        return Patience(
            answer_seconds=ANSWER_SECONDS,
            asks=self.asks,
            longest_pause_seconds=self.longest_pause,
        )

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
            "google": {**SETTINGS["google"], "writes_per_minute": self.writes_per_minute},
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


@dataclass(kw_only=True)
class Scene:
    """The parts of a running campaign: emulator, witness, gateways, clients and people."""

    campaign: Verbs
    folder: Path
    url: str
    """URL of the emulator."""
    witness: Witness
    history: History
    person: Person
    full: list[Span] = field(default_factory=list)
    """Time spans in which the metadata was full."""
    kills: list[float] = field(default_factory=list)
    calm: asyncio.Lock = field(default_factory=asyncio.Lock)
    """While this lock is held, no gateway is killed and people change nothing."""
    clerks: list[Clerk] = field(default_factory=list)
    last_reads: list[ListRead] = field(default_factory=list)

    def chance(self, number: int = 0) -> random.Random:
        return random.Random(self.campaign.seed * 100 + number)  # noqa: S311 - no secret


def run(folder: Path, campaign: Verbs, defect: Defect | None = None) -> Report:
    """Run all operations on a new spreadsheet, in an empty folder.

    With a `defect` the gateways run in this process and are not killed, and `folder / "log"` is
    their log.
    """
    seeds = seed_texts(
        campaign.worksheets,
        has_archive=campaign.swaps_tabs,
        more_rows=campaign.more_rows,
        title_rows=campaign.title_rows,
        filled_rows=FILLED_ROWS * campaign.filled_down,
    )
    if campaign.native_table:  # with a blank row
        seeds = {title: f"{text},\n" for title, text in seeds.items()}
    write_seed(folder / "seed", {SPREADSHEET: seeds})
    if campaign.native_table:
        body = {"requests": native_tables(seeds, header_row=campaign.title_rows + 1)}
        (folder / "seed" / f"{SPREADSHEET}.json").write_text(json.dumps(body))
    history = History(
        header_row=campaign.title_rows + 1,
        slowest_look_seconds=campaign.slowest_look_ms / 1000,
        kept_seconds=campaign.rows_ttl_seconds,
        look_seconds=campaign.look_seconds,
    )
    with google(
        folder,
        latency_ms=campaign.latency_ms,
        repeatable_metadata_ids=campaign.has_repeatable_ids,
        watch=lambda emulator: history.watch(emulator, SPREADSHEET),
    ) as (url, witness):
        person = Person(
            url=url,
            credentials=folder / CREDENTIALS,
            truth=history,
            chance=random.Random(campaign.seed),  # noqa: S311 - no secret
            moves_columns=campaign.moves_columns,
            swaps_tabs=campaign.swaps_tabs,
            habits={**campaign.habits, **({"append by script": 0} if campaign.filled_down else {})},
            columns=len(HEADER) if campaign.filled_down else None,
            header_row=campaign.title_rows + 1,
            leaves_blank=campaign.leaves_blank.union(
                LIMITED_FIELDS if campaign.partial_keys else ()
            ),
        )
        scene = Scene(
            campaign=campaign,
            folder=folder,
            url=url,
            witness=witness,
            history=history,
            person=person,
        )
        began = time.monotonic()
        with nullcontext() if defect is None else logged_to(folder / "log"):
            asyncio.run(_run(scene, defect))
        return _report(scene, time.monotonic() - began)


def run_parts(folder: Path, campaign: Verbs) -> Report:
    """Run the operations on one spreadsheet after the other; print a report for each."""
    parts = [
        replace(
            campaign,
            seed=campaign.seed + number,
            operations=min(OPERATIONS, campaign.operations - first),
        )
        for number, first in enumerate(range(0, campaign.operations, OPERATIONS))
    ]
    return in_turn(folder, {part.seed: partial(run, campaign=part) for part in parts})


async def _run(scene: Scene, defect: Defect | None) -> None:
    campaign, url = scene.campaign, scene.url
    await asyncio.to_thread(scene.person.arrive)
    calls = campaign.operations * campaign.gateways
    faults = plan(
        scene.chance(),
        campaign.weather,
        batches=calls,
        reads=calls,
        edit=scene.person.edit_on_the_way,
    )
    async with AsyncExitStack() as stack:
        for number in range(campaign.gateways):
            await stack.enter_async_context(_gateway(scene, number, defect))
        async with (
            edited_now_and_then(
                scene.person,
                scene.chance(),
                pause_seconds=campaign.visit_seconds,
                calm=scene.calm,
            ),
            filled_now_and_then(
                url,
                scene.folder / CREDENTIALS,
                scene.full,
                scene.chance(),
                pause_seconds=campaign.full_seconds,
            ),
            asyncio.timeout(campaign.end_seconds),
        ):
            httpx2.post(f"{url}/_emulator/faults", json=faults).raise_for_status()
            for wave in range(campaign.waves):
                await _work(scene, wave)
        await asyncio.sleep(campaign.latest_ms / 1000)
        httpx2.post(f"{url}/_emulator/faults", json=[]).raise_for_status()
        async with scene.calm:
            for clerk in scene.clerks:
                read = await clerk.read(no_cache=True)
                scene.last_reads += [read] if read else []


async def _work(scene: Scene, wave: int) -> None:
    """Run the operations of a wave; before each wave but the first a person moves a column."""
    campaign, clerks = scene.campaign, scene.clerks
    left = campaign.operations // campaign.waves
    if wave:
        async with scene.calm:
            await asyncio.sleep(campaign.latest_ms / 1000)
            await asyncio.to_thread(scene.person.move_column)
            await asyncio.sleep(campaign.header_ttl_seconds)
            await work_all(clerks, range(len(clerks)), 1)
        left -= len(clerks)
    ends_at = time.monotonic() + campaign.seconds
    waiting: Iterable[object] = range(left)
    if campaign.seconds:
        waiting = iter(lambda: time.monotonic() < ends_at, False)
    await work_all(clerks, waiting, campaign.clients)


@asynccontextmanager
async def _gateway(scene: Scene, number: int, defect: Defect | None) -> AsyncIterator[None]:
    """Run a gateway with its own store and its clients."""
    campaign = scene.campaign
    own = scene.folder / f"gateway-{number}"
    own.mkdir()
    columns = {"all": ALL_COLUMNS, "some": ColumnGrant(frozenset(LIMITED_FIELDS))}
    keys = await make_keys(own, columns)
    settings = {
        **campaign.settings,
        "google": {
            **campaign.settings["google"],
            "credentials": str(scene.folder / CREDENTIALS),
        },
    }
    async with AsyncExitStack() as stack:
        if defect is None:
            gateway: Gateway = (mortal := gateway_process(own, scene.url, settings))
            if campaign.title_rows:
                _name_header_rows(own / "config.toml", campaign)
            killing = killed_now_and_then(
                mortal,
                scene.kills,
                scene.chance(),
                pause_seconds=campaign.kill_seconds if campaign.gateways == 1 else 0.0,
                calm=scene.calm,
            )
            await stack.enter_async_context(killing)
        else:
            gateway = stack.enter_context(gateway_with(defect, own, scene.url, settings))
        clients = [
            await stack.enter_async_context(client_of(gateway.url, key)) for key in keys.values()
        ]
        numbers = scene.clerks[0].draw.numbers if scene.clerks else count(1)
        for index, title in enumerate(titles(campaign.worksheets)):
            draw = Draw(
                chance=scene.chance(index + number * campaign.worksheets),
                mixture=replace(campaign.mixture, partial_keys=campaign.partial_keys),
                numbers=numbers,
                header_row=campaign.title_rows + 1,
            )
            clerk = Clerk(
                client=clients[0],
                limited_client=clients[1],
                patience=campaign.patience,
                is_up=gateway.is_up,
                read_share=campaign.read_share,
                rest_seconds=campaign.rest_seconds,
                pause_seconds=campaign.read_pause_seconds,
                worksheet=title,
                draw=draw,
                last_row=2 + campaign.more_rows + campaign.title_rows,
            )
            scene.clerks.append(clerk)
        yield


def _name_header_rows(config: Path, campaign: Verbs) -> None:
    """Add the header row of each worksheet to a configuration, for every title."""
    with config.open("a") as file:
        for title in (*titles(campaign.worksheets), ARCHIVE):
            file.write(
                f'[[worksheets]]\nspreadsheet = "{SPREADSHEET}"\ntitle = "{title}"\n'
                f"header_row = {campaign.title_rows + 1}\n"
            )


def _report(scene: Scene, seconds: float) -> Report:
    entries = [entry for clerk in scene.clerks for entry in clerk.entries]
    reads = [read for clerk in scene.clerks for read in clerk.reads]
    courses = scene.history.courses(scene.witness.sent, scene.kills)
    verdict = judge(
        entries,
        reads,
        scene.last_reads,
        courses,
        saw_failure=scene.witness.saw_failure,
        kept_seconds=scene.campaign.rows_ttl_seconds,
    )
    complaints = [each for clerk in scene.clerks for each in clerk.complaints]
    repeats = [entry.repeat for entry in entries if entry.repeat]
    batches = [batch for course in courses.values() for batch in course.batches]
    outcomes = Counter(
        f"{each.operation.kind}: {each.outcome}, {each.answer.status} {each.answer.code or ''}"
        for each in entries
    )
    failed_reads = sum((clerk.failed_reads for clerk in scene.clerks), Counter[int]())
    outcomes.update({f"{TAG_READ}{status}": times for status, times in failed_reads.items()})
    codes = Counter(each.answer.code for each in entries)
    conditional = [each for each in entries if each.operation.tag is not None]
    figures = {
        "batches": verdict.batches,
        "gateways that wrote": len({batch.key for batch in batches}),
        "judged on one state": verdict.exact_batches,
        "with a lost answer": sum(batch.is_lost for batch in batches),
        "landed after their gateway was killed": sum(batch.is_late for batch in batches),
        "rows written": sum(len(batch.effects) for batch in batches),
        "rows removed": sum(len(batch.removed) for batch in batches),
        "edits by people": scene.history.edits,
        "rows moved by people": sum(course.moves for course in courses.values()),
        "rows removed by people": sum(course.removals for course in courses.values()),
        "tabs renamed": scene.history.renamings,
        "in another tab than before": sum(
            commit.course.tab != entry.worksheet for entry, commit in verdict.commits
        ),
        "rows emptied": sum(len(batch.cleared) for batch in batches),
        "conditions of the key that sees some columns": sum(
            each.operation.is_limited for each in entries
        ),
        "conditions that held": sum(each.was_applied for each in conditional),
        "conditions that did not hold": codes[PRECONDITION],
        "reads for a tag that failed": failed_reads.total(),
        "told that rows moved": codes[ROWS_MOVED],
        "refused for full metadata": codes[METADATA_FULL],
        "metadata filled": len(scene.full),
        "kills": len(scene.kills),
        "updates": sum(each.operation.kind == "update" for each in entries),
        "asked again": sum(entry.asks > 1 for entry in entries),
        "cut off": sum(entry.is_cut for entry in entries),
        "replays": sum(repeat.answer.is_replayed for repeat in repeats),
        "replays of rows that moved": sum(
            repeat.answer.code == NUMBER_UNKNOWN for repeat in repeats
        ),
        "milliseconds from a request to its write, at most": round(
            max(
                (1000 * (made.batch.at - each.asked_at) for each, made in verdict.commits),
                default=0,
            )
        ),
        "lists": len(reads),
        "lists judged": verdict.judged_lists,
        "stale lists": sum(clerk.stale_reads for clerk in scene.clerks),
    }
    return Report(
        title=f"{len(entries)} operations in ",
        outcomes=outcomes,
        figures=Counter(figures),
        problems=[
            *verdict.problems,
            *problems_of_full_metadata(
                entries, scene.full, scene.witness.saw_lost_write, courses.values()
            ),
            *(Problem(kind="list", detail=each) for each in complaints),
        ],
        seconds=seconds,
    )
