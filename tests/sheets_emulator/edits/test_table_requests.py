"""Native tables: addTable, updateTable, deleteTable, and appendCells with a table's ID."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

STATES = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "open"}]}}
FOOTER = {"footerColorStyle": {"themeColor": "ACCENT1"}}


def add(**members: object) -> Request:
    """An addTable request, of rows 1 to 3 and columns A and B unless told otherwise."""
    usual = {"tableId": "t", "name": "Tasks", "range": grid_range(0, 0, 3, 2)}
    return {"addTable": {"table": {**usual, **members}}}


def update(fields: str, table_id: str = "t", **members: object) -> Request:
    """An updateTable request."""
    return {"updateTable": {"table": {"tableId": table_id, **members}, "fields": fields}}


def append(*rows: list[str], table_id: str = "t") -> Request:
    """An appendCells request of texts."""
    lines = [
        {"values": [{"userEnteredValue": {"stringValue": text}} for text in row]} for row in rows
    ]
    return {"appendCells": {"tableId": table_id, "rows": lines, "fields": "userEnteredValue"}}


def tables(bench: Bench, fields: str = "*") -> list[dict[str, Any]]:
    """The tables of the first worksheet."""
    [sheet, *_] = bench.described(fields=f"sheets.tables({fields})")["sheets"]
    found: list[dict[str, Any]] = sheet.get("tables", [])
    return found


def bounds(bench: Bench) -> tuple[int, ...]:
    """The range of the only table: top, left, bottom, right."""
    [table] = tables(bench)
    names = ("startRowIndex", "startColumnIndex", "endRowIndex", "endColumnIndex")
    return tuple(table["range"][name] for name in names)


def test_a_new_table_is_returned_and_part_of_its_worksheet(bench: Bench) -> None:
    """Given names are written to the header, missing ones are made up."""
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


def test_id_and_name_are_made_up_where_missing(bench: Bench) -> None:
    """Two tables get different ones."""
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
def test_a_table_that_cannot_be_is_refused(bench: Bench, request_: Request) -> None:
    """The refusal names its request, and the table is as before."""
    bench.edit(add())
    before = tables(bench)
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid requests[0].")
    assert tables(bench) == before


def test_an_update_changes_the_members_in_its_mask(bench: Bench) -> None:
    """Name, columns and range, each by its own field."""
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


def test_a_footer_takes_a_row_more(bench: Bench) -> None:
    """Without one the table is a row shorter again (Google's documentation)."""
    bench.edit(add())
    bench.edit(update("rowsProperties", rowsProperties=FOOTER))
    with_footer = bounds(bench)
    bench.edit(update("rowsProperties.footerColorStyle"))

    assert with_footer == (0, 0, 4, 2)
    assert bounds(bench) == (0, 0, 3, 2)


def test_a_table_is_deleted_with_its_cells(bench: Bench) -> None:
    """Cells beside it stay."""
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
    """Rows inserted in it belong to it, those below it do not."""
    bench.edit(add(columnProperties=[{"columnIndex": 1, "columnType": "DATE"}]), request_)
    [table] = tables(bench)

    assert bounds(bench) == expected
    assert table["columnProperties"][1]["columnType"] == "DATE"


def test_appended_cells_fill_the_body_first(bench: Bench) -> None:
    """They begin in the table's first column, whatever lies below the table."""
    bench.update("Data!A1", [["", "h", "i"], ["", "1"], [""], ["below"]])
    bench.edit(add(range=grid_range(0, 1, 3, 3)), append(["2", "3"]))

    assert bench.grid("Data") == [["", "h", "i"], ["", "1"], ["", "2", "3"], ["below"]]
    assert bounds(bench) == (0, 1, 3, 3)


def test_a_full_table_grows_by_inserted_rows(bench: Bench) -> None:
    """Rows below move down, and the new rows belong to the table."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["2"], ["below"]])
    bench.edit(add(), append(["3"], ["4"]))

    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["3"], ["4"], ["below"]]
    assert bounds(bench) == (0, 0, 5, 2)
    assert bench.size() == (7, 5)


def test_appends_of_one_batch_write_to_the_same_rows(bench: Bench) -> None:
    """The first free row is that of before the batch (reported by users)."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["2"], ["below"]])
    bench.edit(add(), append(["3"], ["4"]), append(["5"]))

    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["5"], ["4"], ["below"]]
    assert bounds(bench) == (0, 0, 5, 2)


def test_tables_are_described_with_the_cells_that_they_touch(bench: Bench) -> None:
    """Without cells all are described (reported by users)."""
    bench.edit(add(), add(tableId="u", name="x", range=grid_range(0, 3, 3, 5)))
    found = [
        bench.described(ranges=area, fields="sheets(tables.tableId,data.startRow)")["sheets"][0]
        for area in ("Data!B1:C1", "Data!4:4")
    ]

    assert [each.get("tables", []) for each in found] == [[{"tableId": "t"}], []]
    assert len(tables(bench)) == 2


def test_rows_are_appended_above_the_footer(bench: Bench) -> None:
    """The footer stays the last row."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["sum"]])
    bench.edit(add(rowsProperties=FOOTER), append(["2"], ["3"]))

    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["3"], ["sum"]]
    assert bounds(bench) == (0, 0, 5, 2)


def test_rows_of_a_full_table_are_as_its_last_one(bench: Bench) -> None:
    """They have its formats and rules, but not its values."""
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
    """Rows are inserted beside the protection; a protected body stops them."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["sum"]])
    bench.edit(add(rowsProperties=FOOTER))
    bench.owner_edits(protected(grid_range(2, 0, 3, 2)))
    allowed = bench.edit(append(["2"]))
    bench.owner_edits(protected(grid_range(1, 0, 4, 2)))
    refused = bench.edit(append(["3"]))

    assert (allowed.status_code, refused.status_code) == (200, 400)
    assert bench.grid("Data") == [["h", "i"], ["1"], ["2"], ["sum"]]


def test_a_protected_column_stops_rows_of_a_full_table(bench: Bench) -> None:
    """Rows cannot be inserted across a column beside the table."""
    bench.update("Data!A1", [["h", "i"], ["1"], [""]])
    bench.edit(add())
    bench.owner_edits(protected({"sheetId": 0, "startColumnIndex": 4, "endColumnIndex": 5}))
    filling = bench.edit(append(["2"]))
    growing = bench.edit(append(["3"]))

    assert (filling.status_code, growing.status_code) == (200, 400)


def protected(range_: Request) -> Request:
    return {"addProtectedRange": {"protectedRange": {"range": range_}}}


def test_rows_below_a_table_do_not_join_it(bench: Bench) -> None:
    """Neither by values.append nor by appendCells to the worksheet."""
    bench.update("Data!A1", [["h", "i"], ["1"], ["2"]])
    bench.edit(add())
    bench.append("Data", [["3"]])
    request_ = append(["4"])
    request_["appendCells"]["tableId"] = None
    bench.edit(request_)

    assert bench.grid("Data")[3:] == [["3"], ["4"]]
    assert bounds(bench) == (0, 0, 3, 2)


def test_a_copied_worksheet_has_tables_of_its_own(bench: Bench) -> None:
    """With other IDs and names."""
    bench.edit(add(), {"duplicateSheet": {"sourceSheetId": 0, "insertSheetIndex": 1}})
    found = bench.described(fields="sheets.tables(tableId,name)")["sheets"]
    [[first], [copy]] = [sheet["tables"] for sheet in found]

    assert (first["tableId"], first["name"]) == ("t", "Tasks")
    assert copy["tableId"] != "t"
    assert copy["name"] == "Table1"
