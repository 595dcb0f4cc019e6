"""Which accounts reach which spreadsheets, as Google's answers showed.

Rules
- That an account reaches a spreadsheet holds until Google refuses it. That it does not holds for
  `LACKING_SECONDS`.
- Whoever may write may read; whoever may not read may not write.
- The spreadsheets asked for last are known, `MAX_SPREADSHEETS` of them.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

LACKING_SECONDS = 3600.0
MAX_SPREADSHEETS = 10_000


@dataclass(kw_only=True)
class _Known:
    """What is known of a spreadsheet, by account: whether it is reached, and since when."""

    reads: dict[str, tuple[bool, float]] = field(default_factory=dict)
    writes: dict[str, tuple[bool, float]] = field(default_factory=dict)
    writer: str | None = None


class Reach:
    def __init__(
        self, *, clock: Callable[[], float], max_spreadsheets: int = MAX_SPREADSHEETS
    ) -> None:
        self._clock = clock
        self._max_spreadsheets = max_spreadsheets
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def reaches(self, spreadsheet: str, account: str, *, is_write: bool) -> bool | None:
        """Whether an account reaches a spreadsheet; None if that is not known."""
        known = self._known.get(spreadsheet)
        if known is None:
            return None
        reads = self._present(known.reads.get(account))
        if not is_write or reads is False:
            return reads
        return self._present(known.writes.get(account))

    def lacked_at(self, spreadsheet: str, account: str, *, is_write: bool) -> float:
        """When Google refused an account last."""
        known = self._known[spreadsheet]
        found = known.writes.get(account) if is_write else None
        return (found or known.reads[account])[1]

    def writer(self, spreadsheet: str) -> str | None:
        """The account that wrote last."""
        known = self._known.get(spreadsheet)
        return None if known is None else known.writer

    def note(self, spreadsheet: str, account: str, *, is_write: bool, reaches: bool) -> None:
        """Learn from Google's answer to a call."""
        known = self._known.get(spreadsheet)
        if known is None:
            known = self._known[spreadsheet] = _Known()
            if len(self._known) > self._max_spreadsheets:
                self._known.popitem(last=False)
        self._known.move_to_end(spreadsheet)
        answer = (reaches, self._clock())
        if is_write:
            known.writes[account] = answer
            if reaches:
                known.writer = account
        if not is_write or reaches:
            known.reads[account] = answer

    def _present(self, answer: tuple[bool, float] | None) -> bool | None:
        if answer is None:
            return None
        reaches, at_seconds = answer
        is_past = not reaches and self._clock() - at_seconds >= LACKING_SECONDS
        return None if is_past else reaches
