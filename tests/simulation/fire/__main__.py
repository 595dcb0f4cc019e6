"""The long form of the fire.  Usage: python -m tests.simulation.fire --creates 100000"""

import argparse
import sys
from dataclasses import replace

from tests.simulation.command import add_options, exit_status, with_options
from tests.simulation.fire.campaign import Campaign, Report, burn
from tests.simulation.fire.clients import Patience
from tests.simulation.fire.orders import Mixture

LONG = Campaign(
    creates=100_000,
    clients=12,
    waves=10,
    fault_share=0.02,
    latest_ms=5000,
    end_seconds=7200.0,
    patience=Patience(answer_seconds=60.0, asks=5, longest_pause_seconds=190.0),
)


def main() -> int:
    parser = argparse.ArgumentParser()
    add_options(parser, LONG)
    parser.add_argument("--asks", type=int, default=5, help="of a create with a key")
    parser.add_argument("--longest-pause", type=float, default=190.0, help="seconds between asks")
    parser.add_argument("--no-keys", action="store_true")
    parser.add_argument("--no-arrays", action="store_true")
    options = parser.parse_args()
    campaign = replace(
        with_options(LONG, options),
        mixture=Mixture(
            keyed=0.0 if options.no_keys else Mixture.keyed,
            arrays=0.0 if options.no_arrays else Mixture.arrays,
        ),
        patience=replace(
            LONG.patience, asks=options.asks, longest_pause_seconds=options.longest_pause
        ),
    )
    return exit_status(lambda folder: burn(campaign, folder), is_fine=_is_fine)


def _is_fine(report: Report) -> bool:
    return not report.problems and len(report.unexplained) <= report.may_be_unexplained


if __name__ == "__main__":
    sys.exit(main())
