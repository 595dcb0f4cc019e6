"""Idempotent writes: applied once, with the same answer to every repetition.

Rules
- A record is stored before the call to Google, and stays open until Google's answer is known. A
  write that was not applied leaves no record.
- A write with an open record is resumed in the queue of its worksheet: its fence proves if it was
  applied. It is sent again only if it was not, and never will be.
- An answer is replayed unchanged unless a later write moved or emptied its rows. If that depends on
  a write with an open outcome, that write is settled first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

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
"""Cells as sent, each row from column A; None is a cell that is not written."""

Answer = Results | GatewayError
"""Final result of a write: its rows, or an error after which it must not be sent again."""


class Sending(NamedTuple):
    """A write about to be sent; without an identity it has no record.

    `first_row` is the expected number of its first new row, 0 if the end of the sheet was unknown.
    Negative `numbers` are appended rows, counted from the end of the sheet: -1 is the last
    one. `updated` are the rows that it changes, `removed` those that it removes or empties, with
    their numbers before the write. `is_exclusive`: no other write to the worksheet may be sent
    while its outcome is open, because it moves rows or adds them by key. Without all three it only
    appends rows.
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
    """A batch with a fence whose outcome is open, and the rows that it changes.

    `is_removal`: the batch removes or empties rows, so that its outcome decides the place of other
    records' rows. `sheet_id` is None if an older version sent the batch.
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
    """The record of a write. Without an answer it is open: the write may have been applied.

    `sent_at` is the latest instant at which the write may have been sent, by the ledger's clock.
    Records of older versions may have no fence. `is_moved`: a later write moved or emptied its
    rows, or may have. `open_removal` is an open write that did so if it was applied. The answer to
    a delete has the numbers before it, which no later write changes.
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
        """Numbers of the rows in the answer, or of the rows that the open write changes."""
        if isinstance(self.answer, HeaderChanged | RowsMoved):
            return [self.answer.row]
        if isinstance(self.answer, GatewayError):
            return ()
        if self.answer is not None:
            return [written.row for written in self.answer]
        return [row for row in self.numbers if row > 0]

    @property
    def is_at_end(self) -> bool:
        """True if the numbers of appended rows are unknown."""
        return self.answer is None and min(self.numbers, default=0) <= 0


class Ledger(Protocol):
    """Records of idempotent writes and notes of open batches.

    Rules: notes outlive the process. Only `find`, `twins`, `sending` and `check_room` raise errors:
    RecordsUnavailable if a server is unavailable or a file locked, WriteOutcomeUnknown for a
    damaged record, and InternalError otherwise. Later a write must not fail because of its record,
    which then stays open until a retry.
    """

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        """Find the record of a write of the last 24 h; `texts` are the long texts of its body."""
        ...

    def check_room(self, identity: WriteIdentity) -> None:
        """Raise QueueFull, `not_applied`, if there is no room for another record."""
        ...

    async def sending(
        self,
        worksheet: WorksheetId,
        sendings: Sequence[Sending],
        fence: Fence,
        sheet_id: int | None = None,
    ) -> Collection[WriteIdentity]:
        """Note the writes of a batch as open, as of now, in one transaction.

        Must be awaited before each call to Google that can apply them. An open or old record is
        replaced. Costs nothing for writes without an identity that only append rows. Returns the
        writes that another process has noted since `find`, and sends itself.
        """
        ...

    async def twins(self, identities: Sequence[WriteIdentity]) -> Collection[WriteIdentity]:
        """Filter the writes that another process has noted since `find`.

        The rows of the worksheet do not show their outcome. Must be awaited under the lock.
        """
        ...

    async def settled(self, worksheet: WorksheetId, fence: Fence, *, is_applied: bool) -> None:
        """Note the outcome of a batch that changes, moves or adds rows by key.

        A removal is stored at once, because answers of earlier records depend on it; other outcomes
        with the next transaction.
        """
        ...

    async def completed(self, results: Sequence[tuple[WriteIdentity, Results]]) -> None:
        """Store the results of a group of writes, in one transaction."""
        ...

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        """Store the answer of a write, unless `completed` has stored it."""
        ...

    async def renew(self, identity: WriteIdentity) -> None:
        """Count the age of an open write from now, the latest time of its sending."""
        ...

    async def drop(self, identity: WriteIdentity) -> None:
        """Delete the record of a write that was not applied."""
        ...


Perform = Callable[[], Awaitable[Results]]
"""Sends the write; its errors have the outcome."""


Resume = Callable[[Entry], Awaitable[Answer | None]]
"""Finds the answer of a write that is open, or whose rows an open removal may have moved; None if
it was not applied, and never will be."""

T = TypeVar("T")


class Queue(Protocol):
    """The write queue of a worksheet."""

    async def exclusively(self, work: Callable[[], Awaitable[T]], *, key_id: str = "") -> T:
        """Run work while no write to the worksheet runs.

        Raises QueueFull, RecordsUnavailable, ShuttingDown."""
        ...


RETRY_SECONDS = 10
"""`Retry-After` after a failed resume, which is usually possible then."""

_LOOK = "Repeat the request with the same Idempotency-Key after the time in Retry-After."


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The rows of a write; `is_replayed` if an earlier request wrote them.

    `is_alone`: other processes may serve older rows until their cached rows expire.
    """

    results: Results
    is_replayed: bool = False
    is_alone: bool = False


class Idempotency:
    def __init__(
        self,
        ledger: Ledger,
        queue_of: Callable[[WorksheetId], Queue],
    ) -> None:
        self._ledger = ledger
        self._queue_of = queue_of
        self._in_flight: dict[str, str] = {}

    async def run(self, identity: WriteIdentity, perform: Perform, resume: Resume) -> Settled:
        """Perform a write, or replay its answer.

        Costs only the calls to Google of `perform`, or of `resume` for an open record.
        """
        twin = self._in_flight.get(identity.scope)
        if twin is not None:
            _check_same(identity, twin)
            raise in_progress()
        self._in_flight[identity.scope] = identity.fingerprint
        try:
            try:
                entry = await self._ledger.find(identity.scope, identity.texts)
            except asyncio.CancelledError:  # the server's time to stop is over
                raise _unknown("The gateway is shutting down.", RETRY_SECONDS) from None
            if entry is None:
                # A repeat takes none: it replaces its own record.
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
        """Resume an earlier request in the write queue; None if it can be sent again."""
        queue = self._queue_of(identity.worksheet)
        try:
            return await queue.exclusively(
                lambda: self._resumed(identity, resume), key_id=identity.key_id
            )
        except asyncio.CancelledError:
            raise _unknown("The gateway is shutting down.", RETRY_SECONDS) from None
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
            raise _unknown("Its record cannot be read.", RETRY_SECONDS) from error
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
        """Wait until the end of a write is noted; the answer does not depend on the note."""
        # Cancelled at the end of the server's time to stop: the record stays open until a retry.
        with suppress(asyncio.CancelledError):
            await note


def in_progress() -> IdempotencyInProgress:
    """The error of a request while another one with the same key runs."""
    return IdempotencyInProgress(outcome="unknown", retry_after_seconds=1)


def no_fence() -> WriteOutcomeUnknown:
    """The error of an open write that an older version sent without a fence.

    Such a write is never sent again.
    """
    return WriteOutcomeUnknown(
        "The outcome of the earlier request is not known. Look at the worksheet after the time in "
        "Retry-After. If the write is not there, send it with a new Idempotency-Key.",
        outcome="unknown",
        retry_after_seconds=UNKNOWN_RETRY_SECONDS,
    )


def number_unknown(cause: Exception | None = None) -> RowNumberUnknown:
    """The error of an applied write whose rows cannot be found."""
    error = RowNumberUnknown(
        "The write was applied, but its rows were moved or changed since, so their numbers are "
        "unknown. Look at the worksheet, and do not send it again."
    )
    error.__cause__ = cause
    return error


def rows_unsettled(retry_seconds: int) -> RowsUnsettled:
    """The error of an applied write whose rows an open write may have moved."""
    return RowsUnsettled(outcome="applied", retry_after_seconds=retry_seconds)


def _check_same(identity: WriteIdentity, fingerprint: str) -> None:
    if fingerprint != identity.fingerprint:
        raise IdempotencyKeyReused(
            outcome="not_applied",
        )


def _replayed(entry: Entry) -> Settled:
    answer = number_unknown() if entry.is_moved else entry.answer or ()
    if isinstance(answer, GatewayError):
        answer.is_replayed = True
        raise answer
    return Settled(results=answer, is_replayed=True)


def _unseen(error: GatewayError) -> WriteOutcomeUnknown:
    seconds = error.retry_after_seconds or RETRY_SECONDS
    return _unknown("The gateway cannot find it out now.", seconds)


def _unknown(what: str, retry_seconds: int) -> WriteOutcomeUnknown:
    return WriteOutcomeUnknown(
        f"The outcome of the earlier request is not known yet. {what} {_LOOK}",
        outcome="unknown",
        retry_after_seconds=max(1, retry_seconds),
    )
