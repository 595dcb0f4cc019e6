"""Tests that unmodified gspread gets Google's recorded answers from the emulator."""

from collections.abc import Callable, Mapping

import gspread
import pytest
from gspread.utils import MergeType, ValueInputOption, ValueRenderOption

from tests.recordings import needs_exchanges
from tests.sheets_emulator.stock.cassette import Cassette, Take, cassettes, told_by
from tests.sheets_emulator.stock.served import Served

CASSETTES = cassettes()
RAW, USER_ENTERED = ValueInputOption.raw, ValueInputOption.user_entered
FORMULA, UNFORMATTED = ValueRenderOption.formula, ValueRenderOption.unformatted

Play = Callable[[Take], object]


def play_append_row(take: Take) -> None:
    take.sheet.append_row(take.values(3)[0])
    take.sheet.get("A1:1")


def play_append_row_with_empty_value(take: Take) -> None:
    take.sheet.append_row(take.values(3)[0])
    take.sheet.append_row(take.values(4)[0])
    take.sheet.get("A2:2")


def play_batch_get(take: Take) -> None:
    take.sheet.update(take.values(3), "A1")
    take.sheet.batch_get(["A1:B1", "B4:D4"])


def play_batch_update(take: Take) -> None:
    data = take.cassette.exchanges[3]["request_body"]["data"]
    take.sheet.batch_update(
        [{"range": each["range"].rpartition("!")[2], "values": each["values"]} for each in data]
    )
    take.sheet.get("A1:D4")


def play_batch_clear(take: Take) -> None:
    take.sheet.spreadsheet.fetch_sheet_metadata()
    for text in ("A1:B1", "C2:E2"):
        take.sheet.get(text)
    take.sheet.update(take.values(6), "A1:B1")
    take.sheet.update(take.values(7), "C2:E2")
    for text in ("A1:B1", "C2:E2"):
        take.sheet.get(text)
    take.sheet.batch_clear(["A1:B1", "C2:E2"])
    for text in ("A1:B1", "C2:E2"):
        take.sheet.get(text)


def fill(take: Take, text: str, number: int, option: ValueInputOption = RAW) -> None:
    """Read a range of cells, and write the values of the recorded exchange `number` to them."""
    cells = take.sheet.range(text)
    values = [value for row in take.values(number) for value in row]
    for cell, value in zip(cells, values, strict=True):
        cell.value = value
    take.sheet.update_cells(cells, option)


def play_clear(take: Take) -> None:
    fill(take, "A1:D6", 4)
    take.sheet.clear()
    take.sheet.get()


def play_copy_cut_range(take: Take) -> None:
    take.sheet.update(take.values(3), "A1:A2")
    take.sheet.copy_range("A1:A2", "B1:B2")
    take.sheet.get("B1:B2")
    take.sheet.cut_range("A1:A2", "C1")
    take.sheet.get("A1:A2")
    take.sheet.get("C1:C2")


def play_delete_cols(take: Take) -> None:
    fill(take, "A1:D6", 4)
    take.sheet.col_values(1)
    take.sheet.col_values(4)
    take.sheet.delete_columns(2, 3)
    take.sheet.col_values(1)
    take.sheet.col_values(2)


def play_insert_cols(take: Take) -> None:
    fill(take, "A1:D6", 4)
    take.sheet.insert_cols(take.values(6), 2)
    take.sheet.col_values(2)
    take.sheet.col_values(3)


def play_findall(take: Take) -> None:
    fill(take, "A1:A10", 4)
    take.sheet.findall(take.values(4)[0][0])
    fill(take, "A1:A10", 7)
    take.sheet.findall("nothing")


def play_get_all_records_different_header(take: Take) -> None:
    take.sheet.resize(6, 4)
    take.sheet.update(take.values(4), "A1:D6")
    for _ in range(4):
        take.sheet.get_all_records(head=3)


def play_get_all_records_value_render_options(take: Take) -> None:
    take.sheet.resize(2, 4)
    fill(take, "A1:D2", 5, USER_ENTERED)
    take.sheet.get_all_values()
    take.sheet.get_all_values(value_render_option=UNFORMATTED)
    take.sheet.get_all_values(value_render_option=FORMULA)


def play_get_notes(take: Take) -> None:
    take.sheet.spreadsheet.fetch_sheet_metadata()
    take.sheet.get_notes()
    requests = take.cassette.exchanges[5]["request_body"]["requests"]
    notes = {}
    for each in (request["updateCells"] for request in requests):
        place = each["range"]["startRowIndex"] + 1, each["range"]["startColumnIndex"] + 1
        notes[gspread.utils.rowcol_to_a1(*place)] = each["rows"][0]["values"][0]["note"]
    take.sheet.update_notes(notes)
    take.sheet.get_notes(grid_range="A2:C3")
    take.sheet.get_notes()


def play_group_columns(take: Take) -> None:
    take.sheet.add_dimension_group_columns(0, 2)
    take.sheet.list_dimension_group_columns()
    take.sheet.delete_dimension_group_columns(0, 2)
    take.sheet.list_dimension_group_columns()


def play_merge_cells(take: Take) -> None:
    take.sheet.update(take.values(2), "A1:B2")
    take.sheet.merge_cells("A1:B2", MergeType.merge_rows)
    take.book.fetch_sheet_metadata()
    take.sheet.merge_cells("A1:B2")
    take.book.fetch_sheet_metadata()
    take.sheet.unmerge_cells("A1:B2")
    take.book.fetch_sheet_metadata()


def play_numeric_value(take: Take) -> None:
    for number in (2, 4, 6):
        take.sheet.update_acell("A1", take.values(number)[0][0])
        take.sheet.acell("A1")


def play_resize(take: Take) -> None:
    take.sheet.add_rows(10)
    take.book.fetch_sheet_metadata()
    take.sheet.add_cols(10)
    take.book.fetch_sheet_metadata()
    take.sheet.resize(1000, 26)
    take.book.fetch_sheet_metadata()


def play_sort(take: Take) -> None:
    take.sheet.resize(6, 3)
    fill(take, "A1:C6", 5)
    whole = "A1:C6"
    take.sheet.sort((3, "asc"), range=whole)
    take.sheet.get()
    take.sheet.sort((1, "des"), range=whole)
    take.sheet.get()
    take.sheet.sort((2, "asc"), (3, "asc"), range=whole)
    take.sheet.get()
    take.sheet.sort((3, "asc"), range=whole)
    take.sheet.get()
    take.sheet.sort((3, "des"), range="A2:C6")
    take.sheet.get()


def play_update_and_get(take: Take) -> None:
    take.sheet.update(take.values(3), "A1")
    take.sheet.get("A1:D4")


def play_update_cells_noncontiguous(take: Take) -> None:
    fill(take, "A1:D6", 4)
    take.sheet.range("A1:D6")
    last = take.values(6)[-1][-1]
    take.sheet.update_cells([gspread.Cell(1, 1, take.values(6)[0][0]), gspread.Cell(6, 4, last)])
    take.sheet.range("A1:D6")


def play_format(take: Take) -> None:
    request = take.cassette.exchanges[3]["request_body"]["requests"][0]["repeatCell"]
    take.sheet.format("A2:B2", request["cell"]["userEnteredFormat"])
    take.book.fetch_sheet_metadata(dict(_parameters(take, 4)))


def play_add_del_worksheet(take: Take) -> None:
    bodies = [each["request_body"]["requests"][0] for each in take.cassette.exchanges[2:5]]
    titles = [each["addSheet"]["properties"]["title"] for each in bodies]
    added = [take.book.add_worksheet(title, 1, 1) for title in titles]
    take.book.worksheets()
    for sheet in added:
        take.book.del_worksheet(sheet)
    take.book.worksheets()


def play_update_title(take: Take) -> None:
    request = take.cassette.exchanges[1]["request_body"]["requests"][0]
    take.book.update_title(request["updateSpreadsheetProperties"]["properties"]["title"])
    take.book.fetch_sheet_metadata()


def _parameters(take: Take, number: int) -> tuple[tuple[str, str], ...]:
    """Return the query parameters of a recorded exchange, as sorted pairs."""
    return take.cassette.told[number].query


PLAYS: Mapping[str, Play] = {
    "test_append_row": play_append_row,
    "test_append_row_with_empty_value": play_append_row_with_empty_value,
    "test_batch_get": play_batch_get,
    "test_batch_update": play_batch_update,
    "test_batch_clear": play_batch_clear,
    "test_clear": play_clear,
    "test_copy_cut_range": play_copy_cut_range,
    "test_delete_cols": play_delete_cols,
    "test_insert_cols": play_insert_cols,
    "test_findall": play_findall,
    "test_get_all_records_different_header": play_get_all_records_different_header,
    "test_get_all_records_value_render_options": play_get_all_records_value_render_options,
    "test_get_notes": play_get_notes,
    "test_group_columns": play_group_columns,
    "test_merge_cells": play_merge_cells,
    "test_numeric_value": play_numeric_value,
    "test_resize": play_resize,
    "test_sort": play_sort,
    "test_update_and_get": play_update_and_get,
    "test_update_cells_noncontiguous": play_update_cells_noncontiguous,
    "test_format": play_format,
    "test_add_del_worksheet": play_add_del_worksheet,
    "test_update_title": play_update_title,
}


def begun(client: gspread.Client, cassette: Cassette) -> Take:
    """Create the spreadsheet of a recorded sequence, and repeat the sequence's first calls."""
    book = client.create(cassette.title)
    before = [each.path for each in cassette.told]
    if len(before) > 1 and cassette.told[1].method == "GET":
        sheet = book.sheet1
    else:
        sheet = gspread.Worksheet(book, {"sheetId": 0, "title": "Sheet1"}, book.id, book.client)
    if any(path.endswith(":clear") for path in before[:3]):
        sheet.clear()
    return Take(cassette=cassette, book=book, sheet=sheet)


@needs_exchanges
@pytest.mark.parametrize("name", PLAYS)
def test_gspread_gets_the_recorded_answers_of_google(
    client: gspread.Client, served: Served, name: str
) -> None:
    """Requests, statuses and answers of a gspread method equal the recorded exchanges."""
    cassette = CASSETTES[name]
    served.recorder.exchanges.clear()
    take = begun(client, cassette)
    PLAYS[name](take)

    assert told_by(served.recorder.exchanges, take.book.id) == cassette.told
