"""batchUpdate: cells written, appended, sorted and pasted."""

import pytest

from tests.emulator.bench import Bench
from tests.emulator.conftest import BenchBuilder
from tests.emulator.requests_of import Request, grid_range


def test_update_cells_writes_typed_values_from_a_start(bench: Bench) -> None:
    """Each kind of userEnteredValue; a cell without one is emptied."""
    bench.update("Data!A1", [["old", "old", "old", "old", "old"]])
    kinds: list[Request] = [
        {"numberValue": 1.5},
        {"stringValue": "=1"},
        {"boolValue": False},
        {"formulaValue": "=A1"},
    ]
    values: list[Request] = [{"userEnteredValue": kind} for kind in kinds]
    bench.edit(
        {
            "updateCells": {
                "rows": [{"values": [*values, {}]}],
                "fields": "userEnteredValue",
                "start": {"sheetId": 0},
            }
        }
    )

    assert bench.grid("Data", valueRenderOption="FORMULA") == [[1.5, "=1", False, "=A1"]]


def test_update_cells_of_a_range_empties_its_rest(bench: Bench) -> None:
    """With a range the cells that the rows do not reach are emptied."""
    bench.update("Data!A1", [["a", "b"], ["c", "d"], ["e", "f"]])
    rows = [{"values": [{"userEnteredValue": {"stringValue": "x"}}]}]
    bench.edit(
        {"updateCells": {"rows": rows, "fields": "*", "range": grid_range(0, 0, 2, 2)}},
    )

    assert bench.grid("Data") == [["x"], [], ["e", "f"]]


def test_append_cells_goes_under_the_last_row_with_data(build: BenchBuilder) -> None:
    """Tables do not matter, and the grid grows."""
    bench = build({"Data": "a,\n,b\n"})
    rows = [{"values": [{"userEnteredValue": {"numberValue": 1}}]}]
    bench.edit({"appendCells": {"sheetId": 0, "rows": rows, "fields": "userEnteredValue"}})

    assert bench.grid("Data") == [["a"], ["", "b"], ["1"]]
    assert bench.size() == (3, 2)


@pytest.mark.parametrize(
    ("order", "column"),
    [
        ("ASCENDING", ["2", "10", "apple", "Bear", "TRUE"]),
        ("DESCENDING", ["TRUE", "Bear", "apple", "10", "2"]),
    ],
)
def test_sort_puts_blanks_last_both_ways(
    build: BenchBuilder, order: str, column: list[str]
) -> None:
    """Numbers, text in either case, booleans; blanks at the end whatever the order."""
    bench = build({"Data": "Bear,1\n10,2\n,3\napple,4\nTRUE,5\n2,6\n"})
    specs = [{"dimensionIndex": 0, "sortOrder": order}]
    bench.edit({"sortRange": {"range": grid_range(0, 0, 6, 2), "sortSpecs": specs}})

    assert bench.grid("Data!A:A", majorDimension="COLUMNS") == [column]
    assert bench.grid("Data!B6") == [["3"]]


def test_sort_moves_the_cells_of_its_range_only(build: BenchBuilder) -> None:
    """A header above and a column beside the range stay; ties keep their order."""
    bench = build({"Data": "h,i,j\n2,x,1\n1,y,2\n1,z,3\n"})
    specs = [{"dimensionIndex": 0}, {"dimensionIndex": 1, "sortOrder": "DESCENDING"}]
    bench.edit({"sortRange": {"range": grid_range(1, 0, 4, 2), "sortSpecs": specs}})

    assert bench.grid("Data") == [
        ["h", "i", "j"],
        ["1", "z", "1"],
        ["1", "y", "2"],
        ["2", "x", "3"],
    ]


def test_copy_and_cut_paste_move_cells(build: BenchBuilder) -> None:
    """A copy is repeated over its destination; a cut leaves blanks behind."""
    bench = build({"Data": "a,,,\nb,,,\n,,,\n"})
    bench.edit(
        {"copyPaste": {"source": grid_range(0, 0, 1, 1), "destination": grid_range(0, 1, 1, 3)}},
        {
            "cutPaste": {
                "source": grid_range(1, 0, 2, 1),
                "destination": {"sheetId": 0, "rowIndex": 2, "columnIndex": 3},
            }
        },
    )

    assert bench.grid("Data") == [["a", "a", "a"], [], ["", "", "", "b"]]
