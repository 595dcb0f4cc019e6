"""Deadline of a call, as the current thread knows it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """The moment on a monotonic clock by which a call must have ended."""

    at_seconds: float
    clock: Clock

    @property
    def remaining_seconds(self) -> float:
        """Time that is left, 0 when there is none."""
        return max(0.0, self.at_seconds - self.clock())

    def cut(self, seconds: float) -> "Deadline":
        """This deadline, or the one so many seconds from now if that is sooner."""
        return Deadline(at_seconds=min(self.at_seconds, self.clock() + seconds), clock=self.clock)


class _Thread(threading.local):
    deadline: Deadline | None = None


_thread = _Thread()


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """Let `current_deadline` give this one, in this thread, for the time of the block."""
    before, _thread.deadline = _thread.deadline, deadline
    try:
        yield
    finally:
        _thread.deadline = before


def current_deadline() -> Deadline | None:
    return _thread.deadline
