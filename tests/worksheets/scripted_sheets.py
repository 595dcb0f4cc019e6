"""A `Sheets` around another that counts calls and plays what a test scripts around them."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, cast

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Change,
    Fence,
    KnownRange,
    Render,
    Rendering,
    Sheets,
    SheetView,
    Value,
    Values,
    WorksheetProperties,
    Writing,
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
    "fence_ids",
    "append_rows",
    "write_cells",
    "grow_grid",
]
WRITES: frozenset[Kind] = frozenset(
    {"apply", "put_fence", "delete_fences", "append_rows", "write_cells", "grow_grid"}
)

_PATIENCE_SECONDS = 5.0


class Cost(NamedTuple):
    """Number of calls that Google would count."""

    reads: int
    writes: int


@dataclass(frozen=True)
class Answer:
    """The answer of the call, whatever its effect was."""

    value: object


Act = Exception | asyncio.Event | Answer | Callable[[], object]
"""Around a call: make it fail, hold it until the event is set, answer it, or do something."""


class ScriptedSheets:
    """Calls of a kind are numbered from 1; `before` and `after` count from the next one on."""

    def __init__(self, inner: Sheets) -> None:
        self.most_writes_at_once: Counter[str] = Counter()
        """By the title as it stands in the range."""
        self.poison: dict[Value, str] = {}
        """Values that are refused wherever they are written, with the words of the refusal, in
        which `{index}` is the number of the range."""
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
        self, spreadsheet: str, range_: str, *, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        call = self._inner.read_columns
        return await self._play(
            "read_columns",
            range_,
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
        return await self._play("read_sheet", ranges[0], lambda: call(spreadsheet, ranges, has_values=has_values))

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        call = self._inner.apply
        self.batches.append(batch)

        async def apply() -> SheetView:
            self._refuse([_rows(change) for change in batch.changes], first_index=1)
            return await call(spreadsheet, batch)

        return await self._play("apply", batch.ranges[0], apply)

    async def put_fence(self, spreadsheet: str, fence: Fence) -> None:
        call = self._inner.put_fence
        await self._play("put_fence", "", lambda: call(spreadsheet, fence))

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        call = self._inner.delete_fences
        await self._play("delete_fences", "", lambda: call(spreadsheet, fences))

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        call = self._inner.fence_tokens
        return await self._play("fence_tokens", "", lambda: call(spreadsheet, fence_id))

    async def fence_ids(self, spreadsheet: str, key: str) -> Sequence[int]:
        call = self._inner.fence_ids
        return await self._play("fence_ids", "", lambda: call(spreadsheet, key))

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        call = self._inner.append_rows

        async def append() -> Values:
            self._refuse([rows])
            return await call(spreadsheet, anchor, rows)

        return await self._play("append_rows", anchor, append)

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        call = self._inner.write_cells

        async def write() -> list[Values]:
            self._refuse([writing.rows for writing in writings])
            return await call(spreadsheet, writings)

        return await self._play("write_cells", writings[0].range, write)

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        call = self._inner.grow_grid
        await self._play("grow_grid", "", lambda: call(spreadsheet, sheet_id, rows))

    def _refuse(self, blocks: Sequence[Sequence[Sequence[Value]]], *, first_index: int = 0) -> None:
        for index, block in enumerate(blocks, start=first_index):
            for value in (value for row in block for value in row if value in self.poison):
                raise UpstreamRefusal(self.poison[value].format(index=index))

    async def _play(self, kind: Kind, range_: str, call: Callable[[], Awaitable[T]]) -> T:
        async with self._news:
            self._begun[kind] += 1
            number = self._begun[kind]
            self._news.notify_all()
        with self._at_once(kind, range_):
            await _perform(self._before[kind, number])
            answer = await call()
            instead = await _perform(self._after[kind, number])
        return answer if instead is None else cast(T, instead.value)

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


async def _perform(acts: Sequence[Act]) -> Answer | None:
    answer = None
    for act in acts:
        match act:
            case Exception():
                raise act
            case asyncio.Event():
                await act.wait()
            case Answer():
                answer = act
            case _:
                act()
    return answer
