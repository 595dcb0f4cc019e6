"""A gateway from its start to the first page of the large worksheet: time, memory, event loop."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.dialects import GATEWAY, SMALL_WORKSHEET, WORKSHEET
from benchmarks.probe import probing
from benchmarks.processes import Site, gateway, get, resident_megabytes
from benchmarks.questions import first, right_answer
from benchmarks.report import Line, milliseconds, verdict
from benchmarks.sheet import City


@dataclass(frozen=True, kw_only=True)
class Life:
    """Measurements of one gateway process."""

    start_seconds: float
    idle_megabytes: float
    growth_megabytes: float
    held_seconds: float


def live(site: Site, cities: Sequence[City]) -> Life:
    """Start a gateway and read both renderings of the large worksheet, while its loop is probed."""
    (question,) = first("range", cities, 1)
    path = GATEWAY.path(question)
    with gateway(site) as running:
        idle = resident_megabytes(running.pid)
        # A first small read loads the token, the connections and lazily imported modules.
        get(running, site, path.replace(WORKSHEET, SMALL_WORKSHEET))
        before = resident_megabytes(running.pid)
        with probing(running.url) as probe:
            body = get(running, site, path)
        after = resident_megabytes(running.pid)
    if GATEWAY.names(body) != right_answer(question, cities):
        raise SystemExit("The first page is wrong.")
    return Life(
        start_seconds=running.start_seconds,
        idle_megabytes=idle,
        growth_megabytes=after - before,
        held_seconds=probe.worst_seconds,
    )


def life_lines(lives: Sequence[Life]) -> Iterator[Line]:
    """Yield the lines with the medians of several gateways."""
    for what, figure, shown, most in _FIGURES:
        median = statistics.median(map(figure, lives))
        yield Line(
            what, gateway=shown(median), goal=f"<= {shown(most)}", reached=verdict(median <= most)
        )


def _seconds(value: float) -> str:
    return f"{value:.1f} s"


def _megabytes(value: float) -> str:
    return f"{value:.0f} MB"


_FIGURES: Sequence[tuple[str, Callable[[Life], float], Callable[[float], str], float]] = (
    ("`serve` to `/readyz`", lambda life: life.start_seconds, _seconds, 2),
    ("resident, idle", lambda life: life.idle_megabytes, _megabytes, 110),
    ("growth by both halves", lambda life: life.growth_megabytes, _megabytes, 150),
    ("loop held while they are read", lambda life: life.held_seconds, milliseconds, 0.05),
)
