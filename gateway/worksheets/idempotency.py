"""Idempotent writes: sent once, answered alike however often they come.

Rules
- A record is there before Google is asked, and stays open until Google's answer is known. What
  was not applied leaves none.
- A write whose record is open is looked for first, in the line of its worksheet: what another
  write just left there is not its own. While it may still land it is not sent again.
- Whether an open write was applied is not known, whatever goes wrong while it is looked for.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    NoHeaderRow,
    QueueFull,
    ShuttingDown,
    WorksheetNotFound,
    WriteOutcomeUnknown,
    write_outcome,
)
from gateway.table.record import Stored
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Results, WriteIdentity

Rows = Sequence[Sequence[Stored]]
"""Cells as they are sent, each row from column A; None is a cell that is left as it is."""

Answer = Results | GatewayError
"""How a write ended for good: its rows, or an error after which it must not be sent again."""


LAST_ROW = 99_999_999
"""Below any row that a worksheet has: a workbook ends at 10 million cells."""


class RowInterval(NamedTuple):
    """Rows of a worksheet, from the first to the last."""

    first: int
    last: int

    def overlaps(self, other: "RowInterval") -> bool:
        return self.first <= other.last and other.first <= self.last


class Sending(NamedTuple):
    """A write about to be sent, and the row where its first row belongs; no identity, no record."""

    identity: WriteIdentity | None
    first_row: int
    rows: Rows


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The record of a write. Without an answer it is open: it may have been applied or not.

    `sent_at` is in seconds since the epoch, the latest instant at which it may have left. `taken`
    are rows that were acknowledged to others: what looks like this write there is not it.
    """

    fingerprint: str
    sent_at: float
    first_row: int
    rows: Rows
    taken: tuple[RowInterval, ...] = ()
    answer: Answer | None = None


class Ledger(Protocol):
    """Rules: what is noted outlives the process. Only `find` and `sending` raise, InternalError,
    and `check_room`: later a write must not fail for its record, which then stays open, and a
    retry looks.
    """

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        """The record of a write of the last 24 h; `texts` as in the identity of its retry."""
        ...

    def check_room(self, identity: WriteIdentity) -> None:
        """QueueFull, `not_applied`, if there is no room for the record of one more write."""
        ...

    async def sending(self, sendings: Sequence[Sending]) -> None:
        """Note writes as open, as of now, in one transaction; an open or old record is replaced.

        To be awaited before each call to Google that can apply them. Free without an identity.
        """
        ...

    async def landed(
        self, worksheet: WorksheetId, landings: Sequence[tuple[WriteIdentity | None, Results]]
    ) -> None:
        """Complete creates, and keep the open ones of the worksheet from taking these rows.

        To be awaited for all creates, before they are answered. Free if none has an identity and
        none of the worksheet is open.
        """
        ...

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        """Keep the answer of a write; nothing is to be done if `landed` did so."""
        ...

    async def renew(self, identity: WriteIdentity) -> None:
        """Count the age of an open write from now, when it surely had been sent."""
        ...

    async def drop(self, identity: WriteIdentity) -> None:
        """Forget a write that was not applied."""
        ...


def stacked(first_row: int, writes: Iterable[tuple[WriteIdentity | None, Rows]]) -> list[Sending]:
    """Writes that go one under the other, from `first_row` down."""
    sendings: list[Sending] = []
    for identity, rows in writes:
        sendings.append(Sending(identity, first_row, rows))
        first_row += len(rows)
    return sendings


Perform = Callable[[], Awaitable[Results]]
"""Sends the write; its errors carry the outcome."""


@dataclass(frozen=True, kw_only=True)
class AppliedRows:
    """The rows that an open write left, and the error to answer with if they cannot be shown."""

    results: Results
    error: GatewayError | None = None


Look = Callable[[Entry], Awaitable[AppliedRows | None]]
"""The rows of an open write, if the worksheet has them."""

T = TypeVar("T")


class Queue(Protocol):
    """The write queue of a worksheet."""

    async def alone(self, work: Callable[[], Awaitable[T]], *, key_id: str = "") -> T:
        """Do something while no write to the worksheet is under way; QueueFull, ShuttingDown."""
        ...


_LASTING = (WorksheetNotFound, NoHeaderRow)
"""Errors that only people can mend: another try finds them again."""

_LOOK = "Repeat the request with the same Idempotency-Key after the time in Retry-After."


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The rows of a write; `is_replayed` if it was an earlier request that wrote them."""

    results: Results
    is_replayed: bool = False


class Idempotency:
    """`clock` gives seconds since the epoch, as the ledger's does: records outlive the process."""

    def __init__(
        self,
        ledger: Ledger,
        queue_of: Callable[[WorksheetId], Queue],
        clock: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._queue_of = queue_of
        self._clock = clock
        self._in_flight: dict[str, str] = {}

    async def run(self, identity: WriteIdentity | None, perform: Perform, look: Look) -> Settled:
        """Perform a write, or give the answer that it had; without an identity just perform it.

        Costs no call to Google beside those of `perform`; for an open record those of `look`.
        """
        if identity is None:
            return Settled(results=await perform())
        with self._alone(identity):
            try:
                entry = await self._ledger.find(identity.scope, identity.texts)
            except asyncio.CancelledError:  # the server's time to stop is over
                raise _unknown("The gateway stops.", UNKNOWN_RETRY_SECONDS) from None
            if entry is None:
                # A repeat takes none: it replaces its own record.
                self._ledger.check_room(identity)
                return await self._perform(identity, perform)
            _check_same(identity, entry.fingerprint)
            if entry.answer is not None:
                return _replayed(entry.answer)
            return await self._resume(identity, entry, perform, look)

    @contextmanager
    def _alone(self, identity: WriteIdentity) -> Iterator[None]:
        """Keep twins out for the time of the block."""
        twin = self._in_flight.get(identity.scope)
        if twin is not None:
            _check_same(identity, twin)
            raise IdempotencyInProgress(
                "A request with this Idempotency-Key is being carried out. Repeat this one in a "
                "second to get its answer.",
                outcome="unknown",
                retry_after_seconds=1,
            )
        self._in_flight[identity.scope] = identity.fingerprint
        try:
            yield
        finally:
            del self._in_flight[identity.scope]

    async def _resume(
        self, identity: WriteIdentity, entry: Entry, perform: Perform, look: Look
    ) -> Settled:
        try:
            # Rows of a write under way belong to nobody yet, so none may be.
            found = await self._queue_of(identity.worksheet).alone(
                lambda: self._claimed(identity, look), key_id=identity.key_id
            )
        except asyncio.CancelledError:
            raise _unknown("The gateway stops.", self._remaining(entry)) from None
        except (QueueFull, ShuttingDown) as error:
            raise self._unseen(entry, error) from error
        return found or await self._perform(identity, perform)

    async def _claimed(self, identity: WriteIdentity, look: Look) -> Settled | None:
        """The rows of an open write, noted as its own; None if it can be sent again."""
        entry = await self._reread(identity)
        if entry is None:
            return None
        if entry.answer is not None:
            return _replayed(entry.answer)
        # As of before the look: what it does not find must not land after it.
        remaining_seconds = self._remaining(entry)
        try:
            found = await look(entry)
        except GatewayError as error:
            if remaining_seconds <= 0 and isinstance(error, _LASTING):
                raise
            raise self._unseen(entry, error) from error
        if found is None:
            if remaining_seconds > 0:
                raise _unknown("This write was sent and may still land.", remaining_seconds)
            return None
        await self._noted(self._found(identity, found))
        return _replayed(found.error or found.results)

    async def _reread(self, identity: WriteIdentity) -> Entry | None:
        """The record, with all rows that others were answered while this one was in line."""
        try:
            return await self._ledger.find(identity.scope, identity.texts)
        except GatewayError as error:
            raise _unknown("Its record cannot be read.", UNKNOWN_RETRY_SECONDS) from error

    def _remaining(self, entry: Entry) -> int:
        """For how many seconds a write may still land; 0 or less if it cannot any more."""
        age = max(0.0, self._clock() - entry.sent_at)
        return math.ceil(UNKNOWN_RETRY_SECONDS - age)

    def _unseen(self, entry: Entry, error: GatewayError) -> WriteOutcomeUnknown:
        seconds = max(self._remaining(entry), error.retry_after_seconds or 0)
        return _unknown("It cannot be seen whether it landed.", seconds)

    async def _perform(self, identity: WriteIdentity, perform: Perform) -> Settled:
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

    async def _found(self, identity: WriteIdentity, found: AppliedRows) -> None:
        if identity.is_create and found.error is None:
            await self._ledger.landed(identity.worksheet, [(identity, found.results)])
        await self._ledger.complete(identity, found.error or found.results)
        if identity.is_create and found.error is not None:
            # After it has its answer: its own rows must not be kept from it.
            await self._ledger.landed(identity.worksheet, [(None, found.results)])

    async def _failed(self, identity: WriteIdentity, error: GatewayError) -> None:
        match write_outcome(error):
            case "applied":
                await self._ledger.complete(identity, error)
            case "unknown":
                await self._ledger.renew(identity)
            case "not_applied":
                await self._ledger.drop(identity)

    async def _noted(self, note: Awaitable[None]) -> None:
        """Wait until it is noted how a write ended, which is known whatever becomes of the note."""
        # Cancelled, as the server's time to stop is over: what is not noted stays open, and a
        # retry looks.
        with suppress(asyncio.CancelledError):
            await note


def _check_same(identity: WriteIdentity, fingerprint: str) -> None:
    if fingerprint != identity.fingerprint:
        raise IdempotencyKeyReused(
            "This Idempotency-Key was used for a request with another body. Send each new write "
            "with a new key, and a retry with the body that it had.",
            outcome="not_applied",
        )


def _replayed(answer: Answer) -> Settled:
    if isinstance(answer, GatewayError):
        answer.is_replayed = True
        raise answer
    return Settled(results=answer, is_replayed=True)


def _unknown(what: str, retry_seconds: int) -> WriteOutcomeUnknown:
    return WriteOutcomeUnknown(
        f"The outcome of the earlier request is not known yet. {what} {_LOOK}",
        outcome="unknown",
        retry_after_seconds=max(1, retry_seconds),
    )
