"""Creates under faults and kills: nothing acknowledged is lost, doubled or misplaced."""

import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest

from tests.simulation.fire.campaign import Campaign, Report, burn, unexplained
from tests.simulation.fire.clients import Create, read_answer, read_update
from tests.simulation.fire.faults import (
    BATCH,
    BATCH_FAULTS,
    FENCE,
    FEWEST_BETWEEN,
    READS,
    Weather,
    plan,
)
from tests.simulation.fire.ledger import (
    Change,
    Effect,
    Entry,
    Fields,
    Outcome,
    UpdateEntry,
    problems_of,
)
from tests.simulation.repeats import run_until_met

TITLE = "Fire0"
WEATHER = Weather(share=0.1, latest_ms=2000, slowest_ms=600, timeout_ms=4000)
ANSWERED_AT = 10.0


@dataclass(frozen=True, kw_only=True)
class Told:
    """A truth whose rows stay where they were created, unless `moved` says where they went."""

    effects: list[Effect]
    changes: list[Change]
    overwritten: tuple[str, ...] = ()
    moved: tuple[int, ...] = ()

    def rows_between(self, worksheet: str, number: int, since: float, until: float) -> set[int]:
        """The rows of the effects by then, and those of the moves."""
        own = [
            each
            for each in self.effects
            if (each.worksheet, each.number) == (worksheet, number) and each.at <= until
        ]
        return {each.row for each in own} | (set(self.moved) if own else set())


def row(number: int) -> Fields:
    return (("id", f"id:{number}"), ("name", f"name:{number}"))


def entry(
    *numbers: int, outcome: Outcome = "created", first: int = 0, is_keyed: bool = False
) -> Entry:
    """A create of some rows; those created are said to begin at row `first`."""
    return Entry(
        worksheet=TITLE,
        rows=tuple(row(each) for each in numbers),
        outcome=outcome,
        places=tuple(range(first, first + len(numbers))) if first else (),
        is_keyed=is_keyed,
        answered_at=ANSWERED_AT,
    )


def made(number: int, at_row: int, *, batch: int = 1, at: float = 5.0) -> Effect:
    """A row that was created."""
    return Effect(
        at=at, batch=batch, worksheet=TITLE, number=number, row=at_row, fields=row(number)
    )


def update(number: int, outcome: Outcome = "created", *, asked_at: float = 1.0) -> UpdateEntry:
    """An update of row 2 that was answered 4 s later."""
    return UpdateEntry(
        worksheet=TITLE,
        row=2,
        number=number,
        outcome=outcome,
        asked_at=asked_at,
        answered_at=asked_at + 4.0,
    )


def changed(number: int, *, at: float = 3.0, at_row: int = 2) -> Change:
    """An update that was made."""
    return Change(at=at, worksheet=TITLE, number=number, row=at_row)


GOOD = [
    pytest.param([entry(1, first=3), entry(2, first=4)], [made(1, 3), made(2, 4)], id="created"),
    pytest.param([entry(1, outcome="unknown")], [], id="unknown, not made"),
    pytest.param([entry(1, outcome="unknown")], [made(1, 3)], id="unknown, made"),
    pytest.param([entry(1, outcome="not_applied")], [], id="not applied"),
    pytest.param([entry(1, outcome="applied", is_keyed=True)], [made(1, 3)], id="applied"),
    pytest.param(
        [entry(1, first=3), entry(1, first=4), entry(1, outcome="unknown")],
        [made(1, 3), made(1, 4)],
        id="equal rows",
    ),
    pytest.param([entry(1, 2, first=3)], [made(1, 3), made(2, 4)], id="array"),
    pytest.param([entry(1, 2, outcome="unknown")], [made(1, 3), made(2, 4)], id="array, unknown"),
]
BAD = [
    pytest.param([entry(1, first=3)], [], {"lost", "misplaced"}, id="lost"),
    pytest.param(
        [entry(1, first=3), entry(1, first=4)], [made(1, 3)], {"lost", "misplaced"}, id="equal lost"
    ),
    pytest.param([entry(1, first=3)], [made(1, 3), made(1, 4)], {"doubled"}, id="doubled"),
    pytest.param(
        [entry(1, outcome="unknown")], [made(1, 3), made(1, 9)], {"doubled"}, id="unknown, doubled"
    ),
    pytest.param(
        [entry(1, outcome="unknown", is_keyed=True)], [made(1, 3)], {"unsettled"}, id="unsettled"
    ),
    pytest.param(
        [entry(1, first=4), entry(2, first=4)],
        [made(1, 3), made(2, 4)],
        {"misplaced"},
        id="another's place",
    ),
    pytest.param(
        [entry(1, first=3)], [made(1, 3, at=11.0)], {"taken", "misplaced"}, id="told too early"
    ),
    pytest.param(
        [entry(1, first=3)],
        [replace(made(1, 3), fields=(("", "id:1"), ("name", "name:1")))],
        {"misplaced"},
        id="column without a header",
    ),
    pytest.param(
        [entry(1, outcome="applied")],
        [replace(made(1, 3), complaint="created above row 9")],
        {"misplaced"},
        id="above others",
    ),
    pytest.param([entry(1, outcome="not_applied")], [made(1, 3)], {"false outcome"}, id="made"),
    pytest.param([entry(1, outcome="applied")], [], {"false outcome"}, id="not made"),
    pytest.param([], [made(1, 3)], {"nobody's"}, id="nobody's"),
    pytest.param([entry(1, 2, outcome="unknown")], [made(2, 3)], {"torn"}, id="half an array"),
    pytest.param(
        [entry(1, 2, outcome="unknown")],
        [made(1, 3), made(2, 5)],
        {"torn"},
        id="array with another row inside",
    ),
    pytest.param(
        [entry(1, 2, outcome="unknown")],
        [made(1, 3), made(2, 4, batch=2)],
        {"torn"},
        id="array in two batches",
    ),
]


@pytest.mark.parametrize(("entries", "effects"), GOOD)
def test_a_true_ledger_has_no_problems(entries: list[Entry], effects: list[Effect]) -> None:
    """What may be so after such answers is no problem."""
    assert problems_of(entries, Told(effects=effects, changes=[])) == []


@pytest.mark.parametrize(("entries", "effects", "kinds"), BAD)
def test_every_broken_promise_is_found(
    entries: list[Entry], effects: list[Effect], kinds: set[str]
) -> None:
    """Effects that are not as the ledger says show as problems of the right sorts."""
    found = problems_of(entries, Told(effects=effects, changes=[]))

    assert {problem.kind for problem in found} == kinds


def test_an_overwritten_row_is_found() -> None:
    """A batch that changes cells of others is a problem."""
    truth = Told(effects=[], changes=[], overwritten=("row 2: 'a' became 'b'",))

    assert [problem.kind for problem in problems_of([], truth)] == ["overwritten"]


def test_rows_may_have_moved() -> None:
    """A row number is true if the row was there at any moment before the answer."""
    truth = Told(effects=[made(1, 3)], changes=[], moved=(7,))

    assert problems_of([entry(1, first=7)], truth) == []
    assert problems_of([entry(1, first=8)], truth) != []


@pytest.mark.parametrize(
    ("updates", "changes", "kinds"),
    [
        pytest.param([update(1)], [changed(1)], set(), id="made"),
        pytest.param([update(1)], [], {"lost"}, id="lost"),
        pytest.param([update(1)], [changed(1), changed(1)], {"doubled"}, id="doubled"),
        pytest.param([update(1, "not_applied")], [changed(1)], {"false outcome"}, id="denied"),
        pytest.param([update(1)], [changed(1, at_row=3)], {"misplaced"}, id="another row"),
        pytest.param(
            [update(1, "unknown"), update(2, asked_at=6.0)],
            [changed(1, at=20.0), changed(2, at=7.0)],
            {"overwritten"},
            id="a late copy",
        ),
        pytest.param(
            [update(1, "unknown"), update(2, asked_at=6.0)],
            [changed(1, at=8.0), changed(2, at=9.0)],
            set(),
            id="late, but in order",
        ),
        pytest.param(
            [update(1), update(2, asked_at=2.0)],
            [changed(1, at=4.0), changed(2)],
            set(),
            id="at the same time",
        ),
        pytest.param([update(1)], [changed(1, at=6.0)], {"taken"}, id="told too early"),
    ],
)
def test_updates_come_in_order(
    updates: list[UpdateEntry], changes: list[Change], kinds: set[str]
) -> None:
    """No update takes effect over a later one that was acknowledged before."""
    found = problems_of([], Told(effects=[], changes=changes), updates)

    assert {problem.kind for problem in found} == kinds


@pytest.mark.parametrize(
    ("status", "body", "outcome", "is_fine"),
    [
        pytest.param(201, '{"rowIndex":3,"id":"id:1","name":"name:1"}', "created", True, id="201"),
        pytest.param(201, '{"rowIndex":3,"id":"id:2"}', "created", False, id="another row's 201"),
        pytest.param(502, '{"outcome":"not_applied"}', "not_applied", True, id="502"),
        pytest.param(504, '{"outcome":"unknown"}', "unknown", True, id="504"),
        pytest.param(500, '{"code":5000}', "unknown", False, id="no outcome"),
        pytest.param(201, "<html>", "unknown", False, id="no JSON"),
        pytest.param(409, '{"code":4090,"outcome":"not_applied"}', "unknown", True, id="a twin"),
        pytest.param(409, '{"code":4094,"outcome":"applied"}', "applied", True, id="moved"),
    ],
)
def test_answers_are_read_as_what_they_say(
    status: int, body: str, outcome: Outcome, is_fine: bool
) -> None:
    """The last answer is what a ledger has; one that is none, or of another row, is a problem."""
    create = Create(rows=(row(1),))

    found = read_answer(create, httpx2.Response(status, text=body))

    assert (found.outcome, found.complaint == "") == (outcome, is_fine)


@pytest.mark.parametrize(
    ("status", "body", "outcome", "is_fine"),
    [
        pytest.param(200, "{}", "created", True, id="200"),
        pytest.param(412, '{"code":4120}', "not_applied", True, id="412"),
        pytest.param(504, '{"outcome":"unknown"}', "unknown", True, id="504"),
        pytest.param(500, '{"code":5000}', "unknown", False, id="no outcome"),
        pytest.param(502, "<html>", "unknown", False, id="no JSON"),
    ],
)
def test_answers_of_updates_are_read(
    status: int, body: str, outcome: Outcome, is_fine: bool
) -> None:
    """What a client refused has no outcome, and was not applied."""
    found = read_update(httpx2.Response(status, text=body))

    assert (found.outcome, found.complaint == "") == (outcome, is_fine)


def test_unknown_needs_a_reason() -> None:
    """An answer `unknown` is explained by a failure of Google or a lost connection only."""
    idle = entry(1, outcome="unknown")
    cut = replace(idle, is_cut=True)

    assert unexplained([cut, idle, entry(4, first=3)], lambda *_: False) == [idle]
    assert unexplained([idle], lambda since, until: since <= 5.0 <= until) == []


def test_a_plan_has_every_kind_of_fault_about_equally_often() -> None:
    """So many calls go wrong as asked, in every way; reads are left time to look again."""
    chance = random.Random(1)  # noqa: S311 - no secret
    faults = plan(chance, WEATHER, batches=5000, reads=5000)
    batches = [fault for fault in faults if fault["call"] == BATCH]
    shapes = Counter(frozenset(fault) - {"skip", "call"} for fault in batches)
    reads = [fault["skip"] for fault in faults if fault["call"] == READS[0]]

    assert 0.08 < len(batches) / 5000 < 0.12
    assert min(shapes.values()) > len(batches) / len(BATCH_FAULTS) / 2
    assert all(fault["match"] == FENCE for fault in batches)
    assert all("drop" in fault or fault["status"] >= 502 for fault in faults if "late_ms" in fault)
    assert min(after - before for before, after in pairwise(reads)) > FEWEST_BETWEEN


BUSY = Campaign(creates=120, worksheets=4, kill_seconds=0.0, fault_share=0.03, latest_ms=2000)


@pytest.mark.parametrize(
    "campaign",
    [
        pytest.param(replace(BUSY, swaps_tabs=True), id="tabs that swap names"),
        pytest.param(replace(BUSY, slowest_look_ms=3000, look_share=0.2), id="slow looks"),
        pytest.param(replace(BUSY, trip_share=0.3), id="people who sort on the way"),
        pytest.param(replace(BUSY, full_seconds=2.0), id="metadata that is full"),
    ],
)
def test_creates_where_more_happens(tmp_path: Path, campaign: Campaign) -> None:
    """All answers are true, whatever people do to tabs, rows and metadata."""

    def happened(report: Report) -> bool:
        return (report.renamings > 0) is campaign.swaps_tabs and (report.filled > 0) is (
            campaign.full_seconds > 0
        )

    report = run_until_met(
        lambda seed, folder: burn(replace(campaign, seed=seed), folder), happened, tmp_path
    )

    assert report.problems == [], str(report)
    assert report.unexplained == [], str(report)
    assert happened(report), str(report)


def test_creates_under_fire(tmp_path: Path) -> None:
    """With every fault, kill -9 every few seconds and people who edit, all answers are true."""

    def happened(report: Report) -> bool:
        of_google = min(report.kills, report.lost_rows, report.replays)
        return min(of_google, report.edits, report.removed_rows, len(report.updates)) > 0

    report = run_until_met(
        lambda seed, folder: burn(Campaign(creates=200, seed=seed), folder), happened, tmp_path
    )

    assert report.problems == [], str(report)
    assert report.unexplained == [], str(report)
    assert happened(report), str(report)
