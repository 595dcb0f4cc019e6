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
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from sheets_emulator.app import Emulator
from sheets_emulator.faults import NONE, Fault
from tests.exchanges import Hearing
from tests.simulation.fire.truth import Truth

NUMBER = re.compile(rb'"id:(\d+)"')
FENCE = b"createDeveloperMetadata"
END_ROW = re.compile(rb'!A(\d+):[A-Z]+"\s*\]')
"""The last range of an answer, from the row that the gateway takes for the last one."""
FENCE_ID = re.compile(FENCE + rb'":\s*\{"developerMetadata":\s*\{"metadataId":\s*(\d+)')


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
    """The emulator's application, the truth, and the moments at which Google failed."""

    app: ASGIApp
    patience_seconds: float
    truth: Truth = field(default_factory=Truth)
    batches: int = 0
    lost: set[int] = field(default_factory=set)
    """The numbers of rows in a batch that got no good answer."""
    failures: list[float] = field(default_factory=list)
    """In order."""
    lost_writes: list[float] = field(default_factory=list)
    """The failures of batches with a fence."""
    sent: dict[int, SentBatch] = field(default_factory=dict)
    """The batches by the ids of their fences."""

    def watch(self, emulator: Emulator, spreadsheet: str) -> None:
        """Note from now on what happens at an emulator."""
        self.truth.watch(emulator, spreadsheet)
        self.watch_calls(emulator)

    def watch_calls(self, emulator: Emulator) -> None:
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

    def saw_failure(self, since: float, until: float) -> bool:
        """Whether Google failed between two moments."""
        return _is_between(self.failures, since, until)

    def saw_lost_write(self, since: float, until: float) -> bool:
        """Whether a batch failed between two moments."""
        return _is_between(self.lost_writes, since, until)

    def outside_answers(self) -> set[int]:
        """The numbers of rows created above the range of their answer: people moved the end up.

        The gateway has to look for them once more.
        """
        rows = {effect.number: effect.row for effect in self.truth.effects}
        return {
            number
            for batch in self.sent.values()
            if (end := END_ROW.search(batch.body))
            for number in map(int, NUMBER.findall(batch.body))
            if rows.get(number, int(end[1])) < int(end[1])
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v4/"):
            await self.app(scope, receive, send)
            return
        hearing = Hearing(receive=receive)
        began = time.monotonic()
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
            self.lost.update(int(number) for number in NUMBER.findall(body))
        if (fence := FENCE_ID.search(body)) and int(fence[1]) in self.sent:
            self.sent[int(fence[1])].is_lost = True


def _is_between(moments: Sequence[float], since: float, until: float) -> bool:
    first = bisect_left(moments, since)
    return first < len(moments) and moments[first] <= until
