"""Run a fleet: several gateway processes on PostgreSQL and Redis, with disturbances and clients.

Rules
- Clients run until they created enough rows and every disturbance of PostgreSQL and Redis happened.
- Then the disturbances stop: at least the last tenth of the creates runs undisturbed. At the end a
  client reads all rows from every process.
- A share of the calls to Google fails all the time.
- `per_minute` replaces Google's limit of 60. The emulator does not enforce it; the test checks the
  emulator's statistics.
"""

import asyncio
import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from pydantic import SecretStr

from gateway.settings.database import PostgresUrl
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from tests.journeys.conftest import create_keys
from tests.journeys.workbook import write_seed
from tests.simulation.asking import Patience
from tests.simulation.disturbances import filled_now_and_then
from tests.simulation.faults import Weather, plan
from tests.simulation.fleet.clients import (
    CONNECT_SECONDS,
    LONGEST_PAUSE_SECONDS,
    Client,
    Exchange,
)
from tests.simulation.fleet.disturbances import Pace, Trouble, disturbed
from tests.simulation.fleet.engines import Engines, running_engines
from tests.simulation.fleet.members import PEPPER, Member, running_fleet
from tests.simulation.fleet.verdict import KILL, Evidence, Log, chronicles, judge
from tests.simulation.report import Problem, Report
from tests.simulation.stage import (
    CREDENTIALS,
    NO_LIMIT,
    SPREADSHEET,
    WRITE_TIMEOUT_SECONDS,
    Tables,
    google,
)
from tests.simulation.verbs.history import History
from tests.simulation.verbs.operations import HEADER, LIMITED_FIELDS
from tests.simulation.witness import Witness

PLANNED_CALLS = 500
"""Number of calls of each kind for which one plan of faults suffices."""
BURST_SHARE = 0.9
"""Rate of the gateway's quota as a share of Google's limit; the burst is the rest."""
PROJECT_LIMITS = 5
LAST_TRIES = 30
LOOK_SECONDS = 0.2
LAST_SECONDS = 60.0
"""Seconds in which clients finish their open requests at the end."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Size of a campaign, and its disturbances."""

    creates: int = 2000
    runs: int = 1
    """Number of runs, each with the next seed."""
    seed: int = 1
    processes: int = 3
    clients: int = 16
    worksheets: int = 3
    updates: float = 0.6
    """Share of the creates that an update follows."""
    faults: float = 0.02
    """Share of Google's calls that fail."""
    slowest_look_ms: int = 0
    """Longest delay of a slow read in milliseconds, at least 500; 0 means no slow reads."""
    look_share: float = 0.1
    full_seconds: float = 0.0
    """Average seconds between two times when other programs fill the metadata; 0 means never."""
    partial_keys: float = 0.0
    """Share of the updates with a key that can access only some columns."""
    per_minute: int = 600
    """Google's limit of reads and of writes per minute."""
    latency_ms: int = 20
    latest_ms: int = 4500
    rows_ttl_seconds: float = 5.0
    kill_seconds: float = 2.0
    suspend_every_seconds: float = 90.0
    suspend_seconds: float = 40.0
    engine_seconds: float = 3.0
    """Average seconds between two disturbances of PostgreSQL or Redis; 0 means none."""
    hang_seconds: float = 3.0
    outage_seconds: float = 5.0
    """Seconds for which both PostgreSQL and Redis are down."""
    calm_seconds: float = 30.0
    answer_seconds: float = 15.0
    """Timeout of a request, after which the client asks another process."""
    end_seconds: float = 7200.0
    """Seconds after which the campaign gives up waiting for its clients."""

    @property
    def settings(self) -> Tables:
        rate = round(self.per_minute * BURST_SHARE)
        return {
            "google": {
                "write_timeout_seconds": WRITE_TIMEOUT_SECONDS,
                "reads_per_minute": rate,
                "writes_per_minute": rate,
                "project_reads_per_minute": PROJECT_LIMITS * rate,
                "project_writes_per_minute": PROJECT_LIMITS * rate,
            },
            "cache": {"rows_ttl_seconds": self.rows_ttl_seconds},
            "plans.paid": {"requests_per_minute": NO_LIMIT, "max_limit": 1000},
        }

    @property
    def pace(self) -> Pace:
        return Pace(
            kill_seconds=self.kill_seconds,
            suspend_every_seconds=self.suspend_every_seconds,
            suspend_seconds=self.suspend_seconds,
            engine_seconds=self.engine_seconds,
            hang_seconds=self.hang_seconds,
            outage_seconds=self.outage_seconds,
        )

    @property
    def weather(self) -> Weather:
        return Weather(
            share=self.faults,
            latest_ms=self.latest_ms,
            slowest_ms=600,
            timeout_ms=int(WRITE_TIMEOUT_SECONDS * 1000) + 1000,
            slowest_look_ms=self.slowest_look_ms,
            look_share=self.look_share,
        )

    @property
    def titles(self) -> Sequence[str]:
        return [f"Fleet{number}" for number in range(self.worksheets)]


def run(folder: Path, campaign: Fleet) -> Report:
    """Run a campaign in an empty folder."""
    seed = [f"{name}:seed" if name else "" for name in HEADER]
    text = "".join(",".join(row) + "\n" for row in (HEADER, seed))
    history = History(
        slowest_look_seconds=campaign.slowest_look_ms / 1000,
        kept_seconds=campaign.rows_ttl_seconds,
    )
    write_seed(folder / "seed", {SPREADSHEET: dict.fromkeys(campaign.titles, text)})
    with (
        running_engines(folder) as engines,
        google(
            folder,
            latency_ms=campaign.latency_ms,
            watch=lambda emulator: history.watch(emulator, SPREADSHEET),
        ) as (url, witness),
    ):
        return asyncio.run(_run(folder, campaign, engines, url, witness, history))


async def _run(
    folder: Path, campaign: Fleet, engines: Engines, url: str, witness: Witness, history: History
) -> Report:
    began = time.monotonic()
    keys = await _make_keys(engines.database)
    log = Log()
    async with running_fleet(
        folder, url, engines, campaign.settings, processes=campaign.processes
    ) as members:
        trouble = Trouble(
            members=members,
            engines=engines,
            chance=random.Random(campaign.seed),  # noqa: S311 - no secret
            pace=campaign.pace,
        )
        async with (
            _clients(campaign, members, keys, log) as clients,
            filled_now_and_then(
                url,
                folder / CREDENTIALS,
                [],
                random.Random(campaign.seed),  # noqa: S311 - no secret
                pause_seconds=campaign.full_seconds,
            ),
        ):
            weather = asyncio.create_task(_weather(campaign, url, witness))
            try:
                is_done = await _work(campaign, clients, trouble)
            finally:
                weather.cancel()
            httpx2.post(f"{url}/_emulator/faults", json=[]).raise_for_status()
            await asyncio.sleep(campaign.latest_ms / 1000)
            unread = await _read_all(clients, members)
        ends = [each for member in members for each in member.ends]
        failed_starts = sum(member.failed_starts for member in members)
        tracebacks = sum(member.gateway.log().count("Traceback") for member in members)
    kills = [span.since for span in trouble.spans if span.kind == KILL]
    evidence = Evidence(
        log=log,
        courses=history.courses(witness.sent, kills),
        spans=trouble.spans,
        saw_failure=witness.saw_failure,
        peaks=peaks_at(url),
        per_minute=campaign.per_minute,
        last_texts=last_texts_at(url),
    )
    problems = judge(evidence)
    if not is_done:
        problems.append(Problem(kind="unfinished", detail="clients waited for answers at the end"))
    problems += [Problem(kind="unread", detail=each) for each in unread]
    problems += [Problem(kind="ended", detail=each) for each in ends]
    return Report(
        lines=[
            *lines_of(log, witness),
            f"Google's calls in a minute at most: {dict(evidence.peaks)}",
            f"{failed_starts} starts failed, {tracebacks} tracebacks in logs",
        ],
        problems=problems,
        chronicles=[*chronicles(problems, evidence)],
        outcomes=trouble.counts,
        figures=Counter({"creates": log.creates}),
        seconds=time.monotonic() - began,
    )


async def _make_keys(database: str) -> Sequence[str]:
    """Return a key for all columns, and a key for some columns."""
    requests = {
        name: KeyRequest(
            name=name, grants=Grants(spreadsheets=frozenset({SPREADSHEET}), columns=columns)
        )
        for name, columns in (
            ("all", ALL_COLUMNS),
            ("some", ColumnGrant(frozenset(LIMITED_FIELDS))),
        )
    }
    made = await create_keys(PostgresUrl(SecretStr(database)), requests, pepper=PEPPER)
    return [made["all"], made["some"]]


@asynccontextmanager
async def _clients(
    campaign: Fleet, members: Sequence[Member], keys: Sequence[str], log: Log
) -> AsyncIterator[Sequence[Client]]:
    all_columns, some_columns = keys
    headers = {"Authorization": f"Bearer {all_columns}", "X-Spreadsheet-Id": SPREADSHEET}
    patience = Patience(
        answer_seconds=campaign.answer_seconds, asks=60, longest_pause_seconds=LONGEST_PAUSE_SECONDS
    )
    timeout = httpx2.Timeout(patience.answer_seconds, connect=CONNECT_SECONDS)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    wires = [
        httpx2.AsyncClient(base_url=each.url, headers=headers, limits=limits, timeout=timeout)
        for each in members
    ]
    numbers = itertools.count(1)
    chances = [
        random.Random(1000 * campaign.seed + number)  # noqa: S311 - no secret
        for number in range(campaign.clients)
    ]
    try:
        yield [
            Client(
                number=number,
                exchange=Exchange(clients=wires, chance=chance, log=log),
                worksheet=campaign.titles[number % campaign.worksheets],
                patience=patience,
                numbers=numbers,
                chance=chance,
                update_share=campaign.updates,
                partial_key=some_columns,
                partial_share=campaign.partial_keys,
            )
            for number, chance in enumerate(chances)
        ]
    finally:
        for wire in wires:
            await wire.aclose()


async def _work(campaign: Fleet, clients: Sequence[Client], trouble: Trouble) -> bool:
    """Run the clients with all disturbances, and then for a while without.

    Returns False if the clients did not finish in time.
    """
    log = clients[0].log
    ends_at = time.monotonic() + campaign.end_seconds
    ended = asyncio.Event()

    async def act(client: Client) -> None:
        while not ended.is_set():
            await client.act()

    acting = [asyncio.create_task(act(client)) for client in clients]

    async def until(is_done: Callable[[], bool]) -> None:
        """Wait for the condition. Raises the exception of a failed client."""
        while time.monotonic() < ends_at and not is_done():
            done, _ = await asyncio.wait(acting, timeout=LOOK_SECONDS)
            for task in done:
                task.result()

    async with disturbed(trouble):
        needs_round = campaign.engine_seconds > 0
        most = campaign.creates * 9 // 10
        await until(lambda: log.creates >= most and trouble.rounds >= needs_round)
    calm_until = time.monotonic() + campaign.calm_seconds
    await until(lambda: log.creates >= campaign.creates and time.monotonic() >= calm_until)
    ended.set()
    _, unfinished = await asyncio.wait(acting, timeout=LAST_SECONDS)
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*acting, return_exceptions=True)
    return not unfinished and log.creates >= campaign.creates


async def _weather(campaign: Fleet, url: str, witness: Witness) -> None:
    """Send the emulator new faults before those of the last plan can be used up."""
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    async with httpx2.AsyncClient(base_url=url) as client:
        planned_for = 0
        while True:
            if witness.batches >= planned_for:
                planned_for = witness.batches + PLANNED_CALLS
                faults = plan(chance, campaign.weather, batches=PLANNED_CALLS, reads=PLANNED_CALLS)
                (await client.post("/_emulator/faults", json=faults)).raise_for_status()
            await asyncio.sleep(1.0)


async def _read_all(clients: Sequence[Client], members: Sequence[Member]) -> list[str]:
    """Read all rows of each worksheet from each process. Returns the names of failed reads."""
    rows: dict[str, list[int]] = defaultdict(list)
    for client in clients:
        rows[client.worksheet] += client.rows
    first = {client.worksheet: client for client in reversed(clients)}
    unread = []
    for title, client in first.items():
        for member in members:
            for _ in range(LAST_TRIES):
                if await client.read_all(member.number, rows[title]):
                    break
                await asyncio.sleep(1.0)
            else:
                unread.append(f"{title} at process {member.number}")
    return unread


def peaks_at(url: str) -> dict[str, int]:
    """Return the maximum calls per minute, by account and kind of call."""
    stats: Mapping[str, Any] = httpx2.get(f"{url}/_emulator/stats").json()
    return {
        f"{account} {sort}": usage[f"peak_{sort}"]
        for project in stats["projects"].values()
        for account, usage in project["accounts"].items()
        for sort in ("reads", "writes")
    }


def last_texts_at(url: str) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return all cells of the worksheets in the emulator, by title."""
    answer = httpx2.get(f"{url}/_emulator/spreadsheets/{SPREADSHEET}", timeout=60.0)
    return {
        title: [[cell["text"] for cell in row] for row in rows]
        for title, rows in answer.raise_for_status().json().items()
    }


def lines_of(log: Log, witness: Witness) -> Iterator[str]:
    """Yield lines of figures for the report."""
    outcomes = Counter(f"{each.operation.kind} {each.outcome}" for each in log.entries)
    yield f"{len(log.entries)} writes: {dict(outcomes)}"
    yield (
        f"{witness.batches} batches, {len(witness.lost)} rows in lost ones; "
        f"{sum(each.asks > 1 for each in log.entries)} asked again, {log.replays} replays"
    )
    alone = sum(each.is_alone for each in log.writes)
    yield f"{len(log.writes)} writes acknowledged, {alone} of them alone"
    yield (
        f"{len(log.reads)} reads, {sum(each.is_alone for each in log.reads)} of them alone, "
        f"{sum(each.is_stale for each in log.reads)} marked stale"
    )
    statuses = Counter(
        f"{each.status} {each.code or each.text}".strip()
        for each in log.attempts
        if each.status not in (200, 201)
    )
    yield f"answers beside 200 and 201: {dict(statuses.most_common())}"
