"""One normal client beside a thousand slow clients.  Usage: python -m benchmarks.slow_sockets

The gateway runs as a process in front of the emulator, as for a user, with its default deadlines. A
third of the slow clients sends a request head byte by byte, a third a body, and a third requests
large answers and reads nothing. The normal client requests a page continuously, before and during
that load. The exit status is 1 if a goal is missed: its p99, and the deadlines of the slow sockets.
"""

import argparse
import http.client
import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.dialects import WORKSHEET
from benchmarks.emulator import peak_megabytes
from benchmarks.processes import (
    COMMAND,
    HOST,
    LONG_LIFE,
    SPREADSHEET,
    Running,
    Site,
    emulator,
    fetch,
    get,
    make_site,
    resident_megabytes,
)
from benchmarks.report import milliseconds, print_header, print_row, surroundings, verdict
from benchmarks.sheet import make_cities, write_csv
from benchmarks.slow_clients import LOOK_SECONDS, Fate, Habit, crowd
from gateway.server.limits import LINGER_SECONDS
from gateway.server.sockets import base_url, bind
from gateway.settings.model import ServerSettings

ROWS = 1_000
PAGE = f"/v2/sheets/{WORKSHEET}"
PAUSE_SECONDS = 0.005
"""Pause between an answer to the normal client and its next request."""
TIMEOUT_SECONDS = 30.0
PIPELINED = 4
"""Number of whole worksheets, of 250 KB each, that a client without reading requests."""
SENDING_BYTES = 65_536
"""Size of the server's send buffer of a connection.

The loopback's default of 2.6 MB is larger than on a network, and the gateway cannot free its
content.
"""
MOST_P99_SECONDS = 0.1
SWEEP_SECONDS = 0.1
LATE_SECONDS = 4 * SWEEP_SECONDS + LINGER_SECONDS + 2 * LOOK_SECONDS
"""Allowed delay after a deadline: the client can read the error, and sweeps can be late."""


@dataclass(frozen=True, kw_only=True)
class Slowness:
    """A habit of a slow client, and the deadline that ends its connection."""

    habit: Habit
    deadline_seconds: float


def main() -> None:
    """Print the tables. The exit status is 1 if a goal is missed."""
    options = _options()
    print(f"{surroundings()}; {options.sockets:,} slow sockets\n")
    with installed() as (site, running):
        good = Good(site, running)
        calm = good.times(lambda: len(good.seconds) * PAUSE_SECONDS > options.calm)
        before = resident_megabytes(running.pid)
        kinds = slownesses(site)
        habits = {name: kind.habit for name, kind in kinds.items()}
        port = urlsplit(running.url).port
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            slow = pool.submit(crowd, port or 0, habits, options.sockets)
            beside = good.times(slow.done)
        growth = peak_megabytes(running.pid) - before
        are_good = [
            report_times({"alone": calm, "beside slow clients": beside}),
            report_fates(kinds, slow.result()),
        ]
    print(f"\nThe gateway held {before:.0f} MB before, and at most {growth:.0f} MB more.")
    sys.exit(not all(are_good))


@contextmanager
def installed() -> Iterator[tuple[Site, Running]]:
    """Run a gateway with a cached worksheet, and a key without a limit of concurrent requests."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_csv(folder / "seed" / SPREADSHEET / f"{WORKSHEET}.csv", make_cities(ROWS))
        google = stack.enter_context(emulator(folder))
        site = make_site(folder, google.url, cache=LONG_LIFE)
        with site.config.open("a", encoding="utf-8") as file:
            # These settings belong to the plan, the last table of the file.
            file.write(f"max_concurrent = 0\nmax_limit = {ROWS}\n")
        running = stack.enter_context(serving(site))
        get(running, site, PAGE)
        yield site, running


@contextmanager
def serving(site: Site) -> Iterator[Running]:
    """Run the gateway on an inherited socket whose connections have small buffers."""
    with ExitStack() as stack:
        listening = stack.enter_context(bind(HOST, 0))
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENDING_BYTES)
        options = ["--config", str(site.config), "--fd", str(listening.fileno())]
        log = stack.enter_context(site.log.open("wb"))
        began = time.perf_counter()
        process = stack.enter_context(
            subprocess.Popen(  # noqa: S603 - our own command
                [*COMMAND, "serve", *options],
                stdout=log,
                stderr=log,
                pass_fds=[listening.fileno()],
            )
        )
        stack.callback(process.terminate)
        status, _ = fetch(
            base_url(listening), "/readyz"
        )  # the request waits in the socket until the gateway serves
        if status != 200:
            raise SystemExit(f"The gateway is not ready: {status}.")
        seconds = time.perf_counter() - began
        yield Running(url=base_url(listening), pid=process.pid, start_seconds=seconds)


def slownesses(site: Site) -> Mapping[str, Slowness]:
    """Return the three kinds of slow clients by name."""
    server = ServerSettings()
    lines = "".join(f"{name}: {value}\r\n" for name, value in site.headers.items())
    get_all = f"GET {PAGE}?limit={ROWS} HTTP/1.1\r\nHost: gateway\r\n{lines}"
    create = f"POST {PAGE} HTTP/1.1\r\nHost: gateway\r\n{lines}"
    body = 'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"name":"'
    sent = {
        "head": (f"{get_all}X-Slow: ", b"x", server.head_timeout_seconds),
        "body": (create + body, b"x", server.body_timeout_seconds),
        "reader": (f"{get_all}\r\n" * PIPELINED, b"", server.answer_timeout_seconds),
    }
    return {
        name: Slowness(
            habit=Habit(name=name, opening=opening.encode(), bit=bit), deadline_seconds=seconds
        )
        for name, (opening, bit, seconds) in sent.items()
    }


class Good:
    """The normal client, with one connection; `seconds` are the latencies of its answers.

    A failed request ends the run.
    """

    def __init__(self, site: Site, running: Running) -> None:
        self._headers = site.headers
        self._connection = http.client.HTTPConnection(
            urlsplit(running.url).netloc, timeout=TIMEOUT_SECONDS
        )
        self.seconds: list[float] = []

    def times(self, is_over: Callable[[], bool]) -> Sequence[float]:
        """Request pages until `is_over`, and return the latencies in seconds."""
        self.seconds = []
        while not is_over():
            time.sleep(PAUSE_SECONDS)
            self._ask()
        return self.seconds

    def _ask(self) -> None:
        began = time.perf_counter()
        self._connection.request("GET", PAGE, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        self.seconds.append(time.perf_counter() - began)
        if answer.status != 200:
            raise SystemExit(f"A good request was answered {answer.status}.")


def report_times(phases: Mapping[str, Sequence[float]]) -> bool:
    """Print the latencies of each phase. Returns True if all phases reach the goal."""
    print_header(["a good request", "asked", "p50", "p99", "worst", "goal (p99)", "reached"])
    reached = []
    for name, seconds in phases.items():
        p99 = statistics.quantiles(seconds, n=100)[98]
        reached.append(p99 <= MOST_P99_SECONDS)
        figures = (milliseconds(each) for each in (statistics.median(seconds), p99, max(seconds)))
        goal = milliseconds(MOST_P99_SECONDS)
        print_row([name, f"{len(seconds):,}", *figures, f"<= {goal}", verdict(reached[-1])])
    return all(reached)


def report_fates(kinds: Mapping[str, Slowness], fates: Sequence[Fate]) -> bool:
    """Print how long sockets were kept. Returns True if all deadlines were kept."""
    print()
    print_header(["slow", "sockets", "deadline", "freed after", "never", "goal", "reached"])
    reached = []
    for name, kind in kinds.items():
        held = [fate.held_seconds for fate in fates if fate.habit == name]
        freed = sorted(seconds for seconds in held if seconds is not None)
        latest = kind.deadline_seconds + LATE_SECONDS
        reached.append(len(freed) == len(held) > 0 and freed[-1] <= latest)
        span = f"{freed[0]:.1f} to {freed[-1]:.1f} s" if freed else ""
        cells = [name, f"{len(held)}", f"{kind.deadline_seconds:.0f} s", span]
        cells += [f"{len(held) - len(freed)}", f"<= {latest:.1f} s", verdict(reached[-1])]
        print_row(cells)
    return all(reached)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_sockets")
    parser.add_argument("--sockets", type=int, default=1_000, help="number of slow clients")
    parser.add_argument("--calm", type=float, default=5.0, help="seconds without slow clients")
    return parser.parse_args()


if __name__ == "__main__":
    main()
