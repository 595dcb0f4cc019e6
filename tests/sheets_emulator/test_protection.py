"""Protected ranges: writes that a service account is not allowed to make."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

TEXT = (
    "You are trying to edit a protected cell or object. Please contact the spreadsheet owner to "
    "remove protection if you need to edit."
)
CELL = grid_range(1, 1, 2, 2)  # B2


def protect(bench: Bench, range_: Request, **members: object) -> Any:
    """Let the owner protect a range. Return the ProtectedRange as the account reads it."""
    request = {"addProtectedRange": {"protectedRange": {"range": range_, **members}}}
    assert bench.owner_edits(request).status_code == 200
    return bench.described(fields="sheets.protectedRanges")["sheets"][0]["protectedRanges"][-1]


def test_writes_to_protected_cells_get_400(bench: Bench) -> None:
    """Update, clear and append of a protected cell get 400. Other cells can be written."""
    protect(bench, CELL)
    refused = [
        bench.update("Data!B2", [["x"]]),
        bench.update("Data!A1", [["x", "x"], ["x", "x"]]),
        bench.call("POST", f"{values_path('Data')}:clear"),
        bench.append("Data!B2", [["x"]]),
    ]
    allowed = bench.update("Data!A1", [["x"]])

    assert [(each.status_code, message(each)) for each in refused] == [(400, TEXT)] * 4
    assert allowed.status_code == 200
    assert bench.grid("Data") == [["x"]]


def test_protection_error_of_a_batch_has_the_index(bench: Bench) -> None:
    """The error of a batch starts with the index of the range or request."""
    protect(bench, CELL)
    data = [{"range": "Data!A1", "values": [[1]]}, {"range": "Data!B2", "values": [[1]]}]
    body = {"valueInputOption": "RAW", "data": data}
    values = bench.call("POST", "/v4/spreadsheets/book/values:batchUpdate", body)
    clear = bench.call("POST", "/v4/spreadsheets/book/values:batchClear", {"ranges": ["Data"]})
    edit = bench.edit(dimension("deleteDimension", "ROWS", 1, 2))

    assert message(values) == f"Invalid data[1]: {TEXT}"
    assert message(clear) == f"Invalid range[0]: {TEXT}"
    assert message(edit) == f"Invalid requests[0].deleteDimension: {TEXT}"
    assert bench.grid("Data") == []


def test_protection_moves_with_its_cells(bench: Bench) -> None:
    """Inserted and deleted rows and columns shift a protected range."""
    protect(bench, CELL)
    bench.edit(
        dimension("insertDimension", "ROWS", 0, 2), dimension("deleteDimension", "COLUMNS", 0, 1)
    )
    statuses = [bench.update(text, [["x"]]).status_code for text in ("Data!A4", "Data!B2")]

    assert statuses == [400, 200]


@pytest.mark.parametrize(
    ("name", "source", "destination", "text"),
    [
        pytest.param("ROWS", (1, 2), 5, "Data!B5", id="row moved down"),
        pytest.param("ROWS", (1, 3), 0, "Data!B1", id="rows moved up"),
        pytest.param("ROWS", (0, 1), 3, "Data!B1", id="row moved past it, down"),
        pytest.param("ROWS", (3, 5), 0, "Data!B4", id="rows moved past it, up"),
        pytest.param("ROWS", (3, 4), 5, "Data!B2", id="rows below"),
        pytest.param("COLUMNS", (1, 2), 4, "Data!D2", id="column moved right"),
        pytest.param("COLUMNS", (4, 5), 1, "Data!C2", id="column moved past it, left"),
    ],
)
def test_protection_moves_with_moved_rows_and_columns(
    bench: Bench, name: str, source: tuple[int, int], destination: int, text: str
) -> None:
    """Moving a row or column moves the protection of its cells, also of blank cells."""
    protect(bench, CELL)
    range_ = {"sheetId": 0, "dimension": name, "startIndex": source[0], "endIndex": source[1]}
    bench.owner_edits({"moveDimension": {"source": range_, "destinationIndex": destination}})
    cells = [f"Data!{column}{row}" for row in range(1, 6) for column in "ABCDE"]

    assert [cell for cell in cells if bench.update(cell, [["x"]]).status_code == 400] == [text]


def test_protection_is_not_split_if_some_of_its_cells_are_moved(bench: Bench) -> None:
    """A protected range of two rows does not change if only one of the rows is moved."""
    protect(bench, grid_range(1, 0, 3, 5))
    source = {"sheetId": 0, "dimension": "ROWS", "startIndex": 2, "endIndex": 3}
    bench.owner_edits({"moveDimension": {"source": source, "destinationIndex": 5}})
    statuses = [bench.update(f"Data!A{row}", [["x"]]).status_code for row in range(1, 6)]

    assert statuses == [200, 400, 400, 200, 200]


@pytest.mark.parametrize(
    ("range_", "text", "status"),
    [
        pytest.param({"sheetId": 0}, "Data!E5", 400, id="whole worksheet"),
        pytest.param({"startColumnIndex": 1, "endColumnIndex": 2}, "Data!B5", 400, id="column"),
        pytest.param({"startColumnIndex": 1, "endColumnIndex": 2}, "Data!C5", 200, id="beside"),
        pytest.param({"endRowIndex": 1}, "Data!E1", 400, id="row"),
        pytest.param({"endRowIndex": 1}, "Data!E2", 200, id="below"),
    ],
)
def test_open_ranges_protect_whole_rows_and_columns(
    bench: Bench, range_: Request, text: str, status: int
) -> None:
    """A range without a start or end index extends to the end of the grid."""
    protect(bench, range_)

    assert bench.update(text, [["x"]]).status_code == status


@pytest.mark.parametrize(
    ("range_", "name", "refused"),
    [
        pytest.param({"sheetId": 0}, "ROWS", [0, 1, 4], id="worksheet"),
        pytest.param({"sheetId": 0, "endRowIndex": 3}, "ROWS", [1, 2], id="header"),
        pytest.param({"sheetId": 0, "endRowIndex": 3}, "COLUMNS", [0, 2, 4], id="beside rows"),
        pytest.param({"sheetId": 0, "endColumnIndex": 1}, "ROWS", [0, 1, 4], id="column"),
    ],
)
def test_rows_can_be_inserted_beside_protected_cells(
    bench: Bench, range_: Request, name: str, refused: list[int]
) -> None:
    """Rows can be inserted below a protected header, but not in the header or across a column."""
    protect(bench, range_)
    found = [
        bench.edit(dimension("insertDimension", name, at, at + 1)).status_code for at in refused
    ]
    below = bench.edit(dimension("insertDimension", "ROWS", 3, 4))

    assert found == [400] * len(refused)
    assert (below.status_code == 200) == ("endRowIndex" in range_)


def test_inserted_rows_cannot_split_a_protected_range(bench: Bench) -> None:
    """INSERT_ROWS moves a protected row down, and gets 400 within a protected range."""
    bench.update("Data!A1", [["h"]])
    protect(bench, grid_range(2, 0, 4, 5))
    before = bench.append("Data!A1", [["x"]], insertDataOption="INSERT_ROWS")
    inside = bench.append("Data!C5", [["x"]], insertDataOption="INSERT_ROWS")
    pushed = bench.update("Data!A5", [["x"]])

    assert before.status_code == 200
    assert inside.status_code == 400
    assert pushed.status_code == 400


def test_editors_and_warnings_do_not_stop_the_account(bench: Bench) -> None:
    """An editor can write protected cells. A range with `warningOnly` does not stop writes."""
    email = bench.account["client_email"]
    protect(bench, CELL, editors={"users": [email]})
    warning = protect(bench, grid_range(0, 0, 1, 1), warningOnly=True)

    assert warning["requestingUserCanEdit"] is True
    assert bench.update("Data!A1", [["x", "x"], ["x", "x"]]).status_code == 200


def test_unprotected_ranges_of_a_protected_worksheet_can_be_written(bench: Bench) -> None:
    """A write within `unprotectedRanges` is allowed, also across two adjacent ranges."""
    openings = [grid_range(0, 0, 2, 2), grid_range(0, 2, 2, 4)]
    protect(bench, {"sheetId": 0}, unprotectedRanges=openings)
    cells = ("Data!A1", "Data!D2", "Data!E1", "Data!A3")
    statuses = [bench.update(text, [["x"]]).status_code for text in cells]
    across = bench.update("Data!A1", [["x"] * 4] * 2)
    beyond = bench.update("Data!A1", [["x"] * 5])

    assert statuses == [200, 200, 400, 400]
    assert (across.status_code, beyond.status_code) == (200, 400)


def test_unprotected_range_moves_with_its_cells(bench: Bench) -> None:
    """Rows inserted above an unprotected range move the range down."""
    protect(bench, {"sheetId": 0}, unprotectedRanges=[CELL])
    bench.owner_edits(dimension("insertDimension", "ROWS", 0, 2))
    statuses = [bench.update(text, [["x"]]).status_code for text in ("Data!B2", "Data!B4")]

    assert statuses == [400, 200]


def test_edit_of_the_owner_ignores_protections(bench: Bench) -> None:
    """The edit of a fault is made by the owner, so protections do not apply."""
    protect(bench, CELL)
    status = bench.owner_edits(dimension("deleteDimension", "ROWS", 1, 2)).status_code

    assert status == 200
    assert bench.size() == (4, 5)


LINES = {"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 2}


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"updateDimensionProperties": {"range": LINES, "fields": "*"}}, id="size"),
        pytest.param({"autoResizeDimensions": {"dimensions": LINES}}, id="fit"),
        pytest.param({"addDimensionGroup": {"range": LINES}}, id="group"),
        pytest.param({"deleteDimensionGroup": {"range": LINES}}, id="ungroup"),
        pytest.param({"setBasicFilter": {"filter": {"range": {"sheetId": 0}}}}, id="filter"),
        pytest.param(dimension("insertDimension", "COLUMNS", 1, 2), id="beside"),
        pytest.param({"deleteSheet": {"sheetId": 0}}, id="worksheet"),
        pytest.param(
            {
                "updateSheetProperties": {
                    "properties": {"gridProperties": {"rowCount": 1}},
                    "fields": "gridProperties.rowCount",
                }
            },
            id="smaller grid",
        ),
    ],
)
def test_requests_that_change_protected_cells_get_400(bench: Bench, request_: Request) -> None:
    """Rows, columns, filters and worksheets that have protected cells cannot be changed."""
    protect(bench, grid_range(1, 0, 2, 5))
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert message(answer).endswith(TEXT)
