"""Tests of native tables: `addTable`, `updateTable`, `deleteTable` and `appendCells` by ID."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

STATES = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "open"}]}}
FOOTER = {"footerColorStyle": {"themeColor": "ACCENT1"}}


def add(**members: object) -> Request:
    """Return an `addTable` request, by default for A1:B3 with the ID `t`."""
    usual = {"tableId": "t", "name": "Tasks", "range": grid_range(0, 0, 3, 2)}
    return {"addTable": {"table": {**usual, **members}}}


def update(fields: str, table_id: str = "t", **members: object) -> Request:
    """Return an `updateTable` request."""
    return {"updateTable": {"table": {"tableId": table_id, **members}, "fields": fields}}


def append(*rows: list[str], table_id: str = "t") -> Request:
    """Return an `appendCells` request that appends rows of texts to a table."""
    lines = [
        {"values": [{"userEnteredValue": {"stringValue": text}} for text in row]} for row in rows
    ]
    return {"appendCells": {"tableId": table_id, "rows": lines, "fields": "userEnteredValue"}}


def tables(bench: Bench, fields: str = "*") -> list[dict[str, Any]]:
    """Return the tables of the first worksheet, limited to these fields."""
    [sheet, *_] = bench.described(fields=f"sheets.tables({fields})")["sheets"]
    found: list[dict[str, Any]] = sheet.get("tables", [])
    return found


def bounds(bench: Bench) -> tuple[int, ...]:
    """Return the range of the only table as top, left, bottom and right index."""
    [table] = tables(bench)
    names = ("startRowIndex", "startColumnIndex", "endRowIndex", "endColumnIndex")
    return tuple(table["range"][name] for name in names)


def test_a_new_table_is_returned_with_its_worksheet(bench: Bench) -> None:
    """Given column names are written to the header row, and missing names are generated."""
    bench.update("Data!A1", [["", "old"]])
    columns = [
        {"columnIndex": 1, "columnName": "state", "columnType": "DROPDOWN"},
        {"columnIndex": 0, "columnType": "DOUBLE"},
    ]
    columns[0]["dataValidationRule"] = STATES
    [reply] = bench.edit(add(columnProperties=columns)).json()["replies"]
    expected = {
        "tableId": "t",
        "name": "Tasks",
        "range": {
            "startRowIndex": 0,
            "endRowIndex": 3,
            "startColumnIndex": 0,
            "endColumnIndex": 2,
        },
        "columnProperties": [
            {"columnName": "Column 1", "columnType": "DOUBLE"},
            {
                "columnIndex": 1,
                "columnName": "state",
                "columnType": "DROPDOWN",
                "dataValidationRule": STATES,
            },
        ],
    }

    assert reply == {"addTable": {"table": expected}}
    assert tables(bench) == [expected]
    assert bench.grid("Data") == [["Column 1", "state"]]


def test_missing_table_ids_and_names_are_generated(bench: Bench) -> None:
    """Two tables get different IDs and the names `Table1` and `Table2`."""
    other = grid_range(0, 3, 3, 5)
    bench.edit(add(tableId="", name=""), add(tableId="", name="", range=other))
    found = tables(bench, "tableId,name")

    assert [each["name"] for each in found] == ["Table1", "Table2"]
    assert len({each["tableId"] for each in found}) == 2


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(add(tableId="u", name="x"), id="overlap"),
        pytest.param(add(range=grid_range(0, 3, 3, 5), name="x"), id="used ID"),
        pytest.param(add(range=grid_range(0, 3, 3, 5), tableId="u", name="TASKS"), id="used name"),
        pytest.param(add(range=None, tableId="u", name="x"), id="no range"),
        pytest.param(add(range=grid_range(3, 3, 4, 5), tableId="u", name="x"), id="no body"),
        pytest.param(
            add(range=grid_range(3, 0, 5, 2), tableId="u", name="x", rowsProperties=FOOTER),
            id="no body above a footer",
        ),
        pytest.param(update("name", name=""), id="empty name"),
        pytest.param(update("name", "u", name="x"), id="unknown table"),
        pytest.param(update("", name="x"), id="no mask"),
        pytest.param(
            update("columnProperties", columnProperties=[{"columnIndex": 2}]), id="no such column"
        ),
        pytest.param(
            update("columnProperties", columnProperties=[{}, {"columnIndex": 0}]), id="column twice"
        ),
        pytest.param(
            update("columnProperties", columnProperties=[{"columnType": "DROPDOWN"}]),
            id="dropdown without values",
        ),
        pytest.param(
            update("columnProperties", columnProperties=[{"dataValidationRule": STATES}]),
            id="values without dropdown",
        ),
        pytest.param(update("range", range={"sheetId": 9}), id="range on another worksheet"),
        pytest.param(append(["1", "2", "3"]), id="append of too many columns"),
        pytest.param(append(["1"], table_id="u"), id="append to an unknown table"),
        pytest.param({"deleteTable": {"tableId": "u"}}, id="deletion of an unknown table"),
    ],
)
def test_invalid_table_requests_are_refused(bench: Bench, request_: Request) -> None:
    """The error names the index of the failed request, and the existing table does not change."""
    bench.edit(add())
    before = tables(bench)
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid requests[0].")
    assert tables(bench) == before


def test_an_update_of_a_table_sets_the_fields_of_its_mask(bench: Bench) -> None:
    """The mask selects the name, the columns and the range."""
    bench.edit(add())
    column = {"columnIndex": 1, "columnName": "done", "columnType": "BOOLEAN"}
    bench.edit(
        update("name,columnProperties", name="Jobs", columnProperties=[column]),
        update("range", range=grid_range(0, 0, 5, 3)),
    )
    [table] = tables(bench)

    assert table["name"] == "Jobs"
    assert table["columnProperties"] == [
        {"columnName": "Column 1"},
        column,
        {"columnIndex": 2, "columnName": "Column 3"},
    ]
    assert bounds(bench) == (0, 0, 5, 3)


def test_a_footer_adds_a_row_to_the_table(bench: Bench) -> None:
    """Removing the footer makes the table one row shorter again (Google's documentation)."""
    bench.edit(add())
    bench.edit(update("rowsProperties", rowsProperties=FOOTER))
    with_footer = bounds(bench)
    bench.edit(update("rowsProperties.footerColorStyle"))

    assert with_footer == (0, 0, 4, 2)
    assert bounds(bench) == (0, 0, 3, 2)


def test_a_table_is_deleted_with_its_cells(bench: Bench) -> None:
    """Cells outside the table stay."""
    bench.update("Data!A1", [["a", "b", "c"], ["1", "2", "3"]])
    bench.edit(add(), {"deleteTable": {"tableId": "t"}})

    assert tables(bench) == []
    assert bench.grid("Data") == [["", "", "c"], ["", "", "3"]]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (dimension("insertDimension", "ROWS", 1, 2), (0, 0, 4, 2)),
        (dimension("insertDimension", "ROWS", 3, 4), (0, 0, 3, 2)),
        (dimension("deleteDimension", "ROWS", 2, 3), (0, 0, 2, 2)),
        (dimension("insertDimension", "COLUMNS", 0, 1), (0, 1, 3, 3)),
    ],
)
def test_a_table_follows_its_rows_and_columns(
    bench: Bench, request_: Request, expected: tuple[int, ...]
) -> None:
    """Rows inserted inside the table extend it. Rows inserted below the table do not."""
    bench.edit(add(columnProperties=[{"columnIndex": 1, "columnType": "DATE"}]), request_)
    [table] = tables(bench)

    assert bounds(bench) == expected
    assert table["columnProperties"][1]["columnType"] == "DATE"


def test_appended_cells_fill_blank_rows_of_the_table_first(bench: Bench) -> None:
    """Cells go to the first free row of the table, from the first column of the table on."""
    bench.update("Data!A1", [["", "h", "i"], ["", "1"], [""], ["below"]])
    bench.edit(add(range=grid_range(0, 1, 3, 3)), append(["2", "3"]))

    assert bench.grid("Data") == [["", "h", "i"], ["", "1"], ["", "2", "3"], ["below"]]
    assert bounds(bench) == (0, 1, 3, 3)


def test_a_full_table_grows_by_inserted_rows(bench: Bench) -> None:
    """Rows below the table move down, and the new rows belong to the table."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["2"], ["below"]])
    bench.edit(add(), append(["3"], ["4"]))

    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["3"], ["4"], ["below"]]
    assert bounds(bench) == (0, 0, 5, 2)
    assert bench.size() == (7, 5)


def test_appends_of_one_batch_write_to_the_same_rows(bench: Bench) -> None:
    """Each append starts at the row that was free before the batch (reported by users)."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["2"], ["below"]])
    bench.edit(add(), append(["3"], ["4"]), append(["5"]))

    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["5"], ["4"], ["below"]]
    assert bounds(bench) == (0, 0, 5, 2)


def test_tables_are_returned_only_for_ranges_that_overlap_them(bench: Bench) -> None:
    """`spreadsheets.get` without ranges returns all tables (reported by users)."""
    bench.edit(add(), add(tableId="u", name="x", range=grid_range(0, 3, 3, 5)))
    found = [
        bench.described(ranges=area, fields="sheets(tables.tableId,data.startRow)")["sheets"][0]
        for area in ("Data!B1:C1", "Data!4:4")
    ]

    assert [each.get("tables", []) for each in found] == [[{"tableId": "t"}], []]
    assert len(tables(bench)) == 2


def test_rows_are_appended_above_the_footer(bench: Bench) -> None:
    """The footer stays the last row of the table."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["sum"]])
    bench.edit(add(rowsProperties=FOOTER), append(["2"], ["3"]))

    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["3"], ["sum"]]
    assert bounds(bench) == (0, 0, 5, 2)


def test_new_rows_of_a_full_table_copy_the_last_row(bench: Bench) -> None:
    """New rows get the formats and validation rules of the last row, but not its values."""
    typed: list[list[object]] = [["when", "done"], ["2026-01-05", True], ["total"]]
    bench.update("Data!A1", typed, "USER_ENTERED")
    rule = {"condition": {"type": "BOOLEAN"}}
    bench.edit({"setDataValidation": {"range": grid_range(1, 1, 2, 2), "rule": rule}})
    bench.edit(add(rowsProperties=FOOTER))
    row = {"values": [{"userEnteredValue": {"numberValue": 46028}}]}
    bench.edit({"appendCells": {"tableId": "t", "rows": [row], "fields": "userEnteredValue"}})

    assert bench.grid("Data!A2:B3") == [["2026-01-05", "TRUE"], ["2026-01-06", "FALSE"]]
    assert bench.grid("Data!A4:B4") == [["total"]]


def test_a_protected_footer_does_not_stop_rows_above_it(bench: Bench) -> None:
    """Rows can be appended above a protected footer, but not to a protected table body."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["sum"]])
    bench.edit(add(rowsProperties=FOOTER))
    bench.owner_edits(protected(grid_range(2, 0, 3, 2)))
    allowed = bench.edit(append(["2"]))
    bench.owner_edits(protected(grid_range(1, 0, 4, 2)))
    refused = bench.edit(append(["3"]))

    assert (allowed.status_code, refused.status_code) == (200, 400)
    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["sum"]]


def test_a_protected_column_stops_rows_of_a_full_table(bench: Bench) -> None:
    """A protected column beside the table allows filling blank rows but not inserting rows."""
    bench.update("Data!A1", [["h", "i"], ["1"], [""]])
    bench.edit(add())
    bench.owner_edits(protected({"sheetId": 0, "startColumnIndex": 4, "endColumnIndex": 5}))
    filling = bench.edit(append(["2"]))
    growing = bench.edit(append(["3"]))

    assert (filling.status_code, growing.status_code) == (200, 400)


def protected(range_: Request) -> Request:
    return {"addProtectedRange": {"protectedRange": {"range": range_}}}


def test_rows_below_a_table_do_not_join_it(bench: Bench) -> None:
    """`values.append` and `appendCells` without a table ID do not extend the table."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["2"]])
    bench.edit(add())
    bench.append("Data", [["3"]])
    request_ = append(["4"])
    request_["appendCells"]["tableId"] = None
    bench.edit(request_)

    assert bench.grid("Data")[3:] == [["3"], ["4"]]
    assert bounds(bench) == (0, 0, 3, 2)


def test_a_copied_worksheet_has_new_table_ids_and_names(bench: Bench) -> None:
    """Tables of the copy have other IDs and names than tables of the source."""
    bench.edit(add(), {"duplicateSheet": {"sourceSheetId": 0, "insertSheetIndex": 1}})
    found = bench.described(fields="sheets.tables(tableId,name)")["sheets"]
    [[first], [copy]] = [sheet["tables"] for sheet in found]

    assert (first["tableId"], first["name"]) == ("t", "Tasks")
    assert copy["tableId"] != "t"
    assert copy["name"] == "Table1"
