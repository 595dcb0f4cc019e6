"""Tests of the evaluation of queries: operators by class of cell, order, and pages."""

import json

import pytest
from msgspec.structs import replace

from gateway.errors import InvalidQuery
from gateway.query.evaluate import Page
from gateway.query.evaluate import evaluate as evaluate_seen
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.header import Selection
from gateway.table.steps import Work, finish
from gateway.table.table import make_table
from tests.query.sheet import BLANK, SheetCell, evaluate, make_sheet, text_cell

CELLS = {
    "number": SheetCell("1,250", 1250),
    "half": SheetCell("0.5", 0.5),
    "percent": SheetCell("50%", 0.5),
    "money": SheetCell("$1,234.50", 1234.5),
    "empty": BLANK,
    "5 text": text_cell("5"),
    "1e2 text": text_cell("1e2"),
    "007": text_cell("007"),
    "1,250 text": text_cell("1,250"),
    "nan": text_cell("nan"),
    "1e400": text_cell("1e400"),
    "wide": text_cell("１２３"),
    "boston": text_cell("Boston"),
    "austin": text_cell("austin"),
    "date": SheetCell("1/15/2020", 43_845),
    "noon": SheetCell("1/15/2020 12:00", 43_845.5),
    "date number": SheetCell("43845", 43_845),
    "date text": text_cell("2020-01-15"),
    "true": SheetCell("TRUE", True),
    "false": SheetCell("FALSE", False),
    "TRUE text": text_cell("TRUE"),
}
TEXTS = {"007", "1,250 text", "nan", "1e400", "wide", "boston", "austin", "date text", "TRUE text"}
SHEET = make_sheet({"name": [text_cell(name) for name in CELLS], "f": list(CELLS.values())})
ALL = set(CELLS)


def names(criterion: object) -> set[str]:
    """Return the names of the rows whose field `f` matches the condition."""
    page = evaluate(SHEET, Query(where=parse_where({"f": criterion}), limit=100))
    return {SHEET.text(row, 0) for row in page.rows}


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ('{"$eq": 1250}', {"number"}),
        ('{"$eq": 5}', {"5 text"}),
        ('{"$eq": 100}', set()),
        ('{"$eq": 7}', set()),
        ('{"$eq": 0.5}', {"half", "percent"}),
        ('{"$eq": 1}', set()),
        ('{"$eq": 43845}', {"date number"}),
        ('{"$eq": "1250"}', {"number"}),
        ('{"$eq": "1,250"}', {"number", "1,250 text"}),
        ('{"$eq": "1250.0"}', {"number"}),
        ('{"$ne": "1.25e3"}', ALL - {"number"}),
        ('{"$eq": "$1,234.50"}', {"money"}),
        ('{"$eq": "1234.5"}', {"money"}),
        ('{"$eq": "0.5"}', {"half", "percent"}),
        ('{"$eq": "5"}', {"5 text"}),
        ('{"$eq": "100"}', set()),
        ('{"$eq": "007"}', {"007"}),
        ('{"$eq": "boston"}', set()),
        ('{"$eq": "Boston"}', {"boston"}),
        ('{"$eq": "2020-01-15"}', {"date", "date text"}),
        ('{"$eq": "2020-01-15T00:00:00.0005+09:00"}', {"date"}),
        ('{"$eq": "2020-01-15 12:00"}', {"noon"}),
        ('{"$eq": "1/15/2020"}', {"date"}),
        ('{"$eq": "43845"}', {"date number"}),
        ('{"$eq": "1E2"}', set()),
        ('{"$eq": true}', {"true"}),
        ('{"$eq": false}', {"false"}),
        ('{"$eq": "TRUE"}', {"true", "TRUE text"}),
        ('{"$eq": "true"}', set()),
        ('{"$eq": null}', {"empty"}),
        ('{"$eq": ""}', {"empty"}),
        ('{"$ne": 1250}', ALL - {"number"}),
        ('{"$neq": null}', ALL - {"empty"}),
        ('{"$in": [5, "Boston", null, true]}', {"5 text", "boston", "empty", "true"}),
        ('{"$in": []}', set()),
        ('{"$nin": ["Boston", ""]}', ALL - {"boston", "empty"}),
        ('{"$nin": []}', ALL),
        ('{"$gte": 1250}', {"number", "date number"}),
        ('{"$gt": 1250}', {"date number"}),
        ('{"$gte": "$1,234.50"}', {"money", "number", "date number"}),
        ('{"$gt": "50%"}', {"money", "number", "date number", "5 text", "1e2 text", "half"}),
        ('{"$gte": "50%"}', ALL - TEXTS - {"empty", "date", "noon", "true", "false"}),
        ('{"$lt": "50%"}', set()),
        ('{"$lte": 5}', {"half", "percent", "5 text"}),
        ('{"$lt": 5}', {"half", "percent"}),
        ('{"$lt": "5"}', {"half", "percent"}),
        ('{"$gte": "43845"}', {"date number"}),
        ('{"$gt": "2020-01-15"}', {"noon"}),
        ('{"$gte": "2020-01-15T06:00:00-11:00", "$lt": "2020-01-16"}', {"noon"}),
        ('{"$lte": "2020-01-15T00:00:00.0005Z"}', {"date", "date text"}),
        ('{"$lt": "2020-01-15T00:00:00.0005Z"}', {"date text"}),
        ('{"$gte": "2020-01-15T00:00:00.0005Z", "$lte": "2020-01-15T06:00Z"}', {"date"}),
        ('{"$gte": "a"}', {"austin", "boston", "nan", "TRUE text", "wide"}),
        ('{"$lt": "B"}', {"007", "1,250 text", "1e400", "austin"}),
        ('{"$lt": "TRUE"}', {"false"}),
        ('{"$gte": false}', {"true", "false"}),
        ('{"$lt": true}', {"false"}),
        ('{"$gte": null}', set()),
        ('{"$lte": ""}', set()),
        ('{"$text": "BOS"}', {"boston"}),
        ('{"$text": "50"}', {"number", "percent", "money", "1,250 text"}),
        ('{"$text": "tru"}', {"true", "TRUE text"}),
        ('{"$text": "2020"}', {"date", "noon", "date text"}),
        ('{"$exists": true}', ALL - {"empty"}),
        ('{"$exists": false}', {"empty"}),
        ('{"$not": {"$gte": 0}}', TEXTS | {"empty", "true", "false", "date", "noon"}),
        ('{"$gte": 1, "$lte": 1250}', {"number", "money", "5 text", "1e2 text"}),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_operators_compare_as_documented(criterion: str, expected: set[str]) -> None:
    """Each operator matches the classes of cells that the API documents for the operand."""
    assert names(json.loads(criterion)) == expected


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({"rowIndex": 3}, [3]),
        ({"rowIndex": "3"}, [3]),
        ({"rowIndex": {"$gte": 4}}, [4, 5]),
        ({"rowIndex": {"$in": [2, 99]}}, [2]),
        ({"a": "x", "b": "1"}, [2]),
        ({"$or": [{"a": "y"}, {"b": "1"}]}, [2, 3, 5]),
        ({"$and": [{"a": "x"}, {"$not": {"b": "1"}}]}, [4]),
        ({"$or": [{}]}, [2, 3, 4, 5]),
        ({"$not": {}}, []),
        ({}, [2, 3, 4, 5]),
        ({" a ": "y"}, [3]),
    ],
    ids=str,
)
def test_conditions_combine(where: object, rows: list[int]) -> None:
    """`$and`, `$or` and `$not` combine conditions. Names match trimmed headers and `rowIndex`."""
    sheet = make_sheet(
        {"a": [text_cell(text) for text in "xyxz"], "b": [text_cell(text) for text in "1221"]}
    )

    assert list(evaluate(sheet, Query(where=parse_where(where))).rows) == rows


MIXED = make_sheet(
    {
        "f": [
            text_cell("b"),
            BLANK,
            SheetCell("TRUE", True),
            text_cell("10"),
            text_cell("B"),
            SheetCell("9", 9),
            text_cell("a"),
            SheetCell("FALSE", False),
            text_cell("nan"),
            BLANK,
            SheetCell("10.0", 10),
            text_cell("007"),
        ],
        "g": [text_cell(text) for text in "xyxyxyxyxyxy"],
    }
)


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        pytest.param((), list(range(2, 14)), id="worksheet order"),
        pytest.param(
            (SortTerm("f"),), [7, 12, 5, 13, 8, 6, 2, 10, 9, 4, 3, 11], id="numbers, text, booleans"
        ),
        pytest.param(
            (SortTerm("f", descending=True),),
            [4, 9, 10, 2, 6, 8, 13, 5, 12, 7, 3, 11],
            id="reversed, ties as in the sheet, empties last",
        ),
        pytest.param(
            (SortTerm("g", descending=True), SortTerm("f")),
            [7, 5, 13, 9, 3, 11, 12, 8, 6, 2, 10, 4],
            id="two terms",
        ),
        pytest.param(
            (SortTerm("rowIndex", descending=True),), list(range(13, 1, -1)), id="by rowIndex"
        ),
        pytest.param(
            (SortTerm("g"), SortTerm("rowIndex", descending=True)),
            [12, 10, 8, 6, 4, 2, 13, 11, 9, 7, 5, 3],
            id="rowIndex as second term",
        ),
    ],
)
def test_rows_are_ordered(order: tuple[SortTerm, ...], rows: list[int]) -> None:
    """Rows sort by number, text ignoring case, boolean. Equal rows keep sheet order, empty
    cells are last.
    """
    assert list(evaluate(MIXED, Query(order=order)).rows) == rows


@pytest.mark.parametrize(
    ("skip", "limit", "rows", "has_next"),
    [
        (0, 2, [2, 3], True),
        (2, 2, [4, 5], True),
        (2, 3, [4, 5, 6], False),
        (0, 5, [2, 3, 4, 5, 6], False),
        (0, 99, [2, 3, 4, 5, 6], False),
        (5, 2, [], False),
        (99, 2, [], False),
        (0, 0, [], True),
        (4, 0, [], True),
        (5, 0, [], False),
        (10**15, 100, [], False),
    ],
)
def test_pages_have_next_if_rows_remain(
    skip: int, limit: int, rows: list[int], has_next: bool
) -> None:
    """`has_next` is true if matching rows follow the page. A page past the end is empty."""
    plain = make_table([["a", *"12345"]])

    page = evaluate(plain, Query(skip=skip, limit=limit))

    assert (list(page.rows), page.has_next) == (rows, has_next)


@pytest.mark.parametrize(
    ("where", "order", "total"),
    [
        pytest.param({}, (), 12, id="all rows"),
        pytest.param({"g": "x"}, (), 6, id="where"),
        pytest.param({"g": "x"}, (SortTerm("f"),), 6, id="where and order"),
        pytest.param({"f": {"$gte": 9}}, (SortTerm("f"),), 3, id="range of the ordered column"),
        pytest.param({"g": {"$ne": "x"}}, (SortTerm("g"), SortTerm("f")), 6, id="two terms"),
        pytest.param({"g": "z"}, (), 0, id="nothing"),
    ],
)
def test_matching_rows_are_counted_if_wanted(
    where: object, order: tuple[SortTerm, ...], total: int
) -> None:
    """`total` is the number of matching rows on all pages, or None without `wants_total`."""
    query = Query(where=parse_where(where), order=order, skip=1, limit=1)

    assert evaluate(MIXED, replace(query, wants_total=True)).total == total
    assert evaluate(MIXED, query).total is None


def test_a_page_is_cut_after_filter_and_order() -> None:
    """Filter and order apply before skip and limit. `has_next` counts only matching rows."""
    query = Query(where=parse_where({"g": "x"}), order=(SortTerm("f"),), skip=4, limit=2)

    page = evaluate(MIXED, query)

    assert (list(page.rows), page.has_next) == ([10, 4], False)


def test_blank_rows_between_are_rows() -> None:
    """A blank row between rows with data is a row. A blank row at the end is not a row."""
    sheet = make_sheet({"a": [text_cell("x"), BLANK, text_cell("y"), BLANK]})

    everything = evaluate(sheet, Query())
    blank = evaluate(sheet, Query(where=parse_where({"a": None})))

    assert list(everything.rows) == [2, 3, 4]
    assert list(blank.rows) == [3]


@pytest.mark.parametrize("columns", [[], [["a"]]], ids=["blank", "header only"])
def test_a_worksheet_without_rows_has_an_empty_page(columns: list[list[object]]) -> None:
    """A worksheet without data rows gives an empty page without a next page."""
    page = evaluate(make_table(columns), Query())

    assert (list(page.rows), page.has_next) == ([], False)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        pytest.param(Query(where=parse_where({"F": 1})), "where", id="where"),
        pytest.param(Query(where=parse_where({"$nor": 1})), "where", id="where, like an operator"),
        pytest.param(Query(where=parse_where({"$or": [{}, {"x": 1}]})), "where", id="where, deep"),
        pytest.param(Query(order=(SortTerm("f"), SortTerm("F"))), "order", id="order"),
    ],
)
def test_unknown_fields_are_rejected(query: Query, parameter: str) -> None:
    """An unknown field in `where` or `order` is an error that lists the worksheet's fields."""
    with pytest.raises(InvalidQuery) as refused:
        evaluate(MIXED, query)

    assert refused.value.message.startswith(f"{parameter} names")
    assert 'rowIndex, "f", "g"' in refused.value.message


def test_unknown_keys_are_ignored() -> None:
    """An unknown name in `keys` does not affect the rows of the page."""
    page = evaluate(MIXED, Query(keys=Selection(("nope",)), limit=1))

    assert list(page.rows) == [2]


def test_times_are_compared_after_rounding_to_a_millisecond() -> None:
    """Serial numbers that round to the same millisecond are equal in `$in` and in ranges."""
    days = [45_292 + number * 7.3e-12 for number in range(-500, 500)]
    cells = [SheetCell("1 Jan 2024", day) for day in days]
    cells += [SheetCell("2 Jan 2024", 45_293.0), SheetCell("4 Jan 2024", 45_295)]
    table = make_sheet({"day": cells})
    where = parse_where({"day": {"$in": ["2024-01-01", "2024-01-02"]}})

    page = evaluate(table, Query(where=where, skip=998, wants_total=True))
    later = evaluate(table, Query(where=parse_where({"day": {"$gt": "2024-01-01"}})))

    assert len(set(days)) == 1_000
    assert page.total == 1_001
    assert list(page.rows) == [1_000, 1_001, 1_002]
    assert list(later.rows) == [1_002, 1_003]


def test_a_query_completes_while_the_table_drops_its_indexes() -> None:
    """A query completes correctly, even if the table drops its indexes after each step."""
    table = make_sheet({"name": [text_cell(f"c{n % 9}") for n in range(50)], "x": [BLANK] * 50})
    query = Query(where=parse_where({"name": "c3"}), order=(SortTerm("x"), SortTerm("name")))
    work, taken = evaluate_seen(table, query, table.header.whole), 0

    def dropping() -> Work[Page]:
        nonlocal taken
        for _ in range(1_000):
            try:
                steps = next(work)
            except StopIteration as end:
                page: Page = end.value
                return page
            table.indexes.clear()
            taken += 1
            yield steps
        raise AssertionError("the query never ends")

    page = finish(dropping())

    assert taken > 3
    assert list(page.rows) == [5, 14, 23, 32, 41, 50]
