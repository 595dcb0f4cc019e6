"""Check that concurrent reads and updates of a few rows are linearizable.

Usage: python -m tests.simulation.linear --histories 1000 [--faults-every 50]

Rules
- The check is pure: it takes timed operations with their answers, and returns anomalies.
- A history is linearizable if one order of its operations explains every answer, and no operation
  comes after one that began when it had already ended (Wing and Gong).
- Every written value is unique, so a value cannot return.
- A write without a clear answer takes effect at any time after its start, or never.
- Several histories run at once on one gateway, each on its own worksheet.
"""

import asyncio
import math
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpx2

from tests.journeys.workbook import write_seed
from tests.simulation.command import exit_status, parsed
from tests.simulation.faults import BATCH, FENCE
from tests.simulation.report import Problem, Report
from tests.simulation.stage import SPREADSHEET, client_of, google, make_key, mortal_gateway

Kind = Literal["read", "swap", "write"]
Result = Literal["done", "refused", "open"]
NEVER = math.inf


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One request for a cell; times are in seconds of one clock.

    A `swap` is an update with If-Match: it writes `written` if the cell still contains `expected`.
    `seen` is the value in the answer to a read or to a failed swap, or None without a value.
    """

    client: int
    kind: Kind
    began: float
    ended: float = NEVER
    result: Result = "done"
    expected: str | None = None
    written: str | None = None
    seen: str | None = None


def anomalies(history: Sequence[Operation], initial: str) -> list[str]:
    """Return a line for each anomaly in the history of a cell; [] if there is none."""
    found = [*_lost_updates(history), *_stale_reads(history)]
    if not found and not is_linearizable(history, initial):
        found.append("not linearizable")
    return found


def is_linearizable(history: Sequence[Operation], initial: str) -> bool:
    """True if one order of the operations explains all their answers."""
    operations = [each for each in history if not (each.kind == "read" and each.result == "open")]
    must = sum(1 << index for index, each in enumerate(operations) if each.result != "open")
    waiting = [(0, initial)]
    tried = set(waiting)
    while waiting:
        done, value = waiting.pop()
        if done & must == must:
            return True
        for step in _next(operations, done, value):
            if step not in tried:
                tried.add(step)
                waiting.append(step)
    return False


def _next(operations: Sequence[Operation], done: int, value: str) -> Iterator[tuple[int, str]]:
    """Yield each state `(bit mask of done operations, value)` after one more operation."""
    left = [(index, each) for index, each in enumerate(operations) if not done >> index & 1]
    first_end = min(each.ended for _, each in left)
    for index, each in left:
        after = _applied(each, value) if each.began <= first_end else None
        if after is not None:
            yield done | 1 << index, after


def _applied(operation: Operation, value: str) -> str | None:
    """Return the value after an operation, or None if `value` contradicts the answer."""
    is_as_seen = operation.seen is None or operation.seen == value
    if operation.kind == "write":
        return operation.written
    if operation.kind == "read":
        return value if is_as_seen else None
    is_expected = operation.expected == value
    if operation.result == "refused":
        return value if is_as_seen and not is_expected else None
    return operation.written if is_expected else None


def _lost_updates(history: Sequence[Operation]) -> Iterator[str]:
    """Yield a line for each two updates that replaced the same value."""
    done: dict[str | None, Operation] = {}
    for each in history:
        if each.kind != "swap" or each.result != "done":
            continue
        if each.expected in done:
            other = done[each.expected].written
            yield f"lost update: {each.expected!r} became {other!r} and {each.written!r}"
        done[each.expected] = each


def _stale_reads(history: Sequence[Operation]) -> Iterator[str]:
    """Yield a line for each read of a value older than the client's own earlier write."""
    age = _ages(history)
    for read in history:
        if read.seen is None or read.seen not in age:
            continue
        for own in history:
            is_before = own.client == read.client and own.ended < read.began
            if own.kind != "swap" or own.result != "done" or not is_before:
                continue
            if own.written in age and age[read.seen] < age[own.written]:
                yield f"stale read: {read.seen!r} after the client's own {own.written!r}"


def _ages(history: Sequence[Operation]) -> Mapping[str | None, int]:
    """Return the number of updates before each value, for values in chains of updates."""
    follower = {
        each.expected: each.written
        for each in history
        if each.kind == "swap" and each.result == "done"
    }
    written = set(follower.values())
    ages: dict[str | None, int] = {}
    for first in (value for value in follower if value not in written):
        value: str | None = first
        while value not in ages:
            ages[value] = len(ages)
            if value not in follower:
                break
            value = follower[value]
    return ages


ROWS = (2, 3, 4, 5, 6)
CLIENTS = 8
WHOLE_LIST = 0.1
"""Share of reads that list the whole worksheet."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """The value and ETag of a row that a client read or wrote last."""

    value: str
    etag: str


@dataclass(kw_only=True)
class Cell:
    """The history of the field `value` of one row, and the initial value."""

    initial: str
    history: list[Operation] = field(default_factory=list)


@dataclass(kw_only=True)
class Session:
    """One client of a worksheet, and the operations that it contributes to the history."""

    index: int
    client: httpx2.AsyncClient
    path: str
    cells: dict[int, Cell]
    chance: random.Random
    label: str
    known: dict[int, Known] = field(default_factory=dict)
    written: int = 0
    complaints: list[str] = field(default_factory=list)

    async def act(self) -> None:
        """Read a random row, or update one with the ETag that this client knows."""
        row = self.chance.choice(ROWS)
        if self.chance.random() < WHOLE_LIST:
            await self._list()
        elif row not in self.known or self.chance.random() < 0.3:
            await self.read(row)
        else:
            await self._swap(row, self.known[row])

    async def read(self, row: int) -> None:
        began = time.monotonic()
        answer = await self.client.get(f"{self.path}/{row}")
        if not self._expect(answer, 200):
            return
        value = answer.json()["value"]
        self.known[row] = Known(value=value, etag=answer.headers["ETag"])
        self._note(row, "read", began, seen=value)

    async def _list(self) -> None:
        began = time.monotonic()
        answer = await self.client.get(self.path)
        if self._expect(answer, 200):
            for record in answer.json()["results"]:
                self._note(record["rowIndex"], "read", began, seen=record["value"])

    async def _swap(self, row: int, known: Known) -> None:
        self.written += 1
        written = f"value:{self.label}-{self.index}-{self.written}"
        began = time.monotonic()
        answer = await self.client.patch(
            f"{self.path}/{row}", json={"value": written}, headers={"If-Match": known.etag}
        )
        self.known.pop(row)
        result: Result = "done"
        seen = None
        if answer.status_code == httpx2.codes.PRECONDITION_FAILED:
            result, seen = "refused", answer.json()["existing"]["value"]
        elif answer.is_success:
            self.known[row] = Known(value=written, etag=answer.headers["ETag"])
        else:
            outcome = answer.json().get("outcome")
            if outcome == "not_applied":
                return
            self._expect(answer, 504)
            result = "open"
        self._note(row, "swap", began, result=result, swap=(known.value, written), seen=seen)

    def _note(
        self,
        row: int,
        kind: Kind,
        began: float,
        *,
        result: Result = "done",
        swap: tuple[str, str] | None = None,
        seen: str | None = None,
    ) -> None:
        expected, written = swap or (None, None)
        self.cells[row].history.append(
            Operation(
                client=self.index,
                kind=kind,
                began=began,
                ended=NEVER if result == "open" else time.monotonic(),
                result=result,
                expected=expected,
                written=written,
                seen=seen,
            )
        )

    def _expect(self, answer: httpx2.Response, status: int) -> bool:
        """Return whether the status is as expected; record an unexpected answer as a complaint."""
        is_fine = answer.status_code == status
        may_be = answer.request.method == "GET" and answer.status_code in (502, 503, 504)
        if not is_fine and not may_be:
            self.complaints.append(f"{answer.request.method}: {answer.status_code} {answer.text}")
        return is_fine


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of one history."""

    problems: Sequence[str]
    kinds: dict[str, int]
    """Number of operations by kind and result, such as `swap done`."""


async def run_history(
    client: httpx2.AsyncClient, worksheet: str, *, label: str, seed: int, steps: int
) -> Outcome:
    """Run eight clients on five rows of a worksheet, and judge the history.

    `label` is a part of every written value, which makes the values unique.
    """
    path = f"/v2/sheets/{worksheet}"
    first = (await client.get(path)).raise_for_status().json()["results"]
    cells = {record["rowIndex"]: Cell(initial=record["value"]) for record in first}
    sessions = [
        Session(
            index=index,
            client=client,
            path=path,
            cells=cells,
            chance=random.Random(seed * CLIENTS + index),  # noqa: S311 - no secret
            label=label,
        )
        for index in range(CLIENTS)
    ]

    async def work(session: Session) -> None:
        for _ in range(steps):
            await session.act()

    await asyncio.gather(*(work(session) for session in sessions))
    await work_last(sessions[0])
    return _judged(cells, sessions)


async def work_last(session: Session) -> None:
    """Read all rows once more at the end, so that a lost update becomes visible."""
    for row in ROWS:
        await session.read(row)


def _judged(cells: dict[int, Cell], sessions: Sequence[Session]) -> Outcome:
    kinds: dict[str, int] = defaultdict(int)
    problems = [complaint for session in sessions for complaint in session.complaints]
    for row, cell in cells.items():
        problems += [f"row {row}: {each}" for each in anomalies(cell.history, cell.initial)]
        for operation in cell.history:
            kinds[f"{operation.kind} {operation.result}"] += 1
    return Outcome(problems=problems, kinds=dict(kinds))


AT_ONCE = 4
HEADER = "name,value"
WRITE: dict[str, object] = {"call": BATCH, "match": FENCE}
FAULTS: Sequence[dict[str, object]] = (
    {**WRITE, "status": 503},
    {**WRITE, "status": 503, "apply": True},
    {**WRITE, "drop": True},
    {**WRITE, "drop": True, "apply": True},
    {**WRITE, "drop": True, "late_ms": 300},
    {**WRITE, "drop": True, "delay_ms": 1200, "late_ms": 2000},
    {**WRITE, "status": 504, "late_ms": 1000},
    {"call": "spreadsheets.get", "status": 503},
    {"call": "developerMetadata.search", "status": 503},
    {"call": "values.batchGet", "drop": True},
)


def seed_text() -> str:
    """Return the initial worksheet of a history as CSV."""
    rows = (f"name:{row},value:initial-{row}\n" for row in ROWS)
    return f"{HEADER}\n{''.join(rows)}"


def worksheets() -> list[str]:
    return [f"Linear{index}" for index in range(AT_ONCE)]


def faults(every: int, count: int) -> list[dict[str, object]]:
    """Return `count` faults, one per `every` calls, of all kinds in turn."""
    return [
        {**FAULTS[number % len(FAULTS)], "skip": (number + 1) * every} for number in range(count)
    ]


async def run_histories(url: str, key: str, *, histories: int, steps: int, seed: int = 1) -> Report:
    """Run all histories, and return the report with their problems."""
    began = time.monotonic()
    waiting = iter(range(histories))
    outcomes: list[Outcome] = []
    async with client_of(url, key) as client:

        async def work(worksheet: str) -> None:
            for number in waiting:
                label = f"{number}"
                outcomes.append(
                    await run_history(
                        client, worksheet, label=label, seed=seed + number, steps=steps
                    )
                )

        await asyncio.gather(*(work(worksheet) for worksheet in worksheets()))
    kinds: Counter[str] = Counter()
    for outcome in outcomes:
        kinds.update(outcome.kinds)
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    return Report(
        title=f"{histories} histories in ",
        figures=kinds,
        problems=[Problem(kind="history", detail=each) for each in problems],
        seconds=time.monotonic() - began,
    )


LATENCY_MS = 5


@dataclass(frozen=True, kw_only=True)
class Histories:
    """Options: `steps` is per client, and one in `faults_every` calls fails (0 for none)."""

    histories: int = 1000
    steps: int = 8
    seed: int = 1
    faults_every: int = 0


def main() -> int:
    campaign = parsed(Histories())
    return exit_status(lambda folder: run(folder, campaign))


def run(folder: Path, campaign: Histories) -> Report:
    """Run the histories with a new emulator and a new gateway."""
    write_seed(folder / "seed", {SPREADSHEET: {title: seed_text() for title in worksheets()}})
    with google(folder, latency_ms=LATENCY_MS) as (url, _):
        if campaign.faults_every:
            many = faults(campaign.faults_every, campaign.histories)
            httpx2.post(f"{url}/_emulator/faults", json=many).raise_for_status()
        return asyncio.run(_run(folder, url, campaign))


async def _run(folder: Path, url: str, campaign: Histories) -> Report:
    gateway = mortal_gateway(folder, url)
    key = await make_key(folder)
    await gateway.start()
    try:
        return await run_histories(
            gateway.url,
            key,
            histories=campaign.histories,
            steps=campaign.steps,
            seed=campaign.seed,
        )
    finally:
        await gateway.kill()


if __name__ == "__main__":
    sys.exit(main())
