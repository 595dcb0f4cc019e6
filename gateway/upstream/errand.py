"""On whose behalf Google is called: known to whoever starts a call, asked for by its guards."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Errand:
    """`key_id` takes turns with the others that wait; what verifies a write goes before all."""

    key_id: str = ""
    is_verification: bool = False


_current: ContextVar[Errand] = ContextVar("errand", default=Errand())  # noqa: B039 - it is frozen


def current_errand() -> Errand:
    """The errand of this context; where none was begun, that of the gateway itself."""
    return _current.get()


@contextmanager
def on_errand(errand: Errand) -> Iterator[None]:
    """Make calls of the block, and of tasks begun in it, part of an errand."""
    token = _current.set(errand)
    try:
        yield
    finally:
        _current.reset(token)
