"""Tests of Google's documentation of metadata, data filters, batchUpdate answers and tables.

The tests make raw calls to Google and the emulator. `metadata_facts` has undocumented behaviour.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from gateway.errors import UpstreamRefusal
from tests.contract.conftest import EMULATOR
from tests.contract.metadata import (
    SPREADSHEET,
    append,
    by_id,
    cells_of,
    column,
    create,
    delete,
    found,
    new_id,
    row,
    rows_of,
    shown,
)
from tests.contract.spreadsheet import Answer, Spreadsheet

pytestmark = pytest.mark.parametrize(
    "place", [EMULATOR, pytest.param("google", marks=pytest.mark.google)], indirect=True
)

LINES = [["name", "price"], ["pen", "2"], ["ink", "9"]]


@dataclass(frozen=True, kw_only=True)
class Worksheet:
    """A worksheet of five rows and three columns that contains `LINES`."""

    spreadsheet: Spreadsheet
    sheet_id: int
    title: str

    @property
    def whole(self) -> Answer:
        """Metadata location of the worksheet."""
        return {"sheetId": self.sheet_id}

    def at(self, cells: str) -> str:
        return f"'{self.title}'!{cells}"

    async def edit(self, *requests: Answer) -> Answer:
        return await self.spreadsheet.edit(*requests)

    async def found(self, metadata_id: int) -> list[Answer]:
        return await found(self.spreadsheet, by_id(metadata_id))

    async def values(self) -> list[list[object]]:
        return [[*line] for line in await self.spreadsheet.formulas(self.at("A1:Z"))]


@pytest.fixture
async def worksheet(spreadsheet: Spreadsheet) -> AsyncIterator[Worksheet]:
    """Yield a worksheet with `LINES`; delete it with its metadata after the test."""
    title = f"Metadata_{new_id()}"
    sheet_id = await spreadsheet.add_worksheet(title, rows=5, columns=3)
    await spreadsheet.update(f"'{title}'!A1", LINES)
    yield Worksheet(spreadsheet=spreadsheet, sheet_id=sheet_id, title=title)
    await spreadsheet.delete_worksheets([sheet_id])


async def test_metadata_of_a_spreadsheet_is_found_by_its_id(worksheet: Worksheet) -> None:
    """Metadata has the chosen ID; its deletion returns the metadata."""
    metadata_id = new_id()

    created = await worksheet.edit(create(metadata_id, SPREADSHEET, value="token"))
    before = await worksheet.found(metadata_id)
    deleted = await worksheet.edit(delete(metadata_id))
    after = await worksheet.found(metadata_id)

    [metadata] = before
    assert metadata["metadataId"] == metadata_id
    assert metadata["metadataValue"] == "token"
    assert metadata["location"] == {"locationType": "SPREADSHEET", "spreadsheet": True}
    assert created["replies"] == [{"createDeveloperMetadata": {"developerMetadata": metadata}}]
    assert deleted["replies"] == [
        {"deleteDeveloperMetadata": {"deletedDeveloperMetadata": [metadata]}}
    ]
    assert after == []


async def test_metadata_is_created_only_if_the_whole_batch_is_applied(
    worksheet: Worksheet,
) -> None:
    """If Google rejects one request of a batch, no metadata of the batch is created."""
    metadata_id = new_id()
    impossible = {"deleteDimension": {"range": rows_of(worksheet.sheet_id, 7, 9)}}

    with pytest.raises(UpstreamRefusal) as refused:
        await worksheet.edit(create(metadata_id, worksheet.whole), impossible)

    assert refused.value.google_message.startswith("Invalid requests[1].deleteDimension: ")
    assert await worksheet.found(metadata_id) == []


async def test_metadata_moves_with_its_row(worksheet: Worksheet) -> None:
    """Metadata of a row moves when rows are inserted above, and is deleted with the row."""
    metadata_id = new_id()
    inserted = {"insertDimension": {"range": rows_of(worksheet.sheet_id, 0, 2)}}
    deleted = {"deleteDimension": {"range": rows_of(worksheet.sheet_id, 3, 4)}}

    await worksheet.edit(create(metadata_id, row(worksheet.sheet_id, 1)), inserted)
    [metadata] = await worksheet.found(metadata_id)
    await worksheet.edit(deleted)
    after = await worksheet.found(metadata_id)

    assert metadata["location"]["locationType"] == "ROW"
    assert metadata["location"]["dimensionRange"]["startIndex"] == 3
    assert after == []


async def test_metadata_is_deleted_with_its_worksheet(worksheet: Worksheet) -> None:
    """Metadata of a worksheet and of its columns is deleted with the worksheet."""
    sheet_id = await worksheet.spreadsheet.add_worksheet(f"{worksheet.title}_2", rows=2, columns=2)
    first, second = new_id(), new_id()

    await worksheet.edit(create(first, {"sheetId": sheet_id}), create(second, column(sheet_id, 1)))
    before = await found(worksheet.spreadsheet, by_id(first), by_id(second))
    await worksheet.spreadsheet.delete_worksheets([sheet_id])
    after = await found(worksheet.spreadsheet, by_id(first), by_id(second))

    assert {each["metadataId"] for each in before} == {first, second}
    assert after == []


async def test_resources_have_their_metadata(worksheet: Worksheet) -> None:
    """The field mask can select the metadata of a worksheet and of its rows."""
    first, second = new_id(), new_id()
    await worksheet.edit(create(first, worksheet.whole), create(second, row(worksheet.sheet_id, 1)))

    member = "developerMetadata.metadataId"
    fields = f"sheets({member},data.rowMetadata.{member})"
    [sheet] = (await worksheet.spreadsheet.described(worksheet.at("A1:A2"), fields))["sheets"]

    assert sheet["developerMetadata"] == [{"metadataId": first}]
    assert sheet["data"][0]["rowMetadata"][1] == {"developerMetadata": [{"metadataId": second}]}


async def test_metadata_of_a_worksheet_has_a_limit(worksheet: Worksheet) -> None:
    """A worksheet has at most 30,000 characters of metadata keys and values."""
    metadata_id = new_id()

    with pytest.raises(UpstreamRefusal):
        await worksheet.edit(create(metadata_id, worksheet.whole, value="x" * 30_000))

    assert await worksheet.found(metadata_id) == []


@pytest.mark.parametrize("cells", ["A3:ZZ", "3:2000", "A3:C"])
async def test_an_answer_has_the_cells_after_the_updates(worksheet: Worksheet, cells: str) -> None:
    """A batchUpdate returns the cells after the update, for ranges with open ends, too."""
    answer = await worksheet.spreadsheet.edit(
        append(worksheet.whole, ["cup", "4"]),
        ranges=[worksheet.at("1:1"), worksheet.at(cells)],
        fields="replies,updatedSpreadsheet(sheets(properties(sheetId),data(startRow,rowData)))",
    )

    updated = answer["updatedSpreadsheet"]
    assert answer["replies"] == [{}]
    assert updated["sheets"][0]["properties"]["sheetId"] == worksheet.sheet_id
    assert updated["sheets"][0]["data"][1]["startRow"] == 2
    assert shown(updated) == [[LINES[0]], [LINES[2], ["cup", "4"]]]


async def test_cells_are_appended_under_the_last_row_with_data(worksheet: Worksheet) -> None:
    """Appended cells go below the last row with data in any column.

    The grid grows, and text stays text.
    """
    await worksheet.spreadsheet.update(worksheet.at("C5"), [["x"]])

    await worksheet.edit(append(worksheet.whole, ["=1+1"]))

    assert (await worksheet.values())[4:] == [["", "", "x"], ["=1+1"]]


async def test_values_are_read_written_and_cleared_by_metadata(worksheet: Worksheet) -> None:
    """Values of the row with the metadata can be read, written and cleared by data filter."""
    metadata_id = new_id()
    await worksheet.edit(create(metadata_id, row(worksheet.sheet_id, 1)))
    wanted = by_id(metadata_id)
    spreadsheet = worksheet.spreadsheet

    read = await spreadsheet.post("/values:batchGetByDataFilter", {"dataFilters": [wanted]})
    entry = {"dataFilter": wanted, "majorDimension": "ROWS", "values": [["cup"]]}
    body = {"valueInputOption": "RAW", "data": [entry]}
    written = await spreadsheet.post("/values:batchUpdateByDataFilter", body)
    after = await worksheet.values()
    cleared = await spreadsheet.post("/values:batchClearByDataFilter", {"dataFilters": [wanted]})

    [match] = read["valueRanges"]
    assert match["dataFilters"] == [wanted]
    assert match["valueRange"]["range"] == f"{worksheet.title}!A2:C2"
    assert match["valueRange"]["values"] == [["pen", "2"]]
    assert written["responses"][0]["updatedRange"] == f"{worksheet.title}!A2"
    assert written["responses"][0]["dataFilter"] == wanted
    assert after == [LINES[0], ["cup", "2"], LINES[2]]
    assert cleared["clearedRanges"] == [f"{worksheet.title}!A2:C2"]
    assert await worksheet.values() == [LINES[0], [], LINES[2]]


async def test_values_that_exceed_a_matched_range_are_refused(worksheet: Worksheet) -> None:
    """A write of values that do not fit into the row of the metadata fails completely."""
    entry = {"dataFilter": {"a1Range": worksheet.at("A1:B1")}, "values": [["x", "y", "z"]]}
    body = {"valueInputOption": "RAW", "data": [entry]}

    with pytest.raises(UpstreamRefusal) as refused:
        await worksheet.spreadsheet.post("/values:batchUpdateByDataFilter", body)

    assert refused.value.google_message.startswith("Invalid data[0]: ")
    assert await worksheet.values() == LINES


async def test_a_spreadsheet_is_read_by_metadata(worksheet: Worksheet) -> None:
    """getByDataFilter returns the worksheet and the row that have the metadata."""
    metadata_id = new_id()
    await worksheet.edit(create(metadata_id, row(worksheet.sheet_id, 2)))

    answer = await worksheet.spreadsheet.post(
        ":getByDataFilter",
        {"dataFilters": [by_id(metadata_id)]},
        fields="sheets(properties.title,data(startRow,rowData))",
    )

    [sheet] = answer["sheets"]
    assert sheet["properties"]["title"] == worksheet.title
    assert sheet["data"][0]["startRow"] == 2
    assert shown(answer) == [[LINES[2]]]


async def test_cells_are_appended_to_the_body_of_a_table(worksheet: Worksheet) -> None:
    """Cells appended to a table extend the table over the new rows."""
    table_id = str(new_id())
    table = {
        "tableId": table_id,
        "name": f"Table_{table_id}",
        "range": cells_of(worksheet.sheet_id, 0, 0, 3, 2),
    }

    await worksheet.edit({"addTable": {"table": table}}, append({"tableId": table_id}, ["cup"]))
    fields = "sheets.tables(tableId,range.endRowIndex)"
    answer = await worksheet.spreadsheet.described(worksheet.at("A1"), fields)

    assert answer["sheets"] == [{"tables": [{"tableId": table_id, "range": {"endRowIndex": 4}}]}]
    assert await worksheet.values() == [*LINES, ["cup"]]
