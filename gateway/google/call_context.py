"""Context of a Google call: its API keys, its priority, its write turn, and when it was sent."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace


class Beneficiaries:
    """The API keys that wait for a call; more keys may join while it waits."""

    def __init__(self, key_ids: Iterable[str] = ()) -> None:
        self._key_ids = dict.fromkeys(key_ids)
        self._groups: list[Beneficiaries] = []

    def join(self, key_id: str) -> None:
        self._key_ids[key_id] = None

    def join_as(self, call_context: "CallContext") -> None:
        """Add the key of a call, and all keys that wait for it, now or later."""
        self._key_ids[call_context.key_id] = None
        group = call_context.beneficiaries
        if group is not None and group not in self._groups:
            self._groups.append(group)

    @property
    def key_ids(self) -> dict[str, None]:
        """Each key once, in the order in which they came."""
        if not self._groups:
            return self._key_ids
        found: dict[str, None] = {}
        groups = [self]
        for group in groups:  # grows meanwhile
            found |= group._key_ids
            groups += [each for each in group._groups if each not in groups]
        return found


@dataclass
class SentAt:
    """Time at which the latest call was sent, in monotonic seconds; None before the first.

    A call is sent after its wait for the quota, and again with each retry.
    """

    at_seconds: float | None = None
    outer: "SentAt | None" = None

    def record(self, at_seconds: float) -> None:
        sent_at: SentAt | None = self
        while sent_at is not None:
            sent_at.at_seconds = at_seconds
            sent_at = sent_at.outer


@dataclass
class WriteTurn:
    """Reserved quota of one write, of the account with this name."""

    account: str
    is_left: bool = True


@dataclass(frozen=True)
class CallContext:
    """API key and priority of a call; the fair queue rotates between keys.

    Verifications of writes go before all other calls. A call shared by several keys
    (`beneficiaries`) goes at the earliest of their turns. A read may be answered by one of another
    process that was sent up to `max_age_seconds` ago. The first write uses the `turn`.
    """

    key_id: str = ""
    is_verification: bool = False
    beneficiaries: Beneficiaries | None = field(default=None, compare=False)
    max_age_seconds: float = 0.0
    turn: WriteTurn | None = field(default=None, compare=False)
    sent_at: SentAt | None = field(default=None, compare=False)

    @property
    def key_ids(self) -> Collection[str]:
        """The keys that wait for the call by now."""
        if self.beneficiaries is None:
            return (self.key_id,)
        return {self.key_id: None} | self.beneficiaries.key_ids


_current: ContextVar[CallContext] = ContextVar("call_context", default=CallContext())  # noqa: B039 - it is frozen


current_call_context = _current.get
"""Context of calls started here; without one, the call belongs to the gateway itself."""


@contextmanager
def in_call_context(call_context: CallContext) -> Iterator[None]:
    """Set the context of calls made in the block and in tasks started there.

    A write turn and a record of sending that the block is in stay, unless it brings others.
    """
    outer = _current.get()
    if outer.turn is not call_context.turn or outer.sent_at is not call_context.sent_at:
        call_context = replace(
            call_context,
            turn=call_context.turn or outer.turn,
            sent_at=call_context.sent_at or outer.sent_at,
        )
    token = _current.set(call_context)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def recording_sent_at() -> Iterator[SentAt]:
    """Record when calls of the block, and of tasks started there, are sent."""
    call_context = _current.get()
    sent_at = SentAt(outer=call_context.sent_at)
    token = _current.set(replace(call_context, sent_at=sent_at))
    try:
        yield sent_at
    finally:
        _current.reset(token)


def record_sent_at(at_seconds: float) -> None:
    sent_at = _current.get().sent_at
    if sent_at is not None:
        sent_at.record(at_seconds)
