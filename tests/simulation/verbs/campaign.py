"""All kinds of writes by many clients, under faults and kills, with a person who edits."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx2

from gateway.access.issue import KeyRequest
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.journeys.conftest import create_keys
from tests.journeys.mortal import Mortal
from tests.journeys.workbook import write_seed
from tests.simulation.fire.clients import Patience
from tests.simulation.fire.faults import Weather, plan
from tests.simulation.fire.orders import FIRST_VISITED, SPREADSHEET
from tests.simulation.fire.person import Person
from tests.simulation.fire.stage import HEADER_TTL_SECONDS, WRITE_TIMEOUT_SECONDS
from tests.simulation.fire.witness import Witness
from tests.simulation.stage import CREDENTIALS, KEYS, NO_LIMIT, gateway_process, served
from tests.simulation.verbs.clients import GROUPS, Operation, Outcome, Writer
from tests.simulation.verbs.history import History, texts_of
from tests.simulation.verbs.verdict import Problem, Verdict, kinds_of

PLAN = {"deletes": True, "max_affected": 500, "requests_per_minute": NO_LIMIT, "max_limit": 1000}
PATIENCE = Patience(answer_seconds=30.0, asks=60, longest_pause_seconds=1.0)


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """How large a campaign is and how hot."""

    operations: int = 1000
    seed: int = 1
    worksheets: int = 4
    clients: int = 32
    fault_share: float = 0.05
    latest_ms: int = 4500
    kill_seconds: float = 6.0
    visit_seconds: float = 0.5
    latency_ms: int = 10
    end_seconds: float = 3600.0


@dataclass(frozen=True, kw_only=True)
class Report:
    operations: Sequence[Operation]
    problems: Sequence[Problem]
    excused: int
    commits: int
    edits: int
    kills: int
    replays: int
    seconds: float

    def __str__(self) -> str:
        ends = Counter((each.kind, each.outcome) for each in self.operations)
        codes = Counter(each.code for each in self.operations if each.code)
        kinds = dict.fromkeys(kind for kind, _ in sorted(ends))
        outcomes: Sequence[Outcome] = ("done", "applied", "not_applied", "unknown")
        return "\n".join(
            [
                f"{len(self.operations)} writes in {self.seconds:.0f} s, {self.commits} batches, "
                f"{self.edits} edits by people, {self.kills} kills, {self.replays} replays",
                *(
                    f"  {kind}: " + ", ".join(f"{ends[kind, end]} {end}" for end in outcomes)
                    for kind in kinds
                ),
                f"codes: {dict(codes.most_common())}",
                f"excused by an edit within the round trip: {self.excused}",
                f"problems: {dict(kinds_of(self.problems)) or 'none'}",
                *(f"  {each}" for each in self.problems[:20]),
            ]
        )


def run(folder: Path, campaign: Mixed) -> Report:
    """Run a campaign in an empty folder."""
    titles = [f"Mixed{number}" for number in range(campaign.worksheets)]
    rows = "".join(f"id:{number},{GROUPS[number % 6]},\n" for number in range(1, 60))
    write_seed(folder / "seed", {SPREADSHEET: dict.fromkeys(titles, f"id,group,note\n{rows}")})
    with _google(folder, campaign) as (url, witness, history):
        return asyncio.run(_run(campaign, folder, url, witness, history, titles))


@contextmanager
def _google(folder: Path, campaign: Mixed) -> Iterator[tuple[str, Witness, History]]:
    options = EmulatorOptions(seed=folder / "seed", latency_ms=campaign.latency_ms)
    emulator = create_emulator(options)
    witness = Witness(app=emulator.app, patience_seconds=WRITE_TIMEOUT_SECONDS)
    witness.watch(emulator, SPREADSHEET)
    history = History()
    history.watch(emulator, SPREADSHEET)
    with served(emulator, witness, folder) as url:
        yield url, witness, history


async def _run(
    campaign: Mixed,
    folder: Path,
    url: str,
    witness: Witness,
    history: History,
    titles: Sequence[str],
) -> Report:
    gateway = gateway_process(
        folder,
        url,
        {
            "google": {
                "write_timeout_seconds": WRITE_TIMEOUT_SECONDS,
                "reads_per_minute": NO_LIMIT,
                "writes_per_minute": NO_LIMIT,
            },
            "cache": {"header_ttl_seconds": HEADER_TTL_SECONDS},
            "plans.mixed": PLAN,
        },
    )
    request = KeyRequest(
        name="mixed", plan="mixed", spreadsheets=frozenset({SPREADSHEET}), may_delete=True
    )
    overrides = {f"plans.mixed.{name}": value for name, value in PLAN.items()}
    keys = await create_keys(folder / KEYS, {"mixed": request}, overrides=overrides)
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    person = Person(url=url, credentials=folder / CREDENTIALS, truth=witness.truth, chance=chance)
    await asyncio.to_thread(person.arrive)
    weather = Weather(
        share=campaign.fault_share,
        latest_ms=campaign.latest_ms,
        slowest_ms=600,
        timeout_ms=int(WRITE_TIMEOUT_SECONDS * 1000) + 1000,
    )
    faults = plan(chance, weather, batches=campaign.operations, reads=campaign.operations)
    httpx2.post(f"{url}/_emulator/faults", json=faults).raise_for_status()
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {keys['mixed']}", "X-Spreadsheet-Id": SPREADSHEET}
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with (
        httpx2.AsyncClient(base_url=gateway.url, headers=headers, limits=limits) as client,
        _dying(gateway, campaign) as calm,
    ):
        async with _visiting(person, campaign), asyncio.timeout(campaign.end_seconds):
            writers = await _write(campaign, client, gateway, witness, titles)
        await asyncio.sleep(campaign.latest_ms / 1000)
        verdict = Verdict(history=history)
        for title in titles:
            done = [each for writer in writers for each in writer.done if each.worksheet == title]
            verdict.judge(title, done)
        async with calm:
            problems = [*verdict.problems, *await _differences(client, witness, titles)]
    return Report(
        operations=[each for writer in writers for each in writer.done],
        problems=problems,
        excused=verdict.excused,
        commits=sum(each.is_ours for title in titles for each in history.commits[title]),
        edits=sum(not each.is_ours for title in titles for each in history.commits[title]),
        kills=gateway.kills,
        replays=sum(writer.replays for writer in writers),
        seconds=time.monotonic() - began,
    )


async def _write(
    campaign: Mixed,
    client: httpx2.AsyncClient,
    gateway: Mortal,
    witness: Witness,
    titles: Sequence[str],
) -> Sequence[Writer]:
    numbers = count(1_000_000)
    left = iter(range(campaign.operations))

    def row_count(title: str) -> int:
        book = witness.truth.workbook
        sheet = book and next((each for each in book.sheets if each.title == title), None)
        return len(sheet.rows) if sheet else 1

    writers = [
        Writer(
            client=client,
            worksheet=titles[number % len(titles)],
            patience=PATIENCE,
            is_up=gateway.is_up,
            numbers=numbers,
            chance=random.Random(campaign.seed * 1000 + number),  # noqa: S311 - no secret
            row_count=row_count,
        )
        for number in range(campaign.clients)
    ]

    async def work(writer: Writer) -> None:
        for _ in left:
            await writer.write()

    await asyncio.gather(*map(work, writers))
    return writers


async def _differences(
    client: httpx2.AsyncClient, witness: Witness, titles: Sequence[str]
) -> Sequence[Problem]:
    """Rows that the gateway shows otherwise than they are."""
    found = []
    for title in titles:
        answer = await client.get(f"/v2/sheets/{title}?limit=1000", timeout=30.0)
        shown = [
            (each["rowIndex"], *((each[name] or "") for name in ("id", "group", "note")))
            for each in answer.json().get("results", ())
        ]
        book = witness.truth.workbook
        (sheet,) = [each for each in book.sheets if each.title == title] if book else [None]
        rows = sheet.rows[1:] if sheet else ()
        real = [(at, *(*texts_of(row), "", "", "")[:3]) for at, row in enumerate(rows, start=2)]
        while real and not any(real[-1][1:]):
            real.pop()
        if shown != real:
            wrong = [pair for pair in zip(shown, real, strict=False) if pair[0] != pair[1]]
            found.append(Problem(kind="shown", detail=f"{title}: {wrong[:3]} of {len(real)}"))
    return found


@asynccontextmanager
async def _dying(gateway: Mortal, campaign: Mixed) -> AsyncIterator[asyncio.Lock]:
    """The gateway serves for the time of the block, but is killed now and then.

    Who has the lock keeps it alive.
    """
    calm = asyncio.Lock()
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    await gateway.start()

    async def kill_now_and_then() -> None:
        while True:
            await asyncio.sleep(campaign.kill_seconds * chance.uniform(0.5, 1.5))
            async with calm:
                await gateway.kill()
                await gateway.start()

    killer = asyncio.create_task(kill_now_and_then())
    try:
        yield calm
    finally:
        killer.cancel()
        with suppress(asyncio.CancelledError):
            await killer
        await asyncio.to_thread(gateway.incarnation.close)


@asynccontextmanager
async def _visiting(person: Person, campaign: Mixed) -> AsyncIterator[None]:
    """A person edits rows for the time of the block."""
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret

    async def visit_now_and_then() -> None:
        for number in count(FIRST_VISITED):
            await asyncio.sleep(campaign.visit_seconds * chance.uniform(0.5, 1.5))
            await asyncio.to_thread(person.do_something, number)

    visitor = asyncio.create_task(visit_now_and_then())
    try:
        yield
    finally:
        visitor.cancel()
        with suppress(asyncio.CancelledError):
            await visitor
