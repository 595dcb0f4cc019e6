"""When a call was really sent: after its wait for a turn, and again with each attempt."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Departure:
    """The last call sent on somebody's behalf, in seconds of the monotonic clock; None before."""

    at_seconds: float | None = None
    outer: "Departure | None" = None


_current: ContextVar[Departure | None] = ContextVar("departure", default=None)


@contextmanager
def noting_departure() -> Iterator[Departure]:
    """Gives what `departed` tells of the calls of the block, and of tasks begun in it."""
    departure = Departure(outer=_current.get())
    token = _current.set(departure)
    try:
        yield departure
    finally:
        _current.reset(token)


def departed(at_seconds: float) -> None:
    """A call is sent now."""
    departure = _current.get()
    while departure is not None:
        departure.at_seconds = at_seconds
        departure = departure.outer
