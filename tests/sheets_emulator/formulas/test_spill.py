"""Tests of array formulas, whose results fill other cells."""

from collections.abc import Callable

import pytest

from tests.sheets_emulator.bench import Bench
from tests.sheets_emulator.cells_of import cells
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

FILLED = '"=ARRAYFORMULA(IF(A2:A="""","""",A2:A&""!""))"'
SHEET = f"name,text\nAda,{FILLED}\nBob,\n,\n"
BLANKS = SHEET.replace('="""","""",', '="""",,')
"""CSV text with an array formula that returns blank cells in place of empty texts."""


def append(bench: Bench, text: str) -> str:
    """Append a text with `appendCells`, and return its position as `row N`."""
    rows = [{"values": [{"userEnteredValue": {"stringValue": text}}]}]
    bench.edit({"appendCells": {"sheetId": 0, "rows": rows, "fields": "userEnteredValue"}})
    column = [row[0] if row else "" for row in bench.grid("Data!A:A")]
    return f"row {column.index(text) + 1}"


def error(bench: Bench, cell: str) -> str:
    """Return the error message of a cell."""
    found: str = cells(bench, f"Data!{cell}")[0][0]["effectiveValue"]["errorValue"]["message"]
    return found


@pytest.mark.parametrize(
    ("formula", "column"),
    [
        pytest.param("=ARRAYFORMULA(A1:A3*10)", ["10", "20", "30"], id="column"),
        pytest.param("=arrayformula (A1:A3&B1)", ["1x", "2x", "3x"], id="column and cell"),
        pytest.param("=ARRAYFORMULA(A1:A3/(A1:A3-2))", ["-1", "#DIV/0!", "3"], id="errors"),
        pytest.param("=ARRAYFORMULA(A1:A3-SUM(A1:A3))", ["-5", "-4", "-3"], id="a sum of all"),
        pytest.param("=ARRAYFORMULA(A1:A2*SUM(A1:A3))", ["6", "12"], id="as long as its range"),
        pytest.param("=ARRAYFORMULA(IF(A1:A3=2,,A1:A3))", ["1", "", "3"], id="blank within"),
        pytest.param("=ARRAYFORMULA(LEN(A1:A2&A1:A3))", ["2", "2", "#N/A"], id="other sizes"),
        pytest.param("=ARRAYFORMULA(A2)", ["2"], id="single cell"),
    ],
)
def test_array_formula_fills_the_cells_below_it(
    build: BenchBuilder, formula: str, column: list[str]
) -> None:
    """A result uses one row of each range, and is #N/A if a range has no such row."""
    bench = build({"Data": "1,x,\n2,,\n3,,\n,,\n"})
    bench.update("Data!C1", [[formula]], "USER_ENTERED")

    assert bench.grid("Data!C1:C", majorDimension="COLUMNS") == [column]


def test_filled_cells_have_results_but_no_formulas(build: BenchBuilder) -> None:
    """A filled cell has an effective value only, and a read of formulas returns the value."""
    bench = build({"Data": SHEET})
    text = {"stringValue": "Bob!"}

    assert cells(bench, "Data!B3") == [[{"effectiveValue": text, "formattedValue": "Bob!"}]]
    assert bench.grid("Data!B3", valueRenderOption="FORMULA") == [["Bob!"]]
    assert bench.grid("Data") == [["name", "text"], ["Ada", "Ada!"], ["Bob", "Bob!"], ["", ""]]


def test_results_follow_each_write(build: BenchBuilder) -> None:
    """Written values, inserted rows and appended rows change the result."""
    bench = build({"Data": f"name,text,\nAda,{FILLED},=B3\nBob,,\n"})
    bench.update("Data!A3", [["Bea"]])
    bench.edit(dimension("insertDimension", "ROWS", 2, 3))
    bench.append("Data!A1:A4", [["Cid"]])

    assert bench.grid("Data!B:B") == [["text"], ["Ada!"], [""], ["Bea!"], ["Cid!"]]
    assert bench.grid("Data!C2") == [["Bea!"]]


def test_empty_texts_are_data_and_blanks_are_not(build: BenchBuilder) -> None:
    """`appendCells` writes below rows with a text as result, even an empty text."""
    texts = build({"Data": SHEET + ",\n"})
    blanks = build({"Data": BLANKS + ",\n"})

    assert append(texts, "new") == "row 6"
    assert append(blanks, "new") == "row 4"


def test_result_that_would_replace_a_cell_is_an_error(build: BenchBuilder) -> None:
    """The #REF! error names the cell with data, and clearing the cell removes the error."""
    bench = build({"Data": SHEET})
    bench.update("Data!B3", [["mine"]])
    blocked = bench.grid("Data!B2:B4")
    message = error(bench, "B2")
    bench.update("Data!B3", [[""]])

    assert blocked == [["#REF!"], ["mine"]]
    assert message == "Array result was not expanded because it would overwrite data in B3."
    assert bench.grid("Data!B2:B4") == [["Ada!"], ["Bob!"], [""]]


def test_result_that_leaves_the_grid_is_an_error(build: BenchBuilder) -> None:
    """The error has the number of missing rows or columns (columns recorded from Google)."""
    bench = build({"Data": "1,,=ARRAYFORMULA(A1:B1)\n,,=ARRAYFORMULA(A1:A2)\n"})

    assert bench.grid("Data!C:C") == [["#REF!"], ["#REF!"]]
    assert error(bench, "C1") == (
        "Result was not automatically expanded, please insert more columns (1)."
    )
    assert error(bench, "C2") == (
        "Result was not automatically expanded, please insert more rows (1)."
    )


def copy(source: Request, destination: Request, kind: str) -> Request:
    return {"copyPaste": {"source": source, "destination": destination, "pasteType": kind}}


def test_copies_of_filled_cells_are_blank_or_values(build: BenchBuilder) -> None:
    """`PASTE_VALUES` copies the result of a filled cell, and `PASTE_NORMAL` copies a blank."""
    bench = build({"Data": "Ada,=ARRAYFORMULA(A1:A2),,\nBob,,,\n"})
    source = grid_range(1, 1, 2, 2)
    bench.edit(copy(source, grid_range(0, 2, 1, 3), "PASTE_NORMAL"))
    bench.edit(copy(source, grid_range(0, 3, 1, 4), "PASTE_VALUES"))
    replaced = {"find": "Bob", "replacement": "x", "range": grid_range(0, 1, 2, 2)}
    answer = bench.edit({"findReplace": replaced})

    assert bench.grid("Data") == [["Ada", "Ada", "", "Bob"], ["Bob", "Bob"]]
    assert answer.json()["replies"] == [{"findReplace": {}}]


def test_requests_of_a_batch_do_not_see_old_results(build: BenchBuilder) -> None:
    """Within a batch, a copy of a filled cell is blank, and a written cell has its new value."""
    bench = build({"Data": "Ada,=ARRAYFORMULA(A1:A2),,\nBob,,,\n"})
    cell = {"userEnteredValue": {"stringValue": "mine"}}
    start = {"sheetId": 0, "rowIndex": 1, "columnIndex": 1}
    bench.edit(
        copy(grid_range(1, 1, 2, 2), grid_range(0, 2, 1, 3), "PASTE_NORMAL"),
        copy(grid_range(0, 2, 1, 3), grid_range(0, 3, 1, 4), "PASTE_VALUES"),
        {"updateCells": {"start": start, "rows": [{"values": [cell]}], "fields": "*"}},
        copy(grid_range(1, 1, 2, 2), grid_range(1, 3, 2, 4), "PASTE_VALUES"),
    )

    assert bench.grid("Data") == [["Ada", "#REF!"], ["Bob", "mine", "", "mine"]]


INCLUDED = {"valueInputOption": "RAW", "includeValuesInResponse": "true"}


def updated(bench: Bench) -> object:
    body = {"values": [["Cid"]]}
    answer = bench.call("PUT", "/v4/spreadsheets/book/values/Data!A4:B4", body, **INCLUDED)
    return answer.json()["updatedData"]["values"]


def batch_updated(bench: Bench) -> object:
    data = [{"range": "Data!A4:B4", "values": [["Cid"]]}]
    body = {"valueInputOption": "RAW", "includeValuesInResponse": True, "data": data}
    answer = bench.call("POST", "/v4/spreadsheets/book/values:batchUpdate", body)
    return answer.json()["responses"][0]["updatedData"]["values"]


def appended(bench: Bench) -> object:
    answer = bench.append("Data!A1:A3", [["Cid", None]], **INCLUDED)
    return answer.json()["updates"]["updatedData"]["values"]


def edited(bench: Bench) -> object:
    cell = {"userEnteredValue": {"stringValue": "Cid"}}
    start = {"sheetId": 0, "rowIndex": 3, "columnIndex": 0}
    request = {"start": start, "rows": [{"values": [cell]}], "fields": "userEnteredValue"}
    body = {
        "requests": [{"updateCells": request}],
        "includeSpreadsheetInResponse": True,
        "responseRanges": ["Data!A4:B4"],
        "responseIncludeGridData": True,
    }
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body).json()
    [data] = answer["updatedSpreadsheet"]["sheets"][0]["data"]
    return [[cell["formattedValue"] for cell in row["values"]] for row in data["rowData"]]


@pytest.mark.parametrize("write", [updated, batch_updated, appended, edited])
def test_answers_of_writes_have_the_new_results(
    build: BenchBuilder, write: Callable[[Bench], object]
) -> None:
    """The response of a write has the array result for the row that the write filled."""
    bench = build({"Data": BLANKS})

    assert write(bench) == [["Cid", "Cid!"]]


def test_rows_without_a_change_are_shared(build: BenchBuilder) -> None:
    """Two versions of a worksheet share the row objects that a write did not change."""
    bench = build({"Data": SHEET})
    before = bench.emulator.service.store.workbooks["book"].sheets[0].rows
    bench.update("Data!A3", [["Bea"]])
    after = bench.emulator.service.store.workbooks["book"].sheets[0].rows

    assert [old is new for old, new in zip(before, after, strict=True)] == [
        *(True, True, False, True)
    ]
