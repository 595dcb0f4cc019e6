"""The long form.  Usage: python -m tests.simulation.overwritten --seconds 60 [--planted]"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from gateway.telemetry.events import configure_logging
from tests.simulation.overwritten.campaign import Overwriting, run


def main() -> int:
    """Print the report; 1 if an edit was overlooked."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.overwritten")
    parser.add_argument("--seconds", type=float, default=Overwriting.seconds)
    parser.add_argument("--writes-per-minute", type=int, default=Overwriting.writes_per_minute)
    parser.add_argument("--latency-ms", type=int, default=Overwriting.latency_ms)
    parser.add_argument("--seed", type=int, default=Overwriting.seed)
    parser.add_argument("--planted", action="store_true", help="wait for quota after the look")
    options = parser.parse_args()
    campaign = Overwriting(
        seconds=options.seconds,
        latency_ms=options.latency_ms,
        writes_per_minute=options.writes_per_minute,
        seed=options.seed,
        is_planted=options.planted,
    )
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        configure_logging(log)
        report = asyncio.run(run(Path(folder), campaign)).report
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
