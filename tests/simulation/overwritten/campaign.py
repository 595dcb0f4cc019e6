"""Conditional updates that wait for quota, and a person who edits the same rows meanwhile."""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event

import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.access.issue import KeyRequest
from gateway.app import create_app
from gateway.google.google import assemble
from gateway.google.quota import open_budget
from gateway.google.sheets import Sheets
from gateway.server.running import in_background, make_gateway_server
from gateway.server.sockets import bind
from gateway.settings.model import MAIN_ACCOUNT, GoogleSettings, Settings, load_settings
from gateway.storage.key_store import Grants
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.exchanges import Hearing
from tests.journeys.conftest import LOOKS_EACH_TIME, create_keys
from tests.journeys.workbook import write_seed
from tests.simulation.edits import person_at
from tests.simulation.overwritten.history import Edit, Update, overlooked
from tests.simulation.reads.report import Report
from tests.simulation.reads.visitor import visitor
from tests.simulation.stage import CREDENTIALS, KEYS, NO_LIMIT, served
from tests.stand_in import open_client, stand_in

SPREADSHEET = "overwritten"
WORKSHEET = "Notes"
ROWS = range(2, 26)
"""Each has a client: of two updates of a row, the second one waits for another group of writes."""
EDITED_ROWS = 3
"""So many rows are edited at once."""
SLACK_SECONDS = 0.75
"""What a busy machine may take, beside the round trip, between a look and its write."""
UPDATE = re.compile(rb"update-(\d+)")


ROWS_MOVED = httpx2.codes.CONFLICT
"""A person edited the row within the round trip; the update was applied."""


@dataclass(frozen=True, kw_only=True)
class Overwriting:
    """Duration and Google's latency; `is_planted`: writes wait for quota after their read."""

    seconds: float = 60.0
    latency_ms: int = 100
    writes_per_minute: int = 20
    edit_pause_seconds: float = 0.2
    """Between two edits, on average."""
    seed: int = 1
    is_planted: bool = False

    @property
    def allowed_seconds(self) -> float:
        """Maximum age of an edit that a write may have missed."""
        return self.latency_ms / 1000 + SLACK_SECONDS


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The report, and the figures that say whether it means anything."""

    report: Report
    statuses: Counter[int]
    longest_wait_seconds: float
    """Of an update, from its request to its write."""


@dataclass(kw_only=True)
class Arrivals:
    """The emulator's application, and when the writes of updates came to it, by their numbers."""

    app: ASGIApp
    at: dict[int, float] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived_at = time.monotonic()
        if not scope.get("path", "").endswith(":batchUpdate"):
            await self.app(scope, receive, send)
            return
        hearing = Hearing(receive=receive)
        await self.app(scope, hearing, send)
        self.at.update((int(number), arrived_at) for number in UPDATE.findall(hearing.heard))


@dataclass(frozen=True, kw_only=True)
class Request:
    """A conditional update: its number, its row, and the last edit that its tag is of."""

    number: int
    row: int
    seen: int
    sent_at: float
    status: int


async def run(folder: Path, campaign: Overwriting) -> Outcome:
    """Clients and person for the whole time, then what came of it."""
    rows = "".join(f"note {row},0\n" for row in ROWS)
    write_seed(folder / "seed", {SPREADSHEET: {WORKSHEET: f"note,edits\n{rows}"}})
    emulator = create_emulator(
        EmulatorOptions(seed=folder / "seed", latency_ms=campaign.latency_ms)
    )
    arrivals = Arrivals(app=emulator.app)
    keys = await create_keys(
        folder / KEYS,
        {
            "updates": KeyRequest(
                name="updates", grants=Grants(spreadsheets=frozenset({SPREADSHEET}))
            )
        },
    )
    with served(emulator, arrivals, folder) as google_url:
        settings, app = _gateway(folder, google_url, campaign)
        server = make_gateway_server(app, settings.server)
        with in_background(server, bind("127.0.0.1", 0)) as url:
            async with visitor(url, keys["updates"], SPREADSHEET) as client:
                requests, edits = await _course(client.client, google_url, folder, campaign)
    return _judged(requests, edits, arrivals.at, campaign)


def _gateway(folder: Path, google_url: str, campaign: Overwriting) -> tuple[Settings, ASGIApp]:
    def settings_of(writes_per_minute: int) -> Settings:
        given = {
            "google.endpoint": google_url,
            "google.credentials": str(folder / CREDENTIALS),
            "access.database": str(folder / KEYS),
            "google.writes_per_minute": writes_per_minute,
        }
        return load_settings(None, {}, {**LOOKS_EACH_TIME, **given})

    settings = settings_of(campaign.writes_per_minute)
    if not campaign.is_planted:
        return settings, create_app(settings)
    return settings, create_app(
        settings_of(NO_LIMIT), stand_in(partial(_quota_after_look, settings.google))
    )


@asynccontextmanager
async def _quota_after_look(settings: GoogleSettings) -> AsyncIterator[Sheets]:
    """Planted bug: writes wait for the quota after their read, however old it is then."""
    async with open_client(settings) as client:
        client._clock = lambda: 0.0  # no look seems old where it is sent
        budgets = {MAIN_ACCOUNT: open_budget(settings)}
        yield assemble({MAIN_ACCOUNT: client}, budgets, turn_seconds=None).sheets


async def _course(
    client: httpx2.AsyncClient, google_url: str, folder: Path, campaign: Overwriting
) -> tuple[Sequence[Request], Sequence[Edit]]:
    ends = time.monotonic() + campaign.seconds
    numbers = count(1)
    pause_seconds = 60 / campaign.writes_per_minute
    updating = asyncio.gather(
        *(_update_until(ends, client, numbers, row, pause_seconds) for row in ROWS)
    )
    is_over = Event()
    editing = asyncio.create_task(
        asyncio.to_thread(_edit_until, is_over, google_url, folder / CREDENTIALS, campaign)
    )
    try:
        requests = [request for each in await updating for request in each]
    finally:
        is_over.set()
    return requests, await editing


async def _update_until(
    ends: float,
    client: httpx2.AsyncClient,
    numbers: Iterator[int],
    row: int,
    longest_pause_seconds: float,
) -> list[Request]:
    """Read rows and update them under their tags, one by one."""
    chance = random.Random(row)  # noqa: S311 - no secret
    done: list[Request] = []
    path = f"/v2/sheets/{WORKSHEET}/{row}"
    while time.monotonic() < ends:
        number = next(numbers)
        await asyncio.sleep(longest_pause_seconds * chance.random())
        read = (await client.get(path)).raise_for_status()
        sent_at = time.monotonic()
        answer = await client.put(
            path,
            json={"note": f"update-{number}"},
            headers={"If-Match": read.headers["ETag"]},
        )
        done.append(
            Request(
                number=number,
                row=row,
                seen=int(read.json()["edits"]),
                sent_at=sent_at,
                status=answer.status_code,
            )
        )
    return done


def _edit_until(
    is_over: Event, google_url: str, credentials: Path, campaign: Overwriting
) -> list[Edit]:
    """Type a note and its number into some rows, one edit after the other."""
    chance = random.Random(campaign.seed)  # noqa: S311 - no secret
    numbers = Counter[int]()
    edits: list[Edit] = []
    with person_at(google_url, credentials, SPREADSHEET) as person:
        while not is_over.wait(2 * campaign.edit_pause_seconds * chance.random()):
            rows = chance.sample(ROWS, EDITED_ROWS)
            numbers.update(rows)
            person.send("POST", ":batchUpdate", _typing({row: numbers[row] for row in rows}))
            now = time.monotonic()
            edits += [Edit(row=row, number=numbers[row], answered_at=now) for row in rows]
    return edits


def _typing(numbers: Mapping[int, int]) -> object:
    """The edit that types a note and its number into each row."""
    return {"requests": [_typing_into(row, number) for row, number in numbers.items()]}


def _typing_into(row: int, number: int) -> object:
    note = {"userEnteredValue": {"stringValue": f"edit {number}"}}
    cells = [note, {"userEnteredValue": {"numberValue": number}}]
    start = {"sheetId": 0, "rowIndex": row - 1, "columnIndex": 0}
    update = {"start": start, "rows": [{"values": cells}], "fields": "userEnteredValue"}
    return {"updateCells": update}


def _judged(
    requests: Sequence[Request],
    edits: Sequence[Edit],
    arrived_at: Mapping[int, float],
    campaign: Overwriting,
) -> Outcome:
    written = [each for each in requests if each.status in (httpx2.codes.OK, ROWS_MOVED)]
    updates = [
        Update(row=each.row, seen=each.seen, arrived_at=arrived_at[each.number]) for each in written
    ]
    found = list(overlooked(edits, updates))
    wrong = [each for each in found if each.seconds > campaign.allowed_seconds]
    waits = [arrived_at[each.number] - each.sent_at for each in written]
    statuses = Counter(each.status for each in requests)
    longest_seconds = max((each.seconds for each in found), default=0.0)
    complaints = [
        f"{times} updates were answered {status}"
        for status, times in statuses.items()
        if status not in (httpx2.codes.OK, ROWS_MOVED, httpx2.codes.PRECONDITION_FAILED)
    ]
    lines = [
        f"{len(requests)} conditional updates: {dict(statuses)}; "
        f"writes came {max(waits, default=0.0):.1f} s after their requests at most",
        f"{len(edits)} edits by hand; {len(found)} were there when a write came that did not know "
        f"them, for {longest_seconds:.3f} s at most; {campaign.allowed_seconds:.1f} s are allowed",
    ]
    return Outcome(
        report=Report(lines=lines, problems=[*map(str, wrong), *complaints]),
        statuses=statuses,
        longest_wait_seconds=max(waits, default=0.0),
    )
