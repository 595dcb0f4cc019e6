"""What one cell holds.

Rules
- A grid keeps most cells as bare values; only a cell with more than a value is a `Cell`.
- What Google defines as JSON (a CellFormat, a DataValidationRule) is kept as JSON; it may be
  shared between cells, so it is never changed in place.
- A number is always a float: Google knows no other.
"""

from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import cast

from sheets_emulator.formats.pattern import default_pattern
from sheets_emulator.reply import Json

CellValue = bool | float | str | None
LONGEST_TEXT = 50_000  # characters of one cell, Google's limit
NOTHING: Json = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A value or a formula, and what else belongs to the cell.

    `format` is the CellFormat as entered, `validation` the DataValidationRule.
    """

    value: CellValue = None
    formula: str | None = None
    format: Json | None = None
    note: str | None = None
    validation: Json | None = None

    @property
    def is_blank(self) -> bool:
        """Does the cell show nothing, whatever its format and its note?"""
        return self.value is None and self.formula is None

    @property
    def pattern(self) -> str | None:
        """The number format, such as `yyyy-mm-dd`; None is the automatic one."""
        if self.format is None:
            return None
        wanted = cast(Json, self.format.get("numberFormat", NOTHING))
        return cast(str, wanted.get("pattern")) or default_pattern(
            cast(str, wanted.get("type", ""))
        )

    @property
    def is_plain_text(self) -> bool:
        """Is the cell formatted as plain text, so that whatever is typed into it stays text?"""
        wanted = cast(Json, (self.format or NOTHING).get("numberFormat", NOTHING))
        return wanted.get("type") == "TEXT" or wanted.get("pattern") == "@"


Content = CellValue | Cell
BLANK = Cell()


@cache
def number_format(kind: str, pattern: str) -> Json:
    """The CellFormat of a number format; kind: Google's NumberFormatType, such as `DATE`."""
    return {"numberFormat": {"type": kind, "pattern": pattern}}


def whole(content: Content) -> Cell:
    """The cell that a grid's content stands for."""
    return content if isinstance(content, Cell) else Cell(value=content)


def bare(cell: Cell) -> Content:
    """The cell as a grid keeps it: its value where it has nothing else."""
    is_plain = cell.formula is None and cell.format is None
    return cell.value if is_plain and cell.note is None and cell.validation is None else cell


def is_blank(content: Content) -> bool:
    """Does the content show nothing?"""
    return content is None or (isinstance(content, Cell) and content.is_blank)


def rewritten(old: Content, new: Cell) -> Content:
    """What is there after `new` was entered over `old`: all but value and formula stays.

    A number format that entering `new` gives takes the place of the one before.
    """
    if not isinstance(old, Cell):
        return bare(new)
    merged = new.format if old.format is None else {**old.format, **(new.format or NOTHING)}
    return bare(replace(old, value=new.value, formula=new.formula, format=merged))


def emptied(old: Content) -> Content:
    """What is there after a cell was cleared: its value is gone, the rest stays."""
    return rewritten(old, BLANK)
