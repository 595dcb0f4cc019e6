"""Run the campaign.  Usage: python -m tests.simulation.fleet --creates 2000 --runs 50 --processes 3

Further disturbances: --slowest-look-ms 6000, --partial-keys 0.5, --full-seconds 20.

Each run has its own servers, processes and spreadsheet, because metadata of killed processes stays
for 185 s, and the emulator's records of each change grow with the rows.
"""

import signal
import sys
from dataclasses import replace
from functools import partial

import pytest

from tests.simulation.command import exit_status, in_turn, parsed
from tests.simulation.fleet.campaign import Fleet, run


def main() -> int:
    """Print a report for each run. Returns 1 if a guarantee was violated.

    SIGTERM acts like Ctrl-C: servers and processes end, too.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    campaign = parsed(Fleet())
    fleets = [replace(campaign, seed=campaign.seed + number) for number in range(campaign.runs)]
    runs = {each.seed: partial(run, campaign=each) for each in fleets}
    try:
        return exit_status(lambda folder: in_turn(folder, runs))
    except pytest.skip.Exception as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
