"""SpreadsheetProperties: read for a new spreadsheet, set on one that is there.

`defaultFormat` is remembered and shown, but changes no cell's format; so are the other members
that a spreadsheet only carries along.
"""

import re
from collections.abc import Callable

from gateway.emulator.grid.cell import Json
from gateway.emulator.grid.workbook import Workbook
from gateway.emulator.protocol.fields import update_paths
from gateway.emulator.protocol.message import Message
from gateway.emulator.protocol.shape import (
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    Shape,
    choice,
    many,
    one,
    read_shape,
)
from gateway.emulator.refusal import invalid
from gateway.emulator.reply import Reply
from gateway.emulator.resources.cell_format import CELL_FORMAT, COLOR_STYLE
from gateway.emulator.resources.grid_range import Editing, require_fields

UNTITLED = "Untitled spreadsheet"
LOCALE = re.compile(r"[a-z]{2,3}(_[A-Z]{2})?")
THEME_COLORS = (
    *("THEME_COLOR_TYPE_UNSPECIFIED", "TEXT", "BACKGROUND", "ACCENT1", "ACCENT2"),
    *("ACCENT3", "ACCENT4", "ACCENT5", "ACCENT6", "LINK"),
)
THEME_COLOR: Shape = {
    "colorType": choice("ThemeColorType", *THEME_COLORS),
    "color": one(COLOR_STYLE),
}
LOOK: Shape = {
    "autoRecalc": choice(
        "RecalculationInterval",
        *("RECALCULATION_INTERVAL_UNSPECIFIED", "ON_CHANGE", "MINUTE", "HOUR"),
    ),
    "defaultFormat": one(CELL_FORMAT),
    "iterativeCalculationSettings": one({"maxIterations": INTEGER, "convergenceThreshold": NUMBER}),
    "spreadsheetTheme": one({"primaryFontFamily": TEXT, "themeColors": many(THEME_COLOR)}),
    "importFunctionsExternalUrlAccessAllowed": FLAG,
}
TEXTS = ("title", "locale", "timeZone")

Setter = Callable[[Workbook, str], None]


def update_spreadsheet_properties(editing: Editing, message: Message) -> Reply:
    """updateSpreadsheetProperties: the fields that the mask names."""
    properties = read_spreadsheet_properties(message)
    paths = update_paths(require_fields(message), "SpreadsheetProperties")
    names = {path.partition(".")[0] for path in paths}
    for name in SETTERS:
        if name in names:
            SETTERS[name](editing.workbook, properties.text(name))
    _set_look(editing.workbook, properties, names)
    return {}


def dress_spreadsheet(workbook: Workbook, properties: Message) -> None:
    """Give a new spreadsheet what its properties bring."""
    for name in SETTERS:
        if properties.has(name):
            SETTERS[name](workbook, properties.text(name))
    _set_look(workbook, properties, set(properties.fields))


def read_spreadsheet_properties(message: Message) -> Message:
    """The SpreadsheetProperties of a request."""
    return message.message("properties")


def _set_look(workbook: Workbook, properties: Message, names: set[str]) -> None:
    given = {name: value for name, value in properties.fields.items() if name in names - {*TEXTS}}
    kept: Json = {name: value for name, value in workbook.look.items() if name not in names}
    read = read_shape(Message(fields=given, place=properties.place), LOOK)
    workbook.look = {**kept, **{name: value for name, value in read.items() if value}}


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
