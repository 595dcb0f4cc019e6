"""Record what took effect at Google, and when Google failed.

Rules
- The witness changes no message. It keeps the `__self__` of `receive`, because the emulator closes
  connections through it.
- Google fails with every fault, every interrupted call, and every answer that comes too late. Calls
  of people do not fail. A fault that only edits counts as a person.
"""

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import is_
from urllib.parse import unquote

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from sheets_emulator.app import Emulator
from sheets_emulator.faults import NONE, Fault
from sheets_emulator.grid.cell import whole
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook
from tests.exchanges import Hearing

NUMBER = re.compile(r"id:(\d+)")
"""Matches the number of a row, in one of its cells."""
SENT_NUMBER = re.compile(rb'"id:(\d+)"')
FENCE = b"createDeveloperMetadata"
FENCE_ID = re.compile(FENCE + rb'":\s*\{"developerMetadata":\s*\{"metadataId":\s*(\d+)')


Note = Callable[[Workbook, Workbook, float], None]
"""Function that gets a spreadsheet before and after a change, and the time of the change."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of the Sheets API; `asked` is its path with query."""

    at: float
    asked: str


@dataclass(kw_only=True)
class SentBatch:
    """A write batch of a gateway; `is_lost` if one of its copies got no success answer."""

    sent_at: float
    """Arrival time of the first copy."""
    body: bytes
    is_lost: bool = False


def is_edit(fault: Fault) -> bool:
    """True for a fault that only edits the sheet before a call, which then succeeds."""
    return fault.edit is not None and not fault.is_failing


@dataclass(kw_only=True)
class Witness:
    """The emulator's application, with a record of calls and of Google's failures."""

    app: ASGIApp
    patience_seconds: float
    calls: list[Call] = field(default_factory=list)
    """All calls of the Sheets API, in order."""
    batches: int = 0
    lost: set[int] = field(default_factory=set)
    """Numbers of the rows in batches without a success answer."""
    failures: list[float] = field(default_factory=list)
    """Times of Google's failures, ascending."""
    lost_writes: list[float] = field(default_factory=list)
    """Times of the failures of gateway batches."""
    sent: dict[int, SentBatch] = field(default_factory=dict)
    """The batches by the metadata IDs of their fences."""

    def watch(self, emulator: Emulator) -> None:
        """Record from now on the batches that arrive and the calls that fail."""
        faults = emulator.service.faults
        take = faults.take

        def taken(name: str, body: bytes) -> Fault:
            fault = take(name, body)
            if fence := FENCE_ID.search(body):
                batch = SentBatch(sent_at=time.monotonic(), body=body)
                self.sent.setdefault(int(fence[1]), batch)
            if fault is not NONE and not is_edit(fault):
                self._failed(body)
            return fault

        faults.take = taken  # type: ignore[method-assign]

    def between(self, start: float, end: float) -> Sequence[Call]:
        """Return the calls between two times, in order."""
        return [call for call in self.calls if start <= call.at < end]

    def saw_failure(self, since: float, until: float) -> bool:
        """True if Google failed between two times."""
        return _is_between(self.failures, since, until)

    def saw_lost_write(self, since: float, until: float) -> bool:
        """True if a gateway's batch failed between two times."""
        return _is_between(self.lost_writes, since, until)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v4/"):
            await self.app(scope, receive, send)
            return
        hearing = Hearing(receive=receive)
        began = time.monotonic()
        asked = f"{scope['path']}?{scope['query_string'].decode('latin-1')}"
        self.calls.append(Call(at=began, asked=unquote(asked)))
        try:
            await self.app(scope, hearing, send)
        except ClientDisconnect:
            self._failed(hearing.heard)  # the gateway was killed while it sent this batch
            return
        finally:
            is_batch = scope["path"].endswith(":batchUpdate") and FENCE in hearing.heard
            self.batches += is_batch
            if time.monotonic() - began >= self.patience_seconds:
                self._failed(hearing.heard)

    def _failed(self, body: bytes) -> None:
        self.failures.append(time.monotonic())
        if FENCE in body:
            self.lost_writes.append(self.failures[-1])
            self.lost.update(int(number) for number in SENT_NUMBER.findall(body))
        if (fence := FENCE_ID.search(body)) and int(fence[1]) in self.sent:
            self.sent[int(fence[1])].is_lost = True


def _is_between(moments: Sequence[float], since: float, until: float) -> bool:
    first = bisect_left(moments, since)
    return first < len(moments) and moments[first] <= until


def follow(emulator: Emulator, spreadsheet: str, note: Note) -> Workbook:
    """Call `note` after each change of a spreadsheet. Returns the current spreadsheet."""
    store = emulator.service.store
    keep = store.keep

    def kept(draft: Workbook) -> None:
        before = store.workbooks.get(draft.spreadsheet_id)
        keep(draft)
        if draft.spreadsheet_id == spreadsheet and before is not None:
            note(before, draft, time.monotonic())

    store.keep = kept  # type: ignore[method-assign]
    return store.workbooks[spreadsheet]


def changed_sheets(before: Workbook, after: Workbook) -> Iterator[tuple[Sheet, Sheet]]:
    """Yield each worksheet with a changed row, as `(before, after)`."""
    for sheet in after.sheets:
        old = before.numbered(sheet.sheet_id)
        if old is not None and not (
            len(old.rows) == len(sheet.rows) and all(map(is_, old.rows, sheet.rows))
        ):
            yield old, sheet


def texts_of(sheet: Sheet) -> list[list[str]]:
    """Return the cells of a worksheet as rows of strings."""
    return [row_texts(cells) for cells in sheet.rows]


def row_texts(cells: Row) -> list[str]:
    return ["" if (value := whole(cell).value) is None else str(value) for cell in cells]
