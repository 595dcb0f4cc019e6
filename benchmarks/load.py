"""Requests per second of a server: wrk with 32 connections and one thread.

wrk reads the paths from a file, so that each kind of question costs wrk the same time. A run with a
failed request has no result.
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
"""Additional time that wrk can take besides its run."""

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
"""More questions than a server answers per second, so that they differ within a run."""

_SCRIPT = Path(__file__).with_name("load.lua")


class Outcome(msgspec.Struct):
    """The result of a run of wrk."""

    requests: int
    seconds: float
    failed: int


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Answers per second, and CPU seconds of the server per answer."""

    rate: float
    core_seconds: float


@dataclass(frozen=True, kw_only=True)
class Target:
    """A server under load, its query language, and the headers of every request."""

    server: Running
    dialect: Dialect
    headers: Mapping[str, str] = field(default_factory=dict)
    may_repeat: bool = False
    """True if a run can contain the same question twice."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Number and duration of the measurements."""

    rounds: int
    seconds: int
    folder: Path
    """Folder for the files of paths."""


def find_wrk() -> str:
    """Return the path of wrk. Raises SystemExit with install instructions if wrk is missing."""
    found = shutil.which("wrk")
    if found is None:
        raise SystemExit("wrk is missing. Install it with apt install wrk, or brew install wrk.")
    return found


def race(
    kind: Kind, targets: Mapping[str, Target], cities: Sequence[City], effort: Effort
) -> dict[str, list[Speed]]:
    """Return the speeds of each target; each round measures all targets with new questions."""
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
    """Return the median of answers per second."""
    return statistics.median(speed.rate for speed in speeds)


def ratio(ours: Sequence[Speed], theirs: Sequence[Speed]) -> float:
    """Return the median of the rounds' ratios of our answers per second to theirs.

    A temporary slowdown of the machine affects both sides of a round.
    """
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(our.rate / their.rate for our, their in pairs)


def core_ratio(ours: Sequence[Speed], theirs: Sequence[Speed]) -> float:
    """Return the median ratio by CPU time per answer, which other load hardly changes."""
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
        raise SystemExit(f"{kind}: questions repeated within a run. Raise QUESTIONS_PER_SECOND.")
    answers = max(outcome.requests, 1)  # at least one, so that ratios are defined
    return Speed(rate=answers / outcome.seconds, core_seconds=taken / answers)


def _drive(target: Target, paths: Path, seconds: int) -> Outcome:
    """Request the paths of a file in turn for `seconds`."""
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
