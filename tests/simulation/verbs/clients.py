"""Clients that send operations of all kinds, read sometimes, and record all answers.

Rules
- An operation with an Idempotency-Key is sent until its outcome is known. An operation without a
  key is sent again only if it was certainly not applied and the answer has `Retry-After`.
- The ETag of a conditional write comes from a read just before, with the same key. If that read
  fails, the operation is omitted and the read is counted.
- An operation that is repeated after success is repeated later, so that rows move meanwhile.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import httpx2

from tests.simulation.asking import Patience, ask
from tests.simulation.verbs.entries import NO_ANSWER, Answer, Entry, ListRead, Repeat, read_answer
from tests.simulation.verbs.operations import HEADER, LIMITED_FIELDS, Draw, Operation, Texts

MOST_ROWS = 1000
"""Maximum number of rows of a list."""
ORDERED_SHARE = 0.3
"""Share of the lists that are sorted, which needs typed values."""
LONGEST_PAUSE_SECONDS = 1.0
"""Longest pause between read and write of a client with a limited key."""
FEWEST_DUE = 4
"""Minimum number of entries that wait for their repetition while operations remain."""


@dataclass(kw_only=True)
class Clerk:
    """Sends the operations of one worksheet and keeps their entries."""

    client: httpx2.AsyncClient
    limited_client: httpx2.AsyncClient
    """A client with a key that can access only some fields."""
    worksheet: str
    patience: Patience
    is_up: asyncio.Event
    draw: Draw
    read_share: float
    """Share of the operations that a read of all rows follows."""
    rest_seconds: float = 0.0
    """Longest pause before each operation."""
    pause_seconds: float = 0.0
    """Longest pause between the read of an ETag and the write with this ETag."""
    last_row: int = 2
    """Number of the last row, as far as this client knows."""
    like_others: Sequence[int] = ()
    """Rows whose cells are all empty in the fields of the limited key."""
    entries: list[Entry] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    """Indexes of the entries that will be repeated."""
    reads: list[ListRead] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    stale_reads: int = 0
    failed_reads: Counter[int] = field(default_factory=Counter)
    """Number of failed reads of an ETag by status; 0 means no answer."""

    @property
    def path(self) -> str:
        return f"/v2/sheets/{self.worksheet}"

    async def work(self, operations: Iterable[object]) -> None:
        """Perform one operation for each item of the shared iterator."""
        for _ in operations:
            await asyncio.sleep(self.rest_seconds * self.draw.chance.random())
            operation = await self._drawn()
            if operation is not None:
                await self._perform(operation)
            if len(self.due) > FEWEST_DUE:
                await self._repeat()
            if self.draw.chance.random() < self.read_share:
                await self.read()
        while self.due:
            await self._repeat()

    async def read(self, *, no_cache: bool = False) -> ListRead | None:
        """Read all rows. Returns None if the read fails or the answer is marked as stale."""
        headers = {"Cache-Control": "no-cache"} if no_cache else {}
        is_ordered = self.draw.chance.random() < ORDERED_SHARE
        parameters = {"limit": str(MOST_ROWS), **({"order": "note"} if is_ordered else {})}
        asked_at = time.monotonic()
        answer = await self._get(self.path, parameters, headers)
        if answer is None or answer.status_code != httpx2.codes.OK:
            return None
        if "detail=" in answer.headers["Cache-Status"]:
            self.stale_reads += 1
            return None
        records = answer.json()["results"]
        if answer.json()["hasNextPage"]:
            self.complaints.append(f"{self.worksheet} has more than {MOST_ROWS} rows")
        first_row = self.draw.header_row + 1
        self.last_row = max((each["rowIndex"] for each in records), default=first_row)
        self.like_others = [
            each["rowIndex"] for each in records if not any(map(each.get, LIMITED_FIELDS))
        ]
        read = ListRead(
            worksheet=self.worksheet,
            asked_at=asked_at,
            answered_at=time.monotonic(),
            records=records,
        )
        self.reads.append(read)
        return read

    async def _drawn(self) -> Operation | None:
        """Return the next operation, or None if the read of its ETag failed."""
        operation = self.draw.operation(self.last_row)
        if operation.kind not in ("update", "delete") or not self.draw.wants_tag():
            return operation
        operation = replace(operation, is_limited=self.draw.wants_limited_key())
        if operation.is_limited and self.like_others:
            rows = (self.draw.chance.choice(self.like_others),)
            operation = replace(operation, rows=rows)
        asked_at = time.monotonic()
        path = f"{self.path}/{operation.rows[0]}"
        answer = await self._get(path, {}, {}, client=self._client_of(operation))
        if answer is None or answer.status_code != httpx2.codes.OK:
            self.failed_reads[0 if answer is None else answer.status_code] += 1
            return None
        tagged = (asked_at, time.monotonic())
        longest_seconds = LONGEST_PAUSE_SECONDS if operation.is_limited else self.pause_seconds
        await asyncio.sleep(longest_seconds * self.draw.chance.random())
        named = texts_of(answer.json())
        return replace(operation, tag=answer.headers["ETag"], named=named, tagged=tagged)

    def _client_of(self, operation: Operation) -> httpx2.AsyncClient:
        return self.limited_client if operation.is_limited else self.client

    async def _perform(self, operation: Operation) -> None:
        entry = await self._settled(operation)
        if operation.is_repeated and entry.outcome == "done":
            self.due.append(len(self.entries))
        self.entries.append(entry)
        self.last_row = max([self.last_row, *entry.answer.rows])

    async def _repeat(self) -> None:
        """Send an operation again that already succeeded."""
        index = self.due.pop(self.draw.chance.randrange(len(self.due)))
        again = await self._settled(self.entries[index].operation)
        repeat = Repeat(answer=again.answer, asked_at=again.asked_at, answered_at=again.answered_at)
        self.entries[index] = replace(self.entries[index], repeat=repeat)

    async def _settled(self, operation: Operation) -> Entry:
        asked_at = time.monotonic()
        asked = await ask(
            lambda: self._send(operation),
            lambda answer: read_answer(operation, answer),
            is_keyed=operation.key is not None,
            patience=self.patience,
            is_up=self.is_up,
        )
        answer: Answer = asked.read or NO_ANSWER
        return Entry(
            worksheet=self.worksheet,
            operation=operation,
            answer=answer,
            asked_at=asked_at,
            answered_at=time.monotonic(),
            is_cut=asked.is_cut,
            asks=asked.asks,
        )

    async def _send(self, operation: Operation) -> httpx2.Response:
        return await self._client_of(operation).request(
            operation.method,
            self.path + operation.suffix,
            params=dict(operation.parameters),
            json=operation.body,
            headers=dict(operation.headers),
            timeout=self.patience.answer_seconds,
        )

    async def _get(
        self,
        path: str,
        parameters: Mapping[str, str],
        headers: Mapping[str, str],
        *,
        client: httpx2.AsyncClient | None = None,
    ) -> httpx2.Response | None:
        """Return the answer with any status, or None if the connection failed."""
        await self.is_up.wait()
        try:
            return await (client or self.client).get(
                path,
                params=dict(parameters),
                headers=dict(headers),
                timeout=self.patience.answer_seconds,
            )
        except httpx2.TransportError:
            return None


def texts_of(record: Mapping[str, object]) -> Texts:
    """Return the cells of a record that are not blank."""
    return {name: str(record[name]) for name in HEADER if name and record.get(name) is not None}


async def work_all(clerks: Sequence[Clerk], operations: Iterable[object], clients: int) -> None:
    """Perform the operations with `clients` tasks per clerk."""
    waiting = iter(operations)
    await asyncio.gather(*(clerk.work(waiting) for clerk in clerks for _ in range(clients)))
