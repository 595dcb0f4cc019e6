"""Polling clients and a greedy client: Google rejects no call, and all clients are served.

The long runs are `python -m tests.simulation.reads polling`, `abuse` and `aging`.
"""

from pathlib import Path

from tests.simulation.reads.abuse import Abuse
from tests.simulation.reads.abuse import run as abused
from tests.simulation.reads.polling import Polling
from tests.simulation.reads.polling import run as polled


async def test_polling_clients_are_served_within_the_limits(tmp_path: Path) -> None:
    """Twenty clients poll five worksheets faster than the quota allows, and all are answered.

    With a TTL of one second they would cost 600 reads a minute; Google allows 60.
    """
    report = await polled(tmp_path, Polling(seconds=12.0, rows_ttl_seconds=1.0))

    assert report.problems == [], str(report)


async def test_a_greedy_reader_does_not_affect_others(tmp_path: Path) -> None:
    """Nine keys are served next to a key that sends a hundred times as many costly requests."""
    report = await abused(tmp_path, Abuse(seconds=6.0, is_timed=False))

    assert report.problems == [], str(report)
