"""What a gateway saw before each of its updates, noted between the gateway and its `Sheets`."""

import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.google.sheets import Batch, Sheets, SheetView, WrittenCells
from tests.simulation.fire.truth import FIRST_UPDATE, UPDATE

ROWS = re.compile(r"!A?(\d+):[A-Z]*(\d+)$")


class Look(NamedTuple):
    """The time of a look at a row: from its request to its answer."""

    began: float
    ended: float


class Sent(NamedTuple):
    """A copy of an update that was sent, and the last look at its row before."""

    at: float
    look: Look | None

    @property
    def age_seconds(self) -> float:
        """Of the look, from its request on: nobody knows when Google saw the row."""
        return self.at - self.look.began if self.look else float("inf")


@dataclass(kw_only=True)
class Looks:
    """The updates that were sent, by their numbers; of one gateway or of several."""

    sent: dict[int, list[Sent]] = field(default_factory=lambda: defaultdict(list))

    def before(self, number: int, moment: float) -> Sent | None:
        """The last copy of an update that was sent before a moment."""
        copies = [each for each in self.sent.get(number, ()) if each.at <= moment]
        return copies[-1] if copies else None


class NotedSheets:
    """A `Sheets` whose looks and updates are noted in `looks`."""

    def __init__(self, inner: Sheets, looks: Looks) -> None:
        self._inner = inner
        self._looks = looks
        self._seen: dict[int, Look] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, has_values: bool = True
    ) -> SheetView:
        began = time.monotonic()
        view = await self._inner.read_sheet(spreadsheet, ranges, has_values=has_values)
        self._seen |= dict.fromkeys(_rows(ranges), Look(began, time.monotonic()))
        return view

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        moment = time.monotonic()
        for number, row in _updates(batch).items():
            self._looks.sent[number].append(Sent(moment, self._seen.get(row)))
        return await self._inner.apply(spreadsheet, batch)


def _rows(ranges: Sequence[str]) -> Sequence[int]:
    found = [ROWS.search(each) for each in ranges]
    return [row for match in found if match for row in range(int(match[1]), int(match[2]) + 1)]


def _updates(batch: Batch) -> Mapping[int, int]:
    """The rows of a batch's updates by their numbers."""
    return {
        int(match[1]): change.row
        for change in batch.changes
        if isinstance(change, WrittenCells)
        for value in change.values
        if (match := UPDATE.fullmatch(str(value))) and int(match[1]) >= FIRST_UPDATE
    }
