"""Who waits for a call to Google, and who is next. Neither a clock nor a rate is known here.

Rules: what verifies a write goes first. Then the keys take turns, each with its oldest call, so
that a key with fifty calls in line holds up another's first by one call, not by fifty.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from gateway.upstream.errand import Errand


@dataclass(kw_only=True, eq=False)
class Waiter:
    """A call that waits until `turn` is done; it is of no use to it after `until_seconds`."""

    errand: Errand
    until_seconds: float
    turn: asyncio.Future[None]


class Turns:
    def __init__(self) -> None:
        self._verifying: deque[Waiter] = deque()
        self._by_key: dict[str, deque[Waiter]] = {}
        """In the order of their turns; a key without waiters is not there."""

    def __len__(self) -> int:
        return len(self._verifying) + sum(map(len, self._by_key.values()))

    def __iter__(self) -> Iterator[Waiter]:
        return chain(self._verifying, *self._by_key.values())

    def beside(self, errand: Errand) -> int:
        """How many wait in the line that an errand would join."""
        return len(self._line(errand))

    def before(self, errand: Errand) -> int:
        """How many of those that wait now would have their turn before an errand that joins."""
        verifying = len(self._verifying)
        if errand.is_verification:
            return verifying
        own = len(self._line(errand))
        rounds = own + 1  # which the keys before it in this round have, the ones after it lack one
        others = 0
        for key_id, line in self._by_key.items():
            if key_id == errand.key_id:
                rounds = own
            else:
                others += min(len(line), rounds)
        return verifying + own + others

    def join(self, waiter: Waiter) -> None:
        if waiter.errand.is_verification:
            self._verifying.append(waiter)
        else:
            self._by_key.setdefault(waiter.errand.key_id, deque()).append(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Take a waiter out of its line; nothing if it is in none any more."""
        line = self._line(waiter.errand)
        if waiter in line:
            line.remove(waiter)
            if not line and not waiter.errand.is_verification:
                del self._by_key[waiter.errand.key_id]

    def take_next(self) -> Waiter:
        """Take out whose turn it is; IndexError or StopIteration if nobody waits."""
        if self._verifying:
            return self._verifying.popleft()
        key_id = next(iter(self._by_key))
        line = self._by_key.pop(key_id)
        if len(line) > 1:
            self._by_key[key_id] = line  # at the end of the round
        return line.popleft()

    def _line(self, errand: Errand) -> deque[Waiter]:
        if errand.is_verification:
            return self._verifying
        return self._by_key.get(errand.key_id) or deque()
