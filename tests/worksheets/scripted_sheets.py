"""A `Sheets` around another that counts calls and plays what a test scripts around them."""

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
    """Number of calls that Google would count."""

    reads: int
    writes: int


Act = Exception | asyncio.Event | Callable[[], object]
"""Around a call: make it fail, hold it until the event is set, or do something."""


class ScriptedSheets(ForwardingSheets):
    """Calls of a kind are numbered from 1; `before` and `after` count from the next one on."""

    def __init__(self, inner: Sheets) -> None:
        self.most_writes_at_once: Counter[str] = Counter()
        """By the title as it stands in the range."""
        self.poison: dict[Value, str] = {}
        """Values that are refused wherever they are written, with the words of the refusal, in
        which `{index}` is the number of the request."""
        self.batches: list[Batch] = []
        """All that were sent, whatever became of them."""
        self._inner = inner
        self._begun: Counter[Kind] = Counter()
        self._counted = Cost(0, 0)
        self._before: defaultdict[tuple[Kind, int], list[Act]] = defaultdict(list)
        self._after: defaultdict[tuple[Kind, int], list[Act]] = defaultdict(list)
        self._writing: Counter[str] = Counter()
        self._news = asyncio.Condition()

    def before(self, kind: Kind, *acts: Act, nth: int = 1) -> None:
        """Play these just before the n-th next call of a kind takes effect."""
        self._before[kind, self._begun[kind] + nth] += acts

    def after(self, kind: Kind, *acts: Act, nth: int = 1) -> None:
        """Play these once the n-th next call of a kind took effect, before its answer."""
        self._after[kind, self._begun[kind] + nth] += acts

    def clear(self) -> None:
        """Play nothing more of what is scripted."""
        self._before.clear()
        self._after.clear()

    async def begun(self, kind: Kind, times: int = 1) -> None:
        """Wait until this many calls of a kind have begun."""
        async with asyncio.timeout(_PATIENCE_SECONDS), self._news:
            await self._news.wait_for(lambda: self._begun[kind] >= times)

    def count(self, kind: Kind) -> int:
        """Number of calls of a kind."""
        return self._begun[kind]

    def cost(self) -> Cost:
        """The calls since this was last asked."""
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
