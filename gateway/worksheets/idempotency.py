"""Idempotent writes: a write is applied once, and each repetition gets the same answer.

Rules
- The gateway stores a record of the write before the call to Google. The record stays open until
  the gateway knows the outcome. A write that was not applied leaves no record.
- A repeated request whose record is open waits in the queue of the worksheet. Then the fence
  (metadata in the spreadsheet) proves whether the write was applied. The gateway sends the write
  again only if it was not applied and never will be.
- A repetition gets the stored answer unless a later write moved or emptied the rows. If that later
  write is still open, the gateway first finds its outcome.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    HeaderChanged,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    QueueFull,
    RecordsUnavailable,
    RowNumberUnknown,
    RowsMoved,
    RowsUnsettled,
    ShuttingDown,
    WriteOutcomeUnknown,
    write_outcome,
)
from gateway.google.sheets import Fence
from gateway.table.record import Stored
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.writes import Results, WriteIdentity

Rows = Sequence[Sequence[Stored]]
"""Cells as the gateway sent them to Google, each row from column A. None is an unwritten cell."""

Answer = Results | GatewayError
"""Final result of a write: its rows, or an error after which it must not be sent again."""


class Sending(NamedTuple):
    """A write that the gateway is about to send. A write without an `identity` gets no record.

    `first_row` is the expected number of the first new row, or 0 if the end of the sheet is
    unknown. `rows` are the cells of the write's rows, `numbers` the row numbers. Negative numbers
    are appended rows, counted from the end of the sheet, where -1 is the last row. `updated` are
    the numbers of the rows that the write changes, `removed` the rows that it removes or empties,
    both counted before the write. `is_exclusive`: the write moves rows or adds rows by key, so no
    other write to the worksheet is allowed while its outcome is unknown. If `updated` and `removed`
    are empty and `is_exclusive` is False, the write only appends rows.
    """

    identity: WriteIdentity | None
    first_row: int
    rows: Rows
    numbers: Sequence[int] = ()
    updated: Sequence[int] = ()
    removed: Sequence[int] = ()
    is_exclusive: bool = False


@dataclass(frozen=True, kw_only=True)
class OpenWrite:
    """A batch whose outcome is unknown, with its fence and the rows that it changes.

    `is_removal`: the batch removes or empties rows, so stored answers with row numbers depend on
    its outcome. `sheet_id` is None if an older version of the gateway sent the batch.
    """

    worksheet: WorksheetId
    fence: Fence
    sent_at: float
    updated_rows: frozenset[int]
    is_exclusive: bool = False
    is_removal: bool = False
    sheet_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Stored record of an idempotent write. The record is open while it has no `answer`.

    Google might have applied an open write. `sent_at` is the latest time at which the gateway might
    have sent the write, by the ledger's clock. `fence` is None in records of older versions.
    `is_moved`: a later write moved or emptied the rows, or might have. `open_removal` is a later
    removal with unknown outcome that moved or emptied the rows if Google applied it. The answer to
    a delete has row numbers from before the delete, which stay valid.
    """

    fingerprint: str
    sent_at: float
    first_row: int
    rows: Rows
    numbers: Sequence[int] = ()
    fence: Fence | None = None
    answer: Answer | None = None
    is_moved: bool = False
    open_removal: OpenWrite | None = None

    @property
    def row_numbers(self) -> Sequence[int]:
        """Row numbers in the answer or, without an answer, of the existing rows to change."""
        if isinstance(self.answer, HeaderChanged | RowsMoved):
            return [self.answer.row]
        if isinstance(self.answer, GatewayError):
            return ()
        if self.answer is not None:
            return [written.row for written in self.answer]
        return [row for row in self.numbers if row > 0]

    @property
    def is_at_end(self) -> bool:
        """True if the write is open and the numbers of its appended rows are unknown."""
        return self.answer is None and min(self.numbers, default=0) <= 0


class Ledger(Protocol):
    """Storage of records of idempotent writes, and of batches with unknown outcome.

    The data survives a restart. `find`, `twins` and `sending` raise RecordsUnavailable if a
    database server is unavailable or a file is locked, WriteOutcomeUnknown for a damaged record,
    and InternalError otherwise. `check_room` raises QueueFull. All other methods must not raise
    errors, because the write was already sent. If storing fails, the record stays open until the
    client repeats the request.
    """

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        """Return the record of a write of the last 24 h, or None.

        `scope` identifies the API key, operation and `Idempotency-Key`. A record stores long texts
        as digests. `texts` are the long texts of the repeated body, which replace these digests.
        """
        ...

    def check_room(self, identity: WriteIdentity) -> None:
        """Raise QueueFull (`not_applied`) if the storage has no space for another record."""
        ...

    async def sending(
        self,
        worksheet: WorksheetId,
        sendings: Sequence[Sending],
        fence: Fence,
        sheet_id: int | None = None,
    ) -> Collection[WriteIdentity]:
        """Store the writes of a batch, whose outcome is unknown from now on, in one transaction.

        The caller must await this before each call to Google that can apply the writes. Replaces an
        open or expired record. Does nothing for writes without an identity that only append rows.
        Returns the writes that another process has stored since `find`. The caller must not send
        these writes.
        """
        ...

    async def twins(self, identities: Sequence[WriteIdentity]) -> Collection[WriteIdentity]:
        """Return the writes that another process has stored since `find` was called.

        The caller must hold the write lock, and must not send these writes.
        """
        ...

    async def settled(self, worksheet: WorksheetId, fence: Fence, *, is_applied: bool) -> None:
        """Store the outcome of a batch that updates, removes or moves rows, or adds rows by key.

        The outcome of a removal is stored at once, because answers of earlier records depend on it.
        Other outcomes are stored with the next transaction.
        """
        ...

    async def completed(self, results: Sequence[tuple[WriteIdentity, Results]]) -> None:
        """Store the results of several writes in one transaction."""
        ...

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        """Store the answer of a write, unless `completed` has already stored it."""
        ...

    async def renew(self, identity: WriteIdentity) -> None:
        """Store the current time as the latest sending time of a write with unknown outcome."""
        ...

    async def drop(self, identity: WriteIdentity) -> None:
        """Delete the record of a write that was not applied."""
        ...


Perform = Callable[[], Awaitable[Results]]
"""Function that sends the write. Each of its errors says if the write was applied."""


Resume = Callable[[Entry], Awaitable[Answer | None]]
"""Function that finds the answer of an open write, or of rows that a removal might have moved.

Returns None if Google did not apply the write and never will.
"""

RETRY_SECONDS = 10
"""Seconds in `Retry-After` of a repetition whose write has an unknown outcome."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Rows of an applied write. `is_replayed`: an earlier request wrote these rows.

    `is_alone`: other processes can answer with older rows until their cached rows expire.
    """

    results: Results
    is_replayed: bool = False
    is_alone: bool = False


Exclusively = Callable[
    [WriteIdentity, Callable[[], Awaitable[Settled | None]]], Awaitable[Settled | None]
]
"""Function that runs work while no write to the write's worksheet runs, and returns its result.

Raises QueueFull, RecordsUnavailable or ShuttingDown.
"""


class Idempotency:
    """Runs each idempotent write once, and gives repetitions the stored answer."""

    def __init__(self, ledger: Ledger, exclusively: Exclusively) -> None:
        self._ledger = ledger
        self._exclusively = exclusively
        self._in_flight: dict[str, str] = {}

    async def run(self, identity: WriteIdentity, perform: Perform, resume: Resume) -> Settled:
        """Perform a write, or return the answer of the earlier request with its Idempotency-Key.

        Costs the calls to Google of `perform`, or of `resume` for an open record. A stored answer
        costs no call.
        """
        twin = self._in_flight.get(identity.scope)
        if twin is not None:
            _check_same(identity, twin)
            raise in_progress()
        self._in_flight[identity.scope] = identity.fingerprint
        try:
            try:
                entry = await self._ledger.find(identity.scope, identity.texts)
            except asyncio.CancelledError:  # the server stops now
                raise _unknown("the gateway is shutting down") from None
            if entry is None:
                # A repetition needs no space: its record is replaced.
                self._ledger.check_room(identity)
            else:
                _check_same(identity, entry.fingerprint)
                if entry.answer is not None and entry.open_removal is None:
                    return _replayed(entry)
                found = await self._resume(identity, entry, resume)
                if found is not None:
                    return found
            try:
                results = await perform()
            except GatewayError as error:
                await self._noted(self._failed(identity, error))
                raise
            except Exception:
                await self._noted(self._ledger.renew(identity))
                raise
            await self._noted(self._ledger.complete(identity, results))
            return Settled(results=results)
        finally:
            del self._in_flight[identity.scope]

    async def _resume(
        self, identity: WriteIdentity, entry: Entry, resume: Resume
    ) -> Settled | None:
        """Find the outcome of an earlier request, in the write queue.

        Returns None if the write can be sent again.
        """
        try:
            return await self._exclusively(identity, lambda: self._resumed(identity, resume))
        except asyncio.CancelledError:
            raise _unknown("the gateway is shutting down") from None
        except (QueueFull, RecordsUnavailable, ShuttingDown) as error:
            if write_outcome(error) == "applied":
                raise
            if entry.answer is not None:
                raise rows_unsettled(error.retry_after_seconds or RETRY_SECONDS) from error
            raise _unseen(error) from error

    async def _resumed(self, identity: WriteIdentity, resume: Resume) -> Settled | None:
        try:
            entry = await self._ledger.find(identity.scope, identity.texts)
        except GatewayError as error:
            raise _unknown("the gateway cannot read its record of the request") from error
        if entry is None:
            return None
        if entry.answer is not None and entry.open_removal is None:
            return _replayed(entry)
        try:
            answer = await resume(entry)
        except GatewayError as error:
            if isinstance(error, WriteOutcomeUnknown) or write_outcome(error) == "applied":
                raise
            raise _unseen(error) from error
        if answer is None:
            return None
        await self._noted(self._ledger.complete(identity, answer))
        return _replayed(replace(entry, answer=answer))

    async def _failed(self, identity: WriteIdentity, error: GatewayError) -> None:
        match write_outcome(error):
            case "applied":
                await self._ledger.complete(identity, error)
            case "unknown":
                await self._ledger.renew(identity)
            case "not_applied":
                await self._ledger.drop(identity)

    async def _noted(self, note: Awaitable[None]) -> None:
        """Wait for a storage call after a write. Ignores cancellation when the server stops.

        The answer to the client does not depend on this call.
        """
        # Cancelled when the server stops: the record stays open until the client repeats.
        with suppress(asyncio.CancelledError):
            await note


def in_progress() -> IdempotencyInProgress:
    """Make the error of a repeated request whose first request is still running."""
    return IdempotencyInProgress(outcome="unknown", retry_after_seconds=1)


def no_fence() -> WriteOutcomeUnknown:
    """Make the error of a write with unknown outcome that an older version sent without a fence.

    The gateway never sends this write again.
    """
    return WriteOutcomeUnknown(
        "The outcome of the earlier request is not known. Look at the worksheet after the time in "
        "Retry-After; if the write is not there, send it with a new Idempotency-Key.",
        outcome="unknown",
        retry_after_seconds=UNKNOWN_RETRY_SECONDS,
    )


def number_unknown(cause: Exception | None = None) -> RowNumberUnknown:
    """Make the error of an applied write whose rows the gateway cannot find."""
    error = RowNumberUnknown(
        "The write was applied, but its rows were moved or changed afterwards, so their row "
        "numbers are not known. Look at the worksheet, and do not send the write again."
    )
    error.__cause__ = cause
    return error


def rows_unsettled(retry_seconds: int) -> RowsUnsettled:
    """Make the error of an applied write whose rows another write might have moved."""
    return RowsUnsettled(outcome="applied", retry_after_seconds=retry_seconds)


def _check_same(identity: WriteIdentity, fingerprint: str) -> None:
    if fingerprint != identity.fingerprint:
        raise IdempotencyKeyReused(outcome="not_applied")


def _replayed(entry: Entry) -> Settled:
    answer = number_unknown() if entry.is_moved else entry.answer or ()
    if isinstance(answer, GatewayError):
        answer.is_replayed = True
        raise answer
    return Settled(results=answer, is_replayed=True)


def _unseen(error: GatewayError) -> WriteOutcomeUnknown:
    seconds = error.retry_after_seconds or RETRY_SECONDS
    return _unknown("the gateway cannot check it now", seconds)


def _unknown(what: str, retry_seconds: int = RETRY_SECONDS) -> WriteOutcomeUnknown:
    return WriteOutcomeUnknown(
        f"The outcome of the earlier request is not known yet: {what}. Repeat the request with the "
        "same Idempotency-Key after the time in Retry-After.",
        outcome="unknown",
        retry_after_seconds=max(1, retry_seconds),
    )
