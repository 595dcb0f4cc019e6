"""The long form.  Usage: python -m tests.simulation.monotonic --seconds 60 [--windows]"""

import asyncio
import sys

from tests.simulation.command import exit_status, parsed
from tests.simulation.monotonic.campaign import Monotonic, run


def main() -> int:
    campaign = parsed(Monotonic())
    return exit_status(lambda folder: asyncio.run(run(folder, campaign)).report)


if __name__ == "__main__":
    sys.exit(main())
