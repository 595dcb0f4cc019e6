"""Timers on a manual clock, and calls that raise given errors."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from anyio import wait_all_tasks_blocked

from tests.clock import ManualClock


@dataclass(eq=False)
class SetTimer:
    due: float
    act: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class ManualTimers:
    """Timers that fire when a test advances the clock."""

    clock: ManualClock = field(default_factory=ManualClock)
    _set: list[SetTimer] = field(default_factory=list)

    def __call__(self, seconds: float, act: Callable[[], None]) -> SetTimer:
        timer = SetTimer(self.clock() + seconds, act)
        self._set.append(timer)
        return timer

    def pending(self) -> list[SetTimer]:
        """Return the timers that are set, sorted by due time."""
        return sorted((each for each in self._set if not each.is_cancelled), key=lambda t: t.due)

    async def advance(self, seconds: float) -> None:
        """Advance the clock timer by timer; tasks that a timer wakes run before the next timer."""
        end = self.clock() + seconds
        await wait_all_tasks_blocked()
        while (pending := self.pending()) and pending[0].due <= end:
            first = pending[0]
            self._set.remove(first)
            self.clock.advance(max(0.0, first.due - self.clock()))
            first.act()
            await wait_all_tasks_blocked()
        self.clock.advance(max(0.0, end - self.clock()))


def failing(*errors: Exception) -> Callable[[], Awaitable[str]]:
    """Return a call that raises the given errors one after the other, then answers."""
    left = list(errors)

    async def call() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return call
