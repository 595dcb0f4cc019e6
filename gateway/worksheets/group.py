"""Group the waiting writes of a worksheet that go to Google together.

Rules
- Keys take turns: a group begins with the key whose turn it is, and each takes of its room one
  write after the other with the others. It goes out in the order in which its writes came.
- A group is of one kind: creates, updates, deletes, or writes by filter and upserts. An exclusive
  task is a group by itself.
- The writes of one key and kind keep their order: behind one that stays, no other of the kind is
  taken. Writes of two kinds know nothing of each other before they are answered.
- Of the updates of one row one goes at a time, so that each sees what the one before it left. So
  does each delete: its number means the row that the one before it left there.
- A group is bounded in bytes and rows.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Results, Write

MAX_ROWS = 500
MAX_BYTES = 1_048_576


@dataclass(frozen=True, kw_only=True, eq=False)
class ExclusiveTask:
    """Something to be done in the line of a worksheet, while no write to it is under way."""

    work: Callable[[], Awaitable[Results]]


@dataclass(kw_only=True, eq=False)
class Waiting:
    """A write in the line of its worksheet."""

    worksheet: WorksheetId
    key_id: str
    write: Write | ExclusiveTask


W = TypeVar("W", bound=Waiting)


def row_count(write: Write | ExclusiveTask) -> int:
    """How many rows a write is about."""
    return 1 if isinstance(write, ExclusiveTask) else write.row_count


def take_group(line: deque[W], turns: Iterable[str] = ()) -> list[W]:
    """Take the write whose turn it is out of a line, and all that may go with it.

    `turns` are the keys in the order of their turns; those that are not named come after them.
    """
    chosen = set(map(id, _chosen(_in_turn(line, turns))))
    group = [waiting for waiting in line if id(waiting) in chosen]
    stay = [waiting for waiting in line if id(waiting) not in chosen]
    line.clear()
    line.extend(stay)
    return group


def _in_turn(line: Iterable[W], turns: Iterable[str]) -> Iterator[W]:
    """The first of each key, then the second of each, and so on."""
    of_key: dict[str, deque[W]] = {key_id: deque() for key_id in turns}
    for waiting in line:
        of_key.setdefault(waiting.key_id, deque()).append(waiting)
    queues = [queue for queue in of_key.values() if queue]
    while queues:
        for queue in queues:
            yield queue.popleft()
        queues = [queue for queue in queues if queue]


def _chosen(line: Iterator[W]) -> Iterator[W]:
    first = next(line)
    if isinstance(first.write, ExclusiveTask):
        yield first
        return
    room = _Room()
    held_keys: set[str] = set()
    for waiting in chain([first], line):
        write = waiting.write
        if isinstance(write, ExclusiveTask) or write.kind != first.write.kind:
            continue
        is_turn = waiting.key_id not in held_keys
        if is_turn and room.takes(write):
            yield waiting
        else:
            held_keys.add(waiting.key_id)


@dataclass(kw_only=True)
class _Room:
    """What a group may still take in; its first write always fits."""

    rows: int = MAX_ROWS
    bytes_: int = MAX_BYTES
    is_empty: bool = True
    named: set[int] = field(default_factory=set)

    def takes(self, write: Write) -> bool:
        fits = self.is_empty or self._fits(write)
        if fits:
            self.is_empty = False
            self.rows -= write.row_count
            self.bytes_ -= write.byte_count
            self.named.update(write.numbers)
        return fits

    def _fits(self, write: Write) -> bool:
        if write.byte_count > self.bytes_ or write.row_count > self.rows:
            return False
        return self.named.isdisjoint(write.numbers)
