"""Tests that the scenarios find each planted bug, and no defect without one."""

import pytest

from tests.cluster import bugs, scenarios
from tests.cluster.bugs import Bug
from tests.cluster.peers import Office
from tests.cluster.scenarios import Scenario

SCENARIOS: list[Scenario] = [
    scenarios.a_write_is_seen_by_all,
    scenarios.writes_are_at_google_one_at_a_time,
    scenarios.a_holder_that_was_followed_writes_nothing,
    scenarios.a_late_batch_is_refused,
    scenarios.a_read_from_before_a_write_is_not_shared,
    scenarios.a_restart_restores_no_epoch,
]
PLANTED: list[tuple[Bug, Scenario]] = [
    (bugs.keeping_the_epoch, scenarios.a_write_is_seen_by_all),
    (bugs.not_waiting, scenarios.writes_are_at_google_one_at_a_time),
    (bugs.not_checking_the_holder, scenarios.a_holder_that_was_followed_writes_nothing),
    (bugs.leaving_open_fences, scenarios.a_late_batch_is_refused),
    (bugs.publishing_under_any_epoch, scenarios.a_read_from_before_a_write_is_not_shared),
    (bugs.believing_epochs_after_a_restart, scenarios.a_restart_restores_no_epoch),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_no_defect_without_a_bug(office: Office, scenario: Scenario) -> None:
    """Each scenario passes with the real code."""
    assert await scenario(office) == []


@pytest.mark.parametrize(("bug", "scenario"), PLANTED, ids=[bug.__name__ for bug, _ in PLANTED])
async def test_each_planted_bug_is_found(office: Office, bug: Bug, scenario: Scenario) -> None:
    """Each planted bug makes its scenario report a defect."""
    with bug():
        defects = await scenario(office)

    assert defects
