"""Kill the gateway at each step of each kind of write, while another client writes the same row.

Rules
- Several writes, each to its own worksheet, stop at the same step. Then the gateway is killed and
  restarted. A batch that was already sent takes effect some time later.
- Meanwhile another client, the stranger, reads a row of each worksheet and updates it with its
  ETag, until the update is acknowledged. At the end the stranger's note must be in the row.
- The killed write is not repeated, so only the gateway's store knows of it.
- While a step is set, calls for the worksheets stop at that step; later all calls pass. A call that
  stopped at `sent` is applied later without a receiver, as after the death of its sender.
"""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any, Literal

import httpx2
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.exchanges import Hearing
from tests.journeys.mortal import Mortal
from tests.journeys.workbook import write_seed
from tests.simulation.report import Problem, Report
from tests.simulation.stage import (
    NO_LIMIT,
    SETTINGS,
    Tables,
    client_of,
    gateway_process,
    make_key,
    served,
)

HEADER = ("id", "note", "group", "key")
ROWS = (
    ("id:1", "note:1", "group:0", "key:1"),
    ("id:2", "note:2", "group:1", "key:2"),
    ("id:3", "note:3", "group:0", "key:3"),
)
TEXT = "\n".join(",".join(cells) for cells in (HEADER, *ROWS)) + "\n"


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A request, and the number of the row that it changes."""

    name: str
    method: str
    row: int
    suffix: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: object = None


NOTE = {"note": "note:killed"}
WHERE = {"where": json.dumps({"group": "group:0"})}
VERBS: Sequence[Verb] = (
    Verb(name="create", method="POST", row=4, body={"id": "id:new", **NOTE}),
    Verb(name="update", method="PATCH", row=3, suffix="/3", body=NOTE),
    Verb(
        name="list of updates",
        method="PATCH",
        row=3,
        body=[{"rowIndex": row, **NOTE} for row in (2, 3)],
    ),
    Verb(name="delete", method="DELETE", row=3, suffix="/3"),
    Verb(name="update by filter", method="PATCH", row=2, parameters=WHERE, body=NOTE),
    Verb(name="delete by filter", method="DELETE", row=2, parameters=WHERE),
    Verb(
        name="upsert",
        method="POST",
        row=3,
        parameters={"on_conflict": "key"},
        body={"key": "key:2", **NOTE},
    ),
)


Instant = Literal["looking", "sent", "applied", "answered"]
"""Step of a write: reading the row, batch arrived, batch applied, answer sent."""
FENCE = b"createDeveloperMetadata"
SHEET = re.compile(rb'"sheetId":\s*(\d+)')
FENCE_ID = re.compile(
    rb'(createDeveloperMetadata":\s*\{"developerMetadata":\s*\{"metadataId":\s*)\d+'
)
GATE_SECONDS = 0.01


@dataclass(kw_only=True)
class Gate:
    """The emulator's application; other threads set `instant` and `lands`."""

    app: ASGIApp
    has_new_ids: bool = False
    """True if a late batch creates its fence with a new metadata ID."""
    instant: Instant | None = None
    stopped: set[int] = field(default_factory=set)
    """Sheet IDs of the batches that stopped; 0 stands for a stopped read."""
    landed: int = 0
    lands: bool = False
    """True if batches that stopped at `sent` are allowed to take effect."""
    _ids: Iterator[int] = field(default_factory=lambda: count(1))
    _late: set["asyncio.Task[None]"] = field(default_factory=set)

    def stop_at(self, instant: Instant) -> None:
        self.stopped.clear()
        self.landed, self.lands = 0, False
        self.instant = instant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        instant = self.instant
        if instant is None or scope["type"] != "http" or not scope["path"].startswith("/v4/"):
            await self.app(scope, receive, send)
            return
        body = await _body(receive)
        sheet = SHEET.search(body) if FENCE in body else None
        if instant == "sent" and self.has_new_ids:
            body = FENCE_ID.sub(rb"\g<1>%d" % next(self._ids), body, count=1)
        again = _Again(body=body, __self__=getattr(receive, "__self__", None))
        if instant == "looking" and sheet is None:
            self.stopped.add(0)
            await _until(lambda: self.instant is None)
        elif sheet is None or instant == "looking":
            await self.app(scope, again, send)
        else:
            await _AT[instant](self, scope, again, send)
            self.stopped.add(int(sheet[1]))
            if instant != "answered":
                await _until(lambda: self.instant is None)

    async def sent(self, scope: Scope, receive: Receive, _: Send) -> None:
        async def land() -> None:
            await _until(lambda: self.lands)
            await self.app(scope, receive, _unheard)
            self.landed += 1

        self._late.add(asyncio.create_task(land()))

    async def applied(self, scope: Scope, receive: Receive, _: Send) -> None:
        await self.app(scope, receive, _unheard)

    async def answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


Stop = Callable[[Gate, Scope, Receive, Send], Awaitable[None]]
_AT: Mapping[str, Stop] = {
    "sent": Gate.sent,
    "applied": Gate.applied,
    "answered": Gate.answered,
}


@dataclass(kw_only=True)
class _Again:
    """A `receive` function that returns a body that was already read."""

    body: bytes
    __self__: Any = None

    async def __call__(self) -> Message:
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": False}


async def _body(receive: Receive) -> bytes:
    hearing = Hearing(receive=receive)
    while (await hearing()).get("more_body", False):
        pass
    return hearing.heard


async def _unheard(_: Message) -> None:
    """Discard a message, because its receiver is dead."""


async def _until(is_so: Callable[[], bool]) -> None:
    """Wait until another thread makes the condition true."""
    while not is_so():  # noqa: ASYNC110 - an event is not of two threads
        await asyncio.sleep(GATE_SECONDS)


AT_ONCE = 5
"""Number of writes that stop together; a gateway runs at most six calls at once."""
INSTANTS: Sequence[tuple[Instant, float]] = (
    ("looking", 0.0),
    ("sent", 0.0),
    ("sent", 0.5),
    ("sent", 1.5),
    ("sent", 4.0),
    ("applied", 0.0),
    ("answered", 0.0),
)
"""Steps, each with the seconds from the restart of the gateway to the late effect."""
STOP_SECONDS = 5.0
WRITE_SECONDS = 30.0
"""Seconds for which the stranger repeats its update."""
PAUSE_SECONDS = 0.1
FIRST_TITLE = "Unused"
SETTLED_SECONDS = 0.3
PLAN: Tables = {
    **SETTINGS,
    "plans.paid": {"deletes": True, "max_concurrent": 0, "requests_per_minute": NO_LIMIT},
}


@dataclass(frozen=True, kw_only=True)
class Kills:
    """Number of killed writes, and the random seed.

    With `has_new_ids` a late batch has a fence with a new ID, so Google always accepts the batch.
    The campaign must then find problems.
    """

    cases: int = 200
    instants: Sequence[tuple[Instant, float]] = INSTANTS
    has_new_ids: bool = False
    latency_ms: int = 5


@dataclass(frozen=True, kw_only=True)
class Case:
    """A write that is killed at a step, and the delay of its late effect in seconds."""

    number: int
    verb: Verb
    is_keyed: bool
    instant: Instant
    late_seconds: float

    @property
    def stranger(self) -> str:
        """The note that the second client (stranger) of this case writes."""
        return f"stranger:{self.number}"

    def __str__(self) -> str:
        keyed = "with a key" if self.is_keyed else "without a key"
        return f"{self.verb.name} {keyed}, {self.instant}, {self.late_seconds} s late"


@dataclass(kw_only=True)
class Tally:
    """Results of the cases."""

    statuses: Counter[str] = field(default_factory=Counter)
    """Number of answers to strangers, by status."""
    figures: Counter[str] = field(default_factory=Counter)
    longest_seconds: float = 0.0
    """Longest time from a restart to the acknowledgement of a stranger's write."""
    problems: list[Problem] = field(default_factory=list)


def lives_of(campaign: Kills) -> Sequence[Sequence[Case]]:
    """Return the cases in groups; one gateway process is killed per group."""
    sorts = [
        (instant, [(verb, is_keyed) for verb in VERBS for is_keyed in (False, True)])
        for instant in campaign.instants
    ]
    chunks = [
        (instant, pairs[first : first + AT_ONCE])
        for instant, pairs in sorts
        for first in range(0, len(pairs), AT_ONCE)
    ]
    found: list[list[Case]] = []
    number = 0
    for (instant, late_seconds), pairs in cycle(chunks):
        life = []
        for verb, is_keyed in islice(pairs, campaign.cases - number):
            life.append(
                Case(
                    number=number,
                    verb=verb,
                    is_keyed=is_keyed,
                    instant=instant,
                    late_seconds=late_seconds,
                )
            )
            number += 1
        if not life:
            break
        found.append(life)
    return found


def run(folder: Path, campaign: Kills) -> Report:
    """Run all cases in an empty folder, and return the report."""
    lives = lives_of(campaign)
    names = [f"kills-{number}" for number in range(len(lives))]
    seeds = {
        name: {FIRST_TITLE: TEXT, **{f"Case{each.number}": TEXT for each in life}}
        for name, life in zip(names, lives, strict=True)
    }
    write_seed(folder / "seed", seeds)
    options = EmulatorOptions(seed=folder / "seed", latency_ms=campaign.latency_ms)
    emulator = create_emulator(options)
    gate = Gate(app=emulator.app, has_new_ids=campaign.has_new_ids)
    with served(emulator, gate, folder) as url:
        return asyncio.run(_run(folder, url, gate, dict(zip(names, lives, strict=True))))


async def _run(folder: Path, url: str, gate: Gate, lives: dict[str, Sequence[Case]]) -> Report:
    began = time.monotonic()
    key = await make_key(folder, lives)
    tally = Tally()
    gateway = gateway_process(folder, url, PLAN)
    await gateway.start()
    try:
        for name, cases in lives.items():
            life = Life(gateway=gateway, gate=gate, url=url, name=name, cases=cases, key=key)
            await life.live(tally)
    finally:
        await asyncio.to_thread(gateway.incarnation.close)
    return Report(
        title=f"{tally.figures['cases']} killed writes in ",
        outcomes=tally.statuses,
        figures=tally.figures,
        lines=[f"acknowledged {tally.longest_seconds:.1f} s after the start at most"],
        problems=tally.problems,
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True, kw_only=True)
class Life:
    """A gateway that is killed while some writes run, and the gateway that replaces it."""

    gateway: Mortal
    gate: Gate
    url: str
    """URL of the emulator."""
    name: str
    """ID of the spreadsheet."""
    cases: Sequence[Case]
    key: str

    async def live(self, tally: Tally) -> None:
        instant, late_seconds = self.cases[0].instant, self.cases[0].late_seconds
        self.gate.stop_at(instant)
        async with client_of(self.gateway.url, self.key, self.name) as client:
            writes = [asyncio.create_task(self._write(client, each)) for each in self.cases]
            is_stopped = await self._stopped(1 if instant == "looking" else len(self.cases))
            await self.gateway.kill()
            await asyncio.gather(*writes)
        self.gate.instant = None
        await self.gateway.start()
        began = time.monotonic()
        async with client_of(self.gateway.url, self.key, self.name) as client:
            acknowledged, _ = await asyncio.gather(
                asyncio.gather(*(self._be_stranger(client, each, tally) for each in self.cases)),
                self._land(late_seconds),
            )
        tally.figures["cases"] += len(self.cases)
        tally.figures["late copies"] += self.gate.landed
        if not is_stopped:
            tally.problems.append(Problem(kind="not stopped", detail=str(self.cases[0])))
        notes = await self._notes()
        for case, moment in zip(self.cases, acknowledged, strict=True):
            if moment is None:
                tally.problems.append(Problem(kind="unanswered", detail=str(case)))
                continue
            tally.figures["acknowledged"] += 1
            tally.longest_seconds = max(tally.longest_seconds, moment - began)
            if notes.count(case.stranger) != 1:
                detail = f"{case}: {notes.count(case.stranger)} rows have {case.stranger}"
                tally.problems.append(Problem(kind="overwritten", detail=detail))

    async def _write(self, client: httpx2.AsyncClient, case: Case) -> None:
        verb = case.verb
        headers = {"Idempotency-Key": f'"killed-{case.number}"'} if case.is_keyed else {}
        try:
            await client.request(
                verb.method,
                f"/v2/sheets/Case{case.number}{verb.suffix}",
                params=dict(verb.parameters),
                json=verb.body,
                headers=headers,
            )
        except httpx2.TransportError:
            return

    async def _stopped(self, calls: int) -> bool:
        ends = time.monotonic() + STOP_SECONDS
        while len(self.gate.stopped) < calls and time.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        return len(self.gate.stopped) >= calls

    async def _land(self, late_seconds: float) -> None:
        await asyncio.sleep(late_seconds)
        self.gate.lands = True
        await asyncio.sleep(SETTLED_SECONDS)

    async def _be_stranger(
        self, client: httpx2.AsyncClient, case: Case, tally: Tally
    ) -> float | None:
        """Return the time when the stranger's update was acknowledged, or None if it never was."""
        path, row = f"/v2/sheets/Case{case.number}", case.verb.row
        ends = time.monotonic() + WRITE_SECONDS
        while time.monotonic() < ends:
            read = await client.get(f"{path}/{row}")
            if read.status_code == httpx2.codes.NOT_FOUND:
                row -= row > 2  # the write took effect and deleted a row above
            if read.status_code == httpx2.codes.OK:
                answer = await client.patch(
                    f"{path}/{row}",
                    json={"note": case.stranger},
                    headers={"If-Match": read.headers["ETag"]},
                )
                tally.statuses[f"{answer.status_code} {_code_of(answer)}".strip()] += 1
                if answer.status_code == httpx2.codes.OK:
                    return time.monotonic()
            await asyncio.sleep(PAUSE_SECONDS)
        return None

    async def _notes(self) -> Sequence[str]:
        """Return all cell texts of the spreadsheet."""
        async with httpx2.AsyncClient(base_url=self.url) as client:
            answer = await client.get(f"/_emulator/spreadsheets/{self.name}")
        return [*_texts(answer.json())]


def _code_of(answer: httpx2.Response) -> str:
    return "" if answer.is_success else str(answer.json().get("code", ""))


def _texts(worksheets: dict[str, list[list[dict[str, str]]]]) -> Iterator[str]:
    return (cell["text"] for rows in worksheets.values() for cells in rows for cell in cells)
