"""Many who poll, and one who asks for far too much: Google refuses nothing, and all are served.

The long forms are `python -m tests.simulation.reads polling`, `abuse` and `aging`.
"""

from pathlib import Path

from tests.simulation.reads.abuse import Abuse
from tests.simulation.reads.abuse import run as abused
from tests.simulation.reads.polling import Polling
from tests.simulation.reads.polling import run as polled


async def test_polling_clients_are_served_within_the_limits(tmp_path: Path) -> None:
    """Twenty clients poll five worksheets that Google lets nobody keep fresh: all are answered.

    With a life of one second they would take 600 reads a minute, of which Google allows 60.
    """
    report = await polled(tmp_path, Polling(seconds=12.0, rows_ttl_seconds=1.0))

    assert report.problems == [], str(report)


async def test_an_abuser_is_no_trouble_to_others(tmp_path: Path) -> None:
    """Beside a key that asks for a hundred times as much, in all costly ways, nine are served."""
    report = await abused(tmp_path, Abuse(seconds=6.0, is_timed=False))

    assert report.problems == [], str(report)
