"""The check of writes: correct histories have no problems, and every violation is found."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.simulation.story import (
    CHANGED,
    CHANGED_THREE,
    IN_GROUP_0,
    KEYED,
    NEW,
    NEW_ROW,
    ONE,
    THREE,
    TITLE,
    TWO,
    UPSERTED,
    Bodies,
    Cells,
    Story,
    at_5,
    begun,
    created,
    deleted,
    deleted_where,
    entry,
    kinds_of,
    records_of,
    row,
    twice,
    updated,
    updated_where,
    upserted,
)
from tests.simulation.verbs.entries import Answer, Entry, ListRead, Outcome, Repeat, read_answer
from tests.simulation.verbs.history import SEED, Version
from tests.simulation.verbs.operations import Filter, Operation


@pytest.mark.parametrize(
    ("story", "entries", "kinds"),
    [
        pytest.param(at_5(ONE, TWO, NEW_ROW), [created()], set(), id="created"),
        pytest.param(begun(ONE, TWO), [created()], {"lost"}, id="lost"),
        pytest.param(twice(), [created()], {"doubled"}, id="doubled"),
        pytest.param(at_5(ONE, TWO, NEW_ROW), [created(5)], {"answer"}, id="another number"),
        pytest.param(at_5(ONE, NEW_ROW), [created(3)], {"overwritten", "misplaced"}, id="taken"),
        pytest.param(
            at_5(CHANGED, TWO, NEW_ROW),
            [created()],
            {"overwritten", "torn", "misplaced", "answer"},
            id="in a row of others as well",
        ),
        pytest.param(
            at_5(ONE, TWO, NEW_ROW), [created(answered_at=4.5)], {"taken"}, id="told too early"
        ),
        pytest.param(
            at_5(ONE, TWO, NEW_ROW),
            [created(outcome="not_applied", code=5031)],
            {"false outcome"},
            id="denied",
        ),
        pytest.param(at_5(ONE, TWO, row(8)), [created()], {"lost", "overwritten"}, id="nobody's"),
        pytest.param(
            at_5(ONE, TWO, NEW_ROW), [created(outcome="unknown")], {"unexplained"}, id="unknown"
        ),
        pytest.param(
            at_5(ONE, TWO, NEW_ROW),
            [created(outcome="unknown", key="k")],
            {"unexplained", "unsettled"},
            id="never settled",
        ),
    ],
)
def test_verdict_on_creates(story: Story, entries: list[Entry], kinds: set[str]) -> None:
    """A created row must be present once, below all other rows, at its acknowledged number."""
    assert kinds_of(story, *entries) == kinds


@pytest.mark.parametrize(
    ("answer_from", "kinds"),
    [
        pytest.param(2, ({"answer"}, {"unexplained"}), id="shown"),
        pytest.param(4, (set[str](), set[str]()), id="not shown"),
    ],
)
def test_created_rows_above_the_rows_of_the_answer(
    answer_from: int, kinds: tuple[set[str], set[str]]
) -> None:
    """If people moved the end of the sheet up, the created row's number can be unknown."""
    story = begun(ONE, TWO).add(4.95, ONE).add(5.0, ONE, NEW_ROW, fence=1, answer_from=answer_from)
    story.add(5.1, ONE, TWO, NEW_ROW)

    assert kinds_of(story, created(4)) == kinds[0]
    assert kinds_of(story, created(outcome="applied", code=4094)) == kinds[1]


BLANK: Cells = ("",) * 6
SEVEN, EIGHT = row(7), row(8)
ARRAY: Bodies = ({"id": "id:7", "note": "note:7"}, {"id": "id:8", "note": "note:8"})
HALF_LATER = at_5(ONE, TWO, SEVEN).add(5.5, ONE, TWO, SEVEN, EIGHT, fence=2)


@pytest.mark.parametrize(
    ("story", "outcome", "kinds"),
    [
        pytest.param(at_5(ONE, TWO, SEVEN, EIGHT), "done", set(), id="whole"),
        pytest.param(at_5(ONE, TWO, SEVEN, EIGHT), "unknown", set(), id="whole, unknown"),
        pytest.param(begun(ONE, TWO), "unknown", set(), id="not made"),
        pytest.param(at_5(ONE, TWO, EIGHT), "unknown", {"torn"}, id="half of it"),
        pytest.param(
            at_5(ONE, TWO, SEVEN, row(9), EIGHT),
            "unknown",
            {"torn", "overwritten"},
            id="with another row inside",
        ),
        pytest.param(HALF_LATER, "unknown", {"torn", "doubled"}, id="in two batches"),
        pytest.param(at_5(ONE, TWO, EIGHT, SEVEN), "done", {"torn", "answer"}, id="turned"),
    ],
)
def test_verdict_on_arrays(story: Story, outcome: Outcome, kinds: set[str]) -> None:
    """An array must be created by one batch in consecutive rows."""
    told = [{"rowIndex": 4 + at, **body} for at, body in enumerate(ARRAY)]
    made = entry(
        "create", ARRAY, outcome=outcome, told=told if outcome == "done" else [], is_list=True
    )

    assert kinds_of(story, made, failures=[5.0]) == kinds


@pytest.mark.parametrize(
    ("story", "kinds"),
    [
        pytest.param(
            at_5(ONE, TWO, ("id:7", "", "note:7", "note:7", "", "")),
            {"misplaced", "end"},
            id="in a column without a header",
        ),
        pytest.param(
            begun(ONE, BLANK, TWO).add(5.0, ONE, SEVEN, TWO, fence=1), {"misplaced"}, id="in a gap"
        ),
        pytest.param(at_5(TWO, ONE, SEVEN), {"overwritten"}, id="beside rows that the batch moved"),
    ],
)
def test_rows_in_wrong_positions(story: Story, kinds: set[str]) -> None:
    """A created row must be below all others, in its columns, and move no other row."""
    assert kinds_of(story, created(outcome="unknown"), failures=[5.0]) == kinds


SHARED: Bodies = ({"id": "id:1000000000", "note": "note:1000000000"},)
SHARED_ROW = row(1_000_000_000)


def shared(number: int, at_row: int = 4, **more: Any) -> Entry:
    """Return a create of a row that other creates also write."""
    told = [{"rowIndex": at_row, **SHARED[0]}]
    return entry("create", SHARED, told=told, number=number, shared=1_000_000_000, **more)


@pytest.mark.parametrize(
    ("rows", "entries", "kinds"),
    [
        pytest.param([SHARED_ROW] * 2, [shared(7), shared(8, 5)], set(), id="two"),
        pytest.param([SHARED_ROW], [shared(7), shared(8)], {"lost"}, id="one is lost"),
        pytest.param([SHARED_ROW] * 2, [shared(7)], {"doubled"}, id="doubled"),
        pytest.param(
            [SHARED_ROW], [shared(7, outcome="not_applied", code=5031)], {"doubled"}, id="denied"
        ),
        pytest.param([SHARED_ROW], [shared(7, 2)], {"answer"}, id="another number"),
        pytest.param(
            [row(1_000_000_000, "group:0")],
            [shared(7)],
            {"misplaced"},
            id="other cells",
        ),
    ],
)
def test_equal_rows_are_counted(
    rows: Sequence[Cells], entries: list[Entry], kinds: set[str]
) -> None:
    """The number of equal rows must match the answers of their creates."""
    assert kinds_of(at_5(ONE, TWO, *rows), *entries) == kinds


def late_copy(arrives_at: float) -> Story:
    """Return a story: operation 8, and a delayed batch of operation 7, update row 2."""
    copies = sorted([(arrives_at, 7), (8.5, 8)])
    story = begun(ONE, TWO)
    for fence, (at, number) in enumerate(copies, start=1):
        story.add(at, row(1, "group:0", note=number), TWO, fence=fence, is_lost=number == 7)
    return story


@pytest.mark.parametrize(
    ("arrives_at", "kinds"),
    [pytest.param(9.5, {"overwritten"}, id="later"), pytest.param(8.2, set(), id="in order")],
)
def test_late_copies_of_updates(arrives_at: float, kinds: set[str]) -> None:
    """A delayed batch must not overwrite a later update that was acknowledged before it arrived."""
    old = updated(outcome="unknown")
    bodies: Bodies = ({"note": "note:8"},)
    told = [{"rowIndex": 2, **bodies[0]}]
    new = entry("update", bodies, told=told, rows=(2,), number=8, asked_at=8.0, answered_at=9.0)

    assert kinds_of(late_copy(arrives_at), old, new, failures=[5.0]) == kinds


@pytest.mark.parametrize(
    ("key", "kinds"), [("a", {"other rows"}), ("b", set())], ids=["own", "another's"]
)
def test_batches_of_another_gateway(key: str, kinds: set[str]) -> None:
    """A gateway must know its own batches; batches of another gateway count as edits of people."""
    regrouped = row(2, "group:0", note=8)
    story = begun(ONE, TWO).add(4.9, ONE, regrouped, fence=1, key=key)
    story.add(5.0, CHANGED, regrouped, fence=2, key="a")
    bodies: Bodies = ({"note": "note:8", "group": "group:0"},)
    told = [{"rowIndex": 3, **bodies[0]}]
    other = entry("update", bodies, told=told, rows=(3,), number=8)

    assert kinds_of(story, updated_where(2), other) == kinds


NAMED = {"id": "id:1", "note": "note:1", "group": "group:0"}
SORTED = begun(ONE, TWO).add(4.95, TWO, ONE).add(5.0, row(2, "group:1", note=7), ONE, fence=1)
SORTED_BEFORE = begun(ONE, TWO).add(2.0, TWO, ONE).add(5.0, row(2, "group:1", note=7), ONE, fence=1)


@pytest.mark.parametrize(
    ("story", "entries", "kinds"),
    [
        pytest.param(at_5(CHANGED, TWO), [updated()], set(), id="made"),
        pytest.param(at_5(CHANGED, TWO), [updated(3)], {"misplaced", "answer"}, id="another row"),
        pytest.param(
            at_5(CHANGED, row(2)), [updated()], {"overwritten"}, id="a cell of another row"
        ),
        pytest.param(
            at_5(row(1, note=7), TWO), [updated()], {"overwritten"}, id="a cell beside it"
        ),
        pytest.param(at_5(CHANGED, TWO), [updated(tag="t", named=NAMED)], set(), id="as named"),
        pytest.param(
            SORTED, [updated(tag="t", named=NAMED)], {"silent"}, id="moved after the look"
        ),
        pytest.param(SORTED, [updated()], set(), id="moved, without a condition"),
        pytest.param(
            SORTED,
            [updated(tag="t", named=NAMED, outcome="applied", code=4095)],
            set(),
            id="moved, and told",
        ),
        pytest.param(
            at_5(CHANGED, TWO),
            [updated(tag="t", named=NAMED, outcome="applied", code=4095)],
            {"false alarm"},
            id="not moved, but told",
        ),
        pytest.param(
            SORTED_BEFORE,
            [updated(tag="t", named=NAMED)],
            {"another record", "silent"},
            id="moved before the look",
        ),
        pytest.param(
            begun(ONE), [updated(outcome="not_applied", code=103)], {"false refusal"}, id="404"
        ),
        pytest.param(
            begun(ONE), [updated(3, outcome="not_applied", code=103)], set(), id="no such row"
        ),
        pytest.param(
            begun(ONE),
            [updated(outcome="not_applied", code=4120, tag="t", named=NAMED)],
            {"false refusal"},
            id="412 for nothing",
        ),
        pytest.param(
            begun(TWO),
            [updated(outcome="not_applied", code=4120, tag="t", named=NAMED)],
            set(),
            id="412",
        ),
    ],
)
def test_verdict_on_updates(story: Story, entries: list[Entry], kinds: set[str]) -> None:
    """An update must change only its own cells of its row, if the row has its ETag."""
    assert kinds_of(story, *entries) == kinds


ALL = begun(ONE, TWO, THREE)
REGROUPED = (
    begun(ONE, TWO, THREE)
    .add(4.95, ONE, TWO, row(3, "group:1"))
    .add(5.0, CHANGED, TWO, row(3, "group:1", note=7), fence=1)
)
OLD_ROWS = begun(ONE, TWO).add(4.9, ONE, TWO, THREE, fence=1).add(5.0, CHANGED, TWO, THREE, fence=2)


def third(at_row: int = 4) -> Entry:
    told = [{"rowIndex": at_row, "id": "id:3", "note": "note:3", "group": "group:0"}]
    bodies: Bodies = ({"id": "id:3", "note": "note:3", "group": "group:0"},)
    return entry("create", bodies, number=3, told=told)


def in_group_0(changed: Cells, other: Cells) -> Story:
    return begun(ONE, TWO, THREE).add(5.0, changed, TWO, other, fence=1)


@pytest.mark.parametrize(
    ("story", "entries", "kinds"),
    [
        pytest.param(
            in_group_0(CHANGED, CHANGED_THREE), [updated_where(2, 4)], set(), id="all that match"
        ),
        pytest.param(
            in_group_0(CHANGED, THREE), [updated_where(2)], {"other rows"}, id="one that matches"
        ),
        pytest.param(
            in_group_0(CHANGED, CHANGED_THREE), [updated_where(2, 3)], {"answer"}, id="numbers"
        ),
        pytest.param(REGROUPED, [updated_where(2, 4)], {"silent"}, id="changed after the look"),
        pytest.param(
            REGROUPED,
            [updated_where(outcome="applied", code=4095)],
            set(),
            id="changed after the look, and told",
        ),
        pytest.param(
            OLD_ROWS, [third(), updated_where(2)], {"other rows"}, id="matched in old rows"
        ),
        pytest.param(ALL, [updated_where()], {"answer"}, id="none matched"),
        pytest.param(begun(TWO), [updated_where()], set(), id="none"),
        pytest.param(
            in_group_0(CHANGED, CHANGED_THREE),
            [updated_where(2, 4, most_rows=1)],
            {"other rows"},
            id="too many",
        ),
    ],
)
def test_verdict_on_updates_by_filter(story: Story, entries: list[Entry], kinds: set[str]) -> None:
    """Exactly the rows that match at the read must change, and the answer must list them."""
    assert kinds_of(story, *entries) == kinds


def gone(*removed: int, rows: Sequence[Cells] = (ONE, TWO, THREE)) -> Story:
    """Return a story in which a batch at 5 s removes these row numbers."""
    left = [cells for at, cells in enumerate(rows, start=2) if at not in removed]
    return begun(*rows).add(5.0, *left, fence=1, removed=removed)


MANY = (ONE, TWO, THREE, row(4, "group:1"))
IN_GROUP_1 = Filter(field="group", texts=("group:1",))


@pytest.mark.parametrize(
    ("story", "entries", "kinds"),
    [
        pytest.param(gone(3), [deleted(3)], set(), id="deleted"),
        pytest.param(gone(3), [deleted(2)], {"lost", "removed"}, id="another row"),
        pytest.param(gone(3), [deleted(3), deleted(3, number=8)], {"lost"}, id="one for two"),
        pytest.param(gone(2, 4), [deleted(2), deleted(4, number=8)], set(), id="two of a group"),
        pytest.param(
            gone(2, 4), [deleted(2), deleted(3, number=8)], {"lost", "removed"}, id="top-down"
        ),
        pytest.param(gone(3), [], {"removed"}, id="nobody's"),
        pytest.param(
            gone(3), [deleted(3, outcome="not_applied", code=5031)], {"removed"}, id="denied"
        ),
        pytest.param(
            gone(3),
            [deleted(3, named={"id": "id:2", "note": "note:2", "group": "group:1"})],
            set(),
            id="the record of its tag",
        ),
        pytest.param(gone(3), [deleted(3, named=NAMED)], {"lost", "removed"}, id="another record"),
        pytest.param(gone(3), [deleted(3, answered_at=4.5)], {"lost", "removed"}, id="too early"),
        pytest.param(gone(2, 4), [deleted_where(2, 4, filter=IN_GROUP_0)], set(), id="by filter"),
        pytest.param(
            gone(2), [deleted_where(2, filter=IN_GROUP_0)], {"lost", "removed"}, id="not all"
        ),
        pytest.param(
            gone(2, 4), [deleted_where(2, 3, filter=IN_GROUP_0)], {"lost", "removed"}, id="numbers"
        ),
        pytest.param(
            gone(2, 3, 4, 5, rows=MANY),
            [
                deleted_where(2, 4, filter=IN_GROUP_0),
                deleted_where(2, 3, filter=IN_GROUP_1, number=8),
            ],
            set(),
            id="two filters, numbers after the first",
        ),
        pytest.param(
            gone(2, 3, 4, 5, rows=MANY),
            [
                deleted_where(2, 4, filter=IN_GROUP_0),
                deleted_where(3, 5, filter=IN_GROUP_1, number=8),
            ],
            {"lost", "removed"},
            id="two filters, numbers of before",
        ),
    ],
)
def test_verdict_on_deletes(story: Story, entries: list[Entry], kinds: set[str]) -> None:
    """Each acknowledged delete must remove its own row, and no other row must disappear."""
    assert kinds_of(story, *entries) == kinds


def test_a_delete_of_unknown_outcome_explains_one_row_at_most() -> None:
    """A delete of unknown outcome can have removed one row, not two."""
    story = gone(3).add(7.0, ONE, fence=2, removed=[3])
    unknown = deleted(3, outcome="unknown")

    assert kinds_of(gone(3), unknown, failures=[5.0]) == set()
    assert kinds_of(story, unknown, failures=[5.0]) == {"removed"}


REMOVED = begun(ONE, KEYED).add(4.95, ONE).add(5.0, ONE, ("", "", "", "note:7", "", ""), fence=1)
"""A person removes the row that an upsert found, before its batch arrives."""
REMOVED_TWO = begun(ONE, KEYED).add(4.95, ONE).add(5.0, ONE, UPSERTED, fence=1)


@pytest.mark.parametrize(
    ("story", "entries", "kinds"),
    [
        pytest.param(
            begun(ONE).add(5.0, ONE, UPSERTED, fence=1), [upserted(3, is_new=True)], set(), id="new"
        ),
        pytest.param(
            begun(KEYED).add(5.0, UPSERTED, fence=1),
            [upserted(2, is_new=False)],
            set(),
            id="merged",
        ),
        pytest.param(
            begun(KEYED).add(5.0, UPSERTED, fence=1),
            [upserted(2, is_new=True)],
            {"answer"},
            id="told as new",
        ),
        pytest.param(
            begun(KEYED).add(5.0, KEYED, UPSERTED, fence=1),
            [upserted(3, is_new=True)],
            {"misplaced", "duplicate key"},
            id="created twice",
        ),
        pytest.param(begun(KEYED), [upserted(2, is_new=False, merges=False)], set(), id="ignored"),
        pytest.param(
            begun(KEYED).add(5.0, UPSERTED, fence=1),
            [upserted(2, is_new=False, merges=False)],
            {"misplaced"},
            id="not ignored",
        ),
        pytest.param(begun(KEYED), [upserted(2, is_new=False)], {"lost"}, id="not merged"),
        pytest.param(
            begun(KEYED),
            [upserted(2, is_new=False, outcome="not_applied", code=4092)],
            {"false refusal"},
            id="no double key",
        ),
        pytest.param(
            REMOVED,
            [upserted(3, is_new=False, outcome="applied", code=4095)],
            set(),
            id="removed after the look, and answered so",
        ),
        pytest.param(
            REMOVED,
            [upserted(3, is_new=False)],
            {"answer", "silent"},
            id="removed after the look, and answered as done",
        ),
        pytest.param(
            REMOVED_TWO,
            [upserted(3, is_new=True)],
            set(),
            id="removed before the look, and created where it was",
        ),
    ],
)
def test_verdict_on_upserts(story: Story, entries: list[Entry], kinds: set[str]) -> None:
    """A key must have one row, which is new only if no row had the key."""
    assert kinds_of(story, *entries) == kinds


def repeated(
    first: Entry, *told: Mapping[str, Any], code: int = 0, is_replayed: bool = True
) -> Entry:
    """Return an entry whose request was repeated at 8 s."""
    answer = Answer(
        outcome="applied" if code else "done",
        status=409 if code else 200,
        code=code,
        results=told,
        is_replayed=is_replayed,
    )
    return replace(first, repeat=Repeat(answer=answer, asked_at=8.0, answered_at=8.5))


AFTER_A_DELETE = at_5(ONE, TWO, NEW_ROW).add(7.0, TWO, NEW_ROW, fence=2, removed=[2])
ITS_DELETE = deleted(2, number=8, answered_at=7.5)


@pytest.mark.parametrize(
    ("again", "kinds"),
    [
        pytest.param(repeated(created(), {"rowIndex": 4, **NEW[0]}), {"replay"}, id="verbatim"),
        pytest.param(repeated(created(), {"rowIndex": 3, **NEW[0]}), {"replay"}, id="follows"),
        pytest.param(repeated(created(), code=4094), set(), id="unknown"),
    ],
)
def test_replays_of_rows_that_moved(again: Entry, kinds: set[str]) -> None:
    """The repeated answer for a row that moved must be error 4094, without a row number."""
    assert kinds_of(AFTER_A_DELETE, again, ITS_DELETE) == kinds


@pytest.mark.parametrize(
    ("again", "kinds"),
    [
        pytest.param(repeated(created(), {"rowIndex": 4, **NEW[0]}), set(), id="verbatim"),
        pytest.param(
            repeated(created(), {"rowIndex": 4, "id": "id:7"}), {"replay"}, id="another answer"
        ),
        pytest.param(
            repeated(created(), {"rowIndex": 4, **NEW[0]}, is_replayed=False),
            {"replay"},
            id="anew",
        ),
    ],
)
def test_verdict_on_replays(again: Entry, kinds: set[str]) -> None:
    """The repeated answer must equal the first answer."""
    assert kinds_of(at_5(ONE, TWO, NEW_ROW), again) == kinds


def test_a_replay_without_a_number_needs_a_reason() -> None:
    """A repeated answer can lack the row number only if rows were removed or Google failed."""
    again = repeated(created(), code=4094)

    assert kinds_of(at_5(ONE, TWO, NEW_ROW), again) == {"replay"}
    assert kinds_of(at_5(ONE, TWO, NEW_ROW), again, failures=[5.0]) == set()


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        pytest.param([ONE, TWO, NEW_ROW], set(), id="all writes"),
        pytest.param([ONE, TWO], {"old list", "missing"}, id="one too few"),
        pytest.param([TWO, ONE], {"list", "missing"}, id="of no moment"),
    ],
)
def test_verdict_on_lists(rows: Sequence[Cells], kinds: set[str]) -> None:
    """A list must have all rows acknowledged before its request."""
    shown = begun(*rows).history.versions[TITLE][0]
    read = ListRead(worksheet=TITLE, asked_at=6.1, answered_at=6.2, records=records_of(shown))

    assert kinds_of(at_5(ONE, TWO, NEW_ROW), created(), reads=[read]) == kinds


def test_an_edit_by_a_person_can_be_missing_in_a_list() -> None:
    """A list of cached rows can lack a recent edit of a person."""
    story = at_5(ONE, TWO, NEW_ROW).add(6.0, TWO, NEW_ROW)
    shown = story.history.versions[TITLE][1]
    read = ListRead(worksheet=TITLE, asked_at=6.1, answered_at=6.2, records=records_of(shown))

    assert kinds_of(story, created(), reads=[read]) == set()


@pytest.mark.parametrize("key", [None, "k"])
def test_a_late_update_of_a_killed_gateway(key: str | None) -> None:
    """A late update must not change rows that moved before it was sent."""
    story = (
        begun(ONE, TWO)
        .add(4.6, TWO, ONE)
        .add(9.0, row(2, "group:1", note=7), ONE, fence=1, sent_at=7.0)
    )
    story.kills = (7.5,)
    late = replace(
        updated_where(2, outcome="unknown" if key is None else "done", key=key),
        answered_at=9.5,
        is_cut=True,
    )

    assert kinds_of(story, late, failures=[7.0]) == {"other rows"}


def renamed(at: float, story: Story) -> Story:
    """Return the history with a tab that was renamed at this time."""
    story.history.titles[TITLE] = [(0.0, TITLE), (at, "Archive")]
    return story


RENAMING = "the worksheet was renamed at the same time"


@pytest.mark.parametrize(
    ("renamed_at", "changes", "kinds"),
    [
        pytest.param(7.0, {}, set(), id="later"),
        pytest.param(4.95, {}, {"other tab"}, id="on the way, not told"),
        pytest.param(
            4.95,
            {"outcome": "applied", "code": 5020, "message": RENAMING},
            set(),
            id="on the way, told",
        ),
        pytest.param(
            2.0,
            {"outcome": "applied", "code": 5020, "message": RENAMING},
            {"other tab"},
            id="before the look, though told",
        ),
    ],
)
def test_writes_are_in_the_tab_of_their_title(
    renamed_at: float, changes: Mapping[str, Any], kinds: set[str]
) -> None:
    """A write goes to the tab of its title at its read, and at its commit if acknowledged."""
    answer = {"outcome": "done", "status": 200, "code": 0, "message": "", **changes}
    made = updated()
    made = replace(made, answer=replace(made.answer, **answer))

    assert kinds_of(renamed(renamed_at, at_5(CHANGED, TWO)), made) == kinds


def slow(story: Story) -> Story:
    story.history.slowest_look_seconds = 3.0
    return story


LATE_MATCH = begun(ONE, TWO).add(2.0, ONE, TWO, THREE).add(5.0, CHANGED, TWO, THREE, fence=1)
REGROUPED_EARLY = (
    begun(ONE, TWO)
    .add(2.0, row(1, "group:1"), TWO)
    .add(5.0, row(1, "group:1", note=7), TWO, fence=1)
)


@pytest.mark.parametrize(
    ("story", "kinds"),
    [
        pytest.param(LATE_MATCH, {"other rows"}, id="a row that matched later"),
        pytest.param(slow(deepcopy(LATE_MATCH)), set(), id="the same, after a slow look"),
        pytest.param(
            slow(deepcopy(REGROUPED_EARLY)), {"other rows", "silent"}, id="not looked at again"
        ),
    ],
)
def test_rows_of_a_slow_read_are_read_again(story: Story, kinds: set[str]) -> None:
    """An old read can find rows, but the gateway must reread them before the write."""
    assert kinds_of(story, updated_where(2)) == kinds


SEEN = {"note": "note:9"}
HIDDEN = ("id:1", "", "", "note:9", "", "")
LOOKS_ALIKE = ("id:2", "", "", "note:9", "", "")


@pytest.mark.parametrize(
    ("is_limited", "kinds"),
    [pytest.param(True, {"lost", "removed"}, id="limited"), pytest.param(False, set(), id="all")],
)
def test_records_that_look_alike_to_a_limited_key(is_limited: bool, kinds: set[str]) -> None:
    """The ETag of a restricted key covers hidden cells, so a similar record does not match."""
    rows = (HIDDEN, TWO) if is_limited else (("", *HIDDEN[1:]), TWO)
    then = (LOOKS_ALIKE, TWO) if is_limited else rows
    story = begun(*rows).add(3.0, *then).add(5.0, TWO, fence=1, removed=[2])
    entry = deleted(2, named=SEEN, tag="t", tagged=(1.0, 1.1), is_limited=is_limited)

    assert kinds_of(story, entry) == kinds


UNSEEN: Cells = ("id:9", "", "", "", "", "")


@pytest.mark.parametrize(
    ("had_title_until", "kinds"),
    [
        pytest.param(3.0, set(), id="the tag is of another tab"),
        pytest.param(-1.0, {"false refusal"}, id="the tag is of this tab"),
    ],
)
def test_a_tag_of_another_tab_with_the_title(had_title_until: float, kinds: set[str]) -> None:
    """After a swap of titles, an ETag can come from the other tab, so 412 is justified."""
    story = begun(("",) * 6, TWO).add(2.0, ("",) * 6, TWO)
    history = story.history
    history.versions["Old"] = [
        Version(since=SEED, sheet=begun(UNSEEN, TWO).history.versions[TITLE][0].sheet)
    ]
    history.titles["Old"] = [(SEED, "Old")]
    if had_title_until > 0:
        history.titles["Old"] = [(SEED, TITLE), (had_title_until, "Old")]
    refused = deleted(
        2, named={}, tag="t", tagged=(1.0, 1.1), is_limited=True, outcome="not_applied", code=4120
    )

    assert kinds_of(story, refused) - {"end"} == kinds  # the other tab is not read at the end


EMPTY: Cells = ("",) * 6


@pytest.mark.parametrize(
    ("entries", "kinds"),
    [
        pytest.param([deleted(3)], set(), id="deleted"),
        pytest.param([deleted(2)], {"lost", "removed"}, id="another row"),
        pytest.param([deleted(3), deleted(3, number=8)], set(), id="a blank row once more"),
        pytest.param([deleted_where(3, filter=IN_GROUP_1)], set(), id="by filter"),
    ],
)
def test_deletes_that_empty_rows(entries: list[Entry], kinds: set[str]) -> None:
    """A cleared row keeps its position, and clearing a blank row changes nothing."""
    story = begun(ONE, TWO, THREE).add(5.0, ONE, EMPTY, THREE, fence=1)

    assert kinds_of(story, *entries) == kinds


def test_rows_that_people_made_blank_before_they_were_emptied() -> None:
    """Error 4095 is justified if a person moved a matched row before the batch cleared it."""
    moved = begun(ONE, TWO, THREE).add(4.95, ONE, TWO, EMPTY, THREE)
    story = moved.add(5.0, EMPTY, TWO, EMPTY, THREE, fence=1, emptied=[2, 4])
    answered = deleted_where(filter=IN_GROUP_0, outcome="applied", code=4095)

    assert kinds_of(story, answered) == set()


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        pytest.param([TWO, ONE], set(), id="sorted"),
        pytest.param([ONE, TWO], set(), id="not sorted yet"),
        pytest.param([ONE, ONE], {"twice", "missing"}, id="half sorted"),
    ],
)
def test_lists_while_people_sort(rows: Sequence[Cells], kinds: set[str]) -> None:
    """A list must show each record once while people sort."""
    story = begun(ONE, TWO).add(6.0, TWO, ONE)
    shown = begun(*rows).history.versions[TITLE][0]
    read = ListRead(worksheet=TITLE, asked_at=6.1, answered_at=6.2, records=records_of(shown))

    assert kinds_of(story, reads=[read]) == kinds


@pytest.mark.parametrize(
    ("operation", "status", "body", "outcome", "is_fine"),
    [
        pytest.param(created().operation, 201, '{"rowIndex":3}', "done", True, id="create"),
        pytest.param(created().operation, 200, '{"rowIndex":3}', "done", False, id="status"),
        pytest.param(deleted(2).operation, 204, "", "done", True, id="delete"),
        pytest.param(created().operation, 204, "", "done", False, id="no body"),
        pytest.param(
            updated_where().operation,
            200,
            '{"count":1,"results":[{"rowIndex":3}]}',
            "done",
            True,
            id="by filter",
        ),
        pytest.param(
            updated_where().operation,
            200,
            '{"count":2,"results":[{"rowIndex":3}]}',
            "done",
            False,
            id="count",
        ),
        pytest.param(
            upserted(2, is_new=True).operation,
            201,
            '{"results":[{"rowIndex":3,"created":false}]}',
            "done",
            False,
            id="201 for an old row",
        ),
        pytest.param(deleted(2).operation, 412, '{"code":4120}', "not_applied", True, id="412"),
        pytest.param(
            deleted(2).operation,
            409,
            '{"code":4090,"outcome":"not_applied"}',
            "unknown",
            True,
            id="a twin",
        ),
        pytest.param(deleted(2).operation, 500, '{"code":5000}', "unknown", False, id="500"),
        pytest.param(deleted(2).operation, 502, "<html>", "unknown", False, id="no JSON"),
    ],
)
def test_answers_are_read(
    operation: Operation, status: int, body: str, outcome: Outcome, is_fine: bool
) -> None:
    """Answers are parsed into outcomes, and impossible answers are reported."""
    found = read_answer(operation, httpx2.Response(status, text=body))

    assert (found.outcome, found.complaint == "") == (outcome, is_fine)
