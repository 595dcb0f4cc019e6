"""Tests of requests that write, append and repeat cells or set validation rules."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import cells
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range

RULE = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "y"}]}}


def repeated(cell: Request, fields: str, **bounds: int) -> Request:
    """Return a `repeatCell` request, for the whole worksheet if no bounds are given."""
    return {"repeatCell": {"range": {"sheetId": 0, **bounds}, "cell": cell, "fields": fields}}


def test_update_cells_writes_typed_values_from_a_start(bench: Bench) -> None:
    """Numbers, texts, booleans and formulas keep their type. A cell without a value is emptied."""
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


def test_update_cells_empties_the_rest_of_its_range(bench: Bench) -> None:
    """Cells of the range that the request's rows do not cover are emptied."""
    bench.update("Data!A1", [["a", "b"], ["c", "d"], ["e", "f"]])
    rows = [{"values": [{"userEnteredValue": {"stringValue": "x"}}]}]
    bench.edit(
        {"updateCells": {"rows": rows, "fields": "*", "range": grid_range(0, 0, 2, 2)}},
    )

    assert bench.grid("Data") == [["x"], [], ["e", "f"]]


def test_update_cells_clears_only_the_fields_of_its_mask(bench: Bench) -> None:
    """A request with the mask `note` and no rows clears the notes of a range, not the values."""
    bench.update("Data!A1", [["a", "b"]])
    note = {"rows": [{"values": [{"note": "1"}, {"note": "2"}]}], "fields": "note"}
    bench.edit({"updateCells": {**note, "start": {"sheetId": 0}}})
    bench.edit({"updateCells": {"fields": "note", "range": grid_range(0, 0, 1, 1)}})

    assert cells(bench, fields="note,formattedValue") == [
        [{"formattedValue": "a"}, {"formattedValue": "b", "note": "2"}]
    ]


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ({"range": grid_range(0, 0, 1, 5)}, "Attempting to write row: 1, beyond the last"),
        ({"range": grid_range(0, 0, 2, 1)}, "Attempting to write column: 1, beyond the last"),
        ({"start": {"sheetId": 0, "rowIndex": 4}}, "Attempting to write row: 5"),
        ({"start": {"sheetId": 0, "columnIndex": 4}}, "Attempting to write column: 5"),
        ({"start": {"sheetId": 0, "rowIndex": 5}}, "is after last row in grid[4]"),
        ({}, "Exactly one of 'start' and 'range'"),
        ({"start": {}, "range": {}}, "Exactly one of 'start' and 'range'"),
    ],
)
def test_update_cells_past_its_range_or_the_grid_is_refused(
    bench: Bench, place: Request, complaint: str
) -> None:
    """Cells past the range or grid get 400. A request needs exactly one start or range."""
    rows = [{"values": [{"note": "x"}, {}]}] * 2
    answer = bench.edit({"updateCells": {"rows": rows, "fields": "note", **place}})

    assert answer.status_code == 400
    assert complaint in message(answer)


def test_append_cells_goes_under_the_last_row_with_data(build: BenchBuilder) -> None:
    """`appendCells` writes below the last row with data in any column, and the grid grows."""
    bench = build({"Data": "a,\n,b\n"})
    rows = [{"values": [{"userEnteredValue": {"numberValue": 1}}]}]
    bench.edit({"appendCells": {"sheetId": 0, "rows": rows, "fields": "userEnteredValue"}})

    assert bench.grid("Data") == [["a"], ["", "b"], ["1"]]
    assert bench.size() == (3, 2)


@pytest.mark.parametrize(
    ("cell", "row"),
    [
        pytest.param({"userEnteredValue": {"formulaValue": '=""'}}, 4, id="formula of nothing"),
        pytest.param({"userEnteredValue": {"boolValue": False}}, 4, id="unticked value"),
        pytest.param({"dataValidation": {"condition": {"type": "BOOLEAN"}}}, 4, id="checkbox"),
        pytest.param({"dataValidation": RULE}, 2, id="dropdown without a value"),
        pytest.param({"userEnteredFormat": {"textFormat": {"bold": True}}}, 2, id="format"),
        pytest.param({"note": "why"}, 2, id="note"),
    ],
)
def test_append_cells_counts_checkboxes_and_formulas_as_data(
    bench: Bench, cell: Request, row: int
) -> None:
    """Checkboxes, booleans and formulas count as data. Formats, notes and dropdowns do not.

    Users reported the checkbox. The formula that displays nothing is an assumption.
    """
    bench.update("Data!A1", [["a"]])
    fields = next(iter(cell))
    bench.edit(repeated(cell, fields, startRowIndex=2, endRowIndex=3, endColumnIndex=1))
    rows = [{"values": [{"userEnteredValue": {"stringValue": "=new"}}]}]
    bench.edit({"appendCells": {"sheetId": 0, "rows": rows, "fields": "userEnteredValue"}})

    assert bench.grid(f"Data!A{row}") == [["=new"]]


def test_a_repeated_formula_shifts_its_relative_references(bench: Bench) -> None:
    """As in Google's example, `=A1` repeated over B2:C3 becomes `=A2` in B3 and `=B1` in C2."""
    cell = {"userEnteredValue": {"formulaValue": "=A1+$A$1"}}
    bounds = {"startRowIndex": 1, "endRowIndex": 3, "startColumnIndex": 1, "endColumnIndex": 3}
    bench.edit(repeated(cell, "userEnteredValue", **bounds))

    assert bench.grid("Data!B2:C3", valueRenderOption="FORMULA") == [
        ["=A1+$A$1", "=B1+$A$1"],
        ["=A2+$A$1", "=B2+$A$1"],
    ]


def test_repeated_format_changes_how_numbers_are_shown(bench: Bench) -> None:
    """A date format displays a number as a date. The value stays the same number."""
    bench.update("Data!A1", [[43831, 0.5]])
    date = {"userEnteredFormat": {"numberFormat": {"type": "DATE", "pattern": "yyyy-mm-dd"}}}
    bench.edit(repeated(date, "userEnteredFormat.numberFormat", endColumnIndex=1))

    assert bench.grid("Data") == [["2020-01-01", "0.5"]]
    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [[43831, 0.5]]


def test_repeated_format_merges_with_the_earlier_format(bench: Bench) -> None:
    """Only fields of the mask change, and a colour also sets its style (recorded from Google)."""
    color = {"green": 1, "blue": 0.5}
    kept = {"green": 1, "blue": 0.49803922}
    bench.edit(
        repeated(
            {"userEnteredFormat": {"backgroundColor": color, "textFormat": {"bold": True}}},
            "userEnteredFormat(backgroundColor,textFormat)",
            endRowIndex=1,
            endColumnIndex=1,
        ),
        repeated(
            {"userEnteredFormat": {"textFormat": {"fontSize": 9}}},
            "userEnteredFormat.textFormat.fontSize",
            endRowIndex=1,
            endColumnIndex=1,
        ),
    )

    assert cells(bench, fields="userEnteredFormat")[0][0]["userEnteredFormat"] == {
        "backgroundColor": kept,
        "backgroundColorStyle": {"rgbColor": kept},
        "textFormat": {"bold": True, "fontSize": 9},
    }


def test_repeated_cell_without_bounds_covers_the_grid(bench: Bench) -> None:
    """A note repeated without bounds is on all 25 cells, and a second request clears all notes."""
    bench.edit(repeated({"note": "n"}, "note"))
    everywhere = cells(bench, fields="note")
    bench.edit(repeated({}, "note"))

    assert everywhere == [[{"note": "n"}] * 5] * 5
    assert cells(bench, fields="note") == []


def test_entering_a_value_leaves_format_note_and_rule(bench: Bench) -> None:
    """`values.update` changes only the value of a cell, even if the validation rule forbids it."""
    whole = {"userEnteredFormat": {"wrapStrategy": "CLIP"}, "note": "n", "dataValidation": RULE}
    bench.edit(repeated(whole, "*", endRowIndex=1, endColumnIndex=1))
    bench.update("Data!A1", [["forbidden by the rule"]])
    cell = cells(bench)[0][0]

    assert {name: cell[name] for name in whole} == whole
    assert cell["formattedValue"] == "forbidden by the rule"


def test_validation_rule_is_set_and_cleared(bench: Bench) -> None:
    """A request without a rule clears the cell's rule. False flags of a rule are not returned."""
    area = grid_range(0, 0, 1, 2)
    rule = {**RULE, "strict": True, "showCustomUi": False, "inputMessage": "pick"}
    bench.edit({"setDataValidation": {"range": area, "rule": rule}})
    bench.edit({"setDataValidation": {"range": grid_range(0, 1, 1, 2)}})

    assert cells(bench) == [[{"dataValidation": {**RULE, "strict": True, "inputMessage": "pick"}}]]


@pytest.mark.parametrize(
    ("condition", "complaint"),
    [
        ({}, "must have a condition with a type"),
        ({"type": "ODD"}, "ConditionType"),
        ({"type": "ONE_OF_LIST"}, "ONE_OF_LIST cannot have 0 values"),
        ({"type": "NUMBER_BETWEEN", "values": [{"userEnteredValue": "1"}]}, "cannot have 1"),
        ({"type": "DATE_BEFORE", "values": [{"relativeDate": "TODAY"}]}, "Relative dates"),
    ],
)
def test_an_invalid_validation_rule_is_refused(
    bench: Bench, condition: Request, complaint: str
) -> None:
    """A rule gets 400 if its type is missing or unknown, or if its values do not fit the type."""
    rule = {"condition": condition, "strict": True}
    answer = bench.edit({"setDataValidation": {"range": grid_range(0, 0, 1, 1), "rule": rule}})

    assert answer.status_code == 400
    assert complaint in message(answer)
