"""Tests of Google's quota that processes share, in simulated time."""

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from gateway.google.quota import configured_limit, part_of
from tests.cluster.world import World


async def cut_all(world: World) -> None:
    for each in world.processes:
        each.link.is_cut = True


async def cut_one(world: World) -> None:
    world.processes[0].link.is_cut = True


async def lose_answers(world: World) -> None:
    world.processes[0].link.loses_answers = True


async def suspend(world: World) -> None:
    world.processes[0].is_suspended = True


async def kill(world: World) -> None:
    world.processes[0].is_alive = False


async def flush(world: World) -> None:
    await world.redis.flushall()


async def restore(world: World) -> None:
    await world.restore()


async def hang(world: World) -> None:
    world.hang()


async def join(world: World) -> None:
    await world.start(2)


FAULTS = (cut_all, cut_one, lose_answers, suspend, kill, flush, restore, hang, join)


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_processes_use_all_of_the_quota_and_no_more(redis: Redis, count: int) -> None:
    """Any number of processes make 60 calls in the first minute after a pause, then 54 a minute."""
    world = World(redis)
    await world.start(count)
    await world.run(10)
    for each in world.processes:
        each.is_greedy = False
    await world.run(20)
    for each in world.processes:
        each.is_greedy = True
    await world.run(180)

    assert 59 <= world.most() <= 60
    assert len(world.sent_since(120)) == pytest.approx(108, abs=1)


async def test_accounts_share_the_quota_of_their_project(redis: Redis) -> None:
    """Three accounts of one project make at most the project's 100 calls a minute, not 180."""
    world = World(redis, accounts=("a", "b", "c"), project_per_minute=90)
    await world.start(3)
    await world.run(150)

    assert 90 <= world.most() <= 100
    assert len(world.sent_since(60)) == pytest.approx(90, abs=1)
    assert all(world.most(account) <= 60 for account in world.accounts)


async def test_waiting_processes_share_the_quota_equally(redis: Redis) -> None:
    """Three processes that always wait get a third of the quota each."""
    world = World(redis, tick_seconds=0.005)
    await world.start(3)
    await world.run(60)

    assert min(Counter(world.sent_since(55)).values()) >= 12


@pytest.mark.parametrize("is_idle", [False, True], ids=["busy", "idle before"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_faults_do_not_exceed_the_quota(
    redis: Redis, fault: Callable[[World], Awaitable[None]], is_idle: bool
) -> None:
    """Before, during and after a fault at most 60 calls a minute pass, and calls continue."""
    world = World(redis)
    await world.start(3)
    await world.run(20)
    await world.save()
    for each in world.processes:
        each.is_greedy = not is_idle
    await world.run(20)
    await fault(world)
    for each in world.processes:
        each.is_greedy = True
    await world.run(80)
    during = len(world.sent_since(60))
    for each in world.processes:
        each.heal()
    await world.resume()
    await world.run(140)

    assert 50 < world.most() <= 60
    assert during >= 34
    assert len(world.sent_since(60)) == pytest.approx(54, abs=1)


async def test_without_redis_each_process_has_its_share(redis: Redis) -> None:
    """Without Redis each of three processes has a third of the rate, even if only one calls."""
    world = World(redis)
    await world.start(3)
    await world.run(10)
    await cut_all(world)
    await world.run(100)
    together = Counter(world.sent_since(60))
    for each in world.processes[1:]:
        each.is_greedy = False
    await world.run(100)

    assert together == {0: 18, 1: 18, 2: 18}
    assert Counter(world.sent_since(60)) == {0: 18}


async def test_a_disconnected_process_has_its_share(redis: Redis) -> None:
    """A disconnected process has a third of the rate, and the other two have two thirds."""
    world = World(redis)
    await world.start(3)
    await world.run(10)
    await cut_one(world)
    await world.run(90)
    sent = Counter(world.sent_since(60))

    assert sent[0] == 18
    assert sent[1] + sent[2] == 36


async def test_without_redis_nothing_is_sent_too_early(redis: Redis) -> None:
    """A process uses its share only after other processes can know of this process."""
    world = World(redis)
    await world.start(3)
    await world.run(10)
    await cut_one(world)
    await world.run(4.5)  # two seconds, and the three for a first call
    early = Counter(world.sent_since(4.45))
    await world.run(2)

    assert early[0] == 0
    assert Counter(world.sent_since(2))[0] == 1


async def test_a_process_that_never_reached_redis_uses_a_tenth(redis: Redis) -> None:
    """A process that never reached Redis uses 1/10 of the rate: it knows no number of processes."""
    world = World(redis)
    world.hang()
    await world.start(1)
    await world.run(300)

    assert len(world.sent_since(180)) == pytest.approx(15, abs=1)


async def test_an_old_copy_of_redis_is_not_trusted(redis: Redis) -> None:
    """After Redis restarts with an old copy, a process gets no burst from the copy."""
    world = World(redis)
    (process,) = await world.start(1)
    await world.run(10)
    process.is_greedy = False
    await world.run(20)
    await world.save()
    process.is_greedy = True
    await world.run(30.1)
    await world.restore()
    await world.run(60)

    assert world.most() <= 60


async def test_a_late_permission_of_redis_is_not_used(redis: Redis) -> None:
    """A process ignores a late permission for a call, because it might have been suspended."""
    world = World(redis)
    (process,) = await world.start(1)
    await world.run(10)
    process.is_greedy = False
    await world.run(10)
    process.link.slow_seconds = 1.0
    late = await process.calls["a"].take()
    process.link.slow_seconds = 0.1

    assert (late, await process.calls["a"].take()) == (False, True)


async def test_a_pause_applies_to_all_processes(redis: Redis) -> None:
    """After a 429 no process makes calls for five seconds, and then one at a time."""
    world = World(redis)
    for each in await world.start(3):
        each.is_greedy = False
    await world.run(20)
    world.processes[1].refused("a")
    await world.processes[1].store.finish()
    for each in world.processes:
        each.is_greedy = True
    await world.run(4.9)
    during = len(world.sent)
    await world.run(3)

    assert during == 0
    assert 2 <= len(world.sent) <= 3


@pytest.mark.parametrize("fault", [flush, restore])
async def test_a_pause_outlives_redis(
    redis: Redis, fault: Callable[[World], Awaitable[None]]
) -> None:
    """After Redis lost its data, each process that knows of a pause stores the pause again."""
    world = World(redis)
    await world.start(2)
    await world.run(5)
    await world.save()
    for pause in (5, 10, 20):
        world.processes[0].refused("a")
        await world.run(pause + 1)
    world.processes[0].refused("a")  # for 40 seconds
    await world.run(2)
    await fault(world)
    await world.start(1)
    before = len(world.sent)
    await world.run(10)

    assert len(world.sent) == before


async def test_a_learnt_limit_applies_to_all_processes(redis: Redis) -> None:
    """After a 429 with a limit of 20, all processes make 18 calls a minute for ten minutes."""
    world = World(redis)
    await world.start(3)
    await world.run(5)
    world.processes[2].refused("a", limit=20)
    await world.run(120)
    learnt = len(world.sent_since(60))
    await world.run(600)

    assert learnt == pytest.approx(18, abs=1)
    assert len(world.sent_since(60)) == pytest.approx(54, abs=1)


async def test_returned_quota_is_used_by_others(redis: Redis) -> None:
    """A call that is not sent returns its quota, which another process can use."""
    world = World(redis)
    first, second = await world.start(2)
    await world.run(5)
    first.is_greedy = second.is_greedy = False
    await world.run(0.5)
    while first.free_at("a") > first.clock() or not await first.calls["a"].take():
        await world.run(0.05)
    first.calls["a"].give_back()
    await first.store.finish()
    second.rates["a"].take_whole()

    assert await second.calls["a"].take()


@pytest.mark.parametrize("count", range(1, 41))
@pytest.mark.parametrize("per_minute", [1, 9, 18, 54, 270])
def test_shares_never_exceed_the_whole(per_minute: int, count: int) -> None:
    """All shares together never exceed the rate."""
    whole = configured_limit(per_minute)
    part = part_of(whole, 1 / count)
    most = int(part.per_minute + part.burst + 1e-6)

    assert count * most <= max(whole.per_minute + whole.burst, count)
    assert part.burst >= 1
