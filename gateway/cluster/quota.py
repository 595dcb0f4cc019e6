"""Google's quota, shared by all processes: GCRA in Redis, one round trip for each call.

Rules
- A call is charged to its account's and its project's rate at once, or to neither. Redis's answers
  correct the local rates, so that waiting calls know when the next one may be sent.
- While Redis is unavailable, the local rates are a share of the whole, without a burst at first
  (`gateway.cluster.membership`).
- Redis serves processes in the order of their requests. So each process adds a delay before the
  next one; the delay shrinks with each refusal since its last call.
- A permission that arrives late is not used: this process may have been suspended.
- Limits and pauses learnt from 429s are stored in Redis at once, and again after an outage.
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
"""Rates by their keys in Redis."""

_NOTHING_LEARNT = Learnt(0, 0.0, 0.0, 0.0)


class SharedQuota:
    """Shared quota of all accounts and projects; a `Follower`."""

    def __init__(
        self, store: Store, membership: Membership, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._membership = membership
        self._clock = clock
        self._rates: dict[str, Rate] = {}
        self._changed: list[Callable[[], None]] = []
        self._disconnected: tuple[float, float] | None = None
        membership.follow(self)

    def share(
        self, names: Sequence[str], rates: Sequence[Rate], changed: Callable[[], None]
    ) -> "SharedCalls":
        """Share rates with other processes, under these names.

        `changed` is called when calls may be sent earlier than the rates predicted.
        """
        named = dict(zip(["{gateway}:quota:" + name for name in names], rates, strict=True))
        for key in named.keys() - self._rates.keys():
            if self._disconnected is not None:
                named[key].take_part(*self._disconnected)
        self._rates |= named
        self._changed.append(changed)
        return SharedCalls(self, named)

    def disconnected(self, share: float, since: float) -> None:
        """Use a share of all rates, from the instant `since` on."""
        earlier = self._disconnected
        if earlier == (share, since):
            return
        self._disconnected = (share, since)
        for rate in self._rates.values():
            rate.take_part(share, since)
        if earlier is not None and share > earlier[0]:
            for changed in self._changed:
                changed()

    def connected(self) -> None:
        """Use Redis again, and store the learnt limits, which it may have lost."""
        if self._disconnected is not None:
            self._disconnected = None
            for rate in self._rates.values():
                rate.take_whole()
        self.store_learnt(self._rates)
        for changed in self._changed:
            changed()

    @property
    def usable_share(self) -> float:
        """Share of all rates that this process uses, 1 while Redis is available."""
        return 1.0 if self._disconnected is None else self._disconnected[0]

    async def take(self, named: NamedRates) -> bool:
        """Charge a call that is sent now; False if it must wait, as the rates then show."""
        asked_at = self._clock()
        if self._disconnected is not None:
            return take_of_all([*named.values()], asked_at)
        try:
            is_taken, wait, *known = await self._run_take(named, 1)
        except StoreUnavailable:
            return False
        now = self._clock()
        if self._disconnected is None:
            _mirror(named.values(), now, int(wait), [int(each) for each in known])
        return bool(is_taken) and now - asked_at <= LATE_SECONDS

    def give_back(self, named: NamedRates) -> None:
        """Undo the charge of a call that is not sent."""
        for rate in named.values():
            rate.give_back()
        if self._disconnected is None:
            self._store.start(self._run_take(named, -1))

    def give_way(self, named: NamedRates, seconds: float) -> None:
        """Delay the next call in favour of other processes, if it has to wait anyway."""
        now = self._clock()
        for rate in named.values():
            if self._disconnected is None and rate.free_at(now) > now:
                rate.delay(seconds)

    def store_learnt(self, named: NamedRates) -> None:
        """Store in Redis the limits and pauses learnt from 429s."""
        for key, rate in named.items():
            learnt = rate.learnt(self._clock())
            if learnt is not None and self._disconnected is None:
                limit = rate.limit(self._clock())
                arguments = (
                    learnt.quota,
                    *(round(seconds * MICROSECONDS) for seconds in learnt[1:]),
                    round((limit.burst_seconds - limit.interval_seconds) * MICROSECONDS),
                )
                self._store.start(self._store.run(LEARN, [key], *arguments))

    async def _run_take(self, named: NamedRates, price: int) -> Sequence[Any]:
        membership = self._membership
        limits = [rate.configured for rate in named.values()]
        answer: Sequence[Any] = await self._store.run(
            TAKE,
            [MEMBERS, *named],
            membership.id,
            membership.last,
            price,
            *membership.tempo.script_arguments(),
            *(number for limit in limits for number in (limit.per_minute, limit.burst)),
        )
        return answer


class SharedCalls:
    """Shared rates of one bucket; a `SharedRates`."""

    def __init__(self, quota: SharedQuota, named: NamedRates) -> None:
        self._quota = quota
        self._named = named
        self._refusals = 0

    async def take(self) -> bool:
        is_taken = await self._quota.take(self._named)
        self._refusals = 0 if is_taken else self._refusals + 1
        self._quota.give_way(self._named, GIVE_WAY_SECONDS / (1 + self._refusals))
        return is_taken

    def give_back(self) -> None:
        self._quota.give_back(self._named)

    def learnt(self) -> None:
        self._quota.store_learnt(self._named)


def _mirror(rates: Iterable[Rate], now: float, wait: int, known: Sequence[int]) -> None:
    """Correct the local rates by an answer of `TAKE`; if `known` is empty, only by its wait."""
    for number, rate in enumerate(rates):
        if not known:
            rate.mirror(now, wait / MICROSECONDS, _NOTHING_LEARNT)
            continue
        next_call, quota, *learnt = known[5 * number : 5 * number + 5]
        seconds = [each / MICROSECONDS for each in learnt]
        rate.mirror(now, next_call / MICROSECONDS, Learnt(quota, *seconds))
