"""Types of columns for schemas: the types of a column's cells in typed answers.

Rules
- The first source with a type decides: the type of the column in a native table; data validation
  with a checkbox or a list; the number format of the first filled cells, otherwise of the first
  blank ones; a validation of numbers or dates; the values of these cells, apart from errors.
- There are no integers: a whole number does not predict the next one.
- Google does not enforce types on writes of its API: a cell may have another type.
- Source of the names of types and conditions: the discovery document of the Sheets API v4.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gateway.table.cells import ERRORS, number_in
from gateway.table.column_kinds import (
    KINDS_OF_COLUMN_TYPES,
    KINDS_OF_FORMATS,
    KINDS_OF_RULES,
    CellForm,
    Kind,
    NumberFormat,
)
from gateway.table.moments import displayed_moment
from gateway.table.texts import composed

TypeName = Literal["number", "boolean", "date", "date-time", "time", "text"]
Source = Literal["table", "validation", "format", "cells"]
Option = str | int | float | bool

MAX_OPTIONS = 500
"""Maximum number of options in a schema; with more, only the type is shown."""

MAX_OPTION_CHARACTERS = 10_000
"""Maximum number of characters of all options; with more, only the type is shown."""

_NAMES: Mapping[Kind, TypeName] = {
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.CLOCK: "time",
    Kind.TEXT: "text",
}
_DATE_TIME = "DATE_TIME"
_LIST, _CHECKBOX, _TEXT = "ONE_OF_LIST", "BOOLEAN", "TEXT"
_CHIPS = frozenset({"FILES_CHIP", "PEOPLE_CHIP", "FINANCE_CHIP", "PLACE_CHIP"})
"""Column types of native tables whose cells display a name."""
_DROPDOWN = "DROPDOWN"
_BOOLEANS: Mapping[str, bool] = {"TRUE": True, "FALSE": False}


class FirstCell(NamedTuple):
    """One of the first cells of a column: displayed text, typed value and form."""

    text: str
    value: object
    form: CellForm = CellForm()
    is_computed: bool = False
    """True if the cell shows the result of a formula."""

    @property
    def is_blank(self) -> bool:
        return self.value is None or self.value == ""


@dataclass(frozen=True, kw_only=True)
class ColumnType:
    """The type of a column, and its source.

    There are several `names` if the first cells differ, and none if the type is unknown. `options`
    are the values of a dropdown as in typed answers.
    """

    names: tuple[TypeName, ...] = ()
    source: Source | None = None
    options: tuple[Option, ...] = ()
    is_computed: bool = False
    """True if all of the first filled cells show results of formulas."""

    @property
    def name(self) -> TypeName:
        """The only type; text if there are several or none."""
        return self.names[0] if len(self.names) == 1 else "text"


UNKNOWN = ColumnType()


def column_type(
    cells: Sequence[FirstCell], declared: str = "", declared_options: Sequence[str] = ()
) -> ColumnType:
    """Derive the type of a column from its first cells and its type in a native table."""
    filled = [cell for cell in cells if not cell.is_blank]
    names, source, options = _found(cells, filled, declared, declared_options)
    return ColumnType(
        names=names,
        source=source,
        options=options,
        is_computed=bool(filled) and all(cell.is_computed for cell in filled),
    )


_Found = tuple[tuple[TypeName, ...], Source | None, tuple[Option, ...]]


def _found(
    cells: Sequence[FirstCell],
    filled: Sequence[FirstCell],
    declared: str,
    declared_options: Sequence[str],
) -> _Found:
    """The names of the type, its source, and the options."""
    if declared == _DROPDOWN and declared_options:
        return _of_options(declared_options, filled, "table")
    if declared in _CHIPS:
        return ("text",), "table", ()
    if declared in KINDS_OF_COLUMN_TYPES:
        return (_name(declared, KINDS_OF_COLUMN_TYPES),), "table", ()
    for form in (cell.form for cell in cells):
        if form.rule == _LIST or (form.rule == _CHECKBOX and form.options):
            return _of_options(form.options, filled, "validation")
        if form.rule == _CHECKBOX:
            return ("boolean",), "validation", ()
    if names := _of_formats(filled) or _of_formats(cells)[:1]:
        return names, "format", ()
    for form in (cell.form for cell in cells):
        kind = KINDS_OF_RULES.get(form.rule.partition("_")[0])
        if kind is not None:
            return (_NAMES[kind],), "validation", ()
    names = _distinct(filter(None, map(_name_of_cell, filled)))
    return names, "cells" if names else None, ()


def _of_formats(cells: Sequence[FirstCell]) -> tuple[TypeName, ...]:
    """The types by number formats; empty if no cell has one.

    Values of cells without a format count, too, apart from texts, which get none when typed.
    """
    found = [cell.form.format for cell in cells]
    if not any(each is not None and each.type in KINDS_OF_FORMATS for each in found):
        return ()
    return _distinct(
        name
        for cell, each in zip(cells, found, strict=True)
        if each is not None or isinstance(cell.value, int | float)
        if (name := _name_of_form(each) or _name_of_cell(cell)) is not None
    )


def _name_of_form(number_format: NumberFormat | None) -> TypeName | None:
    if number_format is None or number_format.type not in KINDS_OF_FORMATS:
        return None
    return _name(number_format.type, KINDS_OF_FORMATS)


def _name(google: str, kinds: Mapping[str, Kind]) -> TypeName:
    """The type for Google's type of a number format, or of a column of a native table."""
    return "date-time" if google == _DATE_TIME else _NAMES[kinds[google]]


def _of_options(texts: Sequence[str], filled: Sequence[FirstCell], source: Source) -> _Found:
    """The type of a dropdown; Sheets stores a chosen option that is a number as a number.

    It is text if a cell has the option as a text, or has the text format.
    """
    are_texts = any(
        isinstance(cell.value, str) and _option(cell.value) != cell.value and cell.value in texts
        for cell in filled
    ) or any(cell.form.format is not None and cell.form.format.type == _TEXT for cell in filled)
    options = tuple(dict.fromkeys(texts))
    values: tuple[Option, ...] = options if are_texts else tuple(map(_option, options))
    names = _distinct([_NAMES[_kind_of_option(value)] for value in values])
    if len(values) > MAX_OPTIONS or sum(map(len, options)) > MAX_OPTION_CHARACTERS:
        values = ()
    return names, source, values


def _option(text: str) -> Option:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    number = number_in(text)
    if number is None:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _kind_of_option(value: Option) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    return Kind.TEXT if isinstance(value, str) else Kind.NUMBER


def _name_of_cell(cell: FirstCell) -> TypeName | None:
    """The type of a cell's value in typed answers; None for an error, which is null there."""
    text, value = cell.text, cell.value
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        moment = displayed_moment(composed(text), value)
        if moment is None:
            return "number"
        return "time" if moment.is_clock else "date" if moment.is_day else "date-time"
    if text in ERRORS and str(value).partition(" (")[0] in ERRORS:
        return None
    return "text"


def _distinct(names: Iterable[TypeName]) -> tuple[TypeName, ...]:
    """Each name once; dates become date-times if some have a time."""
    found = dict.fromkeys(names)
    if "date-time" in found:
        found.pop("date", None)
    return tuple(found)
