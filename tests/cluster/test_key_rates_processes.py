"""Test of the rate of one key at two gateway processes."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.installation import clustered, serving
from tests.cluster.redis_server import RedisServer
from tests.journeys.test_process import Installation, Served
from tests.postgres import PostgresServer

BURST = 10
SETTINGS = "[plans.free]\nrequests_per_minute = 60\n"


@pytest.fixture
def installed(
    postgres: PostgresServer, any_redis: RedisServer, tmp_path: Path
) -> Iterator[Installation]:
    with clustered(tmp_path, postgres, any_redis, settings=SETTINGS) as installation:
        yield installation


def test_gateways_count_the_requests_of_a_key_together(installed: Installation) -> None:
    """After one gateway admitted the burst, another admits at most half of it and the recovery."""
    key = installed.create_key("--plan", "free", "--spreadsheet", "demo")["key"]
    with serving(installed, name="a") as first, serving(installed, name="b") as second:
        began = time.monotonic()
        statuses = [
            [Served(each).request("GET", "Cities", key).status_code for _ in range(9)]
            for each in (first, second)
        ]
        seconds = time.monotonic() - began

    assert statuses[0] == [200] * 9
    assert set(statuses[1]) <= {200, 429}
    assert 1 <= statuses[1].count(200) <= 1 + BURST // 2 + seconds
