"""Killed gateways: no acknowledged write is overwritten, and writes continue.

The long runs are `python -m tests.simulation.kills --cases 200` and
`python -m tests.simulation.kills.crash_loop --seconds 600`.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.simulation.kills import crash_loop
from tests.simulation.kills.campaign import INSTANTS, VERBS, Instant, Kills, lives_of, run
from tests.simulation.kills.crash_loop import CrashLoop
from tests.simulation.repeats import run_until_met
from tests.simulation.report import Report

LATE: Sequence[tuple[Instant, float]] = (("sent", 2.5),)


def test_every_write_is_killed_at_each_instant() -> None:
    """The 200 cases have all kinds of writes, with and without a key, at all steps of a write."""
    cases = [case for life in lives_of(Kills()) for case in life]
    sorts = {(each.verb.name, each.is_keyed, each.instant, each.late_seconds) for each in cases}

    assert len(cases) == 200
    assert len(sorts) == 2 * len(VERBS) * len(INSTANTS)
    assert len({each.number for each in cases}) == 200


def test_no_acknowledged_write_is_overwritten_after_a_kill(tmp_path: Path) -> None:
    """A batch that arrives after the kill of its gateway changes no row acknowledged to others."""
    report = run(tmp_path, Kills(cases=2 * len(VERBS), instants=LATE))

    assert report.problems == [], str(report)
    assert report.figures["acknowledged"] == 2 * len(VERBS), str(report)
    assert report.figures["late copies"] == 2 * len(VERBS), str(report)


def test_a_late_copy_that_google_accepts_is_found(tmp_path: Path) -> None:
    """Planted bug: with another fence ID, Google accepts a late batch that overwrites a write."""
    report = run(tmp_path, Kills(cases=5, instants=LATE, has_new_ids=True))

    assert "overwritten" in report.kinds, str(report)


def test_writes_go_on_in_a_crash_loop(tmp_path: Path) -> None:
    """Gateways that are killed every 1.5 s acknowledge writes."""
    campaign = CrashLoop(seconds=6.0, life_seconds=1.5)

    def lived(report: Report) -> bool:
        return report.figures["lives"] > 1 and report.figures["fences at once, at most"] > 0

    report = run_until_met(lambda _, folder: crash_loop.run(folder, campaign), lived, tmp_path)

    assert report.problems == [], str(report)
    assert lived(report), str(report)


def test_a_crash_loop_that_cannot_write_is_found(tmp_path: Path) -> None:
    """Planted bug: with full metadata no write is acknowledged, which is reported."""
    campaign = CrashLoop(seconds=2.0, life_seconds=1.0, is_full=True)
    report = crash_loop.run(tmp_path, campaign)

    assert report.kinds == {"idle"}, str(report)


def test_a_crash_loop_beyond_googles_quota_is_found(tmp_path: Path) -> None:
    """Planted bug: a Google quota below the gateway's is exceeded, which is reported."""
    campaign = CrashLoop(seconds=4.0, life_seconds=2.0, per_minute=3)
    report = crash_loop.run(tmp_path, campaign)

    assert report.kinds == {"refused"}, str(report)
