"""How many requests a second a server answers: wrk with 32 connections, one thread.

wrk sends paths that were written to a file before, so that a question costs it the same whatever
it asks. A run in which any request fails is no figure.
"""

import shutil
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from benchmarks.dialects import Dialect
from benchmarks.processes import Running, core_seconds
from benchmarks.questions import Kind, ask
from benchmarks.sheet import City

CONNECTIONS = 32
TIMEOUT_SECONDS = 60
SPARE_SECONDS = 30
"""How long wrk may take beside its run."""

QUESTIONS_PER_SECOND: Mapping[Kind, int] = {
    "again": 1,
    "plain": 30_000,
    "typed": 30_000,
    "range": 25_000,
    "equality": 30_000,
    "row": 40_000,
    "other order": 10_000,
    "fifty": 2_000,
}
"""More than any server answers: questions of a range are to differ within a run."""

_SCRIPT = Path(__file__).with_name("load.lua")


class Outcome(msgspec.Struct):
    """What wrk says of a run."""

    requests: int
    seconds: float
    failed: int


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Answers a second, and the time of a core that the server took for each."""

    rate: float
    core_seconds: float


@dataclass(frozen=True, kw_only=True)
class Target:
    """A server under load: where it is, how it is asked, what it is told in every request."""

    server: Running
    dialect: Dialect
    headers: Mapping[str, str] = field(default_factory=dict)
    may_repeat: bool = False
    """Whether a question may come twice in a run."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long everything is measured."""

    rounds: int
    seconds: int
    folder: Path
    """Where the files of paths are put."""


def find_wrk() -> str:
    """Where wrk is; SystemExit that says how to get it."""
    found = shutil.which("wrk")
    if found is None:
        raise SystemExit("wrk is missing: apt install wrk (or brew install wrk).")
    return found


def race(
    kind: Kind, targets: Mapping[str, Target], cities: Sequence[City], effort: Effort
) -> dict[str, list[Speed]]:
    """The speed of each target, all of them in each round, which has its own questions."""
    speeds: dict[str, list[Speed]] = {name: [] for name in targets}
    for number in range(effort.rounds):
        files: dict[int, Path] = {}
        for name, target in targets.items():
            dialect = target.dialect
            if id(dialect) not in files:
                files[id(dialect)] = effort.folder / f"paths-{len(files)}"
                count = QUESTIONS_PER_SECOND[kind] * effort.seconds
                questions = islice(ask(kind, cities, seed=number + 1), count)
                with files[id(dialect)].open("w", encoding="ascii") as lines:
                    lines.writelines(f"{dialect.path(question)}\n" for question in questions)
            speeds[name].append(_run(target, kind, files[id(dialect)], effort.seconds))
    return speeds


def rate(speeds: Sequence[Speed]) -> float:
    """The median of answers a second."""
    return statistics.median(speed.rate for speed in speeds)


def ratio(ours: Sequence[Speed], theirs: Sequence[Speed]) -> float:
    """How many times as many answers we give: the median of the rounds' ratios.

    What slows the machine down for a while slows both of a round.
    """
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(our.rate / their.rate for our, their in pairs)


def core_ratio(ours: Sequence[Speed], theirs: Sequence[Speed]) -> float:
    """The same by the core's time for an answer, which others on the machine hardly touch."""
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(their.core_seconds / our.core_seconds for our, their in pairs)


def _run(target: Target, kind: Kind, paths: Path, seconds: int) -> Speed:
    before = core_seconds(target.server.pid)
    outcome = _drive(target, paths, seconds)
    taken = core_seconds(target.server.pid) - before
    if outcome.failed:
        raise SystemExit(f"{kind}: {outcome.failed} requests failed at {target.server.url}.")
    most = QUESTIONS_PER_SECOND[kind] * seconds
    if kind != "again" and not target.may_repeat and outcome.requests > most:
        raise SystemExit(f"{kind}: questions came twice; raise QUESTIONS_PER_SECOND.")
    answers = max(outcome.requests, 1)  # one is taken for granted, so that ratios can be made
    return Speed(rate=answers / outcome.seconds, core_seconds=taken / answers)


def _drive(target: Target, paths: Path, seconds: int) -> Outcome:
    """Ask for the paths of a file in turn for so long."""
    given = (("-H", f"{name}: {value}") for name, value in target.headers.items())
    headers = [part for header in given for part in header]
    numbers = ["-t", "1", "-c", str(CONNECTIONS), "-d", f"{seconds}s"]
    command = [find_wrk(), *numbers, "--timeout", f"{TIMEOUT_SECONDS}s", *headers]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "-s", str(_SCRIPT), target.server.url, "--", str(paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds + SPARE_SECONDS,
    )
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Outcome)
