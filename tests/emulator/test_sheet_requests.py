"""batchUpdate: worksheets and their properties."""

import pytest

from tests.emulator.bench import Bench
from tests.emulator.conftest import BenchBuilder
from tests.emulator.requests_of import properties_of


def titles(bench: Bench) -> list[str]:
    return [sheet["title"] for sheet in bench.sheets()]


def test_add_sheet_answers_the_full_properties(bench: Bench) -> None:
    """Recorded: the reply has id, title, index, type and grid."""
    wanted = {"title": "New", "gridProperties": {"rowCount": 2, "columnCount": 3}}
    reply = bench.edit({"addSheet": {"properties": wanted}}).json()["replies"][0]["addSheet"]
    sheet_id = reply["properties"].pop("sheetId")

    assert reply["properties"] == {
        "title": "New",
        "index": 1,
        "sheetType": "GRID",
        "gridProperties": {"rowCount": 2, "columnCount": 3},
    }
    assert sheet_id == bench.sheets()[1]["sheetId"] != 0


def test_added_sheet_has_the_usual_size_and_a_free_title(bench: Bench) -> None:
    """Without properties a worksheet is 1000 x 26 and called after its number."""
    bench.edit({"addSheet": {}}, {"addSheet": {"properties": {"index": 0}}})

    assert titles(bench) == ["Sheet3", "Data", "Sheet2"]
    assert bench.size(2) == (1000, 26)


def test_duplicate_sheet_has_the_same_cells(bench: Bench) -> None:
    """The copy is a worksheet of its own."""
    bench.update("Data!A1", [["x"]])
    bench.edit({"duplicateSheet": {"sourceSheetId": 0, "newSheetName": "Copy"}})
    bench.update("Data!A1", [["y"]])

    assert titles(bench) == ["Copy", "Data"]
    assert bench.grid("Copy") == [["x"]]


@pytest.mark.parametrize(
    ("index", "order"), [(0, "cabd"), (1, "acbd"), (2, "abcd"), (3, "abcd"), (4, "abdc")]
)
def test_index_counts_as_before_the_move(build: BenchBuilder, index: int, order: str) -> None:
    """A worksheet moves before the one that has the index now; its own place is no move."""
    bench = build({"a": "", "b": "", "c": "", "d": ""})
    bench.edit(properties_of("index", sheetId=2, index=index))

    assert "".join(titles(bench)) == order


def test_properties_are_set_as_the_mask_says(bench: Bench) -> None:
    """What the mask does not name stays, even if it is sent."""
    grid = {"rowCount": 7, "columnCount": 2, "frozenRowCount": 1}
    bench.edit(
        {"addSheet": {}},
        properties_of(
            "title,hidden,gridProperties(rowCount,frozenRowCount)",
            sheetId=0,
            title="T",
            hidden=True,
            gridProperties=grid,
        ),
    )

    assert bench.sheets()[0] == {
        "sheetId": 0,
        "title": "T",
        "index": 0,
        "sheetType": "GRID",
        "gridProperties": {"rowCount": 7, "columnCount": 5, "frozenRowCount": 1},
        "hidden": True,
    }


def test_cells_outside_a_smaller_grid_are_lost(bench: Bench) -> None:
    """A grid that is made smaller and larger again is blank there."""
    bench.update("Data!A1", [["a", "b"], ["c", "d"]])
    for size in (1, 5):
        grid = {"rowCount": size, "columnCount": size}
        bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=grid))

    assert bench.grid("Data") == [["a"]]
