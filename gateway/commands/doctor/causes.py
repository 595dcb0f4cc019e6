"""Root cause of a gateway error, down to the operating system's."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

_DEEPEST = 10


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, outermost first."""
    return islice(_chain(error), _DEEPEST)


def first(error: BaseException, kind: type[E] | tuple[type[E], ...]) -> E | None:
    """The outermost error of this kind."""
    return next((each for each in chain(error) if isinstance(each, kind)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # httpcore2 drops the cause of its errors, and gives it as their argument.
        inner = error.args[0] if error.args else None
        error = error.__cause__ or (inner if isinstance(inner, BaseException) else None)
