"""Group the waiting writes of a worksheet that go to Google together.

Rules
- Keys take turns: a group begins with the key whose turn it is, and each takes of its room one
  write after the other with the others. It goes out in the order in which its writes came.
- A group is of one kind: all creates make one append, all updates one batch. An exclusive task
  is a group by itself.
- The creates of one key keep their order, and so do its updates: behind one that stays, no other
  of the kind is taken. A create and an update know nothing of each other before they are answered.
- Of the updates of one row one goes at a time, so that each sees what the one before it left.
- A group is bounded in bytes; appends in rows too, batches in the length of the read before
  them, whose ranges stand in the URL.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar
from urllib.parse import quote

from gateway.table import a1
from gateway.worksheets.worksheet_id import WorksheetId
from gateway.worksheets.writes import Create, Results, Update, Write

MAX_ROWS = 500
MAX_BYTES = 1_048_576
MAX_URL_BYTES = 6_000

LAST_ROW = 99_999_999
"""As long as the number of a row gets."""


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
    return len(write.rows) if isinstance(write, Create) else 1


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
    room = _Room(worksheet=first.worksheet)
    held_keys: set[str] = set()
    for waiting in chain([first], line):
        write = waiting.write
        if isinstance(write, ExclusiveTask) or not isinstance(write, type(first.write)):
            continue
        is_turn = waiting.key_id not in held_keys
        if is_turn and room.takes(write):
            yield waiting
        else:
            held_keys.add(waiting.key_id)


@dataclass(kw_only=True)
class _Room:
    """What a group may still take in; its first write always fits."""

    worksheet: WorksheetId
    rows: int = MAX_ROWS
    bytes_: int = MAX_BYTES
    is_empty: bool = True

    def __post_init__(self) -> None:
        self.updated: set[int] = set()
        longest = quote(a1.row_range(self.worksheet.title, LAST_ROW), safe="")
        self.ranges = MAX_URL_BYTES // len(f"&ranges={longest}") - 1  # one is the header's

    def takes(self, write: Write) -> bool:
        fits = self.is_empty or self._fits(write)
        if fits:
            self.is_empty = False
            self.rows -= row_count(write)
            self.bytes_ -= write.byte_count
            if isinstance(write, Update):
                self.updated.add(write.row)
        return fits

    def _fits(self, write: Write) -> bool:
        if write.byte_count > self.bytes_:
            return False
        if isinstance(write, Update):
            return write.row not in self.updated and len(self.updated) < self.ranges
        return row_count(write) <= self.rows
