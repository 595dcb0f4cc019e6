"""Field masks: parsing, validation, and the part of an answer that a mask selects."""

import pytest

from sheets_emulator.protocol.fields import cut, leaves, read_mask, require_known, update_paths
from sheets_emulator.refusal import Refusal

SHEET = {"properties": {"sheetId": 0, "title": "T", "index": 0}, "merges": []}
GROUP_PATHS = [
    "dimensionGroup.collapsed",
    "dimensionGroup.depth",
    *(
        f"dimensionGroup.range.{name}"
        for name in ("dimension", "endIndex", "sheetId", "startIndex")
    ),
]
ANSWER = {"spreadsheetId": "x", "properties": {"title": "B"}, "sheets": [SHEET]}


@pytest.mark.parametrize(
    ("mask", "answer"),
    [
        pytest.param("spreadsheetId", {"spreadsheetId": "x"}, id="field"),
        pytest.param(
            "sheets.properties(title,sheetId)",
            {"sheets": [{"properties": {"title": "T", "sheetId": 0}}]},
            id="parentheses",
        ),
        pytest.param(
            "sheets/properties/title", {"sheets": [{"properties": {"title": "T"}}]}, id="slashes"
        ),
        pytest.param(
            "sheets.properties.tabColorStyle", {"sheets": [{"properties": {}}]}, id="nothing left"
        ),
        pytest.param("namedRanges", {}, id="never answered"),
        pytest.param(
            "spreadsheetId,properties.title",
            {"spreadsheetId": "x", "properties": {"title": "B"}},
            id="comma",
        ),
        pytest.param(
            "sheets.properties.title,sheets.properties.index",
            {"sheets": [{"properties": {"title": "T", "index": 0}}]},
            id="same parent twice",
        ),
        pytest.param(
            "sheets.properties,sheets.properties.title",
            {"sheets": [{"properties": SHEET["properties"]}]},
            id="whole and part",
        ),
        pytest.param("*", ANSWER, id="all"),
        pytest.param("sheets(*)", {"sheets": [SHEET]}, id="all of a field"),
    ],
)
def test_mask_selects_fields_of_the_answer(mask: str, answer: object) -> None:
    """The answer has only the fields in the mask, and the parents of these fields."""
    read = read_mask(mask)
    require_known(read, "Spreadsheet")

    assert cut(ANSWER, read) == answer


@pytest.mark.parametrize(
    ("mask", "path"),
    [
        ("sheets.sheetProperties", "sheets.sheetProperties"),
        ("spreadsheetId,bogus", "bogus"),
        ("sheets(properties(colour))", "sheets.properties.colour"),
        ("spreadsheetId.x", "spreadsheetId.x"),
    ],
)
def test_unknown_field_is_reported_with_its_path(mask: str, path: str) -> None:
    """A field that Google's definition does not have gets an error with the path of the field."""
    with pytest.raises(Refusal) as refused:
        require_known(read_mask(mask), "Spreadsheet")

    assert refused.value.message == "Request contains an invalid argument."
    assert refused.value.details[0]["fieldViolations"] == [
        {
            "field": path,
            "description": "Error expanding 'fields' parameter. Cannot find matching fields for "
            f"path '{path}'.",
        }
    ]


@pytest.mark.parametrize("mask", ["a(", "a(b", "a)", ",", "a..b", "a,", "a b(", "é", "a.(b)", "()"])
def test_malformed_mask_is_rejected(mask: str) -> None:
    """A mask with a syntax error raises `Refusal`."""
    with pytest.raises(Refusal):
        read_mask(mask)


def test_leaves_are_dotted_paths() -> None:
    """`leaves` returns the dotted path of each field, also for a mask with parentheses."""
    mask = read_mask("title,gridProperties(rowCount,columnCount)")

    assert leaves(mask) == ["title", "gridProperties.rowCount", "gridProperties.columnCount"]


@pytest.mark.parametrize(
    ("mask", "kind", "paths"),
    [
        pytest.param("name", "NamedRange", ["name"], id="field"),
        pytest.param(
            "range",
            "GridCoordinate",
            None,
            id="unknown",
        ),
        pytest.param(
            "grid_properties(row_count),title",
            "SheetProperties",
            ["gridProperties.rowCount", "title"],
            id="snake_case",
        ),
        pytest.param(
            "dimensionGroup",
            "UpdateDimensionGroupRequest",
            GROUP_PATHS,
            id="taken apart to the end",
        ),
        pytest.param("*", "GridCoordinate", ["columnIndex", "rowIndex", "sheetId"], id="all"),
        pytest.param("criteria.a.b", "BasicFilter", ["criteria.a.b"], id="in a map"),
        pytest.param("title.x", "SheetProperties", None, id="in a text"),
    ],
)
def test_update_paths_are_expanded_to_single_values(
    mask: str, kind: str, paths: list[str] | None
) -> None:
    """`update_paths` returns the dotted path of each single value, and rejects unknown fields."""
    if paths is None:
        with pytest.raises(Refusal, match="Invalid field: "):
            update_paths(mask, kind)
    else:
        assert update_paths(mask, kind) == paths
