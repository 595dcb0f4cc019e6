"""Google calls of writes to many rows, compared with one call for each row.

Part of `python -m benchmarks.writes`. The comparison is a script that reads the worksheet once if
it has to find rows, and then makes one call for each row, one after the other.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

ROWS = 40
"""Number of rows that each operation changes."""
NEW = 10
"""Number of new rows of the upsert."""
FIRST_ROW = 2

Ask = Callable[[httpx2.AsyncClient], Awaitable[Any]]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Google calls and time of one operation."""

    reads: int
    writes: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.reads} + {self.writes}, {self.seconds:.1f} s"


@dataclass(frozen=True, kw_only=True)
class Naive:
    """A script that calls Google once for each row."""

    values: str
    batch_update: str
    sheet_id: int

    async def read(self, client: httpx2.AsyncClient) -> list[list[str]]:
        answer = await client.get(f"{self.values}!A1:C")
        answer.raise_for_status()
        return list(answer.json()["values"])

    async def write(self, client: httpx2.AsyncClient, row: int, text: str) -> None:
        url = f"{self.values}!C{row}"
        body = {"values": [[text]]}
        answer = await client.put(url, params={"valueInputOption": "RAW"}, json=body)
        answer.raise_for_status()

    async def append(self, client: httpx2.AsyncClient, values: Sequence[str]) -> None:
        url = f"{self.values}!A1:append"
        body = {"values": [values]}
        answer = await client.post(url, params={"valueInputOption": "RAW"}, json=body)
        answer.raise_for_status()

    async def delete(self, client: httpx2.AsyncClient, row: int) -> None:
        rows = {
            "sheetId": self.sheet_id,
            "dimension": "ROWS",
            "startIndex": row - 1,
            "endIndex": row,
        }
        body = {"requests": [{"deleteDimension": {"range": rows}}]}
        (await client.post(self.batch_update, json=body)).raise_for_status()


def ours(url: str) -> Mapping[str, Ask]:
    """Return the operations with the gateway, each as one request except deletes by number."""
    where = quote(json.dumps({"note": "old"}))
    updates = [{"rowIndex": FIRST_ROW + at, "note": "new"} for at in range(ROWS)]
    upserts = [{"number": number_of(ROWS + NEW + at), "note": "new"} for at in range(ROWS)]
    return {
        f"{ROWS} deletes at once": lambda client: asyncio.gather(
            *(client.delete(f"{url}/{FIRST_ROW + at}") for at in reversed(range(ROWS)))
        ),
        f"list of {ROWS} updates": lambda client: client.patch(url, json=updates),
        f"update by filter, {ROWS} rows": lambda client: client.patch(
            f"{url}?where={where}", json={"note": "new"}
        ),
        f"delete by filter, {ROWS} rows": lambda client: client.delete(f"{url}?where={where}"),
        f"upsert of {ROWS}, {NEW} new": lambda client: client.post(
            f"{url}?on_conflict=number", json=upserts
        ),
    }


def one_by_one(naive: Naive) -> Sequence[Ask]:
    """Return the same operations with a script, in the same order."""

    async def delete(client: httpx2.AsyncClient) -> None:
        for _ in range(ROWS):
            await naive.delete(client, FIRST_ROW)

    async def update(client: httpx2.AsyncClient) -> None:
        for at in range(ROWS):
            await naive.write(client, FIRST_ROW + at, "new")

    async def update_where(client: httpx2.AsyncClient) -> None:
        for row, cells in enumerate(await naive.read(client), 1):
            if cells[2] == "old":
                await naive.write(client, row, "new")

    async def delete_where(client: httpx2.AsyncClient) -> None:
        cells = await naive.read(client)
        for row in range(len(cells), 0, -1):
            if cells[row - 1][2] == "old":
                await naive.delete(client, row)

    async def upsert(client: httpx2.AsyncClient) -> None:
        rows = {cells[0]: row for row, cells in enumerate(await naive.read(client), 1)}
        for at in range(ROWS):
            number = number_of(ROWS + NEW + at)
            if number in rows:
                await naive.write(client, rows[number], "new")
            else:
                await naive.append(client, [number, "", "new"])

    return (delete, update, update_where, delete_where, upsert)


def number_of(at: int) -> str:
    return f"number {at}"


def seed_rows(header: Sequence[str]) -> str:
    """Return a worksheet as CSV with rows for all operations."""
    notes = ["old"] * ROWS + ["kept"] * ROWS
    lines = [header, *((number_of(at), f"name {at}", note) for at, note in enumerate(notes))]
    return "".join(f"{','.join(line)}\n" for line in lines)


def measure(google: str, operation: Ask, headers: Mapping[str, str]) -> Cost:
    """Carry out an operation on the initial worksheet, and return its cost."""
    httpx2.post(f"{google}/_emulator/reset").raise_for_status()
    start = time.perf_counter()
    asyncio.run(_carried_out(operation, headers))
    seconds = time.perf_counter() - start
    stats = httpx2.get(f"{google}/_emulator/stats").json()
    return Cost(reads=stats["reads"], writes=stats["writes"], seconds=seconds)


async def _carried_out(operation: Ask, headers: Mapping[str, str]) -> None:
    async with httpx2.AsyncClient(headers=dict(headers), timeout=120.0) as client:
        answers = await operation(client)
    for answer in answers if isinstance(answers, list) else [answers]:
        if isinstance(answer, httpx2.Response):
            answer.raise_for_status()
