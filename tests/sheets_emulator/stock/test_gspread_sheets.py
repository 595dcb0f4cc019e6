"""Tests of unmodified gspread: methods for worksheets and whole spreadsheets."""

import gspread
import pytest

COLOR = "#ff7f00"


def again(sheet: gspread.Worksheet) -> gspread.Worksheet:
    """Fetch the worksheet again."""
    return sheet.spreadsheet.get_worksheet_by_id(sheet.id)


def test_worksheets_are_added_and_deleted(client: gspread.Client) -> None:
    """A new spreadsheet has `Sheet1`. The last worksheet of a spreadsheet cannot be deleted."""
    book = client.create("Tabs")
    added = book.add_worksheet("Two", rows=3, cols=4)
    first = book.add_worksheet("Zero", rows=1, cols=1, index=0)
    titles = [each.title for each in book.worksheets()]
    book.del_worksheet(first)
    book.del_worksheet_by_id(book.worksheet("Sheet1").id)

    assert (added.title, added.row_count, added.col_count) == ("Two", 3, 4)
    assert titles == ["Zero", "Sheet1", "Two"]
    assert [each.title for each in book.worksheets()] == ["Two"]
    with pytest.raises(gspread.WorksheetNotFound):
        book.worksheet("Sheet1")
    with pytest.raises(gspread.exceptions.APIError, match="remove all the sheets"):
        book.del_worksheet(added)


def test_used_title_is_refused(book: gspread.Spreadsheet) -> None:
    """Adding a worksheet with the title of another worksheet raises an APIError."""
    book.add_worksheet("Taken", rows=1, cols=1)

    with pytest.raises(gspread.exceptions.APIError, match="already exists"):
        book.add_worksheet("Taken", rows=1, cols=1)


def test_worksheets_are_reordered(client: gspread.Client) -> None:
    """`update_index` counts positions before the move."""
    book = client.create("Order")
    one, two = (book.add_worksheet(title, 1, 1) for title in ("One", "Two"))
    book.reorder_worksheets([two, one, book.worksheet("Sheet1")])
    reordered = [each.title for each in book.worksheets()]
    book.worksheet("Two").update_index(2)

    assert reordered == ["Two", "One", "Sheet1"]
    assert [each.title for each in book.worksheets()] == ["One", "Two", "Sheet1"]


def test_worksheet_is_duplicated_and_copied(client: gspread.Client) -> None:
    """`duplicate` copies within the spreadsheet, and `copy_to` copies to another spreadsheet."""
    book, other = client.create("From"), client.create("To")
    book.sheet1.update([["a", "=1+1"]], raw=False)
    twin = book.sheet1.duplicate(insert_sheet_index=1, new_sheet_name="Twin")
    copied = book.sheet1.copy_to(other.id)

    assert [each.title for each in book.worksheets()] == ["Sheet1", "Twin"]
    assert twin.get_all_values() == [["a", "2"]]
    assert copied["title"] == "Copy of Sheet1"
    assert other.get_worksheet_by_id(copied["sheetId"]).get_all_values() == [["a", "2"]]


def test_properties_of_a_worksheet_are_set(sheet: gspread.Worksheet) -> None:
    """Title, size, frozen rows and columns, tab colour, gridlines and visibility can be changed."""
    sheet.update_title("Renamed")
    sheet.resize(rows=20, cols=8)
    sheet.add_rows(1)
    sheet.add_cols(2)
    sheet.freeze(rows=1, cols=2)
    sheet.update_tab_color(COLOR)
    sheet.hide_gridlines()
    sheet.hide()
    now = again(sheet)

    assert (now.title, now.row_count, now.col_count) == ("Renamed", 21, 10)
    assert (now.frozen_row_count, now.frozen_col_count) == (1, 2)
    assert now.get_tab_color() == COLOR.upper()
    assert now.is_gridlines_hidden
    assert now.isSheetHidden


def test_properties_of_a_worksheet_are_reset(sheet: gspread.Worksheet) -> None:
    """Frozen rows and columns, tab colour, gridlines and visibility return to their defaults."""
    sheet.freeze(rows=1, cols=2)
    sheet.update_tab_color(COLOR)
    sheet.hide_gridlines()
    sheet.hide()
    sheet.freeze(rows=0, cols=0)
    sheet.clear_tab_color()
    sheet.show_gridlines()
    sheet.show()
    now = again(sheet)

    assert (now.frozen_row_count, now.frozen_col_count) == (0, 0)
    assert now.get_tab_color() is None
    assert not now.is_gridlines_hidden
    assert not now.isSheetHidden


def test_smaller_grid_loses_cells(sheet: gspread.Worksheet) -> None:
    """Cells outside a smaller grid are blank when the grid is enlarged again."""
    sheet.update([["a", "b"], ["c", "d"]])
    sheet.resize(rows=1, cols=1)
    sheet.resize(rows=2, cols=2)

    assert sheet.get_all_values() == [["a"]]


def test_properties_of_a_spreadsheet_are_set(client: gspread.Client) -> None:
    """Title, locale and time zone of a spreadsheet can be changed."""
    book = client.create("Properties")
    before = (book.title, book.locale, book.timezone)
    book.update_title("Other")
    book.update_locale("de_DE")
    book.update_timezone("Europe/Berlin")
    now = client.open_by_key(book.id)

    assert before == ("Properties", "en_US", "Etc/GMT")
    assert (now.title, now.locale, now.timezone) == ("Other", "de_DE", "Europe/Berlin")
    assert client.open_by_url(now.url).id == book.id


def test_named_ranges_are_read_and_listed(client: gspread.Client) -> None:
    """A name can be read as a range and is listed until it is deleted."""
    book = client.create("Names")
    book.sheet1.update([["a", "b"], ["c", "d"]])
    reply = book.sheet1.define_named_range("A1:B2", "block")
    named = reply["replies"][0]["addNamedRange"]["namedRange"]
    listed = book.list_named_ranges()
    values, cells = book.sheet1.get("block"), book.named_range("block")
    book.sheet1.delete_named_range(named["namedRangeId"])

    assert (named["name"], listed) == ("block", [named])
    assert values == [["a", "b"], ["c", "d"]]
    assert [cell.value for cell in cells] == ["a", "b", "c", "d"]
    assert book.list_named_ranges() == []


def test_protected_ranges_are_listed_until_deletion(client: gspread.Client) -> None:
    """The creator of a protected range can edit its cells. A deleted range is not listed."""
    book = client.create("Protections")
    reply = book.sheet1.add_protected_range("A1:B1", description="header")
    added = reply["replies"][0]["addProtectedRange"]["protectedRange"]
    listed = book.list_protected_ranges(book.sheet1.id)
    book.sheet1.update_acell("A1", "still mine")
    book.sheet1.delete_protected_range(added["protectedRangeId"])

    assert [each["protectedRangeId"] for each in listed] == [added["protectedRangeId"]]
    assert listed[0]["description"] == "header"
    assert book.sheet1.acell("A1").value == "still mine"
    assert book.list_protected_ranges(book.sheet1.id) == []
