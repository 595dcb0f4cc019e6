"""batchUpdate: developer metadata."""

from sheets_emulator.grid.developer_metadata import DeveloperMetadata, project_of
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.data_filter import DataFilter, read_filter
from sheets_emulator.resources.developer_metadata import (
    Located,
    Location,
    all_metadata,
    describe_metadata,
    holder,
    read_location,
    visible_metadata,
)
from sheets_emulator.resources.grid_range import Editing

MAX_SIZE = 30_000  # characters of keys and values of a spreadsheet or worksheet, Google's limit


def create_developer_metadata(editing: Editing, message: Message) -> Reply:
    """createDeveloperMetadata: with the given ID or a new one."""
    wanted = message.message("developerMetadata")
    location = read_location(editing.workbook, wanted.message("location"))
    item = DeveloperMetadata(
        metadata_id=_new_id(editing, wanted.integer("metadataId")),
        key=_required(wanted, "metadataKey"),
        value=wanted.text("metadataValue") or None,
        visibility=_required(wanted, "visibility"),
        project=project_of(editing.account),
        span=location.span,
    )
    holder(editing.workbook, location).append(item)
    _require_room(editing.workbook, location)
    created = Located(item=item, location=location)
    return {"createDeveloperMetadata": {"developerMetadata": describe_metadata(created)}}


def delete_developer_metadata(editing: Editing, message: Message) -> Reply:
    """deleteDeveloperMetadata: all that the filter selects, which may be nothing (assumed)."""
    wanted = read_filter(editing.workbook, message.message("dataFilter"))
    found = _selected(editing, [wanted])
    for each in found:
        _remove(editing.workbook, each)
    described = [describe_metadata(each) for each in found]
    deleted: Reply = {"deletedDeveloperMetadata": described} if described else {}
    return {"deleteDeveloperMetadata": deleted}


def _selected(editing: Editing, filters: list[DataFilter]) -> list[Located]:
    """The metadata that the account sees and at least one filter selects."""
    visible = visible_metadata(editing.workbook, project_of(editing.account))
    return [each for each in visible if any(wanted.selects(each) for wanted in filters)]


def _remove(workbook: Workbook, located: Located) -> None:
    """Remove this item, and not an equal one."""
    items = holder(workbook, located.location)
    items[:] = [each for each in items if each is not located.item]


def _new_id(editing: Editing, wanted: int) -> int:
    """The given ID if it is allowed, or a new one for 0."""
    taken = {each.item.metadata_id for each in all_metadata(editing.workbook)}
    if wanted < 0:
        raise invalid(f"The metadataId[{wanted}] must be positive.")
    if wanted in taken and not editing.repeatable_metadata_ids:
        raise invalid(
            f"Cannot add developer metadata with ID: {wanted}, developer metadata with that ID "
            "already exists."
        )
    while not wanted or (wanted in taken and not editing.repeatable_metadata_ids):
        wanted = editing.workbook.new_id()
    return wanted


def _required(wanted: Message, name: str) -> str:
    text = wanted.text(name)
    if not text:
        raise invalid(f"Developer metadata must always have a {name} specified.")
    return text


def _require_room(workbook: Workbook, location: Location) -> None:
    """Raise if the spreadsheet or worksheet has more metadata than Google allows."""
    size = sum(item.size for item in holder(workbook, location))
    if size > MAX_SIZE:
        where = "spreadsheet" if location.sheet is None else "sheet"
        raise invalid(
            f"Developer metadata of a {where} may have at most {MAX_SIZE} characters of keys and "
            f"values, not {size}."
        )
