"""Data filters: searches of developer metadata, and cells by metadata or range."""

from typing import Any

import pytest
from httpx2 import Response

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.metadata_of import SPREADSHEET, by, column, create, found, row

BOOK = "/v4/spreadsheets/book"
EXACT, INTERSECTING = "EXACT_LOCATION", "INTERSECTING_LOCATION"
SHEET = {"sheetId": 0}


@pytest.fixture
def filled(build: BenchBuilder) -> Bench:
    """An emulator with two worksheets, and metadata at locations of each type."""
    bench = build({"Data": "a,b,c\n1,2,3\n4,5,6\n", "Other": "x\ny\n"})
    bench.edit(
        create(1, "one"),
        create(2, "two", location=SHEET),
        create(3, "three", location=row(1)),
        create(4, "four", location=column(2), metadataKey="price", visibility="PROJECT"),
        create(5, "five", location=row(0, sheet_id=1)),
    )
    return bench


def post(bench: Bench, call: str, **body: object) -> Response:
    """The answer to a POST of this call about `book`."""
    return bench.call("POST", f"{BOOK}{call}", body)


def at(location: object, strategy: str | None = None, **lookup: object) -> dict[str, Any]:
    """A DataFilter that looks up metadata by location."""
    chosen = {} if strategy is None else {"locationMatchingStrategy": strategy}
    return by(metadataLocation=location, **chosen, **lookup)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        pytest.param(by(), [1, 2, 3, 4, 5], id="everything"),
        pytest.param(by(metadataId=3), [3], id="ID"),
        pytest.param(by(metadataId=9), [], id="unknown ID"),
        pytest.param(by(metadataKey="fence"), [1, 2, 3, 5], id="key"),
        pytest.param(by(metadataKey="fence", metadataValue="two"), [2], id="key and value"),
        pytest.param(by(metadataKey="price", metadataValue="two"), [], id="key of another"),
        pytest.param(by(visibility="PROJECT"), [4], id="visibility"),
        pytest.param(by(locationType="ROW"), [3, 5], id="type"),
        pytest.param(by(locationType="SPREADSHEET"), [1], id="type spreadsheet"),
        pytest.param(at(row(1)), [2, 3, 4], id="row intersects"),
        pytest.param(at(row(1), INTERSECTING), [2, 3, 4], id="row intersects by strategy"),
        pytest.param(at(row(1), EXACT), [3], id="row exactly"),
        pytest.param(at(row(2), EXACT), [], id="another row exactly"),
        pytest.param(at(column(0)), [2, 3], id="column intersects"),
        pytest.param(at(SHEET), [2, 3, 4], id="sheet intersects"),
        pytest.param(at(SHEET, EXACT), [2], id="sheet exactly"),
        pytest.param(at(SHEET, locationType="COLUMN"), [4], id="columns of a sheet"),
        pytest.param(at(SPREADSHEET), [1], id="spreadsheet"),
        pytest.param(at(SPREADSHEET, locationType="SPREADSHEET"), [1], id="spreadsheet by type"),
        pytest.param({"a1Range": "Data!A1:B1"}, [2], id="A1 range"),
        pytest.param({"a1Range": "Data!C2"}, [2, 3, 4], id="cell"),
        pytest.param({"a1Range": "Other"}, [5], id="worksheet"),
        pytest.param({"gridRange": {"sheetId": 0, "startRowIndex": 1}}, [2, 3, 4], id="grid range"),
    ],
)
def test_a_search_finds_metadata_that_matches_all_members(
    filled: Bench, wanted: dict[str, Any], ids: list[int]
) -> None:
    """All members of a filter must match. A range matches locations that intersect the range."""
    assert [each["metadataId"] for each in found(filled, wanted)] == ids


def test_a_search_names_the_filters_that_match(filled: Bench) -> None:
    """Each item of metadata is in the answer once, with all filters that match it."""
    filters = [by(metadataId=3), by(metadataKey="price"), by(locationType="ROW")]
    answer = post(filled, "/developerMetadata:search", dataFilters=filters).json()
    matched = {
        each["developerMetadata"]["metadataId"]: each["dataFilters"]
        for each in answer["matchedDeveloperMetadata"]
    }

    assert matched == {3: [filters[0], filters[2]], 4: [filters[1]], 5: [filters[2]]}


def test_a_search_that_finds_nothing_is_empty(filled: Bench) -> None:
    """The answer is `{}`, without an empty list."""
    answer = post(filled, "/developerMetadata:search", dataFilters=[by(metadataId=9)])

    assert answer.json() == {}


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({}, id="no filter"),
        pytest.param({"a1Range": "Data", "gridRange": {}}, id="two filters"),
        pytest.param({"a1Range": "Nope!A1"}, id="unknown worksheet"),
        pytest.param({"a1Range": "Data!A9"}, id="range past the grid"),
        pytest.param({"gridRange": {"sheetId": 7}}, id="unknown worksheet ID"),
        pytest.param(by(locationMatchingStrategy=EXACT), id="strategy without location"),
        pytest.param(at(row(1), EXACT, locationType="ROW"), id="exact location and type"),
        pytest.param(
            at(SPREADSHEET, INTERSECTING, locationType="SPREADSHEET"), id="spreadsheet intersecting"
        ),
        pytest.param(at(SHEET, locationType="SPREADSHEET"), id="spreadsheet at a sheet"),
        pytest.param(at({}), id="empty location"),
    ],
)
@pytest.mark.parametrize(
    "call",
    ["/developerMetadata:search", ":getByDataFilter", "/values:batchGetByDataFilter"],
)
def test_an_invalid_filter_gets_400(filled: Bench, call: str, wanted: dict[str, Any]) -> None:
    """Every call with filters answers an invalid filter with 400."""
    assert post(filled, call, dataFilters=[wanted]).status_code == 400


@pytest.mark.parametrize(
    "call",
    [
        "/developerMetadata:search",
        ":getByDataFilter",
        "/values:batchGetByDataFilter",
        "/values:batchClearByDataFilter",
    ],
)
def test_at_least_one_filter_is_needed(filled: Bench, call: str) -> None:
    """An empty list of filters gets 400."""
    assert post(filled, call, dataFilters=[]).status_code == 400


def test_values_are_read_by_metadata_and_range(filled: Bench) -> None:
    """A row or column is read completely. A range that two filters match is answered once."""
    filters = [by(metadataId=3), by(metadataId=4), {"a1Range": "Other"}, {"a1Range": "Data!2:2"}]
    answer = post(filled, "/values:batchGetByDataFilter", dataFilters=filters).json()

    assert [each["valueRange"] for each in answer["valueRanges"]] == [
        {"range": "Data!A2:C2", "majorDimension": "ROWS", "values": [["1", "2", "3"]]},
        {"range": "Data!C1:C3", "majorDimension": "ROWS", "values": [["c"], ["3"], ["6"]]},
        {"range": "Other!A1:A2", "majorDimension": "ROWS", "values": [["x"], ["y"]]},
    ]
    assert [each["dataFilters"] for each in answer["valueRanges"]] == [
        [filters[0], filters[3]],
        [filters[1]],
        [filters[2]],
    ]


def test_values_by_filter_have_the_options_of_values_batch_get(filled: Bench) -> None:
    """The body of values.batchGetByDataFilter can have dimension and rendering options."""
    answer = post(
        filled,
        "/values:batchGetByDataFilter",
        dataFilters=[{"gridRange": {"sheetId": 0, "startRowIndex": 1}}],
        majorDimension="COLUMNS",
        valueRenderOption="UNFORMATTED_VALUE",
    ).json()

    assert answer["valueRanges"][0]["valueRange"]["values"] == [[1, 4], [2, 5], [3, 6]]


@pytest.mark.parametrize("wanted", [by(metadataId=9), by(metadataId=1)])
@pytest.mark.parametrize("call", ["/values:batchGetByDataFilter", "/values:batchClearByDataFilter"])
def test_a_filter_without_cells_matches_no_range(
    filled: Bench, call: str, wanted: dict[str, Any]
) -> None:
    """Unknown metadata and metadata of the whole spreadsheet have no cells."""
    assert post(filled, call, dataFilters=[wanted]).json() == {"spreadsheetId": "book"}


def test_values_are_written_to_all_matched_ranges(filled: Bench) -> None:
    """Each matched range has a response with the filter, and counts in the totals."""
    data = [{"dataFilter": by(locationType="ROW"), "values": [["n"]]}]
    answer = post(
        filled,
        "/values:batchUpdateByDataFilter",
        valueInputOption="RAW",
        includeValuesInResponse=True,
        data=data,
    ).json()

    assert [each["updatedRange"] for each in answer["responses"]] == ["Data!A2", "Other!A1"]
    assert [each["dataFilter"] for each in answer["responses"]] == [data[0]["dataFilter"]] * 2
    assert answer["responses"][0]["updatedData"]["values"] == [["n", "2", "3"]]
    assert (answer["totalUpdatedCells"], answer["totalUpdatedSheets"]) == (2, 2)
    assert filled.grid("Data!2:2") == [["n", "2", "3"]]


@pytest.mark.parametrize(
    ("wanted", "values"),
    [
        pytest.param(by(metadataId=3), [["x"], ["y"]], id="too many rows"),
        pytest.param(by(locationType="ROW"), [["x", "y"]], id="too many columns for one of them"),
        pytest.param({"a1Range": "Data!A2"}, [["x", "y"]], id="too many for a cell"),
        pytest.param({"a1Range": "Nope"}, [["x"]], id="unknown worksheet"),
    ],
)
def test_values_that_do_not_fit_stop_the_whole_write(
    filled: Bench, wanted: dict[str, Any], values: list[list[str]]
) -> None:
    """An entry with too many values gets 400 with the index, and nothing is written."""
    data = [
        {"dataFilter": {"a1Range": "Data!A1"}, "values": [["z"]]},
        {"dataFilter": wanted, "values": values},
    ]
    answer = post(filled, "/values:batchUpdateByDataFilter", valueInputOption="RAW", data=data)

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid data[1]: ")
    assert filled.grid("Data!A1:A2") == [["a"], ["1"]]


def test_matched_ranges_are_cleared(filled: Bench) -> None:
    """The answer has each cleared range once."""
    filters = [by(metadataKey="price"), {"a1Range": "Data!C1:C3"}]
    answer = post(filled, "/values:batchClearByDataFilter", dataFilters=filters).json()

    assert answer == {"spreadsheetId": "book", "clearedRanges": ["Data!C1:C3"]}
    assert filled.grid("Data") == [["a", "b"], ["1", "2"], ["4", "5"]]


def test_a_spreadsheet_by_filter_has_the_matched_worksheets(filled: Bench) -> None:
    """The answer has grid data only with includeGridData, for the matched cells."""
    filters = [by(metadataId=3)]
    plain = post(filled, ":getByDataFilter", dataFilters=filters).json()
    full = post(filled, ":getByDataFilter", dataFilters=filters, includeGridData=True).json()
    [data] = full["sheets"][0]["data"]

    assert [each["properties"]["title"] for each in plain["sheets"]] == ["Data"]
    assert "data" not in plain["sheets"][0]
    assert data["startRow"] == 1
    assert len(data["rowData"]) == 1


def test_field_mask_overrides_the_flag_for_grid_data(filled: Bench) -> None:
    """With `fields` the mask decides about grid data, as in spreadsheets.get."""
    body = {"dataFilters": [by(metadataId=5)], "includeGridData": False}
    fields = "sheets.data.rowData.values.formattedValue"
    answer = filled.call("POST", f"{BOOK}:getByDataFilter", body, fields=fields)

    [sheet] = answer.json()["sheets"]
    assert sheet["data"] == [{"rowData": [{"values": [{"formattedValue": "x"}]}]}]


def test_a_filter_that_matches_nothing_gives_no_worksheets(filled: Bench) -> None:
    """The answer has the spreadsheet's properties without `sheets`."""
    answer = post(filled, ":getByDataFilter", dataFilters=[by(metadataId=9)]).json()

    assert answer["spreadsheetId"] == "book"
    assert "sheets" not in answer


def test_calls_by_filter_count_as_reads_and_writes(filled: Bench) -> None:
    """Reads by POST count as reads. Each call has its name in the statistics and in faults."""
    before = filled.stats()
    filters = [by(metadataId=3)]
    post(filled, "/developerMetadata:search", dataFilters=filters)
    filled.call("GET", f"{BOOK}/developerMetadata/3")
    post(filled, ":getByDataFilter", dataFilters=filters)
    post(filled, "/values:batchGetByDataFilter", dataFilters=filters)
    post(filled, "/values:batchUpdateByDataFilter", valueInputOption="RAW")
    filled.fault({"call": "values.batchClearByDataFilter", "status": 500})
    failed = post(filled, "/values:batchClearByDataFilter", dataFilters=filters)
    after = filled.stats()

    assert failed.status_code == 500
    assert after["reads"] - before["reads"] == 4
    assert after["writes"] - before["writes"] == 2
    assert {name: after["calls"][name] for name in after["calls"].keys() - before["calls"]} == {
        "developerMetadata.search": 1,
        "developerMetadata.get": 1,
        "spreadsheets.getByDataFilter": 1,
        "values.batchGetByDataFilter": 1,
        "values.batchUpdateByDataFilter": 1,
        "values.batchClearByDataFilter": 1,
    }
