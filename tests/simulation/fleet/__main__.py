"""The long form.  Usage: python -m tests.simulation.fleet --creates 2000 --runs 50 --processes 3

Options add what others and Google do: --slowest-look-ms 6000, --partial-keys 0.5,
--full-seconds 20.

Each run has engines, processes and a spreadsheet of its own: fences of killed processes stay for
185 s, and what the emulator notes of each change grows with the rows.
"""

import signal
import sys
from dataclasses import replace
from functools import partial

import pytest

from tests.simulation.command import exit_status, in_turn, parsed
from tests.simulation.fleet.campaign import Fleet, run


def main() -> int:
    """Print a report for each run; 1 if a promise was broken.

    SIGTERM ends it as Ctrl-C does: engines and processes end with it.
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
