"""When a call was really sent: after its wait, and again with each attempt."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class SentAt:
    """The last call sent on somebody's behalf, in seconds of the monotonic clock; None before."""

    at_seconds: float | None = None
    outer: "SentAt | None" = None


_current: ContextVar[SentAt | None] = ContextVar("sent_at", default=None)


@contextmanager
def recording_sent_at() -> Iterator[SentAt]:
    """Gives what `record_sent_at` tells of the calls of the block, and of tasks begun in it."""
    sent_at = SentAt(outer=_current.get())
    token = _current.set(sent_at)
    try:
        yield sent_at
    finally:
        _current.reset(token)


def record_sent_at(at_seconds: float) -> None:
    """A call is sent now."""
    sent_at = _current.get()
    while sent_at is not None:
        sent_at.at_seconds = at_seconds
        sent_at = sent_at.outer
