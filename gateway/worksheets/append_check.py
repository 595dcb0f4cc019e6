"""Check where appended rows landed, by Google's answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.errors import UpstreamError
from gateway.google.sheets import Values
from gateway.table.record import Stored
from gateway.table.table import FIRST_DATA_ROW
from gateway.telemetry.events import misplaced_write
from gateway.worksheets.worksheet_id import WorksheetId, written_area


@dataclass(frozen=True, kw_only=True)
class AppendResult:
    """The row number of the first appended row, and what all of them display from column A."""

    first_row: int
    displayed: Sequence[Sequence[str]]

    def texts(self, index: int) -> Sequence[str]:
        """What one of the rows displays; blank cells at its end may be left out."""
        return self.displayed[index] if index < len(self.displayed) else ()


def check_append(
    worksheet: WorksheetId, values: Values, rows: Sequence[Sequence[Stored]], *, anchor_row: int
) -> AppendResult:
    """The place of the rows; UpstreamError, `applied`, if it is not where they were sent."""
    area = written_area(worksheet, values.range)
    named = [[column for column, value in enumerate(row) if value is not None] for row in rows]
    # Whether Google's echo counts cells that were skipped at the start is not known.
    filled = (min(columns[0] for columns in named), max(columns[-1] for columns in named))
    is_in_columns = (area.first_column, area.last_column) in {(0, filled[1]), filled}
    # At the anchor itself also where it was the last row: a person may have emptied it since.
    first_row = max(anchor_row, FIRST_DATA_ROW)
    is_below = first_row <= area.first_row
    if not is_in_columns or not is_below or area.last_row != area.first_row + len(rows) - 1:
        misplaced_write(f"{len(rows)} rows, columns {filled}, from row {first_row}", values.range)
        others = "" if len(rows) == 1 else " with rows of others,"
        raise UpstreamError(
            f"Google put the row elsewhere than asked,{others} at {area.first_row}:{area.last_row} "
            "of the worksheet. It is there; move it, and do not send it again.",
            outcome="applied",
        )
    left = [""] * area.first_column
    displayed = [
        [*left, *("" if cell is None else str(cell) for cell in line)] for line in values.cells
    ]
    return AppendResult(first_row=area.first_row, displayed=displayed)
