"""Write queue of a worksheet: its limits per key, and whose turn it is.

Rules
- What waits is bounded for each key, so that one cannot keep the others from writing, and in all.
- A key that has nothing waiting is let in however many rows others have there: its first write
  waits for a turn of the others, not behind all that they have. Only memory ends that.
- Only the key that a group began with has had its turn. What goes along with another's costs none:
  else the creates of a key would wait for ever while its updates go along, or the reverse.
- Where nothing waits anything is let in, however large.
"""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from gateway.errors import QueueFull
from gateway.settings.model import WriteSettings
from gateway.worksheets.group import ExclusiveTask, Waiting, row_count, take_group

SHARE = 4
"""One key may fill a quarter of the memory that all have."""

RETRY_SECONDS = 5

W = TypeVar("W", bound=Waiting)


class Room:
    """A measure of what waits, and its bounds. `is_hard`: none may pass the one for all keys."""

    def __init__(self, *, per_key: int, in_all: int, is_hard: bool) -> None:
        self._per_key = per_key
        self._in_all = in_all
        self._is_hard = is_hard
        self._by_key: dict[str, int] = {}
        self._taken = 0

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._by_key

    def has(self, key_id: str, amount: int) -> bool:
        """Whether so much more of a key fits in."""
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
    """Room of so many bytes."""
    return Room(per_key=in_all // SHARE, in_all=in_all, is_hard=True)


class BoundedQueue(Generic[W]):
    """What waits for one worksheet; `all_lines` is the memory that all worksheets share."""

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
        """The keys that have something here, in the order of their turns."""
        return [*self._turns]

    @property
    def first(self) -> W:
        """Whose turn it is."""
        leader = next(iter(self._turns))
        return next(waiting for waiting in self._waiting if waiting.key_id == leader)

    def join(self, waiting: W) -> None:
        """Wait at the end; QueueFull if there is no room."""
        key_id = waiting.key_id
        if not all(room.has(key_id, amount) for room, amount in self._rooms(waiting)):
            raise too_busy()
        for room, amount in self._rooms(waiting):
            room.take(key_id, amount)
        self._waiting.append(waiting)
        self._turns.setdefault(key_id)

    def leave(self, waiting: W) -> bool:
        """Take a write out before its turn; False if it is not here any more."""
        if waiting not in self._waiting:
            return False
        self._waiting.remove(waiting)
        self._left(waiting)
        return True

    def take_group(self) -> list[W]:
        """Take out whose turn it is, and what goes with it; the others' turns come next."""
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
        """What a write takes room of, and how much."""
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
