"""Clients that write in every way the API has, and write down what they were told.

Rules: each write that sets cells has a mark of its own, which it puts into the column `note`. What
surely was not sent, or not applied if the answer says when, is sent again; with an Idempotency-Key
also what is unknown. Some writes with a key are repeated after they succeeded.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import quote

import httpx2

from tests.simulation.fire.clients import IN_PROGRESS, Patience

GROUPS = tuple(f"g{number}" for number in range(6))
UPSERT_KEYS = tuple(f"id:{9_000_000 + number}" for number in range(25))
LATEST_REPEAT_SECONDS = 2.0
MOST_ROWS = 150
"""A worksheet with more rows gets fewer creates."""

Kind = Literal[
    "create", "update", "update rows", "update where", "delete", "delete where", "upsert"
]
Outcome = Literal["done", "applied", "not_applied", "unknown"]
Record = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A write, its request and what came of it."""

    kind: Kind
    worksheet: str
    method: str
    path: str
    body: Any = None
    mark: str = ""
    rows: tuple[int, ...] = ()
    """The row numbers that it names."""
    ids: tuple[str, ...] = ()
    """The ids that it creates, upserts or deletes by filter."""
    group: str = ""
    seen: Record | None = None
    """The row as it was when its tag was read; then the write is conditional."""
    tag: str = ""
    ignores: bool = False
    """Existing rows of an upsert stay as they are."""
    key: str = ""
    asked_at: float = 0.0
    answered_at: float = 0.0
    status: int = 0
    code: int = 0
    outcome: Outcome = "unknown"
    results: Sequence[Record] = ()
    count: int | None = None
    repeated: Sequence[Record] = ()
    """The results in the answer of a repeat."""
    repeated_at: float = 0.0
    read_after: str = ""
    """The id in the row of a delete by number, read after its answer."""
    is_cut: bool = False
    complaint: str = ""


@dataclass(kw_only=True)
class Writer:
    """One client of one worksheet."""

    client: httpx2.AsyncClient
    worksheet: str
    patience: Patience
    is_up: asyncio.Event
    numbers: Iterator[int]
    chance: random.Random
    row_count: Callable[[str], int]
    """How many rows a worksheet has just now."""
    done: list[Operation] = field(default_factory=list)
    replays: int = 0

    async def write(self) -> None:
        """Carry out one write at random."""
        await self.is_up.wait()
        asked_at = time.monotonic()
        try:
            operation = await self._drawn()
        except httpx2.TransportError:
            return
        if operation is None:
            return
        ended = await self._settled(replace(operation, asked_at=asked_at))
        if ended.key and ended.outcome == "done" and self.chance.random() < 0.2:
            await asyncio.sleep(self.chance.uniform(0, LATEST_REPEAT_SECONDS))
            again = await self._settled(operation)
            ended = replace(ended, repeated=again.results, repeated_at=again.answered_at)
            if again.outcome not in ("done", "applied", "unknown"):
                ended = replace(ended, complaint=f"repeated: {again.status} {again.code}")
        if ended.kind == "delete" and ended.outcome == "done":
            with suppress(httpx2.TransportError):
                answer = await self.client.get(self._path(f"/{ended.rows[0]}"))
                ended = replace(ended, read_after=answer.json().get("id") or "")
        self.done.append(ended)

    async def _drawn(self) -> Operation | None:
        last = self.row_count(self.worksheet)
        growth = 3 if last < MOST_ROWS else 1
        kinds: Mapping[Kind, float] = {
            "create": 3 * growth,
            "update": 4,
            "update rows": 2,
            "update where": 2,
            "delete": 3,
            "delete where": 1,
            "upsert": 3,
        }
        kind = self.chance.choices([*kinds], [*kinds.values()])[0]
        number = next(self.numbers)
        mark = f"note:{number}"
        key = f"key-{number}" if self.chance.random() < 0.6 else ""
        base = Operation(
            kind=kind, worksheet=self.worksheet, method="", path="", mark=mark, key=key
        )
        row = self.chance.randint(2, max(2, last))
        match kind:
            case "create":
                return self._create(base, number)
            case "update":
                base = replace(base, method="PUT", path=f"/{row}", rows=(row,), body={"note": mark})
                return await self._perhaps_conditional(base)
            case "update rows":
                rows = tuple(self.chance.sample(range(2, max(6, last)), 3))
                body = [{"rowIndex": each, "note": mark} for each in rows]
                return replace(base, method="PATCH", path="", rows=rows, body=body)
            case "update where":
                group = self.chance.choice(GROUPS)
                path = f"?max-affected=500&where={_json({'group': group})}"
                return replace(base, method="PATCH", path=path, group=group, body={"note": mark})
            case "delete":
                base = replace(base, method="DELETE", path=f"/{row}", rows=(row,), mark="")
                return await self._perhaps_conditional(base)
            case "delete where":
                return await self._delete_where(base)
            case "upsert":
                return self._upsert(base)

    def _create(self, base: Operation, number: int) -> Operation:
        count = self.chance.choice([1, 1, 1, 3])
        ids = tuple(f"id:{10 * number + at}" for at in range(count))
        rows = [
            {"id": each, "group": self.chance.choice(GROUPS), "note": base.mark} for each in ids
        ]
        return replace(base, method="POST", ids=ids, body=rows if count > 1 else rows[0])

    def _upsert(self, base: Operation) -> Operation:
        ids = tuple(self.chance.sample(UPSERT_KEYS, self.chance.choice([1, 1, 2, 4])))
        rows = [{"id": each, "group": "upserts", "note": base.mark} for each in ids]
        return replace(
            base,
            method="POST",
            path="?on_conflict=id",
            ids=ids,
            body=rows if len(ids) > 1 else rows[0],
            ignores=self.chance.random() < 0.3,
        )

    async def _delete_where(self, base: Operation) -> Operation | None:
        page = await self.client.get(self._path(f"?limit=100&skip={self.chance.randrange(30)}"))
        found = [each["id"] for each in page.json().get("results", ()) if each.get("id")]
        if not found:
            return None
        ids = tuple(self.chance.sample(found, min(len(found), self.chance.randint(1, 3))))
        path = f"?where={_json({'id': {'$in': ids}})}"
        return replace(base, method="DELETE", path=path, ids=ids, mark="")

    async def _perhaps_conditional(self, base: Operation) -> Operation | None:
        if self.chance.random() < 0.5:
            return base
        answer = await self.client.get(self._path(base.path))
        if answer.status_code != httpx2.codes.OK:
            return None
        return replace(base, seen=answer.json(), tag=answer.headers["ETag"])

    def _path(self, rest: str) -> str:
        return f"/v2/sheets/{self.worksheet}{rest}"

    async def _settled(self, operation: Operation) -> Operation:
        """Send until the write is settled, or too often."""
        asks, is_cut = 0, False
        ended = operation
        while asks < self.patience.asks:
            await self.is_up.wait()
            asks += 1
            try:
                answer = await self._send(operation)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                asks -= 1
                await asyncio.sleep(0.05)  # nothing was sent
                continue
            except httpx2.TransportError:
                is_cut, pause_seconds = True, 0.1
                ended = replace(operation, outcome="unknown")
            else:
                ended = read(operation, answer)
                self.replays += "Idempotent-Replayed" in answer.headers
                pause_seconds = float(answer.headers.get("Retry-After", "1"))
                if ended.outcome == "not_applied" and "Retry-After" not in answer.headers:
                    break
            if ended.outcome in ("done", "applied"):
                break
            if ended.outcome == "unknown" and not operation.key:
                break
            await asyncio.sleep(min(pause_seconds, self.patience.longest_pause_seconds))
        return replace(ended, answered_at=time.monotonic(), is_cut=is_cut)

    async def _send(self, operation: Operation) -> httpx2.Response:
        headers = {"Content-Type": "application/json"}
        if operation.key:
            headers["Idempotency-Key"] = f'"{operation.key}"'
        if operation.tag:
            headers["If-Match"] = operation.tag
        if operation.ignores:
            headers["Prefer"] = "resolution=ignore-duplicates"
        return await self.client.request(
            operation.method,
            self._path(operation.path),
            content=None if operation.body is None else json.dumps(operation.body).encode(),
            headers=headers,
            timeout=self.patience.answer_seconds,
        )


def read(operation: Operation, answer: httpx2.Response) -> Operation:
    """The operation with what its answer says."""
    ended = replace(operation, status=answer.status_code)
    if answer.status_code == httpx2.codes.NO_CONTENT:
        return replace(ended, outcome="done")
    try:
        body = answer.json()
    except ValueError:
        return replace(ended, complaint=f"no JSON: {answer.text[:80]}")
    if answer.is_success:
        results = body.get("results", [body])
        return replace(ended, outcome="done", results=results, count=body.get("count"))
    ended = replace(ended, code=body.get("code", 0))
    if ended.code == IN_PROGRESS:
        return replace(ended, outcome="unknown")
    outcome = body.get("outcome")
    if outcome is None and answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR:
        return replace(ended, complaint=f"no outcome: {answer.text[:200]}")
    return replace(ended, outcome=outcome or "not_applied")


def _json(value: object) -> str:
    return quote(json.dumps(value))
