"""Open creates of all worksheets in memory, and the rows that are not theirs.

Rules: an open create may be looked for by what it wrote, so each must know which rows that look
like its own were acknowledged to others. What can come too late for it is not noted one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gateway.worksheets.idempotency import LAST_ROW, RowInterval

CONTESTED_SECONDS = 600.0
"""How long rows are noted one by one. An append that was sent 185 s or more after the open create
lies below it, if that is there at all; one that is answered as late as this was sent so."""


@dataclass(kw_only=True)
class OpenCreate:
    """When it was sent, and the rows since then that are not its own."""

    worksheet: str
    sent_at: float
    taken: list[RowInterval]


class OpenCreates:
    def __init__(self) -> None:
        self._by_worksheet: dict[str, dict[str, OpenCreate]] = {}
        self._by_scope: dict[str, OpenCreate] = {}

    def add(
        self, scope: str, worksheet: str, sent_at: float, taken: Sequence[RowInterval] = ()
    ) -> None:
        """Note a create as open; one that was open is anew."""
        self.drop(scope)
        record = OpenCreate(worksheet=worksheet, sent_at=sent_at, taken=list(taken))
        self._by_scope[scope] = record
        self._by_worksheet.setdefault(worksheet, {})[scope] = record

    def drop(self, scope: str) -> None:
        self.remove([scope])

    def remove(self, scopes: Iterable[str]) -> Mapping[str, OpenCreate]:
        """Drop creates that are not open any more; those that were."""
        removed = {scope: self._by_scope.pop(scope) for scope in scopes if scope in self._by_scope}
        for scope, record in removed.items():
            of_worksheet = self._by_worksheet[record.worksheet]
            del of_worksheet[scope]
            if not of_worksheet:
                del self._by_worksheet[record.worksheet]
        return removed

    def put_back(
        self,
        removed: Mapping[str, OpenCreate],
        spans: Sequence[RowInterval],
        own_rows: Mapping[str, int],
        now: float,
    ) -> None:
        """Have creates open again whose end is on no disk; of the rows those of others are kept
        from them. `own_rows`: where their own begin."""
        for scope, record in removed.items():
            self.add(scope, record.worksheet, record.sent_at, record.taken)
            for span in spans:
                if span.first != own_rows[scope]:
                    _take(self._by_scope[scope], span, now)

    def drop_older(self, instant: float) -> None:
        """Drop those that were sent before an instant."""
        for scope in [scope for scope, each in self._by_scope.items() if each.sent_at <= instant]:
            self.drop(scope)

    def renew(self, scope: str, sent_at: float) -> None:
        record = self._by_scope.get(scope)
        if record is not None:
            record.sent_at = sent_at

    def taken(self, scope: str) -> Sequence[RowInterval]:
        """The rows that an open create may not take."""
        record = self._by_scope.get(scope)
        return () if record is None else record.taken

    def take(
        self, worksheet: str, spans: Sequence[RowInterval], now: float
    ) -> Iterator[tuple[str, Sequence[RowInterval]]]:
        """Keep rows from the open creates of a worksheet; those that did not know, with all."""
        for scope, record in self._by_worksheet.get(worksheet, {}).items():
            known = len(record.taken), record.taken[-1:]
            for span in spans:
                _take(record, span, now)
            if known != (len(record.taken), record.taken[-1:]):
                yield scope, record.taken


def _take(record: OpenCreate, span: RowInterval, now: float) -> None:
    last = record.taken[-1] if record.taken else RowInterval(0, 0)
    if last.last == LAST_ROW:
        return
    if now - record.sent_at >= CONTESTED_SECONDS:
        record.taken.append(RowInterval(span.first, LAST_ROW))
    elif last.last + 1 == span.first:
        record.taken[-1] = RowInterval(last.first, span.last)
    else:
        record.taken.append(span)
