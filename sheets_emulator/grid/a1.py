"""A1 notation: parsing of range texts, and printing of ranges as Google does.

Rules:
- A range text such as `D3` or `Data` has several meanings: cells, a named range or a worksheet's
  title. This module returns all meanings, and `places` chooses one.
- An end can be open (`A5:Z`, `1:1`, `A:C`, a title alone). Corners can be in any order.
- A title is quoted only if needed. Recorded from Google: blanks, emoji, titles that look like a
  cell. Cyrillic letters are from a public test of Google's answers.
"""

import re
from dataclasses import dataclass

from sheets_emulator.grid.box import Box, column_index, column_name

CORNER = re.compile(r"\$?(?P<column>[A-Za-z]{1,3})?\$?(?P<row>[1-9][0-9]{0,7})?")
QUOTED = re.compile(r"'(?P<title>(?:[^']|'')+)'(?:!(?P<cells>.*))?", re.DOTALL)
PLAIN_TITLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LOOKS_LIKE_CELL = re.compile(r"[A-Za-z]{1,3}[0-9]+|[Rr][0-9]*[Cc][0-9]*")
RANGE_NAME = re.compile(r"(?!true|false)[^\W\d]\w{0,249}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Span:
    """Range of cells in a worksheet. Rows and columns count from 0, and ends are excluded.

    An end of None is the end of the grid.
    """

    top: int = 0
    left: int = 0
    bottom: int | None = None
    right: int | None = None


WHOLE = Span()


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A parsed range text.

    `title` is the worksheet, or None for the first visible worksheet. `name` is a named range,
    which must be on the worksheet `title` if there is one. `is_anchor` is True for a single cell
    such as `A1`, from which values can extend, and False for `A1:A1`.
    """

    title: str | None
    span: Span
    name: str | None = None
    is_anchor: bool = False


@dataclass(frozen=True, kw_only=True)
class Corner:
    """One corner of a range. Row and column count from 0, and are None if the text has none."""

    row: int | None
    column: int | None


def readings(text: str) -> list[Reference]:
    """Return all meanings of a range text, the likeliest first, or [] if the text is malformed.

    `A1` can be a cell or a worksheet named A1. Google prefers the cell (reported for node-sheets).
    `Data` can be a named range or a worksheet. Google prefers the named range (its documentation).
    """
    quoted = QUOTED.fullmatch(text)
    if quoted:
        return _with_title(quoted["title"].replace("''", "'"), quoted["cells"])
    found = []
    cells = parse_cells(text)
    if cells is not None:
        found.append(Reference(title=None, span=cells, is_anchor=_is_anchor(text)))
    elif is_range_name(text):
        found.append(Reference(title=None, span=Span(), name=text))
    title, mark, rest = text.rpartition("!")
    if mark and title:
        found.extend(_with_title(title, rest))
    if text:
        found.append(Reference(title=text, span=Span()))
    return found


def is_range_name(text: str) -> bool:
    """True if a text is a valid name of a range: letters, digits and `_`, and not like a cell."""
    return bool(RANGE_NAME.fullmatch(text)) and not LOOKS_LIKE_CELL.fullmatch(text)


def parse_cells(text: str) -> Span | None:
    """Parse `A1`, `A1:B2`, `A5:Z`, `1:1` or `A:C`. Returns None for another text."""
    first_text, colon, last_text = text.partition(":")
    first = _corner(first_text)
    last = _corner(last_text) if colon else first
    if first is None or last is None:
        return None
    if not colon and (first.row is None or first.column is None):
        return None  # a single `A` or `7` is not a range
    top, bottom = _ordered(first.row, last.row)
    left, right = _ordered(first.column, last.column)
    return Span(top=top, left=left, bottom=bottom, right=right)


def print_range(title: str, span: Span | Box) -> str:
    """Return the range in A1 notation as Google prints it, with open ends."""
    first = f"{column_name(span.left)}{span.top + 1}"
    last = _end(span.bottom, span.right)
    whole = span.bottom is None and span.right is None
    cells = first if first == last or whole else f"{first}:{last}"
    return f"{print_title(title)}!{cells}"


def print_title(title: str) -> str:
    """Return a worksheet's title as it is printed in a range, quoted if needed."""
    if PLAIN_TITLE.fullmatch(title) and not LOOKS_LIKE_CELL.fullmatch(title):
        return title
    return "'" + title.replace("'", "''") + "'"


def _with_title(title: str, cells: str | None) -> list[Reference]:
    if cells is None:
        return [Reference(title=title, span=Span())]
    span = parse_cells(cells)
    if span is not None:
        return [Reference(title=title, span=span, is_anchor=_is_anchor(cells))]
    named = Reference(title=title, span=Span(), name=cells)
    return [named] if is_range_name(cells) else []


def _is_anchor(cells: str) -> bool:
    return ":" not in cells


def _corner(text: str) -> Corner | None:
    match = CORNER.fullmatch(text)
    if match is None or not (match["column"] or match["row"]):
        return None
    row = int(match["row"]) - 1 if match["row"] else None
    column = column_index(match["column"]) if match["column"] else None
    return Corner(row=row, column=column)


def _ordered(first: int | None, last: int | None) -> tuple[int, int | None]:
    """Return start and excluded end of two coordinates.

    A missing coordinate gives an open end, None.
    """
    if first is None or last is None:
        start = first if last is None else last
        return start or 0, None
    return min(first, last), max(first, last) + 1


def _end(bottom: int | None, right: int | None) -> str:
    column = "" if right is None else column_name(right - 1)
    row = "" if bottom is None else str(bottom)
    return column + row
