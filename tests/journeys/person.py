"""A person who edits a worksheet in Google's own application, as requests of a batchUpdate."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Grid = Sequence[Sequence[str]]
Request = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A batchUpdate request, the texts that the edit removes, and whether the edit
    changes row 1.
    """

    request: Request
    removed: Counter[str] = field(default_factory=Counter)
    changes_header: bool = False

    @property
    def body(self) -> dict[str, object]:
        return {"requests": [self.request]}


@dataclass(frozen=True, kw_only=True)
class Hand:
    """Position of a person's next edit; `first` and `second` select row and column."""

    sheet_id: int
    grid: Grid
    first: int
    second: int
    name: str
    """A text that no cell of the worksheet has."""

    @property
    def width(self) -> int:
        return max(map(len, self.grid))

    @property
    def row(self) -> int:
        """Index of a data row, counted from 0 for the header; at most one below the last row."""
        return 1 + self.first % len(self.grid)

    @property
    def column(self) -> int:
        return self.second % self.width

    def range(self, **limits: int) -> dict[str, int]:
        return {"sheetId": self.sheet_id, **limits}

    def texts(self, row: int) -> Counter[str]:
        """Texts of a row."""
        cells = self.grid[row] if row < len(self.grid) else ()
        return Counter(text for text in cells if text)


def append_row(hand: Hand) -> Edit:
    """A row of one cell below the last one; the grid grows."""
    cells: list[Request] = [*[{}] * hand.column, {"userEnteredValue": {"stringValue": hand.name}}]
    rows = [{"values": cells}]
    return Edit(
        request={
            "appendCells": {
                "sheetId": hand.sheet_id,
                "rows": rows,
                "fields": "userEnteredValue",
            }
        }
    )


def insert_column(hand: Hand) -> Edit:
    place = hand.range(startIndex=hand.column, endIndex=hand.column + 1)
    return Edit(
        request={"insertDimension": {"range": {**place, "dimension": "COLUMNS"}}},
        changes_header=True,
    )


def rename_column(hand: Hand) -> Edit:
    header = hand.grid[0]
    old = header[hand.column] if hand.column < len(header) else ""
    start = hand.range(rowIndex=0, columnIndex=hand.column)
    return Edit(
        request=_writing(start, [hand.name]),
        removed=Counter([old] if old else []),
        changes_header=True,
    )


def move_column(hand: Hand) -> Edit:
    goal = hand.first % (hand.width + 1)
    source = hand.range(startIndex=hand.column, endIndex=hand.column + 1)
    return Edit(
        request={
            "moveDimension": {
                "source": {**source, "dimension": "COLUMNS"},
                "destinationIndex": goal,
            }
        },
        changes_header=goal not in (hand.column, hand.column + 1),
    )


def insert_row(hand: Hand) -> Edit:
    row = min(hand.row, max(1, len(hand.grid) - 1))
    place = hand.range(startIndex=row, endIndex=row + 1)
    return Edit(
        request={
            "insertDimension": {
                "range": {**place, "dimension": "ROWS"},
                "inheritFromBefore": True,
            }
        }
    )


def delete_row(hand: Hand) -> Edit | None:
    if hand.row >= len(hand.grid):
        return None
    place = hand.range(startIndex=hand.row, endIndex=hand.row + 1)
    return Edit(
        request={"deleteDimension": {"range": {**place, "dimension": "ROWS"}}},
        removed=hand.texts(hand.row),
    )


def sort_rows(hand: Hand) -> Edit | None:
    if len(hand.grid) < 3:
        return None
    order = "ASCENDING" if hand.first % 2 else "DESCENDING"
    place = hand.range(
        startRowIndex=1, endRowIndex=len(hand.grid), startColumnIndex=0, endColumnIndex=hand.width
    )
    specs = [{"dimensionIndex": hand.column, "sortOrder": order}]
    return Edit(request={"sortRange": {"range": place, "sortSpecs": specs}})


def clear_row(hand: Hand) -> Edit | None:
    return _cleared(hand, 0, hand.width)


def clear_cell(hand: Hand) -> Edit | None:
    return _cleared(hand, hand.column, hand.column + 1)


def write_cell(hand: Hand) -> Edit | None:
    if hand.row >= len(hand.grid):
        return None
    cells = hand.grid[hand.row]
    old = cells[hand.column] if hand.column < len(cells) else ""
    start = hand.range(rowIndex=hand.row, columnIndex=hand.column)
    return Edit(request=_writing(start, [hand.name]), removed=Counter([old] if old else []))


EDITS: Mapping[str, Callable[[Hand], Edit | None]] = {
    "insert a column": insert_column,
    "rename a column": rename_column,
    "move a column": move_column,
    "insert a row": insert_row,
    "delete a row": delete_row,
    "sort": sort_rows,
    "clear a row": clear_row,
    "clear a cell": clear_cell,
    "append a row": append_row,
    "write a cell": write_cell,
}


def _cleared(hand: Hand, first: int, end: int) -> Edit | None:
    if hand.row >= len(hand.grid):
        return None
    place = hand.range(
        startRowIndex=hand.row,
        endRowIndex=hand.row + 1,
        startColumnIndex=first,
        endColumnIndex=end,
    )
    cells = hand.grid[hand.row][first:end]
    return Edit(
        request={"repeatCell": {"range": place, "cell": {}, "fields": "userEnteredValue"}},
        removed=Counter(text for text in cells if text),
    )


def _writing(start: Mapping[str, int], texts: Sequence[str]) -> Request:
    values = [{"userEnteredValue": {"stringValue": text}} for text in texts]
    return {
        "updateCells": {"start": start, "rows": [{"values": values}], "fields": "userEnteredValue"}
    }
