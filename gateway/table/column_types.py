"""Types of columns: the `Kind` of a cell to write, and the JSON type of a column in schemas.

Rules for the kind of a cell to write
- The first source that has a kind decides. The sources are, in this order: the number format or
  checkbox of the cell itself, of the cell in the last record, of the cell in the first data row;
  the type of the column in a native table; data validation of these cells; values of these cells.
- Google's type of a number format decides, not its pattern.

Rules for the JSON type of a column
- The first source that has a type decides. The sources are, in this order: the type of the column
  in a native table; data validation with a checkbox or a list; the number formats of the first
  filled cells, or of the first blank cells; data validation of numbers or dates; the values of the
  first filled cells, except errors.
- There is no integer type, because the next cell can have a fraction.
- Google does not check types in writes of its API, so a cell can have another type than its column.

Source of Google's names of types and conditions: the discovery document of the Sheets API v4.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Literal, NamedTuple

from gateway.table.cells import ERRORS, composed, number_in
from gateway.table.moments import displayed_moment


class NumberFormat(NamedTuple):
    """Google's number format of a cell.

    `type` is the NumberFormatType, such as `DATE`. The pattern "" is the default of the locale.
    """

    type: str
    pattern: str = ""


class CellForm(NamedTuple):
    """Number format of a cell, and its data validation.

    `rule` is Google's ConditionType of the data validation, or "" without data validation.
    `options` are the values of the condition, such as the values of a dropdown. They are empty if
    the read did not request the values.
    """

    format: NumberFormat | None = None
    rule: str = ""
    options: tuple[str, ...] = ()


class Kind(Enum):
    """Kind of a column, which decides how a write stores a value."""

    NUMBER = auto()
    BOOLEAN = auto()
    DATE = auto()
    """Dates with or without a time."""
    CLOCK = auto()
    """Times of day and durations."""
    TEXT = auto()


KINDS_OF_FORMATS: Mapping[str, Kind] = {
    "TEXT": Kind.TEXT,
    "NUMBER": Kind.NUMBER,
    "PERCENT": Kind.NUMBER,
    "CURRENCY": Kind.NUMBER,
    "SCIENTIFIC": Kind.NUMBER,
    "DATE": Kind.DATE,
    "DATE_TIME": Kind.DATE,
    "TIME": Kind.CLOCK,
}
KINDS_OF_COLUMN_TYPES: Mapping[str, Kind] = {
    **KINDS_OF_FORMATS,
    "DOUBLE": Kind.NUMBER,
    "BOOLEAN": Kind.BOOLEAN,
}
"""Kinds by Google's NumberFormatType, and by Google's ColumnType of native tables."""
KINDS_OF_RULES: Mapping[str, Kind] = {
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "NUMBER": Kind.NUMBER,
}
"""Kinds by the first word of a condition in data validation, such as `DATE_IS_VALID`."""
_OF_VALUE: Mapping[type, Kind] = {bool: Kind.BOOLEAN, int: Kind.NUMBER, float: Kind.NUMBER}


class SeenCell(NamedTuple):
    """Cell as read from Google: number format and data validation, typed value, displayed text.

    An attribute that the read did not request has its default.
    """

    form: CellForm = CellForm()
    value: object = None
    text: str = ""
    is_computed: bool = False
    """True if the cell shows the result of a formula."""

    @property
    def is_blank(self) -> bool:
        return self.value is None or self.value == ""


class ColumnKind(NamedTuple):
    """Kind of a column, or None if unknown, and the number format of its dates or times."""

    kind: Kind | None = None
    format: NumberFormat | None = None


@dataclass(frozen=True, kw_only=True)
class SheetForms:
    """Number formats, data validation and types of a worksheet, to derive the kinds of columns.

    `rows` are the cells of the last record, if its row is known, and of the first data row.
    `types` are Google's ColumnTypes of native tables, by column. `formats` are the number formats
    for a new row, by column.
    """

    rows: Sequence[Sequence[SeenCell]] = ()
    types: Mapping[int, str] = field(default_factory=dict)
    formats: Mapping[int, NumberFormat] = field(default_factory=dict)
    are_in_place: bool = True
    """True if the cells below the last record already have all of `formats`."""
    is_plain: bool = False
    """True if the row below the last record was read and has no formats or data validation."""

    def kind(self, column: int, own: Sequence[SeenCell] = ()) -> ColumnKind:
        """Kind of a cell to write. `own` has the present cells of the row, or () for a new row."""
        written = own[column] if column < len(own) else SeenCell()
        kind = _kind_of_form(written)
        if kind is not None:
            return kind
        if column not in self._known:
            self._known[column] = self._kind(column)
        known = self._known[column]
        return known if known.kind is not None else ColumnKind(_kind_of_content(written))

    @cached_property
    def _known(self) -> dict[int, ColumnKind]:
        return {}

    def _kind(self, column: int) -> ColumnKind:
        cells = [row[column] for row in self.rows if column < len(row)]
        kind = next(filter(None, map(_kind_of_form, cells)), None)
        if kind is not None:
            return kind
        type_ = self.types.get(column, "")
        if type_ in KINDS_OF_COLUMN_TYPES:
            is_format = type_ in KINDS_OF_FORMATS
            return ColumnKind(
                KINDS_OF_COLUMN_TYPES[type_], NumberFormat(type_) if is_format else None
            )
        return ColumnKind(next(filter(None, map(_kind_of_content, cells)), None))


def _kind_of_form(cell: SeenCell) -> ColumnKind | None:
    """Kind of a cell by its checkbox or number format, or None if the cell has neither."""
    if KINDS_OF_RULES.get(cell.form.rule) is Kind.BOOLEAN:
        return ColumnKind(Kind.BOOLEAN)
    if cell.form.format is None:
        return None
    return ColumnKind(KINDS_OF_FORMATS.get(cell.form.format.type), cell.form.format)


def _kind_of_content(cell: SeenCell) -> Kind | None:
    """Kind of a cell by its data validation, or else by its value."""
    return KINDS_OF_RULES.get(cell.form.rule.partition("_")[0]) or _OF_VALUE.get(type(cell.value))


TypeName = Literal["number", "boolean", "date", "date-time", "time", "text"]
Source = Literal["table", "validation", "format", "cells"]
Option = str | int | float | bool

MAX_OPTIONS = 500
"""Maximum number of dropdown options in a schema. A longer list is left out."""

MAX_OPTION_CHARACTERS = 10_000
"""Maximum characters of all dropdown options of a column. A longer list is left out."""

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
"""Google's ColumnTypes of native tables whose cells display a name."""
_DROPDOWN = "DROPDOWN"
_BOOLEANS: Mapping[str, bool] = {"TRUE": True, "FALSE": False}


@dataclass(frozen=True, kw_only=True)
class ColumnType:
    """JSON type of a column in a schema, and the source of the type.

    `names` has several types if the first cells differ, and is empty if the type is unknown.
    `options` are the values of a dropdown, as in typed answers.
    """

    names: tuple[TypeName, ...] = ()
    source: Source | None = None
    options: tuple[Option, ...] = ()
    is_computed: bool = False
    """True if all of the first filled cells show results of formulas."""

    @property
    def name(self) -> TypeName:
        """The single type, or `text` if several types or none are known."""
        return self.names[0] if len(self.names) == 1 else "text"


UNKNOWN = ColumnType()


def column_type(
    cells: Sequence[SeenCell], declared: str = "", declared_options: Sequence[str] = ()
) -> ColumnType:
    """Derive the JSON type of a column from its first cells.

    `declared` is Google's ColumnType of the column in a native table, or "". `declared_options` are
    the dropdown values in the native table.
    """
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
    cells: Sequence[SeenCell],
    filled: Sequence[SeenCell],
    declared: str,
    declared_options: Sequence[str],
) -> _Found:
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


def _of_formats(cells: Sequence[SeenCell]) -> tuple[TypeName, ...]:
    """Types of cells by their number formats, or () if no cell has a known number format.

    The value decides the type of a number or boolean without a known format. A text without a
    number format is ignored.
    """
    formats = [cell.form.format for cell in cells]
    known = [each is not None and each.type in KINDS_OF_FORMATS for each in formats]
    if not any(known):
        return ()
    found = (
        _name(each.type, KINDS_OF_FORMATS) if each is not None and is_known else _name_of_cell(cell)
        for cell, each, is_known in zip(cells, formats, known, strict=True)
        if each is not None or isinstance(cell.value, int | float)
    )
    return _distinct(filter(None, found))


def _name(google: str, kinds: Mapping[str, Kind]) -> TypeName:
    return "date-time" if google == _DATE_TIME else _NAMES[kinds[google]]


def _of_options(texts: Sequence[str], filled: Sequence[SeenCell], source: Source) -> _Found:
    """Returns types, `source` and options of a dropdown column.

    `texts` are the options as texts, and `filled` the filled cells of the column.

    Google stores a chosen option such as `5` as a number. So the options become numbers and
    booleans where possible, except if a cell stores an option as a text or has the text format.
    """
    are_texts = any(
        isinstance(cell.value, str) and _option(cell.value) != cell.value and cell.value in texts
        for cell in filled
    ) or any(cell.form.format is not None and cell.form.format.type == _TEXT for cell in filled)
    options = tuple(dict.fromkeys(texts))
    values: tuple[Option, ...] = options if are_texts else tuple(map(_option, options))
    names = _distinct([_NAMES[_OF_VALUE.get(type(value), Kind.TEXT)] for value in values])
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


def _name_of_cell(cell: SeenCell) -> TypeName | None:
    """Type of a cell's value in typed answers, or None for an error, whose value is null."""
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
    """Remove duplicates. Remove "date" if the names contain "date-time"."""
    found = dict.fromkeys(names)
    if "date-time" in found:
        found.pop("date", None)
    return tuple(found)
