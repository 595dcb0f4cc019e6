"""Kinds of columns, by the forms of their cells: number formats, data validation, native tables.

Rules
- The first source with a kind decides: the number format (or checkbox) of the written cell, of the
  last record's row, of the first data row; the type of the column in a native table; data
  validation and values of these cells. Values matter for HTML forms only, which have no types.
- The type of a number format decides, not its pattern: a pattern of type NUMBER shows no moment.
- Source of the names of types and conditions: the discovery document of the Sheets API v4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple


class NumberFormat(NamedTuple):
    """Google's NumberFormatType, such as `DATE`, and the pattern; "" is the locale's default."""

    type: str
    pattern: str = ""


class CellForm(NamedTuple):
    """The number format of a cell, and the condition of its data validation; "" without one.

    `options` are the values of the condition, such as a dropdown's, if they were requested.
    """

    format: NumberFormat | None = None
    rule: str = ""
    options: tuple[str, ...] = ()


class Kind(Enum):
    """Kinds of columns."""

    NUMBER = auto()
    BOOLEAN = auto()
    DATE = auto()
    """Days, also with a time."""
    CLOCK = auto()
    """Times of day, and durations."""
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
"""Kinds by types of number formats and of columns of native tables."""
KINDS_OF_RULES: Mapping[str, Kind] = {
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "NUMBER": Kind.NUMBER,
}
"""Kinds by the first word of a condition of data validation, such as `DATE_IS_VALID`."""
_OF_VALUE: Mapping[type, Kind] = {bool: Kind.BOOLEAN, int: Kind.NUMBER, float: Kind.NUMBER}


class SeenCell(NamedTuple):
    """A cell in a look: its form and typed value."""

    form: CellForm = CellForm()
    value: object = None

    @property
    def is_blank(self) -> bool:
        return self.value is None or self.value == ""


class ColumnKind(NamedTuple):
    """The kind of a column, None if unknown, and the format of its moments."""

    kind: Kind | None = None
    format: NumberFormat | None = None


@dataclass(frozen=True, kw_only=True)
class SheetForms:
    """Forms of cells that decide the kinds of columns.

    `rows` are the read rows, in order of precedence: the last record's row, if it is known, and the
    first data row. `types` are the types of the columns of native tables. `formats` are the number
    formats of a new row, by column: from its place, otherwise from the last record.
    """

    rows: Sequence[Sequence[SeenCell]] = ()
    types: Mapping[int, str] = field(default_factory=dict)
    formats: Mapping[int, NumberFormat] = field(default_factory=dict)
    are_in_place: bool = True
    """True if the place of a new row has all of these formats."""
    is_plain: bool = False
    """True if the row below the last record was read, and has no forms."""

    def kind(self, column: int, own: Sequence[SeenCell] = ()) -> ColumnKind:
        """The kind of a column for a cell of the row `own`, which is empty for a new row."""
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
        """Cache of found kinds by column."""
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
    """The kind of a cell by its number format or checkbox; None without both."""
    if KINDS_OF_RULES.get(cell.form.rule) is Kind.BOOLEAN:
        return ColumnKind(Kind.BOOLEAN)
    if cell.form.format is None:
        return None
    return ColumnKind(KINDS_OF_FORMATS.get(cell.form.format.type), cell.form.format)


def _kind_of_content(cell: SeenCell) -> Kind | None:
    """The kind of a cell by its data validation, otherwise by its value."""
    return KINDS_OF_RULES.get(cell.form.rule.partition("_")[0]) or _OF_VALUE.get(type(cell.value))
