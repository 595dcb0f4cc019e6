"""A person edits the sheet just before a request reads it: the right cell is written, or an error.

The edit is a fault of the emulator, which applies it just before a call.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest

from tests.journeys.conftest import Api, EmulatorControl, OpenGateway
from tests.journeys.failure import refused

Request = Mapping[str, Any]
Edit = Callable[[int], Request]
"""Returns a batchUpdate request for the ID of a worksheet."""


def insert_column(sheet: int) -> Request:
    lines = {"sheetId": sheet, "dimension": "COLUMNS", "startIndex": 0, "endIndex": 1}
    return {"insertDimension": {"range": lines, "inheritFromBefore": False}}


def swap_columns(sheet: int) -> Request:
    lines = {"sheetId": sheet, "dimension": "COLUMNS", "startIndex": 3, "endIndex": 4}
    return {"moveDimension": {"source": lines, "destinationIndex": 0}}


def rename_header(sheet: int) -> Request:
    cell = {"userEnteredValue": {"stringValue": "inhabitants"}}
    start = {"sheetId": sheet, "rowIndex": 0, "columnIndex": 3}
    rows = [{"values": [cell]}]
    return {"updateCells": {"rows": rows, "fields": "userEnteredValue", "start": start}}


def sort_rows(sheet: int) -> Request:
    by_name = {"dimensionIndex": 0, "sortOrder": "DESCENDING"}
    return {"sortRange": {"range": {"sheetId": sheet, "startRowIndex": 1}, "sortSpecs": [by_name]}}


def delete_rows(sheet: int) -> Request:
    lines = {"sheetId": sheet, "dimension": "ROWS", "startIndex": 4, "endIndex": 11}
    return {"deleteDimension": {"range": lines}}


def delete_first_rows(sheet: int) -> Request:
    lines = {"sheetId": sheet, "dimension": "ROWS", "startIndex": 1, "endIndex": 4}
    return {"deleteDimension": {"range": lines}}


def empty_last_rows(sheet: int) -> Request:
    cells = {"sheetId": sheet, "startRowIndex": 8, "endRowIndex": 11}
    return {"updateCells": {"range": cells, "fields": "userEnteredValue"}}


def empty_a_cell_of_the_last_row(sheet: int) -> Request:
    cells = {"sheetId": sheet, "startRowIndex": 10, "endRowIndex": 11}
    cells |= {"startColumnIndex": 0, "endColumnIndex": 1}
    return {"updateCells": {"range": cells, "fields": "userEnteredValue"}}


def rename_worksheet(sheet: int) -> Request:
    return {
        "updateSheetProperties": {
            "properties": {"sheetId": sheet, "title": "Towns"},
            "fields": "title",
        }
    }


def add_row(sheet: int) -> Request:
    cell = {"userEnteredValue": {"stringValue": "by hand"}}
    rows = [{"values": [cell]}]
    return {"appendCells": {"sheetId": sheet, "rows": rows, "fields": "userEnteredValue"}}


def move_the_last_row_up(sheet: int) -> Request:
    lines = {"sheetId": sheet, "dimension": "ROWS", "startIndex": 130, "endIndex": 131}
    return {"moveDimension": {"source": lines, "destinationIndex": 3}}


def edit_before(emulator: EmulatorControl, edit: Edit, call: str = "*") -> None:
    """Let the edit of `Cities` take effect just before the next such call."""
    sheet = list(emulator.everything()).index("Cities")
    emulator.faults({"call": call, "edit": {"requests": [edit(sheet)]}})


def edited(api: Api, edit: Edit) -> list[list[str]]:
    """The rows of `Cities` after only this edit. Resets the emulator."""
    edit_before(api.emulator, edit)
    api.get("Cities")
    texts = api.emulator.texts("Cities")
    api.emulator.reset()
    return texts


EDITS = [
    insert_column,
    swap_columns,
    sort_rows,
    delete_rows,
    delete_first_rows,
    empty_last_rows,
    add_row,
]
NAMES = [edit.__name__ for edit in EDITS]
SENT = {"name": "Austin", "population": 961855}
NEW = {"name": "Austin", "state": "", "country": "", "population": "961855"}


def as_fields(header: list[str], row: list[str]) -> dict[str, str]:
    """The cells of a displayed row by header. Cells without a header are left out."""
    padded = row + [""] * (len(header) - len(row))
    return {name: text for name, text in zip(header, padded, strict=True) if name}


@pytest.mark.parametrize("seen", ["nothing", "long ago"])
@pytest.mark.parametrize("edit", EDITS, ids=NAMES)
def test_a_create_after_an_edit(
    reading_api: Api, open_gateway: OpenGateway, edit: Edit, seen: str
) -> None:
    """A create with an expired header reads the edited sheet and writes below its last row."""
    before = edited(reading_api, edit)
    api = open_gateway({"cache.header_ttl_seconds": 0})
    if seen == "long ago":
        api.get("Cities")
    edit_before(api.emulator, edit)
    answer = api.post("Cities", json=SENT)
    header, *rows = api.emulator.texts("Cities")

    assert answer.status_code == 201
    assert [header, *rows[:-1]] == before
    assert as_fields(header, rows[-1]) == NEW
    assert answer.json() == {"rowIndex": len(rows) + 1, "name": "Austin", "population": "961855"}


@pytest.mark.parametrize("edit", [sort_rows, delete_rows, delete_first_rows, add_row])
def test_a_create_with_a_fresh_header_after_an_edit_of_rows(
    reading_api: Api, open_gateway: OpenGateway, edit: Edit
) -> None:
    """A create with a cached header writes the right cells after a person sorts, deletes
    or adds rows.
    """
    before = edited(reading_api, edit)
    api = open_gateway()
    api.get("Cities")
    edit_before(api.emulator, edit, "spreadsheets.batchUpdate")
    answer = api.post("Cities", json=SENT)
    header, *rows = api.emulator.texts("Cities")

    assert answer.status_code == 201
    assert [header, *rows[:-1]] == before
    assert as_fields(header, rows[-1]) == NEW
    assert answer.json()["rowIndex"] == len(rows) + 1


def test_a_create_after_the_last_rows_were_emptied(
    reading_api: Api, open_gateway: OpenGateway
) -> None:
    """If a person empties the last rows while the header is cached, the new row
    overwrites nothing.
    """
    before = edited(reading_api, empty_last_rows)
    api = open_gateway()
    api.get("Cities")
    edit_before(api.emulator, empty_last_rows, "spreadsheets.batchUpdate")
    answer = api.post("Cities", json=SENT)
    texts = api.emulator.texts("Cities")

    assert answer.status_code == 201
    assert texts[: len(before)] == before
    assert texts[answer.json()["rowIndex"] - 1] == ["Austin", "", "", "961855"]
    assert [row for row in texts[len(before) :] if row] == [["Austin", "", "", "961855"]]


def test_a_create_after_the_last_row_lost_its_first_cell(
    reading_api: Api, open_gateway: OpenGateway
) -> None:
    """If a person empties a first cell while the header is cached, creates overwrite no row."""
    before = edited(reading_api, empty_a_cell_of_the_last_row)
    api = open_gateway()
    api.get("Cities")
    edit_before(api.emulator, empty_a_cell_of_the_last_row, "spreadsheets.batchUpdate")
    first = api.post("Cities", json=SENT)
    second = api.post("Cities", json=SENT)
    texts = api.emulator.texts("Cities")
    new = [answer.json()["rowIndex"] - 1 for answer in (first, second)]

    assert (first.status_code, second.status_code) == (201, 201)
    assert [row for index, row in enumerate(texts) if index not in new] == before
    assert [texts[index] for index in new] == [["Austin", "", "", "961855"]] * 2
    assert new[1] == len(texts) - 1


@pytest.mark.parametrize("edit", EDITS, ids=NAMES)
def test_an_update_after_an_edit(reading_api: Api, open_gateway: OpenGateway, edit: Edit) -> None:
    """An update writes the cell of its row and column after the edit, and no other cell."""
    expected = edited(reading_api, edit)
    expected[2][expected[0].index("population")] = "7"
    api = open_gateway()
    api.get("Cities")
    edit_before(api.emulator, edit)
    answer = api.post("Cities/3", json={"population": 7})

    assert answer.text == '{"rowIndex":3,"population":"7"}'
    assert api.emulator.texts("Cities") == expected


@pytest.mark.parametrize("edit", [delete_rows, empty_last_rows], ids=["deleted", "emptied"])
def test_an_update_of_a_row_that_is_gone(
    reading_api: Api, open_gateway: OpenGateway, edit: Edit
) -> None:
    """An update of a deleted or emptied row gets 404, and nothing is written."""
    expected = edited(reading_api, edit)
    api = open_gateway()
    api.get("Cities")
    edit_before(api.emulator, edit)
    answer = api.post("Cities/11", json={"population": 7})

    assert (answer.status_code, answer.json()["code"]) == (404, 103)
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.texts("Cities") == expected


@pytest.mark.parametrize("path", ["Cities", "Cities/3"])
def test_a_write_after_a_header_was_renamed(
    reading_api: Api, open_gateway: OpenGateway, path: str
) -> None:
    """A write of a field whose header was renamed gets 400, and nothing is written."""
    expected = edited(reading_api, rename_header)
    api = open_gateway({"cache.header_ttl_seconds": 0})
    api.get("Cities")
    edit_before(api.emulator, rename_header)
    answer = api.post(path, json={"population": 7})

    assert (answer.status_code, answer.json()["code"]) == (400, 104)
    assert "inhabitants" in answer.json()["message"]
    assert api.emulator.texts("Cities") == expected


@pytest.mark.parametrize(("path", "row"), [("Cities", 12), ("Cities/3", 3)])
def test_a_write_while_a_header_is_renamed(api: Api, path: str, row: int) -> None:
    """If the header changes during the write, the 409 names the written row, and its
    retry is the same.
    """
    headers = {"Idempotency-Key": str(uuid4())}
    edit_before(api.emulator, rename_header, "spreadsheets.batchUpdate")
    answers = [api.post(path, json=SENT, headers=headers) for _ in range(2)]

    for answer in answers:
        assert refused(answer) == (409, 4091)
        assert (answer.json()["outcome"], answer.json()["rowIndex"]) == ("applied", row)
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert api.emulator.texts("Cities")[row - 1][::3] == ["Austin", "961855"]
    assert api.emulator.stats()["writes"] == 1


@pytest.mark.parametrize("path", ["Cities", "Cities/3"])
def test_a_write_while_its_worksheet_is_renamed(api: Api, path: str) -> None:
    """If the worksheet is renamed during the write, the error says truly whether it was applied."""
    edit_before(api.emulator, rename_worksheet, "spreadsheets.batchUpdate")
    answer = api.post(path, json=SENT)
    towns = api.emulator.texts("Towns")

    assert refused(answer) in [(502, 5020), (404, 105)]
    assert answer.json()["outcome"] == (
        "applied" if ["Austin"] in [row[:1] for row in towns] else "not_applied"
    )
    assert refused(api.post(path, json=SENT)) == (404, 105)


def test_a_new_header_is_found_at_once(open_gateway: OpenGateway) -> None:
    """A field that the cached header lacks makes the gateway read the header again."""
    api = open_gateway()
    api.get("Cities")
    edit_before(api.emulator, rename_header)
    answer = api.post("Cities", json={"name": "Austin", "inhabitants": 7})

    assert answer.json() == {"rowIndex": 12, "name": "Austin", "inhabitants": "7"}
    assert api.emulator.texts("Cities")[11] == ["Austin", "", "", "7"]


@pytest.mark.parametrize("seen", ["nothing", "displayed", "all"])
@pytest.mark.parametrize(
    "parameters", ["order=-number", 'where={"number":50}'], ids=["order", "where"]
)
@pytest.mark.parametrize(
    "edit", [move_the_last_row_up, delete_first_rows], ids=["moved", "deleted"]
)
@pytest.mark.parametrize("call", [0, 1, 2])
def test_numbers_that_move_between_the_reads_of_a_list(
    open_gateway: OpenGateway, call: int, edit: Edit, parameters: str, seen: str
) -> None:
    """A list sorted or filtered by numbers returns the rows whose numbers it compared."""
    api = open_gateway()
    if seen != "nothing":
        api.get("Long" if seen == "displayed" else "Long?order=number")
    sheet = list(api.emulator.everything()).index("Long")
    api.emulator.faults({"call": "*", "skip": call, "edit": {"requests": [edit(sheet)]}})
    rows = api.get(f"Long?{parameters}").json()["results"]
    numbers = [int(row["number"]) for row in rows]

    assert numbers == (sorted(numbers, reverse=True) if len(numbers) > 1 else [50])


@pytest.mark.parametrize(
    ("edit", "names"),
    [
        pytest.param(sort_rows, ["San Jose", "San Diego"], id="sorted"),
        pytest.param(insert_column, ["New York", "Los Angeles"], id="inserted-column"),
        pytest.param(delete_first_rows, ["Houston", "Phoenix"], id="deleted-rows"),
    ],
)
def test_a_list_after_an_edit(api: Api, edit: Edit, names: list[str]) -> None:
    """A list shows the sheet after the edit."""
    edit_before(api.emulator, edit)
    found = api.names("Cities", limit="2")

    assert found == names
