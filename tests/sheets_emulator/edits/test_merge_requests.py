"""Tests of requests that merge and unmerge cells."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import merges
from tests.sheets_emulator.requests_of import Request, grid_range, properties_of

CUT = "You must select all cells in a merged range to merge or unmerge them."


def merged(kind: str, *bounds: int) -> Request:
    return {"mergeCells": {"range": grid_range(*bounds), "mergeType": kind}}


@pytest.mark.parametrize(
    ("kind", "expected", "values"),
    [
        ("MERGE_ALL", [(0, 0, 2, 2)], [["a"]]),
        ("MERGE_ROWS", [(0, 0, 1, 2), (1, 0, 2, 2)], [["a"], ["c"]]),
        ("MERGE_COLUMNS", [(0, 0, 2, 1), (0, 1, 2, 2)], [["a", "b"]]),
    ],
)
def test_a_merge_keeps_only_its_first_value(
    bench: Bench, kind: str, expected: list[tuple[int, ...]], values: list[list[str]]
) -> None:
    """All cells of a merge except the top left one are emptied."""
    bench.update("Data!A1", [["a", "b"], ["c", "d"]])
    bench.edit(merged(kind, 0, 0, 2, 2))

    assert merges(bench) == expected
    assert bench.grid("Data") == values


def test_first_value_moves_to_the_first_cell(bench: Bench) -> None:
    """If the top left cell is blank, the first value by row moves there with its format."""
    bench.update("Data!A1", [["", "50%"], ["x"]], option="USER_ENTERED")
    bench.edit(merged("MERGE_ALL", 0, 0, 2, 2))

    assert bench.grid("Data") == [["50%"]]


def test_a_merge_replaces_the_merges_inside_it(bench: Bench) -> None:
    """A larger merge replaces two merged rows. One cell is not merged (recorded from Google)."""
    bench.edit(merged("MERGE_ROWS", 0, 0, 2, 2))
    bench.edit(merged("MERGE_ALL", 0, 0, 2, 2), merged("MERGE_ALL", 3, 3, 4, 4))

    assert merges(bench) == [(0, 0, 2, 2)]


def test_unmerging_removes_all_merges_in_its_range(bench: Bench) -> None:
    """A merge outside the range stays, and the first cell keeps its value."""
    bench.update("Data!A1", [["a"]])
    bench.edit(merged("MERGE_ROWS", 0, 0, 3, 2))
    bench.edit({"unmergeCells": {"range": grid_range(0, 0, 2, 2)}})

    assert merges(bench) == [(2, 0, 3, 2)]
    assert bench.grid("Data") == [["a"]]


@pytest.mark.parametrize(
    "request_",
    [merged("MERGE_ALL", 1, 1, 3, 3), {"unmergeCells": {"range": grid_range(0, 0, 1, 1)}}],
    ids=["merge", "unmerge"],
)
def test_a_range_with_a_part_of_a_merge_is_refused(bench: Bench, request_: Request) -> None:
    """Merging or unmerging a range that covers only a part of a merge gets 400."""
    bench.edit(merged("MERGE_ALL", 0, 0, 2, 2))
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert message(answer) == f"Invalid requests[0].{next(iter(request_))}: {CUT}"
    assert merges(bench) == [(0, 0, 2, 2)]


def test_one_batch_can_have_thousands_of_merges(bench: Bench) -> None:
    """A batch of 4,000 adjacent merges succeeds, and so does a batch that unmerges the cells."""
    size = {"rowCount": 8000, "columnCount": 2}
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=size))
    places = [(row, 0, row + 2, 2) for row in range(0, 8000, 2)]
    merging = bench.edit(*[merged("MERGE_ALL", *place) for place in places])
    found = merges(bench)
    unmerging = bench.edit(*[{"unmergeCells": {"range": grid_range(*each)}} for each in places])

    assert (merging.status_code, unmerging.status_code) == (200, 200)
    assert found == places
    assert merges(bench) == []
