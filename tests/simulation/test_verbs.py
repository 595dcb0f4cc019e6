"""All kinds of writes together: a short campaign, and what its verdict notices."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sheets_emulator.grid.sheet import Row
from tests.simulation.verbs.campaign import Mixed, run
from tests.simulation.verbs.clients import Operation
from tests.simulation.verbs.history import Commit, History
from tests.simulation.verbs.verdict import Verdict, kinds_of

SHORT = Mixed(operations=250, kill_seconds=4.0, latest_ms=1500, end_seconds=60.0)
HEADER: Row = ("id", "group", "note")
ONE: Row = ("id:1", "g1", "note:1")
TWO: Row = ("id:2", "g2")
THREE: Row = ("id:3", "g1")
BEFORE = (HEADER, ONE, TWO, THREE)
MARK = "note:9"


def changed(row: Row) -> Row:
    return (row[0], row[1], MARK)


def write(kind: str, **fields: object) -> Operation:
    done = Operation(
        kind="update",
        worksheet="W",
        method="",
        path="",
        mark="" if kind.startswith("delete") else MARK,
        key="k",
        asked_at=1.0,
        answered_at=9.0,
        outcome="done",
        status=200,
    )
    return replace(done, kind=kind, **fields)  # type: ignore[arg-type]


UPDATE = write("update", rows=(2,))
FILTER = write("update where", group="g1", count=2, results=[{"rowIndex": 2}, {"rowIndex": 4}])
DELETE = write("delete", rows=(3,), status=204)
DELETE_WHERE = write("delete where", ids=("id:2",), count=1, results=[{"rowIndex": 3}])
CREATE = write("create", ids=("id:5",), results=[{"rowIndex": 5, "id": "id:5"}])
UPSERT = write(
    "upsert",
    ids=("id:9000001",),
    results=[{"rowIndex": 5, "created": True, "id": "id:9000001"}],
)
NEW: Row = ("id:5", "g1", MARK)
NEW_KEY: Row = ("id:9000001", "upserts", MARK)


def judged(operation: Operation, *states: Sequence[Row], at: float = 5.0) -> list[str]:
    """The kinds of problems of one write, with these states of the rows one after the other."""
    history = History()
    befores = [BEFORE, *states]
    for number, (before, after) in enumerate(zip(befores, states, strict=False)):
        history.commits["W"].append(
            Commit(at=at + number, is_ours=True, before=before, after=after)
        )
    verdict = Verdict(history=history)
    verdict.judge("W", [operation])
    return [*kinds_of(verdict.problems)]


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        (UPDATE, (HEADER, changed(ONE), TWO, THREE)),
        (FILTER, (HEADER, changed(ONE), TWO, changed(THREE))),
        (DELETE, (HEADER, ONE, THREE)),
        (DELETE_WHERE, (HEADER, ONE, THREE)),
        (CREATE, (*BEFORE, NEW)),
        (UPSERT, (*BEFORE, NEW_KEY)),
    ],
)
def test_what_is_right(operation: Operation, after: Sequence[Row]) -> None:
    assert judged(operation, after) == []
    assert judged(replace(operation, outcome="not_applied"), BEFORE) == []


Case = tuple[Operation, Sequence[Sequence[Row]], str]
CASES: dict[str, Case] = {
    "lost": (UPDATE, [BEFORE], "times"),
    "twice": (
        UPDATE,
        [(HEADER, changed(ONE), TWO, THREE), BEFORE, (HEADER, changed(ONE), TWO, THREE)],
        "times",
    ),
    "other row": (UPDATE, [(HEADER, ONE, changed(TWO), THREE)], "misplaced"),
    "other record": (
        replace(UPDATE, seen={"id": "id:2", "group": "g2"}),
        [(HEADER, changed(ONE), TWO, THREE)],
        "condition",
    ),
    "false refusal": (
        replace(UPDATE, outcome="not_applied"),
        [(HEADER, changed(ONE), TWO, THREE)],
        "times",
    ),
    "told early": (
        replace(UPDATE, answered_at=4.0),
        [(HEADER, changed(ONE), TWO, THREE)],
        "early",
    ),
    "a match is missing": (FILTER, [(HEADER, changed(ONE), TWO, THREE)], "filter"),
    "more than matched": (
        FILTER,
        [(HEADER, changed(ONE), changed(TWO), changed(THREE))],
        "filter",
    ),
    "other row removed": (DELETE, [(HEADER, TWO, THREE)], "removed by nobody"),
    "not removed": (DELETE, [BEFORE], "lost"),
    "removed twice": (
        DELETE,
        [(HEADER, ONE, THREE), (HEADER, ONE)],
        "removed by nobody",
    ),
    "removed in spite of a condition": (
        replace(DELETE, seen={"id": "id:3", "group": "g1"}),
        [(HEADER, ONE, THREE)],
        "lost",
    ),
    "shown after it was removed": (
        replace(DELETE, read_after="id:2"),
        [(HEADER, ONE, THREE)],
        "stale",
    ),
    "others removed by filter": (DELETE_WHERE, [(HEADER, ONE)], "removed by nobody"),
    "wrong number": (
        replace(DELETE_WHERE, results=[{"rowIndex": 4}]),
        [(HEADER, ONE, THREE)],
        "lost",
    ),
    "created above": (CREATE, [(HEADER, ONE, TWO, NEW)], "overwrote"),
    "wrong place": (
        replace(CREATE, results=[{"rowIndex": 6, "id": "id:5"}]),
        [(*BEFORE, NEW)],
        "misplaced",
    ),
    "number of a repeat": (
        replace(CREATE, repeated=[{"rowIndex": 4, "id": "id:5"}], repeated_at=10.0),
        [(*BEFORE, NEW)],
        "repeated",
    ),
    "two rows of a key": (UPSERT, [(*BEFORE, NEW_KEY, NEW_KEY)], "doubled"),
    "not new": (
        replace(UPSERT, results=[{"rowIndex": 5, "created": False, "id": "id:9000001"}]),
        [(*BEFORE, NEW_KEY)],
        "created",
    ),
    "other cells": (
        UPDATE,
        [(HEADER, ("id:1", "other", MARK), TWO, THREE)],
        "changed others",
    ),
}


@pytest.mark.parametrize(("operation", "states", "kind"), CASES.values(), ids=CASES)
def test_what_is_wrong(operation: Operation, states: Sequence[Sequence[Row]], kind: str) -> None:
    assert kind in judged(operation, *states)


@pytest.mark.slow
def test_all_kinds_of_writes_under_fire(tmp_path: Path) -> None:
    report = run(tmp_path, SHORT)

    assert not report.problems, str(report)
    assert len(report.operations) > 200
    assert report.kills > 0
    assert report.edits > 0
