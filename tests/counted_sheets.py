"""`Sheets` whose calls are counted and timed like those of the gateway, without its waits."""

import time
from collections.abc import Callable
from typing import TypeVar

from gateway.google.sheets import Sheets, record_sent_at
from gateway.telemetry.events import upstream_called
from tests.forwarding import WRITES, Call, ForwardingSheets, Kind

T = TypeVar("T")


class CountedSheets(ForwardingSheets):
    def __init__(self, inner: Sheets, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._clock = clock

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        started = self._clock()
        record_sent_at(started)
        error: BaseException | None = None
        try:
            return await call(self._inner)
        except BaseException as raised:
            error = raised
            raise
        finally:
            seconds = self._clock() - started
            upstream_called("main", is_write=kind in WRITES, seconds=seconds, error=error)
