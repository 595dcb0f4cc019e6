"""Open creates of all worksheets, and the rows that belong to other creates.

Rules: an open create may be searched by its content. So each one records which rows, though equal
to its own, were acknowledged to others. Rows too late to be its own are not recorded one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gateway.worksheets.idempotency import LAST_ROW, RowInterval

CONTESTED_SECONDS = 600.0
"""How long rows are recorded one by one.

An append that was sent 185 s or more after the open create is below it, if the open create was
applied at all. Any append answered after this time was sent that late.
"""


@dataclass(kw_only=True)
class OpenCreate:
    """An open create: when it was sent, and the rows acknowledged to others since then."""

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
        """Register an open create, replacing an earlier one."""
        self.drop(scope)
        record = OpenCreate(worksheet=worksheet, sent_at=sent_at, taken=list(taken))
        self._by_scope[scope] = record
        self._by_worksheet.setdefault(worksheet, {})[scope] = record

    def drop(self, scope: str) -> None:
        self.remove([scope])

    def remove(self, scopes: Iterable[str]) -> Mapping[str, OpenCreate]:
        """Remove creates; returns those that were open."""
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
        """Register creates again whose result could not be stored, with rows of others.

        `own_rows` has each create's own first row.
        """
        for scope, record in removed.items():
            self.add(scope, record.worksheet, record.sent_at, record.taken)
            for span in spans:
                if span.first != own_rows[scope]:
                    _take(self._by_scope[scope], span, now)

    def drop_older(self, instant: float) -> None:
        """Remove creates that were sent before a time."""
        for scope in [scope for scope, each in self._by_scope.items() if each.sent_at <= instant]:
            self.drop(scope)

    def renew(self, scope: str, sent_at: float) -> None:
        record = self._by_scope.get(scope)
        if record is not None:
            record.sent_at = sent_at

    def taken(self, scope: str) -> Sequence[RowInterval]:
        """Rows that belong to other creates."""
        record = self._by_scope.get(scope)
        return () if record is None else record.taken

    def take(
        self, worksheet: str, spans: Sequence[RowInterval], now: float
    ) -> Iterator[tuple[str, Sequence[RowInterval]]]:
        """Record rows of other creates; yields each changed open create with all such rows."""
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
