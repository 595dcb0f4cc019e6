"""The long forms.  Usage: python -m tests.simulation.reads polling --seconds 600"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path

from tests.simulation.reads import abuse, aging, outage, polling
from tests.simulation.reads.report import Report
from tests.simulation.reads.verdicts import BREAKER, HANGING, REFUSING, Opening

Journey = Callable[[Path, argparse.Namespace], Coroutine[None, None, Report]]

USUAL_SECONDS: Mapping[str, float] = {
    "polling": polling.Polling.seconds,
    "abuse": abuse.Abuse.seconds,
    "outage": outage.Outage.seconds,
    "aging": aging.Aging.seconds,
}


def main() -> int:
    """Print what came of a journey; 1 if something is not as it should be."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(JOURNEYS[options.journey](Path(folder), options))
    print(report)
    return 1 if report.problems else 0


def _polling(folder: Path, options: argparse.Namespace) -> Coroutine[None, None, Report]:
    return polling.run(folder, polling.Polling(seconds=options.seconds))


def _abuse(folder: Path, options: argparse.Namespace) -> Coroutine[None, None, Report]:
    return abuse.run(folder, abuse.Abuse(seconds=options.seconds))


def _outage(folder: Path, options: argparse.Namespace) -> Coroutine[None, None, Report]:
    return outage.run(
        folder,
        outage.Outage(
            seconds=options.seconds,
            phases=options.phases.split(","),
            per_second=options.per_second,
            opening=OPENINGS[options.phases.split(",")[0]],
            within_seconds=options.within_seconds,
        ),
    )


def _aging(folder: Path, options: argparse.Namespace) -> Coroutine[None, None, Report]:
    return aging.run(folder, aging.Aging(seconds=options.seconds, worksheets=options.worksheets))


OPENINGS: Mapping[str, Opening] = {
    "503": BREAKER,
    "drop": BREAKER,
    "hole": HANGING,
    "429": REFUSING,
}
"""By the way in which Google goes first."""
JOURNEYS: Mapping[str, Journey] = {
    "polling": _polling,
    "abuse": _abuse,
    "outage": _outage,
    "aging": _aging,
}


def _options() -> argparse.Namespace:
    usual = outage.Outage()
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.reads")
    parser.add_argument("journey", choices=JOURNEYS)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--worksheets", type=int, default=aging.Aging.worksheets, help="that age")
    parser.add_argument(
        "--phases", default=",".join(usual.phases), help=f"of an outage: {', '.join(outage.FAULTS)}"
    )
    parser.add_argument("--per-second", type=float, default=usual.per_second)
    parser.add_argument("--within-seconds", type=float, default=usual.within_seconds)
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = USUAL_SECONDS[options.journey]
    return options


if __name__ == "__main__":
    sys.exit(main())
