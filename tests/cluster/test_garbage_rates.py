"""Tests of damaged Redis data of Google's quota, key rates and memberships."""

from collections.abc import Callable, Mapping

import pytest
from redis.asyncio import Redis

from gateway.access.rates import key_rate_limit
from gateway.cluster.key_rates import HOLD_SECONDS
from gateway.cluster.membership import MEMBERS
from gateway.cluster.scripts import MOST_BURSTS
from gateway.google.quota import RECOVERY_SECONDS
from tests.cluster.callers import Cluster
from tests.cluster.garbage import ANY_KIND, ANY_TEXT, BYTES, TEXTS, Spoil, put
from tests.cluster.world import World

QUOTA = "{gateway}:quota:a"
USE = "{gateway}:key:1:k1"
RATE, BURST = 600, 60
BURST_SECONDS = key_rate_limit(RATE).burst_seconds
DAY = 86_400_000_000


async def working(redis: Redis) -> World:
    """Two simulated processes that use the whole quota."""
    world = World(redis)
    await world.start(2)
    await world.run(70)
    return world


async def assert_goes_on(world: World) -> None:
    """Check that calls use the quota without exceeding it, also after Redis is emptied."""
    await world.run(60)
    assert len(world.sent_since(60)) >= 40
    await world.redis.flushall()
    await world.run(70)
    assert len(world.sent_since(60)) >= 45
    assert world.most() <= 60
    assert all(each.store.is_available for each in world.processes)
    assert [each.membership.count for each in world.processes] == [2, 2]


@ANY_KIND
@pytest.mark.parametrize("key", [QUOTA, MEMBERS], ids=["quota", "members"])
async def test_calls_go_on_if_a_value_has_any_type(redis: Redis, key: str, spoil: Spoil) -> None:
    """After a quota value of any wrong type, calls continue and the processes register again."""
    world = await working(redis)
    await put(redis, key, spoil)
    await assert_goes_on(world)


@ANY_TEXT
@pytest.mark.parametrize("field", ["full_at", "stamp", "quota_until", "pause", "paused_until"])
async def test_calls_go_on_if_a_number_is_damaged(redis: Redis, field: str, garbage: bytes) -> None:
    """Calls continue, whatever one damaged field of the quota contains."""
    world = await working(redis)
    world.processes[0].refused("a")
    await world.run(1)
    await redis.hset(QUOTA, field, garbage)
    await assert_goes_on(world)


@ANY_TEXT
async def test_a_damaged_limit_is_ignored(redis: Redis, garbage: bytes) -> None:
    """A stored limit that Google cannot have sent in a 429 does not slow calls down."""
    world = await working(redis)
    until = round((world.redis_time() + RECOVERY_SECONDS) * 1e6)
    await redis.hset(QUOTA, mapping={"quota": garbage, "quota_until": until})
    await assert_goes_on(world)


async def test_a_pause_is_learnt_despite_an_invalid_one(redis: Redis) -> None:
    """A damaged pause until the year 2100 hides no valid pause that another process stored."""
    world = await working(redis)
    first, second = world.processes
    await redis.hset(QUOTA, mapping={"paused_until": TEXTS["far future"], "pause": "5000000"})
    first.refused("a", limit=20)
    await world.run(2)

    assert second.free_at("a") - second.clock() >= 1


LINES: Mapping[str, Callable[[int], str | bytes]] = {
    "far future": lambda now: f"{now + DAY} 0.900000 host 1",
    "whole share": lambda now: f"{now + DAY} 1.000000 host 1",
    "two shares": lambda now: f"{now} 2.000000 host 1",
    "negative share": lambda now: f"{now} -1.00000 host 1",
    "share that is no number": lambda now: f"{now} 0.1.2 host 1",
    "share nan": lambda now: f"{now} nan host 1",
    "no process": lambda now: f"{now} 0.500000 host",
    "no host": lambda now: f"{now} 0.500000",
    "other text": lambda now: f"{now} 0.500000 ".encode() + BYTES,
    "long": lambda now: f"{now} 0.500000 {'x' * 100_000} 1",
    **{name: lambda _, garbage=garbage: garbage for name, garbage in TEXTS.items()},  # type: ignore[misc]
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("field", ["other", "own", "born", "turn"])
async def test_a_damaged_line_is_not_a_process(
    redis: Redis, field: str, line: Callable[[int], str | bytes]
) -> None:
    """Damaged entries in the list of processes, or in its start time, do not count as processes."""
    world = await working(redis)
    name = world.processes[0].membership.id if field == "own" else field
    await redis.hset(MEMBERS, name, line(round(world.redis_time() * 1e6)))
    await assert_goes_on(world)


async def test_a_silent_process_with_a_damaged_name(redis: Redis) -> None:
    """A damaged process ID counts as a dead process; bytes that are not text count as none."""
    world = World(redis)
    await world.start(1)
    now = round(world.redis_time() * 1e6)
    names = {"large": b"host-0 " + b"9" * 300, "bytes": BYTES.replace(b"\n", b"") + b" 1"}
    for id_, name in names.items():
        await redis.hset(MEMBERS, id_, f"{now} 0.100000 ".encode() + name)
    await world.run(5)

    assert set(await redis.hkeys(MEMBERS)) & set(names) == {"bytes"}


async def exhausted(redis: Redis) -> Cluster:
    """Two processes that have used up the burst of a key."""
    cluster = Cluster(redis)
    gateways = await cluster.start(2)
    for _ in range(BURST):
        await gateways[0].send()
        await gateways[1].send()
    await cluster.run(10)
    return cluster


async def assert_serves(cluster: Cluster) -> None:
    """Assert that both processes admit requests a few bursts later, and after Redis is emptied."""
    first, second = cluster.gateways
    assert await first.send() in (True, False)
    await cluster.run(MOST_BURSTS * BURST_SECONDS + HOLD_SECONDS)
    assert [await first.send(), await second.send()] == [True, True]
    await cluster.redis.flushall()
    await cluster.run(1)
    assert [await first.send(), await second.send()] == [True, True]
    before = len(cluster.admitted)
    await cluster.run(30, greedy=1)
    assert RATE / 2 <= len(cluster.admitted) - before <= RATE / 2 + 2 * BURST
    assert first.membership.count == 2


@ANY_KIND
async def test_a_key_is_served_if_its_use_has_any_type(redis: Redis, spoil: Spoil) -> None:
    """A key is accepted after its use in Redis has a wrong type; the use counts as lost."""
    cluster = await exhausted(redis)
    await put(redis, USE, spoil)
    await cluster.exchange()
    await assert_serves(cluster)


@ANY_TEXT
@pytest.mark.parametrize("field", ["generation", "total", "full_at", "another process", "own"])
async def test_a_key_is_served_if_its_use_is_damaged(
    redis: Redis, field: str, garbage: bytes
) -> None:
    """With a damaged field of its use, a key waits at most for a few bursts."""
    cluster = await exhausted(redis)
    first, second = cluster.gateways
    await first.send()
    await cluster.exchange()
    name = first.membership.id if field == "own" else field
    await redis.hset(USE, name, garbage)
    await second.send()
    await cluster.exchange()
    await assert_serves(cluster)


USES: Mapping[str, Mapping[str, str]] = {
    "much use of another state": {"generation": "0" * 16, "total": "9" * 15},
    "much use of this state": {"total": "9" * 15},
    "all requests running": {"x": "999999 {now}"},
    "more than can run": {"x": "99999999999 {now}"},
    "running in the future": {"x": "900 {later}"},
    "negative running": {"x": "-900 {now}"},
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
async def test_a_key_recovers_from_invalid_use(redis: Redis, use: Mapping[str, str]) -> None:
    """Plausible but wrong numbers of use block a key for a few bursts at most."""
    cluster = await exhausted(redis)
    first, second = cluster.gateways
    await first.send()
    await cluster.exchange()
    now = round(cluster.world.redis_time() * 1e6)
    for name, text in use.items():
        await redis.hset(USE, name, text.format(now=now, later=now + DAY))
    await second.send()
    await first.send()
    await cluster.exchange()
    await assert_serves(cluster)


@pytest.mark.parametrize("hours", [-24, 24])
async def test_a_key_is_served_though_the_clock_is_set(redis: Redis, hours: int) -> None:
    """A key is accepted although Redis's clock changes by a day."""
    cluster = await exhausted(redis)
    for gateway in cluster.gateways:
        await gateway.send()
    await cluster.exchange()
    cluster.world.skipped += 3600 * hours
    await assert_serves(cluster)
