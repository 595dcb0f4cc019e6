"""The long form of the fire.  Usage: python -m tests.simulation.fire --creates 100000"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.simulation.fire.campaign import Campaign, burn
from tests.simulation.fire.clients import Patience
from tests.simulation.fire.orders import Mixture


def main() -> int:
    """Print the report; 1 if a promise was broken."""
    options = _options()
    mixture = Mixture(
        keyed=0.0 if options.no_keys else Mixture.keyed,
        arrays=0.0 if options.no_arrays else Mixture.arrays,
    )
    campaign = Campaign(
        creates=options.creates,
        seed=options.seed,
        worksheets=options.worksheets,
        clients=options.clients,
        waves=options.waves,
        fault_share=options.faults,
        latest_ms=options.latest_ms,
        kill_seconds=options.kill_seconds,
        mixture=mixture,
        patience=Patience(
            answer_seconds=60.0, asks=options.asks, longest_pause_seconds=options.longest_pause
        ),
        end_seconds=options.end_seconds,
    )
    with tempfile.TemporaryDirectory() as folder:
        report = burn(campaign, Path(folder))
    print(report)
    is_fine = not report.problems and len(report.unexplained) <= report.may_be_unexplained
    return 0 if is_fine else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.fire")
    parser.add_argument("--creates", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worksheets", type=int, default=8)
    parser.add_argument("--clients", type=int, default=12, help="of each worksheet")
    parser.add_argument("--waves", type=int, default=10, help="a column is moved in between")
    parser.add_argument("--faults", type=float, default=0.02, help="share of the calls")
    parser.add_argument("--latest-ms", type=int, default=5000, help="of late effects")
    parser.add_argument("--kill-seconds", type=float, default=5.0)
    parser.add_argument("--asks", type=int, default=5, help="of a create with a key")
    parser.add_argument("--longest-pause", type=float, default=190.0, help="seconds between asks")
    parser.add_argument("--end-seconds", type=float, default=7200.0)
    parser.add_argument("--no-keys", action="store_true")
    parser.add_argument("--no-arrays", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
