"""Protections, named ranges, merges, filters and groups of a worksheet in answers."""

from sheets_emulator.grid.box import Box
from sheets_emulator.grid.line_groups import groups_of
from sheets_emulator.grid.marks import (
    COLUMN_PIXELS,
    PLAIN_LINE,
    ROW_PIXELS,
    Filter,
    Line,
    NamedRange,
    Protection,
)
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.reply import Reply
from sheets_emulator.resources.developer_metadata import described_by_span
from sheets_emulator.resources.grid_range import describe_span

DIMENSION = {True: "ROWS", False: "COLUMNS"}
PIXELS = {True: ROW_PIXELS, False: COLUMN_PIXELS}


def describe_marks(sheet: Sheet, account: str) -> Reply:
    """Return the members `merges`, `protectedRanges`, `basicFilter` and groups of a Sheet resource.

    Empty members are left out. Protected ranges include editors only if the account can edit them.
    """
    marks: Reply = {
        "merges": [describe_span(sheet.sheet_id, merge.span) for merge in sheet.merges],
        "protectedRanges": [
            describe_protection(sheet, protection, account) for protection in sheet.protections
        ],
        "basicFilter": describe_filter(sheet, sheet.filters[0]) if sheet.filters else None,
        "rowGroups": describe_groups(sheet, is_rows=True),
        "columnGroups": describe_groups(sheet, is_rows=False),
    }
    return {name: mark for name, mark in marks.items() if mark}


def describe_protection(sheet: Sheet, protection: Protection, account: str) -> Reply:
    """Return a ProtectedRange.

    Its `editors` are included only if the account can edit the range.
    """
    may_edit = protection.allows(account)
    members: Reply = {
        "namedRangeId": protection.range_id,
        "description": protection.description,
        "warningOnly": protection.warning_only,
        "requestingUserCanEdit": may_edit,
        "unprotectedRanges": [
            describe_span(sheet.sheet_id, span) for span in protection.open_spans
        ],
    }
    return {
        "protectedRangeId": protection.protection_id,
        "range": describe_span(sheet.sheet_id, protection.span),
        **{name: member for name, member in members.items() if member},
        **({"editors": describe_editors(protection)} if may_edit else {}),
    }


def describe_editors(protection: Protection) -> Reply:
    members: Reply = {
        "users": list(protection.editors),
        "groups": list(protection.groups),
        "domainUsersCanEdit": protection.is_open_to_domain,
    }
    return {name: member for name, member in members.items() if member}


def describe_name(sheet: Sheet, named: NamedRange) -> Reply:
    return {
        "namedRangeId": named.range_id,
        "name": named.name,
        "range": describe_span(sheet.sheet_id, named.span),
    }


def describe_filter(sheet: Sheet, kept: Filter) -> Reply:
    return {"range": describe_span(sheet.sheet_id, kept.span), **kept.settings}


def describe_groups(sheet: Sheet, *, is_rows: bool) -> list[Reply]:
    place: Reply = {"sheetId": sheet.sheet_id} if sheet.sheet_id else {}
    place["dimension"] = DIMENSION[is_rows]
    return [
        {
            "range": {**place, "startIndex": group.start, "endIndex": group.end},
            "depth": group.depth,
            **({"collapsed": True} if group.is_collapsed else {}),
        }
        for group in groups_of(sheet.lines(is_rows=is_rows))
    ]


def describe_lines(sheet: Sheet, box: Box, account: str) -> Reply:
    """Return `rowMetadata` and `columnMetadata`: lists of DimensionProperties for the box."""
    rows, columns = range(box.top, box.bottom), range(box.left, box.right)
    return {
        "rowMetadata": _properties(sheet, rows, account, is_rows=True),
        "columnMetadata": _properties(sheet, columns, account, is_rows=False),
    }


def _properties(sheet: Sheet, indexes: range, account: str, *, is_rows: bool) -> list[Reply]:
    lines = sheet.lines(is_rows=is_rows)
    found = [_line(lines.get(index, PLAIN_LINE), PIXELS[is_rows]) for index in indexes]
    for span, metadata in described_by_span(sheet.metadata, sheet, account).items():
        start, end = (span.top, span.bottom) if is_rows else (span.left, span.right)
        if end is not None and start in indexes:
            found[start - indexes.start].update(metadata)
    return found


def _line(line: Line, usual: int) -> Reply:
    size: Reply = {"pixelSize": usual if line.pixels is None else line.pixels}
    return {"hiddenByUser": True, **size} if line.is_hidden else size
