"""End of a worksheet's records, below which columns may be filled down in advance.

Rules
- Only trailing rows can be other than records: a row in the middle is a record, even if it is
  blank.
- A cell is blank if it displays nothing, even if it has a formula or a format that hides.
- The first filled-down row that equals the next one is the model of rows that are created above it:
  Google copies its formulas, and its constants are written to the cells that a client does not
  send. Any other row is not a model: people may have left it, such as a total or a former record.
  Neither is a row far below the records, if the rows between are blank.
- The word of a boolean depends on the locale (FALSE, FALSCH, FAUX), and a text may be the same
  word. So the typed rendering decides; displayed cells only show if it has to be read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from gateway.table.steps import Work

Columns = Sequence[Sequence[object]]
"""Cells of neighbouring rows by column; trailing blank cells may be left out."""

Lines = Sequence[Sequence[object]]
"""Cells by row; trailing blank cells may be left out."""

_CELLS_OF_STEP = 4
"""Number of cells of a look that are compared in one step."""

NEAR_ROWS = 50
"""Rows below the last record in which the model of new rows is sought."""

_LONGEST_WORD = 20
"""Maximum characters of the word of a boolean in any locale."""


def by_column(lines: Lines) -> list[tuple[object, ...]]:
    """Transpose lines to columns, including blank cells."""
    return [*zip_longest(*lines, fillvalue="")]


class EndRule(NamedTuple):
    """Rule for trailing rows that are not records, besides blank rows.

    With a `column`, all rows that display nothing in it. Otherwise, if `skips_false`, rows with
    only the boolean `FALSE` and blank cells.
    """

    column: int | None = None
    skips_false: bool = True


BLANK_ONLY = EndRule(skips_false=False)
"""Each row that is not blank is a record."""


def last_record(rule: EndRule, displayed: Columns, typed: Columns | None = None) -> int | None:
    """Number of the last row that is a record, from 1; 0 if there is none.

    `typed` is the typed rendering of the same rows. It is needed if the last row may show only
    booleans, unless the rule has a column; the result is None without it.
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
    for cells, held in (*data, *filled):  # the latter are examined only down to the end of data
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
    """True if a displayed text may be the word of a boolean: short, in capitals, no digits."""
    return (
        isinstance(text, str)
        and len(text) <= _LONGEST_WORD
        and text[:1].isalpha()
        and text == text.upper()
        and not any(map(str.isdigit, text))
    )


@dataclass(frozen=True, kw_only=True)
class FilledRow:
    """The model of new rows: its constants, and the columns of its formulas.

    Without a model (`is_model` is False) it is the first filled row below the records, or the next
    row if no look showed that one, without its cells. `is_first`: there is no record above it.
    """

    row: int
    is_model: bool
    is_first: bool
    constants: Mapping[int, str | int | float | bool]
    formulas: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class SheetEnd:
    """The last record, or the header, and the filled-down row below it, if any.

    `beside` has the displayed texts of these two rows, without the header.
    """

    last_row: int
    filled: FilledRow | None
    beside: Mapping[int, Sequence[str]]


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
    """Find the end of the records among the rows below the row `above`, down to the last one.

    `computed` and `formulas` are the columns of each row with computed cells and with their own
    formulas. None if no row is a record, unless these are all rows (`is_whole`). `has_more`: rows
    further down are filled down. `beside` has the displayed texts of the same rows, including
    ignored columns.
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
    """Cells of a row with a constant value, by column."""
    return {
        column: value
        for column, value in enumerate(values)
        if value is not None and value != "" and column not in computed
    }


def are_filled_down(
    rule: EndRule, texts: Lines, values: Lines, computed: Sequence[Collection[int]]
) -> bool:
    """True if none of these rows is a record, but at least one is filled."""
    if rule == BLANK_ONLY or not (any(map(any, texts)) or any(computed)):
        return False
    return not last_record(rule, by_column(texts), by_column(values))


def is_below_records(rule: EndRule, texts: Lines, values: Lines, rows: range) -> bool:
    """True if these rows, from 0, directly follow a record or begin the rows, and none follows."""

    def has_record(first: int, end: int | None) -> bool:
        columns = (by_column(lines[first:end]) for lines in (texts, values))
        return bool(last_record(rule, *columns))

    is_below = not rows.start or has_record(rows.start - 1, rows.start)
    return is_below and not has_record(rows.stop, None)
