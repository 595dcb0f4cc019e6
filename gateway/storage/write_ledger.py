"""Write ledger in the key store: notes of sent batches, and records of idempotent writes.

A record describes a write with an Idempotency-Key. It is open when the write is sent, and completed
when it has the answer. Its scope is a digest that identifies API key, Idempotency-Key and path. A
note describes a batch: the writes in one request to Google. A removal is a batch that removes or
empties rows. A fence is metadata in the spreadsheet that proves that a batch was applied. It has an
ID and a token, which is unique to the batch (`gateway.worksheets.fences`).

Rules:
- Data that must not be lost is committed before the method returns. One transaction runs at a time.
- Times are seconds since the epoch by a clock that ignores changes of the wall clock
  (`steady_clock`).
- Records of completed writes expire after 24 h, or earlier if they exceed the quota. A transaction
  that adds records deletes up to twice as many expired records, and at least 20. Open records with
  a fence do not expire, because the fence shows the outcome at any time.
- A batch that might change or move rows has a note. The note is committed before the batch is sent,
  together with the records of its writes. It is deleted after no copy of the batch can be applied
  any more: by a later commit, by the close of the ledger, or by a later process.
- One API key can use a quarter of the quota of disk space. The oldest completed records of the keys
  with most bytes are deleted first. Open records are never deleted, because their write may have
  been applied. The newest record of a key is not deleted, because its request was just answered.
  Open and newest records can exceed the quota.
- The bytes of completed records are counted as they are added, and measured by SQL when the count
  exceeds the quota. So the count is never too low.
- The outcome of a damaged record is unknown. If its fence can be read, all later writes to the
  worksheet wait until the fence shows the outcome.
"""

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
from sqlalchemy import RowMapping, delete, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql import Executable

from gateway import errors
from gateway.google.sheets import Fence
from gateway.settings.model import WriteSettings
from gateway.storage import write_records as sql
from gateway.storage.damaged_rows import DamagedRow, checked
from gateway.storage.database import STORE_ERRORS, is_locked, is_server
from gateway.storage.write_records import KEPT_SECONDS, records, sent_batches
from gateway.telemetry.events import current_event, damaged_row, request_failed
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.fences import last_sent_at
from gateway.worksheets.idempotency import Answer, Entry, OpenWrite, Sending
from gateway.worksheets.replay import Restorer, decode_answer
from gateway.worksheets.writes import Results, WriteIdentity

DEFAULT_BYTES = WriteSettings().max_record_bytes
RETRY_SECONDS = 5
"""`Retry-After` in seconds while the database server is unavailable or the file is locked."""

MAX_TOKENS = 500
"""Maximum number of batch tokens in one statement. Databases limit a statement's parameters."""

NOT_SEEN = ""
"""Stands for the token of a record that this process has neither read nor stored."""

_UNREAD = "The record of this Idempotency-Key cannot be read."

_rows = msgspec.json.Decoder(list[list[Any]])
_numbers = msgspec.json.Decoder(tuple[int, ...])

T = TypeVar("T")

Step = tuple[Executable, Sequence[Mapping[str, object]] | None]
"""SQL statement, and one mapping of parameters for each execution. None: run once, without any."""


SHARE = 4
"""Divisor of the quota of disk space. One API key can use a quarter."""

SLACK = 32
"""Divisor of the quota. A deletion leaves this part (1/32) unused, so that deletions are rare."""


class RecordQuota:
    """Bytes of the records of each API key, compared with the quota of disk space."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._per_key = max_bytes // SHARE
        self._used = Counter[str]()
        """Bytes of all records, by key ID."""
        self._open = Counter[str]()
        """Bytes of open records, by key ID."""

    def check(self, key_id: str) -> None:
        """Raise QueueFull if open records fill the quota of this key, or the whole quota."""
        if self._open[key_id] >= self._per_key or self._open.total() >= self._max_bytes:
            raise errors.QueueFull(
                "Too many writes with an Idempotency-Key have an unknown outcome, and fill "
                "the space for their records. Repeat those writes first.",
                outcome="not_applied",
                retry_after_seconds=errors.UNKNOWN_RETRY_SECONDS,
            )

    def opened(self, key_id: str, size: int) -> None:
        """Count `size` bytes of an open record. `size` is negative when the record is closed."""
        self._open[key_id] += size
        self._used[key_id] += size

    def completed(self, key_id: str, size: int) -> None:
        """Count the bytes of a completed record."""
        self._used[key_id] += size

    def measured(self, sizes: Mapping[str, int]) -> None:
        """Replace the counts of completed records by `sizes`, measured bytes by key ID."""
        self._open = +self._open  # removes keys without open records
        self._used = self._open + Counter(sizes)

    @property
    def is_over(self) -> bool:
        """True if the counts exceed the quota, and completed records can be deleted."""
        sizes = self._used.values()
        is_full = sum(sizes) > self._max_bytes or max(sizes, default=0) > self._per_key
        return is_full and bool(self.limits())

    def limits(self) -> Mapping[str, int]:
        """Bytes of completed records to keep, by key ID, for each key that exceeds its quota."""
        level = min(
            self._per_key - self._per_key // SLACK,
            _level(self._used.values(), self._max_bytes - self._max_bytes // SLACK),
        )
        return {
            key_id: max(0, level - self._open[key_id])
            for key_id, size in self._used.items()
            if size > max(level, self._open[key_id])
        }


def _level(sizes: Collection[int], in_all: int) -> int:
    """Returns the largest size such that `sizes`, each cut to it, are at most `in_all` together."""
    ascending = sorted(sizes)
    for rank, size in enumerate(ascending):
        share = in_all // (len(ascending) - rank)
        if size > share:
            return share
        in_all -= size
    return in_all + max(ascending, default=0)


@dataclass(kw_only=True)
class _Record:
    """Data in memory about an open record, or about a record whose request is being answered."""

    key_id: str = ""
    size: int = 0
    """Bytes that the record uses in the quota of its key."""
    expires_from: float = math.inf
    sent_at: float | None = None
    """Time at which this process last sent the write, or None if another process sent it."""
    fence_id: int | None = None
    token: str | None = NOT_SEEN
    """Token of the fence in the record when this process last read or stored the record."""
    is_answered: bool = False
    """True if `completed` has stored the answer, and `complete` was not called yet."""


@dataclass(kw_only=True)
class _Batch:
    """Data in memory about a batch with a note in the database."""

    fence_id: int | None = None
    """Metadata ID of the batch's fence, or None if another process stored the note."""
    is_removal: bool = False
    """True if the batch removes or empties rows, so that records need the batch's outcome."""
    is_applied: bool | None = None
    """Outcome that the next transaction stores, or None while the outcome is unknown."""


def steady_clock() -> Callable[[], float]:
    """Create a clock of seconds since the epoch that ignores later changes of the wall clock.

    The clock includes the time in which the machine sleeps.
    """
    elapsed = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    ahead = time.time() - time.clock_gettime(elapsed)
    return lambda: ahead + time.clock_gettime(elapsed)


class SqlLedger:
    """Write ledger (`Ledger`) in one database. Use `open_ledger` to open the ledger."""

    def __init__(self, engine: AsyncEngine, clock: Callable[[], float], *, max_bytes: int) -> None:
        self._engine = engine
        self._row = sql.ROW[engine.dialect.name]
        self._is_server = is_server(engine)
        self._clock = clock
        self._loaded_at = clock()
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._quota = RecordQuota(max_bytes)
        self._records: dict[str, _Record] = {}
        """Open records, and records being answered, by scope of the Idempotency-Key."""
        self._batches: dict[str, _Batch] = {}
        """Batches with a note in the database, by token of the batch's fence."""
        self.open_writes: list[OpenWrite] = []
        """Writes of an earlier process whose outcome is unknown, and that have a fence."""

    async def load(self) -> None:
        """Load the open records and batches of an earlier process.

        Records and removals count as sent now, because the wall clock may have been set since.
        Other batches count as sent at the latest time that their fence allows (`last_sent_at`).
        Notes of batches that cannot be applied any more are deleted.
        """
        now = self._loaded_at = self._clock()
        self.open_writes = []
        async with self._engine.begin() as connection:
            await connection.execute(sql.purge_removals())
            for row in (await connection.execute(sql.OPEN)).mappings().all():
                self._load(row, now)
            batches = (await connection.execute(sql.OPEN_BATCHES)).mappings().all()
            old = [{"old": row["id"]} for row in batches if not self._load_batch(row, now)]
            if old:
                await connection.execute(sql.FORGET_OLD, old)
            await self._measure(connection)

    def _load_batch(self, row: RowMapping, now: float) -> bool:
        """Load an open batch. Returns False if the batch's note can be deleted.

        A note can be deleted if the batch cannot be applied any more, and no record needs its
        outcome. If a damaged note has a readable fence, all writes to the worksheet wait until the
        outcome of the batch is known.
        """
        batch: OpenWrite | None = None
        try:
            batch = sql.open_write(sent_batches, row, now, is_exclusive=True)
            if batch is not None and row["removed"] == "[]":
                batch = replace(batch, sent_at=last_sent_at(batch.fence, now))
                if batch.sent_at < now - errors.UNKNOWN_RETRY_SECONDS:
                    return False
            if batch is not None:
                rows = sql.rows_of(row)
                moved = () if rows.is_exclusive else rows.removed
                batch = replace(
                    batch,
                    sheet_id=rows.sheet_id,
                    updated_rows=frozenset({*rows.updated, *moved}),
                    is_exclusive=bool(rows.is_exclusive),
                    is_removal=bool(rows.removed),
                )
        except DamagedRow as error:
            damaged_row(error.table, error.row, error.problem)
        if batch is not None:
            self.open_writes.append(batch)
            self._batches[batch.fence.token] = _Batch(
                fence_id=batch.fence.id, is_removal=row["removed"] != "[]"
            )
        return True

    def _load(self, row: RowMapping, now: float) -> None:
        """Load an open record. A damaged record is loaded only if it has a readable fence."""
        scope, found, is_damaged, numbers = row["scope"], None, False, tuple[int, ...]()
        try:
            numbers = tuple(self._entry(row, Restorer(())).numbers)
        except DamagedRow as error:
            damaged_row(error.table, error.row, error.problem)
            is_damaged = True
        with suppress(DamagedRow):
            found = sql.open_write(records, row, now, numbers=numbers, is_exclusive=is_damaged)
        if found is not None:
            self.open_writes.append(found)
        elif is_damaged:
            return
        self._open(
            scope,
            _Record(
                key_id=row["key_id"],
                size=sql.size_of(row),
                expires_from=row["sent_at"] if found is None else math.inf,
                sent_at=now,
                fence_id=None if found is None else found.fence.id,
            ),
        )

    def open_fences(self) -> Collection[int]:
        """Metadata IDs of the fences of all open records and batches."""
        known: list[_Record | _Batch] = [*self._records.values(), *self._batches.values()]
        return [each.fence_id for each in known if each.fence_id is not None]

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        query = select(records).where((records.c.scope == scope) & sql.is_valid(self._clock()))
        try:
            async with self._engine.connect() as connection:
                row = (await connection.execute(query)).mappings().one_or_none()
                if row is None or row["answer"] is not None:
                    self._close(scope)
                else:
                    self._records.setdefault(scope, _Record()).token = row["token"]
                if row is None:
                    return None
                entry = self._entry(row, Restorer(texts))
                return entry if row["removes_rows"] else await self._placed(connection, row, entry)
        except STORE_ERRORS as error:
            raise self._failure(_UNREAD, "unknown") from error
        except DamagedRow as error:
            damaged_row(error.table, error.row, error.problem)
            raise errors.WriteOutcomeUnknown(
                f"{_UNREAD} Look in the worksheet whether the earlier request was applied. If not, "
                "send the request with a new Idempotency-Key."
            ) from error

    def check_room(self, identity: WriteIdentity) -> None:
        expired_from = self._clock() - KEPT_SECONDS
        for record in self._records.values():
            if record.expires_from <= expired_from:
                self._quota.opened(record.key_id, -record.size)
                record.size = 0
        self._quota.check(identity.key_id)

    async def sending(
        self,
        worksheet: WorksheetId,
        sendings: Sequence[Sending],
        fence: Fence,
        sheet_id: int | None = None,
    ) -> Collection[WriteIdentity]:
        now = self._clock()
        opened: list[Mapping[str, Any]] = []
        for sending in sendings:
            identity = sending.identity
            if identity is not None:
                record = sql.record_of(identity, now, sending=sending, fence=fence)
                opened.append(record)
                known = _Record(
                    key_id=identity.key_id,
                    size=record["size"],
                    sent_at=now,
                    fence_id=fence.id,
                    token=self._seen(identity.scope),
                )
                self._open(identity.scope, known)
        has_note = any(map(sql.is_noted, sendings))
        if not opened and not has_note:
            return ()
        if has_note:
            self._batches[fence.token] = _Batch(fence_id=fence.id)
        try:
            noting = self._note(worksheet, sheet_id, sendings, opened, fence, now)
            taken = await self._finished(noting)
        except STORE_ERRORS as error:
            for record in opened:
                self._close(record["scope"])
            batch = self._batches.get(fence.token)
            if batch is not None and batch.is_applied is None:  # nothing was committed
                del self._batches[fence.token]
            raise self._failure(
                "The gateway could not store a record of the write, so nothing was written.",
                "not_applied",
            ) from error
        return [
            each.identity
            for each in sendings
            if each.identity is not None and each.identity.scope in taken
        ]

    async def _note(
        self,
        worksheet: WorksheetId,
        sheet_id: int | None,
        sendings: Sequence[Sending],
        opened: Sequence[Mapping[str, Any]],
        fence: Fence,
        now: float,
    ) -> Collection[str]:
        """Store the note of a batch with the writes `sendings`, and their records `opened`.

        Returns the scopes (of Idempotency-Keys) for which another process has stored a record. The
        writes with these scopes are left out of the note.
        """
        batch = self._batches.get(fence.token)
        scopes = [each["scope"] for each in opened]
        taken: Collection[str] = ()
        note = None
        async with self._transaction() as connection:
            if opened and self._is_server:  # another process may have stored a record of a scope
                wanted = [
                    {**each, "seen": self._seen(each["scope"]), "valid_from": now - KEPT_SECONDS}
                    for each in opened
                ]
                await connection.execute(sql.PUT_UNLESS_TAKEN, wanted)
                is_others = records.c.token.is_distinct_from(fence.token)
                query = select(records.c.scope).where(records.c.scope.in_(scopes) & is_others)
                taken = set(await connection.scalars(query))
            elif opened:
                await connection.execute(sql.PUT, opened)
            if opened:
                await connection.execute(sql.purge(now, len(opened)))
            if batch is not None:
                sent = [
                    each
                    for each in sendings
                    if each.identity is None or each.identity.scope not in taken
                ]
                note = sql.note_of(sql.place_of(worksheet), sheet_id, fence, sent, now)
                if note is not None:
                    await connection.execute(sql.ADD, note)
                    batch.is_applied = False  # a commit that fails might be applied
        if note is None:
            self._batches.pop(fence.token, None)
        elif batch is not None:
            batch.is_applied, batch.is_removal = None, note["removed"] != "[]"
        for scope in scopes:
            if scope in taken:
                self._close(scope)
            else:
                self._records[scope].token = fence.token
        return taken

    async def twins(self, identities: Sequence[WriteIdentity]) -> Collection[WriteIdentity]:
        is_theirs = records.c.scope.in_([each.scope for each in identities])
        query = select(records.c.scope, records.c.token).where(
            is_theirs & sql.is_valid(self._clock())
        )
        try:
            async with self._engine.connect() as connection:
                noted = {row.scope: row.token for row in await connection.execute(query)}
        except STORE_ERRORS as error:
            raise self._failure(_UNREAD, "not_applied") from error
        return [
            each
            for each in identities
            if each.scope in noted and noted[each.scope] != self._seen(each.scope)
        ]

    async def settled(self, worksheet: WorksheetId, fence: Fence, *, is_applied: bool) -> None:
        batch = self._batches.get(fence.token)
        is_others = batch is None
        if batch is None:
            if not self._is_server:  # the batch has no note
                return
            batch = self._batches[fence.token] = _Batch()
        batch.is_applied = is_applied
        if is_others or batch.is_removal:
            await self._stored([(sql.purge_removals(sql.place_of(worksheet)), None)])

    async def completed(self, results: Sequence[tuple[WriteIdentity, Results]]) -> None:
        if await self._store_answers(results):
            for identity, _ in results:
                self._records[identity.scope] = _Record(is_answered=True)

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        record = self._records.get(identity.scope)
        if record is not None and record.is_answered:
            del self._records[identity.scope]
        else:
            await self._store_answers([(identity, answer)])

    async def renew(self, identity: WriteIdentity) -> None:
        record = self._records.get(identity.scope)
        if record is not None:
            record.sent_at = self._clock()

    async def drop(self, identity: WriteIdentity) -> None:
        token = self._seen(identity.scope)
        if token == NOT_SEEN:  # there is no record
            return
        self._close(identity.scope)
        is_it = records.c.scope == identity.scope
        if self._is_server:  # another process may have stored a record of this scope
            is_it &= records.c.token.is_not_distinct_from(token)
        await self._stored([(delete(records).where(is_it), None)])

    async def aclose(self) -> None:
        """Store the known outcomes of batches, and wait for running transactions."""
        if any(each.is_applied is not None for each in self._batches.values()):
            await self._stored(())
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def kept_fences(self, fence_ids: Collection[int]) -> Collection[int]:
        """Returns the `fence_ids` that open records or batches need, or all after an error."""
        queries = [
            query.with_only_columns(table.c.fence_id).where(table.c.fence_id.in_(fence_ids))
            for table, query in ((records, sql.OPEN), (sent_batches, sql.OPEN_BATCHES))
        ]
        try:
            async with self._engine.connect() as connection:
                return set(await connection.scalars(union_all(*queries)))
        except STORE_ERRORS as error:  # the write of the caller needs no answer
            request_failed(current_event(), error)
            return fence_ids

    def _seen(self, scope: str) -> str | None:
        """Token of an open record that this process last read or stored, or `NOT_SEEN`."""
        record = self._records.get(scope)
        return NOT_SEEN if record is None else record.token

    def _open(self, scope: str, record: _Record) -> None:
        """Add an open record in memory. Replaces an earlier record of the same scope."""
        self._close(scope)
        self._records[scope] = record
        self._quota.opened(record.key_id, record.size)

    def _close(self, scope: str) -> None:
        """Remove a record from memory, and its bytes from the count of open records."""
        record = self._records.pop(scope, None)
        if record is not None:
            self._quota.opened(record.key_id, -record.size)

    def _failure(self, message: str, outcome: errors.Outcome) -> errors.GatewayError:
        """Create the error for a request that sent nothing, because the store failed.

        The error is 503 for a server and for a locked file, because both recover. Any other failure
        of a file is an internal error. `outcome` is the outcome in the error: of this write, or of
        an earlier request with the same Idempotency-Key. Call this method only in an `except` block
        of a database error.
        """
        if not self._is_server and not is_locked(sys.exception()):
            return errors.InternalError(message, outcome=outcome)
        return errors.RecordsUnavailable(
            f"{message} The gateway's database does not answer: send the request again, with "
            "the same Idempotency-Key if it has one.",
            outcome=outcome,
            retry_after_seconds=RETRY_SECONDS,
        )

    async def _placed(self, connection: AsyncConnection, row: RowMapping, entry: Entry) -> Entry:
        """Find later deletes that moved, or might have moved, the rows of an idempotency record.

        Returns the entry with `is_moved` or `open_removal` set, or unchanged if there are no such
        deletes. Raises DamagedRow.
        """
        for later in (await connection.execute(sql.later_removals(row))).mappings():
            is_later = sql.rows_of(later).moves(entry)
            batch, outcome = self._batches.get(later["token"]), later["is_applied"] or None
            if batch is not None and batch.is_applied is not None:
                outcome = batch.is_applied
            if outcome is False or not is_later:
                continue
            if outcome is not None:
                return replace(entry, is_moved=True)
            # The wall clock may have been set back since an earlier process stored the note.
            is_earlier = any(each.fence.token == later["token"] for each in self.open_writes)
            sent_at = self._loaded_at if is_earlier else min(later["sent_at"], self._clock())
            entry = replace(entry, open_removal=sql.open_write(sent_batches, later, sent_at))
        return entry

    def _entry(self, row: RowMapping, restored: Restorer) -> Entry:
        stored, fence = checked(records, row, sql.StoredRecord), sql.fence_of(records, row)
        known = self._records.get(stored.scope)
        sent_at = stored.sent_at if known is None or known.sent_at is None else known.sent_at
        try:
            rows, answer = _rows.decode(stored.rows), stored.answer
            return Entry(
                fingerprint=stored.fingerprint,
                sent_at=sent_at,
                first_row=stored.first_row,
                numbers=_numbers.decode(stored.numbers),
                rows=[[restored(value) for value in cells] for cells in rows],
                fence=fence,
                answer=None if answer is None else decode_answer(answer, restored),
            )
        except (msgspec.MsgspecError, TypeError) as error:  # or a digest that is not a text
            raise DamagedRow(
                records, row, "its JSON does not have the expected structure"
            ) from error

    async def _store_answers(self, answers: Sequence[tuple[WriteIdentity, Answer]]) -> bool:
        """Store answers of completed writes; False on failure. Then delete those over the quota."""
        if not answers:
            return True
        now = self._clock()
        answered = [sql.record_of(identity, now, answer=answer) for identity, answer in answers]
        if not await self._stored([(sql.PUT, answered), (sql.purge(now, len(answered)), None)]):
            return False
        for record in answered:
            self._close(record["scope"])
            self._quota.completed(record["key_id"], record["size"])
        if self._quota.is_over:
            try:
                async with self._lock, self._engine.begin() as connection:
                    await self._measure(connection)
                    for key_id, kept_bytes in self._quota.limits().items():
                        await connection.execute(sql.forget_oldest(key_id, kept_bytes, self._row))
                    await self._measure(connection)
            except STORE_ERRORS as error:
                request_failed(current_event(), error)
        return True

    async def _measure(self, connection: AsyncConnection) -> None:
        found = (await connection.execute(sql.SIZES)).all()
        self._quota.measured({row.key_id: row.size for row in found})

    async def _stored(self, steps: Sequence[Step]) -> bool:
        """Execute SQL statements in one transaction. Logs a failure, and then returns False."""

        async def execute() -> None:
            async with self._transaction() as connection:
                for statement, values in steps:
                    await connection.execute(statement, values)

        try:
            await self._finished(execute())
        except STORE_ERRORS as error:
            request_failed(current_event(), error)
            return False
        return True

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a transaction to its end, even if the caller is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        """Wait for the running transaction, then begin one and first store known outcomes.

        A record has space for the ID of one delete with unknown outcome. The stored outcomes ensure
        that a worksheet has at most one such delete.
        """
        async with self._lock:
            settled: dict[bool, list[str]] = {False: [], True: []}
            for token, each in self._batches.items():
                if each.is_applied is not None:
                    settled[each.is_applied].append(token)
            async with self._engine.begin() as connection:
                for is_applied, statements in sql.SETTLED.items():
                    tokens = settled[is_applied]
                    for at in range(0, len(tokens), MAX_TOKENS):
                        for statement in statements:
                            piece = {"tokens": tokens[at : at + MAX_TOKENS]}
                            await connection.execute(statement, piece)
                yield connection
            for token in [*settled[False], *settled[True]]:
                self._batches.pop(token, None)


@asynccontextmanager
async def open_ledger(
    engine: AsyncEngine, clock: Callable[[], float], *, max_bytes: int = DEFAULT_BYTES
) -> AsyncIterator[SqlLedger]:
    """Open the ledger of a database. `clock` returns seconds since the epoch (`steady_clock`).

    `max_bytes` is the quota of disk space for records.
    """
    ledger = SqlLedger(engine, clock, max_bytes=max_bytes)
    await ledger.load()
    try:
        yield ledger
    finally:
        await ledger.aclose()
