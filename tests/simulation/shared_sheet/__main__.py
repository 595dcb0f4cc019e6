"""The long form.  Usage: python -m tests.simulation.shared_sheet --operations 20000

Options add what others and Google do: --slowest-look-ms 6000, --trip-share 0.2, --full-seconds 20.

The operations go to one worksheet after the other, each with an emulator and gateways of its own:
in one spreadsheet the fences of the last three minutes would fill the metadata, since no quota
holds the gateways back.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from gateway.telemetry.events import configure_logging
from tests.simulation.command import exit_status, parsed
from tests.simulation.shared_sheet.campaign import Outcome, Sharing, run

OPERATIONS = 1000
"""Of one worksheet."""


def main() -> int:
    """Print the report; 1 if a promise was broken."""
    campaign = parsed(Sharing(operations=20_000, latest_ms=4500, script_pause_seconds=0.2))

    def logged_runs(folder: Path) -> Outcome:
        total = Outcome()
        with (folder / "log").open("w") as log:
            configure_logging(log)
            for number, first in enumerate(range(0, campaign.operations, OPERATIONS)):
                part = replace(
                    campaign,
                    seed=campaign.seed + number,
                    operations=min(OPERATIONS, campaign.operations - first),
                )
                place = folder / f"{number}"
                place.mkdir()
                total += asyncio.run(run(place, part))
                print(f"Worksheet {number + 1}. So far:\n{total}", flush=True)
        return total

    return exit_status(logged_runs)


if __name__ == "__main__":
    sys.exit(main())
