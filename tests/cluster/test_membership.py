"""Heartbeats: the number of processes, and each process's share of the rate without Redis."""

import os
import subprocess

from redis.asyncio import Redis

from gateway.cluster.membership import MEMBERS
from gateway.cluster.scripts import HEARTBEAT
from tests.cluster.world import Process, World

KEY = "{gateway}:quota:a"


def shares(*processes: Process) -> list[float]:
    """Each process's share of the rate without Redis, rounded to a thousandth."""
    for each in processes:
        each.store.lost()
    return [round(each.usable_share, 3) for each in processes]


def free_pid() -> int:
    """ID of a process that has ended."""
    gone = subprocess.Popen(["true"])  # noqa: S607 - any process
    gone.wait()
    return gone.pid


async def test_each_process_has_an_equal_share(redis: Redis) -> None:
    """Each of N processes has 1/N of the rates as soon as all processes know each other."""
    world = World(redis)
    await world.start(2)
    await world.run(5)
    two = shares(*world.processes)
    await world.start(1)
    await world.run(5)

    assert two == [0.5, 0.5]
    assert shares(*world.processes) == [0.333, 0.333, 0.333]


async def test_a_new_process_has_what_the_others_leave(redis: Redis) -> None:
    """A new process has no share until the others know it, so that all shares keep to the rate."""
    world = World(redis)
    await world.start(2)
    await world.run(5)
    (third,) = await world.start(1)

    assert shares(third) == [0.0]


async def test_a_share_shrinks_when_its_process_knows(redis: Redis) -> None:
    """A new third process gets less while another process still uses a half of the rate."""
    world = World(redis)
    await world.start(2)
    await world.run(5)
    world.processes[0].link.loses_answers = True
    await world.start(1)
    await world.run(3)

    assert shares(world.processes[0]) == [0.5]
    assert sum(shares(*world.processes)) <= 1.0


async def test_an_empty_redis_waits_for_the_others(redis: Redis) -> None:
    """After Redis lost its data, the first process uses its share until others could register."""
    world = World(redis)
    await world.start(3)
    await world.run(5)
    for each in world.processes:
        each.link.is_cut = True
    await world.run(5)
    await redis.flushall()
    world.processes[0].heal()
    stamps = []
    for seconds in (1.0, 5.0):
        await world.run(seconds)
        stamps.append(str(await redis.hget(KEY, "stamp")).rpartition(":")[2])

    assert stamps == ["0.3333", "1"]


async def test_a_heartbeat_without_an_answer_delays_calls(redis: Redis) -> None:
    """A process whose heartbeat got no answer makes no calls while others might count it."""
    world = World(redis)
    process, _ = await world.start(2)
    await world.run(5)
    process.link.is_cut = True
    await world.run(10)
    process.heal()
    process.link.lost_script = HEARTBEAT
    await process.membership.beat()

    assert process.free_at("a") - process.clock() >= 2.0


async def test_a_process_that_leaves_is_forgotten_at_once(redis: Redis) -> None:
    """The share of a process that stops goes to the other processes at once."""
    world = World(redis)
    first, second = await world.start(2)
    await world.run(5)
    await second.membership.leave()
    second.is_alive = False
    await world.run(1)

    assert shares(first) == [1.0]


async def test_a_dead_process_is_forgotten_after_two_minutes(redis: Redis) -> None:
    """A dead process counts for two minutes, because it might only be disconnected."""
    world = World(redis)
    first, second = await world.start(2)
    await world.run(5)
    second.is_alive = False
    await world.run(110)
    before = shares(first)
    await world.run(20)

    assert (before, shares(first)) == ([0.5], [1.0])


async def test_a_dead_process_of_this_machine_is_forgotten_at_once(redis: Redis) -> None:
    """A dead process of the same machine stops counting at once: its process ID does not exist."""
    world = World(redis)
    await world.start(1)
    await world.run(5)
    names = {"dead": f"host-0 {free_pid()}", "alive": f"host-0 {os.getppid()}", "far": "host-1 1"}
    for id_, name in names.items():
        await redis.hset(MEMBERS, id_, f"{round(world.redis_time() * 1e6)} 0.1 {name}")
    await world.run(3)

    assert set(await redis.hkeys(MEMBERS)) & set(names) == {"alive", "far"}


async def test_a_late_heartbeat_is_ignored(redis: Redis) -> None:
    """A heartbeat that a hanging Redis executes late does not register a process that gave up."""
    world = World(redis)
    (process,) = await world.start(1)
    process.is_greedy = False  # its calls would notice the fault before the heartbeat
    await world.run(5)
    world.hang()
    await world.run(0.5)
    before = await redis.hget(MEMBERS, process.membership.id)
    process.is_alive = False
    await world.run(5)
    await world.resume()

    assert before is not None
    assert await redis.hget(MEMBERS, process.membership.id) == before


async def test_the_clock_of_redis_can_change(redis: Redis) -> None:
    """Processes continue if the clock of Redis moves by an hour."""
    world = World(redis)
    await world.start(2)
    await world.run(5)
    for hours in (-1, 2):
        world.skipped += 3600 * hours
        await world.run(100)

        assert len(world.sent_since(60)) >= 53
