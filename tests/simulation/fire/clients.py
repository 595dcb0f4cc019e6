"""Clients that create and update rows whatever happens, and write down what they were told.

Rules
- What surely was not sent is sent again, and what was not applied if the answer says when. Without
  an Idempotency-Key nothing else is; with one a client asks again, with the same key and body,
  until it has an answer that settles it or has asked often enough.
- An update is sent once, with a key and If-Match or without, to a row that a client was told of.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import httpx2

from tests.simulation.fire.ledger import Entry, Fields, Outcome, UpdateEntry

OUTCOMES: Mapping[str, Outcome] = {
    "applied": "applied",
    "not_applied": "not_applied",
    "unknown": "unknown",
}
IN_PROGRESS = 4090
FAILURES = 500
KNOWN_ROWS = 20
"""So many rows are updated, the last ones that a client was told of."""


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
    """How long clients go on: of one request, and of one create with its key."""

    answer_seconds: float
    asks: int
    longest_pause_seconds: float


class HasOutcome(Protocol):
    @property
    def outcome(self) -> str: ...


R = TypeVar("R", bound=HasOutcome)


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[R]):
    """What came of a write: its last answer, None if there was none."""

    read: R | None
    is_cut: bool
    """The connection broke before the last answer."""
    asks: int


async def ask(
    send: Callable[[], Awaitable[httpx2.Response]],
    read: Callable[[httpx2.Response], R],
    *,
    is_keyed: bool,
    patience: Patience,
    is_up: asyncio.Event,
) -> Asked[R]:
    """Ask for a write until it is settled, or too often."""
    asked: Asked[R] = Asked(read=None, is_cut=False, asks=0)
    while asked.asks < patience.asks:
        await is_up.wait()
        try:
            answer = await send()
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            await asyncio.sleep(0.05)  # nothing was sent
            continue
        except httpx2.TransportError:
            asked = Asked(read=None, is_cut=True, asks=asked.asks + 1)
            pause_seconds, may_repeat = 0.1, is_keyed
        else:
            found = read(answer)
            asked = Asked(read=found, is_cut=asked.is_cut, asks=asked.asks + 1)
            pause_seconds = float(answer.headers.get("Retry-After", "1"))
            has_wait = "Retry-After" in answer.headers  # with `applied`: where its rows are
            may_repeat = has_wait and (is_keyed or found.outcome == "not_applied")
            may_repeat = may_repeat or (is_keyed and found.outcome == "unknown")
        if not may_repeat:
            break
        await asyncio.sleep(min(pause_seconds, patience.longest_pause_seconds))
    return asked


@dataclass(kw_only=True)
class Clerk:
    """Sends the creates and updates of one worksheet and keeps their ledger.

    `is_up` is cleared while there is no gateway. `updates` are the numbers of updates, `chance`
    says which rows get them; a create is followed by one for this share.
    """

    client: httpx2.AsyncClient
    worksheet: str
    patience: Patience
    is_up: asyncio.Event
    numbers: Iterator[int]
    chance: random.Random
    update_share: float = 0.0
    entries: list[Entry] = field(default_factory=list)
    updates: list[UpdateEntry] = field(default_factory=list)
    replays: int = 0

    @property
    def path(self) -> str:
        return f"/v2/sheets/{self.worksheet}"

    async def perform(self, create: Create) -> None:
        """Have rows created, and write down the last that is known of them."""
        asked_at = time.monotonic()
        entry = replace(await self._settled(create), asked_at=asked_at)
        if create.is_repeated and entry.outcome == "created":
            again = await self._settled(create)
            if again.outcome == "created" and again.places != entry.places:
                entry = replace(entry, complaint=f"at {entry.places}, then at {again.places}")
        self.entries.append(entry)
        if self.chance.random() < self.update_share:
            await self._update()

    async def _settled(self, create: Create) -> Entry:
        """Ask until the rows are settled, or too often."""

        def read(answer: httpx2.Response) -> Read:
            self.replays += "Idempotent-Replayed" in answer.headers
            return read_answer(create, answer)

        asked = await ask(
            lambda: self._send(create),
            read,
            is_keyed=create.key is not None,
            patience=self.patience,
            is_up=self.is_up,
        )
        found = asked.read or Read(outcome="unknown")
        return replace(self._entry(create, found), is_cut=asked.is_cut, asks=asked.asks)

    def _entry(self, create: Create, read: "Read") -> Entry:
        return Entry(
            worksheet=self.worksheet,
            rows=create.rows,
            outcome=read.outcome,
            places=read.places,
            is_keyed=create.key is not None,
            answered_at=time.monotonic(),
            complaint=read.complaint,
        )

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

    async def _update(self) -> None:
        """Update a row that a client was told of, wherever its record is now."""
        rows = [place for entry in self.entries[-KNOWN_ROWS:] for place in entry.places]
        if not rows:
            return
        row, number = self.chance.choice(rows), next(self.numbers)
        path = f"{self.path}/{row}"
        is_keyed, is_conditional = self.chance.random() < 0.5, self.chance.random() < 0.5
        headers = {"Idempotency-Key": f'"update-{number}"'} if is_keyed else {}
        timeout = self.patience.answer_seconds
        await self.is_up.wait()
        asked_at = time.monotonic()
        is_cut = False
        try:
            if is_conditional:
                seen = await self.client.get(path, timeout=timeout)
                if seen.status_code != httpx2.codes.OK:
                    return
                headers["If-Match"] = seen.headers["ETag"]
            asked_at = time.monotonic()
            answer = await self.client.put(
                path, json={"note": f"note:{number}"}, headers=headers, timeout=timeout
            )
            read = read_update(answer)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            return
        except httpx2.TransportError:
            is_cut = True
            read = Read(outcome="unknown")
        self.updates.append(
            UpdateEntry(
                worksheet=self.worksheet,
                row=row,
                number=number,
                outcome=read.outcome,
                asked_at=asked_at,
                answered_at=time.monotonic(),
                is_cut=is_cut,
                is_keyed=is_keyed,
                complaint=read.complaint,
            )
        )


@dataclass(frozen=True, kw_only=True)
class Read:
    """What an answer says."""

    outcome: Outcome
    places: tuple[int, ...] = ()
    complaint: str = ""


def read_answer(create: Create, answer: httpx2.Response) -> Read:
    """What an answer says of a create.

    An answer may show more than was created: an update of the row since, if it was looked at.
    """
    try:
        body = answer.json()
    except ValueError:
        return Read(outcome="unknown", complaint=f"no JSON: {answer.text[:80]}")
    if body.get("code") == IN_PROGRESS:
        return Read(outcome="unknown")
    if answer.status_code != httpx2.codes.CREATED:
        outcome = OUTCOMES.get(body.get("outcome"))
        complaint = "" if outcome else f"{answer.status_code} without an outcome: {body}"
        return Read(outcome=outcome or "unknown", complaint=complaint)
    results = body["results"] if create.is_array else [body]
    places = tuple(record.pop("rowIndex") for record in results)
    is_echoed = len(results) == len(create.rows) and all(
        dict(fields).items() <= record.items()
        for fields, record in zip(create.rows, results, strict=True)
    )
    complaint = "" if is_echoed else f"the answer was {results}"
    return Read(outcome="created", places=places, complaint=complaint)


def read_update(answer: httpx2.Response) -> Read:
    """What an answer says of an update."""
    if answer.status_code == httpx2.codes.OK:
        return Read(outcome="created")
    try:
        outcome = OUTCOMES.get(answer.json().get("outcome"))
    except ValueError:
        return Read(outcome="unknown", complaint=f"no JSON: {answer.text[:80]}")
    if outcome is None and answer.status_code < FAILURES:
        outcome = "not_applied"
    complaint = "" if outcome else f"{answer.status_code} without an outcome: {answer.text[:200]}"
    return Read(outcome=outcome or "unknown", complaint=complaint)


async def perform_all(clerks: Sequence[Clerk], creates: Sequence[Create], clients: int) -> None:
    """Let so many clients of each clerk send the creates, shared out evenly."""
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
