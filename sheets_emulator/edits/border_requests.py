"""batchUpdate: borders, stored in the formats of their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sheets_emulator.edits.block import change_all, open_area
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import Cell
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.cell_format import bordering
from sheets_emulator.resources.grid_range import Editing

BORDERS = ("top", "bottom", "left", "right", "innerHorizontal", "innerVertical")


def update_borders(editing: Editing, message: Message) -> Reply:
    """updateBorders: set the requested borders. An inner border is set on both adjacent cells."""
    borders = {name: message.message(name).fields for name in BORDERS if message.has(name)}
    area = open_area(editing, message)
    edges = _edges(area.box)
    for name, border in borders.items():
        for box, side in edges[name]:
            _set_border(area.sheet, box, side, border)
    return {}


def _edges(box: Box) -> Mapping[str, Sequence[tuple[Box, str]]]:
    """Return, for each border of the box, boxes of cells and the edge of the cells to draw."""
    upper, lower = replace(box, bottom=box.bottom - 1), replace(box, top=box.top + 1)
    left, right = replace(box, right=box.right - 1), replace(box, left=box.left + 1)
    return {
        "top": [(replace(box, bottom=box.top + 1), "top")],
        "bottom": [(replace(box, top=box.bottom - 1), "bottom")],
        "left": [(replace(box, right=box.left + 1), "left")],
        "right": [(replace(box, left=box.right - 1), "right")],
        "innerHorizontal": [(upper, "bottom"), (lower, "top")],
        "innerVertical": [(left, "right"), (right, "left")],
    }


def _set_border(sheet: Sheet, box: Box, side: str, border: Json) -> None:
    merge = bordering(side, border)

    def change(old: Cell) -> Cell:
        return replace(old, format=merge(old.format))

    if box.width > 0:
        change_all(sheet, box, change)
