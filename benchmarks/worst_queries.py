"""Latency of other keys during the most expensive queries.

Usage: python -m benchmarks.worst_queries

    --rows 10000 100000 500000, --shapes 1 4-order-up, --quick: see --help

The gateway runs as a process in front of the emulator, as for a user, and is restarted for each
shape (kind of query). One key sends the queries of `benchmarks/costly.py`. Another process sends a
small query of another key and /livez 50 times a second each. Twice a second it sends a count of
that key, which reads all rows and has no goal. Each shape is measured
- cold: once, just after the rows were read, when only the other key's queries have indexes;
- warm: once more with other operands, so that only the answer must be computed;
- in a burst: 40 different queries at once, and again on a plan with `max_concurrent = 40` if the
  default allows fewer;
- warm and in a burst with `count=true`.

Errors for a too expensive query (400 code 4006) and for too many requests at once (429) are good
answers. Memory is the maximum of the process during the queries, minus the memory before. It
includes what a cold query builds and keeps; after the first lines of a shape, memory that the
process has not returned hides a part.

After a query without an answer within `--timeout` the rest of a shape is omitted. After a query of
more than `--burst-after` seconds its burst is omitted. The first two lines of a table have no
expensive query: an idle gateway, and rows that are reread after a change. The exit status is 1 if a
goal is missed.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.costly import (
    COLUMNS,
    PATH,
    SHAPES,
    WORKSHEET,
    Shape,
    changed_row,
    count_query,
    plain_query,
    small_query,
    write_worksheet,
)
from benchmarks.emulator import peak_megabytes
from benchmarks.neighbours import Neighbours, Observed, neighbours
from benchmarks.processes import (
    COMMAND,
    HOST,
    SPREADSHEET,
    Running,
    Site,
    free_port,
    gateway,
    resident_megabytes,
)
from benchmarks.report import milliseconds, print_header, print_row, surroundings, verdict
from gateway.settings.model import load_settings

ROWS = (10_000, 100_000, 500_000)
BURST = 40
MANY_ROWS = 100_000
"""Up to this number of rows, a single query has a stricter goal than a burst."""
MOST_SECONDS, MOST_SECONDS_OF_MUCH = 0.1, 0.25
MOST_LIVEZ_SECONDS = 1.0
MOST_MEGABYTES = 100.0
TOO_COSTLY = 4006
SETTLING_SECONDS = 0.5
"""Minimum time to watch the other clients, in which they fill their caches."""
AGAIN_SECONDS = 0.5
"""Pause between two requests to reread the rows, because the gateway limits such reads."""
SET_UP_SECONDS = 300.0
TITLES = (
    "shape", "rows", "how", "answers", "time", "others: slowest", "p99", "asked", "count: slowest",
    "/livez: slowest", "memory", "goal", "reached",
)  # fmt: skip

SETTINGS = """[google]
endpoint = "{google}"
credentials = "account.json"
read_timeout_seconds = 240
max_answer_bytes = 2147483648
reads_per_minute = 100000
writes_per_minute = 100000
[cache]
rows_ttl_seconds = 3600
max_bytes = 17179869184
max_worksheet_bytes = 8589934592
window_above_cells = 10000000
[plans.paid]
requests_per_minute = 1000000000
[plans.burst]
requests_per_minute = 1000000000
max_concurrent = 40
"""
"""Settings with memory for 500,000 rows of 16 columns, and without rate limits."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Result of an expensive query: status and error code; status 0 without an answer."""

    status: int
    code: int | None
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.status in (200, 429) or (self.status, self.code) == (400, TOO_COSTLY)

    def __str__(self) -> str:
        if not self.status:
            return "none"
        return f"{self.status}" if self.code is None else f"{self.status} {self.code}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Measurements while expensive queries run."""

    answers: Sequence[Answer]
    seconds: float
    observed: Observed
    megabytes: float

    @property
    def is_over(self) -> bool:
        """True if all queries were answered."""
        return all(answer.status for answer in self.answers)

    def misses(self, most_seconds: float) -> Sequence[str]:
        """Return the names of the missed goals."""
        small, livez = self.observed.small, self.observed.livez
        found = {
            "answers": not all(answer.is_good for answer in self.answers),
            "others": small.slowest_seconds > most_seconds or small.failed > 0,
            "/livez": livez.slowest_seconds >= MOST_LIVEZ_SECONDS or livez.failed > 0,
            "memory": self.megabytes > MOST_MEGABYTES,
        }
        return [what for what, is_missed in found.items() if is_missed]


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a shape is sent: the key, and the numbers of the queries that are sent at once."""

    name: str
    site: Site
    numbers: range

    @property
    def is_burst(self) -> bool:
        return len(self.numbers) > 1


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Three keys: for expensive queries, for bursts with another plan, and for other clients."""

    costly: Site
    burst: Site
    small: Site

    @property
    def max_concurrent(self) -> int:
        """Number of requests that a key can run at once by default; 0 for no limit."""
        return load_settings(self.costly.config, {}).plans["paid"].max_concurrent

    def ways(self, *, has_total: bool) -> Iterator[Way]:
        """Yield the ways in order; the first fills the caches for the next."""
        if not has_total:
            yield Way(name="cold", site=self.costly, numbers=range(1))
        yield Way(name="warm", site=self.costly, numbers=range(1, 2))
        yield Way(name=f"{BURST} at once", site=self.costly, numbers=range(2, 2 + BURST))
        if 0 < self.max_concurrent < BURST:
            numbers = range(2 + BURST, 2 + 2 * BURST)
            yield Way(name=f"{BURST} at once, allowed", site=self.burst, numbers=numbers)


class Stage:
    """A gateway with the rows in memory, and the other clients."""

    def __init__(self, keys: Keys, google: str, rows: int, timeout_seconds: float) -> None:
        self.keys = keys
        self.rows = rows
        self._google = google
        self._timeout_seconds = timeout_seconds
        self._changes = 0
        self._stack = ExitStack()
        self._running: Running
        self._neighbours: Neighbours

    def start(self) -> None:
        """Replace the gateway by a new one that has read the rows and served other clients."""
        self.stop()
        self._running = self._stack.enter_context(gateway(self.keys.costly))
        self._set_up("GET", plain_query())
        self._set_up("GET", small_query(0, self.rows))
        self._set_up("GET", count_query(0))
        asking = neighbours(self._running.url, self.keys.small.headers, self.rows)
        self._neighbours = self._stack.enter_context(asking)
        time.sleep(SETTLING_SECONDS)

    def stop(self) -> None:
        self._stack.close()

    def read_anew(self) -> None:
        """Change a cell of each column, and make the gateway reread the rows."""
        self._changes += 1
        self._set_up("PATCH", f"{PATH}/2", changed_row(self._changes))
        reads = self._reads()
        self._set_up("GET", plain_query())
        while self._reads() < reads + 2:  # displayed and typed
            time.sleep(AGAIN_SECONDS)
            self._set_up("GET", plain_query())
        time.sleep(SETTLING_SECONDS)

    def ask(self, way: Way, shape: Shape, *, has_total: bool) -> Sequence[Answer]:
        """Send queries at once, and return their answers."""
        paths = [shape.path(number, self.rows, has_total=has_total) for number in way.numbers]
        with ThreadPoolExecutor(len(paths)) as pool:
            return [*pool.map(lambda path: self._answer(way.site, path), paths)]

    def observe(self, act: Callable[[], Sequence[Answer] | None]) -> Outcome:
        """Measure other clients and the gateway's memory while `act` runs."""
        time.sleep(SETTLING_SECONDS)  # earlier queries can still delay the other clients
        pid = self._running.pid
        before = resident_megabytes(pid)
        Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")  # resets the maximum
        self._neighbours.begin()
        began = time.perf_counter()
        answers = act() or ()
        seconds = time.perf_counter() - began
        time.sleep(max(0.0, SETTLING_SECONDS - seconds))
        observed, megabytes = self._neighbours.end(), peak_megabytes(pid) - before
        return Outcome(answers=answers, seconds=seconds, observed=observed, megabytes=megabytes)

    def _answer(self, site: Site, path: str) -> Answer:
        began = time.perf_counter()
        try:
            status, body = ask(self._running.url, "GET", path, site.headers, self._timeout_seconds)
        except (OSError, http.client.HTTPException):
            status, body = 0, b"{}"
        seconds = time.perf_counter() - began
        code = None if status == 200 else json.loads(body).get("code")
        return Answer(status=status, code=code, seconds=seconds)

    def _set_up(self, method: str, path: str, body: bytes | None = None) -> None:
        headers = self.keys.costly.headers | {"Content-Type": "application/json"}
        status, answer = ask(self._running.url, method, path, headers, SET_UP_SECONDS, body)
        if status != 200:
            raise SystemExit(f"{method} {path} was answered {status}: {answer[:500]!r}")

    def _reads(self) -> int:
        _, body = ask(self._google, "GET", "/_emulator/stats", {}, SET_UP_SECONDS)
        reads: int = json.loads(body)["reads"]
        return reads


def main() -> None:
    """Print the tables. The exit status is 1 if a goal is missed."""
    options = _options()
    ends = time.monotonic() + options.minutes * 60
    print(f"{surroundings()}, {options.timeout:.0f} s for an answer, {len(COLUMNS)} columns")
    missed = 0
    for rows in options.rows:
        with installed(rows) as (keys, google):
            limit = keys.max_concurrent or "no limit"
            print(f"\n{rows:,} rows; max_concurrent by default: {limit}\n")
            stage = Stage(keys, google, rows, options.timeout)
            try:
                missed += report_all(stage, options, ends)
            finally:
                stage.stop()
    print(f"\nLines that miss a goal: {missed}.")
    sys.exit(missed > 0)


def report_all(stage: Stage, options: argparse.Namespace, ends: float) -> int:
    """Print the lines of all shapes until `ends`. Returns the number that miss a goal."""
    print_header(TITLES)
    stage.start()
    report(stage, "0-nothing", "", stage.observe(lambda: None))
    report(stage, "0-read-anew", "", stage.observe(stage.read_anew))
    missed = 0
    for number, shape in enumerate(options.shapes):
        if time.monotonic() > ends:
            left = ", ".join(each.name for each in options.shapes[number:])
            print(f"\nNo time was left for {left}.")
            break
        missed += report_shape(stage, shape, options.burst_after)
    return missed


def report_shape(stage: Stage, shape: Shape, burst_after_seconds: float) -> int:
    """Print the lines of a shape. Returns the number that miss a goal."""
    missed, alone_seconds = 0, 0.0
    stage.start()
    for has_total in (False, True):
        name = f"{shape.name} +count" if has_total else shape.name
        for way in stage.keys.ways(has_total=has_total):
            if way.is_burst and alone_seconds > burst_after_seconds:
                break
            outcome = stage.observe(partial(stage.ask, way, shape, has_total=has_total))
            alone_seconds = alone_seconds if way.is_burst else outcome.seconds
            missed += report(stage, name, way.name, outcome)
            if not outcome.is_over:
                return missed
    return missed


def report(stage: Stage, name: str, how: str, outcome: Outcome) -> bool:
    """Print the line of an outcome. Returns True if it misses a goal.

    Without queries there is no goal.
    """
    observed = outcome.observed
    is_hard = len(outcome.answers) > 1 or stage.rows > MANY_ROWS
    most_seconds = MOST_SECONDS_OF_MUCH if is_hard else MOST_SECONDS
    misses = outcome.misses(most_seconds) if outcome.answers else ()
    answers = Counter(map(str, outcome.answers)).items()
    reached = ": ".join([verdict(not misses), *filter(None, [", ".join(misses)])])
    print_row(
        [
            name,
            f"{stage.rows:,}",
            how,
            ", ".join(f"{count} x {each}" for each, count in answers),
            milliseconds(outcome.seconds),
            milliseconds(observed.small.slowest_seconds),
            milliseconds(observed.small.p99_seconds),
            f"{observed.small.asked:,}",
            milliseconds(observed.count.slowest_seconds),
            milliseconds(observed.livez.slowest_seconds),
            f"{outcome.megabytes:+.0f} MB",
            f"<= {milliseconds(most_seconds)}" if answers else "",
            reached if answers else "",
        ]
    )
    return bool(misses)


@contextmanager
def installed(rows: int) -> Iterator[tuple[Keys, str]]:
    """Run an emulator with a worksheet, and yield the keys for it and its URL."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        write_worksheet(folder / "seed" / SPREADSHEET / f"{WORKSHEET}.csv", rows)
        with emulating(folder) as google:
            config = folder / "config.toml"
            config.write_text(SETTINGS.format(google=google), encoding="utf-8")
            sites = (make_site(config, plan) for plan in ("paid", "burst", "paid"))
            costly, burst, small = sites
            yield Keys(costly=costly, burst=burst, small=small), google


@contextmanager
def emulating(folder: Path) -> Iterator[str]:
    """Run an emulator, which can need minutes to read its CSV files, and yield its URL."""
    port = free_port()
    url = f"http://{HOST}:{port}"
    files = ("--seed", str(folder / "seed"), "--credentials", str(folder / "account.json"))
    command = [*COMMAND, "emulator", "--port", str(port), *files]
    with (
        (folder / "emulator.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,  # noqa: S603
    ):
        try:
            ends = time.monotonic() + SET_UP_SECONDS
            while process.poll() is None and time.monotonic() < ends:
                try:
                    ask(url, "GET", "/_emulator/stats", {}, SET_UP_SECONDS)
                except OSError:  # the emulator does not listen yet
                    time.sleep(AGAIN_SECONDS)
                else:
                    break
            yield url
        finally:
            process.terminate()


def make_site(config: Path, plan: str, *rights: str) -> Site:
    """Create a key with a plan, and with rights such as `--delete`."""
    options = ("--name", plan, "--plan", plan, "--spreadsheet", SPREADSHEET, "--json", *rights)
    made = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, "keys", "create", *options, "--config", str(config)],
        capture_output=True,
        check=True,
    )
    key = json.loads(made.stdout)["key"]
    return Site(config=config, key=key, log=config.with_name("gateway.log"))


def ask(
    url: str,
    method: str,
    path: str,
    headers: Mapping[str, str],
    timeout_seconds: float,
    body: bytes | None = None,
) -> tuple[int, bytes]:
    """Return status and body of one request on a new connection.

    Raises OSError without an answer.
    """
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout_seconds)
    try:
        connection.request(method, path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _shapes(chosen: Sequence[str], *, is_quick: bool) -> Sequence[Shape]:
    """Return the shapes with these names or group numbers; all if none is named."""
    found = [
        shape
        for shape in SHAPES
        if any(shape.name == text or shape.name.startswith(f"{text}-") for text in chosen)
        or (not chosen and (shape.is_quick or not is_quick))
    ]
    if not found:
        raise SystemExit(f"The shapes are {', '.join(shape.name for shape in SHAPES)}.")
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worst_queries")
    parser.add_argument("--rows", type=int, nargs="+", help="rows of each worksheet")
    parser.add_argument("--shapes", nargs="+", default=(), help="names of shapes, or group numbers")
    parser.add_argument(
        "--quick", action="store_true", help="only the worst shapes, and not 500,000 rows"
    )
    parser.add_argument("--timeout", type=float, default=60.0, help="maximum seconds for an answer")
    parser.add_argument(
        "--burst-after",
        type=float,
        default=5.0,
        help="no burst if one query takes longer, in seconds",
    )
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="no new shape starts after this time"
    )
    options = parser.parse_args()
    options.rows = options.rows or (ROWS[:-1] if options.quick else ROWS)
    options.shapes = _shapes(options.shapes, is_quick=options.quick)
    return options


if __name__ == "__main__":
    main()
