"""A `Sheets` that wraps another one, counts its calls and runs a test's actions around them."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Change,
    Sheets,
    SheetView,
    Value,
    WrittenCells,
)
from tests.forwarding import WRITES, Call, ForwardingSheets, Kind

T = TypeVar("T")
_PATIENCE_SECONDS = 5.0


class Cost(NamedTuple):
    """Number of reads and writes that count for Google's quota."""

    reads: int
    writes: int


Act = Exception | asyncio.Event | Callable[[], object]
"""Action around a call: raise an error, wait for an event, or call a function."""


class ScriptedSheets(ForwardingSheets):
    """Counts calls by kind. `before` and `after` number calls from the next one, which is 1."""

    def __init__(self, inner: Sheets) -> None:
        self.most_writes_at_once: Counter[str] = Counter()
        """Maximum number of concurrent writes, by the title in the range."""
        self.poison: dict[Value, str] = {}
        """Values that Google refuses to write, each with the message of the refusal.

        `{index}` in the message stands for the number of the request.
        """
        self.batches: list[Batch] = []
        """All batches that were sent, whatever their outcome."""
        self._inner = inner
        self._begun: Counter[Kind] = Counter()
        self._counted = Cost(0, 0)
        self._before: defaultdict[tuple[Kind, int], list[Act]] = defaultdict(list)
        self._after: defaultdict[tuple[Kind, int], list[Act]] = defaultdict(list)
        self._writing: Counter[str] = Counter()
        self._news = asyncio.Condition()

    def before(self, kind: Kind, *acts: Act, nth: int = 1) -> None:
        """Run actions just before the n-th next call of a kind takes effect."""
        self._before[kind, self._begun[kind] + nth] += acts

    def after(self, kind: Kind, *acts: Act, nth: int = 1) -> None:
        """Run actions after the n-th next call of a kind took effect, before its answer."""
        self._after[kind, self._begun[kind] + nth] += acts

    def clear(self) -> None:
        """Remove all actions that have not run."""
        self._before.clear()
        self._after.clear()

    async def begun(self, kind: Kind, times: int = 1) -> None:
        """Wait until this number of calls of a kind has begun."""
        async with asyncio.timeout(_PATIENCE_SECONDS), self._news:
            await self._news.wait_for(lambda: self._begun[kind] >= times)

    def count(self, kind: Kind) -> int:
        """Number of calls of a kind."""
        return self._begun[kind]

    def cost(self) -> Cost:
        """Calls since the last use of this property."""
        writes = sum(self._begun[kind] for kind in WRITES)
        total = Cost(self._begun.total() - writes, writes)
        before, self._counted = self._counted, total
        return Cost(total.reads - before.reads, total.writes - before.writes)

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        return await self._play(kind, "", lambda: call(self._inner))

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        call = self._inner.apply
        self.batches.append(batch)

        async def apply() -> SheetView:
            self._refuse(batch.changes)
            return await call(spreadsheet, batch)

        title = batch.ranges[0].rpartition("!")[0].strip("'")
        return await self._play("apply", title, apply)

    def _refuse(self, changes: Sequence[Change]) -> None:
        for index, change in enumerate(changes, start=1):
            for value in (value for row in _rows(change) for value in row if value in self.poison):
                raise UpstreamRefusal(self.poison[value].format(index=index))

    async def _play(self, kind: Kind, title: str, call: Callable[[], Awaitable[T]]) -> T:
        async with self._news:
            self._begun[kind] += 1
            number = self._begun[kind]
            self._news.notify_all()
        with self._at_once(kind, title):
            await _perform(self._before[kind, number])
            answer = await call()
            await _perform(self._after[kind, number])
        return answer

    @contextmanager
    def _at_once(self, kind: Kind, title: str) -> Iterator[None]:
        weight = int(kind in WRITES)
        self._writing[title] += weight
        self.most_writes_at_once[title] = max(self.most_writes_at_once[title], self._writing[title])
        try:
            yield
        finally:
            self._writing[title] -= weight


def _rows(change: Change) -> Sequence[Sequence[Value]]:
    if isinstance(change, AppendedRows):
        return change.rows
    return [change.values] if isinstance(change, WrittenCells) else []


async def _perform(acts: Sequence[Act]) -> None:
    for act in acts:
        match act:
            case Exception():
                raise act
            case asyncio.Event():
                await act.wait()
            case _:
                act()
