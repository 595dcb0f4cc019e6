"""The write ledger: records of writes with an Idempotency-Key, beside the keys.

Rules
- What must not be lost is committed before the method returns; changes come one after the other.
- Instants are seconds since the epoch: they are subtracted.
- Memory knows which records are open, so that writes beside none of them cost nothing here. One
  whose end could not be put on disk stays open there: it must not take the rows of others.
- Records end after 24 h, or sooner if they are too many (`gateway.storage.storage_quota`); each
  group of new ones clears away a few more than it adds.
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
from gateway.storage.storage_quota import RecordRoom
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
"""A statement, and the values of each time that it is carried out; None: once, without any."""


class SqlLedger:
    """The `Ledger` of one database; made by `open_ledger`."""

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
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = OpenCreates()
        self._room = RecordRoom(max_bytes)
        self._landed: set[str] = set()
        self._left_at: dict[str, float] = {}

    async def load(self) -> None:
        """Learn which writes are open since another process.

        It noted them before their calls to Google began, and may have ended as those left, after
        all the time that a call waits for its turn, a token and a connection. This is not put on
        disk: a start after this one adds nothing to it.
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
            self._room.opened(scope, row["key_id"], row["size"], left_at)
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
        self._room.close_older(self._clock() - KEPT_SECONDS)
        self._room.check(identity.key_id)

    async def sending(self, sendings: Sequence[Sending]) -> None:
        now = self._clock()
        noted: list[Mapping[str, object]] = []
        for identity, first_row, rows in sendings:
            if identity is not None:
                record = open_record(identity, now, first_row, rows)
                noted.append(record)
                self._landed.discard(identity.scope)
                self._room.opened(identity.scope, identity.key_id, size_of(record), now)
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
        if await self._are_answered(own, [(TAKE, taken)]):
            self._landed |= {identity.scope for identity, _ in own}
        else:
            own_rows = {identity.scope: results[0].row for identity, results in own}
            self._open.put_back(removed, spans, own_rows, self._clock())

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        if identity.scope in self._landed:
            self._landed.discard(identity.scope)
        elif await self._are_answered([(identity, answer)]):
            self._open.drop(identity.scope)

    async def renew(self, identity: WriteIdentity) -> None:
        now = self._clock()
        self._open.renew(identity.scope, now)
        of_request = records.c.scope == identity.scope
        await self._is_noted([(update(records).where(of_request).values(sent_at=now), None)])

    async def drop(self, identity: WriteIdentity) -> None:
        self._open.drop(identity.scope)
        self._room.closed(identity.scope)
        await self._is_noted([(delete(records).where(records.c.scope == identity.scope), None)])

    async def aclose(self) -> None:
        """Let what is under way be committed."""
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
            # Memory knows those too that could not be put on disk.
            taken=tuple(dict.fromkeys([*on_disk, *self._open.taken(scope)])),
            answer=None if answer is None else decode_answer(answer, restored),
        )

    async def _are_answered(
        self, answers: Sequence[tuple[WriteIdentity, Answer]], steps: Sequence[Step] = ()
    ) -> bool:
        """Keep the answers of writes that ended for good, and carry out more steps with that."""
        now = self._clock()
        answered = [answered_record(identity, now, answer) for identity, answer in answers]
        clearing: Sequence[Step] = [(purge(now, len(answered)), None)] if answered else []
        if not await self._is_noted([(PUT, answered), *steps, *clearing]):
            return False
        for (identity, _), record in zip(answers, answered, strict=True):
            self._room.closed(identity.scope)
            self._room.completed(identity.key_id, size_of(record))
        await self._make_room()
        return True

    async def _make_room(self) -> None:
        """Forget the oldest answers, if all of them take too much disk."""
        if not self._room.is_over:
            return
        try:
            async with self._turn, self._engine.begin() as connection:
                await self._measure(connection)
                for key_id, kept_bytes in self._room.kept().items():
                    await connection.execute(forget_oldest(key_id, kept_bytes))
                await self._measure(connection)
        except SQLAlchemyError as error:
            request_failed(current_event(), error)

    async def _measure(self, connection: AsyncConnection) -> None:
        found = (await connection.execute(SIZES)).all()
        self._room.measured({row.key_id: row.size for row in found})

    async def _is_noted(self, steps: Sequence[Step]) -> bool:
        """Commit; failure is for the log alone, as the write is done whatever becomes of this."""
        try:
            await self._commit(steps)
        except SQLAlchemyError as error:
            request_failed(current_event(), error)
            return False
        return True

    async def _commit(self, steps: Sequence[Step]) -> None:
        """Carry out steps in one transaction, to its end even if the caller is cancelled."""
        needed = [(statement, values) for statement, values in steps if values != []]
        if needed:
            task = asyncio.create_task(self._transaction(needed))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.shield(task)

    async def _transaction(self, steps: Sequence[Step]) -> None:
        async with self._turn, self._engine.begin() as connection:
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
    """The ledger in a database that has its table; `clock` gives seconds since the epoch.

    `longest_call_seconds`: so long after its note may a write leave for Google. `max_bytes` is
    what the records may take on disk.
    """
    ledger = SqlLedger(
        engine, clock, longest_call_seconds=longest_call_seconds, max_bytes=max_bytes
    )
    await ledger.load()
    try:
        yield ledger
    finally:
        await ledger.aclose()
