"""The long form.  Usage: python -m tests.simulation.fleet --creates 2000 --runs 50 --processes 3

Options add what others and Google do: --slowest-look-ms 6000, --partial-keys 0.5,
--full-seconds 20.

Each run has engines, processes and a spreadsheet of its own: fences of killed processes stay for
185 s, and what the emulator notes of each change grows with the rows.
"""

import argparse
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.command import add_options, with_options
from tests.simulation.fleet.campaign import Fleet, run


def main() -> int:
    """Print a report for each run; 1 if a promise was broken.

    SIGTERM ends it as Ctrl-C does: engines and processes end with it.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.fleet")
    add_options(parser, Fleet())
    parser.add_argument("--runs", type=int, default=1, help="each with the next seed")
    options = parser.parse_args()
    campaign = with_options(Fleet(), options)
    is_fine = True
    for seed in range(campaign.seed, campaign.seed + options.runs):
        with tempfile.TemporaryDirectory() as folder:
            try:
                report = run(Path(folder), replace(campaign, seed=seed))
            except pytest.skip.Exception as error:
                raise SystemExit(str(error)) from error
        print(f"Seed {seed}: {report}", flush=True)
        is_fine &= not report.problems
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
