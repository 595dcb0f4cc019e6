"""Several gateway processes with one store give true answers under all disturbances.

The long run is `python -m tests.simulation.fleet --creates 2000 --runs 50`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.asking import IN_PROGRESS
from tests.simulation.fleet.campaign import Fleet, run
from tests.simulation.fleet.verdict import (
    ABSENT,
    KILL,
    OUTAGE,
    Acknowledged,
    Attempt,
    Evidence,
    Log,
    Shown,
    Span,
    chronicles,
    judge,
)
from tests.simulation.story import TITLE, Bodies, Cells, begun, entry
from tests.simulation.story import row as cells
from tests.simulation.verbs.answers import NUMBER_UNKNOWN
from tests.simulation.verbs.entries import Outcome
from tests.simulation.verbs.operations import HEADER, Kind

ROW = 3
NUMBER = 2
"""Number of the update operation."""
BLANK: Cells = ("",) * 6
FIRST, SECOND = "note:1", f"note:{NUMBER}"
SHORT = Fleet(
    creates=60,
    answer_seconds=6.0,
    per_minute=1200,
    latest_ms=2000,
    kill_seconds=2.5,
    suspend_every_seconds=30.0,
    suspend_seconds=6.0,
    engine_seconds=0.5,
    hang_seconds=1.5,
    outage_seconds=2.0,
    calm_seconds=2.0,
    end_seconds=240.0,
)
SORTS_OF_DISTURBANCES = 11


@dataclass(kw_only=True)
class Story:
    """An invented history: a create acknowledged at 2 s, an update at 5 s, and reads.

    `spans` are the disturbances.
    """

    log: Log = field(default_factory=Log)
    made: list[tuple[float, int, bool]] = field(default_factory=list)
    """Batches: time of effect in seconds, row number, and True if the batch is the update."""
    spans: tuple[Span, ...] = ()
    failures: tuple[float, ...] = ()
    peaks: dict[str, int] = field(default_factory=dict)
    unnoted: tuple[Cells, ...] = ()
    """Rows at the end that the recorded history does not contain."""

    def created(self, *, at: float = 1.5, row: int = ROW) -> None:
        """Add the effect of the create."""
        self.made.append((at, row, False))

    def updated(self, *, at: float = 4.5) -> None:
        """Add the effect of the update."""
        self.made.append((at, ROW, True))

    def told(self, outcome: Outcome = "done") -> None:
        """Add the answer to the create."""
        bodies: Bodies = ({"id": "id:1", "note": FIRST},)
        results = [{"rowIndex": ROW, **bodies[0]}] if outcome == "done" else []
        self._answered("create", bodies, outcome, results, number=1, times=(1.0, 2.0))
        if outcome == "done":
            self.acknowledged(FIRST, 2.0)

    def told_of_update(self, outcome: Outcome = "done", *, is_alone: bool = False) -> None:
        """Add the answer to the update."""
        bodies: Bodies = ({"note": SECOND},)
        results = [{"rowIndex": ROW, **bodies[0]}] if outcome == "done" else []
        self._answered("update", bodies, outcome, results, number=NUMBER, times=(4.0, 5.0))
        if outcome == "done":
            self.acknowledged(SECOND, 5.0, is_alone=is_alone)

    def _answered(
        self,
        kind: Kind,
        bodies: Bodies,
        outcome: Outcome,
        results: Sequence[Mapping[str, Any]],
        *,
        number: int,
        times: tuple[float, float],
    ) -> None:
        answered = entry(
            kind,
            bodies,
            outcome=outcome,
            told=results,
            number=number,
            rows=(ROW,) if kind == "update" else (),
            key=None if outcome == "unknown" else f"{kind}-{number}",
            asked_at=times[0],
            answered_at=times[1],
            code=0 if outcome == "done" else 5031,
        )
        if outcome == "applied":
            answer = replace(answered.answer, code=NUMBER_UNKNOWN)
            answered = replace(answered, answer=answer)
        self.log.entries.append(answered)

    def acknowledged(self, note: str, at: float, *, is_alone: bool = False) -> None:
        place = (TITLE, ROW)
        write = Acknowledged(place=place, note=note, answered_at=at, is_alone=is_alone)
        self.log.writes.append(write)

    def read(
        self,
        note: str | None,
        at: float,
        *,
        client: int = 1,
        is_alone: bool = False,
        is_stale: bool = False,
    ) -> None:
        """Add a read of the row, answered 0.1 s later."""
        shown = Shown(
            client=client,
            process=2,
            kind="row",
            worksheet=TITLE,
            asked_at=at,
            answered_at=at + 0.1,
            notes={ROW: note},
            is_alone=is_alone,
            is_stale=is_stale,
        )
        self.log.reads.append(shown)

    def answered(self, status: int, at: float, *, kind: str = "row", outcome: str = "") -> None:
        attempt = Attempt(
            kind=kind, process=2, status=status, asked_at=at, answered_at=at + 0.1, outcome=outcome
        )
        self.log.attempts.append(attempt)

    def saw_failure(self, since: float, until: float) -> bool:
        return any(since <= at <= until for at in self.failures)

    @property
    def evidence(self) -> Evidence:
        rows: dict[int, Cells] = {2: cells(9)}
        held = [rows[2]]
        story = begun(*held)
        for fence, (at, row, is_update) in enumerate(sorted(self.made), start=1):
            before = rows.get(row, BLANK)
            rows[row] = (*before[:3], SECOND, *before[4:]) if is_update else cells(1)
            held = [rows.get(number, BLANK) for number in range(2, max(rows) + 1)]
            story.add(at, *held, fence=fence)
        return Evidence(
            log=self.log,
            courses=story.history.courses(story.sent),
            spans=self.spans,
            saw_failure=self.saw_failure,
            peaks=self.peaks,
            last_texts={TITLE: [HEADER, *held, *self.unnoted]},
        )

    def kinds(self) -> set[str]:
        """Return the kinds of problems that the check finds."""
        return {problem.kind for problem in judge(self.evidence)}


def whole() -> Story:
    """Return a history without a problem, with reads of the row."""
    story = Story()
    story.created()
    story.told()
    story.updated()
    story.told_of_update()
    story.read(FIRST, 3.0)
    story.read(SECOND, 6.0)
    return story


def create_only() -> Story:
    story = Story()
    story.created()
    story.told()
    return story


def updated_alone() -> Story:
    """Return a history whose update was answered with `detail=alone`: Redis had failed."""
    story = create_only()
    story.updated()
    story.told_of_update(is_alone=True)
    return story


def lost_row(story: Story) -> None:
    story.made = [each for each in story.made if each[0] > 4]


def doubled_by_another_process(story: Story) -> None:
    story.created(at=2.5, row=ROW + 1)


def misplaced(story: Story) -> None:
    lost_row(story)
    story.created(row=ROW + 1)


def lost_update(story: Story) -> None:
    story.made = [each for each in story.made if each[0] < 4]


def doubled_update(story: Story) -> None:
    story.updated(at=4.8)


def stale_at_once(story: Story) -> None:
    story.read(FIRST, 5.01)


def stale_and_marked_so(story: Story) -> None:
    story.read(FIRST, 60.0, client=2, is_stale=True)


def without_the_row(story: Story) -> None:
    story.read(ABSENT, 8.0, client=2)


def uncommitted(story: Story) -> None:
    story.read(SECOND, 4.0, client=2)


def invented(story: Story) -> None:
    story.read("note:77", 8.0, client=2)


def internal_error(story: Story) -> None:
    story.answered(500, 8.0)


def unknown_in_peace(story: Story) -> None:
    story.answered(504, 30.0, kind="create", outcome="unknown")


def refused_without_engines(story: Story) -> None:
    story.spans = (Span(kind=OUTAGE, since=7.0, until=12.0),)
    story.answered(200, 6.0)
    story.answered(503, 9.0)


def too_many_calls(story: Story) -> None:
    story.peaks = {"gateway@emulator reads": 61}


def written_past_the_history(story: Story) -> None:
    story.unnoted = (cells(5),)


BUGS = [
    pytest.param(lost_row, {"lost", "never was"}, id="acknowledged and missing"),
    pytest.param(doubled_by_another_process, {"doubled", "taken"}, id="doubled"),
    pytest.param(misplaced, {"answer", "never was"}, id="misplaced"),
    pytest.param(lost_update, {"lost", "never was"}, id="lost update"),
    pytest.param(doubled_update, {"overwritten"}, id="doubled update"),
    pytest.param(stale_at_once, {"stale read", "went back"}, id="stale read"),
    pytest.param(stale_and_marked_so, {"stale read"}, id="stale read that says so"),
    pytest.param(without_the_row, {"stale read"}, id="read without an acknowledged row"),
    pytest.param(uncommitted, {"never was"}, id="shown before it took effect"),
    pytest.param(invented, {"never was"}, id="shown, but never there"),
    pytest.param(internal_error, {"answer 500"}, id="500"),
    pytest.param(unknown_in_peace, {"unknown"}, id="unknown for no reason"),
    pytest.param(refused_without_engines, {"refused read"}, id="no read without engines"),
    pytest.param(too_many_calls, {"quota"}, id="more calls than Google allows"),
    pytest.param(written_past_the_history, {"witness"}, id="a row that no version has"),
]


def test_a_true_history_has_no_problems() -> None:
    """A history has no problems if its rows exist once and are shown after acknowledgement."""
    assert whole().kinds() == set()


@pytest.mark.parametrize(("plant", "kinds"), BUGS)
def test_every_planted_bug_is_found(plant: Callable[[Story], None], kinds: set[str]) -> None:
    """Each planted bug is reported with its kinds of problems."""
    story = whole()
    plant(story)

    assert story.kinds() >= kinds
    assert story.kinds() - {"stale read", "went back"} <= kinds


@pytest.mark.parametrize(
    ("outcome", "is_made", "kind"),
    [("not_applied", True, "false outcome"), ("applied", False, "lost")],
    ids=["there", "not there"],
)
def test_a_false_outcome_is_found(outcome: Outcome, is_made: bool, kind: str) -> None:
    """An outcome that contradicts the sheet is reported, whichever process answered."""
    story = Story()
    story.told(outcome)
    if is_made:
        story.created()

    assert story.kinds() == {kind}


def test_a_read_marked_alone_can_show_older_rows() -> None:
    """A read with `detail=alone` can be stale, and does not affect the check of later reads."""
    story = whole()
    story.read(FIRST, 7.0, is_alone=True)
    story.read(SECOND, 8.0)

    assert story.kinds() == set()


def test_a_write_marked_alone_can_be_missing_in_reads() -> None:
    """Reads can lack a write that was answered with `detail=alone`, even after they showed it."""
    story = updated_alone()
    story.read(SECOND, 6.0)
    story.read(FIRST, 7.0)

    assert story.kinds() == set()


def test_a_write_marked_alone_does_not_hide_older_writes() -> None:
    """Reads must show what was acknowledged before a write answered with `detail=alone`."""
    story = updated_alone()
    story.read(ABSENT, 7.0)

    assert story.kinds() == {"stale read"}


def test_a_client_never_goes_back() -> None:
    """Later reads of a client that saw an unacknowledged write must show this write.

    Reads of other clients need not show it.
    """
    story = create_only()
    story.updated()
    story.told_of_update("unknown")
    story.read(SECOND, 6.0, client=1)
    story.read(FIRST, 7.0, client=2)
    fine = story.kinds()
    story.read(FIRST, 8.0, client=1)

    assert fine == set()
    assert story.kinds() == {"went back"}


@pytest.mark.parametrize(
    "spans",
    [(Span(kind=KILL, since=22.0, until=24.0, process=0),), ()],
    ids=["a kill", "Google failed"],
)
def test_unknown_outcomes_need_a_disturbance(spans: tuple[Span, ...]) -> None:
    """An outcome can be unknown only soon after a disturbance or a failure of Google."""
    story = whole()
    unknown_in_peace(story)
    story.spans = spans
    story.failures = () if spans else (25.0,)

    assert story.kinds() == set()


def test_a_repeated_request_in_progress_can_be_unknown() -> None:
    """A repeated request can get `unknown` while the first request is still running."""
    story = whole()
    unknown_in_peace(story)
    (attempt,) = story.log.attempts
    story.log.attempts = [replace(attempt, code=IN_PROGRESS)]

    assert story.kinds() == set()


def test_processes_that_just_started_can_reject_reads() -> None:
    """Without PostgreSQL and Redis, a process that was just restarted can reject reads."""
    story = whole()
    refused_without_engines(story)
    story.spans += (Span(kind=KILL, since=6.5, until=7.0, process=2),)

    assert story.kinds() == set()


def test_a_chronicle_lists_the_events_of_a_problem() -> None:
    """The event log of a doubled row has its requests, effects and disturbances in order."""
    story = whole()
    doubled_by_another_process(story)
    story.spans = (Span(kind=KILL, since=1.2, until=3.0, process=0),)
    for process, (asked_at, answered_at) in enumerate([(1.0, 1.3), (1.4, 2.0)]):
        attempt = Attempt(
            kind="create",
            process=process,
            asked_at=asked_at,
            answered_at=answered_at,
            key="create-1",
            status=201 * process,
        )
        story.log.attempts.append(attempt)
    lines = [*chronicles(judge(story.evidence), story.evidence)]

    assert lines == [
        "create-1, doubled:",
        "      0.00 create sent to process 0",
        "      0.20 kill of process 0 begins",
        "      0.30 create at process 0 after 0.3 s: 0 ",
        "      0.40 create sent to process 1",
        f"      0.50 made in {TITLE} rows [3]",
        "      1.00 create at process 1 after 0.6 s: 201 ",
        f"      1.50 made in {TITLE} rows [4]",
        "      2.00 kill of process 0 is over",
    ]


def test_processes_on_one_store_answer_truly(tmp_path: Path) -> None:
    """With kills, suspensions and failing engines, no write is lost and no read is stale."""
    report = run(tmp_path, SHORT)

    assert report.problems == [], str(report)
    assert len(report.outcomes) == SORTS_OF_DISTURBANCES, str(report)
    assert report.figures["creates"] >= SHORT.creates, str(report)


def test_processes_with_more_disturbances_answer_truly(tmp_path: Path) -> None:
    """Answers are also true with slow reads, full metadata and keys with hidden columns."""
    campaign = replace(
        SHORT,
        creates=40,
        slowest_look_ms=3000,
        look_share=0.1,
        partial_keys=0.5,
        full_seconds=5.0,
        suspend_every_seconds=0.0,
        engine_seconds=0.0,
    )
    report = run(tmp_path, campaign)

    assert report.problems == [], str(report)
    assert report.figures["creates"] >= campaign.creates, str(report)
