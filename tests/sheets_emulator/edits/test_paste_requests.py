"""Tests of requests that copy and cut cells."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import cells, merges
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range

RULE = {"condition": {"type": "BOOLEAN"}}
SOLID = {"style": "SOLID"}


def copied(source: Request, destination: Request, **options: str) -> Request:
    return {"copyPaste": {"source": source, "destination": destination, **options}}


def cut(source: Request, row: int, column: int, **options: str) -> Request:
    place = {"sheetId": 0, "rowIndex": row, "columnIndex": column}
    return {"cutPaste": {"source": source, "destination": place, **options}}


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        (grid_range(0, 2, 1, 3), [["a", "b", "a", "b"]]),
        (grid_range(0, 2, 2, 3), [["a", "b", "a", "b"], ["", "", "a", "b"]]),
        (grid_range(0, 2, 1, 5), [["a", "b", "a", "b"]]),
        (grid_range(1, 0, 2, 4), [["a", "b"], ["a", "b", "a", "b"]]),
    ],
    ids=["smaller", "two rows", "no multiple", "two columns"],
)
def test_copy_fills_its_destination(
    build: BenchBuilder, destination: Request, expected: list[list[str]]
) -> None:
    """A destination that is not a multiple of the source's size gets the source once."""
    bench = build({"Data": "a,b,,,\n,,,,\n"})
    bench.edit(copied(grid_range(0, 0, 1, 2), destination))

    assert bench.grid("Data") == expected


def test_a_copied_formula_shifts_its_relative_references(build: BenchBuilder) -> None:
    """Relative references shift with the copy, and references with a `$` stay."""
    bench = build({"Data": "1,=A1+$A$1,\n2,,\n"})
    bench.edit(copied(grid_range(0, 1, 1, 2), grid_range(1, 1, 2, 2)))

    assert bench.grid("Data!B2", valueRenderOption="FORMULA") == [["=A2+$A$1"]]
    assert bench.grid("Data!B2") == [["3"]]


def test_transposed_copy_turns_rows_into_columns(build: BenchBuilder) -> None:
    """Two rows of three cells become three rows of two cells."""
    bench = build({"Data": "a,b,c,,\nd,e,f,,\n,,,,\n"})
    bench.edit(copied(grid_range(0, 0, 2, 3), grid_range(0, 3, 1, 4), pasteOrientation="TRANSPOSE"))

    assert bench.grid("Data!D1:E3") == [["a", "d"], ["b", "e"], ["c", "f"]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("PASTE_NORMAL", {"formula": "=1+1", "align": "LEFT", "top": True, "rule": True}),
        ("PASTE_VALUES", {"value": 2, "align": "RIGHT", "bottom": True}),
        ("PASTE_FORMAT", {"value": 7, "align": "LEFT", "top": True}),
        ("PASTE_NO_BORDERS", {"formula": "=1+1", "align": "LEFT", "bottom": True, "rule": True}),
        ("PASTE_FORMULA", {"formula": "=1+1", "align": "RIGHT", "bottom": True}),
        ("PASTE_DATA_VALIDATION", {"value": 7, "align": "RIGHT", "bottom": True, "rule": True}),
        ("PASTE_CONDITIONAL_FORMATTING", {"value": 7, "align": "RIGHT", "bottom": True}),
    ],
)
def test_paste_type_selects_what_is_pasted(bench: Bench, kind: str, expected: Request) -> None:
    """`pasteType` selects values, formulas, formats, borders or rules. The rest of a cell stays."""
    source = {
        "userEnteredValue": {"formulaValue": "=1+1"},
        "userEnteredFormat": {"horizontalAlignment": "LEFT", "borders": {"top": SOLID}},
        "dataValidation": RULE,
    }
    target = {
        "userEnteredValue": {"numberValue": 7},
        "userEnteredFormat": {"horizontalAlignment": "RIGHT", "borders": {"bottom": SOLID}},
    }
    rows = [{"values": [source, target]}]
    bench.edit({"updateCells": {"rows": rows, "fields": "*", "start": {"sheetId": 0}}})
    bench.edit(copied(grid_range(0, 0, 1, 1), grid_range(0, 1, 1, 2), pasteType=kind))
    cell = cells(bench, "Data!B1")[0][0]
    entered, look = cell["userEnteredValue"], cell["userEnteredFormat"]
    found = {
        "formula": entered.get("formulaValue"),
        "value": entered.get("numberValue"),
        "align": look["horizontalAlignment"],
        "top": "top" in look["borders"],
        "bottom": "bottom" in look["borders"],
        "rule": "dataValidation" in cell,
    }

    assert {name: each for name, each in found.items() if each} == expected


def test_paste_formula_also_pastes_constants(build: BenchBuilder) -> None:
    """`PASTE_FORMULA` repeats texts, numbers, formulas and blanks over a larger range."""
    bench = build({"Data": "x,5,=B1*2,\na,b,c,d\na,b,c,d\n"})
    bench.edit(copied(grid_range(0, 0, 1, 4), grid_range(1, 0, 3, 4), pasteType="PASTE_FORMULA"))

    assert bench.grid("Data", valueRenderOption="FORMULA") == [
        ["x", 5, "=B1*2"],
        ["x", 5, "=B2*2"],
        ["x", 5, "=B3*2"],
    ]
    assert bench.grid("Data!C3") == [["10"]]


def test_merges_are_copied_with_their_cells(bench: Bench) -> None:
    """`PASTE_NORMAL` copies merges, and `PASTE_VALUES` does not."""
    bench.edit({"mergeCells": {"range": grid_range(0, 0, 1, 2), "mergeType": "MERGE_ALL"}})
    bench.edit(
        copied(grid_range(0, 0, 1, 2), grid_range(1, 0, 3, 2)),
        copied(grid_range(0, 0, 1, 2), grid_range(4, 0, 5, 2), pasteType="PASTE_VALUES"),
    )

    assert merges(bench) == [(0, 0, 1, 2), (1, 0, 2, 2), (2, 0, 3, 2)]


def test_cut_moves_values_notes_and_merges(bench: Bench) -> None:
    """The source is emptied, and a moved formula keeps its text."""
    rows = [{"values": [{"note": "n", "userEnteredValue": {"formulaValue": "=C3"}}]}]
    bench.edit({"updateCells": {"rows": rows, "fields": "*", "start": {"sheetId": 0}}})
    bench.edit({"mergeCells": {"range": grid_range(0, 0, 2, 1), "mergeType": "MERGE_ALL"}})
    bench.edit(cut(grid_range(0, 0, 2, 1), 1, 1))

    assert cells(bench, fields="note,userEnteredValue") == [
        [],
        [{}, {"note": "n", "userEnteredValue": {"formulaValue": "=C3"}}],
    ]
    assert merges(bench) == [(1, 1, 3, 2)]


def test_cut_of_values_empties_its_source(build: BenchBuilder) -> None:
    """`cutPaste` with `PASTE_VALUES` also removes the source's format (Google's documentation)."""
    bench = build({"Data": "50%,\n"})
    bench.edit(cut(grid_range(0, 0, 1, 1), 0, 1, pasteType="PASTE_VALUES"))

    assert bench.grid("Data") == [["", "0.5"]]
    assert cells(bench, "Data!A1") == []


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (copied(grid_range(0, 0, 2, 2), grid_range(4, 4, 5, 5)), "not within the grid"),
        (cut(grid_range(0, 0, 2, 2), 4, 0), "not within the grid"),
        (copied({}, {}, pasteType="PASTE_ALL"), "PasteType"),
        (copied({}, {}, pasteOrientation="SIDEWAYS"), "PasteOrientation"),
    ],
)
def test_an_invalid_paste_is_refused(bench: Bench, request_: Request, complaint: str) -> None:
    """A paste past the grid, or with an unknown paste type or orientation, gets 400."""
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert complaint in message(answer)
