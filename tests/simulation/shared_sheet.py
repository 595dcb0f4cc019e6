"""Two gateways with separate stores, and a script, on one worksheet with sparse rows.

Usage: python -m tests.simulation.shared_sheet --operations 20000

Further disturbances: --slowest-look-ms 6000, --trip-share 0.2, --full-seconds 20.

Rules
- Clients of both gateways create rows, and update rows that they read shortly before. Meanwhile
  Google fails, and the script appends and moves rows. `values.append` inserts below the table at
  A1, which ends above rows that do not touch it; `appendCells` appends below all rows.
- No row is deleted. But each gateway does not know the other gateway's writes, just as it does not
  know edits.
"""

import sys
from dataclasses import dataclass

from tests.simulation.command import exit_status, parsed
from tests.simulation.people import SCRIPT
from tests.simulation.verbs.campaign import Verbs, run_parts
from tests.simulation.verbs.operations import Mixture

GATEWAYS = 2


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Number of operations, and their disturbances."""

    operations: int = 20_000
    """Number of creates and conditional updates of both gateways together."""
    clients: int = 6
    """Number of clients of each gateway."""
    update_share: float = 0.5
    fault_share: float = 0.1
    latest_ms: int = 4500
    latency_ms: int = 20
    script_pause_seconds: float = 0.2
    read_pause_seconds: float = 0.2
    """Longest pause between a read and the update with the ETag of this read."""
    rows_ttl_seconds: float = 0.3
    slowest_look_ms: int = 0
    """Longest delay of a slow read in milliseconds, at least 500; 0 means no slow reads."""
    look_share: float = 0.1
    trip_share: float = 0.0
    """Share of the writes just before which a script sorts all rows or inserts one."""
    full_seconds: float = 0.0
    """Average seconds between two times when other programs fill the metadata; 0 means never."""
    seed: int = 1
    end_seconds: float = 600.0
    """Seconds after which the campaign gives up waiting for its clients."""

    @property
    def verbs(self) -> Verbs:
        return Verbs(
            operations=self.operations,
            worksheets=1,
            gateways=GATEWAYS,
            clients=self.clients,
            mixture=Mixture.of(
                creates=1 - self.update_share,
                updates=self.update_share,
                conditional=1.0,
                keyed=0.6,
                repeated=0.2,
                arrays=0.1,
                sparse=0.5,
            ),
            habits=SCRIPT,
            leaves_blank=frozenset({"id", "name"}),
            visit_seconds=self.script_pause_seconds,
            read_pause_seconds=self.read_pause_seconds,
            read_share=0.0,
            kill_seconds=0.0,
            fault_share=self.fault_share,
            latest_ms=self.latest_ms,
            latency_ms=self.latency_ms,
            rows_ttl_seconds=self.rows_ttl_seconds,
            slowest_look_ms=self.slowest_look_ms,
            look_share=self.look_share,
            trip_share=self.trip_share,
            full_seconds=self.full_seconds,
            seed=self.seed,
            end_seconds=self.end_seconds,
        )


def main() -> int:
    """Print the report. Returns 1 if a guarantee was violated."""
    campaign = parsed(Sharing()).verbs
    return exit_status(lambda folder: run_parts(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
