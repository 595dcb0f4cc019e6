"""batchUpdate: named ranges."""

from collections.abc import Container
from dataclasses import replace
from typing import TypeVar

from sheets_emulator.grid.a1 import is_range_name
from sheets_emulator.grid.marks import NamedRange
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.definition import members
from sheets_emulator.protocol.fields import update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Area, Editing, read_area, require_fields
from sheets_emulator.resources.mark_data import describe_name
from sheets_emulator.resources.places import named_range

BOUNDS = "range."

Id = TypeVar("Id", int, str)


def add_named_range(editing: Editing, message: Message) -> Reply:
    """addNamedRange: add a named range with the requested ID or a new one."""
    wanted = message.message("namedRange")
    name = _free_name(editing.workbook, wanted.text("name"), verb="add named range with name")
    area = _area(editing, wanted)
    named = NamedRange(range_id=_new_id(editing.workbook, wanted), name=name, span=area.span)
    area.sheet.names.append(named)
    return {"addNamedRange": {"namedRange": describe_name(area.sheet, named)}}


def update_named_range(editing: Editing, message: Message) -> Reply:
    """updateNamedRange: set the name, the range or both, as the mask says."""
    wanted = message.message("namedRange")
    sheet, named = require_named_range(editing.workbook, wanted.text("namedRangeId"))
    paths = update_paths(require_fields(message), "NamedRange")
    if "name" in paths:
        name = wanted.text("name")
        if name.casefold() != named.name.casefold():
            _free_name(editing.workbook, name, verb="update named range to name")
        named = _replaced(sheet, named, replace(named, name=name))
    bounds = [path for path in paths if path.startswith(BOUNDS)]
    if bounds:
        if len(bounds) < len(members("GridRange") or ()):
            raise unimplemented(f"updateNamedRange with '{bounds[0]}' but not the whole range")
        _move(sheet, named, _area(editing, wanted))
    return {}


def delete_named_range(editing: Editing, message: Message) -> Reply:
    """deleteNamedRange: delete a named range. Protections of the range stay."""
    sheet, named = require_named_range(editing.workbook, message.text("namedRangeId"))
    sheet.names.remove(named)
    sheet.protections = [
        replace(each, range_id=None) if each.range_id == named.range_id else each
        for each in sheet.protections
    ]
    return {}


def require_named_range(workbook: Workbook, range_id: str) -> tuple[Sheet, NamedRange]:
    """Return the worksheet and named range with this ID. Raises a 400 for an unknown ID."""
    for sheet in workbook.sheets:
        for named in sheet.names:
            if named.range_id == range_id:
                return sheet, named
    raise invalid(f"No NamedRange with id: {range_id}")


def free_id(mark_id: Id, taken: Container[Id], kind: str) -> Id:
    """Return `mark_id`. Raises a 400 if the ID is used.

    `kind` is the name of the mark for the error, such as "named range".
    """
    if mark_id in taken:
        raise invalid(
            f"Cannot add {kind} with ID: {mark_id}, a {kind} with that ID already exists."
        )
    return mark_id


def _area(editing: Editing, wanted: Message) -> Area:
    if not wanted.has("range"):
        raise invalid("Must specify a range for a named range.")
    return read_area(editing.workbook, wanted.message("range"))


def _free_name(workbook: Workbook, name: str, *, verb: str) -> str:
    """Return the name. Raises a 400 if the name is invalid or used."""
    if not is_range_name(name):
        raise invalid(f'The name "{name[:300]}" is not valid for a named range.')
    if named_range(workbook, name) is not None:
        raise invalid(f"Cannot {verb} {name}, a named range with that name already exists.")
    return name


def _new_id(workbook: Workbook, wanted: Message) -> str:
    range_id = wanted.text("namedRangeId") or str(workbook.new_id())
    taken = {named.range_id for sheet in workbook.sheets for named in sheet.names}
    return free_id(range_id, taken, "named range")


def _replaced(sheet: Sheet, old: NamedRange, new: NamedRange) -> NamedRange:
    sheet.names[sheet.names.index(old)] = new
    return new


def _move(sheet: Sheet, named: NamedRange, area: Area) -> None:
    """Move a named range together with its protections."""
    moved = replace(named, span=area.span)
    if area.sheet is sheet:
        _replaced(sheet, named, moved)
    else:
        sheet.names.remove(named)
        area.sheet.names.append(moved)
    protections = [each for each in sheet.protections if each.range_id == named.range_id]
    for protection in protections:
        sheet.protections.remove(protection)
        area.sheet.protections.append(replace(protection, span=area.span))
