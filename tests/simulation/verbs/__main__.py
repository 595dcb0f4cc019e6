"""Run the campaign.  Usage: python -m tests.simulation.verbs --operations 100000

Further disturbances: --swaps-tabs --header-ttl-seconds 5, --slowest-look-ms 6000, --trip-share 0.2,
--partial-keys 0.5, --clears, --full-seconds 20, --title-rows 2, --native-table, --filled-down.
"""

import sys

from tests.simulation.command import exit_status, parsed
from tests.simulation.verbs.campaign import Verbs, run_parts


def main() -> int:
    """Print the report. Returns 1 if a guarantee was violated."""
    campaign = parsed(Verbs())
    return exit_status(lambda folder: run_parts(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
