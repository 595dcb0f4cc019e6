"""Answers about cells whose counters only rise, and which of these answers go back in time.

Rules
- Pure: the answers go in, those of one client in the order in which it had them; what is wrong
  comes out. A client sends one request after the other, so its answers have a clear order.
- No row is ever moved or removed: its number and a field name a cell.
- An answer that is marked stale may show anything. What it shows counts for later answers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Cell = tuple[int, str]
"""A row number and a field."""
Span = tuple[float, float]
"""When something began and when it ended, in seconds of one clock."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Content of one answer for a client."""

    client: int
    kind: str
    span: Span = (0.0, 0.0)
    cells: Mapping[Cell, int] = field(default_factory=dict)
    last_row: int | None = None
    """The worksheet has no row after it; None if the answer does not say where the rows end."""
    is_write: bool = False
    is_stale: bool = False


@dataclass(frozen=True, kw_only=True)
class Regression:
    """An answer that shows less than an earlier one to the same client."""

    answer: Answer
    earlier: Answer
    detail: str

    def __str__(self) -> str:
        return (
            f"client {self.answer.client}: {self.answer.kind} shows {self.detail} "
            f"of {self.earlier.kind}, {self.answer.span[1] - self.earlier.span[1]:.2f} s later"
        )


def regressions(answers: Iterable[Answer]) -> Iterator[Regression]:
    """One regression for each answer that goes back in time."""
    shown: dict[int, dict[Cell, Answer]] = {}
    for answer in answers:
        highest = shown.setdefault(answer.client, {})
        if not answer.is_stale:
            yield from _first_regression(answer, highest)
        for cell, counter in answer.cells.items():
            if cell not in highest or counter > highest[cell].cells[cell]:
                highest[cell] = answer


def _first_regression(answer: Answer, highest: Mapping[Cell, Answer]) -> Iterator[Regression]:
    for cell, counter in answer.cells.items():
        earlier = highest.get(cell)
        if earlier is not None and counter < earlier.cells[cell]:
            detail = f"{counter} in {cell}, after {earlier.cells[cell]}"
            yield Regression(answer=answer, earlier=earlier, detail=detail)
            return
    last = max(highest, default=None)
    if last is not None and answer.last_row is not None and answer.last_row < last[0]:
        detail = f"no row after {answer.last_row}, after row {last[0]}"
        yield Regression(answer=answer, earlier=highest[last], detail=detail)


def overlapping(spans: Sequence[Span], writes: Sequence[Span]) -> int:
    """Number of spans that overlap a write."""
    began, ended = sorted(each[0] for each in writes), sorted(each[1] for each in writes)
    return sum(
        bisect_right(began, last) > bisect_left(ended, first)  # more have begun than were over
        for first, last in spans
    )
