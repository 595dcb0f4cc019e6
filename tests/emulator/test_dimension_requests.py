"""batchUpdate: rows and columns."""

import pytest

from tests.emulator.conftest import BenchBuilder
from tests.emulator.requests_of import Request, dimension


@pytest.mark.parametrize(
    ("requests", "grid", "size"),
    [
        pytest.param(
            [{"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 2}}],
            [["a", "b"], ["c", "d"]],
            (4, 2),
            id="append rows",
        ),
        pytest.param(
            [{"appendDimension": {"sheetId": 0, "dimension": "COLUMNS", "length": 1}}],
            [["a", "b"], ["c", "d"]],
            (2, 3),
            id="append columns",
        ),
        pytest.param(
            [dimension("insertDimension", "ROWS", 1, 3)],
            [["a", "b"], [], [], ["c", "d"]],
            (4, 2),
            id="insert rows",
        ),
        pytest.param(
            [dimension("insertDimension", "COLUMNS", 0, 1)],
            [["", "a", "b"], ["", "c", "d"]],
            (2, 3),
            id="insert columns",
        ),
        pytest.param(
            [dimension("deleteDimension", "ROWS", 0, 1)], [["c", "d"]], (1, 2), id="delete rows"
        ),
        pytest.param(
            [dimension("deleteDimension", "COLUMNS", 0, 1)],
            [["b"], ["d"]],
            (2, 1),
            id="delete columns",
        ),
        pytest.param(
            [
                dimension("insertDimension", "ROWS", 0, 1),
                dimension("deleteDimension", "ROWS", 1, 2),
            ],
            [[], ["c", "d"]],
            (2, 2),
            id="one after the other",
        ),
    ],
)
def test_rows_and_columns_come_and_go(
    build: BenchBuilder, requests: list[Request], grid: list[list[str]], size: tuple[int, int]
) -> None:
    """Cells move with their rows and columns, and the grid changes its size."""
    bench = build({"Data": "a,b\nc,d\n"})
    answer = bench.edit(*requests)

    assert answer.json() == {"spreadsheetId": "book", "replies": [{}] * len(requests)}
    assert bench.grid("Data") == grid
    assert bench.size() == size


@pytest.mark.parametrize(
    ("name", "start", "destination", "column"),
    [
        ("ROWS", 0, 3, ["b", "c", "a", "d"]),
        ("ROWS", 2, 0, ["c", "a", "b", "d"]),
        ("ROWS", 1, 4, ["a", "c", "d", "b"]),
        ("ROWS", 1, 2, ["a", "b", "c", "d"]),
        ("COLUMNS", 0, 2, []),
    ],
)
def test_moved_rows_and_columns_go_before_the_destination(
    build: BenchBuilder, name: str, start: int, destination: int, column: list[str]
) -> None:
    """The destination counts as before the move; nothing else changes its order."""
    bench = build({"Data": "a,1\nb,2\nc,3\nd,4\n"})
    source = {"sheetId": 0, "dimension": name, "startIndex": start, "endIndex": start + 1}
    bench.edit({"moveDimension": {"source": source, "destinationIndex": destination}})

    assert bench.grid("Data!A:A", majorDimension="COLUMNS") == [column or ["1", "2", "3", "4"]]
