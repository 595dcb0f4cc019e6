"""CPU instructions of a request, as ratios.  Usage: python -m benchmarks.instructions

The gateway and bare Starlette (the floor) run under callgrind, which counts the instructions of
their processes, without the kernel, while one connection sends requests one after the other. Counts
hardly depend on the machine's load; tests/benchmarks compares them with the limits in `TASKS`.
Needs valgrind. benchmarks/reads.py measures CPU time instead.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.dialects import GATEWAY, WORKSHEET
from benchmarks.processes import (
    LONG_LIFE,
    SPREADSHEET,
    START_SECONDS,
    Running,
    emulator,
    fetch,
    floor,
    gateway,
    get,
    make_site,
)
from benchmarks.questions import Kind, ask, first, right_answer
from benchmarks.report import print_header, print_row, surroundings, verdict
from benchmarks.sheet import make_cities, write_csv

TITLES = ("request", "floor", "gateway", "ratio", "goal", "reached", "limit")
GROUP, GROUPS = 5, 32
"""Number of requests that are counted together, and number of such groups."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of request, and the largest ratio of its instructions to the floor's."""

    what: str
    kind: Kind
    goal: float
    limit: float | None = None
    """Ratio above which the tests fail; None for no limit."""


TASKS = (
    Task(what="plain list, 24 rows from anywhere", kind="plain", goal=1.82, limit=1.85),
    Task(what="plain list, typed", kind="typed", goal=2.02),
    Task(what="plain list asked again", kind="again", goal=1.30, limit=1.43),
    Task(what="range + sort + page", kind="range", goal=2.92),
    Task(what="equality", kind="equality", goal=2.08),
    Task(what="single row", kind="row", goal=1.56, limit=1.72),
)


@dataclass(frozen=True, kw_only=True)
class Count:
    """Instructions of one request, of the floor and of the gateway."""

    floor: float
    gateway: float

    @property
    def ratio(self) -> float:
        return self.gateway / self.floor


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A server under callgrind, and the prefix of its dump files."""

    server: Running
    dumps: Path


def main() -> None:
    """Print the table."""
    options = _options()
    if not is_possible():
        print("Skipped: valgrind is missing (apt install valgrind).")
        return
    rows, warm = options.rows, options.warm
    print(f"{surroundings()}; {rows:,} x 10 cells, {warm:,} requests before those counted\n")
    print_header(TITLES)
    for task, count in measure(TASKS, rows=rows, warm=warm):
        print_row(
            (
                f"warm {task.what}",
                f"{count.floor:,.0f}",
                f"{count.gateway:,.0f}",
                f"{count.ratio:.2f}",
                f"<= {task.goal}",
                verdict(count.ratio <= task.goal),
                "" if task.limit is None else f"<= {task.limit}",
            )
        )


def is_possible() -> bool:
    """True if valgrind is installed."""
    return shutil.which("valgrind") is not None and shutil.which("vgdb") is not None


def measure(tasks: Sequence[Task], *, rows: int, warm: int) -> Iterator[tuple[Task, Count]]:
    """Yield the instructions of each task's requests, after `warm` other requests.

    Raises SystemExit for a wrong answer.
    """
    cities = make_cities(rows)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_csv(folder / "seed" / SPREADSHEET / f"{WORKSHEET}.csv", cities)
        google = stack.enter_context(emulator(folder))
        site = make_site(folder, google.url, cache=LONG_LIFE)
        bare_dumps, dumps = folder / "floor.callgrind", folder / "gateway.callgrind"
        bare = stack.enter_context(floor(folder, tool=_callgrind(bare_dumps)))
        running = stack.enter_context(gateway(site, tool=_callgrind(dumps)))
        # A range query loads both renderings, so that later kinds need no further read.
        get(running, site, GATEWAY.path(*first("range", cities, 1)))
        for task in tasks:
            (question,) = first(task.kind, cities, 1)
            body = get(running, site, GATEWAY.path(question))
            if GATEWAY.names(body) != right_answer(question, cities):
                raise SystemExit(f"The gateway's answer to {question} is wrong: {body!r}")
            fetch(bare.url, "/", method="PUT", body=body)
            questions = islice(ask(task.kind, cities, seed=1), warm + GROUPS * GROUP)
            paths = [GATEWAY.path(question) for question in questions]
            yield (
                task,
                Count(
                    floor=_count(Counted(server=bare, dumps=bare_dumps), paths, site.headers),
                    gateway=_count(Counted(server=running, dumps=dumps), paths, site.headers),
                ),
            )


def _callgrind(dumps: Path) -> Sequence[str]:
    """Return the command that runs an interpreter under callgrind; counting starts later."""
    return ("valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={dumps}")


def _count(counted: Counted, paths: Sequence[str], headers: Mapping[str, str]) -> float:
    """Return the instructions per request, after a warm-up with the first paths.

    The last `GROUPS` groups of `GROUP` paths are counted, and the result is their lower quartile.
    Timers and garbage collections only add instructions, and more so on slow machines.
    """
    process = f"--pid={counted.server.pid}"
    warm = len(paths) - GROUPS * GROUP
    totals = []
    with closing(_connection(counted.server)) as connection:
        _ask(connection, paths[:warm], headers)
        _control(process, "instrumentation", "on")
        _control(process, "zero")
        for start in range(warm, len(paths), GROUP):
            _ask(connection, paths[start : start + GROUP], headers)
            _control(process, "dump")
            totals.append(_take_total(counted.dumps))
        _control(process, "instrumentation", "off")
    return sorted(totals)[GROUPS // 4] / GROUP


def _connection(server: Running) -> HTTPConnection:
    return HTTPConnection(urlsplit(server.url).netloc, timeout=START_SECONDS)


def _ask(connection: HTTPConnection, paths: Sequence[str], headers: Mapping[str, str]) -> None:
    """Request the paths one after the other. Raises SystemExit for a status other than 200."""
    for path in paths:
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} was answered {answer.status}.")


def _control(*words: str) -> None:
    """Send a command to callgrind in a process."""
    subprocess.run(["vgdb", *words], capture_output=True, check=True, timeout=START_SECONDS)  # noqa: S603, S607


def _take_total(dumps: Path) -> int:
    """Return the instructions in the only dump file, and delete the file."""
    (dump,) = dumps.parent.glob(f"{dumps.name}.*")
    (total,) = re.findall(r"^totals: (\d+)$", dump.read_text(encoding="utf-8"), re.MULTILINE)
    dump.unlink()
    return int(total)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Instructions of a request.")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the worksheet")
    parser.add_argument("--warm", type=int, default=4_800, help="requests before the counted ones")
    return parser.parse_args()


if __name__ == "__main__":
    main()
