"""Test of three gateways behind nginx: one is killed, then all are restarted in turn."""

import json
import shutil
import signal
import ssl
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.server.sockets import bind
from tests.cluster.installation import clustered, is_alive, serving
from tests.cluster.redis_server import RedisServer
from tests.docs.blocks import TOP, Block
from tests.docs.proxies import HOST, Proxy, running_nginx
from tests.journeys.process import Process
from tests.journeys.test_process import Installation
from tests.journeys.waiting import PATIENCE_SECONDS, until
from tests.postgres import PostgresServer

NGINX = Block(
    page="docs/deployment/cluster/nginx.conf",
    line=1,
    language="nginx",
    text=(TOP / "docs" / "deployment" / "cluster" / "nginx.conf").read_text("utf-8"),
)
GATEWAYS = ("gateway-1", "gateway-2", "gateway-3")
READERS, WRITERS = 4, 4
REPEATED_SECONDS = 60.0

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx to run")


@dataclass
class Load:
    """Clients that read, and that write with an Idempotency-Key like the README's client."""

    proxy: Proxy
    key: str
    stop: threading.Event = field(default_factory=threading.Event)
    created: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        with ThreadPoolExecutor(READERS + WRITERS) as pool:
            work = [pool.submit(self._read) for _ in range(READERS)]
            work += [pool.submit(self._write, number) for number in range(WRITERS)]
            try:
                yield
            finally:
                self.stop.set()
            for each in work:
                each.result()

    def client(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=f"{self.proxy.url}/v2/sheets/",
            verify=ssl.create_default_context(cafile=str(self.proxy.certificate)),
            headers={"Host": HOST, "Authorization": f"Bearer {self.key}"},
            timeout=60.0,
        )

    def _read(self) -> None:
        with self.client() as client:
            while not self.stop.is_set():
                self._note("GET", client.get("Cities", params={"limit": "2"}), (200,))

    def _write(self, number: int) -> None:
        with self.client() as client:
            count = 0
            while not self.stop.is_set():
                count += 1
                name = f"w{number}-{count}"
                if self._create(client, name):
                    self.created.append(name)

    def _create(self, client: httpx2.Client, name: str) -> bool:
        """Create a row. Repeats the request while the answer allows a repeat."""
        headers, ends = {"Idempotency-Key": str(uuid.uuid4())}, time.monotonic() + REPEATED_SECONDS
        while True:
            answer = client.post("New", json={"name": name}, headers=headers)
            if answer.status_code == 201:
                return self._note("POST", answer, (201,))
            said = _json(answer)
            is_safe = said.get("retryable") or said.get("outcome") == "unknown"
            if not is_safe or time.monotonic() > ends:
                return self._note("POST", answer, (201,))
            self.statuses[f"POST {said['code']} repeated"] += 1
            threading.Event().wait(min(float(answer.headers.get("Retry-After", "1")), 2.0))

    def _note(self, method: str, answer: httpx2.Response, good: tuple[int, ...]) -> bool:
        self.statuses[f"{method} {answer.status_code}"] += 1
        if answer.status_code not in good:
            self.failures.append(f"{method} {answer.status_code} {answer.text[:300]}")
        return answer.status_code in good


def _json(answer: httpx2.Response) -> dict[str, Any]:
    try:
        said: dict[str, Any] = answer.json()
    except json.JSONDecodeError:  # nginx's own page
        return {}
    return said


@dataclass
class Fleet:
    """Gateways on fixed ports that can be replaced."""

    installation: Installation
    ports: dict[str, int]
    stacks: dict[str, ExitStack] = field(default_factory=dict)
    running: dict[str, Process] = field(default_factory=dict)
    starts: int = 0

    def start(self, name: str) -> None:
        self.starts += 1
        stack = ExitStack()
        port, log = str(self.ports[name]), f"{name}.{self.starts}.log"
        process = stack.enter_context(serving(self.installation, "--port", port, name=log))
        self.stacks[name], self.running[name] = stack, process
        assert until(lambda: is_alive(process.url))

    def kill(self, name: str) -> None:
        process = self.running[name].process
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)

    def end(self, name: str) -> int:
        return self.running[name].end()

    def close(self) -> None:
        for stack in self.stacks.values():
            stack.close()


@pytest.fixture
def fleet(postgres: PostgresServer, any_redis: RedisServer, tmp_path: Path) -> Iterator[Fleet]:
    with (
        clustered(tmp_path, postgres, any_redis) as installation,
        bind("127.0.0.1", 0) as first,
        bind("127.0.0.1", 0) as second,
        bind("127.0.0.1", 0) as third,
    ):
        ports = [each.getsockname()[1] for each in (first, second, third)]
        for each in (first, second, third):
            each.close()
        started = Fleet(installation, dict(zip(GATEWAYS, ports, strict=True)))
        try:
            yield started
        finally:
            started.close()


def nginx_for(fleet: Fleet) -> Block:
    block = NGINX
    for name, port in fleet.ports.items():
        block = block.replaced(f"{name}:8000", f"127.0.0.1:{port}")
    return block


def test_no_request_fails_while_gateways_are_killed_and_upgraded(
    fleet: Fleet, tmp_path: Path
) -> None:
    """Reads and writes with keys succeed all the time, and each write makes exactly one row."""
    key = fleet.installation.create_key("--spreadsheet", "demo")["key"]
    slow = {"call": "spreadsheets.batchUpdate", "times": 1_000_000, "delay_ms": 300}
    fleet.installation.emulator.faults(slow)
    for name in GATEWAYS:
        fleet.start(name)
    with running_nginx(nginx_for(fleet), tmp_path, gateway="") as proxy:
        load = Load(proxy, key)
        with load.running():
            threading.Event().wait(2.0)
            fleet.kill("gateway-1")
            threading.Event().wait(2.0)
            fleet.start("gateway-1")
            statuses = []
            for name in GATEWAYS:
                statuses.append(fleet.end(name))
                fleet.start(name)
                threading.Event().wait(1.0)
    rows = [line[0] for line in fleet.installation.emulator.texts("New")[1:]]
    print(dict(load.statuses))

    assert load.failures == []
    assert statuses == [0, 0, 0]
    assert sorted(rows) == sorted(load.created)
    assert load.statuses["GET 200"] > 100
    assert load.statuses["POST 201"] > 10
