"""Fair queue of calls that wait for the quota.

Rules
- Verifications of writes go first. Then keys rotate, each with its oldest call: a key with fifty
  waiting calls delays another key by one call, not by fifty.
- A call that several keys wait for is in the line of each key, and goes once, at the earliest turn.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.google.call_context import CallContext


@dataclass(kw_only=True, eq=False)
class Waiter:
    """A waiting call; `turn` is set when it may be sent. Useless after `until_seconds`."""

    call_context: CallContext
    until_seconds: float
    turn: asyncio.Future[None]


_Line = dict[Waiter, None]


class FairQueue:
    def __init__(self) -> None:
        self._verifying: _Line = {}
        self._by_key: dict[str, _Line] = {}
        """In the order of their turns; a key without waiters is not there."""
        self._keys: dict[Waiter, list[str]] = {}
        """Everybody who waits, and the keys in whose lines they stand."""

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Waiter]:
        yield from self._verifying
        seen: set[Waiter] = set()
        lines = [iter(line) for line in self._by_key.values()]
        while lines:
            left = []
            for line in lines:
                waiter = next((each for each in line if each not in seen), None)
                if waiter is not None:
                    left.append(line)
                    seen.add(waiter)
                    yield waiter
            lines = left

    def beside(self, call_context: CallContext) -> int:
        """Length of the line that a call would join."""
        line = (
            self._verifying
            if call_context.is_verification
            else self._by_key.get(call_context.key_id, {})
        )
        return len(line)

    def shortest(self, waiter: Waiter) -> int:
        """Length of the waiter's shortest line, including itself."""
        if waiter in self._verifying:
            return len(self._verifying)
        return min(len(self._by_key[key_id]) for key_id in self._keys[waiter])

    def before(self, waiter: Waiter) -> int:
        """Number of waiters that go before this one."""
        return next(rank for rank, each in enumerate(self) if each is waiter)

    def join(self, waiter: Waiter) -> None:
        self._keys[waiter] = []
        if waiter.call_context.is_verification:
            self._verifying[waiter] = None
        else:
            self.join_as(waiter.call_context.key_id, waiter)

    def join_as(self, key_id: str, waiter: Waiter) -> bool:
        """Add a waiter to a key's line; False if it is there already or no longer waits."""
        keys = self._keys.get(waiter)
        if keys is None or key_id in keys or waiter in self._verifying:
            return False
        keys.append(key_id)
        self._by_key.setdefault(key_id, {})[waiter] = None
        return True

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter from all its lines; does nothing if it is in none."""
        self._verifying.pop(waiter, None)
        for key_id in self._keys.pop(waiter, ()):
            line = self._by_key[key_id]
            del line[waiter]
            if not line:
                del self._by_key[key_id]

    def take_next(self) -> Waiter:
        """Remove and return the next waiter. Raises StopIteration if there is none."""
        if self._verifying:
            waiter = next(iter(self._verifying))
        else:
            key_id = next(iter(self._by_key))
            line = self._by_key.pop(key_id)
            self._by_key[key_id] = line  # to the end of the rotation
            waiter = next(iter(line))
        self.leave(waiter)
        return waiter
