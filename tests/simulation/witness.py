"""Google's side of the matter: what took effect, and when Google failed.

Rules
- Nothing of an exchange is changed, and `receive` goes on with its `__self__`: the emulator closes
  connections by it.
- Google fails with every fault, every call that is cut off, and every answer that comes too late.
  A person's calls do not fail. A fault that only edits is a person, too.
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
"""The number of a row, in one of its cells."""
SENT_NUMBER = re.compile(rb'"id:(\d+)"')
FENCE = b"createDeveloperMetadata"
FENCE_ID = re.compile(FENCE + rb'":\s*\{"developerMetadata":\s*\{"metadataId":\s*(\d+)')


Note = Callable[[Workbook, Workbook, float], None]
"""Takes in a spreadsheet before and after a change, and the moment of the change."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that came; `asked` is its path with its parameters."""

    at: float
    asked: str


@dataclass(kw_only=True)
class SentBatch:
    """A batch with a fence; `is_lost`: one of its copies got no good answer."""

    sent_at: float
    """The arrival of its first copy."""
    body: bytes
    is_lost: bool = False


def is_edit(fault: Fault) -> bool:
    """True for an edit on the way of a call, which gets its normal answer."""
    return fault.edit is not None and not fault.is_failing


@dataclass(kw_only=True)
class Witness:
    """The emulator's application, and the moments at which Google failed."""

    app: ASGIApp
    patience_seconds: float
    calls: list[Call] = field(default_factory=list)
    """All calls of the Sheets API, in order."""
    batches: int = 0
    lost: set[int] = field(default_factory=set)
    """The numbers of rows in a batch that got no good answer."""
    failures: list[float] = field(default_factory=list)
    """In order."""
    lost_writes: list[float] = field(default_factory=list)
    """The failures of batches with a fence."""
    sent: dict[int, SentBatch] = field(default_factory=dict)
    """The batches by the ids of their fences."""

    def watch(self, emulator: Emulator) -> None:
        """Note from now on which calls fail, and which batches are sent."""
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
        """The calls of a time, in their order."""
        return [call for call in self.calls if start <= call.at < end]

    def saw_failure(self, since: float, until: float) -> bool:
        """Whether Google failed between two moments."""
        return _is_between(self.failures, since, until)

    def saw_lost_write(self, since: float, until: float) -> bool:
        """Whether a batch failed between two moments."""
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
            self._failed(hearing.heard)  # the gateway was killed while it sent this
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
    """Call `note` whenever the emulator keeps a changed spreadsheet; the spreadsheet as it is."""
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
    """The worksheets of which a row is another object, before and after."""
    for sheet in after.sheets:
        old = before.numbered(sheet.sheet_id)
        if old is not None and not (
            len(old.rows) == len(sheet.rows) and all(map(is_, old.rows, sheet.rows))
        ):
            yield old, sheet


def texts_of(sheet: Sheet) -> list[list[str]]:
    """The cells of a worksheet as texts."""
    return [row_texts(cells) for cells in sheet.rows]


def row_texts(cells: Row) -> list[str]:
    return ["" if (value := whole(cell).value) is None else str(value) for cell in cells]
