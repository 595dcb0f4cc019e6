"""SpreadsheetProperties of new and existing spreadsheets.

`defaultFormat` and similar members are stored and returned, but have no effect on cells.
"""

import re
from collections.abc import Callable

from sheets_emulator.grid.color import answered_style
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.fields import read_mask, update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.cell_format import completed_format
from sheets_emulator.resources.grid_range import Editing, require_fields

UNTITLED = "Untitled spreadsheet"
LOCALE = re.compile(r"[a-z]{2,3}(_[A-Z]{2})?")
LASTING = (
    "locale",
    "timeZone",
)  # a spreadsheet always has these members, so `*` without a value leaves them unchanged

Setter = Callable[[Workbook, str], None]


def update_spreadsheet_properties(editing: Editing, message: Message) -> Reply:
    """updateSpreadsheetProperties: set the fields in the mask."""
    properties = message.message("properties")
    mask = require_fields(message)
    names = {path.partition(".")[0] for path in update_paths(mask, "SpreadsheetProperties")}
    if "*" in read_mask(mask):
        names -= {name for name in LASTING if not properties.has(name)}
    for name in SETTERS:
        if name in names:
            SETTERS[name](editing.workbook, properties.text(name))
    _set_look(editing.workbook, properties, names)
    return {}


def apply_spreadsheet_properties(workbook: Workbook, properties: Message) -> None:
    """Apply SpreadsheetProperties to a new spreadsheet."""
    for name in SETTERS:
        if properties.has(name):
            SETTERS[name](workbook, properties.text(name))
    _set_look(workbook, properties, set(properties.fields))


def _set_look(workbook: Workbook, properties: Message, names: set[str]) -> None:
    kept: Json = {name: value for name, value in workbook.look.items() if name not in names}
    wanted = names - SETTERS.keys()
    given: Json = {
        name: COMPLETIONS[name](properties.message(name)) if name in COMPLETIONS else value
        for name, value in properties.fields.items()
        if name in wanted
    }
    workbook.look = {**kept, **{name: value for name, value in given.items() if value}}


def _theme(given: Message) -> Json:
    """Return the SpreadsheetTheme with colours as Google returns them."""
    if not given.has("themeColors"):
        return given.fields
    pairs = [
        {**pair.fields, "color": answered_style(pair.message("color").fields)}
        if pair.has("color")
        else pair.fields
        for pair in given.messages("themeColors")
    ]
    return {**given.fields, "themeColors": pairs}


def _set_title(workbook: Workbook, title: str) -> None:
    workbook.title = title or UNTITLED


def _set_locale(workbook: Workbook, locale: str) -> None:
    if not LOCALE.fullmatch(locale):
        raise invalid(f"Unsupported locale: {locale[:50]}")
    workbook.locale = locale


def _set_time_zone(workbook: Workbook, time_zone: str) -> None:
    if not time_zone:
        raise invalid("The time zone cannot be empty.")
    workbook.time_zone = time_zone


SETTERS: dict[str, Setter] = {
    "title": _set_title,
    "locale": _set_locale,
    "timeZone": _set_time_zone,
}
COMPLETIONS: dict[str, Callable[[Message], Json | None]] = {
    "defaultFormat": lambda given: completed_format(given.fields),
    "spreadsheetTheme": _theme,
}
