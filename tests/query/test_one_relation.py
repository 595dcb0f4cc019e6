"""Tests that equality, ranges and order of cells agree with each other in every column."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import CursorLost
from gateway.query.place import Place
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.sent_values import is_held
from gateway.table.table import Table
from gateway.table.typed import typed_answer
from tests.query.meaning import (
    Answers,
    Cell,
    Meaning,
    Operand,
    answers_of,
    class_of_text,
    compared,
    drawn_column,
    drawn_operand,
    equal,
    failures,
    place,
    sheet_cells,
    stand,
)
from tests.query.paging import next_page
from tests.query.sheet import evaluate, make_sheet, text_cell

MODEL = Meaning()
OPERANDS = 6
LENGTH = 14
COLUMNS = 300
"""Number of random columns. At least one column must reveal a planted bug."""


def random_column(seed: int) -> tuple[list[Cell], list[Operand]]:
    """Return a column of cells in any format, and operands near their values."""
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cells = drawn_column(random, LENGTH)
    return cells, [drawn_operand(cells, random) for _ in range(OPERANDS)]


def asked(cells: Sequence[Cell], where: object, order: Sequence[SortTerm]) -> list[int]:
    """Return the row positions from the engine."""
    table = sheet_of(tuple(cells))
    query = Query(where=parse_where(where), order=tuple(order), limit=len(cells))
    return [row - 2 for row in evaluate(table, query).rows]


@lru_cache(maxsize=1)
def sheet_of(cells: tuple[Cell, ...]) -> Table:
    """Return a worksheet with this column, and with a second column that has a text in each row."""
    return make_sheet({"a": sheet_cells(cells), "filled": [text_cell("x")] * len(cells)})


PACKAGE = Answers(
    rows=lambda cells, operator, operand: asked(cells, {"a": {operator: operand}}, ()),
    order=lambda cells, descending: asked(cells, {}, [SortTerm("a", descending=descending)]),
)


@settings(max_examples=500)
@given(st.integers(0, 2**63).map(random_column))
def test_equality_ranges_and_order_agree(
    column: tuple[list[Cell], list[Operand]],
) -> None:
    """`$lt`, `$eq` and `$gt` split a class in sort order. `$in`, `$ne` and `$nin` agree with
    `$eq`.
    """
    assert list(failures(PACKAGE, *column)) == []


NextPage = Callable[[Table, Query, Place | None], tuple[list[int], Place | None]]


def walked(
    cells: Sequence[Cell], query: Query, removed: Sequence[bool], page: NextPage = next_page
) -> list[int]:
    """Return the positions of the cells that cursors give, with -1 at the end of too many pages.

    After page number n, the last row of the page is removed from the worksheet if `removed[n]` is
    True. Raises CursorLost.
    """
    left, found = [*range(len(cells))], list[int]()
    place: Place | None = None
    for is_removed in [*removed, *[False] * len(cells)]:
        column = sheet_cells([cells[at] for at in left])
        table = make_sheet({"a": column, "id": [text_cell(f"row {at}") for at in left]})
        rows, place = page(table, query, place)
        found += [left[row - 2] for row in rows]
        if place is None:
            return found
        if is_removed:
            left.remove(found[-1])
    return [*found, -1]


@settings(max_examples=300)
@given(
    st.integers(0, 2**63).map(random_column),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.lists(st.booleans(), max_size=LENGTH),
)
def test_cursors_give_mixed_cells_in_order(
    column: tuple[list[Cell], list[Operand]],
    descending: bool,
    has_where: bool,
    limit: int,
    removed: list[bool],
) -> None:
    """Cursors give each matching cell once and in order, also behind a removed row.

    Only a cursor behind a removed row can be lost.
    """
    cells, operands = column
    where = {"a": {"$ne": operands[0]}} if has_where else {}
    query = Query(where=parse_where(where), order=(SortTerm("a", descending),), limit=limit)
    matching = MODEL.rows(cells, "$ne", operands[0]) if has_where else range(len(cells))
    try:
        found = walked(cells, query, removed)
    except CursorLost:
        assert any(removed)
        return

    in_order = MODEL.order(cells, descending=descending)
    assert found == [at for at in in_order if at in matching]


def _as_a_text_cursor(table: Table, query: Query, place: Place | None) -> Any:
    rows, after = next_page(table, query, place)
    if after is None:
        return rows, after
    values = tuple(msgspec.structs.replace(each, text="") for each in after.values)
    return rows, msgspec.structs.replace(after, values=values)


def _behind_the_next_row(table: Table, query: Query, place: Place | None) -> Any:
    rows, after = next_page(table, query, place)
    skipped, after = next_page(table, query, after) if after else ([], None)
    return [*rows, *skipped[1:]], after


@pytest.mark.parametrize("page", [_as_a_text_cursor, _behind_the_next_row])
def test_planted_bug_of_a_cursor_is_caught(page: NextPage) -> None:
    """A cursor without texts, and one that skips a row, give other rows in one of 300 columns."""
    wrong = 0
    for seed in range(COLUMNS):
        cells, _ = random_column(seed)
        query = Query(order=(SortTerm("a"),), limit=2)
        try:
            wrong += walked(cells, query, (), page) != MODEL.order(cells, descending=False)
        except CursorLost:
            wrong += 1

    assert wrong > 0


def _as_plain_text(cell: Cell) -> Cell:
    is_moment = not cell.is_of_the_sheet and cell.of_class in ("date", "clock")
    return cell._replace(of_class="text", key=cell.text.casefold()) if is_moment else cell


def _with_one_class_of_moments(cell: Cell) -> Cell:
    return cell._replace(of_class="date") if cell.of_class == "clock" else cell


def _by_code_point(cell: Cell) -> tuple[Any, ...]:
    return (cell.text, "") if cell.of_class == "text" else place(cell)


def _texts_first(cell: Cell) -> tuple[Any, ...]:
    return cell.key, cell.is_of_the_sheet, cell.text


def _stand_by_code_point(
    operand: Operand, cells: Sequence[Cell]
) -> tuple[str, tuple[Any, ...]] | None:
    found = stand(operand, cells)
    return ("text", (operand, "")) if found is not None and found[0] == "text" else found


def _stand_in_own_class(
    operand: Operand, cells: Sequence[Cell]
) -> tuple[str, tuple[Any, ...]] | None:
    return stand(operand, ())


def _names_number(cell: Cell, operand: Operand) -> bool:
    own = class_of_text(operand) if isinstance(operand, str) else ("number", operand)
    return own[0] == "number" and (cell.of_class, cell.key) == own


def _names_second(cell: Cell, operand: Operand) -> bool:
    own = class_of_text(operand) if isinstance(operand, str) else ("", 0)
    is_moment = cell.is_of_the_sheet and cell.of_class in ("date", "clock")
    return is_moment and own[0] == cell.of_class and own[1] // 1_000 == cell.key // 1_000


def _rows(answer: Callable[[Sequence[Cell], str, Any], list[int]]) -> Answers:
    return answers_of(Meaning())._replace(rows=answer)


def _equal_or(is_wrong: Callable[[Cell, Operand], bool]) -> Answers:
    meaning = replace(Meaning(), equal=lambda cell, it: equal(cell, it) or is_wrong(cell, it))
    return answers_of(meaning)


def _equal_and(is_right: Callable[[Cell, Operand], bool]) -> Answers:
    meaning = replace(Meaning(), equal=lambda cell, it: equal(cell, it) and is_right(cell, it))
    return answers_of(meaning)


def _ordered(as_other: Callable[[Cell], Cell]) -> Answers:
    meaning = replace(
        Meaning(), compared=lambda one, other: compared(as_other(one), as_other(other))
    )
    return answers_of(meaning)


BUGS = {
    "`$eq` of a number matches texts of the same number": _equal_or(
        lambda cell, operand: not isinstance(operand, bool | str) and _names_number(cell, operand)
    ),
    "two texts of one number are equal": _equal_or(
        lambda cell, operand: isinstance(operand, str) and _names_number(cell, operand)
    ),
    "`$eq` of a number matches the serial number of a date": _equal_or(
        lambda cell, operand: not isinstance(operand, bool | str) and cell.value == operand
    ),
    "a number ignores its plain notation": _equal_and(
        lambda cell, operand: isinstance(operand, str | None) or cell.is_of_the_sheet
    ),
    "`true` matches the text TRUE": _equal_or(
        lambda cell, operand: operand is True and cell.text == "TRUE"
    ),
    "displays are ignored": _equal_and(
        lambda cell, operand: (
            not isinstance(operand, str)
            or not cell.is_of_the_sheet
            or (cell.of_class, cell.key) == class_of_text(operand)
        )
    ),
    "values are ignored": _equal_and(
        lambda cell, operand: not isinstance(operand, str) or cell.text == operand
    ),
    "moments are compared by seconds": _equal_or(_names_second),
    "errors are empty": _equal_or(lambda cell, it: it is None and cell.of_class == "error"),
    "texts equal without capitals": _equal_or(
        lambda cell, it: isinstance(it, str) and cell.text.casefold() == it.casefold() != ""
    ),
    "text ranges go by code point": answers_of(
        replace(MODEL, place=_by_code_point, stand=_stand_by_code_point)
    ),
    "a display of another class is no end of a range": answers_of(
        replace(MODEL, stand=_stand_in_own_class)
    ),
    "a range holds what is equal": _rows(
        lambda cells, name, it: MODEL.rows(cells, {"$lt": "$lte"}.get(name, name), it)
    ),
    "`$lte` leaves out what is equal": _rows(
        lambda cells, name, it: MODEL.rows(cells, {"$lte": "$lt"}.get(name, name), it)
    ),
    "`$ne` leaves out empty cells": _rows(
        lambda cells, name, it: [
            row
            for row in MODEL.rows(cells, name, it)
            if name != "$ne" or cells[row].of_class != "empty"
        ]
    ),
    "`$in` compares as texts": _rows(
        lambda cells, name, it: (
            [row for row, cell in enumerate(cells) if cell.text in map(str, it)]
            if name == "$in"
            else MODEL.rows(cells, name, it)
        )
    ),
    "ISO texts sort among texts": _ordered(_as_plain_text),
    "dates and clocks sort as one class": _ordered(_with_one_class_of_moments),
    "texts sort before values of the sheet": answers_of(
        replace(
            MODEL,
            compared=lambda one, other: (
                compared(one, other)
                if one.of_class != other.of_class or one.of_class in ("empty", "error")
                else (_texts_first(one) > _texts_first(other))
                - (_texts_first(one) < _texts_first(other))
            ),
        )
    ),
    "empty cells are first in descending order": answers_of(MODEL)._replace(
        order=lambda cells, descending: sorted(
            MODEL.order(cells, descending=descending),
            key=lambda row: descending and cells[row].of_class != "empty",
        )
    ),
    "equal cells are in reverse if descending": answers_of(MODEL)._replace(
        order=lambda cells, descending: MODEL.order(cells, descending=False)[
            :: -1 if descending else 1
        ]
    ),
    "a row of two equal ones is lost": answers_of(MODEL)._replace(
        order=lambda cells, descending: list(
            {cells[row][:2]: row for row in MODEL.order(cells, descending=descending)}.values()
        )
    ),
}


def test_the_model_is_consistent() -> None:
    """The model has no contradictions, so a reported failure is a bug of the engine."""
    model = answers_of(MODEL)
    found = [
        failure for seed in range(COLUMNS) for failure in failures(model, *random_column(seed))
    ]

    assert found == []


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_caught(bug: str) -> None:
    """The checker finds each planted bug in equality, ranges or order on one of 300
    random columns.
    """
    columns_with_failures = (
        seed
        for seed in range(COLUMNS)
        if next(failures(BUGS[bug], *random_column(seed)), None) is not None
    )

    assert next(columns_with_failures, None) is not None


@settings(max_examples=300)
@given(st.integers(0, 2**63).map(random_column))
def test_typed_values_equal_cells_of_this_value_only(
    column: tuple[list[Cell], list[Operand]],
) -> None:
    """A typed value that a client sends back equals exactly the cells with this value."""
    cells, _ = column
    for cell in cells:
        sent = sent_back(cell)
        held = [is_held(sent, each.text, each.value, is_form=False) for each in cells]

        assert held == [holds(each, sent) for each in cells]
        assert held[cells.index(cell)]


def sent_back(cell: Cell) -> Any:
    """Return a cell's typed value as a client sends it back."""
    answer = msgspec.json.decode(msgspec.json.encode(typed_answer(cell.text, cell.value)))
    return answer if cell.of_class != "empty" else None


def holds(cell: Cell, sent: Any) -> bool:
    """True if a cell has the sent value, or displays the sent text.

    A date or time without an offset is compared with the value of a number cell, because the
    displayed text can lack digits.
    """
    if sent is None:
        return cell.of_class in ("empty", "error")
    if isinstance(sent, str):
        named, moments = class_of_text(sent), ("date", "clock")
        is_moment = cell.is_of_the_sheet and cell.of_class in moments and not sent.endswith("Z")
        if is_moment and named[0] in moments:
            return (cell.of_class, cell.key) == named
        return cell.text == sent
    return (cell.of_class == "boolean") is isinstance(sent, bool) and (
        cell.of_class in ("number", "boolean") and cell.is_of_the_sheet and cell.value == sent
    )
