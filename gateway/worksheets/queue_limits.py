"""Write queue of a worksheet: its limits per key, and whose turn it is.

Rules
- Waiting writes are bounded per key and in total, so that no key blocks the others.
- A key without waiting writes may always join, unless memory is full: its first write waits for one
  turn of the others, not for all their writes.
- Only the key of a group's first write uses its turn. Otherwise the creates of a key could wait for
  ever while its updates go along, or the reverse.
- An empty queue accepts a write of any size.
"""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from gateway.errors import QueueFull
from gateway.settings.model import WriteSettings
from gateway.worksheets.group import ExclusiveTask, Waiting, row_count, take_group

SHARE = 4
"""Fraction of the total memory that one key may use."""

RETRY_SECONDS = 5

W = TypeVar("W", bound=Waiting)


class Room:
    """A limited quantity of waiting writes. `is_hard`: the total limit has no exception."""

    def __init__(self, *, per_key: int, in_all: int, is_hard: bool) -> None:
        self._per_key = per_key
        self._in_all = in_all
        self._is_hard = is_hard
        self._by_key: dict[str, int] = {}
        self._taken = 0

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._by_key

    def has(self, key_id: str, amount: int) -> bool:
        """True if so much more of a key is allowed."""
        own = self._by_key.get(key_id, 0)
        if own and own + amount > self._per_key:
            return False
        must_fit = own > 0 or (self._is_hard and self._taken > 0)
        return not must_fit or self._taken + amount <= self._in_all

    def take(self, key_id: str, amount: int) -> None:
        self._taken += amount
        self._by_key[key_id] = self._by_key.get(key_id, 0) + amount

    def give_back(self, key_id: str, amount: int) -> None:
        self._taken -= amount
        self._by_key[key_id] -= amount
        if self._by_key[key_id] == 0:
            del self._by_key[key_id]


def memory_room(in_all: int) -> Room:
    """A memory limit in bytes."""
    return Room(per_key=in_all // SHARE, in_all=in_all, is_hard=True)


class BoundedQueue(Generic[W]):
    """Waiting writes of one worksheet; `all_lines` is the memory shared by all worksheets."""

    def __init__(self, settings: WriteSettings, all_lines: Room) -> None:
        self._rows = Room(
            per_key=settings.max_waiting_rows_per_key,
            in_all=settings.max_waiting_rows,
            is_hard=False,
        )
        self._memory = memory_room(settings.max_waiting_bytes_per_worksheet)
        self._all_lines = all_lines
        self._waiting: deque[W] = deque()
        self._turns: dict[str, None] = {}
        """The keys that have something here, in the order of their turns."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def key_ids(self) -> list[str]:
        """Keys with waiting writes, in the order of their turns."""
        return [*self._turns]

    @property
    def first(self) -> W:
        """The next write."""
        leader = next(iter(self._turns))
        return next(waiting for waiting in self._waiting if waiting.key_id == leader)

    def join(self, waiting: W) -> None:
        """Add a write at the end. Raises QueueFull."""
        key_id = waiting.key_id
        if not all(room.has(key_id, amount) for room, amount in self._rooms(waiting)):
            raise too_busy()
        for room, amount in self._rooms(waiting):
            room.take(key_id, amount)
        self._waiting.append(waiting)
        self._turns.setdefault(key_id)

    def leave(self, waiting: W) -> bool:
        """Remove a write before its turn; False if it is not here any more."""
        if waiting not in self._waiting:
            return False
        self._waiting.remove(waiting)
        self._left(waiting)
        return True

    def take_group(self) -> list[W]:
        """Remove the next write and those sent with it; then other keys have their turn."""
        leader = next(iter(self._turns))
        group = take_group(self._waiting, self._turns)
        for waiting in group:
            self._left(waiting)
        if leader in self._turns:
            del self._turns[leader]
            self._turns[leader] = None
        return group

    def _left(self, waiting: W) -> None:
        key_id = waiting.key_id
        for room, amount in self._rooms(waiting):
            room.give_back(key_id, amount)
        if key_id not in self._rows:
            del self._turns[key_id]

    def _rooms(self, waiting: W) -> Iterator[tuple[Room, int]]:
        """The limits that apply to a write, with its quantity."""
        write = waiting.write
        size = 1 if isinstance(write, ExclusiveTask) else write.memory_bytes
        yield self._rows, row_count(write)
        yield self._memory, size
        yield self._all_lines, size


def too_busy() -> QueueFull:
    return QueueFull(
        "Too many writes wait for this worksheet.",
        outcome="not_applied",
        retry_after_seconds=RETRY_SECONDS,
    )
