"""spreadsheets.developerMetadata: get and search."""

from sheets_emulator.grid.developer_metadata import project_of
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message, wrong_type_text
from sheets_emulator.protocol.scalar import int32
from sheets_emulator.refusal import invalid_field, of_code
from sheets_emulator.reply import Reply
from sheets_emulator.resources.data_filter import read_filters
from sheets_emulator.resources.developer_metadata import describe_metadata, visible_metadata


def get_metadata(workbook: Workbook, metadata_id: str, *, account: str) -> Reply:
    """Return the first metadata with this ID that the account can see.

    `metadata_id` is the text from the URL path. Raises a 400 if the text is not a whole number, and
    a 404 for an unknown ID.
    """
    number = int32(metadata_id)
    if number is None:
        raise invalid_field(
            "metadata_id", wrong_type_text("metadata_id", "TYPE_INT32", metadata_id)
        )
    for each in visible_metadata(workbook, project_of(account)):
        if each.item.metadata_id == number:
            return describe_metadata(each)
    raise of_code(404)


def search_metadata(workbook: Workbook, message: Message, *, account: str) -> Reply:
    """Return `{"matchedDeveloperMetadata": [...]}`, or {} if no filter selects an item.

    Each item has the filters that select it.
    """
    filters = read_filters(workbook, message)
    matched = []
    for each in visible_metadata(workbook, project_of(account)):
        selecting = [wanted.fields for wanted in filters if wanted.selects(each)]
        if selecting:
            matched.append({"developerMetadata": describe_metadata(each), "dataFilters": selecting})
    return {"matchedDeveloperMetadata": matched} if matched else {}
