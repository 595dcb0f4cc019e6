"""Tests of requests that add, copy, change and delete worksheets."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, dimension, grid_range, properties_of


def titles(bench: Bench) -> list[str]:
    return [sheet["title"] for sheet in bench.sheets()]


def test_add_sheet_returns_all_properties(bench: Bench) -> None:
    """The reply has ID, title, index, type and grid size (recorded from Google)."""
    wanted = {"title": "New", "gridProperties": {"rowCount": 2, "columnCount": 3}}
    reply = bench.edit({"addSheet": {"properties": wanted}}).json()["replies"][0]["addSheet"]
    sheet_id = reply["properties"].pop("sheetId")

    assert reply["properties"] == {
        "title": "New",
        "index": 1,
        "sheetType": "GRID",
        "gridProperties": {"rowCount": 2, "columnCount": 3},
    }
    assert sheet_id == bench.sheets()[1]["sheetId"] != 0


def test_added_sheet_has_a_default_size_and_title(bench: Bench) -> None:
    """Without properties, a worksheet has 1000 rows, 26 columns and a title such as `Sheet2`."""
    bench.edit({"addSheet": {}}, {"addSheet": {"properties": {"index": 0}}})

    assert titles(bench) == ["Sheet3", "Data", "Sheet2"]
    assert bench.size(2) == (1000, 26)


def test_duplicate_sheet_has_the_same_cells(bench: Bench) -> None:
    """A later write to the source does not change the copy."""
    bench.update("Data!A1", [["x"]])
    bench.edit({"duplicateSheet": {"sourceSheetId": 0, "newSheetName": "Copy"}})
    bench.update("Data!A1", [["y"]])

    assert titles(bench) == ["Copy", "Data"]
    assert bench.grid("Copy") == [["x"]]


@pytest.mark.parametrize(
    ("members", "order"),
    [
        pytest.param({}, ["Copy of Data", "Data"], id="usual"),
        pytest.param({"insertSheetIndex": 1}, ["Data", "Copy of Data"], id="index"),
        pytest.param({"newSheetName": "x", "newSheetId": 7}, ["x", "Data"], id="name and id"),
        pytest.param(
            {"insertSheetIndex": None, "newSheetName": ""}, ["Copy of Data", "Data"], id="gspread"
        ),
    ],
)
def test_duplicate_is_the_first_by_default(
    bench: Bench, members: Request, order: list[str]
) -> None:
    """A copy is inserted at index 0 by default, and the reply has the properties of the copy."""
    request = {"duplicateSheet": {"sourceSheetId": 0, **members}}
    properties = bench.edit(request).json()["replies"][0]["duplicateSheet"]["properties"]

    assert titles(bench) == order
    assert properties == bench.sheets()[order.index(properties["title"])]
    assert properties["sheetId"] == members.get("newSheetId", properties["sheetId"]) != 0


def test_duplicates_are_numbered(bench: Bench) -> None:
    """Copies without a name are called `Copy of X`, `Copy of X 1` and `Copy of X 2`."""
    bench.edit(*[{"duplicateSheet": {"sourceSheetId": 0}}] * 3)

    assert titles(bench) == ["Copy of Data 2", "Copy of Data 1", "Copy of Data", "Data"]


def test_duplicate_has_merges_filter_and_groups(bench: Bench) -> None:
    """Protected ranges and named ranges of the source are not copied."""
    group = dimension("addDimensionGroup", "ROWS", 0, 2)
    bench.edit(
        {"mergeCells": {"range": grid_range(0, 0, 1, 2), "mergeType": "MERGE_ALL"}},
        {"setBasicFilter": {"filter": {"range": grid_range(1, 0, 5, 5)}}},
        group,
        {"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0}}}},
        {"addNamedRange": {"namedRange": {"name": "n", "range": {"sheetId": 0}}}},
        {"duplicateSheet": {"sourceSheetId": 0, "newSheetId": 7}},
    )
    copy, source = bench.described()["sheets"]
    names = bench.described(fields="namedRanges")["namedRanges"]

    assert copy["merges"] == [{"sheetId": 7, **source["merges"][0]}]
    assert copy["basicFilter"]["range"] == {"sheetId": 7, **source["basicFilter"]["range"]}
    assert copy["rowGroups"][0]["range"] == {"sheetId": 7, **source["rowGroups"][0]["range"]}
    assert "protectedRanges" in source
    assert "protectedRanges" not in copy
    assert len(names) == 1


@pytest.mark.parametrize(
    ("index", "order"),
    [(0, "cabd"), (1, "acbd"), (2, "abcd"), (3, "abcd"), (4, "abdc"), (9, "abdc"), (None, "abdc")],
)
def test_index_counts_positions_before_the_move(
    build: BenchBuilder, index: int | None, order: str
) -> None:
    """A worksheet moves before the one at `index`, or to the end if no index is given."""
    bench = build({"a": "", "b": "", "c": "", "d": ""})
    bench.edit(properties_of("index", sheetId=2, index=index))

    assert "".join(titles(bench)) == order


def test_only_masked_properties_of_worksheets_are_set(bench: Bench) -> None:
    """Properties outside the mask do not change, even if the request has values for them."""
    grid = {"rowCount": 7, "columnCount": 2, "frozenRowCount": 1}
    bench.edit(
        {"addSheet": {}},
        properties_of(
            "title,hidden,gridProperties(rowCount,frozenRowCount)",
            sheetId=0,
            title="T",
            hidden=True,
            gridProperties=grid,
        ),
    )

    assert bench.sheets()[0] == {
        "sheetId": 0,
        "title": "T",
        "index": 0,
        "sheetType": "GRID",
        "gridProperties": {"rowCount": 7, "columnCount": 5, "frozenRowCount": 1},
        "hidden": True,
    }


PINK = {"red": 1, "green": 0, "blue": 0.5}
SHOWN = {"red": 1, "blue": 0.49803922}
FULL = {
    "title": "T",
    "hidden": False,
    "rightToLeft": True,
    "tabColorStyle": {"rgbColor": PINK},
    "gridProperties": {
        "rowCount": 7,
        "columnCount": 8,
        "frozenRowCount": 1,
        "frozenColumnCount": 2,
        "hideGridlines": True,
        "rowGroupControlAfter": True,
        "columnGroupControlAfter": True,
    },
}


@pytest.mark.parametrize("is_new", [True, False])
def test_all_properties_of_worksheets_are_set(bench: Bench, is_new: bool) -> None:
    """`addSheet` and the mask `*` set every property. A tab colour is returned in two fields."""
    if is_new:
        bench.edit({"addSheet": {"properties": FULL}})
    else:
        bench.edit({"addSheet": {}}, properties_of("*", sheetId=0, **FULL))
    shown = bench.sheets()[1]

    assert shown == {
        "sheetId": shown["sheetId"],
        "index": 1,
        "sheetType": "GRID",
        **{name: FULL[name] for name in ("title", "rightToLeft", "gridProperties")},
        "tabColor": SHOWN,
        "tabColorStyle": {"rgbColor": SHOWN},
    }


@pytest.mark.parametrize("fields", ["gridProperties/rowCount", "gridProperties.rowCount"])
def test_mask_can_have_slashes_or_dots(bench: Bench, fields: str) -> None:
    """`gridProperties/rowCount` means the same as `gridProperties.rowCount`."""
    bench.edit(properties_of(fields, sheetId=0, gridProperties={"rowCount": 7, "columnCount": 9}))

    assert bench.size() == (7, 5)


@pytest.mark.parametrize(
    ("fields", "properties"),
    [
        ("tabColor", {"tabColor": PINK}),
        ("tabColorStyle", {"tabColorStyle": {"rgbColor": PINK}}),
        ("tabColorStyle.rgbColor", {"tabColorStyle": {"rgbColor": PINK}}),
        ("tabColor,tabColorStyle", {"tabColor": {}, "tabColorStyle": {"rgbColor": PINK}}),
    ],
)
def test_tab_colour_is_returned_in_both_fields_and_can_be_cleared(
    bench: Bench, fields: str, properties: Request
) -> None:
    """Colour components have 8 bits, and zeros are omitted (recorded from Google)."""
    bench.edit(properties_of(fields, sheetId=0, **properties))
    first = bench.sheets()[0]
    bench.edit(properties_of("tabColorStyle", sheetId=0, tabColorStyle={"rgbColor": None}))
    second = bench.sheets()[0]

    assert (first["tabColor"], first["tabColorStyle"]) == (SHOWN, {"rgbColor": SHOWN})
    assert not {"tabColor", "tabColorStyle"} & set(second)


def test_worksheet_properties_can_be_reset(bench: Bench) -> None:
    """The mask `*` resets missing properties. Zero is omitted (recorded from Google)."""
    before = bench.sheets()
    bench.edit(properties_of("*", sheetId=0, **{**FULL, "title": "Data"}))
    grid = {"rowCount": 5, "columnCount": 5}
    bench.edit(properties_of("*", sheetId=0, title="Data", gridProperties=grid))

    assert bench.sheets() == before


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        pytest.param(
            {"addSheet": {"properties": {"title": "x" * 101}}},
            "The sheet name cannot be greater than 100 characters.",
            id="long title",
        ),
        pytest.param(properties_of("*", sheetId=0), "The sheet name cannot be empty.", id="empty"),
        pytest.param(
            properties_of("colour", sheetId=0), "Invalid field: colour", id="unknown field"
        ),
        pytest.param(
            {"addSheet": {"properties": {"sheetId": 0}}},
            "addSheet: Sheet with id 0 already exists.",
            id="id taken",
        ),
        pytest.param(
            {"addSheet": {"properties": {"sheetId": -1}}},
            "addSheet: Sheet id must be non-negative.",
            id="negative id",
        ),
        pytest.param(
            {"duplicateSheet": {"newSheetId": 0}},
            "duplicateSheet: Sheet with id 0 already exists.",
            id="id of a copy taken",
        ),
        pytest.param(
            {"duplicateSheet": {"newSheetId": -5}},
            "duplicateSheet: Sheet id must be non-negative.",
            id="negative id of a copy",
        ),
        pytest.param({"addSheet": {"properties": {"index": -1}}}, "negative", id="negative index"),
        pytest.param(
            {"duplicateSheet": {"sourceSheetId": 9}}, "No sheet with id: 9", id="no source"
        ),
        pytest.param(
            {"duplicateSheet": {"newSheetName": "Data"}}, "already exists", id="title taken"
        ),
        pytest.param(
            {"addSheet": {"properties": {"gridProperties": {"frozenRowCount": -1}}}},
            "frozenRowCount",
            id="frozen less than none",
        ),
        pytest.param(
            {"addSheet": {"properties": {"gridProperties": {"rowCount": 0}}}},
            "gridProperties.rowCount",
            id="no row",
        ),
    ],
)
def test_invalid_worksheets_are_refused(bench: Bench, request_: Request, complaint: str) -> None:
    """Titles and IDs that are used or not allowed, and invalid sizes, get 400."""
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert complaint in message(answer)


@pytest.mark.parametrize(
    ("fields", "grid", "lines"),
    [
        pytest.param("gridProperties", {"frozenRowCount": 1}, "rows", id="no size"),
        pytest.param("gridProperties", {"columnCount": 5}, "rows", id="columns only"),
        pytest.param("gridProperties", {"rowCount": 5}, "columns", id="rows only"),
        pytest.param("gridProperties", {"rowCount": 5, "columnCount": 0}, "columns", id="zero"),
        pytest.param("gridProperties.rowCount", {"rowCount": 0}, "rows", id="zero alone"),
        pytest.param("*", {"rowCount": 0, "columnCount": 5}, "rows", id="zero among all"),
    ],
)
def test_grid_sizes_in_the_mask_are_required(
    bench: Bench, fields: str, grid: Request, lines: str
) -> None:
    """A row or column count that is in the mask but has no value is zero, which gets 400."""
    answer = bench.edit(properties_of(fields, sheetId=0, title="Data", gridProperties=grid))

    assert answer.status_code == 400
    assert message(answer) == (
        f"Invalid requests[0].updateSheetProperties: You can't delete all the {lines} on the sheet."
    )
    assert bench.size() == (5, 5)


def test_last_visible_worksheet_cannot_be_deleted(build: BenchBuilder) -> None:
    """A deletion that would leave only hidden worksheets gets 400."""
    bench = build({"Data": "", "Other": ""})
    bench.edit(properties_of("hidden", sheetId=1, hidden=True))
    answer = bench.edit({"deleteSheet": {"sheetId": 0}})

    assert answer.status_code == 400
    assert message(answer) == (
        "Invalid requests[0].deleteSheet: You can't remove all the visible sheets in a document."
    )


def test_cells_outside_a_smaller_grid_are_lost(bench: Bench) -> None:
    """Cells that a smaller grid cut off are blank when the grid is enlarged again."""
    bench.update("Data!A1", [["a", "b"], ["c", "d"]])
    for size in (1, 5):
        grid = {"rowCount": size, "columnCount": size}
        bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=grid))

    assert bench.grid("Data") == [["a"]]
