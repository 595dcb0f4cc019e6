"""The long form.  Usage: python -m tests.simulation.overwritten --seconds 60 [--planted]"""

import asyncio
import sys
from pathlib import Path

from gateway.telemetry.events import configure_logging
from tests.simulation.command import exit_status, parsed
from tests.simulation.overwritten.campaign import Overwriting, run
from tests.simulation.reads.report import Report


def main() -> int:
    campaign = parsed(Overwriting())

    def logged_run(folder: Path) -> Report:
        with (folder / "log").open("w") as log:
            configure_logging(log)
            return asyncio.run(run(folder, campaign)).report

    return exit_status(logged_run)


if __name__ == "__main__":
    sys.exit(main())
