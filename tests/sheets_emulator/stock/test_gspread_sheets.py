"""Stock gspread changes worksheets and whole spreadsheets."""

import gspread
import pytest

COLOR = "#ff7f00"


def again(sheet: gspread.Worksheet) -> gspread.Worksheet:
    """The worksheet, fetched again."""
    return sheet.spreadsheet.get_worksheet_by_id(sheet.id)


def test_worksheets_are_added_and_deleted(client: gspread.Client) -> None:
    """A new spreadsheet has `Sheet1`; others come and go, at the place that is asked for."""
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


def test_title_that_is_taken_is_refused(book: gspread.Spreadsheet) -> None:
    """Two worksheets cannot share a title, ignoring case."""
    book.add_worksheet("Taken", rows=1, cols=1)

    with pytest.raises(gspread.exceptions.APIError, match="already exists"):
        book.add_worksheet("Taken", rows=1, cols=1)


def test_worksheets_are_reordered(client: gspread.Client) -> None:
    """reorder_worksheets and update_index move tabs; the index counts as before the move."""
    book = client.create("Order")
    one, two = (book.add_worksheet(title, 1, 1) for title in ("One", "Two"))
    book.reorder_worksheets([two, one, book.worksheet("Sheet1")])
    reordered = [each.title for each in book.worksheets()]
    book.worksheet("Two").update_index(2)

    assert reordered == ["Two", "One", "Sheet1"]
    assert [each.title for each in book.worksheets()] == ["One", "Two", "Sheet1"]


def test_worksheet_is_duplicated_and_copied(client: gspread.Client) -> None:
    """duplicate stays in the spreadsheet, copy_to goes to another one."""
    book, other = client.create("From"), client.create("To")
    book.sheet1.update([["a", "=1+1"]], raw=False)
    twin = book.sheet1.duplicate(insert_sheet_index=1, new_sheet_name="Twin")
    copied = book.sheet1.copy_to(other.id)

    assert [each.title for each in book.worksheets()] == ["Sheet1", "Twin"]
    assert twin.get_all_values() == [["a", "2"]]
    assert copied["title"] == "Copy of Sheet1"
    assert other.get_worksheet_by_id(copied["sheetId"]).get_all_values() == [["a", "2"]]


def test_properties_of_a_worksheet(sheet: gspread.Worksheet) -> None:
    """Title, size, frozen lines, colour, gridlines and whether it is hidden."""
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


def test_properties_of_a_worksheet_are_taken_back(sheet: gspread.Worksheet) -> None:
    """The properties are as before."""
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


def test_grid_that_is_cut_loses_its_cells(sheet: gspread.Worksheet) -> None:
    """resize to less takes away what lay outside."""
    sheet.update([["a", "b"], ["c", "d"]])
    sheet.resize(rows=1, cols=1)
    sheet.resize(rows=2, cols=2)

    assert sheet.get_all_values() == [["a"]]


def test_properties_of_a_spreadsheet(client: gspread.Client) -> None:
    """Title, locale and time zone."""
    book = client.create("Properties")
    before = (book.title, book.locale, book.timezone)
    book.update_title("Other")
    book.update_locale("de_DE")
    book.update_timezone("Europe/Berlin")
    now = client.open_by_key(book.id)

    assert before == ("Properties", "en_US", "Etc/GMT")
    assert (now.title, now.locale, now.timezone) == ("Other", "de_DE", "Europe/Berlin")
    assert client.open_by_url(now.url).id == book.id


def test_named_ranges(client: gspread.Client) -> None:
    """A name stands for its cells wherever a range does."""
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


def test_protected_ranges(client: gspread.Client) -> None:
    """The creator of a protection may edit; it is listed until it is deleted."""
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
