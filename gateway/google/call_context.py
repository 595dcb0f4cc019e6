"""Context of a Google call: its API keys, its priority and the time at which it was sent."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Listener = Callable[[str], None]


class Beneficiaries:
    """The API keys that wait for a call; more keys may join while it waits."""

    def __init__(self, key_ids: Iterable[str] = ()) -> None:
        self._key_ids = dict.fromkeys(key_ids)
        self._listeners: list[Listener] = []

    def join(self, key_id: str) -> None:
        if key_id not in self._key_ids:
            self._key_ids[key_id] = None
            for listener in tuple(self._listeners):
                listener(key_id)

    def follow(self, listener: Listener) -> None:
        """Notify `listener` of each present key, and of each key that joins later."""
        for key_id in tuple(self._key_ids):
            listener(key_id)
        self._listeners.append(listener)

    def leave(self, listener: Listener) -> None:
        self._listeners.remove(listener)


@dataclass(frozen=True)
class CallContext:
    """API key and priority of a call; the fair queue rotates between keys.

    Verifications of writes go before all other calls. A call shared by several keys
    (`beneficiaries`) goes at the earliest of their turns. A read may be answered by one of another
    process that was sent up to `max_age_seconds` ago.
    """

    key_id: str = ""
    is_verification: bool = False
    beneficiaries: Beneficiaries | None = field(default=None, compare=False)
    max_age_seconds: float = 0.0


_current: ContextVar[CallContext] = ContextVar("call_context", default=CallContext())  # noqa: B039 - it is frozen


current_call_context = _current.get
"""Context of calls started here; without one, the call belongs to the gateway itself."""


@contextmanager
def in_call_context(call_context: CallContext) -> Iterator[None]:
    """Set the context of calls made in the block and in tasks started there."""
    token = _current.set(call_context)
    try:
        yield
    finally:
        _current.reset(token)


@dataclass
class SentAt:
    """Time at which the latest call was sent, in monotonic seconds; None before the first.

    A call is sent after its wait for the quota, and again with each retry.
    """

    at_seconds: float | None = None
    outer: "SentAt | None" = None


_sent_at: ContextVar[SentAt | None] = ContextVar("sent_at", default=None)


@contextmanager
def recording_sent_at() -> Iterator[SentAt]:
    """Record when calls of the block, and of tasks started there, are sent."""
    sent_at = SentAt(outer=_sent_at.get())
    token = _sent_at.set(sent_at)
    try:
        yield sent_at
    finally:
        _sent_at.reset(token)


def record_sent_at(at_seconds: float) -> None:
    sent_at = _sent_at.get()
    while sent_at is not None:
        sent_at.at_seconds = at_seconds
        sent_at = sent_at.outer
