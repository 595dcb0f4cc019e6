"""The write ledger, as idempotency and the writers use it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gateway.errors import GatewayError
from gateway.table.record import Stored
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.write_identity import WriteIdentity
from gateway.worksheets.writes import Results

Rows = Sequence[Sequence[Stored]]
"""Cells as they are sent, each row from column A; None is a cell that is left as it is."""

Answer = Results | GatewayError
"""How a write ended for good: its rows, or an error after which it must not be sent again."""


LAST_ROW = 99_999_999
"""Below any row that a worksheet has: a workbook ends at 10 million cells."""


class Span(NamedTuple):
    """Rows of a worksheet, from the first to the last."""

    first: int
    last: int

    def overlaps(self, other: "Span") -> bool:
        return self.first <= other.last and other.first <= self.last


class Sending(NamedTuple):
    """A write about to be sent, and the row where its first row belongs; no identity, no record."""

    identity: WriteIdentity | None
    first_row: int
    rows: Rows


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known of a write; one without an answer is open: it may have been applied or not.

    `sent_at` is in seconds since the epoch, the latest instant at which it may have left. `taken`
    are rows that were acknowledged to others: what looks like this write there is not it.
    """

    fingerprint: str
    sent_at: float
    first_row: int
    rows: Rows
    taken: tuple[Span, ...] = ()
    answer: Answer | None = None


class Ledger(Protocol):
    """Rules: what is noted outlives the process. Only `find` and `sending` raise, InternalError,
    and `check_room`: later a write must not fail for its record, which then stays open, and a
    retry looks.
    """

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        """What is known of a write of the last 24 h; `texts` as in the identity of its retry."""
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
