"""Speed of reads, as ratios within one run.  Usage: python -m benchmarks.reads

The gateway runs as a process in front of the emulator, as for a user, with its log in a file. The
reference (floor) is bare Starlette that returns the gateway's own bytes. wrk measures both in turn,
with the same paths and headers. Each figure is a median of rounds, and each ratio the median of the
rounds' ratios. Goals are ratios of CPU time, which a busy machine hardly changes. See also
benchmarks/instructions.py for instructions, and benchmarks/peers.py for other servers.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path

from benchmarks.cold import SMALL_ROWS, page_lines, row_line
from benchmarks.dialects import GATEWAY, SMALL_WORKSHEET, WORKSHEET
from benchmarks.lives import life_lines, live
from benchmarks.load import Effort, Target, core_ratio, find_wrk, race, rate, ratio
from benchmarks.probe import probing
from benchmarks.processes import (
    LONG_LIFE,
    SPREADSHEET,
    Running,
    Site,
    emulator,
    fetch,
    floor,
    gateway,
    get,
    make_site,
    resident_megabytes,
)
from benchmarks.questions import Kind, first, right_answer
from benchmarks.report import (
    TITLES,
    Line,
    milliseconds,
    per_second,
    print_header,
    print_line,
    surroundings,
    verdict,
)
from benchmarks.sheet import City, make_cities, write_csv

HARD_QUESTIONS = 20
"""Expensive questions per round, sent one after the other while the loop is probed."""
HARD_SEED = 1_000
MOST_HELD_SECONDS = 0.05
IDLE_SECONDS = 1.0
CHECKED = 5
"""Questions of each kind whose answers are checked before the measurement."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of question, and the goal: the smallest ratio to the floor by CPU time."""

    what: str
    kind: Kind
    least_ratio: float | None = None
    is_hard: bool = False


TASKS = (
    Task(what="warm plain list, 24 rows from anywhere", kind="plain", least_ratio=0.5),
    Task(what="warm plain list, typed", kind="typed", least_ratio=0.45),
    Task(what="warm plain list asked again", kind="again", least_ratio=0.75),
    Task(what="warm range + sort + page", kind="range", least_ratio=0.3),
    Task(what="warm equality", kind="equality"),
    Task(what="warm single row", kind="row", least_ratio=0.55),
    Task(what="range on one column, order of another", kind="other order", is_hard=True),
    Task(what="50 conditions and `$text`", kind="fifty", is_hard=True),
)


def main() -> None:
    """Print the table."""
    options = _options()
    find_wrk()
    cities = make_cities(options.rows)
    print(f"{surroundings()}; {options.rows:,} x 10 cells, {options.rounds} rounds\n")
    print_header(astuple(TITLES))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        effort = Effort(rounds=options.rounds, seconds=options.seconds, folder=folder)
        write_csv(folder / "seed" / SPREADSHEET / f"{WORKSHEET}.csv", cities)
        write_csv(folder / "seed" / SPREADSHEET / f"{SMALL_WORKSHEET}.csv", cities[:SMALL_ROWS])
        google = stack.enter_context(emulator(folder))
        site = make_site(folder, google.url, cache=LONG_LIFE)
        for line in life_lines([live(site, cities) for _ in range(effort.rounds)]):
            print_line(line)
        for line in page_lines(folder, google, cities):
            print_line(line)
        measure_warm(folder, site, cities, effort)
    with tempfile.TemporaryDirectory() as directory:
        print_line(row_line(Path(directory), options.rounds))


def measure_warm(folder: Path, site: Site, cities: Sequence[City], effort: Effort) -> None:
    """Measure all answers of one gateway from its cache."""
    with gateway(site) as running, floor(folder) as bare:
        check(running, site, cities)
        for task in TASKS:
            print_line(rate_line(task, running, bare, site, cities, effort))
        for task in (task for task in TASKS if task.is_hard):
            print_line(held_line(task, running, site, cities, effort.rounds))
        print_line(probe_line(running))
        resident = resident_megabytes(running.pid)
        print_line(Line("resident after all of these", gateway=f"{resident:.0f} MB"))


def check(running: Running, site: Site, cities: Sequence[City]) -> None:
    """Raise SystemExit unless the gateway's answers are right."""
    # A question that needs both renderings is first, so that later questions find both cached.
    for task in sorted(TASKS, key=lambda task: task.kind != "range"):
        for question in first(task.kind, cities, CHECKED):
            found = GATEWAY.names(get(running, site, GATEWAY.path(question)))
            if found != right_answer(question, cities):
                raise SystemExit(f"The gateway's answer to {question} is wrong: {found}")


def rate_line(
    task: Task,
    running: Running,
    bare: Running,
    site: Site,
    cities: Sequence[City],
    effort: Effort,
) -> Line:
    """Compare requests per second with the floor, which returns the bytes of one answer."""
    (question,) = first(task.kind, cities, 1)
    fetch(bare.url, "/", method="PUT", body=get(running, site, GATEWAY.path(question)))
    targets = {
        "floor": Target(server=bare, dialect=GATEWAY, headers=site.headers, may_repeat=True),
        "gateway": Target(server=running, dialect=GATEWAY, headers=site.headers),
    }
    speeds = race(task.kind, targets, cities, effort)
    ours, theirs = speeds["gateway"], speeds["floor"]
    share, least = core_ratio(ours, theirs), task.least_ratio
    return Line(
        task.what,
        floor=per_second(rate(theirs)),
        gateway=per_second(rate(ours)),
        ratio=f"{ratio(ours, theirs):.2f}",
        core_ratio=f"{share:.2f}",
        goal="" if least is None else f">= {least}",
        reached="" if least is None else verdict(share >= least),
    )


def held_line(
    task: Task, running: Running, site: Site, cities: Sequence[City], rounds: int
) -> Line:
    """Return the line with the longest block of the event loop by a question of a round."""
    worst: list[float] = []
    for number in range(rounds):
        questions = first(task.kind, cities, HARD_QUESTIONS, seed=HARD_SEED + number)
        with probing(running.url) as probe:
            for question in questions:
                get(running, site, GATEWAY.path(question))
        worst.append(probe.worst_seconds)
    held = statistics.median(worst)
    return Line(
        f"loop held by: {task.what}",
        gateway=milliseconds(held),
        goal=f"<= {milliseconds(MOST_HELD_SECONDS)}",
        reached=verdict(held <= MOST_HELD_SECONDS),
    )


def probe_line(running: Running) -> Line:
    """Return the line with the probe's result for an idle event loop."""
    with probing(running.url) as probe:
        time.sleep(IDLE_SECONDS)
    return Line("loop held by nothing", gateway=milliseconds(probe.worst_seconds))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How fast rows are read.")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the large worksheet")
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of measurements of each figure"
    )
    parser.add_argument("--seconds", type=int, default=2, help="duration of each run of wrk")
    return parser.parse_args()


if __name__ == "__main__":
    main()
