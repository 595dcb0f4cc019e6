"""CellData: the fields of a cell that a mask writes, and the fields that answers have."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import cells, grid_data
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range

BOLD = {"textFormat": {"bold": True}}
RULE = {"condition": {"type": "DATE_IS_VALID"}}
CHECKBOX = {"condition": {"type": "BOOLEAN"}}
SWITCH = {"condition": {"type": "BOOLEAN", "values": [{"userEnteredValue": "on"}]}}


def written(cell: Request, fields: str, at: int = 0) -> Request:
    """An updateCells request for one cell in row 1 and column `at`, counted from 0."""
    start = {"sheetId": 0, "columnIndex": at}
    return {"updateCells": {"rows": [{"values": [cell]}], "fields": fields, "start": start}}


def test_cell_has_its_entered_and_displayed_values(build: BenchBuilder) -> None:
    """A typed number has the format of the text. A formula has the format of the operand."""
    bench = build({"Data": "x,50%\n=B1,\n"})
    text, half = {"stringValue": "x"}, {"numberValue": 0.5}
    percent = {"numberFormat": {"type": "PERCENT", "pattern": "0%"}}

    assert cells(bench) == [
        [
            {"userEnteredValue": text, "effectiveValue": text, "formattedValue": "x"},
            {
                "userEnteredValue": half,
                "effectiveValue": half,
                "formattedValue": "50%",
                "userEnteredFormat": percent,
                "effectiveFormat": percent,
            },
        ],
        [
            {
                "userEnteredValue": {"formulaValue": "=B1"},
                "effectiveValue": half,
                "formattedValue": "50%",
                "effectiveFormat": percent,
            },
        ],
    ]


def test_formula_that_fails_has_an_error_value(build: BenchBuilder) -> None:
    """The cell has Google's type of the error, and the text that a sheet displays for the error."""
    bench = build({"Data": "=1/0\n"})
    cell = cells(bench)[0][0]

    assert cell["effectiveValue"]["errorValue"]["type"] == "DIVIDE_BY_ZERO"
    assert cell["formattedValue"] == "#DIV/0!"


def test_trailing_blank_cells_and_rows_are_left_out(bench: Bench) -> None:
    """Recorded from Google: `rowData` ends with the last row and cell that have content."""
    bench.edit(written({"note": "n"}, "note", at=1), written({"note": ""}, "note", at=3))

    assert grid_data(bench) == {"rowData": [{"values": [{}, {"note": "n"}]}]}
    assert grid_data(bench, "Data!B1:B3")["rowData"] == [{"values": [{"note": "n"}]}]
    assert grid_data(bench, "Data!B1:B3")["startColumn"] == 1
    assert grid_data(bench, "Data!A2:C3") == {"startRow": 1}


def test_cells_with_only_a_format_are_in_the_answer(bench: Bench) -> None:
    """A cell with a format and no value is in `rowData`. A blank row before the cell is `{}`."""
    bench.edit(
        {
            "repeatCell": {
                "range": grid_range(1, 0, 2, 1),
                "cell": {"userEnteredFormat": BOLD},
                "fields": "userEnteredFormat",
            }
        }
    )

    assert grid_data(bench)["rowData"] == [
        {},
        {"values": [{"userEnteredFormat": BOLD, "effectiveFormat": BOLD}]},
    ]
    assert bench.grid("Data") == []


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ("userEnteredValue", {"note": "old", "userEnteredFormat": BOLD, "dataValidation": RULE}),
        ("note", {"value": "x", "userEnteredFormat": BOLD, "dataValidation": RULE}),
        ("userEnteredFormat", {"value": "x", "note": "old", "dataValidation": RULE}),
        (
            "userEnteredFormat/textFormat.bold",
            {"value": "x", "note": "old", "dataValidation": RULE},
        ),
        ("dataValidation", {"value": "x", "note": "old", "userEnteredFormat": BOLD}),
        ("note,dataValidation", {"value": "x", "userEnteredFormat": BOLD}),
        ("*", {}),
    ],
)
def test_mask_clears_fields_that_the_sent_cell_lacks(
    bench: Bench, fields: str, kept: Request
) -> None:
    """A field that the mask names and the sent cell lacks is cleared. Other fields are kept."""
    full = {
        "userEnteredValue": {"stringValue": "x"},
        "note": "old",
        "userEnteredFormat": BOLD,
        "dataValidation": RULE,
    }
    bench.edit(written(full, "*"))
    bench.edit(written({}, fields))
    names = "note,userEnteredFormat,dataValidation,formattedValue"
    found = cells(bench, fields=names)
    cell = found[0][0] if found else {}
    if "formattedValue" in cell:
        cell["value"] = cell.pop("formattedValue")

    assert cell == kept


def test_checkbox_that_was_never_ticked_is_false(bench: Bench) -> None:
    """Assumed from reports: a new or cleared checkbox has the value FALSE and is not blank."""
    bench.edit(written({"dataValidation": CHECKBOX}, "dataValidation"))
    bench.update("Data!B1", [["=A1"]], "USER_ENTERED")

    assert cells(bench, "Data!A1") == [
        [
            {
                "effectiveValue": {"boolValue": False},
                "formattedValue": "FALSE",
                "dataValidation": CHECKBOX,
            }
        ]
    ]
    assert bench.grid("Data") == [["FALSE", "FALSE"]]
    assert bench.grid("Data!A1", valueRenderOption="UNFORMATTED_VALUE") == [[False]]

    bench.update("Data!A1", [[True]])
    bench.update("Data!A1", [[""]])

    assert bench.grid("Data!A1") == [["FALSE"]]


def test_checkbox_with_custom_values_is_blank_at_first(bench: Bench) -> None:
    """Google's documentation: a checkbox with custom values is blank while it is not ticked."""
    bench.edit(written({"dataValidation": SWITCH}, "dataValidation"))

    assert bench.grid("Data") == []


def test_fields_outside_the_mask_are_ignored(bench: Bench) -> None:
    """Fields of the sent cell that the mask does not name are ignored, also read-only fields."""
    bench.update("Data!A1", [["x"]])
    cell = {**cells(bench)[0][0], "note": "n", "textFormatRuns": [{"startIndex": 1}]}
    answer = bench.edit(written(cell, "note", at=1))

    assert answer.status_code == 200
    assert cells(bench, "Data!B1") == [[{"note": "n"}]]


@pytest.mark.parametrize(
    ("cell", "fields", "status", "complaint"),
    [
        ({"note": 5}, "note", 400, "(TYPE_STRING), 5"),
        ({"nonsense": 5}, "note", 400, 'Unknown name "nonsense"'),
        ({}, "nonsense", 400, "Invalid field: nonsense"),
        ({}, "userEnteredFormat.shade", 400, "Invalid field: user_entered_format.shade"),
        ({}, "", 400, "At least one field must be listed in 'fields'."),
        ({"userEnteredFormat": {"wrapStrategy": "X"}}, "*", 400, "WrapStrategy"),
        ({"userEnteredValue": {"numberValue": "x"}}, "*", 400, "TYPE_DOUBLE"),
        ({"userEnteredValue": {"numberValue": "NaN"}}, "*", 400, '(TYPE_DOUBLE), "NaN"'),
        (
            {"userEnteredFormat": {"backgroundColor": {"red": "NaN"}}},
            "*",
            400,
            '(TYPE_FLOAT), "NaN"',
        ),
        ({"userEnteredValue": {"formulaValue": "1+1"}}, "*", 400, "must begin with '='"),
        ({"userEnteredValue": {"stringValue": "x" * 50_001}}, "*", 400, "50000 characters"),
        (
            {"userEnteredValue": {"stringValue": "x", "boolValue": True}},
            "*",
            400,
            "oneof field 'value' is already set",
        ),
        ({"userEnteredValue": {"errorValue": {}}}, "*", 501, "'errorValue'"),
        ({"pivotTable": {}}, "*", 501, "'pivotTable'"),
        ({}, "textFormatRuns", 501, "'textFormatRuns'"),
        ({}, "chipRuns", 501, "'chipRuns'"),
        ({}, "hyperlink", 501, "'hyperlink'"),
        ({}, "dataSourceTable", 501, "'dataSourceTable'"),
    ],
)
def test_invalid_and_unsupported_cells_are_not_written(
    bench: Bench, cell: Request, fields: str, status: int, complaint: str
) -> None:
    """A field that Google does not have gets 400. A field that the emulator lacks gets 501."""
    answer = bench.edit(written(cell, fields))

    assert answer.status_code == status
    assert complaint in message(answer)
    assert grid_data(bench) == {}
