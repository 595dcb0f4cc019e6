"""Work on many cells: beside the event loop if it would hold it."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

MOST_CELLS = 20_000
"""Cells that are walked on the event loop; that many take about 2 ms."""


class Computing:
    """Runs work in one thread at most: it takes turns with the event loop every few ms.

    More threads would only take more turns, as all of them hold the interpreter.
    """

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)

    async def run(self, cells: int, work: Callable[[], T]) -> T:
        """What the work gives that walks so many cells."""
        return work() if cells <= MOST_CELLS else await self.beside(work)

    async def beside(self, work: Callable[[], T]) -> T:
        """What the work gives, made in the thread."""
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)
