"""A `Sheets` whose calls are counted and timed as those of the gateway, without its waits."""

import time
from collections.abc import Callable
from typing import TypeVar

from gateway.google.pipeline import counted
from gateway.google.sheets import Sheets
from tests.forwarding import WRITES, Call, ForwardingSheets, Kind

T = TypeVar("T")


class CountedSheets(ForwardingSheets):
    def __init__(self, inner: Sheets, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._clock = clock

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        with counted("main", is_write=kind in WRITES, clock=self._clock):
            return await call(self._inner)
