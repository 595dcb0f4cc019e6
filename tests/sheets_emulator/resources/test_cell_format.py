"""CellFormat: merging by a field mask, and default values."""

import pytest

from sheets_emulator.protocol.fields import read_mask
from sheets_emulator.refusal import Refusal
from sheets_emulator.reply import Json
from sheets_emulator.resources.cell_format import bordering, completed_format, merged_format

RED: Json = {"red": 1}
BIG_BOLD: Json = {"bold": True, "fontSize": 12}
OLD: Json = {
    "textFormat": BIG_BOLD,
    "backgroundColor": RED,
    "backgroundColorStyle": {"rgbColor": RED},
}


@pytest.mark.parametrize(
    ("given", "mask", "merged"),
    [
        ({"textFormat": {"italic": True}}, "textFormat.italic", {**BIG_BOLD, "italic": True}),
        ({"textFormat": {"italic": True}}, "textFormat", {"italic": True}),
        ({"textFormat": {"italic": True}}, "textFormat(bold,fontSize)", None),
        ({}, "textFormat/bold", {"fontSize": 12}),
        ({"textFormat": {"bold": False}}, "textFormat.bold", {"bold": False, "fontSize": 12}),
    ],
    ids=["inner field", "whole", "cleared inside", "cleared one", "false is kept"],
)
def test_mask_selects_the_fields_that_change(given: Json, mask: str, merged: Json | None) -> None:
    """A field in the mask is set, or cleared if the new format lacks it. Other fields are kept."""
    found = merged_format(OLD, given, read_mask(mask)) or {}

    assert found.get("textFormat") == merged
    assert found["backgroundColor"] == RED


@pytest.mark.parametrize(
    ("given", "mask", "color"),
    [
        ({"backgroundColor": {"blue": 1}}, "backgroundColor", {"blue": 1}),
        (
            {"backgroundColorStyle": {"rgbColor": {"blue": 1}}},
            "backgroundColorStyle",
            {"blue": 1},
        ),
        ({"backgroundColor": {"blue": 1}}, "backgroundColor.blue", {"red": 1, "blue": 1}),
        ({}, "backgroundColor", None),
        ({}, "backgroundColorStyle", None),
    ],
    ids=["plain", "style", "component", "plain cleared", "style cleared"],
)
def test_colour_and_its_style_change_together(given: Json, mask: str, color: Json | None) -> None:
    """A mask of the plain colour or of the style changes both to the same value."""
    found = merged_format(OLD, given, read_mask(mask)) or {}

    assert found.get("backgroundColor") == color
    assert found.get("backgroundColorStyle") == (None if color is None else {"rgbColor": color})


def test_whole_mask_replaces_the_format() -> None:
    """A mask of all fields replaces the old format. An empty new format removes the old one."""
    assert merged_format(OLD, {"wrapStrategy": "WRAP"}, {}) == {"wrapStrategy": "WRAP"}
    assert merged_format(OLD, {"textFormat": {}}, {"*": {}}) is None


def test_number_format_gets_the_default_pattern_of_its_type() -> None:
    """A type without a pattern gets the default pattern. A pattern without a type is an error."""
    dated = completed_format({"numberFormat": {"type": "DATE"}})

    assert dated == {"numberFormat": {"type": "DATE", "pattern": "m/d/yyyy"}}
    with pytest.raises(Refusal, match=r"numberFormat\.type must be set"):
        completed_format({"numberFormat": {"pattern": "0"}})


def test_border_gets_default_width_and_colour() -> None:
    """A border has the width that belongs to the style, and the default colour black."""
    solid = bordering("top", {"style": "SOLID_MEDIUM", "width": 9})(None)

    assert solid == {
        "borders": {
            "top": {
                "style": "SOLID_MEDIUM",
                "width": 2,
                "color": {},
                "colorStyle": {"rgbColor": {}},
            }
        }
    }
    assert bordering("top", {"style": "NONE"})(solid) is None
