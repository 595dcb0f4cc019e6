"""Sweep all connections for passed deadlines, instead of a timer for each request."""

import asyncio
import math
from collections.abc import Collection
from typing import Protocol

from gateway.telemetry.events import request_failed

NEVER = math.inf

_LONGEST_PERIOD_SECONDS = 0.1
"""A round through 4,096 connections takes some thousandth of this."""
_SHORTEST_PERIOD_SECONDS = 0.02
_LONGEST_HALT_SECONDS = 1.0


class Overdue(Protocol):
    """What the sweeper knows of a connection; without a deadline, it is `NEVER`."""

    deadline: float
    unread_deadline: float

    def expire(self) -> None:
        """End what waits for a slow client, or set a deadline that is yet to come."""


class Sweeper:
    """A coarse clock, and the deadlines that are told by it.

    They are never early, but for the time that the loop was held up when they were set. The clock
    counts only the time in which the loop could listen: after a halt of the whole process nobody
    is late.
    """

    def __init__(self, shortest_timeout_seconds: float) -> None:
        self._period_seconds = min(
            max(shortest_timeout_seconds / 4, _SHORTEST_PERIOD_SECONDS), _LONGEST_PERIOD_SECONDS
        )
        self._most_passed_seconds = min(
            max(shortest_timeout_seconds / 2, 2 * _SHORTEST_PERIOD_SECONDS), _LONGEST_HALT_SECONDS
        )
        self.now = 0.0
        """Seconds that were swept through, up to a period behind."""

    def after(self, seconds: float) -> float:
        """The deadline that is so many seconds away, or up to two periods more."""
        return self.now + seconds + self._period_seconds

    async def run(self, connections: Collection[Overdue]) -> None:
        """Sweep until cancelled."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(self._period_seconds)
            time = loop.time()
            try:
                self.sweep(connections, time - before)
            except Exception as error:  # the edge of a background task: others are swept on
                request_failed(None, error)
            before = time

    def sweep(self, connections: Collection[Overdue], passed_seconds: float) -> None:
        """Expire each connection whose deadline is over, now that so much time has passed."""
        self.now += min(passed_seconds, self._most_passed_seconds)
        now = self.now
        late: list[Overdue] = []
        for each in connections:
            if each.deadline <= now or each.unread_deadline <= now:
                late.append(each)
        for each in late:
            each.expire()
