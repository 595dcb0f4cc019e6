"""Write ledger: records of writes with an Idempotency-Key, in the key store's database.

Rules:
- Data that must not be lost is committed before the method returns. Changes are sequential.
- Times are seconds since the epoch.
- Open records are also in memory, so that other writes cost nothing here. If a result could not be
  stored, the record stays open on disk, and must not claim rows of other creates.
- Records expire after 24 h, or sooner if they exceed the quota (`gateway.storage.storage_quota`).
  Each group of new records deletes more expired ones than it adds.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from sqlalchemy import RowMapping, delete, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql import Executable

from gateway.errors import InternalError
from gateway.settings.model import WriteSettings
from gateway.storage.open_creates import OpenCreates
from gateway.storage.storage_quota import RecordQuota
from gateway.storage.write_records import (
    KEPT_SECONDS,
    OPEN,
    PUT,
    SIZES,
    TAKE,
    answered_record,
    forget_oldest,
    open_record,
    place_of,
    prepare,
    purge,
    records,
    size_of,
)
from gateway.telemetry.events import current_event, request_failed
from gateway.worksheets.idempotency import Answer, Entry, RowInterval, Sending
from gateway.worksheets.replay import Restorer, decode_answer
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Results, WriteIdentity

DEFAULT_BYTES = WriteSettings().max_record_bytes

Step = tuple[Executable, Sequence[Mapping[str, object]] | None]
"""A statement and its parameter sets; None: execute once without parameters."""


class SqlLedger:
    """The `Ledger` of one database. Use `open_ledger`."""

    def __init__(
        self,
        engine: AsyncEngine,
        clock: Callable[[], float],
        *,
        longest_call_seconds: float,
        max_bytes: int,
    ) -> None:
        self._engine = engine
        self._longest_call_seconds = longest_call_seconds
        self._clock = clock
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = OpenCreates()
        self._quota = RecordQuota(max_bytes)
        self._answered_creates: set[str] = set()
        self._left_at: dict[str, float] = {}

    async def load(self) -> None:
        """Load the open writes of an earlier process.

        That process recorded them before their calls began. Their calls may have been sent much
        later: after waiting for quota, token and connection. This delay is not stored, so that a
        later start does not add it again.
        """
        now = self._clock()
        async with self._engine.begin() as connection:
            await prepare(connection)
            found = (await connection.execute(OPEN)).mappings().all()
            await self._measure(connection)
        for row in found:
            scope, sent_at = row["scope"], row["sent_at"]
            left_at = max(sent_at, min(now, sent_at + self._longest_call_seconds))
            self._left_at[scope] = left_at
            self._quota.opened(scope, row["key_id"], row["size"], left_at)
            if row["is_create"]:
                self._open.add(
                    scope, row["worksheet"], left_at, [RowInterval(*each) for each in row["taken"]]
                )

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        query = select(records).where(
            (records.c.scope == scope) & (records.c.sent_at > self._clock() - KEPT_SECONDS)
        )
        try:
            async with self._engine.connect() as connection:
                row = (await connection.execute(query)).mappings().one_or_none()
            return None if row is None else self._entry(row, Restorer(texts))
        except (SQLAlchemyError, msgspec.MsgspecError) as error:
            raise InternalError("The record of this Idempotency-Key cannot be read.") from error

    def check_room(self, identity: WriteIdentity) -> None:
        self._quota.close_older(self._clock() - KEPT_SECONDS)
        self._quota.check(identity.key_id)

    async def sending(self, sendings: Sequence[Sending]) -> None:
        now = self._clock()
        noted: list[Mapping[str, object]] = []
        for identity, first_row, rows in sendings:
            if identity is not None:
                record = open_record(identity, now, first_row, rows)
                noted.append(record)
                self._answered_creates.discard(identity.scope)
                self._quota.opened(identity.scope, identity.key_id, size_of(record), now)
                if identity.is_create:
                    self._open.add(identity.scope, place_of(identity.worksheet), now)
        if not noted:
            return
        self._open.drop_older(now - KEPT_SECONDS)
        try:
            await self._commit([(PUT, noted), (purge(now, len(noted)), None)])
        except SQLAlchemyError as error:
            raise InternalError(
                "The write could not be noted under its Idempotency-Key, and was not sent.",
                outcome="not_applied",
            ) from error

    async def landed(
        self, worksheet: WorksheetId, landings: Sequence[tuple[WriteIdentity | None, Results]]
    ) -> None:
        own = [(identity, results) for identity, results in landings if identity is not None]
        removed = self._open.remove(identity.scope for identity, _ in own)
        spans = [RowInterval(results[0].row, results[-1].row) for _, results in landings]
        taken = [
            {"open_scope": scope, "now_taken": [list(span) for span in spans_of_others]}
            for scope, spans_of_others in self._open.take(place_of(worksheet), spans, self._clock())
        ]
        if await self._store_answers(own, [(TAKE, taken)]):
            self._answered_creates |= {identity.scope for identity, _ in own}
        else:
            own_rows = {identity.scope: results[0].row for identity, results in own}
            self._open.put_back(removed, spans, own_rows, self._clock())

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        if identity.scope in self._answered_creates:
            self._answered_creates.discard(identity.scope)
        elif await self._store_answers([(identity, answer)]):
            self._open.drop(identity.scope)

    async def renew(self, identity: WriteIdentity) -> None:
        now = self._clock()
        self._open.renew(identity.scope, now)
        of_request = records.c.scope == identity.scope
        await self._try_commit([(update(records).where(of_request).values(sent_at=now), None)])

    async def drop(self, identity: WriteIdentity) -> None:
        self._open.drop(identity.scope)
        self._quota.closed(identity.scope)
        await self._try_commit([(delete(records).where(records.c.scope == identity.scope), None)])

    async def aclose(self) -> None:
        """Wait for running transactions."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _entry(self, row: RowMapping, restored: Restorer) -> Entry:
        scope, answer = row["scope"], row["answer"]
        on_disk = [RowInterval(*each) for each in row["taken"]]
        rows = msgspec.json.decode(row["rows"])
        return Entry(
            fingerprint=row["fingerprint"],
            sent_at=max(row["sent_at"], self._left_at.get(scope, 0.0)),
            first_row=row["first_row"],
            rows=[[restored(value) for value in cells] for cells in rows],
            # memory also has rows that could not be stored
            taken=tuple(dict.fromkeys([*on_disk, *self._open.taken(scope)])),
            answer=None if answer is None else decode_answer(answer, restored),
        )

    async def _store_answers(
        self, answers: Sequence[tuple[WriteIdentity, Answer]], steps: Sequence[Step] = ()
    ) -> bool:
        """Store results of finished writes, together with further steps."""
        now = self._clock()
        answered = [answered_record(identity, now, answer) for identity, answer in answers]
        clearing: Sequence[Step] = [(purge(now, len(answered)), None)] if answered else []
        if not await self._try_commit([(PUT, answered), *steps, *clearing]):
            return False
        for (identity, _), record in zip(answers, answered, strict=True):
            self._quota.closed(identity.scope)
            self._quota.completed(identity.key_id, size_of(record))
        await self._enforce_quota()
        return True

    async def _enforce_quota(self) -> None:
        """Delete the oldest completed records if they exceed the quota."""
        if not self._quota.is_over:
            return
        try:
            async with self._lock, self._engine.begin() as connection:
                await self._measure(connection)
                for key_id, kept_bytes in self._quota.limits().items():
                    await connection.execute(forget_oldest(key_id, kept_bytes))
                await self._measure(connection)
        except SQLAlchemyError as error:
            request_failed(current_event(), error)

    async def _measure(self, connection: AsyncConnection) -> None:
        found = (await connection.execute(SIZES)).all()
        self._quota.measured({row.key_id: row.size for row in found})

    async def _try_commit(self, steps: Sequence[Step]) -> bool:
        """Commit; failures are only logged, because the write has already happened."""
        try:
            await self._commit(steps)
        except SQLAlchemyError as error:
            request_failed(current_event(), error)
            return False
        return True

    async def _commit(self, steps: Sequence[Step]) -> None:
        """Execute steps in one transaction, even if the caller is cancelled."""
        needed = [(statement, values) for statement, values in steps if values != []]
        if needed:
            task = asyncio.create_task(self._transaction(needed))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.shield(task)

    async def _transaction(self, steps: Sequence[Step]) -> None:
        async with self._lock, self._engine.begin() as connection:
            for statement, values in steps:
                await connection.execute(statement, values)


@asynccontextmanager
async def open_ledger(
    engine: AsyncEngine,
    clock: Callable[[], float],
    *,
    longest_call_seconds: float = 0.0,
    max_bytes: int = DEFAULT_BYTES,
) -> AsyncIterator[SqlLedger]:
    """Open the ledger in a database with its table; `clock` returns seconds since the epoch.

    `longest_call_seconds` is the longest time from recording a write until it is sent to Google.
    `max_bytes` limits the disk space of the records.
    """
    ledger = SqlLedger(
        engine, clock, longest_call_seconds=longest_call_seconds, max_bytes=max_bytes
    )
    await ledger.load()
    try:
        yield ledger
    finally:
        await ledger.aclose()
