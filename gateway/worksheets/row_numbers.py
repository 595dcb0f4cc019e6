"""Row numbers after rows were removed: those of records and of their answers follow."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from gateway.errors import HeaderChanged, RowNumberUnknown
from gateway.table.view import ROW_INDEX
from gateway.worksheets.idempotency import Answer, Entry
from gateway.worksheets.writes import Results

GONE = -1
"""In place of the number of a row that was removed since, or may have been."""


def entry_after(entry: Entry, removed: Sequence[int], *, is_known: bool) -> Entry:
    """A record after rows were removed, in ascending order; `is_known`: they certainly were."""
    answer = entry.answer
    if answer is not None:
        return replace(entry, answer=_answer_after(answer, removed, is_known=is_known))
    return replace(
        entry,
        first_row=entry.first_row - bisect_left(removed, entry.first_row),
        numbers=tuple(_after(row, removed, is_known=is_known) for row in entry.numbers),
    )


def number_unknown(cause: Exception | None = None) -> RowNumberUnknown:
    """The error of a write that was applied, and whose rows are anywhere."""
    error = RowNumberUnknown(
        "The write was applied, but its rows were moved or changed since, so their numbers are "
        "unknown. Look at the worksheet, and do not send it again."
    )
    error.__cause__ = cause
    return error


def _answer_after(answer: Answer, removed: Sequence[int], *, is_known: bool) -> Answer:
    if isinstance(answer, HeaderChanged):
        row = _after(answer.row, removed, is_known=is_known)
        if row == answer.row:
            return answer
        message = re.sub(rf"\brow {answer.row}\b", f"row {row}", answer.message)
        return HeaderChanged(message, row=row) if row > 0 else number_unknown()
    if isinstance(answer, Exception):
        return answer
    rows = [_after(written.row, removed, is_known=is_known) for written in answer]
    if GONE in rows:
        return number_unknown()
    return _renumbered(answer, rows)


def _renumbered(results: Results, rows: Sequence[int]) -> Results:
    return tuple(
        replace(written, row=row, record={**written.record, ROW_INDEX: row})
        for written, row in zip(results, rows, strict=True)
    )


def _after(row: int, removed: Sequence[int], *, is_known: bool) -> int:
    """The number of a row; 0 is a row that has none yet."""
    if row < removed[0]:
        return row
    if row in removed or not is_known:
        return GONE
    return row - bisect_left(removed, row)
