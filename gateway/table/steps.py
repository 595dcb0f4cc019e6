"""Interruptible work: generators that yield the cost of their next block in steps.

Rules
- Each loop over cells, and each sort, is a generator (`Work`). It yields the number of steps of the
  next block, then does the block. One step takes about 50 ns, like one cell in a comprehension. The
  generator's return value is the result.
- A look-up is a plain function. It reads existing structures as attributes (`Ready`).
- The caller counts the steps. Between two blocks it can run other requests, or stop the work.
- A block is short: up to `BLOCK` cells, `CHARACTERS` characters of texts, or one sort of
  `ordered.SORTED_AT_ONCE` cells.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import wraps
from math import inf
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")

Work = Generator[int, None, T]

BLOCK = 2_048
"""Maximum number of cells in a block. A comprehension over a block takes about 0.1 ms."""

CHARACTERS = 65_536
"""Maximum characters in a block of texts. The last text of the block can exceed this number."""


class OutOfSteps(Exception):
    """The work needs more steps (50 ns each) than its budget."""

    def __init__(self, budget_steps: float) -> None:
        super().__init__(budget_steps)
        self.budget_steps = budget_steps


class Unbuilt(Exception):
    """A query needs a structure that is not built yet. `work` builds the structure."""

    def __init__(self, work: Work[Any]) -> None:
        super().__init__()
        self.work = work


class Metered(Generic[T]):
    """Runs work (`Work`) and counts steps, up to a budget. `result` is set when it is done."""

    result: T

    def __init__(self, work: Work[T], budget_steps: float = inf) -> None:
        self._work = work
        self._budget_steps = budget_steps
        self.steps = 0
        """Number of steps that the work has yielded so far."""

    def advance(self, steps: float) -> bool:
        """Run the work for about `steps` more steps. Returns True if the work is done.

        Raises OutOfSteps if the budget is exceeded.
        """
        end = self.steps + steps
        while self.steps < end:
            try:
                block = next(self._work)
            except StopIteration as done:
                self.result = done.value
                return True
            if self.steps > self._budget_steps:
                self._work.close()
                raise OutOfSteps(self._budget_steps)
            self.steps += block
        return False


def finish(work: Work[T]) -> T:
    """Run work to its end, without a budget or a pause, and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result


def shared(make: Callable[[S], Work[T]]) -> Callable[[S], Work[T]]:
    """Decorator that caches the result of a method's work on the object.

    If a caller stops early, the next caller continues the same work. The result is also readable as
    the attribute `ready_NAME` (`Ready`).
    """
    made, begun = f"ready_{make.__name__}", f"{make.__qualname__} begun"

    @wraps(make)
    def carry_on(self: S) -> Work[Any]:
        state = self.__dict__
        if made in state:
            return state[made]
        while made not in state:
            if begun not in state:
                state[begun] = make(self)
            try:
                steps = next(state[begun])
            except StopIteration as done:
                state[made] = done.value
                del state[begun]
            except Exception:
                del state[begun]
                raise
            else:
                yield steps
        return state[made]

    return carry_on


class Ready(Generic[T]):
    """Descriptor for the attribute `ready_NAME`: the cached result of the `shared` method NAME.

    Raises Unbuilt until the method has a result.
    """

    def __init__(self, make: Callable[[Any], Work[T]]) -> None:
        self._make = make

    def __get__(self, of: object, _: type) -> T:
        raise Unbuilt(self._make(of))


def mapped(
    take: Callable[[S], T], items: Iterable[S], steps_of: Callable[[S], int], most: int = BLOCK
) -> Work[list[T]]:
    """Apply `take` to each item, in blocks of about `most` steps of work.

    `steps_of` estimates the steps of an item.
    """
    found: list[T] = []
    block: list[S] = []
    steps = 0
    for item in items:
        block.append(item)
        steps += steps_of(item)
        if steps >= most:
            yield steps
            found += map(take, block)
            block, steps = [], 0
    if block:
        yield steps
        found += map(take, block)
    return found


def blocks(start: int, stop: int) -> Iterator[range]:
    for at in range(start, stop, BLOCK):
        yield range(at, min(at + BLOCK, stop))


def text_blocks(texts: Sequence[str], start: int, stop: int) -> Iterator[tuple[range, int]]:
    """Split the texts from `start` to `stop` into blocks of at most `BLOCK` texts.

    Yields the range of indexes and the number of characters, up to `CHARACTERS`, of each block.
    """
    for block in blocks(start, stop):
        lengths = [*map(len, texts[block.start : block.stop])]
        characters = sum(lengths)
        if characters <= CHARACTERS:
            yield block, characters
            continue
        first, characters = block.start, 0
        for place, length in zip(block, lengths, strict=True):
            characters += length
            if characters > CHARACTERS or place == block.stop - 1:
                yield range(first, place + 1), characters
                first, characters = place + 1, 0
