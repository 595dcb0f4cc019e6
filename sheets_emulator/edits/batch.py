"""spreadsheets.batchUpdate: a table of request kinds, and their execution.

Rules:
- All requests of a batchUpdate are applied, or none. Requests change a draft of the spreadsheet,
  which is discarded if a request fails.
- Unsupported kinds of requests, and members without effect in the emulator, get 501. Nothing is
  silently ignored.
"""

from collections.abc import Callable

from sheets_emulator.edits.border_requests import update_borders
from sheets_emulator.edits.cell_requests import (
    append_cells,
    repeat_cell,
    set_data_validation,
    update_cells,
)
from sheets_emulator.edits.dimension_requests import (
    append_dimension,
    delete_dimension,
    insert_dimension,
    move_dimension,
)
from sheets_emulator.edits.filter_requests import clear_basic_filter, set_basic_filter
from sheets_emulator.edits.find_replace import find_replace
from sheets_emulator.edits.line_requests import (
    add_dimension_group,
    auto_resize_dimensions,
    delete_dimension_group,
    update_dimension_group,
    update_dimension_properties,
)
from sheets_emulator.edits.merge_requests import merge_cells, unmerge_cells
from sheets_emulator.edits.metadata_requests import (
    create_developer_metadata,
    delete_developer_metadata,
    update_developer_metadata,
)
from sheets_emulator.edits.name_requests import (
    add_named_range,
    delete_named_range,
    update_named_range,
)
from sheets_emulator.edits.paste_requests import copy_paste, cut_paste
from sheets_emulator.edits.protection_requests import (
    add_protected_range,
    delete_protected_range,
    update_protected_range,
)
from sheets_emulator.edits.range_requests import delete_range, insert_range
from sheets_emulator.edits.sheet_requests import (
    add_sheet,
    delete_sheet,
    duplicate_sheet,
    update_sheet_properties,
)
from sheets_emulator.edits.sort_requests import delete_duplicates, sort_range
from sheets_emulator.edits.spreadsheet_properties import update_spreadsheet_properties
from sheets_emulator.edits.table_requests import add_table, delete_table, update_table
from sheets_emulator.edits.text_requests import text_to_columns, trim_whitespace
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.spill import spill
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import Refusal, invalid, prefixed, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Editing
from sheets_emulator.resources.metadata import describe
from sheets_emulator.resources.places import find_places

KINDS: dict[str, Callable[[Editing, Message], Reply]] = {
    "addSheet": add_sheet,
    "deleteSheet": delete_sheet,
    "duplicateSheet": duplicate_sheet,
    "updateSheetProperties": update_sheet_properties,
    "updateSpreadsheetProperties": update_spreadsheet_properties,
    "appendDimension": append_dimension,
    "insertDimension": insert_dimension,
    "deleteDimension": delete_dimension,
    "moveDimension": move_dimension,
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
    "updateDimensionProperties": update_dimension_properties,
    "autoResizeDimensions": auto_resize_dimensions,
    "addDimensionGroup": add_dimension_group,
    "deleteDimensionGroup": delete_dimension_group,
    "updateDimensionGroup": update_dimension_group,
    "addNamedRange": add_named_range,
    "updateNamedRange": update_named_range,
    "deleteNamedRange": delete_named_range,
    "addProtectedRange": add_protected_range,
    "updateProtectedRange": update_protected_range,
    "deleteProtectedRange": delete_protected_range,
    "setBasicFilter": set_basic_filter,
    "clearBasicFilter": clear_basic_filter,
    "addTable": add_table,
    "updateTable": update_table,
    "deleteTable": delete_table,
    "createDeveloperMetadata": create_developer_metadata,
    "updateDeveloperMetadata": update_developer_metadata,
    "deleteDeveloperMetadata": delete_developer_metadata,
}


def edit(
    draft: Workbook,
    message: Message,
    *,
    account: str,
    repeatable_metadata_ids: bool = False,
    has_grid_data: bool | None = None,
) -> Reply:
    """Apply a batchUpdate body to the draft and return the reply.

    `account` is "" for the owner of the spreadsheet. `has_grid_data` is True if the field mask
    includes grid data, and None without a field mask. The ranges of the response are read after all
    updates. The error for a range past the grid does not have the position of a request.
    """
    requests = message.messages("requests")
    if not requests:
        raise invalid("Must specify at least one request.")
    editing = Editing(
        workbook=draft, account=account, repeatable_metadata_ids=repeatable_metadata_ids
    )
    replies = [_reply(editing, request, index) for index, request in enumerate(requests)]
    reply: Reply = {"spreadsheetId": draft.spreadsheet_id, "replies": replies}
    if message.flag("includeSpreadsheetInResponse"):
        spill(draft)
        ranges = message.texts("responseRanges")
        reply["updatedSpreadsheet"] = describe(
            Results(draft),
            account=account,
            places=find_places(draft, ranges) if ranges else None,
            has_grid_data=(
                message.flag("responseIncludeGridData") if has_grid_data is None else has_grid_data
            ),
        )
    return reply


def _reply(editing: Editing, request: Message, index: int) -> Reply:
    kinds = list(request.fields)
    if not kinds:
        raise invalid(f"Invalid requests[{index}]: No request set.")
    if len(kinds) > 1:
        raise invalid(
            f"Invalid value at 'requests[{index}]' (oneof), oneof field 'kind' is already set. "
            f"Cannot set '{kinds[1]}'"
        )
    kind = kinds[0]
    if kind not in KINDS:
        raise unimplemented(f"the batchUpdate request '{kind}'")
    try:
        return KINDS[kind](editing, request.message(kind))
    except Refusal as refusal:
        raise _placed(refusal, f"Invalid requests[{index}].{kind}: ") from refusal


def _placed(refusal: Refusal, prefix: str) -> Refusal:
    """Add the position of the request to an error.

    Errors with a field and errors for unsupported features stay unchanged.
    """
    is_placed = bool(refusal.details) or refusal.code == 501
    return refusal if is_placed else prefixed(prefix, refusal)
