"""Count and time every call that is sent to Google."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gateway.google.sent_at import record_sent_at
from gateway.telemetry.events import upstream_called

T = TypeVar("T")


class Counted:
    """Counts and times every call for the request that made it, and tells that it departs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    async def __call__(self, call: Callable[[], Awaitable[T]], *, is_write: bool) -> T:
        started = self._clock()
        record_sent_at(started)
        error: BaseException | None = None
        try:
            return await call()
        except BaseException as raised:
            error = raised
            raise
        finally:
            seconds = self._clock() - started
            upstream_called(is_write=is_write, seconds=seconds, error=error)
