"""Run the campaign of kills.  Usage: python -m tests.simulation.kills --cases 200"""

import sys

from tests.simulation.command import exit_status, parsed
from tests.simulation.kills.campaign import Kills, run


def main() -> int:
    """Print the report. Returns 1 if an acknowledged write was overwritten."""
    campaign = parsed(Kills())
    return exit_status(lambda folder: run(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
