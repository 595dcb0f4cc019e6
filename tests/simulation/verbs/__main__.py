"""The long form.  Usage: python -m tests.simulation.verbs --operations 100000

Options add what people and Google do: --swaps-tabs --header-ttl-seconds 5, --slowest-look-ms 6000,
--trip-share 0.2, --partial-keys 0.5, --clears, --full-seconds 20.

The operations go to one spreadsheet after the other, each with an emulator and a gateway of its
own: in one spreadsheet the fences of the last three minutes would fill the metadata, since no quota
holds the gateway back.
"""

import sys
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

from tests.simulation.command import exit_status, parsed
from tests.simulation.verbs.campaign import Report, Verbs, run

OPERATIONS = 1000
"""Of one spreadsheet."""


def main() -> int:
    """Print the report; 1 if a promise was broken."""
    campaign = parsed(Verbs())

    def all_parts(folder: Path) -> Report:
        total = Report()
        for number, first in enumerate(range(0, campaign.operations, OPERATIONS)):
            size = min(OPERATIONS, campaign.operations - first)
            part = replace(campaign, seed=campaign.seed + number, operations=size)
            place = folder / f"{number}"
            place.mkdir()
            found = run(place, part)
            total += found
            rmtree(place)
            print(f"Seed {part.seed}: {found}", flush=True)
        return total

    return exit_status(all_parts)


if __name__ == "__main__":
    sys.exit(main())
