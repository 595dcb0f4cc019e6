"""What one cell holds."""

from dataclasses import dataclass, replace

CellValue = bool | float | str | None
LONGEST_TEXT = 50_000  # characters of one cell, Google's limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A value or a formula, and the number format it is shown in.

    A number is always a float: Google knows no other. `pattern` is a number format such as
    `yyyy-mm-dd`; None is the automatic format. A formula is not evaluated: it shows `#NAME?`.
    """

    value: CellValue = None
    formula: str | None = None
    pattern: str | None = None

    @property
    def is_blank(self) -> bool:
        return self.value is None and self.formula is None


BLANK = Cell()


def rewritten(old: Cell, new: Cell) -> Cell:
    """The cell after `new` was entered over `old`: a format stays until another is entered."""
    if new.pattern is not None or old.pattern is None:
        return new
    return replace(new, pattern=old.pattern)
