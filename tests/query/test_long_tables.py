"""Tests of worksheets that are longer than a block of work, compared with plain Python."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.ordered import SORTED_AT_ONCE
from gateway.table.steps import finish
from gateway.table.table import Table, make_table
from tests.query.sheet import evaluate

Row = tuple[int, int, str, str]

RANDOM = Random(11)  # noqa: S311
ROWS: list[Row] = [
    (row, RANDOM.randint(0, 50_000), f"name {RANDOM.randint(0, 9_000)}", RANDOM.choice("abcd"))
    for row in range(2, SORTED_AT_ONCE + 5_000)
]

KEYS: dict[str, Callable[[Row], Any]] = {
    "rowIndex": lambda row: row[0],
    "n": lambda row: row[1],
    "name": lambda row: row[2],
    "letter": lambda row: row[3],
}


def make_long() -> Table:
    numbers = [row[1] for row in ROWS]
    names, letters = [row[2] for row in ROWS], [row[3] for row in ROWS]
    shown = [f"{number:,}" for number in numbers]
    table = make_table([["n", *shown], ["name", *names], ["letter", *letters]])
    return finish(table.with_typed([["n", *numbers], ["name", *names], ["letter", *letters]]))


LONG = make_long()


def without(count: int) -> tuple[Table, list[Row]]:
    """Return the table and its rows without `count` rows, among them the first and the last row."""
    gone = {2, ROWS[-1][0], *RANDOM.sample(range(3, ROWS[-1][0]), count - 2)}
    left = [row for row in ROWS if row[0] not in gone]
    return finish(LONG.without_rows(sorted(gone))), [
        (number, *row[1:]) for number, row in enumerate(left, 2)
    ]


TABLES: dict[str, tuple[Table, list[Row]]] = {
    "as read": (LONG, ROWS),
    "without few rows": without(20),
    "without many rows": without(2_000),
}


@pytest.mark.parametrize("state", TABLES)
@pytest.mark.parametrize(
    "order",
    [
        pytest.param((), id="worksheet order"),
        pytest.param((("n", False),), id="numbers"),
        pytest.param((("n", True),), id="numbers descending"),
        pytest.param((("name", True),), id="texts descending"),
        pytest.param((("letter", False), ("n", True)), id="two terms"),
        pytest.param((("letter", True), ("name", False), ("rowIndex", True)), id="three terms"),
    ],
)
@pytest.mark.parametrize(
    ("where", "is_met"),
    [
        pytest.param({}, lambda _: True, id="all"),
        pytest.param({"letter": "b"}, lambda row: row[3] == "b", id="equality"),
        pytest.param({"letter": {"$ne": "b"}}, lambda row: row[3] != "b", id="inequality"),
        pytest.param({"n": {"$lt": 40_000}}, lambda row: row[1] < 40_000, id="broad range"),
        pytest.param(
            {"n": {"$gte": 100, "$lte": 150}}, lambda row: 100 <= row[1] <= 150, id="narrow range"
        ),
        pytest.param(
            {"n": {"$gte": 9_000}, "letter": {"$in": ["a", "c"]}},
            lambda row: row[1] >= 9_000 and row[3] in "ac",
            id="both",
        ),
        pytest.param(
            {"$or": [{"n": {"$lt": 20}}, {"name": {"$text": "E 77"}}, {"letter": "d"}]},
            lambda row: row[1] < 20 or "e 77" in row[2] or row[3] == "d",
            id="either",
        ),
        pytest.param(
            {"$or": [{"n": {"$lt": 20}}, {"name": {"$gt": "name 8"}}], "letter": {"$exists": True}},
            lambda row: row[1] < 20 or row[2] > "name 8",
            id="either of two ranges",
        ),
    ],
)
def test_long_tables_are_queried_correctly(
    state: str, where: object, is_met: Callable[[Row], bool], order: Sequence[tuple[str, bool]]
) -> None:
    """Each page and each total of a long table equals the result of plain Python."""
    table, rows = TABLES[state]
    expected = [row for row in rows if is_met(row)]
    for field, descending in reversed(order):
        expected.sort(key=KEYS[field], reverse=descending)
    terms = tuple(SortTerm(field, descending=descending) for field, descending in order)
    query = Query(where=parse_where(where), order=terms)

    for skip in (0, 3, 900, len(expected) - 5, len(expected)):
        page = evaluate(table, replace(query, skip=max(0, skip)))
        wanted = [row[0] for row in expected[max(0, skip) :][:24]]
        assert ([*page.rows], page.has_next) == (wanted, skip + 24 < len(expected))
    assert evaluate(table, replace(query, wants_total=True)).total == len(expected)
