"""values.append: where rows are written, which cells are counted, and how the grid grows."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.conftest import BenchBuilder

GUIDE = "a,b,c,\nd,e,f,\n,,,\n,x,y,z\n,x,y,z\n,x,y,z\n,,,\n,,,\n"  # the example of Google's guide


@pytest.mark.parametrize(
    ("anchor", "table", "written"),
    [
        pytest.param("Sheet1", "Sheet1!B4:D6", "Sheet1!B7", id="whole sheet: the last table"),
        pytest.param("Sheet1!B4", "Sheet1!B4:D6", "Sheet1!B7", id="cell of the last table"),
        pytest.param("Sheet1!B2:D4", "Sheet1!B4:D6", "Sheet1!B7", id="range over both tables"),
        pytest.param("Sheet1!A3:G10", "Sheet1!B4:D6", "Sheet1!B7", id="range past the table"),
        pytest.param("Sheet1!A1", "Sheet1!A1:C2", "Sheet1!A3", id="cell of the first table"),
        pytest.param("Sheet1!A1:C2", "Sheet1!A1:C2", "Sheet1!A3", id="the first table"),
        pytest.param("Sheet1!A4", None, "Sheet1!A4", id="blank cell beside a table"),
        pytest.param("Sheet1!A7:B8", None, "Sheet1!A7", id="blank range under a table"),
    ],
)
def test_row_goes_under_the_last_table_of_the_range(
    build: BenchBuilder, anchor: str, table: str | None, written: str
) -> None:
    """Examples of Google's guide. Without a table, the row goes to the start of the range."""
    bench = build({"Sheet1": GUIDE})
    answer = bench.append(anchor, [["new"]]).json()

    assert answer.get("tableRange") == table
    assert answer["updates"]["updatedRange"] == written
    assert bench.grid(written) == [["new"]]


def test_row_goes_under_the_last_of_two_tables(build: BenchBuilder) -> None:
    """Recorded from Google: with row 1 = [x, "", z], an append to the sheet is written at C2:E2."""
    bench = build({"Sheet1": "x,,z\n"})
    answer = bench.append("'Sheet1'", [["x", "", "z"]]).json()

    assert answer == {
        "spreadsheetId": "book",
        "tableRange": "Sheet1!C1",
        "updates": {
            "spreadsheetId": "book",
            "updatedRange": "Sheet1!C2:E2",
            "updatedRows": 1,
            "updatedColumns": 3,
            "updatedCells": 3,
        },
    }
    assert bench.size() == (2, 5)


def test_append_to_the_first_column_stays_in_the_first_column(build: BenchBuilder) -> None:
    """Recorded from Google: with row 1 = [x, "", z], an append to A1 is written at A2:C2."""
    bench = build({"Sheet1": "x,,z\n"})
    answer = bench.append("'Sheet1'!A1", [["x", "", "z"]]).json()

    assert answer["tableRange"] == "Sheet1!A1"
    assert answer["updates"]["updatedRange"] == "Sheet1!A2:C2"


def test_empty_sheet_is_written_from_its_first_cell(bench: Bench) -> None:
    """Recorded from Google: the answer has no `tableRange`, and the row is written at A1."""
    answer = bench.append("Data", [["a", "b"]]).json()

    assert "tableRange" not in answer
    assert answer["updates"]["updatedRange"] == "Data!A1:B1"


def test_sparse_row_under_a_header_belongs_to_its_table(build: BenchBuilder) -> None:
    """A row with a blank first cell is part of the table, so that no append overwrites it."""
    bench = build({"Sheet1": "a,b,c\n1,,\n,,3\n"})
    answer = bench.append("Sheet1!A1", [["new"]]).json()

    assert answer["tableRange"] == "Sheet1!A1:C3"
    assert bench.grid("Sheet1") == [["a", "b", "c"], ["1"], ["", "", "3"], ["new"]]


@pytest.mark.parametrize("anchor", ["Sheet1!A1", "Sheet1!B2"])
def test_cells_that_touch_at_a_corner_are_one_table(build: BenchBuilder, anchor: str) -> None:
    """Cells that are diagonal neighbours belong to the same table."""
    bench = build({"Sheet1": "a,,c\n,b,\n"})
    answer = bench.append(anchor, [["new"]]).json()

    assert answer["tableRange"] == "Sheet1!A1:C2"
    assert answer["updates"]["updatedRange"] == "Sheet1!A3"


def test_columns_are_appended_column_wise(bench: Bench) -> None:
    """Recorded from Google: with `majorDimension` COLUMNS each inner list becomes a column."""
    body = {"majorDimension": "COLUMNS", "values": [["a", "b"], ["c", "d"]]}
    path = f"{values_path('Data!B1')}:append?valueInputOption=RAW"
    answer = bench.call("POST", path, body).json()

    assert answer["updates"]["updatedRange"] == "Data!B1:C2"
    assert bench.grid("Data") == [["", "a", "c"], ["", "b", "d"]]


def test_overwrite_replaces_cells_below_the_table(build: BenchBuilder) -> None:
    """OVERWRITE, the default, replaces cells below the table and inserts no row."""
    bench = build({"Sheet1": "a,b\n1,2\n,\n,\nnote,\n"})
    bench.append("Sheet1!A1", [["3", "4"], ["5", "6"], ["7", "8"]])

    assert bench.grid("Sheet1") == [["a", "b"], ["1", "2"], ["3", "4"], ["5", "6"], ["7", "8"]]
    assert bench.size() == (5, 2)


def test_insert_rows_moves_rows_below_the_table_down(build: BenchBuilder) -> None:
    """INSERT_ROWS inserts as many rows as are written, and moves the rows below down."""
    bench = build({"Sheet1": "a,b\n1,2\n,\nnote,\n"})
    answer = bench.append("Sheet1!A1", [["3"], ["4"]], insertDataOption="INSERT_ROWS").json()

    assert answer["updates"]["updatedRange"] == "Sheet1!A3:A4"
    assert bench.grid("Sheet1") == [["a", "b"], ["1", "2"], ["3"], ["4"], [], ["note"]]
    assert bench.size() == (6, 2)


def test_insert_rows_at_a_blank_cell_moves_rows_down(build: BenchBuilder) -> None:
    """If the range touches no table, INSERT_ROWS inserts rows at the first cell of the range."""
    bench = build({"Sheet1": "a,,\n,,\n,,z\n"})
    bench.append("Sheet1!B2", [["new"]], insertDataOption="INSERT_ROWS")

    assert bench.grid("Sheet1") == [["a"], ["", "new"], [], ["", "", "z"]]
    assert bench.size() == (4, 3)


def test_inserted_rows_get_the_formats_of_the_row_above(build: BenchBuilder) -> None:
    """INSERT_ROWS copies the formats of the row above. OVERWRITE keeps the formats of the row."""
    bench = build({"Sheet1": "when\n2026-01-05\n,\n"})
    bench.append("Sheet1!A1", [[46028]], insertDataOption="INSERT_ROWS")
    inserted = bench.grid("Sheet1!A3")
    bench.append("Sheet1!A1", [[46029]], insertDataOption="OVERWRITE")

    assert inserted == [["2026-01-06"]]
    assert bench.grid("Sheet1!A4") == [["46029"]]


@pytest.mark.parametrize("option", ["OVERWRITE", "INSERT_ROWS"])
def test_grid_grows_by_exactly_what_is_needed(build: BenchBuilder, option: str) -> None:
    """An append adds only the rows and columns that the values need."""
    bench = build({"Sheet1": "a,b\n1,2\n"})
    bench.append("Sheet1!A1", [[1, 2, 3], [4]], insertDataOption=option)

    assert bench.size() == (4, 3)


def test_nulls_are_in_the_updated_range_but_not_counted(bench: Bench) -> None:
    """`updatedRange` includes leading nulls, but `updatedColumns` and `updatedCells` do not."""
    answer = bench.append("Data", [[None, None, "c"]]).json()

    assert answer["updates"] == {
        "spreadsheetId": "book",
        "updatedRange": "Data!A1:C1",
        "updatedRows": 1,
        "updatedColumns": 1,
        "updatedCells": 1,
    }


def test_append_answers_the_written_values_if_requested(bench: Bench) -> None:
    """With includeValuesInResponse the answer has the row as displayed in the sheet."""
    answer = bench.append(
        "Data", [["007", "$5"]], valueInputOption="USER_ENTERED", includeValuesInResponse="true"
    ).json()

    assert answer["updates"]["updatedData"] == {
        "range": "Data!A1:B1",
        "majorDimension": "ROWS",
        "values": [["7", "$5"]],
    }


@pytest.mark.parametrize(
    ("anchor", "values", "complaint"),
    [
        pytest.param(
            "Data!A6",
            [["x"]],
            "Range (Data!A6) exceeds grid limits. Max rows: 5, max columns: 5",
            id="anchor past the grid",
        ),
        pytest.param("Nope", [["x"]], "Unable to parse range: Nope", id="no such worksheet"),
        pytest.param(
            "Data",
            [["x" * 50_001]],
            "Your input contains more than the maximum of 50000 characters in a single cell.",
            id="text too long",
        ),
        pytest.param(
            "Data", [["x", []]], "Invalid values[0][1]: list_value {\n}\n", id="value in a value"
        ),
    ],
)
def test_rejected_append_changes_nothing(
    bench: Bench, anchor: str, values: list[list[Any]], complaint: str
) -> None:
    """An append that gets 400 changes neither the cells nor the size of the grid."""
    answer = bench.append(anchor, values, insertDataOption="INSERT_ROWS")

    assert answer.status_code == 400
    assert message(answer) == complaint
    assert bench.grid("Data") == []
    assert bench.size() == (5, 5)


def test_workbook_does_not_grow_past_ten_million_cells(build: BenchBuilder) -> None:
    """An append that would exceed 10,000,000 cells in the spreadsheet gets 400."""
    bench = build({"Sheet1": "a\n"})
    properties = {"sheetId": 0, "gridProperties": {"rowCount": 10_000_000}}
    bench.edit(
        {"updateSheetProperties": {"properties": properties, "fields": "gridProperties.rowCount"}}
    )
    answer = bench.append("Sheet1!A1", [["x", "y"]])

    assert answer.status_code == 400
    assert message(answer) == (
        "This action would increase the number of cells in the workbook above the limit of "
        "10000000 cells."
    )
