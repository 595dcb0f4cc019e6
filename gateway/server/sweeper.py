"""Periodic check of all connections' deadlines, which replaces a timer per request."""

import asyncio
import math
from collections.abc import Collection
from typing import Protocol

from gateway.telemetry.events import request_failed

NEVER = math.inf

_MAX_PERIOD_SECONDS = 0.1
"""A round over 4,096 connections takes about a thousandth of this."""
_MIN_PERIOD_SECONDS = 0.02
_MAX_STEP_SECONDS = 1.0


class Overdue(Protocol):
    """A connection with deadlines; `NEVER` means none."""

    deadline: float
    unread_deadline: float

    def expire(self) -> None:
        """Handle a passed deadline, or set a later one."""


class Sweeper:
    """A coarse clock, and a loop that compares deadlines with it.

    Deadlines are never early, except by the time that the loop was blocked when they were set. The
    clock counts only time in which the loop could run: after a pause of the whole process nobody is
    late.
    """

    def __init__(self, shortest_timeout_seconds: float) -> None:
        self._period_seconds = min(
            max(shortest_timeout_seconds / 4, _MIN_PERIOD_SECONDS), _MAX_PERIOD_SECONDS
        )
        self._max_step_seconds = min(
            max(shortest_timeout_seconds / 2, 2 * _MIN_PERIOD_SECONDS), _MAX_STEP_SECONDS
        )
        self.now = 0.0
        """Seconds that were swept through, up to a period behind."""

    def after(self, seconds: float) -> float:
        """The deadline `seconds` from now, up to two periods late."""
        return self.now + seconds + self._period_seconds

    async def run(self, connections: Collection[Overdue]) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(self._period_seconds)
            time = loop.time()
            try:
                self.sweep(connections, time - before)
            except Exception as error:  # the edge of a background task: go on with the next round
                request_failed(None, error)
            before = time

    def sweep(self, connections: Collection[Overdue], passed_seconds: float) -> None:
        """Expire each connection whose deadline has passed after `passed_seconds` more."""
        self.now += min(passed_seconds, self._max_step_seconds)
        now = self.now
        late: list[Overdue] = []
        for each in connections:
            if each.deadline <= now or each.unread_deadline <= now:
                late.append(each)
        for each in late:
            each.expire()
