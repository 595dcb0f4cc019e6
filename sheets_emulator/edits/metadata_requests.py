"""batchUpdate: developer metadata."""

from dataclasses import replace

from sheets_emulator.grid.developer_metadata import DeveloperMetadata, project_of
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.fields import read_mask, update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.data_filter import DataFilter, read_filter, read_filters
from sheets_emulator.resources.developer_metadata import (
    Located,
    Location,
    all_metadata,
    describe_metadata,
    holder,
    read_location,
    visible_metadata,
)
from sheets_emulator.resources.grid_range import Editing, require_fields

MAX_SIZE = 30_000  # characters of keys and values of a spreadsheet or worksheet, Google's limit


def create_developer_metadata(editing: Editing, message: Message) -> Reply:
    """createDeveloperMetadata: add an item with the requested ID or a new one."""
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


def update_developer_metadata(editing: Editing, message: Message) -> Reply:
    """updateDeveloperMetadata: set the fields of the mask in all metadata that a filter selects.

    The ID cannot be changed. With the mask `*` the ID stays (assumed).
    """
    names = _updated_names(require_fields(message))
    wanted = message.message("developerMetadata")
    filters = read_filters(editing.workbook, message)
    found = _selected(editing, filters)
    if not found:
        raise invalid("No developer metadata matches the data filters.")
    updated = [_update(editing.workbook, each, wanted, names) for each in found]
    described = [describe_metadata(each) for each in updated]
    return {"updateDeveloperMetadata": {"developerMetadata": described}}


def delete_developer_metadata(editing: Editing, message: Message) -> Reply:
    """deleteDeveloperMetadata: delete the selected metadata. No match is not an error (assumed)."""
    wanted = read_filter(editing.workbook, message.message("dataFilter"))
    found = _selected(editing, [wanted])
    for each in found:
        _remove(editing.workbook, each)
    described = [describe_metadata(each) for each in found]
    deleted: Reply = {"deletedDeveloperMetadata": described} if described else {}
    return {"deleteDeveloperMetadata": deleted}


def _updated_names(mask: str) -> set[str]:
    """Return the top-level members in a mask. A path into `location` gives `location`."""
    if "metadataId" in read_mask(mask):
        raise invalid("The metadataId of developer metadata cannot be changed.")
    paths = update_paths(mask, "DeveloperMetadata")
    return {path.partition(".")[0] for path in paths}


def _update(workbook: Workbook, old: Located, wanted: Message, names: set[str]) -> Located:
    item, location = old.item, old.location
    if "metadataKey" in names:
        item = replace(item, key=_required(wanted, "metadataKey"))
    if "metadataValue" in names:
        item = replace(item, value=wanted.text("metadataValue") or None)
    if "visibility" in names:
        item = replace(item, visibility=_required(wanted, "visibility"))
    if "location" in names:
        location = read_location(workbook, wanted.message("location"))
        item = replace(item, span=location.span)
    _put(workbook, old, Located(item=item, location=location))
    _require_room(workbook, location)
    return Located(item=item, location=location)


def _put(workbook: Workbook, old: Located, new: Located) -> None:
    """Replace an item in its list, or move it to the end of another worksheet's list."""
    if new.location.sheet is not old.location.sheet:
        _remove(workbook, old)
        holder(workbook, new.location).append(new.item)
        return
    items = holder(workbook, old.location)
    items[:] = [new.item if each is old.item else each for each in items]


def _selected(editing: Editing, filters: list[DataFilter]) -> list[Located]:
    """Return the metadata that the account can see and at least one filter selects."""
    visible = visible_metadata(editing.workbook, project_of(editing.account))
    return [each for each in visible if any(wanted.selects(each) for wanted in filters)]


def _remove(workbook: Workbook, located: Located) -> None:
    """Remove an item by identity, because other items can be equal."""
    items = holder(workbook, located.location)
    items[:] = [each for each in items if each is not located.item]


def _new_id(editing: Editing, wanted: int) -> int:
    """Return the requested ID, or a new ID for 0.

    Raises a 400 if the requested ID is not allowed.
    """
    taken = {each.item.metadata_id for each in all_metadata(editing.workbook)}
    if not wanted:
        return next(number for number in iter(editing.workbook.new_id, 0) if number not in taken)
    if wanted < 0:
        raise invalid(f"The metadataId[{wanted}] must be positive.")
    if wanted in taken and not editing.repeatable_metadata_ids:
        raise invalid(
            f"Cannot add developer metadata with ID: {wanted}, developer metadata with that ID "
            "already exists."
        )
    return wanted


def _required(wanted: Message, name: str) -> str:
    text = wanted.text(name)
    if not text:
        raise invalid(f"Developer metadata must always have a {name} specified.")
    return text


def _require_room(workbook: Workbook, location: Location) -> None:
    """Raise a 400 if the spreadsheet or worksheet has more metadata than Google allows."""
    size = sum(item.size for item in holder(workbook, location))
    if size > MAX_SIZE:
        where = "spreadsheet" if location.sheet is None else "sheet"
        raise invalid(
            f"Developer metadata of a {where} may have at most {MAX_SIZE} characters of keys and "
            f"values, not {size}."
        )
