"""Whole gateways that share a Redis by `[cluster] redis`."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis
from structlog.testing import capture_logs

from gateway.telemetry.events import tallies
from tests.cluster.redis_server import PASSWORD, RedisServer
from tests.postgres import PostgresServer
from tests.surfaces.stage import Surface, open_surface

KEY = "{gateway}:quota:reads:account:main"


@pytest.fixture
def two(server: RedisServer, postgres: PostgresServer, tmp_path: Path) -> Iterator[list[Surface]]:
    """Two gateways with one key store and one Redis."""
    overrides = {
        "cluster.redis": server.url,
        "access.database": postgres.new_database(),
        "access.pepper": "pepper-of-two-gateways",
        "google.reads_per_minute": 54,
    }
    with ExitStack() as stack:
        surfaces = []
        for name in "ab":
            folder = tmp_path / name
            folder.mkdir()
            surfaces.append(stack.enter_context(open_surface(folder, overrides=overrides)))
        yield surfaces


def test_gateways_take_from_one_quota(two: list[Surface], server: RedisServer) -> None:
    """Reads of two gateways count against the same quota."""
    with Redis.from_url(server.url, decode_responses=True) as client:
        used = []
        for surface in two:
            answer = surface.send("GET", "Cities")
            used.append(int(str(client.hget(KEY, "full_at"))))

            assert answer.status_code == 200
    assert used[1] - used[0] >= 1_000_000
    assert tallies.processes == 2
    assert tallies.is_store_available


def test_gateways_serve_without_redis(two: list[Surface], server: RedisServer) -> None:
    """Without Redis, gateways answer reads, and log the failure without the password."""
    two[0].send("GET", "Cities")
    with capture_logs() as lines:
        server.kill()
        answer = two[0].send("GET", "New")
    server.start()

    assert answer.status_code == 200
    assert [line["is_available"] for line in lines if line["event"] == "redis"][:1] == [False]
    assert PASSWORD not in str(lines)


def test_with_sqlite_redis_is_not_used(server: RedisServer, tmp_path: Path) -> None:
    """A gateway with a SQLite key store ignores Redis."""
    with open_surface(tmp_path, overrides={"cluster.redis": server.url}) as surface:
        answer = surface.send("GET", "Cities")
    with Redis.from_url(server.url) as client:
        names = client.keys()

    assert answer.status_code == 200
    assert names == []


def test_without_a_cluster_redis_is_not_imported() -> None:
    """Without a cluster, the library redis, which belongs to an extra, is not imported."""
    program = "import sys, gateway.app; raise SystemExit('redis' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0  # noqa: S603
