"""Exports of 100,000 rows with 10 columns: speed, memory, and latency of other clients.

`python -m benchmarks.exports` prints a line for each format: megabytes per second (the best round),
the memory growth beyond that of lists, and the p99 of another client's small lists at the same
time. For comparison it prints the p99 without an export. curl downloads the exports in its own
process. Clients that export at once share keys, if a key is allowed several exports.
"""

import argparse
import http.client
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.processes import (
    Running,
    Site,
    emulator,
    gateway,
    get,
    make_key,
    make_site,
    resident_megabytes,
)
from benchmarks.sheet import make_cities, write_csv
from gateway.access.rates import MAX_EXPORTS, MAX_EXPORTS_OF_KEY

WORKSHEET = "Cities"
PATH = f"/v2/sheets/{WORKSHEET}"
SMALL = f"{PATH}?limit=5"
PAUSE_SECONDS = 0.005
LEAST_MEGABYTES_A_SECOND = 20.0
MOST_GROWTH_MEGABYTES = 20.0
MOST_P99_SECONDS = 0.1
CURL = shutil.which("curl") or "curl"

EXPORTS: Mapping[str, tuple[str, int]] = {
    "csv": ("format=csv", 1),
    "csv, typed": ("format=csv&values=typed", 1),
    "ndjson": ("format=ndjson", 1),
    "ndjson, typed": ("format=ndjson&values=typed", 1),
    "json": ("format=json", 1),
    "csv, sorted": ("format=csv&order=-population", 1),
    "csv, gzip": ("format=csv", 1),
    "4 x ndjson": ("format=ndjson", 4),
}
"""Query parameters, and number of clients that export at once, by format."""


@dataclass(kw_only=True)
class Beside:
    """Measurements of the gateway during an export."""

    peak_megabytes: float = 0.0
    seconds: list[float] = field(default_factory=list)

    @property
    def p99_seconds(self) -> float:
        return statistics.quantiles(self.seconds, n=100)[98] if len(self.seconds) > 1 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, stage(Path(name), options.rows) as (running, sites):
        site = sites[0]
        for path in (SMALL, f"{SMALL}&values=typed&order=-population"):
            get(running, site, path)
        with watched(running, site) as alone:
            time.sleep(2)
        print(f"{'alone':16} {'':34} p99 {alone.p99_seconds * 1000:6.1f} ms")
        for what, (parameters, clients) in EXPORTS.items():
            report(running, sites[:clients], what, f"{PATH}?{parameters}", options.rounds)


@contextmanager
def stage(folder: Path, rows: int) -> Iterator[tuple[Running, Sequence[Site]]]:
    """Run a gateway on the emulator with a plan for all rows; yield the site of each client."""
    write_csv(folder / "seed" / "book" / f"{WORKSHEET}.csv", make_cities(rows))
    with emulator(folder) as google:
        site = make_site(folder, google.url, cache="rows_ttl_seconds = 3600")
        with site.config.open("a", encoding="utf-8") as config:
            config.write(f"max_export_rows = {rows}\n")
        keys = [make_key(site.config) for _ in range(MAX_EXPORTS // MAX_EXPORTS_OF_KEY)]
        with gateway(site) as running:
            yield running, [replace(site, key=key) for key in keys * MAX_EXPORTS_OF_KEY]


def report(running: Running, sites: Sequence[Site], what: str, path: str, rounds: int) -> None:
    """Print the figures of an export. The first round is a warm-up and counts only for memory."""
    coding = ("--header", "Accept-Encoding: gzip") if "gzip" in what else ()
    best, growth, p99 = 0.0, 0.0, 0.0
    for number in range(rounds + 1):
        before = resident_megabytes(running.pid)
        with watched(running, sites[0]) as beside:
            byte_count, seconds = export(running, sites, path, coding)
        growth = max(growth, beside.peak_megabytes - before)
        if number:
            best = max(best, byte_count / seconds / 1e6)
            p99 = max(p99, beside.p99_seconds)
    print(
        f"{what:16} {best:6.1f} MB/s{mark(best >= LEAST_MEGABYTES_A_SECOND)} "
        f"memory {growth:+6.1f} MB{mark(growth <= MOST_GROWTH_MEGABYTES)} "
        f"p99 {p99 * 1000:6.1f} ms{mark(p99 <= MOST_P99_SECONDS)} ({byte_count / 1e6:.1f} MB)"
    )


def mark(is_reached: bool) -> str:
    return " " if is_reached else "!"


def export(
    running: Running, sites: Sequence[Site], path: str, coding: Sequence[str]
) -> tuple[int, float]:
    """Run all exports at once. Returns their bytes, and the seconds until all are complete."""
    command = [CURL, "-sSf", *coding, "-o", "/dev/null", "-w", "%{size_download}"]
    headers = [
        [part for pair in site.headers.items() for part in ("--header", ": ".join(pair))]
        for site in sites
    ]
    began = time.perf_counter()
    running_clients = [
        subprocess.Popen([*command, *lines, f"{running.url}{path}"], stdout=subprocess.PIPE)  # noqa: S603
        for lines in headers
    ]
    sizes = [int(each.communicate()[0]) for each in running_clients]
    if any(each.returncode for each in running_clients):
        raise SystemExit(f"An export failed: {path}")
    return sum(sizes), time.perf_counter() - began


@contextmanager
def watched(running: Running, site: Site) -> Iterator[Beside]:
    """Measure another client's small lists, and the memory, until the block ends."""
    beside, is_over = Beside(), threading.Event()

    def ask_on() -> None:
        url = urlsplit(running.url)
        connection = http.client.HTTPConnection(url.hostname or "", url.port)
        while not is_over.is_set():
            began = time.perf_counter()
            connection.request("GET", SMALL, headers=site.headers)
            connection.getresponse().read()
            beside.seconds.append(time.perf_counter() - began)
            time.sleep(PAUSE_SECONDS)

    def look_on() -> None:
        while not is_over.is_set():
            beside.peak_megabytes = max(beside.peak_megabytes, resident_megabytes(running.pid))
            time.sleep(PAUSE_SECONDS)

    threads = [threading.Thread(target=each) for each in (ask_on, look_on)]
    for thread in threads:
        thread.start()
    try:
        yield beside
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
