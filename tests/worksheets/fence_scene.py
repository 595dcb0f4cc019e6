"""Fences over a fake worksheet."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from gateway.errors import UpstreamRefusal, WriteOutcomeUnknown
from gateway.google.sheets import AppendedRows, Batch, Fence, SheetView
from gateway.worksheets.fences import BURNT, Fences, NeverApplied
from tests.clock import ManualClock
from tests.fakes import BOOK, FakeSheets, FakeWorksheet
from tests.worksheets.conftest import CITIES
from tests.worksheets.scripted_sheets import ScriptedSheets

LOST = WriteOutcomeUnknown("no answer")
FRESH_SECONDS = 10.0


class Scene:
    """Fences over a fake worksheet. Pauses advance the clock and do not sleep."""

    def __init__(self, clock: ManualClock, *, repeatable_ids: bool = False) -> None:
        self.fake = FakeSheets(repeatable_ids=repeatable_ids)
        self.cities: FakeWorksheet = self.fake.add("Cities", CITIES, rows=100)
        self.sheets = ScriptedSheets(self.fake)
        self.clock = clock
        self.turns = 0
        self.turn_seconds = 0.0
        """Time that each write waits for quota, in seconds."""
        self.fences = self.started()

    def fill(self) -> None:
        """Fill all space of the metadata with fences of another program."""
        self.fake.metadata_room = sum(len(each.key + each.token) for each in self.fake.fences)

    def started(self, recorded: Sequence[int] = ()) -> Fences:
        """Return the fences of a new process; `recorded` fences have open records."""
        return Fences(
            self.sheets,
            key="gw",
            clock=self.clock,
            sleep=self._pause,
            write_turn=self._turn,
            recorded=lambda: recorded,
        )

    async def _pause(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    async def _turn(self, _spreadsheet: str) -> AbstractContextManager[None]:
        self.turns += 1
        self.clock.advance(self.turn_seconds)
        return nullcontext()

    def batch(self, name: str = "Reno", fence: Fence | None = None) -> Batch:
        return Batch(
            sheet_id=self.cities.sheet_id,
            fence=fence or self.fences.new(),
            changes=[AppendedRows(rows=[[name]])],
            ranges=["'Cities'!1:1", "'Cities'!A4:ZZZ"],
        )

    async def commit(self, batch: Batch, fresh_seconds: float = FRESH_SECONDS) -> SheetView | None:
        return await self.fences.commit(BOOK, batch, resend_seconds=fresh_seconds)

    async def outcome(self, batch: Batch, fresh_seconds: float = FRESH_SECONDS) -> str:
        """Return the outcome of a batch as one word."""
        try:
            view = await self.commit(batch, fresh_seconds)
        except NeverApplied:
            return "never"
        except WriteOutcomeUnknown:
            return "unknown"
        return "applied" if view is not None else "applied, answer lost"

    def names(self) -> list[object]:
        """Return the first cells of the rows below the cities."""
        return [line[0] for line in self.cities.lines()[4:]]

    def tokens(self, batch: Batch) -> list[str]:
        return [each.token for each in self.fake.fences if each.id == batch.fence.id]

    def is_burnt(self, batch: Batch) -> bool:
        return [token.endswith(BURNT) for token in self.tokens(batch)] == [True]

    def late(self, batch: Batch) -> Callable[[], None]:
        """A copy of a batch that Google applies when the test says, unless Google refuses it."""

        def land() -> None:
            with suppress(UpstreamRefusal):
                self.fake.apply_now(BOOK, batch)

        return land
