"""A `Sheets` around another that counts calls and plays what a test scripts around them."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeVar

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Change,
    Fence,
    KnownRange,
    Render,
    Rendering,
    SheetArea,
    Sheets,
    SheetView,
    Value,
    Values,
    WorksheetProperties,
    WrittenCells,
)

T = TypeVar("T")
Kind = Literal[
    "read_values",
    "read_columns",
    "read_several",
    "read_ranges",
    "list_worksheets",
    "read_sheet",
    "apply",
    "put_fence",
    "delete_fences",
    "fence_tokens",
    "find_fences",
]
WRITES: frozenset[Kind] = frozenset({"apply", "put_fence", "delete_fences"})

_PATIENCE_SECONDS = 5.0


class Cost(NamedTuple):
    """Number of calls that Google would count."""

    reads: int
    writes: int


Act = Exception | asyncio.Event | Callable[[], object]
"""Around a call: make it fail, hold it until the event is set, or do something."""


class ScriptedSheets:
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

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        call = self._inner.read_several
        return await self._play(
            "read_several", ranges[0].range, lambda: call(spreadsheet, ranges, render=render)
        )

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        call = self._inner.read_values
        return await self._play(
            "read_values", range_, lambda: call(spreadsheet, range_, render=render)
        )

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        call = self._inner.read_columns
        return await self._play(
            "read_columns",
            "" if isinstance(range_, SheetArea) else range_,
            lambda: call(spreadsheet, range_, render=render, known=known),
        )

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        call = self._inner.read_ranges
        return await self._play("read_ranges", ranges[0], lambda: call(spreadsheet, ranges))

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        call = self._inner.list_worksheets
        return await self._play("list_worksheets", "", lambda: call(spreadsheet))

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, has_values: bool = True
    ) -> SheetView:
        call = self._inner.read_sheet
        return await self._play(
            "read_sheet", ranges[0], lambda: call(spreadsheet, ranges, has_values=has_values)
        )

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        call = self._inner.apply
        self.batches.append(batch)

        async def apply() -> SheetView:
            self._refuse(batch.changes)
            return await call(spreadsheet, batch)

        return await self._play("apply", batch.ranges[0], apply)

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        call = self._inner.put_fence
        await self._play("put_fence", "", lambda: call(spreadsheet, *fences, forgotten=forgotten))

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        call = self._inner.delete_fences
        await self._play("delete_fences", "", lambda: call(spreadsheet, fences))

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        call = self._inner.fence_tokens
        return await self._play("fence_tokens", "", lambda: call(spreadsheet, fence_id))

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        call = self._inner.find_fences
        return await self._play("find_fences", "", lambda: call(spreadsheet, key))

    def _refuse(self, changes: Sequence[Change]) -> None:
        for index, change in enumerate(changes, start=1):
            for value in (value for row in _rows(change) for value in row if value in self.poison):
                raise UpstreamRefusal(self.poison[value].format(index=index))

    async def _play(self, kind: Kind, range_: str, call: Callable[[], Awaitable[T]]) -> T:
        async with self._news:
            self._begun[kind] += 1
            number = self._begun[kind]
            self._news.notify_all()
        with self._at_once(kind, range_):
            await _perform(self._before[kind, number])
            answer = await call()
            await _perform(self._after[kind, number])
        return answer

    @contextmanager
    def _at_once(self, kind: Kind, range_: str) -> Iterator[None]:
        title = range_.rpartition("!")[0].strip("'")
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
