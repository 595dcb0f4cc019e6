"""Kill -9 at each instant of each write, and what becomes of a stranger's write to the same row.

Rules
- Several writes, each to a worksheet of its own, stop at one instant; then the gateway is killed
  and started again. A batch that was on its way takes effect some time after that.
- Meanwhile a stranger reads a row of each worksheet and updates it under its tag, until that is
  acknowledged. At the end its note is there, whatever the killed gateway had sent.
- The killed write is not repeated: nobody knows of it but the store.
- While an instant is set, calls of the worksheets stop there; afterwards all calls pass. A call
  that stopped as `sent` is carried out later, without anybody who hears its answer, as a call that
  was on its way when its sender died.
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
    """A request, and the number of a row that it concerns."""

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
"""At its look, when its batch arrived, when it took effect, when its answer was sent."""
FENCE = b"createDeveloperMetadata"
SHEET = re.compile(rb'"sheetId":\s*(\d+)')
FENCE_ID = re.compile(
    rb'(createDeveloperMetadata":\s*\{"developerMetadata":\s*\{"metadataId":\s*)\d+'
)
GATE_SECONDS = 0.01


@dataclass(kw_only=True)
class Gate:
    """The emulator's application; threads other than its own set `instant` and `lands`."""

    app: ASGIApp
    has_new_ids: bool = False
    """A late copy has a fence with an id of its own."""
    instant: Instant | None = None
    stopped: set[int] = field(default_factory=set)
    """Ids of the worksheets whose batches stopped; 0 for a look."""
    landed: int = 0
    lands: bool = False
    """Batches that stopped as sent may take effect."""
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
    """A `receive` with a body that was read before."""

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
    """Nobody is there any more."""


async def _until(is_so: Callable[[], bool]) -> None:
    """Wait for what another thread changes."""
    while not is_so():  # noqa: ASYNC110 - an event is not of two threads
        await asyncio.sleep(GATE_SECONDS)


AT_ONCE = 5
"""Writes that stop together; a gateway has six calls under way at most."""
INSTANTS: Sequence[tuple[Instant, float]] = (
    ("looking", 0.0),
    ("sent", 0.0),
    ("sent", 0.5),
    ("sent", 1.5),
    ("sent", 4.0),
    ("applied", 0.0),
    ("answered", 0.0),
)
"""Each with the seconds from the start of the next gateway to the effect."""
STOP_SECONDS = 5.0
WRITE_SECONDS = 30.0
"""So long a stranger tries."""
PAUSE_SECONDS = 0.1
FIRST_TITLE = "Unused"
SETTLED_SECONDS = 0.3
PLAN: Tables = {
    **SETTINGS,
    "plans.paid": {"deletes": True, "max_concurrent": 0, "requests_per_minute": NO_LIMIT},
}


@dataclass(frozen=True, kw_only=True)
class Kills:
    """How many writes are killed, and when.

    `has_new_ids`: a late copy has a fence with an id of its own, so that Google accepts it always.
    That is to be found.
    """

    cases: int = 200
    instants: Sequence[tuple[Instant, float]] = INSTANTS
    has_new_ids: bool = False
    latency_ms: int = 5


@dataclass(frozen=True, kw_only=True)
class Case:
    """A write that is killed at an instant, and the seconds after which it takes effect, if so."""

    number: int
    verb: Verb
    is_keyed: bool
    instant: Instant
    late_seconds: float

    @property
    def stranger(self) -> str:
        """The note of the stranger."""
        return f"stranger:{self.number}"

    def __str__(self) -> str:
        keyed = "with a key" if self.is_keyed else "without a key"
        return f"{self.verb.name} {keyed}, {self.instant}, {self.late_seconds} s late"


@dataclass(kw_only=True)
class Tally:
    """What came of the cases."""

    statuses: Counter[str] = field(default_factory=Counter)
    """Of answers to strangers."""
    figures: Counter[str] = field(default_factory=Counter)
    longest_seconds: float = 0.0
    """From a start to the acknowledgement of a stranger."""
    problems: list[Problem] = field(default_factory=list)


def lives_of(campaign: Kills) -> Sequence[Sequence[Case]]:
    """The cases by the gateways that they kill."""
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
    """All cases, in an empty folder."""
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
    """A gateway that is killed with some writes under way, and the one after it."""

    gateway: Mortal
    gate: Gate
    url: str
    """The emulator's."""
    name: str
    """The spreadsheet's."""
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
        """When the stranger's update was acknowledged; None if it never was."""
        path, row = f"/v2/sheets/Case{case.number}", case.verb.row
        ends = time.monotonic() + WRITE_SECONDS
        while time.monotonic() < ends:
            read = await client.get(f"{path}/{row}")
            if read.status_code == httpx2.codes.NOT_FOUND:
                row -= row > 2  # the write took effect, and rows went
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
        """All texts of the spreadsheet."""
        async with httpx2.AsyncClient(base_url=self.url) as client:
            answer = await client.get(f"/_emulator/spreadsheets/{self.name}")
        return [*_texts(answer.json())]


def _code_of(answer: httpx2.Response) -> str:
    return "" if answer.is_success else str(answer.json().get("code", ""))


def _texts(worksheets: dict[str, list[list[dict[str, str]]]]) -> Iterator[str]:
    return (cell["text"] for rows in worksheets.values() for cells in rows for cell in cells)
