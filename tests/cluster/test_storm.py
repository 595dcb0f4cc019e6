"""The quota of Google that processes share, under chains of faults."""

import pytest
from redis.asyncio import Redis

from tests.cluster.weather import storm
from tests.cluster.world import World


@pytest.mark.parametrize("seed", range(30))
async def test_no_chain_of_faults_lets_too_many_pass(redis: Redis, seed: int) -> None:
    """At most 60 calls pass in any minute during any sequence of faults."""
    world = World(redis)
    await storm(world, seed)

    assert world.most() <= 60
