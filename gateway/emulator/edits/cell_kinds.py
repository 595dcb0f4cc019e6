"""The kinds of batchUpdate that are about cells, as a table."""

from collections.abc import Callable, Mapping

from gateway.emulator.edits.border_requests import update_borders
from gateway.emulator.edits.cell_requests import (
    append_cells,
    repeat_cell,
    set_data_validation,
    update_cells,
)
from gateway.emulator.edits.find_replace import find_replace
from gateway.emulator.edits.merge_requests import merge_cells, unmerge_cells
from gateway.emulator.edits.paste_requests import copy_paste, cut_paste
from gateway.emulator.edits.range_requests import delete_range, insert_range
from gateway.emulator.edits.sort_requests import delete_duplicates, sort_range
from gateway.emulator.edits.text_requests import text_to_columns, trim_whitespace
from gateway.emulator.protocol.message import Message
from gateway.emulator.reply import Reply
from gateway.emulator.resources.grid_range import Editing

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
