"""Test of the shared quota under random chains of faults."""

import pytest
from redis.asyncio import Redis

from tests.cluster.weather import storm
from tests.cluster.world import World


@pytest.mark.parametrize("seed", range(30))
async def test_random_faults_do_not_exceed_the_quota(redis: Redis, seed: int) -> None:
    """At most 60 calls pass in any minute during any sequence of faults."""
    world = World(redis)
    await storm(world, seed)

    assert world.most() <= 60
