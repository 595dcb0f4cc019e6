"""Counted work: generators that announce the steps of each block before they take them.

Rules
- Each loop over cells or places, and each sort, is a generator (`Work`). It yields the steps of the
  next block, then takes them. One step is about one cell in a comprehension, some 50 ns.
- A look-up is a plain function; it reads existing structures as attributes (`Ready`).
- The runner of the work counts, and may pause, refuse or drop it between two blocks. This module
  neither estimates nor waits.
- A block is short: up to `BLOCK` cells, `CHARACTERS` of texts, or one sort of
  `ordered.SORTED_AT_ONCE` places.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import wraps
from math import inf
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")

Work = Generator[int, None, T]

BLOCK = 2_048
"""Maximum number of cells in a block; a comprehension over them takes about 0.1 ms."""

CHARACTERS = 65_536
"""Maximum characters of a block of texts, which the last text may exceed."""


class OutOfSteps(Exception):
    """The work exceeds its budget of steps."""

    def __init__(self, budget_steps: float) -> None:
        super().__init__(budget_steps)
        self.budget_steps = budget_steps


class Unbuilt(Exception):
    """A look-up needs a structure that does not exist yet; `work` makes it."""

    def __init__(self, work: Work[Any]) -> None:
        super().__init__()
        self.work = work


class Metered(Generic[T]):
    """Work with a budget; `result` is set when it is done."""

    result: T

    def __init__(self, work: Work[T], budget_steps: float = inf) -> None:
        self._work = work
        self._budget_steps = budget_steps
        self.steps = 0
        """Number of steps announced so far."""

    def advance(self, steps: float) -> bool:
        """Run the next block, and more until `steps` are announced.

        Returns True if the work is done. Raises OutOfSteps if a block exceeds the budget.
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
    """Run work without a budget."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result


def shared(make: Callable[[S], Work[T]]) -> Callable[[S], Work[T]]:
    """Cache the value of a method on its object.

    A caller that finds a partly computed value continues the same work, and pays for its own part.
    Dropped work keeps its progress. The value is also the attribute `ready_NAME` (`Ready`).
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
    """Attribute `ready_NAME`: the cached value of the `shared` method NAME.

    Reading it raises Unbuilt until the value exists, which hides this descriptor.
    """

    def __init__(self, make: Callable[[Any], Work[T]]) -> None:
        self._make = make

    def __get__(self, of: object, _: type) -> T:
        raise Unbuilt(self._make(of))


def mapped(
    take: Callable[[S], T], items: Iterable[S], steps_of: Callable[[S], int], most: int = BLOCK
) -> Work[list[T]]:
    """Map `take` over items, in blocks of about `most` steps; a single item may exceed them."""
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
    """Split texts into blocks of limited cells and characters; yields range and characters."""
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
