"""Which keys a Google call is for, and its priority."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Tell = Callable[[str], None]


class Beneficiaries:
    """The keys that a call is for; more may join while it waits."""

    def __init__(self, key_ids: Iterable[str] = ()) -> None:
        self._key_ids = dict.fromkeys(key_ids)
        self._listeners: list[Tell] = []

    def join(self, key_id: str) -> None:
        if key_id not in self._key_ids:
            self._key_ids[key_id] = None
            for tell in tuple(self._listeners):
                tell(key_id)

    def follow(self, tell: Tell) -> None:
        """Tell of each key that is in it, and from now on of each that joins."""
        for key_id in tuple(self._key_ids):
            tell(key_id)
        self._listeners.append(tell)

    def leave(self, tell: Tell) -> None:
        """Tell nothing more."""
        self._listeners.remove(tell)


@dataclass(frozen=True)
class CallContext:
    """`key_id` takes turns with the others that wait; what verifies a write goes before all.

    Where `beneficiaries` has it in common, the earliest of all their turns counts.
    """

    key_id: str = ""
    is_verification: bool = False
    beneficiaries: Beneficiaries | None = field(default=None, compare=False)


_current: ContextVar[CallContext] = ContextVar("call_context", default=CallContext())  # noqa: B039 - it is frozen


def current_call_context() -> CallContext:
    """The context of calls that are begun here; where none was set, that of the gateway itself."""
    return _current.get()


@contextmanager
def in_call_context(call_context: CallContext) -> Iterator[None]:
    """Make calls of the block, and of tasks begun in it, with this context."""
    token = _current.set(call_context)
    try:
        yield
    finally:
        _current.reset(token)
