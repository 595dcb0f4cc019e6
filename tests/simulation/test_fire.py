"""Creates under faults and kills: nothing acknowledged is lost, doubled or misplaced."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest

from tests.simulation.fire.campaign import Campaign, burn, unexplained
from tests.simulation.fire.clients import Create, read_answer
from tests.simulation.fire.faults import APPEND_FAULTS, FEWEST_BETWEEN, READS, Weather, plan
from tests.simulation.fire.ledger import Entry, Fields, Grid, Outcome, problems_of

BEFORE: Grid = [["id", "", "name"], ["id:old", "", "name:old"]]
WEATHER = Weather(share=0.1, latest_ms=2000, slowest_ms=600, timeout_ms=4000)


def row(number: int) -> Fields:
    return (("id", f"id:{number}"), ("name", f"name:{number}"))


def cells(number: int) -> list[str]:
    return [f"id:{number}", "", f"name:{number}"]


def entry(*numbers: int, outcome: Outcome = "created", first: int = 0) -> Entry:
    """A create of some rows; those created are said to begin at row `first`."""
    places = tuple(range(first, first + len(numbers))) if first else ()
    return Entry(rows=tuple(row(each) for each in numbers), outcome=outcome, places=places)


GOOD = [
    pytest.param([entry(1, first=3), entry(2, first=4)], [cells(1), cells(2)], id="created"),
    pytest.param([entry(1, outcome="unknown")], [], id="unknown, not there"),
    pytest.param([entry(1, outcome="unknown")], [cells(1)], id="unknown, there"),
    pytest.param([entry(1, outcome="not_applied")], [], id="not applied"),
    pytest.param([entry(1, outcome="applied")], [cells(1)], id="applied, no place told"),
    pytest.param(
        [entry(1, first=3), entry(1, first=4), entry(1, outcome="unknown")],
        [cells(1), cells(1)],
        id="equal rows",
    ),
    pytest.param([entry(1, 2, first=3)], [cells(1), cells(2)], id="array"),
    pytest.param([entry(1, 2, outcome="unknown")], [cells(1), cells(2)], id="array, unknown"),
]
BAD = [
    pytest.param([entry(1, first=3)], [], {"lost", "misplaced"}, id="lost"),
    pytest.param(
        [entry(1, first=3), entry(1, first=4)], [cells(1)], {"lost", "misplaced"}, id="equal lost"
    ),
    pytest.param([entry(1, first=3)], [cells(1), cells(1)], {"doubled"}, id="doubled"),
    pytest.param(
        [entry(1, outcome="unknown")], [cells(1), cells(1)], {"doubled"}, id="unknown, doubled"
    ),
    pytest.param([entry(1, first=4)], [cells(1), cells(2)], {"misplaced", "nobody's"}, id="place"),
    pytest.param(
        [entry(1, first=3), entry(2, first=3)],
        [cells(1), cells(2)],
        {"misplaced"},
        id="one place for two",
    ),
    pytest.param(
        [entry(1, first=3)],
        [["id:1", "name:1"]],
        {"misplaced", "lost", "nobody's"},
        id="column without a header",
    ),
    pytest.param(
        [entry(1, outcome="unknown")],
        [["name:1", "", "id:1"]],
        {"misplaced", "nobody's"},
        id="columns swapped",
    ),
    pytest.param([entry(1, outcome="not_applied")], [cells(1)], {"false outcome"}, id="there"),
    pytest.param([entry(1, outcome="applied")], [], {"false outcome"}, id="not there"),
    pytest.param([], [cells(1)], {"nobody's"}, id="nobody's"),
    pytest.param([entry(1, 2, outcome="unknown")], [cells(2)], {"torn"}, id="half an array"),
    pytest.param(
        [entry(1, 2, outcome="unknown"), entry(3, first=4)],
        [cells(1), cells(3), cells(2)],
        {"torn"},
        id="array with another row inside",
    ),
]


@pytest.mark.parametrize(("entries", "added"), GOOD)
def test_a_true_ledger_has_no_problems(entries: list[Entry], added: list[list[str]]) -> None:
    """Every effect that the answers allow is accepted."""
    assert problems_of(entries, BEFORE, [*BEFORE, *added]) == []


@pytest.mark.parametrize(("entries", "added", "kinds"), BAD)
def test_every_broken_promise_is_found(
    entries: list[Entry], added: list[list[str]], kinds: set[str]
) -> None:
    """A worksheet that is not as its ledger says shows as problems of the right sorts."""
    found = problems_of(entries, BEFORE, [*BEFORE, *added])

    assert {problem.kind for problem in found} == kinds


def test_an_overwritten_row_is_found() -> None:
    """A row of before that is another one, or gone, is a problem."""
    changed = problems_of([entry(1, first=2)], BEFORE, [BEFORE[0], cells(1)])
    gone = problems_of([], BEFORE, [BEFORE[0]])

    assert "overwritten" in {problem.kind for problem in changed}
    assert [problem.kind for problem in gone] == ["overwritten"]


def test_columns_may_have_moved() -> None:
    """Rows are compared by their headers, wherever those are in the end."""
    after = [["name", "id", ""], ["name:old", "id:old"], ["name:1", "id:1"]]

    assert problems_of([entry(1, first=3)], BEFORE, after) == []


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
    ],
)
def test_answers_are_read_as_what_they_say(
    status: int, body: str, outcome: Outcome, is_fine: bool
) -> None:
    """The last answer counts; an invalid one, or one of another row, is a problem."""
    create = Create(rows=(row(1),))

    found = read_answer(create, httpx2.Response(status, text=body), is_cut=False)

    assert (found.outcome, found.complaint == "") == (outcome, is_fine)


def test_unknown_needs_a_reason() -> None:
    """An answer `unknown` is explained by a lost append or a lost connection only."""
    lost = entry(1, outcome="unknown")
    cut = Entry(rows=(row(2),), outcome="unknown", is_cut=True)
    idle = entry(3, outcome="unknown")

    assert unexplained([lost, cut, idle, entry(4, first=3)], lost={1, 4}) == [idle]


def test_a_plan_has_every_kind_of_fault_about_equally_often() -> None:
    """So many calls go wrong as asked, in every way; reads are left time to look again."""
    chance = random.Random(1)  # noqa: S311 - no secret
    faults = plan(chance, WEATHER, appends=5000, reads=5000)
    appends = [fault for fault in faults if fault["call"] == "values.append"]
    shapes = Counter(frozenset(fault) - {"skip", "call"} for fault in appends)
    reads = [fault["skip"] for fault in faults if fault["call"] == READS[0]]

    assert 0.08 < len(appends) / 5000 < 0.12
    assert min(shapes.values()) > len(appends) / len(APPEND_FAULTS) / 2
    assert all(fault["drop"] for fault in faults if "late_ms" in fault)
    assert min(after - before for before, after in pairwise(reads)) > FEWEST_BETWEEN


def test_creates_under_fire(tmp_path: Path) -> None:
    """With faults of every kind and kill -9 every few seconds all answers turn out to be true."""
    report = burn(Campaign(creates=400), tmp_path)

    assert report.problems == [], str(report)
    assert len(report.unexplained) <= report.may_be_unexplained, str(report)
    assert report.kills > 0, str(report)
    assert report.lost_rows > 0, str(report)
    assert report.replays > 0, str(report)
