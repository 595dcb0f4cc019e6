"""Content of a cell.

Rules:
- A grid stores a cell without format, note, rule and formula as the bare value. Other cells are
  `Cell` objects.
- JSON objects of Google (CellFormat, DataValidationRule) are stored as JSON. Cells share these
  objects, so they are never modified.
- Numbers are always floats, as in Google Sheets.
"""

import re
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import cast

from sheets_emulator.formats.pattern import default_pattern
from sheets_emulator.reply import Json

CellValue = bool | float | str | None
MAX_TEXT_LENGTH = 50_000  # characters per cell, Google's limit
NOTHING: Json = MappingProxyType({})
ARRAY = re.compile(r"ARRAYFORMULA\s*\(", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spill:
    """Distance, in rows and columns, of a cell from the array formula whose result it displays."""

    down: int
    right: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell with its value or formula, and its other properties.

    `format` is the CellFormat as entered, and `validation` is the DataValidationRule. A cell with
    `spill` displays a part of an array formula's result and has no value or formula of its own.
    """

    value: CellValue = None
    formula: str | None = None
    format: Json | None = None
    note: str | None = None
    validation: Json | None = None
    spill: Spill | None = None

    @property
    def is_array(self) -> bool:
        """True if the cell has an array formula."""
        return self.formula is not None and ARRAY.search(self.formula) is not None

    @property
    def is_computed(self) -> bool:
        """True if the cell displays the result of a formula."""
        return self.formula is not None or self.spill is not None

    @property
    def is_blank(self) -> bool:
        """True if the cell has no value, no formula and no checkbox."""
        return self.value is None and not self.is_computed and not self.is_checkbox

    @property
    def effective_value(self) -> CellValue:
        """The value of a cell without formula. A checkbox that was never ticked is FALSE.

        FALSE is assumed, because users report that blank rows with rules are not read as blank.
        """
        return False if self.value is None and self.is_checkbox else self.value

    @property
    def pattern(self) -> str | None:
        """The number format, such as `yyyy-mm-dd`. None means the automatic format."""
        if self.format is None:
            return None
        wanted = cast(Json, self.format.get("numberFormat", NOTHING))
        return cast(str, wanted.get("pattern")) or default_pattern(
            cast(str, wanted.get("type", ""))
        )

    @property
    def is_checkbox(self) -> bool:
        """True if the cell has a checkbox, whose values are TRUE and FALSE."""
        if self.validation is None:
            return False
        condition = cast(Json, self.validation.get("condition", NOTHING))
        return condition.get("type") == "BOOLEAN" and not condition.get("values")

    @property
    def is_plain_text(self) -> bool:
        """True if the cell has the plain text format. Typed input then stays text."""
        wanted = cast(Json, (self.format or NOTHING).get("numberFormat", NOTHING))
        return wanted.get("type") == "TEXT" or wanted.get("pattern") == "@"


Content = CellValue | Cell
BLANK = Cell()


@cache
def number_format(kind: str, pattern: str) -> Json:
    """Return the CellFormat of a number format.

    `kind` is Google's NumberFormatType, such as `DATE`.
    """
    return {"numberFormat": {"type": kind, "pattern": pattern}}


def whole(content: Content) -> Cell:
    """The `Cell` of a grid's content."""
    return content if isinstance(content, Cell) else Cell(value=content)


def bare(cell: Cell) -> Content:
    """Return the cell as a grid stores cells: only the value if there is nothing else."""
    is_plain = cell.formula is None and cell.format is None and cell.spill is None
    return cell.value if is_plain and cell.note is None and cell.validation is None else cell


def is_blank(content: Content) -> bool:
    """True if the content is neither a value nor a formula nor a checkbox."""
    return content is None or (isinstance(content, Cell) and content.is_blank)


def rewritten(old: Content, new: Cell) -> Content:
    """Return the content after `new` was entered over `old`. Format, note and rule of `old` stay.

    If `new` has a number format, it replaces the old one.
    """
    if not isinstance(old, Cell):
        return bare(new)
    merged = new.format if old.format is None else {**old.format, **(new.format or NOTHING)}
    return bare(replace(old, value=new.value, formula=new.formula, format=merged, spill=None))


def emptied(old: Content) -> Content:
    """Return the content after its value was cleared. Format, note and rule stay."""
    return rewritten(old, BLANK)
