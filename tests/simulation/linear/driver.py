"""Clients that read and update a few rows at once, each with what it knows, and note all of it."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx2

from tests.simulation.linear.history import NEVER, Kind, Operation, Result, anomalies

ROWS = (2, 3, 4, 5, 6)
CLIENTS = 8
WHOLE_LIST = 0.1
"""The share of reads that read the whole worksheet."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """The state of a row that a client saw last."""

    value: str
    etag: str


@dataclass(kw_only=True)
class Cell:
    """The history of a row's cell `value`, and what was in it before."""

    initial: str
    history: list[Operation] = field(default_factory=list)


@dataclass(kw_only=True)
class Session:
    """One client of a worksheet while it makes its part of a history."""

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
        """Read a row, or update one as if it still were what the client knows of it."""
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
        """Record an answer that is not possible."""
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
    """How many operations there were of each sort."""


async def run_history(
    client: httpx2.AsyncClient, worksheet: str, *, label: str, seed: int, steps: int
) -> Outcome:
    """A history of eight clients on five rows of a worksheet; `label` is in all its values."""
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
    """Read all rows once more, after everything: a lost update shows at the latest now."""
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
