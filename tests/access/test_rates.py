"""Tests of `KeyRates`, the request rates and concurrency limits of keys."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.caller import Caller
from gateway.access.rates import FRESH_PRICE, KeyRates, RateLease, key_rate_limit
from gateway.errors import RateLimited, TooManyInFlight
from gateway.gcra import Standing
from gateway.settings.model import PlanSettings, missing_limits
from gateway.storage.key_store import Grants
from tests.callers import make_caller
from tests.clock import ManualClock

PLANS = {
    "paid": PlanSettings(requests_per_minute=600, max_concurrent=3),
    "slow": PlanSettings(requests_per_minute=6),
    "endless": PlanSettings(requests_per_minute=0, max_concurrent=0),
}


def caller(key_id: str = "k1", plan: str = "paid") -> Caller:
    return make_caller(Grants(spreadsheets=None), PLANS[plan], key_id=key_id, plan_name=plan)


def admitted(rates: KeyRates, count: int, who: Caller | None = None) -> Sequence[RateLease]:
    """Requests that were admitted and have ended."""
    visits = [rates.lease(who or caller()) for _ in range(count)]
    for lease in visits:
        lease.enter()
        lease.leave()
    return visits


@pytest.fixture
def rates(clock: ManualClock) -> KeyRates:
    """Rate limits of keys without earlier requests."""
    return KeyRates(PLANS, clock)


@pytest.mark.parametrize(
    ("per_minute", "burst"), [(600, 60), (100, 10), (6, 10), (1, 10), (1_000_000, 100_000)]
)
def test_a_burst_is_a_tenth_of_a_minute(per_minute: int, burst: int) -> None:
    """The burst is a tenth of the rate a minute, and at least ten."""
    assert key_rate_limit(per_minute).burst == burst


def test_a_burst_then_the_rate(rates: KeyRates, clock: ManualClock) -> None:
    """At 600 a minute, 60 requests pass at once, then one each 0.1 seconds; a rejected
    request does not count.
    """
    admitted(rates, 60)
    for _ in range(100):
        with pytest.raises(RateLimited):
            rates.lease(caller()).enter()
    clock.advance(0.1)
    admitted(rates, 1)

    with pytest.raises(RateLimited) as refusal:
        rates.lease(caller()).enter()
    assert refusal.value.retry_after_seconds == 1
    assert "600 requests a minute" in refusal.value.message


def test_retry_time_is_sufficient(rates: KeyRates, clock: ManualClock) -> None:
    """After the seconds of `Retry-After`, the next request is admitted."""
    slow = caller(plan="slow")
    admitted(rates, 10, slow)
    with pytest.raises(RateLimited) as refusal:
        rates.lease(slow).enter()
    wait_seconds = refusal.value.retry_after_seconds or 0
    clock.advance(wait_seconds)
    admitted(rates, 1, slow)

    assert wait_seconds == 10


def test_each_key_has_its_own_rate(rates: KeyRates) -> None:
    admitted(rates, 60)
    admitted(rates, 60, caller("k2"))

    with pytest.raises(RateLimited):
        rates.lease(caller("k2")).enter()


def test_a_price_is_charged_in_full_or_not_at_all(rates: KeyRates) -> None:
    """With 2 requests left, a request with a price of 4 is rejected and the 2 stay."""
    (*_, lease) = admitted(rates, 58)

    with pytest.raises(RateLimited):
        lease.charge(4)
    assert lease.standing().remaining == 2
    lease.charge(2)
    assert lease.standing().remaining == 0


@pytest.mark.parametrize("per_minute", [1, 6, 20, 60, 90, 100, 120, 600, 10_000])
@pytest.mark.parametrize("used", [0, 3, 6, 9, 10, 1000])
async def test_retry_time_suffices_for_a_higher_price(
    clock: ManualClock, per_minute: int, used: int
) -> None:
    """Retry-After is long enough for a request whose price is known only after admission."""
    plan = PlanSettings(requests_per_minute=per_minute)
    rates = KeyRates({"paid": plan}, clock)
    burst = key_rate_limit(per_minute).burst
    admitted(rates, min(used, burst - 1))
    first = rates.lease(caller())
    first.enter()
    left = first.standing().remaining + 1
    try:
        await first.raise_to(FRESH_PRICE)
    except RateLimited as refusal:
        assert left < FRESH_PRICE
        assert first.standing().remaining == left
        clock.advance(refusal.retry_after_seconds or 0)
        again = rates.lease(caller())
        again.enter()
        await again.raise_to(FRESH_PRICE)
    else:
        assert first.standing().remaining == left - FRESH_PRICE


async def test_a_price_that_cannot_be_paid_costs_nothing(rates: KeyRates) -> None:
    """Rejected expensive requests change nothing: 4 requests stay, and the retry time is
    that for a price of 5.
    """
    slow = caller(plan="slow")
    admitted(rates, 6, slow)
    for _ in range(20):
        lease = rates.lease(slow)
        lease.enter()
        with pytest.raises(RateLimited) as refusal:
            await lease.raise_to(FRESH_PRICE)
        lease.leave()

    assert refusal.value.retry_after_seconds == 10
    assert lease.standing().remaining == 4


def test_remaining_requests_and_reset_time(rates: KeyRates, clock: ManualClock) -> None:
    """The reset time is the seconds until the whole burst, or until the next request if
    nothing is left.
    """
    slow = caller(plan="slow")
    lease = rates.lease(slow)
    standings = [lease.standing()]
    for count in (1, 8, 1):
        admitted(rates, count, slow)
        standings.append(lease.standing())
    clock.advance(4.5)
    standings.append(lease.standing())
    clock.advance(200.0)
    standings.append(lease.standing())
    expected = [(10, 0), (9, 10), (1, 90), (0, 10), (0, 6), (10, 0)]

    assert standings == [Standing(*each) for each in expected]


def test_concurrent_requests_are_limited(rates: KeyRates) -> None:
    """The fourth concurrent request is rejected until one of three ends; the rejected
    request counts for the rate.
    """
    inside = [rates.lease(caller()) for _ in range(3)]
    for lease in inside:
        lease.enter()
    late = rates.lease(caller())
    with pytest.raises(TooManyInFlight) as refusal:
        late.enter()
    late.leave()
    with pytest.raises(TooManyInFlight):
        rates.lease(caller()).enter()
    inside[0].leave()
    inside[0].leave()
    rates.lease(caller()).enter()

    assert refusal.value.retry_after_seconds == 1
    assert late.standing().remaining == 60 - 6
    with pytest.raises(TooManyInFlight):
        rates.lease(caller()).enter()


def test_rate_limited_requests_do_not_count_as_concurrent(
    rates: KeyRates, clock: ManualClock
) -> None:
    """A request rejected for its rate does not count as running."""
    admitted(rates, 60)
    for _ in range(5):
        lease = rates.lease(caller())
        with pytest.raises(RateLimited):
            lease.enter()
        lease.leave()
    clock.advance(1.0)
    for _ in range(3):
        rates.lease(caller()).enter()

    with pytest.raises(TooManyInFlight):
        rates.lease(caller()).enter()


def test_a_plan_without_limits(rates: KeyRates) -> None:
    """A limit of 0 in a plan means no limit, and `missing_limits` reports such a plan."""
    for _ in range(1000):
        lease = rates.lease(caller(plan="endless"))
        lease.enter()
        lease.charge(1_000_000)

    assert lease.limits.per_minute == 0
    assert missing_limits(PLANS["endless"]) == ["requests_per_minute", "max_concurrent"]
    assert missing_limits(PLANS["paid"]) == []
    assert missing_limits(PlanSettings()) == []


def test_the_number_of_keys_is_limited(clock: ManualClock) -> None:
    """Beyond the maximum number of keys, the least recent key without a running request
    is removed.
    """
    rates = KeyRates(PLANS, clock, max_kept=3)
    rates.lease(caller("under way")).enter()
    admitted(rates, 60, caller("oldest"))
    admitted(rates, 60, caller("older"))
    admitted(rates, 1, caller("new"))
    under_way = rates.lease(caller("under way")).standing().remaining

    assert under_way == 59
    with pytest.raises(RateLimited):
        rates.lease(caller("older")).enter()
    admitted(rates, 60, caller("oldest"))


@given(
    per_minute=st.integers(1, 5000),
    pauses=st.lists(st.floats(0, 30), min_size=1, max_size=60),
    price=st.integers(1, 5),
)
def test_no_minute_has_more_than_rate_and_burst(
    per_minute: int, pauses: Sequence[float], price: int
) -> None:
    """In any minute a key gets at most its rate plus its burst, for any sequence of
    requests and prices.
    """
    clock = ManualClock()
    plan = PlanSettings(requests_per_minute=per_minute)
    lease = KeyRates({"paid": plan}, clock).lease(caller())
    let_in: list[float] = []
    for pause in pauses:
        clock.advance(pause)
        for _ in range(30):
            try:
                lease.charge(price)
            except RateLimited:
                break
            let_in.append(clock())

    most = per_minute + key_rate_limit(per_minute).burst
    for start in let_in:
        assert price * sum(start <= each < start + 60 for each in let_in) <= most
