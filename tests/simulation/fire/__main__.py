"""The long form of the fire.  Usage: python -m tests.simulation.fire --fires 10

A gateway deletes the fences of earlier ones after 185 s. Many kills within a long fire fill the
spreadsheet's metadata, so there are several fires, or few kills.
"""

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
    is_fine = True
    for seed in range(options.seed, options.seed + options.fires):
        with tempfile.TemporaryDirectory() as folder:
            report = burn(_campaign(options, seed), Path(folder))
        print(f"Seed {seed}: {report}", flush=True)
        is_fine &= not (report.problems or report.unexplained)
    return 0 if is_fine else 1


def _campaign(options: argparse.Namespace, seed: int) -> Campaign:
    mixture = Mixture(
        keyed=0.0 if options.no_keys else Mixture.keyed,
        arrays=0.0 if options.no_arrays else Mixture.arrays,
    )
    return Campaign(
        creates=options.creates,
        seed=seed,
        worksheets=options.worksheets,
        clients=options.clients,
        waves=options.waves,
        fault_share=options.faults,
        latest_ms=options.latest_ms,
        kill_seconds=options.kill_seconds,
        visit_seconds=options.visit_seconds,
        update_share=options.updates,
        moves_columns=options.moves_columns,
        swaps_tabs=options.swaps_tabs,
        slowest_look_ms=options.slowest_look_ms,
        look_share=options.look_share,
        trip_share=options.trip_share,
        full_seconds=options.full_seconds,
        has_repeatable_ids=options.repeatable_metadata_ids,
        mixture=mixture,
        patience=Patience(
            answer_seconds=60.0, asks=options.asks, longest_pause_seconds=options.longest_pause
        ),
        end_seconds=options.end_seconds,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.fire")
    parser.add_argument("--creates", type=int, default=1000, help="of each fire")
    parser.add_argument("--fires", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worksheets", type=int, default=8)
    parser.add_argument("--clients", type=int, default=8, help="of each worksheet")
    parser.add_argument("--waves", type=int, default=3, help="a column is moved in between")
    parser.add_argument("--faults", type=float, default=0.05, help="share of the calls")
    parser.add_argument("--latest-ms", type=int, default=5000, help="of late effects")
    parser.add_argument("--kill-seconds", type=float, default=5.0)
    parser.add_argument("--asks", type=int, default=60, help="of a create with a key")
    parser.add_argument("--longest-pause", type=float, default=190.0, help="seconds between asks")
    parser.add_argument("--visit-seconds", type=float, default=0.2, help="between people's edits")
    parser.add_argument("--updates", type=float, default=0.3, help="share of the creates")
    parser.add_argument("--moves-columns", action="store_true", help="at any time")
    parser.add_argument("--swaps-tabs", action="store_true", help="worksheets swap their names")
    parser.add_argument("--slowest-look-ms", type=int, default=0, help="0: looks are not slow")
    parser.add_argument("--look-share", type=float, default=0.1, help="of the looks are slow")
    parser.add_argument("--trip-share", type=float, default=0.0, help="of the writes meet an edit")
    parser.add_argument("--full-seconds", type=float, default=0.0, help="between full metadata")
    parser.add_argument("--repeatable-metadata-ids", action="store_true", help="waits get long")
    parser.add_argument("--end-seconds", type=float, default=7200.0)
    parser.add_argument("--no-keys", action="store_true")
    parser.add_argument("--no-arrays", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
