"""batchUpdate: cells written, appended and repeated, and their validation rules."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import cells
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range

RULE = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "y"}]}}


def repeated(cell: Request, fields: str, **bounds: int) -> Request:
    """A repeatCell request; without bounds for the whole worksheet."""
    return {"repeatCell": {"range": {"sheetId": 0, **bounds}, "cell": cell, "fields": fields}}


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


def test_update_cells_clears_only_what_its_mask_names(bench: Bench) -> None:
    """Clearing the notes of a range leaves its values."""
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
def test_update_cells_stays_in_its_place(bench: Bench, place: Request, complaint: str) -> None:
    """Rows past the range or the grid are refused, and so is a request that says no place."""
    rows = [{"values": [{"note": "x"}, {}]}] * 2
    answer = bench.edit({"updateCells": {"rows": rows, "fields": "note", **place}})

    assert answer.status_code == 400
    assert complaint in message(answer)


def test_append_cells_goes_under_the_last_row_with_data(build: BenchBuilder) -> None:
    """Tables do not matter, and the grid grows."""
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
def test_append_cells_goes_under_what_counts_as_data(bench: Bench, cell: Request, row: int) -> None:
    """A checkbox counts as reported of Google; a formula that displays nothing, as assumed."""
    bench.update("Data!A1", [["a"]])
    fields = next(iter(cell))
    bench.edit(repeated(cell, fields, startRowIndex=2, endRowIndex=3, endColumnIndex=1))
    rows = [{"values": [{"userEnteredValue": {"stringValue": "=new"}}]}]
    bench.edit({"appendCells": {"sheetId": 0, "rows": rows, "fields": "userEnteredValue"}})

    assert bench.grid(f"Data!A{row}") == [["=new"]]


def test_repeated_formula_moves_its_references(bench: Bench) -> None:
    """Google's own example: `=A1` into B2:C4 is `=A2` in B3 and `=B1` in C2."""
    cell = {"userEnteredValue": {"formulaValue": "=A1+$A$1"}}
    bounds = {"startRowIndex": 1, "endRowIndex": 3, "startColumnIndex": 1, "endColumnIndex": 3}
    bench.edit(repeated(cell, "userEnteredValue", **bounds))

    assert bench.grid("Data!B2:C3", valueRenderOption="FORMULA") == [
        ["=A1+$A$1", "=B1+$A$1"],
        ["=A2+$A$1", "=B2+$A$1"],
    ]


def test_repeated_format_changes_how_numbers_are_shown(bench: Bench) -> None:
    """A number with a date format is read as a date; the value stays."""
    bench.update("Data!A1", [[43831, 0.5]])
    date = {"userEnteredFormat": {"numberFormat": {"type": "DATE", "pattern": "yyyy-mm-dd"}}}
    bench.edit(repeated(date, "userEnteredFormat.numberFormat", endColumnIndex=1))

    assert bench.grid("Data") == [["2020-01-01", "0.5"]]
    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [[43831, 0.5]]


def test_repeated_format_merges_with_the_one_before(bench: Bench) -> None:
    """Each request changes the fields of its mask; recorded: a colour comes with its style."""
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


def test_repeated_cell_reaches_all_of_an_open_range(bench: Bench) -> None:
    """An open range is the whole grid; nothing is kept of what is cleared again."""
    bench.edit(repeated({"note": "n"}, "note"))
    everywhere = cells(bench, fields="note")
    bench.edit(repeated({}, "note"))

    assert everywhere == [[{"note": "n"}] * 5] * 5
    assert cells(bench, fields="note") == []


def test_entering_a_value_leaves_format_note_and_rule(bench: Bench) -> None:
    """values.update changes the value only."""
    whole = {"userEnteredFormat": {"wrapStrategy": "CLIP"}, "note": "n", "dataValidation": RULE}
    bench.edit(repeated(whole, "*", endRowIndex=1, endColumnIndex=1))
    bench.update("Data!A1", [["forbidden by the rule"]])
    cell = cells(bench)[0][0]

    assert {name: cell[name] for name in whole} == whole
    assert cell["formattedValue"] == "forbidden by the rule"


def test_validation_rule_is_set_and_cleared(bench: Bench) -> None:
    """It is read back without its flags that are false; without a rule it is cleared."""
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
def test_validation_rule_must_make_sense(bench: Bench, condition: Request, complaint: str) -> None:
    """A rule without a type, or with too many or too few values, is refused."""
    rule = {"condition": condition, "strict": True}
    answer = bench.edit({"setDataValidation": {"range": grid_range(0, 0, 1, 1), "rule": rule}})

    assert answer.status_code == 400
    assert complaint in message(answer)
