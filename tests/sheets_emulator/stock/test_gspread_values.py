"""Tests of unmodified gspread: methods that read and write values."""

import re
from datetime import date

import gspread
import pytest
from gspread.utils import (
    DateTimeOption,
    InsertDataOption,
    TableDirection,
    ValueInputOption,
    ValueRenderOption,
)

CITIES: list[list[str | int]] = [["name", "size"], ["Oslo", 1], ["Rome", 2], ["oslo", 3]]
USER_ENTERED = ValueInputOption.user_entered
UNFORMATTED = ValueRenderOption.unformatted
FORMULA = ValueRenderOption.formula


def test_cells_are_updated_and_read(sheet: gspread.Worksheet) -> None:
    """An update returns its range and counts. Reads return the displayed values."""
    told = sheet.update(CITIES, "B2")
    sheet.update_acell("A1", "corner")
    sheet.update_cell(5, 3, 7)
    first, last = sheet.acell("A1"), sheet.cell(5, 3)

    assert told["updatedRange"].endswith("!B2:C5")
    assert (told["updatedRows"], told["updatedColumns"], told["updatedCells"]) == (4, 2, 8)
    assert (first.value, last.value, last.numeric_value) == ("corner", "7", 7)
    assert sheet.row_values(3) == ["", "Oslo", "1"]
    assert sheet.col_values(2) == ["", "name", "Oslo", "Rome", "oslo"]
    assert sheet.get_all_values() == [
        ["corner", "", ""],
        ["", "name", "size"],
        ["", "Oslo", "1"],
        ["", "Rome", "2"],
        ["", "oslo", "7"],
    ]


def test_rows_are_appended(sheet: gspread.Worksheet) -> None:
    """Rows are appended below the table, and the answer has the ranges of table and rows."""
    sheet.update(CITIES)
    below = sheet.append_row(["Bonn", 4])
    typed = sheet.append_rows([["Pisa", "5%"], ["Nice", "=1+1"]], USER_ENTERED, table_range="A1")
    inserted = sheet.append_row(
        ["Lyon", 6], insert_data_option=InsertDataOption.insert_rows, table_range="A1:B1"
    )

    assert below["tableRange"].endswith("!A1:B4")
    assert below["updates"]["updatedRange"].endswith("!A5:B5")
    assert typed["updates"]["updatedRange"].endswith("!A6:B7")
    assert inserted["updates"]["updatedRange"].endswith("!A8:B8")
    assert sheet.get("A5:B8") == [["Bonn", "4"], ["Pisa", "5%"], ["Nice", "2"], ["Lyon", "6"]]
    assert sheet.get("A6:B7", value_render_option=UNFORMATTED) == [["Pisa", 0.05], ["Nice", 2]]
    assert sheet.acell("B7", FORMULA).value == "=1+1"


def test_append_makes_the_grid_larger(sheet: gspread.Worksheet) -> None:
    """An append past the last row and column adds rows and columns."""
    sheet.update([[number] for number in range(10)])
    told = sheet.append_row(["end", "wide", *range(6)])

    assert told["updates"]["updatedRange"].endswith("!A11:H11")
    assert sheet.spreadsheet.get_worksheet_by_id(sheet.id).row_count >= 11
    assert sheet.spreadsheet.get_worksheet_by_id(sheet.id).col_count >= 8
    assert sheet.row_values(11)[:2] == ["end", "wide"]


def test_values_are_read_with_every_option(sheet: gspread.Worksheet) -> None:
    """Options select displayed, typed or formula values, and dates as serials or texts."""
    row = ["0042", "2,000.01", "2020-01-01", "50%", "TRUE", "=A1*2"]
    sheet.update([row], value_input_option=USER_ENTERED)
    texts = sheet.get("A1:F1", date_time_render_option=DateTimeOption.formatted_string)
    plain = sheet.get("A1:F1", value_render_option=UNFORMATTED)
    dates = sheet.get(
        "A1:F1",
        value_render_option=UNFORMATTED,
        date_time_render_option=DateTimeOption.formatted_string,
    )
    formulas = sheet.get("A1:F1", value_render_option=FORMULA)

    assert texts == [["42", "2,000.01", "2020-01-01", "50%", "TRUE", "84"]]
    assert plain == [[42, 2000.01, 43831, 0.5, True, 84]]
    assert dates == [[42, 2000.01, "2020-01-01", 0.5, True, 84]]
    assert formulas == [[42, 2000.01, 43831, 0.5, True, "=A1*2"]]
    assert (date(1899, 12, 30).toordinal() + 43831) == date(2020, 1, 1).toordinal()


def test_raw_values_are_not_parsed(sheet: gspread.Worksheet) -> None:
    """With `raw`, texts that look like numbers, booleans or formulas stay texts."""
    row = ["007", "=1+1", "TRUE", 1.5, True, "'quoted"]
    sheet.update([row], raw=True)

    assert sheet.get("A1:F1", value_render_option=UNFORMATTED) == [row]


def test_batches_are_written_and_read(sheet: gspread.Worksheet) -> None:
    """Each batch method writes, reads or clears several ranges in one call."""
    told = sheet.batch_update(
        [
            {"range": "A1:B2", "values": [["a", "b"], ["c", "d"]]},
            {"range": "D4", "values": [["x"]]},
        ]
    )
    read = sheet.batch_get(["A1:B2", "D4", "E5:F6"])
    columns = sheet.batch_get(["A1:B2"], major_dimension=gspread.utils.Dimension.cols)
    cleared = sheet.batch_clear(["A1:A2", "D4"])

    assert (told["totalUpdatedCells"], told["totalUpdatedSheets"]) == (5, 1)
    assert read == [[["a", "b"], ["c", "d"]], [["x"]], []]
    assert columns == [[["a", "c"], ["b", "d"]]]
    assert [text.rpartition("!")[2] for text in cleared["clearedRanges"]] == ["A1:A2", "D4"]
    assert sheet.get_all_values() == [["", "b"], ["", "d"]]


def test_cell_objects_are_written_back(sheet: gspread.Worksheet) -> None:
    """`update_cells` writes adjacent cells and cells that are apart from each other."""
    cells = sheet.range("A1:B2")
    for number, cell in enumerate(cells):
        cell.value = str(number)
    sheet.update_cells(cells, ValueInputOption.user_entered)
    sheet.update_cells([gspread.Cell(1, 1, "first"), gspread.Cell(3, 4, "far")])

    assert sheet.get_all_values() == [
        ["first", "1", "", ""],
        ["2", "3", "", ""],
        ["", "", "", "far"],
    ]


def test_cells_are_found(sheet: gspread.Worksheet) -> None:
    """A search can ignore case, use a regular expression, and be limited to a row or column."""
    sheet.update(CITIES)
    anywhere = sheet.findall("oslo", case_sensitive=False)
    pattern = sheet.findall(re.compile("^[A-Z]o"))
    found = sheet.find("2", in_column=2)

    assert [cell.address for cell in anywhere] == ["A2", "A4"]
    assert [cell.value for cell in pattern] == ["Rome"]
    assert found is not None
    assert (found.row, found.col) == (3, 2)
    assert sheet.find("2", in_row=2) is None


def test_records_have_the_header_as_keys(sheet: gspread.Worksheet) -> None:
    """`get_all_records` converts texts of numbers and rejects unknown expected headers."""
    sheet.update([*CITIES[:3], ["", ""], ["Bonn", "n/a"]])

    assert sheet.get_all_records() == [
        {"name": "Oslo", "size": 1},
        {"name": "Rome", "size": 2},
        {"name": "", "size": ""},
        {"name": "Bonn", "size": "n/a"},
    ]
    with pytest.raises(gspread.exceptions.GSpreadException, match="unknown headers"):
        sheet.get_all_records(expected_headers=["nope"])


def test_table_is_expanded(sheet: gspread.Worksheet) -> None:
    """`expand` returns the cells to the right and below, up to the first blank cell."""
    sheet.update([["a", "b", "", "z"], ["c", "d"], ["", "x"]])

    assert sheet.expand("A1") == [["a", "b"], ["c", "d"]]
    assert sheet.expand("A1", TableDirection.right) == [["a", "b"]]
    assert sheet.expand("A1", TableDirection.down) == [["a"], ["c"]]


def test_worksheet_is_cleared(sheet: gspread.Worksheet) -> None:
    """`clear` empties all cells and keeps the size of the grid."""
    sheet.update(CITIES)
    sheet.clear()

    assert sheet.get_all_values() == [[]]
    assert sheet.spreadsheet.get_worksheet_by_id(sheet.id).row_count == 10


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Nope!A1", "Unable to parse range: Nope!A1"),
        ("A1:B2:C3", "Unable to parse range: .*"),
        ("ZZ99", "exceeds grid limits. Max rows: 10, max columns: 6"),
    ],
    ids=["worksheet", "malformed", "past the grid"],
)
def test_bad_ranges_raise_the_message_of_google(
    sheet: gspread.Worksheet, text: str, complaint: str
) -> None:
    """gspread raises an APIError with the code 400 and Google's message."""
    whole = text if "!" in text else gspread.utils.absolute_range_name(sheet.title, text)

    with pytest.raises(gspread.exceptions.APIError, match=complaint) as caught:
        sheet.spreadsheet.values_get(whole)
    assert caught.value.code == 400


def test_methods_of_the_spreadsheet_read_and_write_values(sheet: gspread.Worksheet) -> None:
    """Methods of the spreadsheet take ranges with the worksheet's title."""
    book, title = sheet.spreadsheet, sheet.title
    book.values_update(f"{title}!A1", {"valueInputOption": "RAW"}, {"values": [["a"], ["b"]]})
    book.values_append(title, {"valueInputOption": "RAW"}, {"values": [["c"]]})
    read = book.values_get(f"{title}!A:A")
    batch = book.values_batch_get([f"{title}!A1", f"{title}!A3"])
    book.values_clear(f"{title}!A2")

    assert read["values"] == [["a"], ["b"], ["c"]]
    assert [each["values"] for each in batch["valueRanges"]] == [[["a"]], [["c"]]]
    assert sheet.col_values(1) == ["a", "", "c"]
