"""Tests of unmodified gspread: methods that move, merge, annotate and format cells."""

from typing import Any

import gspread
import pytest
from gspread.utils import (
    MergeType,
    PasteOrientation,
    PasteType,
    ValidationConditionType,
    ValueInputOption,
    ValueRenderOption,
)

BLOCK = [["b", 2], ["a", 10], ["c", 1]]


def metadata(sheet: gspread.Worksheet, fields: str) -> dict[str, Any]:
    """Return these fields of the worksheet from `spreadsheets.get`."""
    found = sheet.spreadsheet.fetch_sheet_metadata(
        {"fields": f"sheets(properties.sheetId,{fields})"}
    )
    sheets: list[dict[str, Any]] = found["sheets"]
    return next(each for each in sheets if each["properties"]["sheetId"] == sheet.id)


def cell_data(sheet: gspread.Worksheet, cell: str, fields: str) -> dict[str, Any]:
    """Return these fields of one cell from `spreadsheets.get`."""
    place = gspread.utils.absolute_range_name(sheet.title, cell)
    found = sheet.spreadsheet.fetch_sheet_metadata(
        {"ranges": place, "fields": f"sheets.data.rowData.values({fields})"}
    )
    data: dict[str, Any] = found["sheets"][0]["data"][0]["rowData"][0]["values"][0]
    return data


def test_rows_and_columns_are_inserted_and_deleted(sheet: gspread.Worksheet) -> None:
    """Formulas keep referring to the same cells when rows and columns move."""
    sheet.update([["a", "=A1"], ["b", "=A2"]], raw=False)
    sheet.insert_row(["top"], 1)
    sheet.insert_rows([["x", "y"], ["z"]], row=3)
    sheet.insert_cols([["c1", "c2"]], col=2)
    inserted = sheet.get_all_values()
    sheet.delete_rows(3, 4)
    sheet.delete_columns(2)

    assert inserted == [
        ["top", "c1", ""],
        ["a", "c2", "a"],
        ["x", "", "y"],
        ["z", "", ""],
        ["b", "", "b"],
    ]
    assert sheet.get_all_values() == [["top", ""], ["a", "a"], ["b", "b"]]
    assert sheet.get("B2:B3", value_render_option=ValueRenderOption.formula) == [["=A2"], ["=A3"]]


def test_rows_are_sorted(sheet: gspread.Worksheet) -> None:
    """Ascending order puts numbers before texts and blank cells last."""
    sheet.update([*BLOCK, ["", ""], ["d", "x"]])
    sheet.sort((2, "des"))
    descending = sheet.col_values(1)
    sheet.sort((2, "asc"), range="A1:B5")

    assert [each for each in descending if each] == ["d", "a", "b", "c"]
    assert sheet.get_all_values() == [["c", "1"], ["b", "2"], ["a", "10"], ["d", "x"]]


def test_ranges_are_copied_and_cut(sheet: gspread.Worksheet) -> None:
    """A copy can be transposed or limited to values. A cut leaves blank cells."""
    sheet.update([["a", "=1+1"]], raw=False)
    sheet.copy_range("A1:B1", "A3")
    sheet.copy_range("A1:B1", "D1", PasteType.values, PasteOrientation.transpose)
    sheet.cut_range("A3:B3", "A5")

    assert sheet.get_all_values() == [
        ["a", "2", "", "a"],
        ["", "", "", "2"],
        ["", "", "", ""],
        ["", "", "", ""],
        ["a", "2", "", ""],
    ]
    assert sheet.get("A5:B5", value_render_option=ValueRenderOption.formula) == [["a", "=1+1"]]
    assert sheet.get("D2", value_render_option=ValueRenderOption.formula) == [[2]]


def test_cells_are_merged(sheet: gspread.Worksheet) -> None:
    """Merges are listed until they are removed. Only the first cell of a merge keeps its value."""
    sheet.update([["a", "b", "x"], ["c", "d", "y"], ["e", "f", "z"]])
    sheet.merge_cells("A1:B1")
    sheet.batch_merge([{"range": "A2:B3", "mergeType": MergeType.merge_columns}])
    merges = metadata(sheet, "merges")["merges"]
    combined = sheet.get("A1:C3", combine_merged_cells=True)
    sheet.unmerge_cells("A1:B3")

    assert len(merges) == 3
    assert combined == [["a", "a", "x"], ["c", "d", "y"], ["c", "d", "z"]]
    assert sheet.get("A1:C3") == [["a", "", "x"], ["c", "d", "y"], ["", "", "z"]]
    assert "merges" not in metadata(sheet, "merges")


def test_cells_have_notes(sheet: gspread.Worksheet) -> None:
    """Notes are set, read and cleared for one cell and for several cells."""
    sheet.update_note("A1", "first")
    sheet.insert_note("B2", "second")
    sheet.update_notes({"C1": "third", "A3": "fourth"})
    notes, one = sheet.get_notes(), sheet.get_note("B2")
    sheet.clear_note("A1")
    sheet.clear_notes(["C1", "A3"])

    assert notes == [["first", "", "third"], ["", "second"], ["fourth"]]
    assert one == "second"
    assert sheet.get_notes() == [[], ["", "second"]]


def test_cells_are_formatted(sheet: gspread.Worksheet) -> None:
    """A number format changes the displayed text, and a later format is merged with it."""
    sheet.update([[1234.5, 0.25]])
    sheet.format("A1", {"numberFormat": {"type": "NUMBER", "pattern": "#,##0.00"}})
    sheet.batch_format(
        [
            {"range": "B1", "format": {"numberFormat": {"type": "PERCENT", "pattern": "0%"}}},
            {"range": "A1:B1", "format": {"textFormat": {"bold": True}}},
        ]
    )
    entered = cell_data(sheet, "B1", "userEnteredFormat")["userEnteredFormat"]

    assert sheet.get("A1:B1") == [["1,234.50", "25%"]]
    assert entered["textFormat"] == {"bold": True}
    assert entered["numberFormat"] == {"type": "PERCENT", "pattern": "0%"}


def test_cells_are_validated(sheet: gspread.Worksheet) -> None:
    """A rule set by `add_validation` is returned with the cell."""
    sheet.add_validation("A1", ValidationConditionType.one_of_list, ["Yes", "No"], strict=True)
    rule = cell_data(sheet, "A1", "dataValidation")["dataValidation"]

    assert rule["condition"]["type"] == "ONE_OF_LIST"
    assert rule["condition"]["values"] == [
        {"userEnteredValue": "Yes"},
        {"userEnteredValue": "No"},
    ]
    assert rule["strict"] is True


def test_rows_and_columns_are_hidden_and_resized(sheet: gspread.Worksheet) -> None:
    """Rows and columns stay hidden until they are shown again."""
    sheet.hide_rows(1, 2)
    sheet.hide_columns(0, 2)
    sheet.unhide_columns(1, 2)
    sheet.columns_auto_resize(2, 3)
    sheet.rows_auto_resize(0, 1)
    data = metadata(sheet, "data(rowMetadata.hiddenByUser,columnMetadata.hiddenByUser)")["data"][0]

    assert [bool(each.get("hiddenByUser")) for each in data["rowMetadata"][:3]] == [
        False,
        True,
        False,
    ]
    assert [bool(each.get("hiddenByUser")) for each in data["columnMetadata"][:3]] == [
        True,
        False,
        False,
    ]


def test_rows_and_columns_are_grouped(sheet: gspread.Worksheet) -> None:
    """Groups can be nested. Deleting the inner group leaves the outer group."""
    sheet.add_dimension_group_rows(1, 6)
    sheet.add_dimension_group_rows(2, 4)
    sheet.add_dimension_group_columns(0, 2)
    rows, columns = sheet.list_dimension_group_rows(), sheet.list_dimension_group_columns()
    sheet.delete_dimension_group_rows(2, 4)
    sheet.delete_dimension_group_columns(0, 2)

    assert [(each["range"]["startIndex"], each["depth"]) for each in rows] == [(1, 1), (2, 2)]
    assert [each["range"]["endIndex"] for each in columns] == [2]
    assert [each["depth"] for each in sheet.list_dimension_group_rows()] == [1]
    assert sheet.list_dimension_group_columns() == []


def test_rows_are_filtered(sheet: gspread.Worksheet) -> None:
    """The worksheet has a `basicFilter` until `clear_basic_filter` removes it."""
    sheet.set_basic_filter("A1:B3")
    filtered = metadata(sheet, "basicFilter")["basicFilter"]
    sheet.clear_basic_filter()

    assert filtered["range"] == {
        "sheetId": sheet.id,
        "startRowIndex": 0,
        "endRowIndex": 3,
        "startColumnIndex": 0,
        "endColumnIndex": 2,
    }
    assert "basicFilter" not in metadata(sheet, "basicFilter")


def test_formulas_are_evaluated(sheet: gspread.Worksheet) -> None:
    """Results change with the cells that the formulas refer to."""
    sheet.update([[1, 2, "=SUM(A1:B1)", '=C1&" in all"']], raw=False)
    before = sheet.row_values(1)
    sheet.update_acell("A1", 40)

    assert before == ["1", "2", "3", "3 in all"]
    assert sheet.row_values(1) == ["40", "2", "42", "42 in all"]


@pytest.mark.parametrize("option", list(ValueInputOption), ids=str)
def test_a_batch_of_requests_is_all_or_nothing(
    sheet: gspread.Worksheet, option: ValueInputOption
) -> None:
    """If one request of a batch is invalid, no request of the batch is applied."""
    sheet.update([["kept"]], value_input_option=option)
    requests = [
        {"deleteDimension": {"range": {"sheetId": sheet.id, "dimension": "ROWS", "endIndex": 1}}},
        {"deleteSheet": {"sheetId": 1}},
    ]

    with pytest.raises(gspread.exceptions.APIError, match=r"Invalid requests\[1\].deleteSheet"):
        sheet.spreadsheet.batch_update({"requests": requests})
    assert sheet.get_all_values() == [["kept"]]
