"""End of a worksheet's records. Rows below it can be filled down with formulas or checkboxes.

Rules
- Only trailing rows can be rows that are not records. A row above a record is a record, even if it
  is blank.
- A cell is blank if it displays nothing, even if it has a formula or a format that hides its value.
- The model of new rows is the first filled-down row that equals the next row. For a row that is
  created above the model, Google copies the model's formulas, and the gateway writes the model's
  constants to the cells that the client does not send. Any other row is not a model, because it can
  be a total or an old record. A row more than `NEAR_ROWS` below the last record is not a model
  either.
- The displayed word of a boolean depends on the locale (FALSE, FALSCH, FAUX), and a text can be the
  same word. So typed values decide. Displayed texts only decide whether typed values must be read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from gateway.table.steps import Work

Columns = Sequence[Sequence[object]]
"""Cells by column. Trailing blank cells of a column can be left out."""

Lines = Sequence[Sequence[object]]
"""Cells by row. Trailing blank cells of a row can be left out."""

_CELLS_OF_STEP = 4
"""Number of cells that are compared in one step of work (50 ns)."""

NEAR_ROWS = 50
"""Number of rows below the last record in which the gateway looks for the model of new rows."""

_LONGEST_WORD = 20
"""Maximum characters of the displayed word of a boolean in any locale."""


def by_column(lines: Lines) -> list[tuple[object, ...]]:
    """Transpose rows to columns of equal length, with blank cells as ""."""
    return [*zip_longest(*lines, fillvalue="")]


class EndRule(NamedTuple):
    """Rule for trailing rows that are not records. A trailing blank row is never a record.

    With a `column`, trailing rows without a displayed text in this column are not records. Without
    a `column`, `skips_false` excludes trailing rows with only the boolean FALSE and blank cells.
    """

    column: int | None = None
    skips_false: bool = True


BLANK_ONLY = EndRule(skips_false=False)
"""Rule by which each row that is not blank is a record."""


def last_record(rule: EndRule, displayed: Columns, typed: Columns | None = None) -> int | None:
    """Number of the last row that is a record, or 0 if no row is a record.

    Rows count from 1 at the start of the columns. `typed` are the typed values of the same rows.
    Returns None if `typed` is None and the last row can have only booleans, so that typed values
    must decide.
    """
    is_automatic = rule.skips_false and rule.column is None
    if rule.column is not None:
        displayed = displayed[rule.column : rule.column + 1]
    nothing: Sequence[object] = ()
    values = typed if is_automatic and typed is not None else ()
    data: list[tuple[Sequence[object], Sequence[object]]] = []
    filled: list[tuple[Sequence[object], Sequence[object]]] = []
    for cells, held in zip_longest(displayed, values[: len(displayed)], fillvalue=nothing):
        is_filled = len(cells) <= len(held) and bool(cells) and held[len(cells) - 1] is False
        (filled if is_filled else data).append((cells, held))
    last = 0
    for cells, held in (*data, *filled):  # `filled` only down to the end of `data`
        row = len(cells)
        while row > last and (
            cells[row - 1] in ("", None) or (row <= len(held) and held[row - 1] is False)
        ):
            row -= 1
        last = max(last, row)
    if is_automatic and typed is None and last:
        shown = {cells[last - 1] for cells in displayed if len(cells) >= last} - {"", None}
        if len(shown) == 1 and _may_be_boolean(*shown):
            return None
    return last


def _may_be_boolean(text: object) -> bool:
    """True if a displayed text can be the word of a boolean: short, in capitals, without digits."""
    return (
        isinstance(text, str)
        and len(text) <= _LONGEST_WORD
        and text[:1].isalpha()
        and text == text.upper()
        and not any(map(str.isdigit, text))
    )


@dataclass(frozen=True, kw_only=True)
class FilledRow:
    """Row below the last record that is filled down with formulas or checkboxes.

    The gateway inserts new rows above this row.
    """

    row: int
    """Row number of the model, or of the first filled-down row if no row is a model.

    If the read did not reach the filled-down row, this is the row below the last record.
    """
    is_model: bool
    """True if the row is the model of new rows: Google copies its formulas into a new row."""
    is_first: bool
    """True if the worksheet has no record."""
    constants: Mapping[int, str | int | float | bool]
    """Constant values by column that new rows get from the model. Empty without a model."""
    formulas: frozenset[int]
    """Columns whose formulas new rows get from the model. Empty without a model."""


@dataclass(frozen=True, kw_only=True)
class SheetEnd:
    """End of the records of a worksheet."""

    last_row: int
    """Row number of the last record, or of the header if there are no records."""
    filled: FilledRow | None
    """Filled-down row below the last record, or None if no row is filled down."""
    beside: Mapping[int, Sequence[str]]
    """Displayed texts of the last record and of the row `filled`, by row number."""


def sheet_end(
    rule: EndRule,
    above: int,
    texts: Sequence[Sequence[str]],
    values: Sequence[Sequence[str | int | float | bool | None]],
    *,
    computed: Sequence[Collection[int]],
    formulas: Sequence[Collection[int]],
    is_whole: bool,
    has_more: bool,
    beside: Sequence[Sequence[str]],
) -> Work[SheetEnd | None]:
    """Find the end of the records in the rows below row `above`.

    `texts` and `values` are the displayed texts and typed values of these rows. For each row,
    `computed` has the columns of cells that show the result of a formula, and `formulas` the
    columns of cells that contain a formula. `is_whole` is True if these rows are all data rows.
    `has_more` is True if rows below these rows are filled down. `beside` has the displayed texts of
    the same rows, also of columns beside the native table. Returns None if no row is a record and
    `is_whole` is False.
    """
    yield sum(map(len, texts)) // _CELLS_OF_STEP
    last = last_record(rule, by_column(texts), by_column(values)) or 0
    if not (last or is_whole):
        return None
    filled: FilledRow | None = None
    tail = range(last, len(texts) if rule != BLANK_ONLY else 0)
    places = [at for at in tail if any(texts[at]) or computed[at]]
    cells = {
        at: (_constants(values[at], computed[at]), {*computed[at]}, {*formulas[at]})
        for at in places
        if at < last + NEAR_ROWS
    }
    if places or has_more:
        model = next((at for at in cells if cells[at] == cells.get(at + 1)), None)
        row = min(places, default=last) if model is None else model
        constants, _, copied = cells[row] if model is not None else ({}, (), ())
        filled = FilledRow(
            row=above + 1 + row,
            is_model=model is not None,
            is_first=not last,
            constants=constants,
            formulas=frozenset(copied),
        )
    rows = [above + last] * bool(last) + ([filled.row] if filled else [])
    shown = {row: beside[row - above - 1] if row <= above + len(beside) else () for row in rows}
    return SheetEnd(last_row=above + last, filled=filled, beside=shown)


def _constants(
    values: Sequence[str | int | float | bool | None], computed: Collection[int]
) -> dict[int, str | int | float | bool]:
    """Values of a row's cells that are neither blank nor computed, by column."""
    return {
        column: value
        for column, value in enumerate(values)
        if value is not None and value != "" and column not in computed
    }


def are_filled_down(
    rule: EndRule, texts: Lines, values: Lines, computed: Sequence[Collection[int]]
) -> bool:
    """True if no row is a record, but a cell is filled or shows a formula's result (`computed`)."""
    if rule == BLANK_ONLY or not (any(map(any, texts)) or any(computed)):
        return False
    return not last_record(rule, by_column(texts), by_column(values))


def is_below_records(rule: EndRule, texts: Lines, values: Lines, rows: range) -> bool:
    """True if the rows with the indexes `rows` follow the last record directly.

    `texts` and `values` are the cells of all read rows, and `rows` are indexes of these. If `rows`
    starts at 0, the row above counts as a record. Returns False if a record follows below `rows`.
    """

    def has_record(first: int, end: int | None) -> bool:
        columns = (by_column(lines[first:end]) for lines in (texts, values))
        return bool(last_record(rule, *columns))

    is_below = not rows.start or has_record(rows.start - 1, rows.start)
    return is_below and not has_record(rows.stop, None)
