"""DeveloperMetadata and its locations in requests and answers.

Rules:
- A location is the spreadsheet, a worksheet, or a single row or column of a worksheet.
- An account does not see metadata of other projects with the visibility `PROJECT`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sheets_emulator.grid.a1 import WHOLE, Span
from sheets_emulator.grid.developer_metadata import DeveloperMetadata, project_of
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, invalid_field
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.grid_range import read_lines, require_existing, require_sheet
from sheets_emulator.resources.places import unbounded

LOCATIONS = ("spreadsheet", "sheetId", "dimensionRange")


@dataclass(frozen=True, kw_only=True)
class Location:
    """A location: the spreadsheet (`sheet` is None), a worksheet, or one row or column."""

    sheet: Sheet | None
    span: Span = WHOLE

    @property
    def kind(self) -> str:
        """Google's DeveloperMetadataLocationType."""
        if self.sheet is None:
            return "SPREADSHEET"
        if self.span.bottom is not None:
            return "ROW"
        return "SHEET" if self.span.right is None else "COLUMN"

    def is_same(self, other: "Location") -> bool:
        return self.sheet is other.sheet and self.span == other.span

    def intersects(self, other: "Location") -> bool:
        """True if the locations share cells.

        A spreadsheet intersects only itself (Google's guide).
        """
        if self.sheet is None or other.sheet is None:
            return self.sheet is other.sheet
        return self.sheet is other.sheet and unbounded(self.span).overlaps(unbounded(other.span))


@dataclass(frozen=True, kw_only=True)
class Located:
    """A metadata item and its location in one version of a spreadsheet."""

    item: DeveloperMetadata
    location: Location


def all_metadata(workbook: Workbook) -> Iterator[Located]:
    """Yield the metadata of a spreadsheet and of its worksheets, for all projects."""
    for item in workbook.metadata:
        yield Located(item=item, location=Location(sheet=None))
    for sheet in workbook.sheets:
        for item in sheet.metadata:
            yield Located(item=item, location=Location(sheet=sheet, span=item.span))


def visible_metadata(workbook: Workbook, project: str) -> list[Located]:
    """Return the metadata that a developer project can see."""
    return [each for each in all_metadata(workbook) if each.item.is_visible_to(project)]


def holder(workbook: Workbook, location: Location) -> list[DeveloperMetadata]:
    """Return the stored list of the spreadsheet's or the worksheet's metadata."""
    return workbook.metadata if location.sheet is None else location.sheet.metadata


def described_by_span(
    items: Sequence[DeveloperMetadata], sheet: Sheet | None, account: str
) -> dict[Span, Reply]:
    """Return `{"developerMetadata": [...]}` by range: a row, a column, or `WHOLE`.

    `WHOLE` has the metadata of the whole worksheet or spreadsheet. Ranges without metadata that the
    account can see are left out.
    """
    described: dict[Span, Reply] = {}
    found: dict[Span, list[Reply]] = {}
    for item in items:
        if item.is_visible_to(project_of(account)):
            located = Located(item=item, location=Location(sheet=sheet, span=item.span))
            shown = found.setdefault(item.span, [])
            shown.append(describe_metadata(located))
            described[item.span] = {"developerMetadata": shown}
    return described


def read_location(workbook: Workbook, message: Message) -> Location:
    """Parse a DeveloperMetadataLocation. The read-only member `locationType` is ignored."""
    given = [name for name in LOCATIONS if message.has(name)]
    if len(given) > 1:
        complaint = "oneof field 'location' is already set. Cannot set"
        text = f"Invalid value at '{message.place}' (oneof), {complaint} '{given[1]}'"
        raise invalid_field(message.place, text)
    if message.has("dimensionRange"):
        return _read_line(workbook, message.message("dimensionRange"))
    if message.has("sheetId"):
        return Location(sheet=require_sheet(workbook, message.integer("sheetId")))
    if message.flag("spreadsheet"):
        return Location(sheet=None)
    raise invalid("Developer metadata must have a location.")


def describe_metadata(located: Located) -> Reply:
    """Return the DeveloperMetadata resource of a metadata item."""
    item = located.item
    return {
        "metadataId": item.metadata_id,
        "metadataKey": item.key,
        **({"metadataValue": item.value} if item.value else {}),
        "location": {
            "locationType": located.location.kind,
            **_described_location(located.location),
        },
        "visibility": item.visibility,
    }


def _read_line(workbook: Workbook, message: Message) -> Location:
    if not message.has("endIndex"):
        raise invalid("The dimensionRange of developer metadata cannot be unbounded.")
    lines = read_lines(workbook, message)
    if lines.count != 1:
        raise invalid(
            "The dimensionRange of developer metadata must be a single row or column, not "
            f"{lines.count} {lines.name}s."
        )
    require_existing(lines, "add metadata to")
    if lines.is_rows:
        return Location(sheet=lines.sheet, span=Span(top=lines.start, bottom=lines.end))
    return Location(sheet=lines.sheet, span=Span(left=lines.start, right=lines.end))


def _described_location(location: Location) -> Json:
    if location.sheet is None:
        return {"spreadsheet": True}
    sheet_id, span = location.sheet.sheet_id, location.span
    if location.kind == "SHEET":
        return {"sheetId": sheet_id}
    is_row = span.bottom is not None
    return {
        "dimensionRange": {
            **({"sheetId": sheet_id} if sheet_id else {}),
            "dimension": "ROWS" if is_row else "COLUMNS",
            "startIndex": span.top if is_row else span.left,
            "endIndex": span.bottom if is_row else span.right,
        }
    }
