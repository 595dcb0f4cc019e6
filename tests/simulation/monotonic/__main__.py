"""The long form.  Usage: python -m tests.simulation.monotonic --seconds 60 [--windows]"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.simulation.monotonic.campaign import Monotonic, run


def main() -> int:
    """Print the report; 1 if a client saw a counter fall."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.monotonic")
    parser.add_argument("--seconds", type=float, default=Monotonic.seconds)
    parser.add_argument("--readers", type=int, default=Monotonic.readers)
    parser.add_argument("--writers", type=int, default=Monotonic.writers)
    parser.add_argument("--latency-ms", type=int, default=Monotonic.latency_ms)
    parser.add_argument("--ttl-seconds", type=float, default=Monotonic.rows_ttl_seconds)
    parser.add_argument("--seed", type=int, default=Monotonic.seed)
    parser.add_argument("--windows", action="store_true", help="read the worksheet in windows")
    options = parser.parse_args()
    campaign = Monotonic(
        seconds=options.seconds,
        readers=options.readers,
        writers=options.writers,
        latency_ms=options.latency_ms,
        seed=options.seed,
        rows_ttl_seconds=options.ttl_seconds,
        has_windows=options.windows,
    )
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(run(Path(folder), campaign)).report
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
