"""Clients that update rows under the tags of what they read shortly before."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from tests.simulation.fire.clients import Patience, Read, read_update
from tests.simulation.fire.ledger import Fields, UpdateEntry, fields_of


@dataclass(frozen=True, kw_only=True)
class ConditionalUpdate:
    """An update with If-Match: what its tag is the tag of, and what its answer shows."""

    entry: UpdateEntry
    named: Fields
    status: int
    code: int = 0
    shown: Fields = ()


@dataclass(kw_only=True)
class Editor:
    """Updates rows of one worksheet through one gateway; `rows` are those that it may choose from.

    With an Idempotency-Key an update is asked for until it is settled.
    """

    client: httpx2.AsyncClient
    worksheet: str
    patience: Patience
    numbers: Iterator[int]
    chance: random.Random
    rows: Callable[[], Sequence[int]]
    longest_pause_seconds: float
    """Between a read and its update."""
    updates: list[ConditionalUpdate] = field(default_factory=list)
    failed_reads: int = 0

    async def update(self) -> None:
        """Read a row and update it as if it still were the same."""
        row, number = self.chance.choice(self.rows()), next(self.numbers)
        path, timeout = f"/v2/sheets/{self.worksheet}/{row}", self.patience.answer_seconds
        seen = await self.client.get(path, timeout=timeout)
        if seen.status_code != httpx2.codes.OK:
            self.failed_reads += 1
            return
        await asyncio.sleep(self.longest_pause_seconds * self.chance.random())
        is_keyed = self.chance.random() < 0.5
        headers = {"If-Match": seen.headers["ETag"]}
        if is_keyed:
            headers["Idempotency-Key"] = f'"update-{number}"'
        asked_at = time.monotonic()
        answer, read = await self._settled(path, f"note:{number}", headers)
        self.updates.append(
            ConditionalUpdate(
                entry=UpdateEntry(
                    worksheet=self.worksheet,
                    row=row,
                    number=number,
                    outcome=read.outcome,
                    asked_at=asked_at,
                    answered_at=time.monotonic(),
                    is_keyed=is_keyed,
                    complaint=read.complaint or _misnumbered(answer, row),
                ),
                named=_fields(seen),
                status=answer.status_code,
                code=0 if answer.is_success else answer.json().get("code", 0),
                shown=_fields(answer) if answer.status_code == httpx2.codes.OK else (),
            )
        )

    async def _settled(
        self, path: str, note: str, headers: Mapping[str, str]
    ) -> tuple[httpx2.Response, Read]:
        """Ask until the update is settled, or too often."""
        for _ in range(self.patience.asks):
            answer = await self.client.patch(
                path, json={"note": note}, headers=headers, timeout=self.patience.answer_seconds
            )
            read = read_update(answer)
            is_open = read.outcome == "unknown" and "Idempotency-Key" in headers
            is_refused = read.outcome == "not_applied" and "Retry-After" in answer.headers
            if not is_open and not is_refused:
                break
            pause_seconds = float(answer.headers.get("Retry-After", "1"))
            await asyncio.sleep(min(pause_seconds, self.patience.longest_pause_seconds))
        return answer, read


def _fields(answer: httpx2.Response) -> Fields:
    record = answer.json()
    return fields_of(
        {name: str(value) for name, value in record.items() if value and name != "rowIndex"}
    )


def _misnumbered(answer: httpx2.Response, row: int) -> str:
    if answer.status_code != httpx2.codes.OK or answer.json()["rowIndex"] == row:
        return ""
    return f"row {row} was updated, the answer says {answer.json()['rowIndex']}"
