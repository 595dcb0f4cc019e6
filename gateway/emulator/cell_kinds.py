"""The kinds of batchUpdate that are about cells, as a table."""

from collections.abc import Callable, Mapping

from gateway.emulator.border_requests import update_borders
from gateway.emulator.cell_requests import (
    append_cells,
    repeat_cell,
    set_data_validation,
    update_cells,
)
from gateway.emulator.find_replace import find_replace
from gateway.emulator.grid_range import Editing
from gateway.emulator.merge_requests import merge_cells, unmerge_cells
from gateway.emulator.message import Message
from gateway.emulator.paste_requests import copy_paste, cut_paste
from gateway.emulator.range_requests import delete_range, insert_range
from gateway.emulator.reply import Reply
from gateway.emulator.sort_requests import delete_duplicates, sort_range
from gateway.emulator.text_requests import text_to_columns, trim_whitespace

CELL_KINDS: Mapping[str, Callable[[Editing, Message], Reply]] = {
    "updateCells": update_cells,
    "appendCells": append_cells,
    "repeatCell": repeat_cell,
    "setDataValidation": set_data_validation,
    "updateBorders": update_borders,
    "mergeCells": merge_cells,
    "unmergeCells": unmerge_cells,
    "findReplace": find_replace,
    "copyPaste": copy_paste,
    "cutPaste": cut_paste,
    "sortRange": sort_range,
    "deleteDuplicates": delete_duplicates,
    "insertRange": insert_range,
    "deleteRange": delete_range,
    "trimWhitespace": trim_whitespace,
    "textToColumns": text_to_columns,
}
