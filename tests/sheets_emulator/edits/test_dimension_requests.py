"""Tests of requests that append, insert, move and delete rows and columns."""

import pytest
from httpx2 import Response

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.cells_of import cells
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, dimension, grid_range, properties_of

CHECKBOX = {"condition": {"type": "BOOLEAN"}}
LIST = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "a"}]}}


@pytest.mark.parametrize(
    ("requests", "grid", "size"),
    [
        pytest.param(
            [{"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 2}}],
            [["a", "b"], ["c", "d"]],
            (4, 2),
            id="append rows",
        ),
        pytest.param(
            [{"appendDimension": {"sheetId": 0, "dimension": "COLUMNS", "length": 1}}],
            [["a", "b"], ["c", "d"]],
            (2, 3),
            id="append columns",
        ),
        pytest.param(
            [dimension("insertDimension", "ROWS", 1, 3)],
            [["a", "b"], [], [], ["c", "d"]],
            (4, 2),
            id="insert rows",
        ),
        pytest.param(
            [dimension("insertDimension", "COLUMNS", 0, 1)],
            [["", "a", "b"], ["", "c", "d"]],
            (2, 3),
            id="insert columns",
        ),
        pytest.param(
            [dimension("deleteDimension", "ROWS", 0, 1)], [["c", "d"]], (1, 2), id="delete rows"
        ),
        pytest.param(
            [dimension("deleteDimension", "COLUMNS", 0, 1)],
            [["b"], ["d"]],
            (2, 1),
            id="delete columns",
        ),
        pytest.param(
            [
                dimension("insertDimension", "ROWS", 0, 1),
                dimension("deleteDimension", "ROWS", 1, 2),
            ],
            [[], ["c", "d"]],
            (2, 2),
            id="one after the other",
        ),
    ],
)
def test_insertions_and_deletions_resize_the_grid(
    build: BenchBuilder, requests: list[Request], grid: list[list[str]], size: tuple[int, int]
) -> None:
    """Cells move with their rows and columns, and the row and column counts change."""
    bench = build({"Data": "a,b\nc,d\n"})
    answer = bench.edit(*requests)

    assert answer.json() == {"spreadsheetId": "book", "replies": [{}] * len(requests)}
    assert bench.grid("Data") == grid
    assert bench.size() == size


@pytest.mark.parametrize(
    ("name", "start", "destination", "column"),
    [
        ("ROWS", 0, 3, ["b", "c", "a", "d"]),
        ("ROWS", 2, 0, ["c", "a", "b", "d"]),
        ("ROWS", 1, 4, ["a", "c", "d", "b"]),
        ("ROWS", 1, 2, ["a", "b", "c", "d"]),
        ("COLUMNS", 0, 2, []),
    ],
)
def test_moved_rows_and_columns_go_before_the_destination(
    build: BenchBuilder, name: str, start: int, destination: int, column: list[str]
) -> None:
    """`destinationIndex` is a position before the move, not after the move."""
    bench = build({"Data": "a,1\nb,2\nc,3\nd,4\n"})
    source = {"sheetId": 0, "dimension": name, "startIndex": start, "endIndex": start + 1}
    bench.edit({"moveDimension": {"source": source, "destinationIndex": destination}})

    assert bench.grid("Data!A:A", majorDimension="COLUMNS") == [column or ["1", "2", "3", "4"]]


def looks(bench: Bench) -> list[list[object]]:
    """Return the number format type of each cell by row, None for a cell without a format."""
    answer = bench.described(fields="sheets.data.rowData.values.userEnteredFormat.numberFormat")
    rows = answer["sheets"][0]["data"][0].get("rowData", [])
    return [
        [cell.get("userEnteredFormat", {}).get("numberFormat", {}).get("type") for cell in cells]
        for cells in (row.get("values", []) for row in rows)
    ]


@pytest.mark.parametrize(
    ("name", "is_from_before", "found"),
    [
        ("ROWS", True, [["CURRENCY", None], ["CURRENCY"], ["DATE"]]),
        ("ROWS", False, [["CURRENCY", None], ["DATE"], ["DATE"]]),
        ("COLUMNS", True, [["CURRENCY", "CURRENCY", None], ["DATE", "DATE"]]),
        ("COLUMNS", False, [["CURRENCY", None, None], ["DATE"]]),
    ],
)
def test_inserted_lines_get_the_format_of_a_neighbour(
    build: BenchBuilder, name: str, is_from_before: bool, found: list[list[object]]
) -> None:
    """`inheritFromBefore` selects which neighbour's format is copied. Values are not copied."""
    bench = build({"Data": "$1,x\n2020-01-01,\n"})
    request = dimension("insertDimension", name, 1, 2)
    request["insertDimension"]["inheritFromBefore"] = is_from_before
    bench.edit(request)
    blank = bench.grid("Data!A2:B2" if name == "ROWS" else "Data!B1:B2")

    assert looks(bench) == found
    assert blank == []


def ruled(bench: Bench, column: str) -> list[str]:
    """Return the validation rule type of each cell in a column, "" for a cell without a rule."""
    rules = cells(bench, f"Data!{column}:{column}", "dataValidation")
    return [
        row[0].get("dataValidation", {}).get("condition", {}).get("type", "") if row else ""
        for row in rules
    ]


def set_rule(bench: Bench, top: int, bottom: int, rule: Request) -> None:
    bench.edit({"setDataValidation": {"range": grid_range(top, 0, bottom, 1), "rule": rule}})


@pytest.mark.parametrize(
    ("is_from_before", "rules"),
    [
        (True, ["", "BOOLEAN", "BOOLEAN", "BOOLEAN", "ONE_OF_LIST"]),
        (False, ["", "BOOLEAN", "ONE_OF_LIST", "ONE_OF_LIST", "ONE_OF_LIST"]),
    ],
    ids=["before", "after"],
)
def test_inserted_rows_get_the_validation_rules_of_a_neighbour(
    build: BenchBuilder, is_from_before: bool, rules: list[str]
) -> None:
    """New rows copy a checkbox or dropdown (reported by users), and formulas are adjusted."""
    bench = build({"Data": "h,\n,=A2\na,=A3\n"})
    set_rule(bench, 1, 2, CHECKBOX)
    set_rule(bench, 2, 3, LIST)
    request = dimension("insertDimension", "ROWS", 2, 4)
    request["insertDimension"]["inheritFromBefore"] = is_from_before
    bench.edit(request)

    assert ruled(bench, "A") == rules
    assert bench.grid("Data!A3:A4") == ([["FALSE"], ["FALSE"]] if is_from_before else [])
    assert bench.grid("Data!B:B", valueRenderOption="FORMULA") == [
        *([], ["=A2"], [], []),
        ["=A5"],
    ]


@pytest.mark.parametrize("name", ["ROWS", "COLUMNS"])
def test_appended_lines_get_the_format_and_rule_of_the_last_one(
    build: BenchBuilder, name: str
) -> None:
    """A row or column appended to the grid copies no value."""
    bench = build({"Data": "$1\n"})
    set_rule(bench, 0, 1, LIST)
    bench.edit({"appendDimension": {"sheetId": 0, "dimension": name, "length": 1}})
    [*_, last] = [cell for row in cells(bench) for cell in row]

    assert last["dataValidation"]["condition"]["type"] == "ONE_OF_LIST"
    assert last["userEnteredFormat"]["numberFormat"]["type"] == "CURRENCY"
    assert "effectiveValue" not in last


def test_inserted_rows_get_the_height_of_a_neighbour(build: BenchBuilder) -> None:
    """Rows inserted before a row that is 50 pixels high are 50 pixels high, too."""
    bench = build({"Data": "a\nb\n"})
    resize = dimension("updateDimensionProperties", "ROWS", 1, 2)
    resize["updateDimensionProperties"] |= {"properties": {"pixelSize": 50}, "fields": "pixelSize"}
    bench.edit(resize, dimension("insertDimension", "ROWS", 1, 3))
    rows = bench.described(fields="sheets.data.rowMetadata")["sheets"][0]["data"][0]["rowMetadata"]

    assert [row["pixelSize"] for row in rows] == [21, 50, 50, 50]


def test_inherit_from_before_is_refused_at_the_first_row(build: BenchBuilder) -> None:
    """An insertion at index 0 with `inheritFromBefore` gets 400, because no row is before it."""
    request = dimension("insertDimension", "ROWS", 0, 1)
    request["insertDimension"]["inheritFromBefore"] = True
    answer = build({"Data": "a\n"}).edit(request)

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        pytest.param(
            5,
            "range.startIndex must be less than the grid size (5) if inheritFromBefore is false.",
            id="at the end",
        ),
        pytest.param(6, "range.startIndex is larger than current grid size (5)", id="past it"),
        pytest.param(-1, "DimensionRange indexes must be >= 0", id="before the start"),
    ],
)
@pytest.mark.parametrize("name", ["ROWS", "COLUMNS"])
def test_an_insertion_outside_the_grid_is_refused(
    bench: Bench, name: str, start: int, complaint: str
) -> None:
    """An insertion at the grid's end needs `inheritFromBefore` (reported by users)."""
    answer = bench.edit(dimension("insertDimension", name, start, start + 2))

    assert answer.status_code == 400
    assert message(answer) == f"Invalid requests[0].insertDimension: {complaint}"


@pytest.mark.parametrize("name", ["ROWS", "COLUMNS"])
def test_inherit_from_before_allows_an_insertion_at_the_end(bench: Bench, name: str) -> None:
    """New rows or columns at the grid's end copy the format of the last one."""
    request = dimension("insertDimension", name, 5, 7)
    request["insertDimension"]["inheritFromBefore"] = True
    answer = bench.edit(request)

    assert answer.status_code == 200
    assert bench.size() == ((7, 5) if name == "ROWS" else (5, 7))


@pytest.mark.parametrize("kind", ["deleteDimension", "updateDimensionProperties"])
def test_a_negative_end_index_is_refused(bench: Bench, kind: str) -> None:
    """A deletion or resize of rows up to index -1 gets 400."""
    request = dimension(kind, "ROWS", 0, -1)
    if kind == "updateDimensionProperties":
        request[kind] |= {"properties": {"pixelSize": 9}, "fields": "pixelSize"}
    answer = bench.edit(request)

    assert answer.status_code == 400
    assert message(answer) == f"Invalid requests[0].{kind}: DimensionRange indexes must be >= 0"


def frozen(bench: Bench, rows: int) -> Response:
    properties = {"gridProperties": {"frozenRowCount": rows}}
    return bench.edit(properties_of("gridProperties.frozenRowCount", **properties))


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        pytest.param(dimension("insertDimension", "ROWS", 1, 3), 4, id="inserted among them"),
        pytest.param(dimension("insertDimension", "ROWS", 2, 3), 2, id="inserted below"),
        pytest.param(dimension("deleteDimension", "ROWS", 1, 4), 1, id="deleted"),
        pytest.param(dimension("deleteDimension", "ROWS", 3, 4), 2, id="deleted below"),
        pytest.param(dimension("deleteDimension", "ROWS", 0, 2), None, id="all of them deleted"),
    ],
)
def test_insertions_and_deletions_adjust_the_frozen_row_count(
    bench: Bench, request_: Request, left: int | None
) -> None:
    """Rows inserted between frozen rows are frozen, too. Deleted frozen rows reduce the count."""
    frozen(bench, 2)
    bench.edit(request_)

    assert bench.sheets()[0]["gridProperties"].get("frozenRowCount") == left


@pytest.mark.parametrize(
    ("requests", "complaint"),
    [
        pytest.param(
            [dimension("deleteDimension", "ROWS", 2, 5)],
            "Sorry, it is not possible to delete all non-frozen rows.",
            id="deleted",
        ),
        pytest.param(
            [
                properties_of(
                    "gridProperties(frozenRowCount,rowCount)", gridProperties={"rowCount": 2}
                )
            ],
            "Sorry, it is not possible to delete all non-frozen rows.",
            id="cut off, though thawed by the same request",
        ),
        pytest.param(
            [
                properties_of(
                    "gridProperties.frozenColumnCount", gridProperties={"frozenColumnCount": 5}
                )
            ],
            "You can't freeze all visible columns on the sheet.",
            id="frozen",
        ),
    ],
)
def test_the_last_unfrozen_line_cannot_be_deleted_or_frozen(
    bench: Bench, requests: list[Request], complaint: str
) -> None:
    """A request that leaves no unfrozen row or column gets 400 (reported by users)."""
    frozen(bench, 2)
    answer = bench.edit(*requests)

    assert answer.status_code == 400
    assert message(answer).endswith(complaint)
