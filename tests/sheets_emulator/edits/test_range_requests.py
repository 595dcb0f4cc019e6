"""Tests of `insertRange` and `deleteRange`, which shift the cells below or to the right."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import cells, merges
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range

LETTERS = "a,b,c\nd,e,f\ng,h,i\n"


def shift(kind: str, dimension: str, *bounds: int) -> Request:
    return {kind: {"range": grid_range(*bounds), "shiftDimension": dimension}}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            shift("insertRange", "ROWS", 1, 1, 2, 2),
            [["a", "b", "c"], ["d", "", "f"], ["g", "e", "i"], ["", "h"]],
        ),
        (
            shift("insertRange", "COLUMNS", 1, 1, 2, 2),
            [["a", "b", "c"], ["d", "", "e", "f"], ["g", "h", "i"]],
        ),
        (
            shift("deleteRange", "ROWS", 0, 0, 1, 2),
            [["d", "e", "c"], ["g", "h", "f"], ["", "", "i"]],
        ),
        (
            shift("deleteRange", "COLUMNS", 0, 0, 2, 1),
            [["b", "c"], ["e", "f"], ["g", "h", "i"]],
        ),
    ],
    ids=["down", "right", "up", "left"],
)
def test_inserted_and_deleted_ranges_shift_other_cells(
    build: BenchBuilder, request_: Request, expected: list[list[str]]
) -> None:
    """Only cells of the same columns or rows shift. The grid grows if used cells would leave it."""
    bench = build({"Data": LETTERS})
    bench.edit(request_)

    assert bench.grid("Data") == expected
    assert bench.size() == (max(len(expected), 3), max(max(map(len, expected)), 3))


def test_grid_does_not_grow_for_blank_cells(bench: Bench) -> None:
    """Blank cells that shift past the grid's end are dropped."""
    bench.update("Data!A1", [["x"]])
    bench.edit(shift("insertRange", "ROWS", 0, 0, 4, 1))

    assert bench.size() == (5, 5)
    assert bench.grid("Data!A5") == [["x"]]


def test_merges_move_with_their_cells(bench: Bench) -> None:
    """A merge shifts as a whole and is deleted with its cells. Shifting a part is an error."""
    area = {"range": grid_range(1, 0, 2, 2), "mergeType": "MERGE_ALL"}
    bench.edit({"mergeCells": area})
    cut = bench.edit(shift("insertRange", "ROWS", 0, 1, 1, 2))
    bench.edit(shift("insertRange", "ROWS", 0, 0, 1, 2))
    moved = merges(bench)
    bench.edit(shift("deleteRange", "ROWS", 2, 0, 3, 2))

    assert "You must select all cells in a merged range" in message(cut)
    assert moved == [(2, 0, 3, 2)]
    assert merges(bench) == []


@pytest.mark.parametrize(
    ("request_", "formulas"),
    [
        (shift("insertRange", "ROWS", 1, 0, 2, 1), ["=A1", "=A3", "=SUM(A1:A4)", "=SUM(A1:B3)"]),
        (shift("insertRange", "ROWS", 0, 1, 1, 2), ["=A1", "=A2", "=SUM(A1:A3)", "=SUM(A1:B3)"]),
        (shift("insertRange", "COLUMNS", 1, 0, 2, 1), ["=A1", "=B2", "=SUM(A1:A3)", "=SUM(A1:B3)"]),
        (
            shift("deleteRange", "ROWS", 1, 0, 2, 1),
            ["=A1", "=#REF!", "=SUM(A1:A2)", "=SUM(A1:B3)"],
        ),
    ],
    ids=["down", "down beside", "right", "up"],
)
def test_references_follow_shifted_cells(
    build: BenchBuilder, request_: Request, formulas: list[str]
) -> None:
    """References are adjusted, except ranges partly outside the shifted columns or rows."""
    sums = ["=Data!A1", "=Data!A2", "=SUM(Data!A1:A3)", "=SUM(Data!A1:B3)"]
    bench = build({"Data": "1,x\n2,y\n3,z\n", "Sums": "".join(f"{each}\n" for each in sums)})
    bench.edit(request_)
    [found] = bench.grid("Sums", valueRenderOption="FORMULA", majorDimension="COLUMNS")

    assert [each.replace("Data!", "") for each in found] == formulas


def test_formulas_and_rules_move_with_their_cells(build: BenchBuilder) -> None:
    """A shifted formula refers to the same cells as before, even if these cells shift, too."""
    bench = build({"Data": "1,=A1\n2,=A2+B1\n"})
    rule = {"condition": {"type": "BOOLEAN"}}
    bench.edit({"setDataValidation": {"range": grid_range(1, 1, 2, 2), "rule": rule}})
    bench.edit(shift("insertRange", "ROWS", 0, 1, 1, 2))
    rules = cells(bench, "Data!B3", "dataValidation")

    assert bench.grid("Data!B1:B3", valueRenderOption="FORMULA") == [[], ["=A1"], ["=A2+B2"]]
    assert rules == [[{"dataValidation": rule}]]


@pytest.mark.parametrize("kind", ["insertRange", "deleteRange"])
def test_shift_dimension_is_required(bench: Bench, kind: str) -> None:
    """`insertRange` and `deleteRange` have no default for `shiftDimension`."""
    assert "No dimension specified" in message(bench.edit({kind: {"range": {}}}))
