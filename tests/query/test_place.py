"""Tests of cursor positions: paging returns each row once, and no unchanged row is lost after
edits.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gateway.errors import CursorLost, InvalidQuery
from gateway.query.evaluate import Page, find_page, place_behind, plain_page
from gateway.query.place import AHEAD, LONGEST_CURSOR, MOST_CHARACTERS, Cursors, Place
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.steps import Metered
from tests.query.paging import (
    Edit,
    EditedSheet,
    NextPage,
    Row,
    next_page,
    ordered,
    page_by_number,
    walked,
)
from tests.query.sheet import SheetCell, evaluate, make_sheet, text_cell
from tests.query.test_evaluate_reference import FIELDS, NAMES, ROWS, WHERE

SEAL = Cursors(bytes(32)).seal("book", "Cities", b"")
ORDERS = [
    *((), ("tie",), ("-tie",), ("tie", "-number"), ("-tie", "number")),
    *(("rowIndex",), ("-rowIndex",), ("tie", "-rowIndex")),
]
EDITS: st.SearchStrategy[Edit] = st.tuples(
    st.sampled_from(["insert", "delete", "note", "tie", "move"]),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 3),
)


def is_encodable(rows: Sequence[dict[str, SheetCell]]) -> bool:
    """False if a cell has a lone surrogate, which JSON answers cannot contain."""
    return not any("\ud800" in cell.text for row in rows for cell in row.values())


@settings(max_examples=300, deadline=None)
@given(
    ROWS.filter(is_encodable),
    st.integers(1, 3),
    WHERE | st.just({}),
    st.lists(st.tuples(NAMES, st.booleans()), max_size=3),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
def test_paging_without_edits_gives_every_row_once(
    rows: list[dict[str, SheetCell]],
    times: int,
    where: dict[str, Any],
    order: list[tuple[str, bool]],
    limits: list[int],
) -> None:
    """Paging with cursors returns all rows in order, and no cursor exceeds the maximum length."""
    table = make_sheet({name: [row[name] for row in rows * times] for name in FIELDS})
    try:
        condition = parse_where(where) if where else None
    except InvalidQuery:
        return
    query = Query(where=condition, order=tuple(SortTerm(*term) for term in order), limit=10**6)
    found: list[int] = []
    place: Place | None = None
    for turn in range(100):
        limited = replace(query, limit=limits[turn % len(limits)])
        page, place = next_page(table, limited, place)
        found += page
        if place is None:
            break
        cursor = SEAL.of(place)
        place = SEAL.open(cursor)
        assert len(cursor) <= LONGEST_CURSOR

    assert place is None
    assert found == [*evaluate(table, query).rows]


@pytest.mark.parametrize("order", [(), ("tie",), ("-tie",)], ids=" ".join)
@pytest.mark.parametrize(
    "where",
    [
        {"n": {"$lt": 26}},
        {"n": {"$lt": 26}, "tie": {"$gte": 1}},
        {"n": {"$in": [*range(0, 400, 30)]}},
        {"$or": [{"n": {"$lt": 9}}, {"name": {"$text": "39"}}]},
    ],
    ids=["range", "two ranges", "few values", "any of two"],
)
def test_a_filter_that_matches_few_rows(where: dict[str, Any], order: tuple[str, ...]) -> None:
    """In a long table, a cursor is found although most rows around its row do not match."""
    numbers = [number * 7919 % 400 for number in range(400)]
    table = make_sheet(
        {
            "name": [text_cell(f"row {number}") for number in range(400)],
            "n": [SheetCell(str(number), number) for number in numbers],
            "tie": [SheetCell(str(number % 3), number % 3) for number in numbers],
        }
    )
    query = Query(where=parse_where(where), order=ordered(*order), limit=3)
    found, place = next_page(table, query, None)
    while place is not None:
        page, place = next_page(table, query, place)
        found += page

    assert found == [*evaluate(table, replace(query, limit=400)).rows]
    assert len(found) > 3 * query.limit


def test_the_second_page_of_a_rare_match_is_cheap() -> None:
    """A cursor is found among the rows that match, without a search through the other rows."""
    count = 30_000
    table = make_sheet(
        {
            "a": [SheetCell(str(number % 3001), number % 3001) for number in range(count)],
            "b": [SheetCell(str(number % 89), number % 89) for number in range(count)],
        }
    )
    query = Query(where=parse_where({"a": {"$lt": 5}, "b": {"$lt": 60}}), limit=5)
    _, place = next_page(table, query, None)
    next_page(table, query, place)  # builds the indexes
    page = find_page(table, query, table.header.whole, place)
    assert not isinstance(page, Page)
    steps = sum(page)

    assert 0 < steps < count // 10


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 3) | st.just(""), min_size=1, max_size=40),
    st.sampled_from(ORDERS),
    st.booleans(),
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.lists(st.lists(EDITS, max_size=3), max_size=12),
)
def test_paging_under_edits_loses_no_unchanged_row(
    ties: list[int | str],
    order: tuple[str, ...],
    has_where: bool,
    limits: list[int],
    edits: list[list[Edit]],
) -> None:
    """Paging during edits returns each unchanged row exactly once, or raises CursorLost."""
    sheet = EditedSheet([Row(number, tie) for number, tie in enumerate(ties)])
    where = parse_where({"tie": {"$ne": 3}}) if has_where else None
    try:
        faults = walked(sheet, Query(where=where, order=ordered(*order)), limits, edits)
    except CursorLost:
        return

    assert faults == ([], [])


SHIFTS: dict[str, tuple[tuple[str, ...], list[Edit]]] = {
    "a row inserted above": ((), [("insert", 0, 0, 1)]),
    "a row deleted above": ((), [("delete", 0, 0, 0)]),
    "the last row given deleted": ((), [("delete", 9, 0, 0)]),
    "the last row given edited": ((), [("note", 9, 0, 0)]),
    "the next row deleted": ((), [("delete", 10, 0, 0)]),
    "the next row edited": ((), [("note", 10, 0, 0)]),
    "the last row given moved away": ((), [("move", 9, 39, 0)]),
    "the next row moved away": ((), [("move", 10, 39, 0)]),
    "a row appended": ((), [("insert", 39, 0, 1)]),
    "a tie inserted above": (("tie",), [("insert", 0, 0, 0)]),
    "a tie deleted above": (("-tie",), [("delete", 0, 0, 0)]),
}


@pytest.mark.parametrize("case", SHIFTS)
def test_a_cursor_position_is_found_after_an_edit(case: str) -> None:
    """After one edit near or above the cursor's position, the next page continues correctly."""
    order, edits = SHIFTS[case]
    sheet = EditedSheet([Row(number, 0) for number in range(40)])

    assert walked(sheet, Query(order=ordered(*order)), [10], [edits]) == ([], [])


@pytest.mark.parametrize("case", ["a row inserted above", "a row deleted above"])
def test_a_position_by_number_alone_is_caught(case: str) -> None:
    """A planted bug that uses only the row number repeats or loses rows, and the check finds it."""
    order, edits = SHIFTS[case]
    page: NextPage = page_by_number

    faults = walked(
        EditedSheet([Row(number, 0) for number in range(40)]),
        Query(order=ordered(*order)),
        [10],
        [edits],
        page,
    )

    assert faults != ([], [])


def test_a_sorted_sheet_loses_the_cursor_position() -> None:
    """Without `order`, a cursor is lost after a user sorts the sheet."""
    sheet = EditedSheet([Row(number, 0) for number in range(40)])
    _, place = next_page(sheet.table(), Query(limit=10), None)
    sheet.rows.sort(key=lambda row: (row.number * 7) % 40)

    with pytest.raises(CursorLost):
        next_page(sheet.table(), Query(limit=10), place)


@pytest.mark.parametrize(("inserted", "is_lost"), [(False, False), (True, True)])
def test_a_position_in_identical_rows_needs_an_unchanged_sheet(
    inserted: bool,
    is_lost: bool,
) -> None:
    """A cursor between identical rows is valid only if the worksheet has not changed."""
    same = [text_cell("same")] * 60
    _, place = next_page(make_sheet({"a": same}), Query(limit=30), None)
    later = make_sheet({"a": [text_cell("new"), *same] if inserted else same})

    if is_lost:
        with pytest.raises(CursorLost):
            next_page(later, Query(limit=30), place)
    else:
        assert next_page(later, Query(limit=30), place) == ([*range(32, 62)], None)


def test_a_similar_block_is_not_the_cursor_position() -> None:
    """A cursor is lost if rows near its position were removed, even if equal rows exist
    elsewhere.
    """
    texts = [f"line {number % 20}" for number in range(60)]
    _, place = next_page(make_sheet({"a": [*map(text_cell, texts)]}), Query(limit=19), None)
    later = make_sheet({"a": [*map(text_cell, [*texts[:19], *texts[22:]])]})

    with pytest.raises(CursorLost):
        next_page(later, Query(limit=19), place)


def test_a_distant_copy_is_not_the_cursor_position() -> None:
    """A cursor is lost if some rows near its position changed, even if copies exist further
    down.
    """
    texts = [f"line {number}" for number in range(300)]
    texts[150:170] = texts[0:20]
    _, place = next_page(make_sheet({"a": [*map(text_cell, texts)]}), Query(limit=12), None)
    texts[8:12] = [f"changed {number}" for number in range(4)]

    with pytest.raises(CursorLost):
        next_page(make_sheet({"a": [*map(text_cell, texts)]}), Query(limit=12), place)


def test_a_cursor_position_is_found_after_many_inserted_rows() -> None:
    """A cursor's position is found after 100 rows were inserted above."""
    texts = [f"line {number}" for number in range(300)]
    _, place = next_page(make_sheet({"a": [*map(text_cell, texts)]}), Query(limit=12), None)
    texts[0:0] = [f"new {number}" for number in range(100)]
    rows, _ = next_page(make_sheet({"a": [*map(text_cell, texts)]}), Query(limit=12), place)

    assert rows == [*range(114, 126)]


def test_cells_are_digested_once_for_a_table() -> None:
    """The first cursor between identical rows digests all cells. Later cursors need under 5% of
    the steps.
    """
    table = make_sheet({"a": [text_cell("same")] * 20_000})
    steps: list[float] = []
    for limit in (2, 3, 4):
        query = Query(limit=limit)
        page = plain_page(table, replace(query, limit=limit + AHEAD))
        placing = place_behind(table, query, page, table.header.whole, None)
        assert not isinstance(placing, Place)
        work = Metered(placing)
        assert work.advance(inf)
        steps.append(work.steps)

    assert steps[0] > 20_000
    assert max(steps[1:]) < 1_000


@pytest.mark.parametrize("length", [1, MOST_CHARACTERS, MOST_CHARACTERS + 1, 5_000])
def test_long_texts_are_found_by_prefix_and_digest(length: int) -> None:
    """Cursors of long texts with a common prefix stay short, and the next page continues in
    order.
    """
    texts = sorted(f"{'Ä' * length}{number:02}" for number in range(12))
    table = make_sheet({"a": [text_cell(text) for text in texts]})
    query = Query(order=ordered("a"), limit=5)

    first, place = next_page(table, query, None)
    assert place is not None
    second, _ = next_page(table, query, SEAL.open(SEAL.of(place)))

    assert [*first, *second] == [*range(2, 12)]
    assert len(SEAL.of(place)) <= LONGEST_CURSOR


def test_a_deleted_long_text_loses_the_cursor_position() -> None:
    """A cursor is lost if the long text of its row was deleted and other texts have the same
    prefix.
    """
    texts = [f"{'a' * 200}{number:02}" for number in range(12)]
    query = Query(order=ordered("a"), limit=5)
    _, place = next_page(make_sheet({"a": [*map(text_cell, texts)]}), query, None)
    later = make_sheet({"a": [text_cell(text) for text in texts if text != texts[4]]})

    with pytest.raises(CursorLost):
        next_page(later, query, place)
