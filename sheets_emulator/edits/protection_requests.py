"""batchUpdate: protected ranges and worksheets.

Rules:
- The account that adds a protection becomes one of its editors, who can edit the protected cells.
  The spreadsheet's owner can edit everything and is not listed.
- Only accounts that can edit the protected cells can change or delete the protection.
"""

from collections.abc import Callable
from dataclasses import replace

from sheets_emulator.edits.name_requests import free_id, require_named_range
from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.marks import Protection
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.fields import update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import PROTECTED, invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Editing, read_area, require_fields
from sheets_emulator.resources.mark_data import describe_editors, describe_protection

WHOLE = Span()

Setter = Callable[[Protection, Message], Protection]


def add_protected_range(editing: Editing, message: Message) -> Reply:
    """addProtectedRange: add a protection.

    The reply has the editors of the request (recorded from Google).
    """
    wanted = _read(message)
    sheet, place = _place(editing.workbook, wanted)
    protection = replace(
        place,
        protection_id=_new_id(editing.workbook, wanted),
        open_spans=_open_spans(editing.workbook, sheet, place, wanted),
    )
    for name in SETTERS:
        protection = SETTERS[name](protection, wanted)
    _require_allowed(sheet, protection)
    kept = _with_editor(protection, editing.account)
    sheet.protections.append(kept)
    described = describe_protection(sheet, kept, editing.account)
    given = {"editors": describe_editors(protection)}
    return {"addProtectedRange": {"protectedRange": {**described, **given}}}


def update_protected_range(editing: Editing, message: Message) -> Reply:
    """updateProtectedRange: set the fields in the mask. Read-only fields are ignored."""
    wanted = _read(message)
    sheet, old = _require_protection(editing, wanted.integer("protectedRangeId"))
    paths = update_paths(require_fields(message), "ProtectedRange")
    names = {path.partition(".")[0] for path in paths}
    target, protection = sheet, old
    if names & {"range", "namedRangeId"}:
        target, place = _place(editing.workbook, wanted)
        protection = replace(protection, span=place.span, range_id=place.range_id)
    if "unprotectedRanges" in names:
        spans = _open_spans(editing.workbook, target, protection, wanted)
        protection = replace(protection, open_spans=spans)
    for path in SETTERS:
        if path in paths:
            protection = SETTERS[path](protection, wanted)
    sheet.protections.remove(old)
    _require_allowed(target, protection)
    target.protections.append(_with_editor(protection, editing.account))
    return {}


def delete_protected_range(editing: Editing, message: Message) -> Reply:
    sheet, protection = _require_protection(editing, message.integer("protectedRangeId"))
    sheet.protections.remove(protection)
    return {}


def _read(message: Message) -> Message:
    wanted = message.message("protectedRange")
    if wanted.has("tableId"):
        raise unimplemented("the protection of a table")
    return wanted


def _place(workbook: Workbook, wanted: Message) -> tuple[Sheet, Protection]:
    """Return the worksheet, and a new protection of the requested range or worksheet."""
    if wanted.has("range") == wanted.has("namedRangeId"):
        raise invalid("Must specify exactly one of range or namedRangeId.")
    if wanted.has("range"):
        area = read_area(workbook, wanted.message("range"))
        return area.sheet, Protection(protection_id=0, span=area.span)
    sheet, named = require_named_range(workbook, wanted.text("namedRangeId"))
    return sheet, Protection(protection_id=0, span=named.span, range_id=named.range_id)


def _open_spans(
    workbook: Workbook, sheet: Sheet, protection: Protection, wanted: Message
) -> tuple[Span, ...]:
    areas = [read_area(workbook, each) for each in wanted.messages("unprotectedRanges")]
    if areas and protection.span != WHOLE:
        raise invalid("Unprotected ranges are only supported on protected sheets.")
    if any(area.sheet is not sheet for area in areas):
        raise invalid("Unprotected ranges must be on the protected sheet.")
    return tuple(area.span for area in areas)


def _new_id(workbook: Workbook, wanted: Message) -> int:
    protection_id = wanted.integer("protectedRangeId") or workbook.new_id()
    taken = {each.protection_id for sheet in workbook.sheets for each in sheet.protections}
    return free_id(protection_id, taken, "protected range")


def _require_protection(editing: Editing, protection_id: int) -> tuple[Sheet, Protection]:
    """Find the worksheet and protection with this ID.

    Raises a 400 for an unknown ID, or if the account cannot change the protection.
    """
    for sheet in editing.workbook.sheets:
        for protection in sheet.protections:
            if protection.protection_id == protection_id:
                if not protection.allows(editing.account):
                    raise invalid(PROTECTED)
                return sheet, protection
    raise invalid(f"No protected range with id: {protection_id}")


def _require_allowed(sheet: Sheet, protection: Protection) -> None:
    """Raise a 400 for a second protection of a whole worksheet.

    The error text is reported by users of gspread.
    """
    is_second = any(each.span == WHOLE for each in sheet.protections)
    if protection.span == WHOLE and is_second:
        raise invalid(f'Sheet "{sheet.title}" already has sheet protection.')


def _with_editor(protection: Protection, account: str) -> Protection:
    if not account or account in protection.editors:
        return protection
    return replace(protection, editors=(*protection.editors, account))


def _set_warning(protection: Protection, wanted: Message) -> Protection:
    return replace(protection, warning_only=wanted.flag("warningOnly"))


def _set_description(protection: Protection, wanted: Message) -> Protection:
    return replace(protection, description=wanted.text("description") or None)


def _set_users(protection: Protection, wanted: Message) -> Protection:
    return replace(protection, editors=_editors(protection, wanted, "users"))


def _set_groups(protection: Protection, wanted: Message) -> Protection:
    return replace(protection, groups=_editors(protection, wanted, "groups"))


def _set_domain(protection: Protection, wanted: Message) -> Protection:
    is_open = wanted.message("editors").flag("domainUsersCanEdit")
    return replace(protection, is_open_to_domain=is_open)


def _editors(protection: Protection, wanted: Message, name: str) -> tuple[str, ...]:
    addresses = tuple(dict.fromkeys(wanted.message("editors").texts(name)))
    if addresses and protection.warning_only:
        raise invalid("ProtectedRange is warningOnly. Editors cannot be set on it.")
    return addresses


SETTERS: dict[str, Setter] = {  # in order of application
    "warningOnly": _set_warning,
    "description": _set_description,
    "editors.users": _set_users,
    "editors.groups": _set_groups,
    "editors.domainUsersCanEdit": _set_domain,
}
