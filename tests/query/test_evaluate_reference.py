"""Hypothesis tests that the engine answers each `where` and `order` like the reference
evaluator.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import InvalidQuery
from gateway.query.query import Query, SortTerm, parse_where
from tests.query.cases import first_difference
from tests.query.reference import matching_rows, ordered_rows
from tests.query.sheet import BLANK, SheetCell, evaluate, make_sheet, text_cell

FIELDS = ["a", "b", " c "]
TRAPS = [
    *("007", "+44 20", "1,250", "nan", "inf", "1e400", "１２３", "-0", "1e5", "5", "-3.5", "0.50"),
    *("TRUE", "FALSE", "true", "a", "A", "b", "ß", "SS", "ﬀ", "\ud800", "😀", "\uffff", " "),
    *("2020-01-15", "2020-01-15T12:00", "2020-01-15 12:00:00.0004+09:00", "2020-02-30"),
    *("1/15/2020", "#N/A"),
]
NUMBERS = (
    st.integers(-3, 12)
    | st.sampled_from([1250, 43_845, 100_000, 43_845.5, 43_845.5 + 5e-9, 0.5, -3.5, 1e15, 1e-5])
    | st.floats(-1e6, 1e6).map(lambda number: round(number, 3) + 0)
)
TEXTS = st.sampled_from(TRAPS) | st.text(max_size=3)
SHOWN: list[Callable[[float], str]] = [
    lambda number: f"{number}",
    lambda number: f"{number:,.2f}",
    lambda number: f"${number:,.2f}",
    lambda number: f"{number:.0%}",
    lambda number: f"{number:,.0f}".replace(",", "\u00a0"),
    lambda _: "1/15/2020",
    lambda _: "2020-01-15",
    lambda _: "12:00:00",
]
CELLS: st.SearchStrategy[SheetCell] = st.one_of(
    st.just(BLANK),
    TEXTS.map(text_cell),
    st.tuples(NUMBERS, st.sampled_from(SHOWN)).map(lambda it: SheetCell(it[1](it[0]), it[0])),
    st.booleans().map(lambda value: SheetCell(str(value).upper(), value)),
)
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(FIELDS, CELLS)), max_size=8)

OPERANDS = NUMBERS | TEXTS | NUMBERS.map(str) | st.booleans() | st.none() | st.just("")
NAMES = st.sampled_from([*FIELDS, "rowIndex"])
SIMPLE = st.sampled_from(["$eq", "$ne", "$neq", "$lt", "$lte", "$gt", "$gte"])
CRITERIA = st.recursive(
    st.one_of(
        st.dictionaries(SIMPLE, OPERANDS, min_size=1, max_size=2),
        st.fixed_dictionaries({"$in": st.lists(OPERANDS, max_size=3)}),
        st.fixed_dictionaries({"$nin": st.lists(OPERANDS, max_size=3)}),
        st.fixed_dictionaries({"$text": TEXTS}),
        st.fixed_dictionaries({"$exists": st.booleans()}),
    ),
    lambda inner: st.fixed_dictionaries({"$not": inner}),
    max_leaves=2,
)
WHERE: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(NAMES, OPERANDS | CRITERIA, max_size=2),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}, optional={"a": OPERANDS}),
    ),
    max_leaves=4,
)
ORDER = st.lists(st.tuples(NAMES, st.booleans()), max_size=3)
ANYTHING = st.recursive(
    OPERANDS | st.floats() | st.integers(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from([*FIELDS, "$and", "$or", "$not", "$in", "$text", "$exists", "$gt", "x"])
            | st.text(max_size=2),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)

Rows = Sequence[Mapping[str, SheetCell]]


def run(rows: Rows, where: object, order: Sequence[tuple[str, bool]]) -> list[int]:
    """Return the row numbers from the engine."""
    sheet = make_sheet({field: [row[field] for row in rows] for field in FIELDS})
    terms = tuple(SortTerm(field, descending=descending) for field, descending in order)
    return list(evaluate(sheet, Query(where=parse_where(where), order=terms)).rows)


def run_or_refuse(rows: Rows, where: object) -> list[int] | None:
    """Return the row numbers from the engine, or None if `where` is invalid."""
    try:
        return run(rows, where, [])
    except InvalidQuery:
        return None


def without_blank_end(rows: Rows) -> Rows:
    """Return the rows without trailing blank rows."""
    filled = (any(cell.text for cell in row.values()) for row in rows)
    last = max((number for number, is_filled in enumerate(filled, 1) if is_filled), default=0)
    return rows[:last]


@settings(max_examples=400)
@given(rows=ROWS.map(without_blank_end), where=WHERE, order=ORDER)
def test_the_engine_agrees_with_the_reference(
    rows: Rows, where: dict[str, Any], order: list[tuple[str, bool]]
) -> None:
    """The engine filters and sorts like an evaluator written from the API documentation alone."""
    matching = matching_rows(rows, where)

    assert run(rows, where, []) == matching
    assert run(rows, where, order) == ordered_rows(rows, matching, order)


@settings(max_examples=1000)
@given(cell=CELLS, operand=OPERANDS, operator=SIMPLE)
def test_one_cell_and_one_operand_agree_with_the_reference(
    cell: SheetCell, operand: object, operator: str
) -> None:
    """The engine compares any single cell with any operand like the reference evaluator."""
    alone = [{"a": cell, "b": text_cell("x"), " c ": BLANK}]
    where = {"a": {operator: operand}}

    assert run(alone, where, []) == matching_rows(alone, where)


@settings(max_examples=150)
@given(rows=ROWS.map(without_blank_end), order=ORDER)
def test_order_is_total_and_stable(rows: Rows, order: list[tuple[str, bool]]) -> None:
    """Each row occurs once in sort order. Rows with equal keys stay in sheet order."""
    numbers = run(rows, {}, order)

    assert sorted(numbers) == list(range(2, len(rows) + 2))
    assert numbers == run(rows, {}, [*order, ("rowIndex", False)])


@settings(max_examples=400)
@given(rows=ROWS, where=ANYTHING)
def test_no_where_raises_anything_but_invalid_query(rows: Rows, where: object) -> None:
    """Any JSON as `where` gives rows or raises InvalidQuery, and no other exception."""
    numbers = run_or_refuse(rows, where)

    assert numbers is None or set(numbers) <= set(range(2, len(rows) + 2))


@pytest.mark.parametrize("seed", range(4))
def test_generated_cases_agree_with_the_reference(seed: int) -> None:
    """Pages, `has_next` and totals of random queries equal those of the reference evaluator."""
    assert first_difference(seed, 1_000) is None
