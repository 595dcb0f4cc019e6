"""DataFilter: a selection of metadata, or of cells by a range or by metadata.

Rules:
- A lookup selects the metadata that has all members of the lookup.
- A range selects the metadata whose location intersects the range.
- The cells of a lookup are the worksheets, rows and columns of the selected metadata. Metadata of
  the spreadsheet has no cells (assumed).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sheets_emulator.grid.developer_metadata import project_of
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, invalid_field
from sheets_emulator.reply import Json
from sheets_emulator.resources.developer_metadata import (
    Located,
    Location,
    read_location,
    visible_metadata,
)
from sheets_emulator.resources.grid_range import read_area
from sheets_emulator.resources.places import Place, find_place, place_of

FILTERS = ("developerMetadataLookup", "a1Range", "gridRange")
EXACT, INTERSECTING = "EXACT_LOCATION", "INTERSECTING_LOCATION"
SPREADSHEET = "SPREADSHEET"

Selects = Callable[[Located], bool]


@dataclass(frozen=True, kw_only=True)
class DataFilter:
    """A parsed DataFilter.

    `fields` is the filter as sent. `selects` is True for metadata that the filter selects. `place`
    is the range, or None for a lookup.
    """

    fields: Json
    selects: Selects
    place: Place | None = None

    def places(self, workbook: Workbook, account: str) -> list[Place]:
        """Return the filter's range, or the ranges of the metadata that the filter selects.

        Ranges are distinct. Metadata that the account cannot see is ignored.
        """
        if self.place is not None:
            return [self.place]
        visible = visible_metadata(workbook, project_of(account))
        locations = [each.location for each in visible if self.selects(each)]
        found = [place_of(each.sheet, each.span) for each in locations if each.sheet is not None]
        return [place for index, place in enumerate(found) if place not in found[:index]]


def read_filters(workbook: Workbook, message: Message) -> list[DataFilter]:
    """Parse the `dataFilters` of a request. Raises a 400 for an empty list."""
    filters = [read_filter(workbook, each) for each in message.messages("dataFilters")]
    if not filters:
        raise invalid("Must specify at least one data filter.")
    return filters


def read_filter(workbook: Workbook, message: Message) -> DataFilter:
    """Parse a DataFilter.

    Raises a 400 for a DataFilter with no member, several members, or a range that does not exist.
    """
    given = [name for name in FILTERS if message.has(name)]
    if len(given) > 1:
        complaint = "oneof field 'filter' is already set. Cannot set"
        text = f"Invalid value at '{message.place}' (oneof), {complaint} '{given[1]}'"
        raise invalid_field(message.place, text)
    if not given:
        raise invalid("A data filter must have a lookup or a range.")
    if given[0] == "developerMetadataLookup":
        lookup = message.message("developerMetadataLookup")
        return DataFilter(fields=message.fields, selects=_read_lookup(workbook, lookup))
    place = _read_place(workbook, message)
    location = Location(sheet=place.sheet, span=place.span)
    return DataFilter(
        fields=message.fields,
        place=place,
        selects=lambda each: each.location.intersects(location),
    )


def _read_place(workbook: Workbook, message: Message) -> Place:
    if message.has("a1Range"):
        found = find_place(workbook, message.text("a1Range"))
        return place_of(found.sheet, found.span)
    area = read_area(workbook, message.message("gridRange"))
    return place_of(area.sheet, area.span)


def _read_lookup(workbook: Workbook, lookup: Message) -> Selects:
    """Return a function that is True for metadata with all members of a DeveloperMetadataLookup."""
    _require_consistent(lookup)
    conditions = [_condition(lookup, name) for name in MEMBERS if lookup.has(name)]
    if lookup.has("metadataLocation"):
        location = read_location(workbook, lookup.message("metadataLocation"))
        if lookup.text("locationMatchingStrategy") == EXACT:
            conditions.append(lambda each: each.location.is_same(location))
        else:
            _require_reachable(lookup, location)
            conditions.append(lambda each: each.location.intersects(location))
    return lambda each: all(holds(each) for holds in conditions)


def _condition(lookup: Message, name: str) -> Selects:
    wanted = lookup.fields[name]
    return lambda each: MEMBERS[name](each) == wanted


def _require_consistent(lookup: Message) -> None:
    strategy = lookup.text("locationMatchingStrategy")
    if strategy and not lookup.has("metadataLocation"):
        raise invalid("A locationMatchingStrategy requires a metadataLocation.")
    if strategy == EXACT and lookup.has("locationType"):
        raise invalid("A locationType cannot be specified with EXACT_LOCATION.")
    if strategy == INTERSECTING and lookup.text("locationType") == SPREADSHEET:
        raise invalid("The locationType cannot be SPREADSHEET with INTERSECTING_LOCATION.")


def _require_reachable(lookup: Message, location: Location) -> None:
    if lookup.text("locationType") == SPREADSHEET and location.sheet is not None:
        raise invalid("The locationType cannot be SPREADSHEET with another metadataLocation.")


MEMBERS: Mapping[str, Callable[[Located], object]] = {
    "metadataId": lambda each: each.item.metadata_id,
    "metadataKey": lambda each: each.item.key,
    "metadataValue": lambda each: each.item.value or "",
    "visibility": lambda each: each.item.visibility,
    "locationType": lambda each: each.location.kind,
}
