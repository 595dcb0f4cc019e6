"""The ledger of writes with an Idempotency-Key, a table in the database of the keys.

Rules
- What must not be lost is committed before the method returns; changes come one after the other.
- Instants are seconds since the epoch: they are subtracted.
- Memory knows which records are open, so that writes beside none of them cost nothing here.
- Records end after 24 h; each group of new ones clears away a few more than it adds.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    RowMapping,
    String,
    Table,
    bindparam,
    delete,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import Executable

from gateway.access.open_creates import OpenCreates
from gateway.errors import InternalError
from gateway.observe import current_event, request_failed
from gateway.service.ledger import Answer, Entry, Rows, Sending, Span
from gateway.service.replay import decode_answer, encode_answer
from gateway.service.ticket import Ticket
from gateway.service.worksheet import WorksheetRef
from gateway.service.writes import Results

KEPT_SECONDS = 86_400.0
"""How long a record counts."""

PURGED_AT_LEAST = 20
"""Old records that a group of new ones clears away, if it adds fewer itself."""

_records = Table(
    "idempotency_records",
    MetaData(),
    Column("scope", String, primary_key=True),
    Column("fingerprint", String, nullable=False),
    Column("is_create", Boolean, nullable=False),
    Column("worksheet", String, nullable=False),
    Column("sent_at", Float, nullable=False),
    Column("first_row", Integer, nullable=False),
    Column("rows", JSON, nullable=False),
    Column("taken", JSON, nullable=False),
    Column("answer", String),
)
_by_age = Index("idempotency_records_by_age", _records.c.sent_at)

TABLES = (CreateTable(_records, if_not_exists=True), CreateIndex(_by_age, if_not_exists=True))
"""What makes the table where it is not there."""

_NEW = insert(_records)
_PUT = _NEW.on_conflict_do_update(
    index_elements=["scope"],
    set_={column.name: _NEW.excluded[column.name] for column in _records.columns},
)
_TAKE = (
    update(_records)
    .where(_records.c.scope == bindparam("open_scope"))
    .values(taken=bindparam("now_taken"))
)

Step = tuple[Executable, Sequence[Mapping[str, object]] | None]
"""A statement, and the values of each time that it is carried out; None: once, without any."""


class SqlLedger:
    """The `Ledger` of one database; made by `open_ledger`."""

    def __init__(
        self, engine: AsyncEngine, clock: Callable[[], float], *, longest_call_seconds: float
    ) -> None:
        self._engine = engine
        self._longest_call_seconds = longest_call_seconds
        self._clock = clock
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = OpenCreates()
        self._landed: set[str] = set()
        self._left_at: dict[str, float] = {}

    async def load(self) -> None:
        """Learn which writes are open since another process.

        It noted them before their calls to Google began, and may have ended as those left, after
        all the time that a call waits for its turn, a token and a connection. This is not put on
        disk: a start after this one adds nothing to it.
        """
        now = self._clock()
        query = select(_records).where(_records.c.answer.is_(None))
        async with self._engine.connect() as connection:
            found = (await connection.execute(query)).mappings().all()
        for row in found:
            scope, sent_at = row["scope"], row["sent_at"]
            left_at = max(sent_at, min(now, sent_at + self._longest_call_seconds))
            self._left_at[scope] = left_at
            if row["is_create"]:
                self._open.add(
                    scope, row["worksheet"], left_at, [Span(*each) for each in row["taken"]]
                )

    async def find(self, scope: str) -> Entry | None:
        query = select(_records).where(
            (_records.c.scope == scope) & (_records.c.sent_at > self._clock() - KEPT_SECONDS)
        )
        try:
            async with self._engine.connect() as connection:
                row = (await connection.execute(query)).mappings().one_or_none()
            return None if row is None else self._entry(row)
        except (SQLAlchemyError, msgspec.ValidationError) as error:
            raise InternalError("The record of this Idempotency-Key cannot be read.") from error

    async def sending(self, sendings: Sequence[Sending]) -> None:
        now = self._clock()
        values: list[Mapping[str, object]] = []
        for ticket, first_row, rows in sendings:
            if ticket is not None:
                values.append(_values(ticket, now, first_row=first_row, rows=rows))
                self._landed.discard(ticket.scope)
                if ticket.is_create:
                    self._open.add(ticket.scope, _place(ticket.ref), now)
        if not values:
            return
        self._open.drop_older(now - KEPT_SECONDS)
        try:
            await self._commit([(_PUT, values), _purge(now, len(values))])
        except SQLAlchemyError as error:
            raise InternalError(
                "The write could not be noted under its Idempotency-Key, and was not sent.",
                outcome="not_applied",
            ) from error

    async def landed(
        self, ref: WorksheetRef, landings: Sequence[tuple[Ticket | None, Results]]
    ) -> None:
        own = [(ticket, results) for ticket, results in landings if ticket is not None]
        for ticket, _ in own:
            self._open.drop(ticket.scope)
        answered = [self._answered(ticket, results) for ticket, results in own]
        spans = [Span(results[0].row, results[-1].row) for _, results in landings]
        taken = [
            {"open_scope": scope, "now_taken": [list(span) for span in spans_of_others]}
            for scope, spans_of_others in self._open.take(_place(ref), spans, self._clock())
        ]
        if await self._is_noted([(_PUT, answered), (_TAKE, taken)]):
            self._landed |= {ticket.scope for ticket, _ in own}

    async def complete(self, ticket: Ticket, answer: Answer) -> None:
        self._open.drop(ticket.scope)
        if ticket.scope in self._landed:
            self._landed.discard(ticket.scope)
        else:
            await self._is_noted([(_PUT, [self._answered(ticket, answer)])])

    async def renew(self, ticket: Ticket) -> None:
        now = self._clock()
        self._open.renew(ticket.scope, now)
        of_ticket = _records.c.scope == ticket.scope
        await self._is_noted([(update(_records).where(of_ticket).values(sent_at=now), None)])

    async def drop(self, ticket: Ticket) -> None:
        self._open.drop(ticket.scope)
        await self._is_noted([(delete(_records).where(_records.c.scope == ticket.scope), None)])

    async def aclose(self) -> None:
        """Let what is under way be committed."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _entry(self, row: RowMapping) -> Entry:
        scope, answer = row["scope"], row["answer"]
        on_disk = [Span(*each) for each in row["taken"]]
        return Entry(
            fingerprint=row["fingerprint"],
            sent_at=max(row["sent_at"], self._left_at.get(scope, 0.0)),
            first_row=row["first_row"],
            rows=row["rows"],
            # Memory knows those too that could not be put on disk.
            taken=tuple(dict.fromkeys([*on_disk, *self._open.taken(scope)])),
            answer=None if answer is None else decode_answer(answer),
        )

    def _answered(self, ticket: Ticket, answer: Answer) -> Mapping[str, object]:
        return _values(ticket, self._clock()) | {"answer": encode_answer(answer)}

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
    engine: AsyncEngine, clock: Callable[[], float], *, longest_call_seconds: float = 0.0
) -> AsyncIterator[SqlLedger]:
    """The ledger in a database that has its table; `clock` gives seconds since the epoch.

    `longest_call_seconds`: so long after its note may a write leave for Google.
    """
    ledger = SqlLedger(engine, clock, longest_call_seconds=longest_call_seconds)
    await ledger.load()
    try:
        yield ledger
    finally:
        await ledger.aclose()


def _place(ref: WorksheetRef) -> str:
    return f"{ref.spreadsheet}/{ref.title}"


def _values(
    ticket: Ticket, now: float, *, first_row: int = 0, rows: Rows = ()
) -> dict[str, object]:
    return {
        "scope": ticket.scope,
        "fingerprint": ticket.fingerprint,
        "is_create": ticket.is_create,
        "worksheet": _place(ticket.ref),
        "sent_at": now,
        "first_row": first_row,
        "rows": [list(row) for row in rows],
        "taken": [],
        "answer": None,
    }


def _purge(now: float, added: int) -> Step:
    """Clear away old records, more than are added but not all at once."""
    old = (
        select(_records.c.scope)
        .where(_records.c.sent_at <= now - KEPT_SECONDS)
        .order_by(_records.c.sent_at)
        .limit(max(PURGED_AT_LEAST, 2 * added))
    )
    return delete(_records).where(_records.c.scope.in_(old)), None
