"""Tests of requests that resize, hide and group rows and columns."""

from typing import Any

import pytest

from sheets_emulator.formats.text_size import text_width
from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, properties_of

PLAIN = {"pixelSize": 100}


def lines(bench: Bench, name: str = "columnMetadata") -> Any:
    """Return the `columnMetadata` or `rowMetadata` list of the first worksheet."""
    return bench.described(fields=f"sheets.data.{name}")["sheets"][0]["data"][0][name]


def resized(fields: str, **properties: object) -> Request:
    """Return a request that sets properties of columns B and C."""
    request = dimension("updateDimensionProperties", "COLUMNS", 1, 3)
    request["updateDimensionProperties"] |= {"properties": properties, "fields": fields}
    return request


def grouped(bench: Bench, kind: str, start: int, end: int, name: str = "COLUMNS") -> Any:
    """Send a request that adds or deletes a group, and return its reply."""
    return bench.edit(dimension(kind, name, start, end)).json()["replies"][0][kind]


def group(start: int, end: int, depth: int, **members: object) -> Request:
    range_ = {"dimension": "COLUMNS", "startIndex": start, "endIndex": end}
    return {"range": range_, "depth": depth, **members}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ("pixelSize", {"pixelSize": 50}),
        ("hiddenByUser", {"hiddenByUser": True, "pixelSize": 100}),
        ("*", {"hiddenByUser": True, "pixelSize": 50}),
    ],
)
def test_only_masked_properties_of_columns_are_set(
    bench: Bench, fields: str, shown: Request
) -> None:
    """Columns outside the range do not change. `hiddenByUser` is returned only if true."""
    reply = bench.edit(resized(fields, pixelSize=50, hiddenByUser=True)).json()["replies"]

    assert reply == [{}]
    assert lines(bench) == [PLAIN, shown, shown, PLAIN, PLAIN]


def test_columns_can_be_reset_to_their_defaults(bench: Bench) -> None:
    """An update with the mask `*` and no `pixelSize` restores the default width and visibility."""
    bench.edit(resized("*", pixelSize=50, hiddenByUser=True), resized("*", hiddenByUser=False))

    assert lines(bench) == [PLAIN] * 5


def test_column_widths_move_with_their_columns(bench: Bench) -> None:
    """A column keeps its width after columns before it are inserted and deleted."""
    bench.edit(
        resized("pixelSize", pixelSize=50),
        dimension("insertDimension", "COLUMNS", 0, 1),
        dimension("deleteDimension", "COLUMNS", 2, 3),
    )

    assert lines(bench) == [PLAIN, PLAIN, {"pixelSize": 50}, PLAIN, PLAIN]


def test_columns_fit_their_widest_text(bench: Bench) -> None:
    """`autoResizeDimensions` leaves the width of a column without text unchanged."""
    bench.update("Data!A1", [["A" * 100, "", "i"], ["A" * 50]])
    resize = dimension("autoResizeDimensions", "COLUMNS", 0, 3)
    bench.edit({"autoResizeDimensions": {"dimensions": resize["autoResizeDimensions"]["range"]}})
    widths = [each["pixelSize"] for each in lines(bench)]

    assert widths == [text_width("A" * 100), 100, text_width("i"), 100, 100]
    assert widths[0] > 10 * widths[2]


def test_rows_fit_the_lines_of_their_texts(bench: Bench) -> None:
    """The height is 21 pixels for one line of text and 55 pixels for three lines."""
    bench.update("Data!A1", [["a\nb\nc"], ["a"]])
    rows = {"sheetId": 0, "dimension": "ROWS", "startIndex": 0, "endIndex": 3}
    update = {"range": rows, "properties": {"pixelSize": 90}, "fields": "pixelSize"}
    bench.edit(
        {"updateDimensionProperties": update}, {"autoResizeDimensions": {"dimensions": rows}}
    )

    assert [each["pixelSize"] for each in lines(bench, "rowMetadata")] == [55, 21, 21, 21, 21]


def test_group_replies_list_all_groups(bench: Bench) -> None:
    """`columnGroupControlAfter` stays after the last group is deleted (recorded from Google)."""
    first = grouped(bench, "addDimensionGroup", 0, 2)
    second = grouped(bench, "addDimensionGroup", 1, 4)
    sheet = bench.described()["sheets"][0]
    third = grouped(bench, "deleteDimensionGroup", 0, 4)
    last = grouped(bench, "deleteDimensionGroup", 1, 2)
    after = bench.described()["sheets"][0]

    assert first == {"dimensionGroups": [group(0, 2, 1)]}
    assert second == {"dimensionGroups": [group(0, 4, 1), group(1, 2, 2)]}
    assert sheet["columnGroups"] == second["dimensionGroups"]
    assert "rowGroups" not in sheet
    assert sheet["properties"]["gridProperties"]["columnGroupControlAfter"] is True
    assert third == {"dimensionGroups": [group(1, 2, 1)]}
    assert last == {}
    assert "columnGroups" not in after
    assert after["properties"]["gridProperties"]["columnGroupControlAfter"] is True


def test_row_groups_are_separate_from_column_groups(bench: Bench) -> None:
    """Adding a row group sets `rowGroups` and `rowGroupControlAfter`, but no `columnGroups`."""
    reply = grouped(bench, "addDimensionGroup", 1, 3, "ROWS")
    sheet = bench.described()["sheets"][0]

    assert sheet["rowGroups"] == reply["dimensionGroups"]
    assert "columnGroups" not in sheet
    assert sheet["properties"]["gridProperties"]["rowGroupControlAfter"] is True


def test_collapsed_group_hides_its_columns(bench: Bench) -> None:
    """Collapsing a group hides its columns, and expanding shows them (Google's definition)."""
    bench.edit(dimension("addDimensionGroup", "COLUMNS", 1, 3))
    told = {"dimensionGroup": group(1, 3, 1, collapsed=True), "fields": "collapsed"}
    reply = bench.edit({"updateDimensionGroup": told}).json()["replies"]
    collapsed = bench.described(fields="sheets.columnGroups")["sheets"][0]["columnGroups"]
    hidden = [index for index, line in enumerate(lines(bench)) if "hiddenByUser" in line]
    told = {"dimensionGroup": group(1, 3, 1), "fields": "collapsed"}
    bench.edit({"updateDimensionGroup": told})

    assert reply == [{}]
    assert collapsed == [group(1, 3, 1, collapsed=True)]
    assert hidden == [1, 2]
    assert lines(bench) == [PLAIN] * 5


def test_group_ranges_omit_only_a_sheet_id_of_zero(bench: Bench) -> None:
    """A group on a worksheet with the ID 7 is returned with `sheetId` 7."""
    bench.edit({"addSheet": {"properties": {"sheetId": 7}}})
    range_ = {"sheetId": 7, "dimension": "ROWS", "startIndex": 0, "endIndex": 2}
    reply = bench.edit({"addDimensionGroup": {"range": range_}}).json()["replies"][0]

    assert reply["addDimensionGroup"]["dimensionGroups"] == [{"range": range_, "depth": 1}]


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        pytest.param(
            dimension("addDimensionGroup", "ROWS", 4, 6),
            "row index 5 but there are only 5",
            id="grid",
        ),
        pytest.param(
            dimension("deleteDimensionGroup", "ROWS", 0, 2), "no dimension group", id="no group"
        ),
        pytest.param(
            {"updateDimensionGroup": {"dimensionGroup": group(0, 2, 1), "fields": "collapsed"}},
            "no dimension group of depth 1",
            id="no such group",
        ),
        pytest.param(resized("pixelSize", pixelSize=-1), "pixelSize[-1]", id="negative size"),
        pytest.param(resized("width"), "Invalid field: width", id="unknown field"),
        pytest.param(resized(""), "At least one field", id="no field"),
        pytest.param(
            {
                "updateDimensionProperties": {
                    "range": {"sheetId": 0, "dimension": "ROWS"},
                    "properties": {"hiddenByUser": True},
                    "fields": "*",
                }
            },
            "hide all",
            id="all hidden",
        ),
    ],
)
def test_invalid_requests_for_rows_and_columns_are_refused(
    bench: Bench, request_: Request, complaint: str
) -> None:
    """Rows past the grid, missing groups, bad fields or sizes, and hiding all rows get 400."""
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert complaint in message(answer)


def hidden(start: int, end: int) -> Request:
    """Return a request that hides the rows from `start` to before `end`."""
    request = dimension("updateDimensionProperties", "ROWS", start, end)
    request["updateDimensionProperties"] |= {"properties": {"hiddenByUser": True}, "fields": "*"}
    return request


def test_hiding_the_last_visible_rows_is_refused(bench: Bench) -> None:
    """Rows that are hidden already count, so a request that leaves no visible row gets 400."""
    statuses = [bench.edit(hidden(*rows)).status_code for rows in [(0, 3), (1, 4), (2, 5)]]

    assert statuses == [200, 200, 400]


def test_hiding_all_of_many_rows_is_refused(bench: Bench) -> None:
    """Hiding all of 2,000,000 rows in one request is an error."""
    size = {"rowCount": 2_000_000, "columnCount": 1}
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=size))
    answer = bench.edit(hidden(0, 2_000_000))

    assert "hide all" in message(answer)
