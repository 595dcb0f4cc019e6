"""A clock for concurrent calls. A sleeping call wakes when the test advances the clock."""

import asyncio
import heapq
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from anyio import wait_all_tasks_blocked

from sheets_emulator.app import Emulator
from sheets_emulator.operations import Call
from sheets_emulator.service import Outcome, Timing
from tests.sheets_emulator.bench import START, LateEffect

ACCOUNT = "someone@example.com"


@dataclass(kw_only=True)
class HeldClock:
    """A clock that only the test moves.

    `share` returns the fraction of the jitter for a call. `slept` has the seconds of each sleep.
    """

    moment: float = START
    share: Callable[[], float] = float
    slept: list[float] = field(default_factory=list)
    sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    late: list[LateEffect] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def timing(self) -> Timing:
        return Timing(now=self.now, sleep=self.sleep, later=self.later, share=self.share)

    def now(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self.sleepers, (self.moment + seconds, next(self.numbers), awake))
        await awake

    def later(self, seconds: float, effect: Callable[[], None]) -> LateEffect:
        self.late.append(LateEffect(moment=self.moment + seconds, effect=effect))
        return self.late[-1]

    async def advance(self, milliseconds: float) -> None:
        """Advance the clock. Sleeping calls and scheduled effects run in order of time."""
        await wait_all_tasks_blocked()
        until = self.moment + milliseconds / 1000 + 1e-6
        while self.sleepers and self.sleepers[0][0] <= until:
            self.moment, _, awake = heapq.heappop(self.sleepers)
            awake.set_result(None)
            await wait_all_tasks_blocked()
        self.moment = until
        for each in [each for each in self.late if each.moment <= until]:
            self.late.remove(each)
            if not each.is_cancelled:
                each.effect()


@dataclass(kw_only=True)
class Traffic:
    """Concurrent calls of an emulator with the spreadsheet `book`."""

    emulator: Emulator
    clock: HeldClock

    def append(self, row: str, *, text: str = "Data", option: str = "OVERWRITE") -> "Reply":
        """Start a values.append of one cell."""
        query = f"valueInputOption=RAW&insertDataOption={option}"
        return self.begin("values.append", {"values": [[row]]}, text=text, query=query)

    def edit(self, *requests: Mapping[str, Any]) -> "Reply":
        """Start a batchUpdate."""
        return self.begin("spreadsheets.batchUpdate", {"requests": requests})

    def begin(self, name: str, body: object, *, text: str = "", query: str = "") -> "Reply":
        call = Call(
            name=name,
            spreadsheet_id="book",
            range_text=text,
            query_string=query.encode(),
            body=json.dumps(body).encode(),
            account=ACCOUNT,
            project="emulator",
        )
        return Reply(task=asyncio.ensure_future(self.emulator.service.call(call)))

    def token(self) -> asyncio.Future[Outcome]:
        """Start a token request that gets an error."""
        return asyncio.ensure_future(self.emulator.service.token(b""))

    def column(self, title: str = "Data") -> list[object]:
        """The contents of the first column of a worksheet."""
        sheet = self.emulator.service.store.workbook("book").titled(title)
        if sheet is None:
            raise LookupError(title)
        return [sheet.content(row, 0) for row in range(len(sheet.rows))]


@dataclass(kw_only=True)
class Reply:
    """The answer to a call that was started."""

    task: asyncio.Future[Outcome]

    def read(self) -> Any:
        """The JSON body of the answer. Raises if the call has not ended or was dropped."""
        outcome = self.task.result()
        if outcome.answer is None:
            raise ConnectionError("the connection was dropped")
        return json.loads(outcome.answer.body)

    def written(self) -> str:
        """The `updatedRange` in the answer of an append."""
        found: str = self.read()["updates"]["updatedRange"]
        return found
