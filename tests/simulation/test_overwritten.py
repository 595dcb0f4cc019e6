"""An edit that a conditional update could have seen is not overwritten, however long writes wait.

The long form is `python -m tests.simulation.overwritten --seconds 60`.
"""

from pathlib import Path

import pytest

from tests.simulation.overwritten.campaign import Overwriting, run
from tests.simulation.overwritten.history import Edit, Update, overlooked

UPDATE = Update(row=2, seen=1, arrived_at=10.0)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(Edit(row=2, number=1, answered_at=5.0), id="known"),
        pytest.param(Edit(row=3, number=2, answered_at=5.0), id="another row"),
        pytest.param(Edit(row=2, number=2, answered_at=10.5), id="later"),
    ],
)
def test_edits_that_need_not_be_seen(edit: Edit) -> None:
    """An edit that the tag is of, of another row, or after the write, is not overlooked."""
    assert list(overlooked([edit], [UPDATE])) == []


def test_every_overlooked_edit_is_found() -> None:
    """An edit before a write whose tag is of before is overlooked, with how long it was there."""
    late = Edit(row=2, number=2, answered_at=9.75)
    early = Edit(row=2, number=3, answered_at=5.0)

    found = list(overlooked([late, early], [UPDATE, Update(row=2, seen=3, arrived_at=20.0)]))

    assert [(each.edit, each.seconds) for each in found] == [(late, 0.25), (early, 5.0)]
    assert {each.update for each in found} == {UPDATE}


async def test_no_edit_before_the_look_is_overwritten(tmp_path: Path) -> None:
    """While writes wait for quota for seconds, 412 meets every tag that a person made old."""
    outcome = await run(tmp_path, Overwriting(seconds=6.0))

    assert outcome.report.problems == [], str(outcome.report)
    assert outcome.statuses[200] > 0, str(outcome.report)
    assert outcome.statuses[412] > 0, str(outcome.report)
    assert outcome.longest_wait_seconds > 1.0, str(outcome.report)


async def test_a_wait_between_look_and_write_is_found(tmp_path: Path) -> None:
    """Planted bug: if writes wait for quota after their read, overwritten edits are found."""
    outcome = await run(tmp_path, Overwriting(seconds=8.0, is_planted=True))

    assert any("was there for" in problem for problem in outcome.report.problems)
