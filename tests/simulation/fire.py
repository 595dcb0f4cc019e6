"""Campaign of creates and updates under faults and kills.

Usage: python -m tests.simulation.fire --fires 10

The metadata of a gateway (fences) stays until a later gateway deletes it after 185 s. Many kills in
one long fire would fill the metadata, so run several fires, or use few kills.

Rules
- Between two waves of creates a person moves a column. During waves people sort, delete, insert and
  correct rows, and append rows by hand and by script.
- Some creates write a row with the same text as other creates. Only the number of such rows is
  checked, because they are indistinguishable.
"""

import sys
from dataclasses import dataclass, replace
from functools import partial

from tests.simulation.command import exit_status, in_turn, parsed
from tests.simulation.verbs.campaign import Verbs, run
from tests.simulation.verbs.operations import Mixture


@dataclass(frozen=True, kw_only=True)
class Fire:
    """Size and disturbances of one or several fires, which are campaigns of creates."""

    creates: int = 1000
    """Number of creates in each fire."""
    fires: int = 10
    seed: int = 1
    worksheets: int = 8
    clients: int = 8
    """Number of clients of each worksheet."""
    waves: int = 3
    """Number of waves of creates. Between waves a person moves a column."""
    faults: float = 0.05
    """Share of Google's calls that fail."""
    latest_ms: int = 5000
    """Longest delay of a late effect after its call, in milliseconds."""
    kill_seconds: float = 5.0
    """Average seconds between two kills of the gateway."""
    asks: int = 60
    """Maximum number of requests for one write with an Idempotency-Key."""
    longest_pause: float = 190.0
    """Longest pause between two requests of one write, in seconds."""
    visit_seconds: float = 0.2
    """Average seconds between two edits of people."""
    updates: float = 0.3
    """Share of creates after which the row is updated."""
    moves_columns: bool = False
    """True if people move columns at any time, so that updates can write to another column."""
    swaps_tabs: bool = False
    """True if people exchange the titles of worksheets."""
    slowest_look_ms: int = 0
    """Longest delay of a slow read in milliseconds, at least 500; 0 means no slow reads."""
    look_share: float = 0.1
    trip_share: float = 0.0
    """Share of the writes before which a person edits the sheet."""
    full_seconds: float = 0.0
    """Average seconds between two times when other programs fill the metadata; 0 means never."""
    has_repeatable_metadata_ids: bool = False
    """True if Google reuses metadata IDs; the gateway then waits longer after lost answers."""
    end_seconds: float = 7200.0
    latency_ms: int = 20
    has_keys: bool = True
    has_arrays: bool = True

    @property
    def verbs(self) -> Verbs:
        return Verbs(
            operations=round(self.creates * (1 + self.updates)),
            worksheets=self.worksheets,
            clients=self.clients,
            waves=self.waves,
            mixture=Mixture.of(
                creates=1.0,
                updates=self.updates,
                conditional=0.5,
                keyed=0.7 * self.has_keys,
                repeated=0.2,
                arrays=0.1 * self.has_arrays,
                shared=0.05,
            ),
            fault_share=self.faults,
            latest_ms=self.latest_ms,
            latency_ms=self.latency_ms,
            kill_seconds=self.kill_seconds,
            visit_seconds=self.visit_seconds,
            read_share=0.05,
            asks=self.asks,
            longest_pause=self.longest_pause,
            moves_columns=self.moves_columns,
            swaps_tabs=self.swaps_tabs,
            slowest_look_ms=self.slowest_look_ms,
            look_share=self.look_share,
            trip_share=self.trip_share,
            full_seconds=self.full_seconds,
            has_repeatable_ids=self.has_repeatable_metadata_ids,
            seed=self.seed,
            end_seconds=self.end_seconds,
        )


def main() -> int:
    """Run the fires and print the reports. Returns 1 if there are problems."""
    campaign = parsed(Fire())

    fires = [replace(campaign, seed=campaign.seed + number) for number in range(campaign.fires)]
    runs = {each.seed: partial(run, campaign=each.verbs) for each in fires}
    return exit_status(lambda folder: in_turn(folder, runs))


if __name__ == "__main__":
    sys.exit(main())
