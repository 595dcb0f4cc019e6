"""Spreadsheet IDs and ranges in A1 notation, for calls to Google and for Google's answers.

Rules: no other module writes a range or checks an ID. A worksheet title enters a range only through
`_quoted`. Rows are numbers, columns are computed letters, and the text of a header never enters a
range. Rows count from 1 as in the sheet. Columns count from 0 as in a list. Every range has a
worksheet title and cells, so that Google cannot read it as a named range, or as a worksheet with
the name of a cell (`D3`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LAST_COLUMN = "ZZZ"
"""Last of Google's 18,278 possible columns. Google cuts ranges at the end of the worksheet."""

_SPREADSHEET_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ID_IN_URL = re.compile(r"(?:/d/|[?&](?:key|id)=)(?!e/)([A-Za-z0-9_-]{1,100})(?![A-Za-z0-9_-])")
_PUBLISHED = re.compile(r"/d/e/")
_AREA = re.compile(
    r"(?:'(?P<quoted>(?:[^']|'')*)'|(?P<bare>[^'!]+))!"
    r"[A-Z]{1,3}(?P<top>[0-9]{1,8})(?::[A-Z]{1,3}(?P<bottom>[0-9]{1,8}))?"
)


@dataclass(frozen=True, kw_only=True)
class Area:
    """Worksheet title and last row number of a range."""

    title: str
    last_row: int


class GridArea(NamedTuple):
    """Rectangle of cells, by its first and last row (from 1) and column (from 0).

    None as the last row or column means the end of the worksheet.
    """

    first_row: int = 1
    last_row: int | None = None
    first_column: int = 0
    last_column: int | None = None

    def __str__(self) -> str:
        """Range in A1 notation without the title, such as `A3:D12`, `1:3`, `C:D` or `A2:D`."""
        first = last = ""
        if self[2:] != (0, None) or self.last_row is None:
            first, last = column_letters(self.first_column), LAST_COLUMN
            if self.last_column is not None:
                last = column_letters(self.last_column)
        if self[:2] == (1, None):
            return f"{first}:{last}"
        return f"{first}{self.first_row}:{last}{self.last_row or ''}"


def is_spreadsheet_id(text: str) -> bool:
    """True if the text has only the characters of an ID.

    With other characters in its URL, a call could reach another Google API.
    """
    return _SPREADSHEET_ID.fullmatch(text) is not None


def id_in(given: str) -> str | None:
    """Spreadsheet ID in a URL. None for other texts, an ID alone, and URLs of published copies."""
    found = _ID_IN_URL.search(given)
    return None if found is None or is_published(given) else found[1]


def is_published(given: str) -> bool:
    """True for the URL of a published copy, whose ID does not work with the Sheets API."""
    return _PUBLISHED.search(given) is not None


def row_range(title: str, row: int, last_row: int = 0) -> str:
    """Range of the whole rows `row` to `last_row`, or only of `row` if `last_row` is 0."""
    return f"{_quoted(title)}!{row}:{last_row or row}"


def cells_of_row(title: str, row: int, first: int, last: int) -> str:
    """Range of the cells of a row from column `first` to column `last`, both included."""
    return f"{_quoted(title)}!{column_letters(first)}{row}:{column_letters(last)}{row}"


def rows_from(title: str, row: int, last: str = LAST_COLUMN) -> str:
    """Range of all rows from `row` on, from column A to the column `last`, such as `D`.

    If `last` is a cell, such as `D9`, the range ends at the row of this cell.
    """
    return f"{_quoted(title)}!A{row}:{last}"


def rows_between(title: str, first_row: int, last_row: int) -> str:
    """Range of all columns from row `first_row` to row `last_row`, both included."""
    return f"{_quoted(title)}!A{first_row}:{LAST_COLUMN}{last_row}"


def row_spans(
    rows: Sequence[int], *, around: int = 0, header_row: int = 1
) -> Sequence[tuple[int, int]]:
    """Returns the first and last row of each series of consecutive rows. `rows` is ascending.

    `around` is the number of rows to add above and below each row. The header row and the rows
    above the header row are never added.
    """
    spans: list[tuple[int, int]] = []
    for row in rows:
        first, last = max(header_row + 1, row - around), row + around
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((first, last))
    return spans


def parse_area(text: str) -> Area:
    """Parse a range in Google's answer (`'My Sheet'!A1:C3`). Raises ValueError for other texts."""
    match = _AREA.fullmatch(text)
    if match is None:
        raise ValueError("not a range with a worksheet and cells")
    bare = match["bare"]
    return Area(
        title=bare if bare is not None else match["quoted"].replace("''", "'"),
        last_row=int(match["bottom"] or match["top"]),
    )


def column_letters(column: int) -> str:
    """Letters of a column that counts from 0: A for 0, Z for 25, AA for 26."""
    letters = ""
    number = column + 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _quoted(title: str) -> str:
    return "'" + title.replace("'", "''") + "'"
