"""Histories of one cell that many clients read and write at once, and whether they can be true.

Rules
- Pure: timed actions and answers of clients go in, anomalies come out.
- A history is linearizable if all actions can be put in one order in which every answer is right,
  and in which nothing comes before what had ended when it began (Wing and Gong).
- Every written value is another one, so that no value can come back.
- A write without a clear answer may have taken effect at any time after it began, or not at all.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["read", "swap", "write"]
Result = Literal["done", "refused", "open"]
NEVER = math.inf


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One request about a cell; times in seconds of one clock.

    A `swap` is an update with If-Match: it writes `written` if the cell still is `expected`.
    `seen` is what a read, or the refusal of a swap, showed; None if it showed nothing.
    """

    client: int
    kind: Kind
    began: float
    ended: float = NEVER
    result: Result = "done"
    expected: str | None = None
    written: str | None = None
    seen: str | None = None


def anomalies(history: Sequence[Operation], initial: str) -> list[str]:
    """Anomalies in the history of a cell by their most specific name; [] if there are none."""
    found = [*_lost_updates(history), *_stale_reads(history)]
    if not found and not is_linearizable(history, initial):
        found.append("not linearizable")
    return found


def is_linearizable(history: Sequence[Operation], initial: str) -> bool:
    """Can the operations be put in one order in which all of them are true?"""
    operations = [each for each in history if not (each.kind == "read" and each.result == "open")]
    must = sum(1 << index for index, each in enumerate(operations) if each.result != "open")
    waiting = [(0, initial)]
    tried = set(waiting)
    while waiting:
        done, value = waiting.pop()
        if done & must == must:
            return True
        for step in _next(operations, done, value):
            if step not in tried:
                tried.add(step)
                waiting.append(step)
    return False


def _next(operations: Sequence[Operation], done: int, value: str) -> Iterator[tuple[int, str]]:
    """The states after one operation more: any that began before all others had ended."""
    left = [(index, each) for index, each in enumerate(operations) if not done >> index & 1]
    first_end = min(each.ended for _, each in left)
    for index, each in left:
        after = _applied(each, value) if each.began <= first_end else None
        if after is not None:
            yield done | 1 << index, after


def _applied(operation: Operation, value: str) -> str | None:
    """The value after an operation; None if it cannot have been answered so."""
    is_as_seen = operation.seen is None or operation.seen == value
    if operation.kind == "write":
        return operation.written
    if operation.kind == "read":
        return value if is_as_seen else None
    is_expected = operation.expected == value
    if operation.result == "refused":
        return value if is_as_seen and not is_expected else None
    return operation.written if is_expected else None


def _lost_updates(history: Sequence[Operation]) -> Iterator[str]:
    """Two updates that both replaced the same value: one of them is lost."""
    done: dict[str | None, Operation] = {}
    for each in history:
        if each.kind != "swap" or each.result != "done":
            continue
        if each.expected in done:
            other = done[each.expected].written
            yield f"lost update: {each.expected!r} became {other!r} and {each.written!r}"
        done[each.expected] = each


def _stale_reads(history: Sequence[Operation]) -> Iterator[str]:
    """A client that sees a value older than the one that it wrote itself before."""
    age = _ages(history)
    for read in history:
        if read.seen is None or read.seen not in age:
            continue
        for own in history:
            is_before = own.client == read.client and own.ended < read.began
            if own.kind != "swap" or own.result != "done" or not is_before:
                continue
            if own.written in age and age[read.seen] < age[own.written]:
                yield f"stale read: {read.seen!r} after the client's own {own.written!r}"


def _ages(history: Sequence[Operation]) -> Mapping[str | None, int]:
    """Number of updates before each value, as far as they form a chain."""
    follower = {
        each.expected: each.written
        for each in history
        if each.kind == "swap" and each.result == "done"
    }
    written = set(follower.values())
    ages: dict[str | None, int] = {}
    for first in (value for value in follower if value not in written):
        value: str | None = first
        while value not in ages:
            ages[value] = len(ages)
            if value not in follower:
                break
            value = follower[value]
    return ages
