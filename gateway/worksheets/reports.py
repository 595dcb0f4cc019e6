"""Reports that somebody changed a worksheet, taken in at most once in `REPORT_SECONDS`."""

import asyncio
from collections.abc import Callable

REPORT_SECONDS = 2.0


class Reports:
    """`take_in` is called for a report at once, or for all that came meanwhile at the end."""

    def __init__(self, take_in: Callable[[], None], *, clock: Callable[[], float]) -> None:
        self._take_in = take_in
        self._clock = clock
        self._taken_seconds = float("-inf")
        self._is_waiting = False

    def add(self) -> None:
        seconds = self._taken_seconds + REPORT_SECONDS - self._clock()
        if seconds <= 0:
            self._taken_seconds = self._clock()
            self._take_in()
        elif not self._is_waiting:
            self._is_waiting = True
            asyncio.get_running_loop().call_later(seconds, self._end_wait)

    def _end_wait(self) -> None:
        self._is_waiting = False
        self.add()
