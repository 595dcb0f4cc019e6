"""batchUpdate: the basic filter of a worksheet.

Criteria are stored but hide no rows, so `hiddenByFilter` is never returned.
"""

from collections.abc import Mapping

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.color import with_both
from sheets_emulator.grid.marks import Filter
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, unimplemented
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.grid_range import Editing, read_area, require_sheet
from sheets_emulator.resources.places import require_unprotected

COLORS = {  # style member of a colour, by plain member
    "visibleBackgroundColor": "visibleBackgroundColorStyle",
    "visibleForegroundColor": "visibleForegroundColorStyle",
}


def set_basic_filter(editing: Editing, message: Message) -> Reply:
    """setBasicFilter: set a filter for the cells of the range within the grid.

    Cells of the range past the grid are left out (recorded from Google).
    """
    wanted = message.message("filter")
    for name in ("sortSpecs", "tableId"):
        if wanted.has(name):
            raise unimplemented(f"'{name}' of a basic filter")
    if not wanted.has("range"):
        raise invalid("Must specify a range for the filter.")
    area = read_area(editing.workbook, wanted.message("range"))
    require_unprotected(area.sheet, area.box, editing.account)
    box = area.box
    span = Span(top=box.top, left=box.left, bottom=box.bottom, right=box.right)
    area.sheet.filters = [Filter(span=span, settings=_settings(wanted))]
    return {}


def clear_basic_filter(editing: Editing, message: Message) -> Reply:
    sheet = require_sheet(editing.workbook, message.integer("sheetId"))
    if sheet.filters:
        require_unprotected(sheet, sheet.clamped(sheet.filters[0].span), editing.account)
    sheet.filters = []
    return {}


def _settings(wanted: Message) -> Json:
    """Return the criteria of a filter in Google's older form (by column) and newer form (list).

    If the request has both forms, the newer form takes precedence.
    """
    specs = [_spec(each) for each in wanted.messages("filterSpecs")]
    criteria = specs or _criteria(wanted.message("criteria"))
    if not criteria:
        return {}
    by_column = {str(column): each for column, each in criteria}
    as_list = [{"columnIndex": column, "filterCriteria": each} for column, each in criteria]
    return {"criteria": by_column, "filterSpecs": as_list}


def _spec(message: Message) -> tuple[int, Json]:
    if message.has("dataSourceColumnReference"):
        raise unimplemented("a filter of a data source")
    return message.integer("columnIndex"), _completed(message.message("filterCriteria").fields)


def _criteria(message: Message) -> list[tuple[int, Json]]:
    found: Mapping[int, Json] = {
        _column(name): _completed(message.message(name).fields) for name in message.fields
    }
    return sorted(found.items(), key=lambda pair: pair[0])


def _completed(criteria: Json) -> Json:
    """Return the FilterCriteria with colours as Google returns them."""
    for plain, style in COLORS.items():
        criteria = with_both(criteria, plain, style)
    return criteria


def _column(name: str) -> int:
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        raise invalid(
            f"The criteria of a filter are by column index. {name[:50]!r} is not an index."
        )
    return int(name)
