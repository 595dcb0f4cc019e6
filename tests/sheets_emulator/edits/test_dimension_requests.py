"""batchUpdate: rows and columns."""

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
def test_rows_and_columns_come_and_go(
    build: BenchBuilder, requests: list[Request], grid: list[list[str]], size: tuple[int, int]
) -> None:
    """Cells move with their rows and columns, and the grid changes its size."""
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
    """The destination counts as before the move; nothing else changes its order."""
    bench = build({"Data": "a,1\nb,2\nc,3\nd,4\n"})
    source = {"sheetId": 0, "dimension": name, "startIndex": start, "endIndex": start + 1}
    bench.edit({"moveDimension": {"source": source, "destinationIndex": destination}})

    assert bench.grid("Data!A:A", majorDimension="COLUMNS") == [column or ["1", "2", "3", "4"]]


def looks(bench: Bench) -> list[list[object]]:
    """The number formats of the cells of the first worksheet."""
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
def test_inserted_lines_are_formatted_as_one_beside_them(
    build: BenchBuilder, name: str, is_from_before: bool, found: list[list[object]]
) -> None:
    """Google's definition: from before the place or from after it; the cells are blank."""
    bench = build({"Data": "$1,x\n2020-01-01,\n"})
    request = dimension("insertDimension", name, 1, 2)
    request["insertDimension"]["inheritFromBefore"] = is_from_before
    bench.edit(request)
    blank = bench.grid("Data!A2:B2" if name == "ROWS" else "Data!B1:B2")

    assert looks(bench) == found
    assert blank == []


def ruled(bench: Bench, column: str) -> list[str]:
    """The types of the validation rules in a column, "" where there is none."""
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
def test_inserted_rows_have_the_rules_of_one_beside_them(
    build: BenchBuilder, is_from_before: bool, rules: list[str]
) -> None:
    """Reported: rules are inherited, so a row among checkboxes shows one; formulas follow."""
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
def test_appended_lines_are_as_the_last_one(build: BenchBuilder, name: str) -> None:
    """Its rule and its format are those of the new line."""
    bench = build({"Data": "$1\n"})
    set_rule(bench, 0, 1, LIST)
    bench.edit({"appendDimension": {"sheetId": 0, "dimension": name, "length": 1}})
    [*_, last] = [cell for row in cells(bench) for cell in row]

    assert last["dataValidation"]["condition"]["type"] == "ONE_OF_LIST"
    assert last["userEnteredFormat"]["numberFormat"]["type"] == "CURRENCY"
    assert "effectiveValue" not in last


def test_inserted_lines_are_as_large_as_one_beside_them(build: BenchBuilder) -> None:
    """The size in pixels is taken over too."""
    bench = build({"Data": "a\nb\n"})
    resize = dimension("updateDimensionProperties", "ROWS", 1, 2)
    resize["updateDimensionProperties"] |= {"properties": {"pixelSize": 50}, "fields": "pixelSize"}
    bench.edit(resize, dimension("insertDimension", "ROWS", 1, 3))
    rows = bench.described(fields="sheets.data.rowMetadata")["sheets"][0]["data"][0]["rowMetadata"]

    assert [row["pixelSize"] for row in rows] == [21, 50, 50, 50]


def test_nothing_is_before_the_first_line(build: BenchBuilder) -> None:
    """inheritFromBefore needs a row before the place."""
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
def test_lines_are_inserted_before_one_that_is_there(
    bench: Bench, name: str, start: int, complaint: str
) -> None:
    """Reported for pygsheets and gspread: the grid's end is no place to insert at."""
    answer = bench.edit(dimension("insertDimension", name, start, start + 2))

    assert answer.status_code == 400
    assert message(answer) == f"Invalid requests[0].insertDimension: {complaint}"


@pytest.mark.parametrize("name", ["ROWS", "COLUMNS"])
def test_lines_are_inserted_at_the_end_if_they_are_as_those_before(bench: Bench, name: str) -> None:
    """inheritFromBefore has something to inherit from there."""
    request = dimension("insertDimension", name, 5, 7)
    request["insertDimension"]["inheritFromBefore"] = True
    answer = bench.edit(request)

    assert answer.status_code == 200
    assert bench.size() == ((7, 5) if name == "ROWS" else (5, 7))


@pytest.mark.parametrize("kind", ["deleteDimension", "updateDimensionProperties"])
def test_end_of_lines_is_not_negative(bench: Bench, kind: str) -> None:
    """A negative end is refused as a negative start is."""
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
def test_frozen_rows_come_and_go_with_others(
    bench: Bench, request_: Request, left: int | None
) -> None:
    """Two of five rows are frozen; what is put in above the last of them is frozen too."""
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
def test_a_line_that_is_not_frozen_stays(
    bench: Bench, requests: list[Request], complaint: str
) -> None:
    """Reported: neither deleting nor freezing may take the last one."""
    frozen(bench, 2)
    answer = bench.edit(*requests)

    assert answer.status_code == 400
    assert message(answer).endswith(complaint)
