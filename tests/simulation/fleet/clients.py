"""Clients of a fleet. Each sends its next request to a random process and records the answer.

Rules
- A client sends one request at a time, and each retry to another process.
- A client creates rows and updates only its own rows. Each write has an Idempotency-Key and is
  repeated until its outcome is known. An update also has the ETag that another process just
  returned.
- Some updates use a key that can access only the field `note`.
- After an acknowledged write the client reads the row from a process other than the writing one.
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

from tests.simulation.asking import Patience, ask
from tests.simulation.fleet.verdict import ABSENT, CREATE, UPDATE, Acknowledged, Attempt, Log, Shown
from tests.simulation.verbs.clients import texts_of
from tests.simulation.verbs.entries import NO_ANSWER, Entry, Repeat, read_answer
from tests.simulation.verbs.entries import Answer as Told
from tests.simulation.verbs.operations import Operation

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
    """Sends requests to processes by number, and records the results."""

    clients: Sequence[httpx2.AsyncClient]
    chance: random.Random
    log: Log

    def other_than(self, process: int | None) -> int:
        """Return the number of a random process other than this one."""
        others = [each for each in range(len(self.clients)) if each != process]
        return self.chance.choice(others or [0])

    async def send(
        self, process: int, kind: str, method: str, path: str, *, key: str = "", **request: Any
    ) -> Answer:
        """Send a request to one process; `key` is an Idempotency-Key.

        Raises httpx2.TransportError.
        """
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
    """A client that creates and updates rows of one worksheet, and reads its own and other rows."""

    number: int
    exchange: Exchange
    worksheet: str
    patience: Patience
    numbers: Iterator[int]
    """Numbers of operations, shared by all clients."""
    chance: random.Random
    update_share: float = 0.5
    repeat_share: float = 0.2
    partial_key: str = ""
    """A key that can access only some columns."""
    partial_share: float = 0.0
    """Share of the updates that use `partial_key`."""
    rows: dict[int, int] = field(default_factory=dict)
    """Numbers of this client's records, by row."""
    last: Answer | None = None
    """The answer to the last write."""
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
        """Create a row, perhaps update one, and read."""
        await self.create()
        if self.rows and self.chance.random() < self.update_share:
            await self.update(self.chance.choice([*self.rows]))
        if self.rows:
            row = self.chance.choice([*self.rows])
            await self.chance.choice((self.read_page, self.search))(row)

    async def create(self) -> None:
        number = next(self.numbers)
        operation = Operation(
            kind="create",
            number=number,
            bodies=({name: f"{name}:{number}" for name in ("id", "name", "note")},),
            key=f"{CREATE}-{number}",
        )
        entry = await self._settled("create", operation)
        if entry.outcome == "done":
            (row,) = entry.answer.rows
            self.rows[row] = number
            await self._acknowledged(row, f"note:{number}")
            if self.chance.random() < self.repeat_share:
                again = await self._settled("repeated create", operation)
                entry = replace(
                    entry,
                    repeat=Repeat(
                        answer=again.answer,
                        asked_at=again.asked_at,
                        answered_at=again.answered_at,
                    )
                    if again.outcome == "done"
                    else None,
                )
        self.log.entries.append(entry)

    async def update(self, row: int) -> None:
        """Update a row with the ETag that a random process returns."""
        is_partial = bool(self.partial_share) and self.chance.random() < self.partial_share
        headers = {"Authorization": f"Bearer {self.partial_key}"} if is_partial else {}
        seen = await self.read_row(row, headers=headers)
        if seen is None or "ETag" not in seen.response.headers:
            return
        number = next(self.numbers)
        operation = Operation(
            kind="update",
            number=number,
            bodies=({"note": f"note:{number}"},),
            rows=(row,),
            key=f"{UPDATE}-{number}",
            tag=seen.response.headers["ETag"],
            named=texts_of(seen.response.json()),
            tagged=(seen.asked_at, seen.answered_at),
            is_limited=is_partial,
        )
        entry = await self._settled("update", operation, headers)
        self.log.entries.append(entry)
        if entry.outcome == "done":
            await self._acknowledged(row, f"note:{number}")

    async def read_row(
        self, row: int, *, avoid: int | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer | None:
        """Read one row, with retries. Returns None without an answer."""
        return await self._read("row", f"/{row}", (row,), avoid=avoid, headers=headers)

    async def read_page(self, row: int) -> Answer | None:
        skip = max(0, row - PAGE // 2)
        parameters = {"skip": str(skip), "limit": str(PAGE)}
        return await self._read("page", "", (row,), params=parameters)

    async def search(self, row: int) -> Answer | None:
        """Search one row by its number, with a condition that needs typed values."""
        where = json.dumps({"id": f"id:{self.rows[row]}"})
        return await self._read("search", "", (row,), params={"where": where})

    async def read_all(self, process: int, rows: Sequence[int]) -> bool:
        """Read all rows of the worksheet from one process. Returns False without an answer."""
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
        """Read with retries, and record the answer; `rows` count as absent if it lacks them."""
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
        """Record the notes in an answer, for rows that clients created."""
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
        """Record the last write as acknowledged, and read its row from another process."""
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

    async def _settled(
        self, kind: str, operation: Operation, headers: Mapping[str, str] | None = None
    ) -> Entry:
        """Send a write to one process after another until its outcome is known."""
        given = {**operation.headers, **(headers or {})}
        asked_at = time.monotonic()
        tried: int | None = None

        async def send() -> httpx2.Response:
            nonlocal tried
            tried = self.exchange.other_than(tried)
            self.last = await self.exchange.send(
                tried,
                kind,
                operation.method,
                self.path + operation.suffix,
                json=operation.body,
                headers=given,
                key=operation.key or "",
            )
            return self.last.response

        def read(answer: httpx2.Response) -> Told:
            self.log.replays += "Idempotent-Replayed" in answer.headers
            return read_answer(operation, answer)

        asked = await ask(send, read, is_keyed=True, patience=self.patience, is_up=self.is_up)
        return Entry(
            worksheet=self.worksheet,
            operation=operation,
            answer=asked.read or NO_ANSWER,
            asked_at=asked_at,
            answered_at=time.monotonic(),
            is_cut=asked.is_cut,
            asks=asked.asks,
        )


def _body_of(response: httpx2.Response) -> Mapping[str, Any]:
    """Return the JSON object of an answer, or {} if the body is not one."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _notes_of(records: Sequence[Mapping[str, Any]]) -> dict[int, str | None]:
    """Return the notes by row; None for an empty cell."""
    return {record["rowIndex"]: record.get("note") or "" for record in records}
