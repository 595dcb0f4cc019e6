"""Tests of `Sweeper`, which checks the deadlines of connections."""

import asyncio
from dataclasses import dataclass, field

import pytest

from gateway.server.slots import NEVER, Sweeper


@dataclass(eq=False)
class Waiting:
    """Fake connection that records calls of `expire`."""

    sweeper: Sweeper
    deadline: float = NEVER
    unread_deadline: float = NEVER
    expired: list[float] = field(default_factory=list)

    def expire(self) -> None:
        self.expired.append(self.sweeper.now)
        self.deadline = self.unread_deadline = NEVER


@pytest.mark.parametrize("name", ["deadline", "unread_deadline"])
def test_a_deadline_is_at_most_half_a_second_late(name: str) -> None:
    """A deadline of 10 seconds expires after 10 to 10.5 seconds."""
    sweeper = Sweeper(10.0)
    sweeper.sweep([], 0.3)
    waiting = Waiting(sweeper)
    setattr(waiting, name, sweeper.after(10.0))
    began = sweeper.now
    for _ in range(500):
        sweeper.sweep([waiting], 0.1)

    assert len(waiting.expired) == 1
    assert 10.0 <= waiting.expired[0] - began <= 10.5


def test_a_connection_without_a_deadline_never_expires() -> None:
    """`expire` of a connection without a deadline is never called."""
    sweeper = Sweeper(10.0)
    waiting = Waiting(sweeper)
    for _ in range(10_000):
        sweeper.sweep([waiting], 0.5)

    assert waiting.expired == []


@pytest.mark.parametrize("seconds", [0.2, 10.0])
async def test_an_overdue_deadline_expires_soon(seconds: float) -> None:
    """`run` calls `expire` within half a second after a deadline has passed."""
    told = asyncio.Event()

    class Listening(Waiting):
        def expire(self) -> None:
            super().expire()
            told.set()

    sweeper = Sweeper(seconds)
    sweeping = asyncio.create_task(sweeper.run([Listening(sweeper, deadline=0.0)]))
    async with asyncio.timeout(0.5):
        await told.wait()
    sweeping.cancel()

    assert sweeper.now < 0.5


def test_a_paused_process_expires_no_deadline() -> None:
    """Time during which the process was suspended does not count for deadlines."""
    sweeper = Sweeper(10.0)
    waiting = Waiting(sweeper, deadline=sweeper.after(10.0))
    sweeper.sweep([waiting], 3600.0)

    assert waiting.expired == []
    assert sweeper.now <= 1.0


def test_connections_can_be_removed_during_a_sweep() -> None:
    """All late connections expire, although one of them closes another connection."""
    sweeper = Sweeper(1.0)
    connections: set[Waiting] = set()

    class Leaving(Waiting):
        def expire(self) -> None:
            super().expire()
            connections.clear()

    late = [Leaving(sweeper, deadline=0.0) for _ in range(3)]
    connections.update(late)
    sweeper.sweep(connections, 0.1)

    assert [len(each.expired) for each in late] == [1, 1, 1]
