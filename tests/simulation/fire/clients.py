"""Clients that create rows under all conditions, and record the answers.

Rules
- What surely was not sent is sent again. Without an Idempotency-Key nothing else is; with one a
  client asks again, with the same key and body, until it has an answer that settles it or has
  asked often enough.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import httpx2

from tests.simulation.fire.ledger import Entry, Fields, Outcome, fields_of

OUTCOMES: Mapping[str, Outcome] = {
    "applied": "applied",
    "not_applied": "not_applied",
    "unknown": "unknown",
}
IN_PROGRESS = 409


@dataclass(frozen=True, kw_only=True)
class Create:
    """A row to create, or several as one array; `key` is an Idempotency-Key.

    `is_repeated`: it is sent once more when it has been created, as if the answer had been lost.
    """

    rows: tuple[Fields, ...]
    is_array: bool = False
    key: str | None = None
    is_repeated: bool = False

    @property
    def body(self) -> bytes:
        objects = [dict(fields) for fields in self.rows]
        return json.dumps(objects if self.is_array else objects[0]).encode()


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Limits of a client: per request, and per create with its key."""

    answer_seconds: float
    asks: int
    longest_pause_seconds: float


@dataclass(kw_only=True)
class Clerk:
    """Sends the creates of one worksheet and keeps their ledger.

    `is_up` is cleared while there is no gateway.
    """

    client: httpx2.AsyncClient
    path: str
    patience: Patience
    is_up: asyncio.Event
    entries: list[Entry] = field(default_factory=list)
    replays: int = 0

    async def perform(self, create: Create) -> None:
        """Have rows created, and write down the last that is known of them."""
        entry = await self._settled(create)
        if create.is_repeated and entry.outcome == "created":
            again = await self._settled(create)
            if again.outcome == "created" and again.places != entry.places:
                entry = replace(entry, complaint=f"at {entry.places}, then at {again.places}")
        self.entries.append(entry)

    async def _settled(self, create: Create) -> Entry:
        """Ask until the rows are settled, or too often."""
        is_cut = False
        asks = 0
        entry = Entry(rows=create.rows, outcome="unknown")
        while asks < self.patience.asks:
            await self.is_up.wait()
            try:
                answer = await self._send(create)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                await asyncio.sleep(0.05)  # nothing was sent
                continue
            except httpx2.TransportError:
                is_cut = True
                entry = Entry(rows=create.rows, outcome="unknown", is_cut=True)
                pause_seconds = 0.1
            else:
                entry = read_answer(create, answer, is_cut=is_cut)
                self.replays += "Idempotent-Replayed" in answer.headers
                pause_seconds = float(answer.headers.get("Retry-After", "1"))
            asks += 1
            if create.key is None or entry.outcome != "unknown":
                break
            await asyncio.sleep(min(pause_seconds, self.patience.longest_pause_seconds))
        return entry

    async def _send(self, create: Create) -> httpx2.Response:
        headers = {"Content-Type": "application/json"}
        if create.key is not None:
            headers["Idempotency-Key"] = f'"{create.key}"'
        return await self.client.post(
            self.path,
            content=create.body,
            headers=headers,
            timeout=self.patience.answer_seconds,
        )


def read_answer(create: Create, answer: httpx2.Response, *, is_cut: bool) -> Entry:
    """Meaning of an answer to a create."""
    try:
        body = answer.json()
    except ValueError:
        return Entry(rows=create.rows, outcome="unknown", complaint=f"no JSON: {answer.text[:80]}")
    if answer.status_code == IN_PROGRESS:
        return Entry(rows=create.rows, outcome="unknown", is_cut=is_cut)
    if answer.status_code != httpx2.codes.CREATED:
        outcome = OUTCOMES.get(body.get("outcome"))
        complaint = "" if outcome else f"{answer.status_code} without an outcome: {body}"
        return Entry(
            rows=create.rows, outcome=outcome or "unknown", is_cut=is_cut, complaint=complaint
        )
    results = body["results"] if create.is_array else [body]
    places = tuple(record.pop("rowIndex") for record in results)
    echoed = tuple(fields_of(record) for record in results)
    complaint = "" if echoed == create.rows else f"the answer was {results}"
    return Entry(
        rows=create.rows, outcome="created", places=places, is_cut=is_cut, complaint=complaint
    )


async def perform_all(clerks: Sequence[Clerk], creates: Sequence[Create], clients: int) -> None:
    """Let several clients of each clerk send the creates, in equal parts."""
    await asyncio.gather(
        *(
            _perform_some(clerk, creates[index :: len(clerks)], clients)
            for index, clerk in enumerate(clerks)
        )
    )


async def _perform_some(clerk: Clerk, creates: Sequence[Create], clients: int) -> None:
    waiting = iter(creates)

    async def work() -> None:
        for create in waiting:
            await clerk.perform(create)

    await asyncio.gather(*(work() for _ in range(clients)))
