"""Tests of requests that sort rows and delete duplicates."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range


def sort(area: Request, *specs: Request) -> Request:
    return {"sortRange": {"range": area, "sortSpecs": list(specs)}}


@pytest.mark.parametrize(
    ("order", "column"),
    [
        ("ASCENDING", ["2", "10", "apple", "Bear", "TRUE"]),
        ("DESCENDING", ["TRUE", "Bear", "apple", "10", "2"]),
    ],
)
def test_sort_puts_blanks_last_in_both_directions(
    build: BenchBuilder, order: str, column: list[str]
) -> None:
    """In ascending order, numbers come before texts and texts before booleans."""
    bench = build({"Data": "Bear,1\n10,2\n,3\napple,4\nTRUE,5\n2,6\n"})
    bench.edit(sort(grid_range(0, 0, 6, 2), {"dimensionIndex": 0, "sortOrder": order}))

    assert bench.grid("Data!A:A", majorDimension="COLUMNS") == [column]
    assert bench.grid("Data!B6") == [["3"]]


def test_sort_moves_the_cells_of_its_range_only(build: BenchBuilder) -> None:
    """Cells outside the range stay. A second sort column orders rows with equal first values."""
    bench = build({"Data": "h,i,j\n2,x,1\n1,y,2\n1,z,3\n"})
    by_second = {"dimensionIndex": 1, "sortOrder": "DESCENDING"}
    bench.edit(sort(grid_range(1, 0, 4, 2), {"dimensionIndex": 0}, by_second))

    assert bench.grid("Data") == [
        ["h", "i", "j"],
        ["1", "z", "1"],
        ["1", "y", "2"],
        ["2", "x", "3"],
    ]


def test_formulas_are_sorted_by_their_results(build: BenchBuilder) -> None:
    """Relative references of moved formulas shift, and errors come after all values."""
    bench = build({"Data": "3,=A1*2\n2,=1/0\n1,=A3*2\n"})
    bench.edit(sort(grid_range(0, 0, 3, 2), {"dimensionIndex": 1}))

    assert bench.grid("Data") == [["1", "2"], ["3", "6"], ["2", "#DIV/0!"]]
    assert bench.grid("Data!B1:B2", valueRenderOption="FORMULA") == [["=A1*2"], ["=A2*2"]]


@pytest.mark.parametrize(
    ("spec", "status", "complaint"),
    [
        ({"dimensionIndex": 3}, 400, "is not in the range"),
        ({"dimensionIndex": 0, "sortOrder": "UP"}, 400, "SortOrder"),
        ({"dimensionIndex": 0, "backgroundColor": {}}, 501, "'backgroundColor'"),
        ({"dataSourceColumnReference": {"name": "x"}}, 501, "'dataSourceColumnReference'"),
    ],
)
def test_an_invalid_sort_is_refused(
    bench: Bench, spec: Request, status: int, complaint: str
) -> None:
    """A bad column or order gets 400. Sorting by colour or data source column gets 501."""
    answer = bench.edit(sort(grid_range(0, 0, 2, 2), spec))

    assert answer.status_code == status
    assert complaint in message(answer)


def test_vertical_merges_cannot_be_sorted(bench: Bench) -> None:
    """A range with a merge across rows is an error. A merge within one row can be sorted."""
    across = {"range": grid_range(0, 0, 1, 2), "mergeType": "MERGE_ALL"}
    down = {"range": grid_range(0, 2, 2, 3), "mergeType": "MERGE_ALL"}
    bench.edit({"mergeCells": across}, {"mergeCells": down})
    spec = {"dimensionIndex": 0}

    assert bench.edit(sort(grid_range(0, 0, 2, 2), spec)).status_code == 200
    assert "vertical merges" in message(bench.edit(sort(grid_range(0, 0, 2, 3), spec)))


def test_duplicates_are_deleted(build: BenchBuilder) -> None:
    """Rows are compared by value without case. The first row stays, and later rows move up."""
    bench = build({"Data": "a,2,1\nA,=1+1,2\nb,2,3\n"})
    answer = bench.edit({"deleteDuplicates": {"range": grid_range(0, 0, 3, 2)}})

    assert answer.json()["replies"] == [{"deleteDuplicates": {"duplicatesRemovedCount": 1}}]
    assert bench.grid("Data") == [["a", "2", "1"], ["b", "2", "2"], ["", "", "3"]]


def test_duplicates_are_compared_in_the_given_columns(build: BenchBuilder) -> None:
    """Other columns can differ. A comparison column outside the range gets 400."""
    bench = build({"Data": "a,1\na,2\n"})
    column = {"sheetId": 0, "dimension": "COLUMNS", "startIndex": 0, "endIndex": 1}
    area = grid_range(0, 0, 2, 2)
    both = bench.edit({"deleteDuplicates": {"range": area}})
    one = bench.edit({"deleteDuplicates": {"range": area, "comparisonColumns": [column]}})
    outside = {**column, "endIndex": 2}
    narrow = {"range": grid_range(0, 0, 2, 1), "comparisonColumns": [outside]}

    assert both.json()["replies"] == [{"deleteDuplicates": {}}]
    assert one.json()["replies"] == [{"deleteDuplicates": {"duplicatesRemovedCount": 1}}]
    assert bench.grid("Data") == [["a", "1"]]
    assert bench.edit({"deleteDuplicates": narrow}).status_code == 400
