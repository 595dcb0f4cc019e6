"""The long form.  Usage: python -m tests.simulation.verbs --operations 100000"""

import sys

from tests.simulation.command import exit_status, parsed
from tests.simulation.verbs.campaign import Mixed, run

if __name__ == "__main__":
    campaign = parsed(Mixed())
    sys.exit(exit_status(lambda folder: run(folder, campaign)))
