"""The servers as processes: emulator, gateway and bare Starlette, each on a free loopback port."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

COMMAND = (sys.executable, "-m", "gateway")
SPREADSHEET = "book"
LONG_LIFE = "rows_ttl_seconds = 3600"
"""Cache setting with which rows stay cached for a whole run."""
START_SECONDS = 180.0
"""Longest wait for a first answer, long enough for a process under valgrind."""
STOP_SECONDS = 10.0
HOST = "127.0.0.1"
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server process that answers."""

    url: str
    pid: int
    start_seconds: float
    """Seconds from the start of the process to its first good answer."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """Configuration of a gateway, and a key for its worksheet."""

    config: Path
    key: str
    log: Path

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "X-Spreadsheet-Id": SPREADSHEET}


@contextmanager
def emulator(folder: Path, *options: str) -> Iterator[Running]:
    """Run the emulator with the CSV files of a folder, into which it writes its credentials."""
    port = free_port()
    files = ("--seed", str(folder / "seed"), "--credentials", str(folder / "account.json"))
    command = [*COMMAND, "emulator", "--port", str(port), *files, *options]
    with serving(command, port, "/_emulator/stats", log=folder / "emulator.log") as running:
        yield running


def make_site(folder: Path, google: str, *, cache: str = "") -> Site:
    """Write a configuration like a user's, and create a key; `cache` is the text of [cache]."""
    config = folder / "config.toml"
    config.write_text(
        f'[google]\nendpoint = "{google}"\ncredentials = "account.json"\n[cache]\n{cache}\n'
        "[plans.paid]\nrequests_per_minute = 1000000000\n",
        encoding="utf-8",
    )
    return Site(config=config, key=make_key(config), log=folder / "gateway.log")


def make_key(config: Path) -> str:
    """Create a key for the spreadsheet, also before the gateway starts."""
    options = ("--name", "benchmark", "--spreadsheet", SPREADSHEET, "--json")
    made = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, "keys", "create", *options, "--config", str(config)],
        capture_output=True,
        check=True,
        cwd=_ROOT,
    )
    key: str = json.loads(made.stdout)["key"]
    return key


@contextmanager
def gateway(site: Site, *options: str, tool: Sequence[str] = ()) -> Iterator[Running]:
    """Run the gateway as a user does, with its log in a file; `tool` runs its interpreter."""
    port = free_port()
    given = ("--config", str(site.config), "--port", str(port), *options)
    command = [*tool, *COMMAND, "serve", *given]
    with serving(command, port, "/readyz", log=site.log) as running:
        yield running


@contextmanager
def floor(folder: Path, *, tool: Sequence[str] = ()) -> Iterator[Running]:
    """Run bare Starlette; `tool` runs its interpreter."""
    port = free_port()
    command = [*tool, sys.executable, "-m", "benchmarks.floor", str(port)]
    with serving(command, port, "/", log=folder / "floor.log") as running:
        yield running


@contextmanager
def serving(command: Sequence[str], port: int, path: str, *, log: Path) -> Iterator[Running]:
    """Run a server command during the block, and yield after its first good answer."""
    started = time.perf_counter()
    with (
        log.open("ab") as file,
        subprocess.Popen(command, stdout=file, stderr=file, cwd=_ROOT) as process,  # noqa: S603
    ):
        try:
            _wait(process, port, path, log)
            seconds = time.perf_counter() - started
            yield Running(url=f"http://{HOST}:{port}", pid=process.pid, start_seconds=seconds)
        finally:
            _stop(process)


def _wait(process: "subprocess.Popen[bytes]", port: int, path: str, log: Path) -> None:
    deadline = time.perf_counter() + START_SECONDS
    while time.perf_counter() < deadline and process.poll() is None:
        try:
            if fetch(f"http://{HOST}:{port}", path)[0] == 200:
                return
        except OSError:  # the server does not listen yet
            time.sleep(0.005)
    raise SystemExit(f"{process.args!r} did not start; its log is\n{log.read_text()[-2000:]}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def fetch(
    url: str, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET",
    body: bytes | None = None,
) -> tuple[int, bytes]:  # fmt: skip
    """Return status and body of one request on a new connection."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=START_SECONDS)
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def get(running: Running, site: Site, path: str) -> bytes:
    """Return the body of the gateway's answer. Raises SystemExit for a status other than 200."""
    status, body = fetch(running.url, path, site.headers)
    if status != 200:
        raise SystemExit(f"{path} was answered {status}: {body[:500]!r}")
    return body


def free_port() -> int:
    with socket.create_server((HOST, 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def resident_megabytes(pid: int) -> float:
    """Return the current memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


def core_seconds(pid: int) -> float:
    """Return the CPU seconds of a process, with all its threads and child processes."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return own + sum(core_seconds(int(each)) for each in below)
