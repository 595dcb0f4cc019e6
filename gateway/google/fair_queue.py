"""Fair queue of calls to Google: who waits, and who is next.

Rules: what verifies a write goes first. Then the keys take turns, each with its oldest call, so
that a key with fifty calls in line holds up another's first by one call, not by fifty. A call that
several keys wait for stands in the line of each, and goes once, as the turn of the first.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.google.call_context import CallContext


@dataclass(kw_only=True, eq=False)
class Waiter:
    """A call that waits until `turn` is done; it is of no use after `until_seconds`."""

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
        """In the order of their turns, as it is now."""
        yield from self._verifying
        told: set[Waiter] = set()
        lines = [iter(line) for line in self._by_key.values()]
        while lines:
            left = []
            for line in lines:
                waiter = next((each for each in line if each not in told), None)
                if waiter is not None:
                    left.append(line)
                    told.add(waiter)
                    yield waiter
            lines = left

    def beside(self, call_context: CallContext) -> int:
        """How many wait in the line that a call would join."""
        line = (
            self._verifying
            if call_context.is_verification
            else self._by_key.get(call_context.key_id, {})
        )
        return len(line)

    def shortest(self, waiter: Waiter) -> int:
        """How many wait in the shortest of the lines that one stands in, with itself."""
        if waiter in self._verifying:
            return len(self._verifying)
        return min(len(self._by_key[key_id]) for key_id in self._keys[waiter])

    def before(self, waiter: Waiter) -> int:
        """How many of the others that wait now have their turn before one of them."""
        return next(rank for rank, each in enumerate(self) if each is waiter)

    def join(self, waiter: Waiter) -> None:
        self._keys[waiter] = []
        if waiter.call_context.is_verification:
            self._verifying[waiter] = None
        else:
            self.join_as(waiter.call_context.key_id, waiter)

    def join_as(self, key_id: str, waiter: Waiter) -> bool:
        """Have a waiter stand in the line of a key, too; False if it does, or waits no more."""
        keys = self._keys.get(waiter)
        if keys is None or key_id in keys or waiter in self._verifying:
            return False
        keys.append(key_id)
        self._by_key.setdefault(key_id, {})[waiter] = None
        return True

    def leave(self, waiter: Waiter) -> None:
        """Take a waiter out of its lines; nothing if it is in none any more."""
        self._verifying.pop(waiter, None)
        for key_id in self._keys.pop(waiter, ()):
            line = self._by_key[key_id]
            del line[waiter]
            if not line:
                del self._by_key[key_id]

    def take_next(self) -> Waiter:
        """Take out whose turn it is; StopIteration if nobody waits."""
        if self._verifying:
            waiter = next(iter(self._verifying))
        else:
            key_id = next(iter(self._by_key))
            line = self._by_key.pop(key_id)
            self._by_key[key_id] = line  # at the end of the round
            waiter = next(iter(line))
        self.leave(waiter)
        return waiter
