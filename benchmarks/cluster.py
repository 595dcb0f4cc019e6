"""Google calls and speed of several processes.  Usage: python -m benchmarks.cluster

The processes share a PostgreSQL and a Redis, which the script starts. The emulator replaces Google,
with 300 ms per call, and with 60 reads and 60 writes a minute where calls are counted. wrk runs on
one core and requests pages of a cached list from the servers in turn. Each ratio is the median of
the rounds' ratios. On a machine with other load, CPU time is more reliable than the ratio of
requests.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path

import httpx2
import pytest

from benchmarks.dialects import GATEWAY, WORKSHEET
from benchmarks.load import Effort, Speed, Target, core_ratio, find_wrk, race, rate, ratio
from benchmarks.processes import (
    COMMAND,
    LONG_LIFE,
    SPREADSHEET,
    Running,
    Site,
    emulator,
    fetch,
    gateway,
    get,
    make_site,
)
from benchmarks.questions import ask
from benchmarks.report import (
    milliseconds,
    per_second,
    print_header,
    print_row,
    surroundings,
    verdict,
)
from benchmarks.sheet import City, make_cities, write_csv
from benchmarks.writes import WORKSHEET as CREATED
from benchmarks.writes import Figures, measure, write_seed
from tests.simulation.fleet.engines import Engines, running_engines

PROCESSES = 3
READS = 200
MOST_READ_CALLS = 2
MOST_WRITES = 40
ARRIVALS = 10
MOST_WRITES_RATIO = 1.5
"""Goal: largest ratio of Google writes of several processes to one process."""
LEAST_RATIO = 1.6
MOST_LATER_SECONDS = 0.001
LIMIT = 60
LIMITS = ("--reads-per-minute", f"{LIMIT}", "--writes-per-minute", f"{LIMIT}")
LATENCY = ("--latency-ms", "300")
WARM_REQUESTS = 100
"""Number of requests, each on a new connection, so that every worker gets some of them."""
CALM_REQUESTS = 200
CALM_PAUSE_SECONDS = 0.01
ONE, ONE_OF_CLUSTER, WORKERS = "one process", "one process of a cluster", "--workers 2"


def main() -> None:
    """Print the table."""
    options = _options()
    find_wrk()
    os.umask(0o077)  # files with passwords must be private
    print(f"{surroundings()}; {options.rounds} rounds, load {os.getloadavg()[0]:.1f}\n")
    print_header(("what", "figure", "goal", "reached"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            engines = stack.enter_context(running_engines(folder))
        except pytest.skip.Exception as error:
            raise SystemExit(str(error)) from error
        report_reads(folder, engines, options.rounds)
        report_creates(folder, engines)
        report_speed(folder, engines, make_cities(options.rows), options)


def report_reads(folder: Path, engines: Engines, rounds: int) -> None:
    """Print the calls for concurrent reads, with another worksheet in each round."""
    own = _folder(folder, "reads")
    for number in range(rounds):
        write_csv(own / "seed" / SPREADSHEET / f"{WORKSHEET}{number}.csv", make_cities(1000))
    with processes(own, engines) as (google, running, site):
        calls = []
        for number in range(rounds):
            before = stats(google)["reads"]
            asyncio.run(read_at_once(running, site, f"{WORKSHEET}{number}"))
            calls.append(stats(google)["reads"] - before)
    most = max(calls)
    _line(
        f"{READS} reads at once at {PROCESSES} processes: Google reads, at most",
        f"{most} (of {calls})",
        f"<= {MOST_READ_CALLS}",
        is_reached=most <= MOST_READ_CALLS,
    )


async def read_at_once(running: Sequence[Running], site: Site, worksheet: str) -> None:
    """Read a worksheet with filters and orders from all processes at the same time.

    Raises SystemExit for a wrong answer.
    """
    limits = httpx2.Limits(max_connections=READS)
    async with httpx2.AsyncClient(headers=site.headers, limits=limits, timeout=60) as client:

        async def read(number: int) -> None:
            url = f"{running[number % len(running)].url}/v2/sheets/{worksheet}"
            where = json.dumps({"population": {"$gte": number}})
            answer = await client.get(url, params={"where": where, "order": "-population"})
            if answer.status_code != httpx2.codes.OK:
                raise SystemExit(f"A read was answered {answer.status_code}: {answer.text}")

        await asyncio.gather(*(read(number) for number in range(READS)))


def report_creates(folder: Path, engines: Engines) -> None:
    """Print the figures of creates at one process, and at all processes of a cluster.

    Clients that wait for each answer need more Google writes with several processes, because fewer
    creates wait together. Clients at a fixed rate do not, because only one batch runs at a time.
    """
    for clients, pace in (("by 96 clients", 0), (f"{ARRIVALS} a second", ARRIVALS)):
        found: dict[int, Figures] = {}
        for count in (1, PROCESSES):
            own = _folder(folder, f"creates-{count}-{pace}")
            write_seed(own / "seed")
            with processes(own, engines, count=count) as (google, running, site):
                urls = [f"{each.url}/v2/sheets/{CREATED}" for each in running]
                found[count] = measure(google.url, urls, site.key, pace)
        report_writes(f"600 creates, {clients}", found, LIMIT if pace else MOST_WRITES)


def report_writes(what: str, found: Mapping[int, Figures], most: int) -> None:
    """Print the figures of the same creates at one and at all processes.

    `most` is the goal for the number of Google writes.
    """
    share = found[PROCESSES].writes / found[1].writes
    _line(
        f"{what}: Google writes, {PROCESSES} processes / 1",
        f"{share:.1f}",
        f"<= {MOST_WRITES_RATIO}",
        is_reached=share <= MOST_WRITES_RATIO,
    )
    for count, figures in found.items():
        here = f"{what}, at {count} process{'es' * (count > 1)}"
        _line(
            f"{here}: Google writes",
            f"{figures.writes} in {figures.seconds:.0f} s, {figures.created} created",
            f"<= {most}",
            is_reached=figures.writes <= most and figures.rows == figures.created == 600,
        )
        _line(f"{here}: refused", f"{figures.refused}", "0", is_reached=figures.refused == 0)
        is_true = figures.gaps == figures.elsewhere == 0
        _line(f"{here}: 201s not where they say", f"{figures.elsewhere}", "0", is_reached=is_true)


def report_speed(
    folder: Path, engines: Engines, cities: Sequence[City], options: argparse.Namespace
) -> None:
    """Print requests per second and latency of a cached list, for one process and for workers."""
    own = _folder(folder, "speed")
    write_csv(own / "seed" / SPREADSHEET / f"{WORKSHEET}.csv", cities)
    effort = Effort(rounds=options.rounds, seconds=options.seconds, folder=own)
    with ExitStack() as stack:
        google = stack.enter_context(emulator(own))
        alone = make_site(own, google.url, cache=LONG_LIFE)
        clustered = cluster_site(_folder(own, "cluster", own), google, engines, LONG_LIFE)
        started: dict[str, tuple[Site, Running]] = {
            ONE: (alone, stack.enter_context(gateway(alone))),
            ONE_OF_CLUSTER: (clustered, stack.enter_context(gateway(clustered))),
        }
        if has_workers():
            workers = stack.enter_context(gateway(clustered, "--workers", "2"))
            started[WORKERS] = (clustered, workers)
        targets = {
            name: Target(server=running, dialect=GATEWAY, headers=site.headers)
            for name, (site, running) in started.items()
        }
        paths = [GATEWAY.path(each) for each in islice(ask("plain", cities, seed=0), CALM_REQUESTS)]
        for site, running in started.values():
            for path in paths[:WARM_REQUESTS]:
                get(running, site, path)
        waits = {
            name: calm_seconds(running, site, paths, options.rounds)
            for name, (site, running) in started.items()
        }
        with pinned(options.core):
            speeds = race("plain", targets, cities, effort)
    report_ratios(speeds, waits)


def report_ratios(speeds: Mapping[str, Sequence[Speed]], waits: Mapping[str, float]) -> None:
    """Print the figures of the cached list; lines with a goal compare workers with one process."""
    for name, found in speeds.items():
        _line(f"warm list, {name}: answers a second", per_second(rate(found)))
        _line(f"warm list, {name}: p50 at low load", milliseconds(waits[name]))
    if WORKERS not in speeds:
        _line(f"warm list, {WORKERS}", "not in this version")
        return
    share, later = ratio(speeds[WORKERS], speeds[ONE]), waits[WORKERS] - waits[ONE]
    _line(
        f"warm list, {WORKERS} / {ONE}",
        f"{share:.2f}",
        f">= {LEAST_RATIO}",
        is_reached=share >= LEAST_RATIO,
    )
    cost = 1 / core_ratio(speeds[WORKERS], speeds[ONE])
    _line(f"warm list, {WORKERS} / {ONE}: core time of an answer", f"{cost:.2f}")
    _line(
        f"warm list, {WORKERS}: p50 later by",
        milliseconds(later),
        f"<= {milliseconds(MOST_LATER_SECONDS)}",
        is_reached=later <= MOST_LATER_SECONDS,
    )


def calm_seconds(running: Running, site: Site, paths: Sequence[str], rounds: int) -> float:
    """Return the median latency in seconds for one client with pauses between requests."""
    connection = HTTPConnection(running.url.removeprefix("http://"))
    seconds = []
    try:
        for path in list(paths) * rounds:
            time.sleep(CALM_PAUSE_SECONDS)
            began = time.perf_counter()
            connection.request("GET", path, headers=site.headers)
            connection.getresponse().read()
            seconds.append(time.perf_counter() - began)
    finally:
        connection.close()
    return statistics.median(seconds)


@contextmanager
def processes(
    folder: Path, engines: Engines, *, count: int = PROCESSES
) -> Iterator[tuple[Running, Sequence[Running], Site]]:
    """Run the emulator, and `count` processes of a new cluster."""
    with ExitStack() as stack:
        google = stack.enter_context(emulator(folder, *LIMITS, *LATENCY))
        site = cluster_site(folder, google, engines)
        yield google, [stack.enter_context(gateway(site)) for _ in range(count)], site


def cluster_site(folder: Path, google: Running, engines: Engines, cache: str = "") -> Site:
    """Return a configuration with a new database and an empty Redis."""
    engines.flush()
    database = engines.postgres.new_database().url.get_secret_value()
    tables = (
        f'[access]\ndatabase = "{database}"\npepper = "pepper of a benchmark"\n'
        f'[cluster]\nredis = "{engines.redis.url}"'
    )
    return make_site(folder, google.url, cache=f"{cache}\n{tables}")


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Pin processes that start in the block to one CPU core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def has_workers() -> bool:
    """True if this version of the gateway has `serve --workers`."""
    command = [*COMMAND, "serve", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return "--workers" in shown.stdout


def stats(google: Running) -> Mapping[str, int]:
    _, body = fetch(google.url, "/_emulator/stats")
    found: Mapping[str, int] = json.loads(body)
    return found


def _folder(above: Path, name: str, credentials: Path | None = None) -> Path:
    """Create a folder; copy the emulator's credentials from the folder `credentials` if given."""
    folder = above / name
    folder.mkdir()
    if credentials is not None:
        (folder / "account.json").write_bytes((credentials / "account.json").read_bytes())
    return folder


def _line(what: str, figure: str, goal: str = "", *, is_reached: bool | None = None) -> None:
    print_row((what, figure, goal, "" if is_reached is None else verdict(is_reached)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What several processes cost and answer.")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of the cached list")
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of measurements of each figure"
    )
    parser.add_argument("--seconds", type=int, default=2, help="duration of each run of wrk")
    parser.add_argument("--core", type=int, default=1, help="CPU core of wrk")
    return parser.parse_args()


if __name__ == "__main__":
    main()
