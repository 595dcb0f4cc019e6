"""Run all fuzz tests with many cases.

Usage: python -m tests.fuzz --cases 40000 --parsers 250000 --pipelines 10000
"""

import argparse
import sys

from tests.fuzz.campaign import Campaign, fought
from tests.fuzz.parsers import broken
from tests.fuzz.splitting import compared


def main() -> int:
    """Print the report, and return 1 if there was a problem."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=40_000, help="requests to the whole gateway")
    parser.add_argument(
        "--parsers", type=int, default=250_000, help="inputs to what reads requests"
    )
    parser.add_argument(
        "--pipelines", type=int, default=10_000, help="requests in a row, sent whole and in parts"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failures = [*broken(options.parsers, options.seed)]
    print(f"{options.parsers} inputs to what reads requests, {len(failures)} properties broken")
    report = fought(Campaign(cases=options.cases, seed=options.seed))
    comparison = compared(options.pipelines, options.seed)
    for line in [*failures, *str(report).splitlines(), *str(comparison).splitlines()]:
        print(line.encode("ascii", "backslashreplace").decode())
    return 1 if failures or report.problems or comparison.problems else 0


if __name__ == "__main__":
    sys.exit(main())
