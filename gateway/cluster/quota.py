"""Google's quota for all processes: GCRA in Redis, with one round trip for each call to Google.

Rules
- A call counts in the rates of its account and its project, or in neither. Redis's answers correct
  the local rates, so that waiting calls know when the next call can be sent.
- While Redis is unavailable, a process uses its share of the rates, first without a burst
  (`gateway.cluster.membership`).
- Redis serves processes in the order of their requests. So a process whose next call must wait
  gives way to other processes: it waits 50 ms longer, or less after refusals since its last call.
- A process does not use a permission that arrives late, because it might have been suspended.
- Limits and pauses that a process learns from Google's 429s are stored in Redis at once, and again
  after an outage.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gateway.cluster.membership import MEMBERS, MICROSECONDS, Membership
from gateway.cluster.scripts import LEARN, TAKE
from gateway.cluster.store import Store, StoreUnavailable
from gateway.google.quota import Learnt, Rate, take_of_all

LATE_SECONDS = 0.5
GIVE_WAY_SECONDS = 0.05

NamedRates = Mapping[str, Rate]
"""Rate by its Redis key."""

_NOTHING_LEARNT = Learnt(0, 0.0, 0.0, 0.0)


class SharedQuota:
    """Google's quota of all accounts and projects, in Redis. Implements `Follower`."""

    def __init__(
        self, store: Store, membership: Membership, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.store = store
        self.membership = membership
        self.clock = clock
        self.part: tuple[float, float] | None = None
        """(Fraction of all rates to use, time from which it is valid), or None if Redis answers."""
        self._rates: dict[str, Rate] = {}
        self._changed: list[Callable[[], None]] = []
        membership.follow(self)

    def share(
        self, names: Sequence[str], rates: Sequence[Rate], changed: Callable[[], None]
    ) -> "SharedCalls":
        """Share rates with other processes. Each of `names` belongs to the rate at its position.

        Calls `changed` when waiting calls can be sent earlier than the rates predicted.
        """
        named = dict(zip(["{gateway}:quota:" + name for name in names], rates, strict=True))
        for key in named.keys() - self._rates.keys():
            if self.part is not None:
                named[key].take_part(*self.part)
        self._rates |= named
        self._changed.append(changed)
        return SharedCalls(self, named)

    def disconnected(self, share: float, since: float) -> None:
        """Use the fraction `share` of all rates from the time `since`."""
        earlier, self.part = self.part, (share, since)
        if earlier == self.part:
            return
        for rate in self._rates.values():
            rate.take_part(share, since)
        if earlier is not None and share > earlier[0]:
            for changed in self._changed:
                changed()

    def connected(self) -> None:
        """Use Redis again, and store limits from Google's 429s, which Redis might have lost."""
        if self.part is not None:
            self.part = None
            for rate in self._rates.values():
                rate.take_whole()
        self.store_learnt(self._rates)
        for changed in self._changed:
            changed()

    def store_learnt(self, named: NamedRates) -> None:
        """Store limits and pauses from Google's 429s in Redis."""
        for key, rate in named.items():
            learnt = rate.learnt(self.clock())
            if learnt is not None and self.part is None:
                limit = rate.limit(self.clock())
                arguments = (
                    learnt.quota,
                    *(round(seconds * MICROSECONDS) for seconds in learnt[1:]),
                    round((limit.burst_seconds - limit.interval_seconds) * MICROSECONDS),
                )
                self.store.start(self.store.run(LEARN, [key], *arguments))


class SharedCalls:
    """Rates of a Google account and its project. Implements `SharedRates`."""

    def __init__(self, quota: SharedQuota, named: NamedRates) -> None:
        self._quota = quota
        self._named = named
        self._refusals = 0

    async def take(self) -> bool:
        is_taken = await self._charge()
        self._refusals = 0 if is_taken else self._refusals + 1
        now = self._quota.clock()
        for rate in self._named.values():  # if the next call has to wait, other processes go first
            if self._quota.part is None and rate.free_at(now) > now:
                rate.delay(GIVE_WAY_SECONDS / (1 + self._refusals))
        return is_taken

    def give_back(self) -> None:
        for rate in self._named.values():
            rate.give_back()
        if self._quota.part is None:
            self._quota.store.start(self._run_take(-1))

    def learnt(self) -> None:
        self._quota.store_learnt(self._named)

    async def _charge(self) -> bool:
        quota, rates = self._quota, [*self._named.values()]
        asked_at = quota.clock()
        if quota.part is not None:
            return take_of_all(rates, asked_at)
        try:
            is_taken, wait, *known = await self._run_take(1)
        except StoreUnavailable:
            return False
        now = quota.clock()
        if quota.part is None:
            _mirror(rates, now, int(wait), [int(each) for each in known])
        return bool(is_taken) and now - asked_at <= LATE_SECONDS

    async def _run_take(self, price: int) -> Sequence[Any]:
        membership = self._quota.membership
        limits = [rate.configured for rate in self._named.values()]
        answer: Sequence[Any] = await self._quota.store.run(
            TAKE,
            [MEMBERS, *self._named],
            membership.id,
            membership.last,
            price,
            *membership.tempo.script_arguments(),
            *(number for limit in limits for number in (limit.per_minute, limit.burst)),
        )
        return answer


def _mirror(rates: Iterable[Rate], now: float, wait: int, known: Sequence[int]) -> None:
    """Correct the local rates by `TAKE`'s answer: `wait`, and five values per rate or none."""
    for number, rate in enumerate(rates):
        if not known:
            rate.mirror(now, wait / MICROSECONDS, _NOTHING_LEARNT)
            continue
        next_call, quota, *learnt = known[5 * number : 5 * number + 5]
        seconds = [each / MICROSECONDS for each in learnt]
        rate.mirror(now, next_call / MICROSECONDS, Learnt(quota, *seconds))
