"""A1 ranges of the in-memory `Sheets`.

Rules: no code of the gateway is used, so that mistakes in its A1 code show. Rows and columns count
from 1, and boxes include both ends.
"""

import re
from dataclasses import dataclass

_CORNER = "([A-Z]{0,3})([0-9]*)"
_RANGE = re.compile(f"(?:'((?:[^']|'')+)'|([^'!]+))!{_CORNER}(?::{_CORNER})?")
_BARE_TITLE = re.compile(r"(?![A-Za-z]{1,3}[0-9]+$|[Rr][0-9]*[Cc][0-9]*$)[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Box:
    """Area of cells in one worksheet."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True)
class Range:
    """Parsed range. None as an end means the edge of the grid."""

    title: str
    top: int
    left: int
    bottom: int | None
    right: int | None

    def clamped(self, rows: int, columns: int) -> Box | None:
        """Return the cells within a grid of this size, or None if the range starts outside."""
        if self.top > rows or self.left > columns:
            return None
        bottom, right = min(self.bottom or rows, rows), min(self.right or columns, columns)
        return Box(self.top, self.left, bottom, right)


def parse_range(text: str) -> Range | None:
    """Parse a range and sort its corners. Returns None if the text is not a range."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    quoted, bare, *corners = match.groups()
    left, top, right, bottom = corners
    if right is None:
        right, bottom = left, top
        if not left or not top:
            return None
    rows = _ordered(int(top or 0), int(bottom or 0))
    columns = _ordered(_number(left), _number(right))
    return Range((quoted or bare).replace("''", "'"), rows[0], columns[0], rows[1], columns[1])


def echo(title: str, area: Box | Range) -> str:
    """Return a range in Google's notation: quoted only if necessary, a single cell
    without a colon.
    """
    name = title if _BARE_TITLE.fullmatch(title) else "'" + title.replace("'", "''") + "'"
    first = f"{column_letters(area.left)}{area.top}"
    last = f"{column_letters(area.right or 0)}{area.bottom or ''}"
    return f"{name}!{first}" if last in ("", first) else f"{name}!{first}:{last}"


def column_letters(column: int) -> str:
    return "" if column < 1 else column_letters((column - 1) // 26) + chr(65 + (column - 1) % 26)


def _ordered(first: int, last: int) -> tuple[int, int | None]:
    """Return the sorted ends of rows or columns. A missing end (0) gives None."""
    if first and last:
        return min(first, last), max(first, last)
    return first or last or 1, None


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
