"""Kinds of columns, by the forms of their cells: number formats, data validation, native tables.

Rules
- The first that says it counts: the number format (or checkbox) of the written cell, of the last
  record's row, of the first data row; the type of the column in a native table; data validation;
  the values of these cells. Values count for forms alone, which have no types of their own.
- The type of a number format decides, not its pattern: a pattern of type NUMBER shows no moment.
- Source of the names of types and conditions: the discovery document of the Sheets API v4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple


class NumberFormat(NamedTuple):
    """Google's NumberFormatType, such as `DATE`, and the pattern; "" is that of the locale."""

    type: str
    pattern: str = ""


class CellForm(NamedTuple):
    """The number format of a cell, and the condition of its data validation; "" without one."""

    format: NumberFormat | None = None
    rule: str = ""


class Kind(Enum):
    """Kinds of columns."""

    NUMBER = auto()
    BOOLEAN = auto()
    DATE = auto()
    """Days, also with a time."""
    CLOCK = auto()
    """Times of day, and durations."""
    TEXT = auto()


_OF_FORMAT: Mapping[str, Kind] = {
    "TEXT": Kind.TEXT,
    "NUMBER": Kind.NUMBER,
    "PERCENT": Kind.NUMBER,
    "CURRENCY": Kind.NUMBER,
    "SCIENTIFIC": Kind.NUMBER,
    "DATE": Kind.DATE,
    "DATE_TIME": Kind.DATE,
    "TIME": Kind.CLOCK,
}
_OF_COLUMN_TYPE: Mapping[str, Kind] = {**_OF_FORMAT, "DOUBLE": Kind.NUMBER, "BOOLEAN": Kind.BOOLEAN}
"""By the types of number formats, and those of columns of native tables."""
_OF_RULE: Mapping[str, Kind] = {
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "NUMBER": Kind.NUMBER,
}
"""By the first word of a condition of data validation, such as `DATE_IS_VALID`."""
_OF_VALUE: Mapping[type, Kind] = {bool: Kind.BOOLEAN, int: Kind.NUMBER, float: Kind.NUMBER}


class SeenCell(NamedTuple):
    """A cell as it was looked at: its form and typed value."""

    form: CellForm = CellForm()
    value: object = None


class ColumnKind(NamedTuple):
    """The kind of a column, None if nothing shows it, and the format of its moments."""

    kind: Kind | None = None
    format: NumberFormat | None = None


@dataclass(frozen=True, kw_only=True)
class SheetForms:
    """The cells of rows by which the kinds of columns are known.

    `last` is the last record's row, `below` the one after it, `first` the first data row; None if
    it was not looked at. `types` are the types of the columns of native tables.
    """

    first: Sequence[SeenCell] | None = None
    last: Sequence[SeenCell] | None = None
    below: Sequence[SeenCell] | None = None
    types: Mapping[int, str] = field(default_factory=dict)

    def kind(self, column: int, own: Sequence[SeenCell] = ()) -> ColumnKind:
        """The kind of a column; `own` is the row that is written, if it exists."""
        rows = (own, self.last or (), self.first or ())
        cells = [row[column] for row in rows if column < len(row)]
        for cell in cells:
            if _OF_RULE.get(cell.form.rule) is Kind.BOOLEAN:
                return ColumnKind(Kind.BOOLEAN)
            if cell.form.format is not None:
                return ColumnKind(_OF_FORMAT.get(cell.form.format.type), cell.form.format)
        type_ = self.types.get(column, "")
        if type_ in _OF_COLUMN_TYPE:
            is_format = type_ in _OF_FORMAT
            return ColumnKind(_OF_COLUMN_TYPE[type_], NumberFormat(type_) if is_format else None)
        rules = [_OF_RULE.get(cell.form.rule.partition("_")[0]) for cell in cells]
        values = [_OF_VALUE.get(type(cell.value)) for cell in cells]
        return ColumnKind(next(filter(None, [*rules, *values]), None))

    def of_new_row(self, width: int) -> Mapping[int, NumberFormat]:
        """The number formats that the first cells of the row below the last record show."""
        row = self.below or self.last or self.first or ()
        formats = [cell.form.format for cell in row[:width]]
        return {at: format_ for at, format_ in enumerate(formats) if format_ is not None}
