"""Gateways as processes that share a PostgreSQL database and a Redis."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.cluster.redis_server import RedisServer
from tests.journeys.conftest import EmulatorControl, running_emulator
from tests.journeys.process import Process, running
from tests.journeys.test_process import Installation
from tests.journeys.workbook import WORKBOOK
from tests.postgres import PostgresServer

PLAN = "[plans.paid]\nrequests_per_minute = 0\n"


@contextmanager
def clustered(
    folder: Path, postgres: PostgresServer, redis: RedisServer, *, settings: str = ""
) -> Iterator[Installation]:
    """Yield the configuration of a cluster with an emulator and its own migrated database."""
    redis.restart()
    seed = folder / "emulator"
    seed.mkdir()
    with running_emulator(seed, WORKBOOK) as emulator:
        database = postgres.new_database().url.get_secret_value()
        config = folder / "config.toml"
        config.touch(mode=0o600)
        config.write_text(config_text(emulator, database, redis) + settings)
        yield Installation(folder=folder, emulator=emulator)


def config_text(emulator: EmulatorControl, database: str, redis: RedisServer) -> str:
    return (
        f"[google]\nendpoint = {json.dumps(emulator.url)}\n"
        f"credentials = {json.dumps(str(emulator.credentials))}\n"
        "reads_per_minute = 100000\nwrites_per_minute = 100000\n"
        "project_reads_per_minute = 100000\nproject_writes_per_minute = 100000\n"
        f'[access]\ndatabase = "{database}"\npepper_file = "pepper"\n'
        f'[cluster]\nredis = "{redis.url}"\n{PLAN}'
    )


@contextmanager
def serving(installation: Installation, *options: str, name: str = "log") -> Iterator[Process]:
    """Run a gateway on a free port, unless `options` name another one."""
    config = str(installation.folder / "config.toml")
    words = ("serve", "--port", "0", "--config", config, *options)
    with running(installation.folder / name, *words) as process:
        yield process


def workers_of(process: Process) -> list[int]:
    """Return the process IDs of the child processes."""
    pid = process.process.pid
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(word) for task in tasks for word in task.read_text().split())


def processor_ticks(pid: int) -> int:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def is_alive(url: str) -> bool:
    """True if the gateway answers on a new connection."""
    try:
        return httpx2.get(f"{url}/livez", timeout=5.0).status_code == 200
    except httpx2.TransportError:
        return False
