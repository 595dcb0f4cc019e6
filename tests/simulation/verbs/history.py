"""All states of the worksheets, as the emulator kept them one after the other.

Rules: a change that brings a new fence is the gateway's, any other is a person's. Rows in the store
are never modified, so a state is a list of references; an unchanged row is the same object.
"""

import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from sheets_emulator.app import Emulator
from sheets_emulator.grid.cell import whole
from sheets_emulator.grid.sheet import Row
from sheets_emulator.grid.workbook import Workbook


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A change of a worksheet's rows; `before` and `after` are all rows from row 1 down."""

    at: float
    is_ours: bool
    before: Sequence[Row]
    after: Sequence[Row]

    @property
    def removed(self) -> list[int]:
        """The numbers, in `before`, of rows that went; none if the rows are as many as before."""
        if len(self.after) >= len(self.before):
            return []
        left = iter(self.after)
        expected = next(left, None)
        gone = []
        for number, row in enumerate(self.before, start=1):
            if row is expected:
                expected = next(left, None)
            else:
                gone.append(number)
        return gone


@dataclass(kw_only=True)
class History:
    commits: dict[str, list[Commit]] = field(default_factory=lambda: defaultdict(list))
    """By the worksheet's title, in order."""

    def watch(self, emulator: Emulator, spreadsheet: str) -> None:
        """Note from now on what the emulator does to a spreadsheet."""
        store = emulator.service.store
        keep = store.keep

        def kept(draft: Workbook) -> None:
            before = store.workbooks.get(draft.spreadsheet_id)
            keep(draft)
            if draft.spreadsheet_id == spreadsheet and before is not None:
                self._note(before, draft)

        store.keep = kept  # type: ignore[method-assign]

    def between(self, worksheet: str, since: float, until: float) -> Sequence[Commit]:
        """The commits in a worksheet in a time, both ends included."""
        commits = self.commits[worksheet]
        first = bisect_left(commits, since, key=lambda each: each.at)
        return commits[first : bisect_right(commits, until, key=lambda each: each.at)]

    def was_edited(self, worksheet: str, since: float, until: float) -> bool:
        """Whether a person changed the worksheet in a time."""
        return any(not each.is_ours for each in self.between(worksheet, since, until))

    def _note(self, before: Workbook, after: Workbook) -> None:
        is_ours = bool(set(after.metadata) - set(before.metadata))
        for sheet in after.sheets:
            old = before.numbered(sheet.sheet_id)
            if old is not None and not _is_same(old.rows, sheet.rows):
                self.commits[sheet.title].append(
                    Commit(
                        at=time.monotonic(),
                        is_ours=is_ours,
                        before=list(old.rows),
                        after=list(sheet.rows),
                    )
                )


def texts_of(row: Row) -> tuple[str, ...]:
    """The texts of a row, without blank ones at its end."""
    texts = ["" if (value := whole(cell).value) is None else str(value) for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)


def _is_same(old: Sequence[Row], new: Sequence[Row]) -> bool:
    return len(old) == len(new) and all(was is now for was, now in zip(old, new, strict=True))
