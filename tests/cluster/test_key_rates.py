"""Tests of key rates that processes exchange, in simulated time."""

import random
from unittest.mock import patch

import pytest
from redis.asyncio import Redis

from gateway.access.rates import FRESH_PRICE, key_rate_limit
from gateway.cluster import key_rates
from gateway.cluster.key_rates import HOLD_SECONDS
from gateway.cluster.scripts import EXCHANGE_USE
from gateway.gcra import Gcra
from gateway.settings.model import PlanSettings
from tests.cluster.callers import Cluster

RATE, BURST = 600, 60
MOST = 720
"""Maximum requests in a minute: 1.2 times rate and burst."""


async def most_under_load(redis: Redis, count: int, *, exchanges: bool, price: int = 1) -> int:
    """Most requests that processes under full load admit in any minute."""
    cluster = Cluster(redis, exchanges=exchanges)
    await cluster.start(count)
    await cluster.run(65, greedy=count, price=price)
    return cluster.most()


@pytest.mark.parametrize("exchanges", [True, False], ids=["regular", "only when needed"])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
async def test_processes_admit_at_most_a_fifth_too_many(
    redis: Redis, count: int, exchanges: bool
) -> None:
    """In a minute any number of processes admit at least rate and burst, at most 1.2 times."""
    assert RATE + BURST - 2 <= await most_under_load(redis, count, exchanges=exchanges) <= MOST


@pytest.mark.parametrize("seed", range(6))
async def test_random_use_keeps_to_the_bound(redis: Redis, seed: int) -> None:
    """The bound holds for random use, pauses and prices of requests, with a slow Redis."""
    chance = random.Random(seed)  # noqa: S311
    cluster = Cluster(redis, exchanges=seed % 3 > 0)
    gateways = await cluster.start(chance.choice([2, 3, 5]))
    for each in gateways:
        each.link.slow_seconds = chance.choice([0.0, 0.001, 0.02])
    while cluster.tick < 10_000:
        chance.shuffle(cluster.gateways)
        greedy, price = chance.randint(0, len(gateways)), chance.choice([1, 1, FRESH_PRICE])
        await cluster.run(chance.choice([0.05, 0.3, 1.0, 5.0]), greedy=greedy, price=price)

    assert RATE / 2 < cluster.most() <= MOST


async def test_expensive_requests_keep_to_the_bound(redis: Redis) -> None:
    """The bound holds for requests for fresh data, each of which counts as five requests."""
    assert await most_under_load(redis, 3, exchanges=True, price=FRESH_PRICE) <= MOST


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("per_minute", [100, 600, 6000])
async def test_a_burst_is_used_at_most_twice(redis: Redis, count: int, per_minute: int) -> None:
    """If all processes get requests at once after a pause, the burst is used at most twice."""
    cluster = Cluster(redis, PlanSettings(requests_per_minute=per_minute, max_concurrent=0))
    for each in await cluster.start(count):
        each.link.slow_seconds = 0.002
    cluster.world.now += 60
    began = cluster.world.now
    await cluster.run(0.01, greedy=count)
    burst = key_rate_limit(per_minute).burst
    recovered = (cluster.world.now - began) * per_minute / 60

    assert burst <= len(cluster.admitted) <= 2 * burst + recovered


async def test_a_planted_bug_breaks_the_bound(redis: Redis) -> None:
    """With a planted bug that drops the use of other processes, the bound is exceeded."""
    planted = EXCHANGE_USE.replace("tonumber(ARGV[at + 1])", "0")
    with patch.object(key_rates, "EXCHANGE_USE", planted):
        most = await most_under_load(redis, 3, exchanges=True)

    assert planted.count("0, tonumber(ARGV[at + 2])") == 1
    assert most > MOST


@pytest.mark.parametrize("slow_seconds", [0.0, 0.2], ids=["fast", "slow"])
async def test_a_client_of_one_process_keeps_its_limits(redis: Redis, slow_seconds: float) -> None:
    """With three processes, one process admits its client whenever a single process would."""
    cluster = Cluster(redis)
    gateway, *_ = await cluster.start(3)
    gateway.link.slow_seconds = slow_seconds
    limit, alone, chance = key_rate_limit(RATE), Gcra(), random.Random(7)  # noqa: S311
    refused = count = 0
    for _ in range(600):
        for _ in range(chance.choice([0, 1, 1, 2, 10, 60])):
            price = chance.choice([1, 1, 1, FRESH_PRICE])
            if not alone.take(limit, cluster.world.now, price):
                count += 1
                refused += not await gateway.send(price)
        await cluster.run(chance.choice([0.01, 0.1, 0.1, 0.3, 2.0]))

    assert count > 1000
    assert refused == 0


async def test_a_client_can_use_its_burst_at_all_processes(redis: Redis) -> None:
    """A client can use its burst at three processes in turn, at once, and again after a pause."""
    cluster = Cluster(redis)
    gateways = await cluster.start(3)
    for _ in range(5):
        answers = [await gateways[number % 3].send() for number in range(BURST)]
        await cluster.run(BURST / 10 + 0.5)

        assert all(answers)


async def test_an_idle_process_learns_of_the_use(redis: Redis) -> None:
    """An idle process admits its share of the burst at most, and no request after an exchange."""
    cluster = Cluster(redis)
    first, second, _ = await cluster.start(3)
    assert await first.send_all() == BURST
    await cluster.exchange()

    assert await second.send()
    await cluster.exchange()
    assert not await second.send()
    assert not await first.send()


async def test_returned_prices_are_exchanged(redis: Redis) -> None:
    """A returned price is exchanged: ten requests for fresh data count as 50, not as 60."""
    cluster = Cluster(redis)
    first, second = await cluster.start(2)
    for _ in range(10):
        assert await first.send(FRESH_PRICE)
        await cluster.exchange()
    assert await second.send()
    await cluster.exchange()

    assert await second.send_all() == BURST - 10 * FRESH_PRICE - 1


async def test_a_lost_redis_keeps_the_number_of_processes(
    redis: Redis,
) -> None:
    """After Redis lost its data, the first process to return gets only its share of the burst."""
    cluster = Cluster(redis)
    first, *_ = await cluster.start(3)
    allowance = first.shared.allowance(key_rate_limit(RATE))
    await redis.flushall()
    await first.membership.beat()

    assert allowance == BURST // 3
    assert first.shared.allowance(key_rate_limit(RATE)) == allowance


async def test_old_use_is_not_charged(redis: Redis) -> None:
    """Use by other processes since the last exchange counts less by the time that has passed."""
    cluster = Cluster(redis)
    first, second = await cluster.start(2)
    await second.send()
    await cluster.run(60, greedy=1)
    first.is_alive = False
    await cluster.run(20)
    assert await second.send()
    await cluster.exchange()

    assert await second.send_all() >= BURST - 6


async def test_running_requests_count_for_all_processes(redis: Redis) -> None:
    """At all processes together, a fourth running request is rejected until one of three ends."""
    cluster = Cluster(redis, PlanSettings(max_concurrent=3))
    first, second = await cluster.start(2)
    running = [await first.entered(), await first.entered(), await second.entered()]
    await cluster.exchange()
    await cluster.exchange()
    cluster.world.now += 0.1
    assert not await second.send()
    assert not await first.send()
    assert running[0] is not None
    running[0].leave()
    await first.shared.aclose()
    cluster.world.now += 0.1

    assert await second.send()
    assert await first.send()


async def test_running_requests_of_a_killed_process_are_forgotten(redis: Redis) -> None:
    """Running requests of a killed process stop counting after three seconds.

    Those of a live process count until they end.
    """
    cluster = Cluster(redis, PlanSettings(max_concurrent=1))
    first, second = await cluster.start(2)
    assert await first.entered()
    await cluster.run(2 * HOLD_SECONDS)
    await second.send()
    await second.shared.exchange()
    assert not await second.send()
    first.is_alive = False
    await cluster.run(HOLD_SECONDS + 0.5)

    assert await second.send()


async def test_without_redis_each_process_has_its_share(redis: Redis) -> None:
    """Without Redis, each of three processes has a third of burst, rate and running requests."""
    cluster = Cluster(redis, PlanSettings(max_concurrent=6))
    gateways = await cluster.start(3)
    for each in gateways:
        each.link.is_cut = True
    await cluster.run(1)
    bursts = [await each.send_all() for each in gateways]
    await cluster.run(60, greedy=3)
    alone = len([at for at, _ in cluster.admitted if at > cluster.world.now - 30])
    await cluster.run(10)
    running = [[await each.entered() for _ in range(3)] for each in gateways]
    for each in gateways:
        each.link.is_cut = False
    for lease in [lease for leases in running for lease in leases if lease]:
        lease.leave()
    await cluster.run(20)
    one = await gateways[0].send_all()
    cluster.admitted.clear()
    await cluster.run(65, greedy=3)

    assert bursts == [BURST // 3] * 3
    assert alone == pytest.approx(RATE / 2, abs=3)
    assert [[lease is not None for lease in leases] for leases in running] == [
        [True, True, False]
    ] * 3
    assert one == BURST
    assert cluster.most() <= MOST


@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "answers lost"])
async def test_the_bound_holds_with_an_unreliable_redis(redis: Redis, is_cut: bool) -> None:
    """The bound holds if Redis fails every second, or for heartbeats only."""
    cluster = Cluster(redis)
    gateways = await cluster.start(3)
    await cluster.run(20, greedy=3)
    for second in range(30):
        for each in gateways:
            each.link.is_cut = is_cut and second % 2 == 0
            each.link.lost_script = "" if is_cut else EXCHANGE_USE
        await cluster.run(1, greedy=3)
    for each in gateways:
        each.link.is_cut, each.link.lost_script = False, ""
    await cluster.run(70, greedy=3)

    assert RATE / 2 < cluster.most() <= MOST


@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "answers lost"])
async def test_a_client_within_its_share_with_an_unreliable_redis(
    redis: Redis, is_cut: bool
) -> None:
    """One process always admits a third of the rate, although Redis fails repeatedly."""
    cluster = Cluster(redis)
    gateway, *_ = await cluster.start(3)
    answers = []
    for second in range(60):
        is_ill = 10 <= second < 30
        gateway.link.is_cut = is_ill and is_cut and second % 2 == 0
        gateway.link.lost_script = EXCHANGE_USE if is_ill and not is_cut else ""
        for _ in range(3):
            answers.append(await gateway.send())
            await cluster.run(0.33)

    assert all(answers)


async def test_disconnected_processes_add_their_shares(redis: Redis) -> None:
    """Two processes without Redis add a third of the rate each to a third, connected process."""
    cluster = Cluster(redis)
    gateways = await cluster.start(3)
    for each in gateways[:2]:
        each.link.is_cut = True
    await cluster.run(70, greedy=3)

    assert cluster.most(30) <= (RATE / 2) * (1 + 2 / 3) + 2 * BURST


async def test_each_disconnected_process_can_send(redis: Redis) -> None:
    """With a small plan, a process without Redis admits at least one request, also a fresh read."""
    cluster = Cluster(redis, PlanSettings(requests_per_minute=60, max_concurrent=1))
    gateways = await cluster.start(5)
    for each in gateways:
        each.link.is_cut = True
    await cluster.run(1)

    assert all([await each.send(FRESH_PRICE) for each in gateways])


FAULTS = ("cut", "flush", "full", "hang")


async def begin(cluster: Cluster, fault: str) -> None:
    """Start the named fault."""
    if fault == "flush":
        await cluster.redis.flushall()
    elif fault == "full":
        await cluster.redis.config_set("maxmemory", 1)
    elif fault == "hang":
        cluster.world.hang()
    else:
        for each in cluster.gateways:
            each.link.is_cut = True


async def end(cluster: Cluster, fault: str) -> None:
    """End the fault; Redis executes the commands that it received while it hung."""
    await cluster.redis.config_set("maxmemory", 0)
    await cluster.world.resume()
    for each in cluster.gateways:
        each.link.is_cut = False


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_bound_holds_in_faults(redis: Redis, fault: str) -> None:
    """The bound holds under full load in each minute before, during and after a fault."""
    cluster = Cluster(redis)
    await cluster.start(3)
    await cluster.run(20, greedy=3)
    await begin(cluster, fault)
    await cluster.run(10, greedy=3)
    await end(cluster, fault)
    await cluster.run(70, greedy=3)

    assert RATE + BURST - 2 <= cluster.most() <= MOST


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_client_within_its_share_during_a_fault(redis: Redis, fault: str) -> None:
    """A third of the rate at one process is admitted before, during and after a fault."""
    cluster = Cluster(redis)
    gateway, *_ = await cluster.start(3)
    answers = []
    for second in range(40):
        if second == 10:
            await begin(cluster, fault)
        if second == 25:
            await end(cluster, fault)
        for _ in range(3):
            answers.append(await gateway.send())
            await cluster.run(0.33)

    assert all(answers)
