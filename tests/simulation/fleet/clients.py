"""Clients of a fleet, each of which asks another process for the next thing, and notes all of it.

Rules
- A client sends one request after the other, to any process, and each retry to another one.
- It creates rows and updates only those that it created: with an Idempotency-Key, until the write
  is settled, and updates with the tag that another process just answered.
- Some updates have a key that sees the note only.
- After an acknowledged write it reads the row at another process than the one that acknowledged.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

from tests.simulation.fire.clients import (
    IN_PROGRESS,
    Asked,
    Create,
    Patience,
    Read,
    ask,
    read_answer,
    read_update,
)
from tests.simulation.fire.ledger import Entry, UpdateEntry, fields_of
from tests.simulation.fire.orders import HEADER
from tests.simulation.fleet.history import ABSENT, Acknowledged, Shown
from tests.simulation.fleet.verdict import CREATE, UPDATE, Attempt, Log

PAGE = 24
WHOLE_PAGE = 1000
ALONE = re.compile(r'; *detail="?alone\b')
CONNECT_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 2.0
READ_TRIES = 20
PAUSE_SECONDS = 0.1
_EXPECTED = (200, 201, 404)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer, the process that gave it, and the times of request and answer."""

    response: httpx2.Response
    process: int
    asked_at: float
    answered_at: float

    @property
    def is_alone(self) -> bool:
        return ALONE.search(self.response.headers.get("Cache-Status", "")) is not None

    @property
    def is_stale(self) -> bool:
        return "ttl=-" in self.response.headers.get("Cache-Status", "")


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Sends requests to processes by their numbers, and notes what came of them."""

    clients: Sequence[httpx2.AsyncClient]
    chance: random.Random
    log: Log

    def other_than(self, process: int | None) -> int:
        """Any process but this one."""
        others = [each for each in range(len(self.clients)) if each != process]
        return self.chance.choice(others or [0])

    async def send(
        self, process: int, kind: str, method: str, path: str, *, key: str = "", **request: Any
    ) -> Answer:
        """Ask one process; `key` is an Idempotency-Key. Raises httpx2.TransportError."""
        attempt = Attempt(kind=kind, process=process, key=key, asked_at=time.monotonic())
        try:
            response = await self.clients[process].request(method, path, **request)
        except httpx2.TransportError as error:
            self._note(attempt, text=type(error).__name__)
            raise
        status, body = response.status_code, _body_of(response)
        is_refused = status >= httpx2.codes.BAD_REQUEST
        noted = self._note(
            attempt,
            status=status,
            code=body.get("code", 0) if is_refused else 0,
            outcome=str(body.get("outcome", "")) if is_refused else "",
            text="" if status in _EXPECTED else response.text[:300],
        )
        return Answer(
            response=response,
            process=process,
            asked_at=noted.asked_at,
            answered_at=noted.answered_at,
        )

    def _note(self, attempt: Attempt, **answer: Any) -> Attempt:
        noted = replace(attempt, answered_at=time.monotonic(), **answer)
        self.log.attempts.append(noted)
        return noted


@dataclass(kw_only=True)
class Client:
    """Creates rows of one worksheet, updates them, and reads them and those of others."""

    number: int
    exchange: Exchange
    worksheet: str
    patience: Patience
    numbers: Iterator[int]
    """Of rows, shared by all clients."""
    updates: Iterator[int]
    chance: random.Random
    update_share: float = 0.5
    repeat_share: float = 0.2
    partial_key: str = ""
    """A key that sees some columns."""
    partial_share: float = 0.0
    """So many updates have this key."""
    rows: dict[int, int] = field(default_factory=dict)
    """The numbers of its rows by their places."""
    last: Answer | None = None
    """To its last write."""
    is_up: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.is_up.set()

    @property
    def log(self) -> Log:
        return self.exchange.log

    @property
    def path(self) -> str:
        return f"/v2/sheets/{self.worksheet}"

    async def act(self) -> None:
        """A create, perhaps an update, and reads."""
        await self.create()
        if self.rows and self.chance.random() < self.update_share:
            await self.update(self.chance.choice([*self.rows]))
        if self.rows:
            row = self.chance.choice([*self.rows])
            await self.chance.choice((self.read_page, self.search))(row)

    async def create(self) -> None:
        number = next(self.numbers)
        key = f"{CREATE}-{number}"
        fields = fields_of({name: f"{name}:{number}" for name in HEADER if name})
        create = Create(rows=(fields,), key=key)
        asked_at = time.monotonic()
        asked = await self._asked("create", key, "POST", self.path, create.body, create)
        entry = replace(self._entry(create, asked), asked_at=asked_at)
        if entry.outcome == "created":
            (row,) = entry.places
            self.rows[row] = number
            await self._acknowledged(row, f"note:{number}")
            if self.chance.random() < self.repeat_share:
                again = await self._asked(
                    "repeated create", key, "POST", self.path, create.body, create
                )
                if again.read and again.read.outcome == "created" and again.read.places != (row,):
                    complaint = f"at {entry.places}, then at {again.read.places}"
                    entry = replace(entry, complaint=complaint)
        self.log.entries.append(entry)

    def _entry(self, create: Create, asked: Asked[Read]) -> Entry:
        found = asked.read or Read(outcome="unknown")
        return Entry(
            worksheet=self.worksheet,
            rows=create.rows,
            outcome=found.outcome,
            places=found.places,
            is_cut=asked.is_cut,
            is_keyed=True,
            asks=asked.asks,
            answered_at=time.monotonic(),
            complaint=found.complaint,
        )

    async def update(self, row: int) -> None:
        """Update a row under the tag that some process answers."""
        is_partial = self.partial_share and self.chance.random() < self.partial_share
        headers = {"Authorization": f"Bearer {self.partial_key}"} if is_partial else {}
        seen = await self.read_row(row, headers=headers)
        if seen is None or "ETag" not in seen.response.headers:
            return
        number = next(self.updates)
        note = f"note:{number}"
        asked_at = time.monotonic()
        asked = await self._asked(
            "update",
            f"{UPDATE}-{number}",
            "PUT",
            f"{self.path}/{row}",
            json.dumps({"note": note}).encode(),
            headers={**headers, "If-Match": seen.response.headers["ETag"]},
        )
        found = asked.read or Read(outcome="unknown")
        complaint = found.complaint
        if found.outcome == "unknown" and not complaint:
            complaint = f"unknown after {asked.asks} requests"
        self.log.updates.append(
            UpdateEntry(
                worksheet=self.worksheet,
                row=row,
                number=number,
                outcome=found.outcome,
                asked_at=asked_at,
                answered_at=time.monotonic(),
                is_cut=asked.is_cut,
                is_keyed=True,
                complaint=complaint,
            )
        )
        if found.outcome == "created":
            await self._acknowledged(row, note)

    async def read_row(
        self, row: int, *, avoid: int | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer | None:
        """One row, with some patience; None if nobody answered."""
        return await self._read("row", f"/{row}", (row,), avoid=avoid, headers=headers)

    async def read_page(self, row: int) -> Answer | None:
        skip = max(0, row - PAGE // 2)
        parameters = {"skip": str(skip), "limit": str(PAGE)}
        return await self._read("page", "", (row,), params=parameters)

    async def search(self, row: int) -> Answer | None:
        """One row by its number, which asks for values as they are typed."""
        where = json.dumps({"id": f"id:{self.rows[row]}"})
        return await self._read("search", "", (row,), params={"where": where})

    async def read_all(self, process: int, rows: Sequence[int]) -> bool:
        """All rows of the worksheet at one process; False if it does not answer them."""
        notes: dict[int, str | None] = dict.fromkeys(rows, ABSENT)
        asked_at = time.monotonic()
        is_alone = False
        for skip in range(0, 1_000_000, WHOLE_PAGE):
            parameters = {"skip": str(skip), "limit": str(WHOLE_PAGE)}
            try:
                answer = await self.exchange.send(
                    process, "whole", "GET", self.path, params=parameters
                )
            except httpx2.TransportError:
                return False
            if answer.response.status_code != httpx2.codes.OK:
                return False
            body = answer.response.json()
            notes |= _notes_of(body["results"])
            is_alone |= answer.is_alone
            if not body["hasNextPage"]:
                first = replace(answer, asked_at=asked_at)
                self._note_read("whole", first, notes, is_alone=is_alone)
                return True
        return False

    async def _read(
        self,
        kind: str,
        rest: str,
        rows: Sequence[int],
        *,
        avoid: int | None = None,
        **request: Any,
    ) -> Answer | None:
        """The answer, which is noted; `rows` are absent if it does not show them."""
        for _ in range(READ_TRIES):
            try:
                avoid = self.exchange.other_than(avoid)
                answer = await self.exchange.send(avoid, kind, "GET", self.path + rest, **request)
            except httpx2.TransportError:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            status = answer.response.status_code
            if status in (httpx2.codes.OK, httpx2.codes.NOT_FOUND):
                body = _body_of(answer.response) if status == httpx2.codes.OK else {"results": []}
                records = body.get("results", [body])
                notes = {**dict.fromkeys(rows, ABSENT), **_notes_of(records)}
                self._note_read(kind, answer, notes)
                return answer
            pause_seconds = float(answer.response.headers.get("Retry-After", PAUSE_SECONDS))
            await asyncio.sleep(min(pause_seconds, LONGEST_PAUSE_SECONDS))
        return None

    def _note_read(
        self,
        kind: str,
        answer: Answer,
        notes: Mapping[int, str | None],
        *,
        is_alone: bool = False,
    ) -> None:
        """Rows that no client created are of no interest."""
        known = {row: note for row, note in notes.items() if note != "note:seed"}
        self.log.reads.append(
            Shown(
                client=self.number,
                process=answer.process,
                kind=kind,
                worksheet=self.worksheet,
                asked_at=answer.asked_at,
                answered_at=answer.answered_at,
                notes=known,
                is_alone=is_alone or answer.is_alone,
                is_stale=answer.is_stale,
            )
        )

    async def _acknowledged(self, row: int, note: str) -> None:
        """Note the write that was answered last, and read its row at another process."""
        answer = self.last
        if answer is None:
            return
        self.log.writes.append(
            Acknowledged(
                place=(self.worksheet, row),
                note=note,
                answered_at=answer.answered_at,
                process=answer.process,
                is_alone=answer.is_alone,
            )
        )
        await self.read_row(row, avoid=answer.process)

    async def _asked(
        self,
        kind: str,
        key: str,
        method: str,
        path: str,
        body: bytes,
        create: Create | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Asked[Read]:
        """Ask one process after another until a write is settled."""
        given = {"Content-Type": "application/json", "Idempotency-Key": f'"{key}"'}
        given |= headers or {}
        tried: int | None = None

        async def send() -> httpx2.Response:
            nonlocal tried
            tried = self.exchange.other_than(tried)
            self.last = await self.exchange.send(
                tried, kind, method, path, content=body, headers=given, key=key
            )
            return self.last.response

        def read(answer: httpx2.Response) -> Read:
            self.log.replays += "Idempotent-Replayed" in answer.headers
            if _body_of(answer).get("code") == IN_PROGRESS:
                return Read(outcome="unknown")
            return read_update(answer) if create is None else read_answer(create, answer)

        return await ask(send, read, is_keyed=True, patience=self.patience, is_up=self.is_up)


def _body_of(response: httpx2.Response) -> Mapping[str, Any]:
    """An answer's object; {} if it is none."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _notes_of(records: Sequence[Mapping[str, Any]]) -> dict[int, str | None]:
    """The notes by rows; an empty cell is no note of a row that clients created."""
    return {record["rowIndex"]: record.get("note") or "" for record in records}
