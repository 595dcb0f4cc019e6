"""Tests of `serve --workers`: several processes at one address."""

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from gateway.commands.workers import LONGEST_PAUSE_SECONDS, STEADY_SECONDS, next_pause
from gateway.server.sockets import base_url, bind
from tests.cluster.installation import clustered, is_alive, processor_ticks, serving, workers_of
from tests.cluster.redis_server import RedisServer
from tests.journeys.process import Process, run, running
from tests.journeys.test_process import Installation
from tests.journeys.waiting import PATIENCE_SECONDS, until
from tests.postgres import PostgresServer

CLIENTS = 8


@pytest.fixture
def installed(
    postgres: PostgresServer, any_redis: RedisServer, tmp_path: Path
) -> Iterator[Installation]:
    """Configuration for several processes with metrics."""
    settings = '[metrics]\nlisten = "0"\n'
    with clustered(tmp_path, postgres, any_redis, settings=settings) as installation:
        yield installation


def connection_to(url: str) -> HTTPConnection:
    parts = urlsplit(url)
    return HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)


def ask(url: str, stop: threading.Event) -> tuple[int, int]:
    """Send requests until a stop; count answers and broken connections."""
    connection, answered, broken = connection_to(url), 0, 0
    while not stop.is_set():
        try:
            connection.request("GET", "/livez")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            answered += 1
        except ConnectionError:
            connection.close()
            broken += 1
    connection.close()
    return answered, broken


def metrics_of(gateway: Process) -> list[str]:
    return re.findall(r"http://\S+/metrics", gateway.said[-1])


def test_workers_share_the_requests(installed: Installation) -> None:
    """Each worker gets requests, also of persistent connections, and has its own metrics."""
    stop = threading.Event()
    with serving(installed, "--workers", "2") as gateway, ThreadPoolExecutor(CLIENTS) as pool:
        asking = [pool.submit(ask, gateway.url, stop) for _ in range(CLIENTS)]
        workers = workers_of(gateway)
        assert until(lambda: min(map(processor_ticks, workers)) > 0)
        stop.set()
        counts = [each.result() for each in asking]
        urls = metrics_of(gateway)
        know_each_other = [
            until(lambda url=url: "gateway_processes 2.0" in httpx2.get(url).text)  # type: ignore[misc]
            for url in urls
        ]
        status = gateway.end()
        log = gateway.log.read_text()

    assert len(workers) == 2
    assert gateway.said == [gateway.said[0]]
    assert f"Sheets gateway on {gateway.url}, 2 workers, metrics on http" in gateway.said[0]
    assert [broken for _, broken in counts] == [0] * CLIENTS
    assert know_each_other == [True, True]
    assert status == 0
    assert "worker-ended" not in log


def test_a_killed_worker_is_replaced(installed: Installation) -> None:
    """After a worker is killed its connections break, and all new connections are answered."""
    stop = threading.Event()
    with serving(installed, "--workers", "2") as gateway, ThreadPoolExecutor(CLIENTS) as pool:
        asking = [pool.submit(ask, gateway.url, stop) for _ in range(CLIENTS)]
        before = workers_of(gateway)
        os.kill(before[0], signal.SIGKILL)
        is_replaced = until(lambda: len({*workers_of(gateway)} - {before[0]}) == 2)
        on_new_connections = [is_alive(gateway.url) for _ in range(10)]
        stop.set()
        counts = [each.result() for each in asking]
        after = workers_of(gateway)
        status = gateway.end()
        log = gateway.log.read_text()

    assert is_replaced
    assert before[1] in after
    assert on_new_connections == [True] * 10
    assert max(broken for _, broken in counts) <= 1
    assert min(answered for answered, _ in counts) > 0
    assert status == 0
    assert '"status": -9' in log


def test_a_worker_that_cannot_be_replaced(installed: Installation) -> None:
    """While a killed worker cannot be replaced, the other worker gets all connections."""
    config = installed.folder / "config.toml"
    text = config.read_text()
    with serving(installed, "--workers", "2") as gateway:
        config.write_text("[server]\nprot = 1\n")
        before = workers_of(gateway)
        os.kill(before[0], signal.SIGKILL)
        has_failed = until(lambda: '"status": 2' in gateway.log.read_text())
        count = listening_count(gateway.url)
        without_it = [is_alive(gateway.url) for _ in range(60)]
        config.write_text(text)
        is_replaced = until(lambda: listening_count(gateway.url) == 2)
        with_it = [is_alive(gateway.url) for _ in range(20)]
        status = gateway.end()
        log = gateway.log.read_text()

    assert has_failed
    assert is_replaced
    assert (count, without_it, with_it) == (1, [True] * 60, [True] * 20)
    assert status == 0
    assert "server.prot: there is no such setting" in log


def listening_count(url: str) -> int:
    """Number of sockets that listen at the port of `url`."""
    address = f"{urlsplit(url).port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()
    return sum(f":{address} 00000000:0000 0A" in line for line in lines)


def test_workers_stop_gracefully(installed: Installation) -> None:
    """After SIGTERM, running requests are answered and all processes end."""
    key = installed.create_key("--spreadsheet", "demo")["key"]
    installed.emulator.faults({"call": "spreadsheets.batchUpdate", "delay_ms": 1500})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with serving(installed, "--workers", "2") as gateway:
        workers = workers_of(gateway)
        begun = [connection_to(gateway.url) for _ in range(CLIENTS)]
        for number, each in enumerate(begun):
            each.request("POST", "/v2/sheets/New", json.dumps({"name": f"n{number}"}), headers)
        assert until(lambda: installed.emulator.calls()[1] >= 1)
        status = gateway.end()
        answers = [json.loads(each.getresponse().read())["name"] for each in begun]
        for each in begun:
            each.close()

    assert status == 0
    assert answers == [f"n{number}" for number in range(CLIENTS)]
    assert [Path(f"/proc/{pid}").exists() for pid in workers] == [False, False]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda each: each.name)
def test_signals_are_forwarded(installed: Installation, number: signal.Signals) -> None:
    """Ctrl-C and the end of the terminal end all worker processes with status 0."""
    with serving(installed, "--workers", "2") as gateway:
        workers = workers_of(gateway)
        gateway.process.send_signal(number)
        status = gateway.process.wait(PATIENCE_SECONDS)
        log = gateway.log.read_text()

    assert status == 0
    assert [Path(f"/proc/{pid}").exists() for pid in workers] == [False, False]
    assert "Traceback" not in log


def test_workers_end_with_their_parent(installed: Installation) -> None:
    """After `kill -9` of the parent, all workers end."""
    with serving(installed, "--workers", "2") as gateway:
        workers = workers_of(gateway)
        gateway.process.kill()
        have_ended = until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))

    assert have_ended


def test_workers_share_an_inherited_socket(installed: Installation) -> None:
    """Connections that wait at an inherited socket are answered by the next gateway."""
    config = str(installed.folder / "config.toml")
    with bind("127.0.0.1", 0) as listening:
        fd, where = listening.fileno(), base_url(listening)
        options = ("serve", "--workers", "2", "--fd", str(fd), "--config", config)
        with running(installed.folder / "log", *options, fds=[fd]) as first:
            is_first_fine = is_alive(first.url)
            status = first.end()
        with running(installed.folder / "log", *options, fds=[fd]) as second:
            is_second_fine = is_alive(second.url)

    assert (first.url, is_first_fine, is_second_fine, status) == (where, True, True, 0)


def test_processes_of_a_cluster_need_no_lock(installed: Installation) -> None:
    """Two gateways of a cluster start with one database, and both answer."""
    with serving(installed) as first, serving(installed, name="other") as second:
        answers = [is_alive(each.url) for each in (first, second)]

    assert answers == [True, True]


@pytest.mark.parametrize("setting", ["nothing", "redis"])
def test_workers_need_a_cluster(tmp_path: Path, setting: str) -> None:
    """Several workers with SQLite are an error, with or without Redis."""
    (tmp_path / "config.toml").touch(mode=0o600)
    text = '[cluster]\nredis = "redis://127.0.0.1:1/0"\n' if setting == "redis" else ""
    (tmp_path / "config.toml").write_text(text)
    done = run("serve", "--workers", "2", "--config", str(tmp_path / "config.toml"))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sheets-gateway: --workers: several processes need cluster.redis and a PostgreSQL database "
        "as access.database. Set both, or omit --workers\n"
    )


def test_workers_that_cannot_start_end_the_parent(installed: Installation) -> None:
    """If workers cannot start, the reason is printed once; the status is the workers' status."""
    (installed.folder / "pepper").write_text("another-pepper-than-before")
    (installed.folder / "pepper").chmod(0o644)
    config = str(installed.folder / "config.toml")
    done = run("serve", "--workers", "3", "--port", "0", "--config", config)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2
    assert "pepper" in done.stderr
    assert done.stderr.endswith("sheets-gateway: the workers do not start; the log says why\n")


def test_a_port_that_another_gateway_has(installed: Installation) -> None:
    """A port that another gateway uses is an error, although workers share ports."""
    config = str(installed.folder / "config.toml")
    with serving(installed, "--workers", "2") as gateway:
        port = str(urlsplit(gateway.url).port)
        done = run("serve", "--workers", "2", "--port", port, "--config", config)

    assert done.returncode == 2
    assert "another program uses the port" in done.stderr


def test_ports_of_metrics(installed: Installation) -> None:
    """Each worker uses the next metrics port; a range that includes the API port is an error."""
    config = installed.folder / "config.toml"
    config.write_text(config.read_text().replace('listen = "0"', 'listen = "8079"'))
    done = run("serve", "--workers", "3", "--port", "8080", "--config", str(config))

    assert done.returncode == 2
    assert "metrics.listen: 3 workers use the ports 8079 to 8081" in done.stderr


def test_pauses_between_starts_grow() -> None:
    """Pauses between restarts double up to a limit, and are 0 after a steady run."""
    pauses, pause = [], 0.0
    for _ in range(7):
        pause = next_pause(pause, 0.1)
        pauses.append(pause)

    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]
    assert next_pause(pause, STEADY_SECONDS) == 0.0
