"""Worksheet in memory: header, displayed texts and typed values by column.

Rules
- Columns begin with the header row. The rows above the header are not in memory. The position of a
  row in a column is its row number minus the row number of the header.
- The displayed texts and the typed values (Google's `UNFORMATTED_VALUE`) come from two reads. If
  the sheet was edited between the reads, the table is mixed (`is_mixed`). The next three rules find
  such edits.
- A text or empty cell is equal in both reads. Equal cells are one object. A difference shows an
  edit, unless a number format explains it, or the typed value is an error with its explanation:
  `#N/A (Did not find …)` is displayed as `#N/A`.
- If one displayed word stands for both TRUE and FALSE, the sheet was edited.
- If a number in plain notation is displayed, but the typed value does not round to it, rows moved
  between the reads. Some cells of each column are compared, with the last cell among them.
- A number format can display another number (`yyyy`, `dd.mm`) or another text (`@" kg"`). It
  becomes known when two pairs of reads display a value alike, in all cells with this value. But if
  most of the displayed texts are values of other rows, rows moved, and the format stays unknown. In
  a column with a known format, numbers are not compared, and texts are compared with what the
  format displays.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import repeat, zip_longest
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from gateway.table.header import DEFAULT_LAYOUT, ROW_INDEX, Header, Layout, parse_header
from gateway.table.index import ColumnIndex
from gateway.table.ordered import Ranked
from gateway.table.records import last_record
from gateway.table.steps import BLOCK, Unbuilt, Work

Column = Sequence[object]
"""Cells of one column from the header down, without trailing blank cells."""

Cell = tuple[object, str]
"""Typed value and displayed text of a cell."""

TextTemplate = tuple[str, ...]
"""Texts that a number format displays before, between and after the text of a cell.

A format with a single part displays this part instead of the cell's text.
"""


class Unlike(NamedTuple):
    """Cells of a column whose displayed text does not match their typed value.

    If `numbers` or `texts` is not empty, the sheet was perhaps edited between the two reads. With
    too many templates, `numbers` and `texts` are empty.
    """

    numbers: frozenset[Cell] = frozenset()
    """Some number cells that no known format explains."""
    texts: Mapping[TextTemplate, frozenset[Cell]] = MappingProxyType({})
    """Some text cells that no known format explains, by the template that would explain them."""
    has_numbers: bool = False
    """True if the column is known to have a format that displays other numbers."""
    templates: frozenset[TextTemplate] = frozenset()
    """Known formats for texts of the column."""

    @property
    def known(self) -> "Unlike":
        """Copy with the known formats, without cells."""
        return Unlike(has_numbers=self.has_numbers, templates=self.templates)

    @property
    def as_format(self) -> "Unlike":
        """Copy with formats that explain all cells. Correct only if the sheet was not edited."""
        return Unlike(
            has_numbers=self.has_numbers or bool(self.numbers),
            templates=self.templates.union(self.texts if _constants(self.texts) <= 1 else ()),
        )


_COPIED = 2
"""Number of cells that are copied in one step of work (50 ns)."""


@dataclass(frozen=True, kw_only=True)
class RowPatch:
    """Cells of one data row after a write by the gateway."""

    row: int
    texts: Mapping[int, str]
    """Displayed text of each changed cell, by column (from 0)."""
    values: Mapping[int, object] = field(default_factory=dict)
    """Typed value of each changed cell, by column (from 0)."""


def patched_columns(
    columns: Sequence[Column], rows: Iterable[tuple[int, Mapping[int, object]]]
) -> Work[tuple[Column, ...]]:
    """Copy columns with changed cells. `rows` has row numbers (from 1) and new cells by column.

    Columns without changes are not copied. Columns and rows are added if needed.
    """
    changed: dict[int, list[object]] = {}
    for row, cells in rows:
        yield len(cells)
        for column, value in cells.items():
            line = changed.get(column)
            if line is None:
                known = columns[column] if column < len(columns) else ()
                yield len(known) // _COPIED
                line = changed[column] = [*known]
            if row > len(line):
                if value in ("", None):
                    continue
                line += [""] * (row - len(line))
            line[row - 1] = value
    after = [*columns]
    for column, line in changed.items():
        yield len(line) // _COPIED
        while line and line[-1] in ("", None):
            line.pop()
        if line:
            after += [()] * (column + 1 - len(after))
        if column < len(after):
            after[column] = tuple(line)
    return tuple(after)


def columns_without(columns: Sequence[Column], rows: Sequence[int]) -> Work[tuple[Column, ...]]:
    """Copy columns without some rows. `rows` are ascending row numbers from 1, at least one.

    Columns that end above these rows are not copied. Columns that are the same object stay the same
    object.
    """
    copies: dict[int, Column] = {}
    for cells in columns:
        if id(cells) in copies:
            continue
        if rows[0] > len(cells):
            copies[id(cells)] = cells
            continue
        left: list[object] = []
        removed = 0
        for start in range(0, len(cells), _PIECE):
            end = min(start + _PIECE, len(cells))
            yield 2 * (end - start) // _COPIED
            above = start
            while removed < len(rows) and rows[removed] <= end:
                left += cells[above : rows[removed] - 1]
                above = rows[removed]
                removed += 1
            left += cells[above:end]
        while left and left[-1] in ("", None):
            left.pop()
        copies[id(cells)] = tuple(left)
    return tuple(copies[id(cells)] for cells in columns)


MOST_FIELDS, MOST_CHARACTERS = 200, 20_000
"""Maximum number of fields, and of characters in all field names, to encode rows as structs.

To create a struct type of 200 fields takes 1 ms and 60 KB.
"""

FEW = 4
"""A row with less than 1/4 of the fields of its worksheet is a dict, not a struct."""

_NOT_OF_A_STRUCT = re.compile(r'["\\\x00-\x1f]')
"""Characters that msgspec does not allow in field names of a struct."""

ROWS_BELOW = 3
"""Number of rows below its last record that a table stores, to see later if rows were removed."""

FIRST_DATA_ROW = 2
"""Lowest row number that a data row can have in any worksheet."""

_PIECE = 16_384
"""Maximum number of cells that one Python call compares."""

_COMPARISON_STEPS = 1 / 2
_SHARING_STEPS = 3
_COMPARED = 256
"""Maximum number of cells of a column whose numbers are compared with their displayed texts."""
_FIRST = 64
"""Number of cells at the start of a column that are all compared."""
_MAX_UNLIKE = 16
"""Maximum number of cells, and of templates, in an `Unlike`."""
_PLAIN = re.compile(r"-?[0-9]{1,300}(?:\.([0-9]{1,300}))?")
_GROUPED = re.compile(r"-?[1-9][0-9]{0,2}(?:\.[0-9]{3}){1,99}")
"""Number with points between thousands, as in German: `1.250`."""
_HALF, _DIGITS, _TINY = 0.501, 1e-9, 1e-12
"""Tolerances to compare a number with its displayed text.

The unit of `_HALF` is the last displayed digit. `_DIGITS` and `_TINY` are fractions of the number.
"""
_VALUE_STEPS = 2
"""Steps of work (50 ns each) to look up a typed value."""

_NOT_TEXT = frozenset({int, float, bool})
_ALIKE = Unlike()


@dataclass(frozen=True)
class Table:
    """Immutable worksheet: its displayed texts and, after `with_typed`, its typed values.

    Displayed texts are enough for rows, lists without conditions, and the last row. Typed values
    (numbers, booleans, serial dates) are needed to compare and sort. All queries on a table share
    the table's column indexes.
    """

    header: Header
    displayed: Sequence[Column]
    last_row: int
    """Row number of the last record. The table has no rows below this row.

    Without records, this is the row of the header, or the row above a blank header.
    """
    typed: Sequence[Column] | None = None
    is_mixed: bool = False
    """True if the sheet was probably edited between the reads of texts and of typed values."""
    unlike: Mapping[int, Unlike] = field(default_factory=dict, repr=False, compare=False)
    """Cells whose displayed text does not match their typed value, by column."""
    ends_by_types: bool = False
    """True if typed values are needed to find the last record. The table then has all rows."""
    below: Sequence[Sequence[str]] = ()
    """Displayed texts of up to 3 filled-down rows below the last record."""
    indexes: dict[int, ColumnIndex] = field(default_factory=dict, repr=False, compare=False)
    """Column index by column (from 0), made on first use."""
    seen: dict[tuple[int, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    """Cache of row digests for cursors, by the columns that a key can read (`query.place.Seen`)."""

    @cached_property
    def size(self) -> int:
        """Number of rows from the header down to the last record, at least 1."""
        return max(1, self.last_row + 1 - self.header.row)

    @cached_property
    def rows(self) -> Ranked:
        """Positions of all data rows in worksheet order. Each group has one row."""
        places = range(1, self.size)
        return Ranked(places, range(len(places) + 1), self.size)

    def text(self, row: int, column: int) -> str:
        """Displayed text of a cell, or "" for an empty cell."""
        cell = cell_at(self.displayed, row + 1 - self.header.row, column)
        return cell if isinstance(cell, str) else ""

    def texts(self, rows: Sequence[int]) -> list[Sequence[str]]:
        """Displayed texts of all columns, for each of some rows."""
        columns: Iterable[Sequence[Any]] = map(self.picker(rows), self.displayed)
        return [*zip(*columns, strict=True)] if self.displayed else [()] * len(rows)

    def cells(self, row: int) -> list[object]:
        """Displayed cells of a row, with None below the end of a column."""
        place = row - self.header.row
        return [cells[place] if place < len(cells) else None for cells in self.displayed]

    def typed_cells(self, row: int) -> list[object]:
        """Typed cells of a row, with None below the end of a column."""
        place = row - self.header.row
        return [cells[place] if place < len(cells) else None for cells in self.typed or ()]

    def typed_values(
        self, rows: Iterable[int], columns: Collection[int]
    ) -> Work[dict[int, dict[int, object]]]:
        """Typed values of some rows and columns, by row number, then by column."""
        typed, found = self.typed or (), dict[int, dict[int, object]]()
        for row in rows:
            yield _VALUE_STEPS * len(columns)
            place = row + 1 - self.header.row
            found[row] = {at: cell_at(typed, place, at) for at in columns}
        return found

    def picker(self, rows: Sequence[int]) -> Callable[[Column], Column]:
        """Returns a function that returns the cells of some rows of a column.

        Cells below the end of the column are "".
        """
        if not rows:
            return lambda _: ()
        first = self.header.row
        height = max(rows) + 1 - first
        is_run = isinstance(rows, range) or len(rows) == 1
        places = [slice(rows[0] - first, height)] if is_run else [row - first for row in rows]
        pick = itemgetter(*places)

        def pick_cells(cells: Column) -> Column:
            if len(cells) >= height:
                found: Column = pick(cells)
                return found
            end = first + len(cells)
            return [cells[row - first] if row < end else "" for row in rows]

        return pick_cells

    def row_objects(
        self,
        rows: Sequence[int],
        selected: Mapping[int, str],
        empty: object,
        typed: Mapping[int, Column] | None = None,
        cells: Mapping[int, Column] | None = None,
    ) -> Iterator[object]:
        """Yield rows as objects to encode as JSON, like `row_object` but faster for many rows.

        The values are the displayed texts, unless `typed` or `cells` has the values by column:
        `typed` for all rows of the table, or `cells` for only these rows, in the same order.
        """
        if not rows:
            return iter(())
        first = self.header.row
        height = max(rows) + 1 - first
        is_run = isinstance(rows, range) or len(rows) == 1
        places = [slice(rows[0] - first, height)] if is_run else [row - first for row in rows]
        pick: Callable[[Sequence[Any]], Sequence[Any]] = itemgetter(*places)
        names = self.header.names
        make = row_maker(names) if FEW * len(selected) >= len(names) else None
        columns: list[Iterable[object]] = []
        texts = self.displayed
        for column in selected if make is None else self.header.columns.values():
            if column not in selected:
                columns.append(repeat(UNSET))
                continue
            if cells is not None:
                found = cells[column]
            else:
                if typed is not None:
                    whole = typed[column]
                else:
                    whole = texts[column] if column < len(texts) else ()
                if len(whole) >= height:
                    found = pick(whole)
                else:
                    end = first + len(whole)
                    found = [whole[row - first] if row < end else "" for row in rows]
            if "" in found or None in found:  # a number or False is not empty
                found = [cell if cell or cell == 0 else empty for cell in found]
            columns.append(found)
        if make is not None:
            return map(make, rows, *columns)
        fields, lines = (ROW_INDEX, *selected.values()), zip(rows, *columns, strict=True)
        if empty is UNSET:
            return (
                {name: cell for name, cell in zip(fields, line, strict=True) if cell is not UNSET}
                for line in lines
            )
        return (dict(zip(fields, line, strict=True)) for line in lines)

    def typed_columns(self, columns: Iterable[int]) -> Mapping[int, Column]:
        """JSON values of columns in typed answers, by column.

        Raises Unbuilt if values are missing. Its attribute `work` makes the values of all columns.
        """
        try:
            return {each: self.index(each).ready_typed_cells.cells for each in columns}
        except Unbuilt:
            raise Unbuilt(self.made_typed_columns(columns)) from None

    def made_typed_columns(self, columns: Iterable[int]) -> Work[Mapping[int, Column]]:
        """Make and cache the JSON values of columns in typed answers, by column."""
        found: dict[int, Column] = {}
        for column in columns:
            found[column] = (yield from self.index(column).typed_cells()).cells
        return found

    def displays(
        self, rows: Sequence[int], typed: Mapping[int, Column]
    ) -> Iterator[Sequence[object]]:
        """Yield the displayed cells of each row that ETags of typed answers must cover.

        `typed` are the values of columns in typed answers, by column. Columns whose values are the
        displayed texts are left out.
        """
        pick, columns = self.picker(rows), list[Column]()
        for column, values in typed.items():
            cells = column_at(self.displayed, column)
            if values is not cells:
                columns.append(pick(cells))
        return zip(*columns, strict=True) if columns else iter([()] * len(rows))

    def index(self, column: int) -> ColumnIndex:
        if self.typed is None:
            raise ValueError("a query is evaluated on typed tables only")
        index = self.indexes.get(column)
        if index is None:
            texts, values = column_at(self.displayed, column), column_at(self.typed, column)
            index = self.indexes[column] = ColumnIndex(texts, values, self.size)
        return index

    @property
    def index_bytes(self) -> int:
        """Approximate memory of the column indexes in bytes."""
        return sum(index.byte_count for index in self.indexes.values())

    def with_typed(
        self, typed: Sequence[Column], before: Mapping[int, Unlike] = MappingProxyType({})
    ) -> Work["Table"]:
        """Copy the table with typed values. A cell that equals its displayed text is one object.

        `before` is the `unlike` of the table from an earlier pair of reads.
        """
        nothing: Column = ()
        if self.header.end.column is not None:
            typed = _cut(typed, self.last_row + 1 - self.header.row)
        columns: list[Column] = []
        is_mixed, unlike = False, dict[int, Unlike]()
        words: dict[object, bool] = {"TRUE": True, "FALSE": False}
        """Boolean that each displayed word stands for."""
        for values, texts in zip_longest(typed, self.displayed, fillvalue=nothing):
            numbers: list[Cell] = []
            shown: dict[TextTemplate, list[Cell]] = {}
            is_whole, known = True, before.get(len(columns), _ALIKE)
            column = texts if values is texts else (yield from _uniform(values, texts, numbers))
            if column is None:
                column = yield from _with_shared_texts(values, texts)
                is_whole = yield from _compare(column, texts, numbers, known, shown)
            if not is_whole:
                unlike[len(columns)], is_mixed = known.known, True
            elif numbers or shown:
                found = yield from _judge(column, texts, known, numbers, shown)
                unlike[len(columns)] = found
                is_mixed = is_mixed or bool(found.numbers or found.texts)
            columns.append(column)
            for start in range(0, 0 if column is texts else len(column), _PIECE):
                piece = column[start : start + _PIECE]
                yield len(piece)
                if bool in {*map(type, piece)}:
                    for value, text in {*zip(piece, texts[start : start + _PIECE], strict=False)}:
                        if isinstance(value, bool) and text:
                            is_mixed = words.setdefault(text, value) is not value or is_mixed
        whole = replace(
            self,
            typed=tuple(columns[: len(typed)]),
            is_mixed=is_mixed,
            unlike=unlike,
            indexes={},
        )
        return whole.ended() if self.ends_by_types else whole

    def ended(self) -> "Table":
        """Copy the table without the rows below its last record.

        If typed values are needed to find the last record, the copy has all rows.
        """
        displayed, typed, above = self.displayed, self.typed, self.header.row - 1
        last = last_record(self.header.end, displayed, typed)
        if last is None:
            height = max(map(len, displayed))
            return replace(self, last_row=above + height, ends_by_types=True)
        below = self.below
        if max(map(len, (*displayed, *(typed or ()))), default=0) > last:
            cut = zip_longest(*(cells[last : last + ROWS_BELOW] for cells in displayed))
            below = (*([str(cell or "") for cell in row] for row in cut), *below)[:ROWS_BELOW]
            columns = _cut((*displayed, *(typed or ())), last)
            displayed, typed = columns[: len(displayed)], typed and columns[len(displayed) :]
        return replace(
            self, displayed=displayed, typed=typed, last_row=above + last, below=below, seen={}
        )

    def patched(self, rows: Sequence[RowPatch]) -> Work["Table"]:
        """Copy the table with the cells that the gateway wrote to data rows.

        If the number of rows stays the same, the copy keeps the indexes of unchanged columns.
        """
        above = self.header.row - 1
        displayed = yield from patched_columns(
            self.displayed, [(row.row - above, row.texts) for row in rows]
        )
        typed = self.typed
        if typed:
            typed = yield from patched_columns(
                typed, [(row.row - above, row.values) for row in rows]
            )
        after = replace(self, displayed=displayed, typed=typed, indexes={}, seen={}).ended()
        if self.indexes and after.last_row == self.last_row:
            touched = set[int]().union(*(row.texts for row in rows), *(row.values for row in rows))
            indexes = {at: index for at, index in self.indexes.items() if at not in touched}
            return replace(after, indexes=indexes)
        return after

    def without_rows(self, rows: Sequence[int]) -> Work["Table"]:
        """Copy the table without some data rows. `rows` are ascending row numbers."""
        if not rows or rows[0] > self.last_row:
            return self
        width, typed, above = len(self.displayed), self.typed or (), self.header.row - 1
        columns = yield from columns_without(
            (*self.displayed, *typed), [row - above for row in rows] if above else rows
        )
        return replace(
            self,
            displayed=columns[:width],
            typed=self.typed and columns[width:],
            indexes={},
            seen={},
        ).ended()


def row_object(
    header: Header, row: int, cells: Sequence[object], selected: Mapping[int, str], empty: object
) -> object:
    """Make an object to encode as JSON: `rowIndex` and the selected columns, in sheet order.

    `cells` are the displayed texts or typed values of the row, and `selected` the field names by
    column. `empty` is the JSON value of empty cells, or UNSET to leave empty cells out.
    """
    width = len(cells)
    names = header.names
    make = row_maker(names) if FEW * len(selected) >= len(names) else None
    if make is None:
        record: dict[str, object] = {ROW_INDEX: row}
        for at, name in selected.items():
            cell = cells[at] if at < width else None
            if not cell and cell != 0:  # a number or False is not empty
                cell = empty
            if cell is not UNSET:
                record[name] = cell
        return record
    values = [
        (cell if (cell := cells[at] if at < width else None) or cell == 0 else empty)
        if at in selected
        else UNSET
        for at in header.columns.values()
    ]
    return make(row, *values)


@lru_cache(128)
def row_maker(names: tuple[str, ...]) -> Callable[..., object] | None:
    """Returns the struct type of rows with these field names, or None for unsuitable names.

    The arguments of the struct type are the row number and a cell for each name. UNSET leaves a
    cell out of the JSON. A struct is encoded in a third of the time of a dict.
    """
    if (
        len(names) > MOST_FIELDS
        or sum(map(len, names)) > MOST_CHARACTERS
        or any(map(_NOT_OF_A_STRUCT.search, names))
    ):
        return None
    fields = ["row", *(f"cell{at}" for at in range(len(names)))]
    rename = dict(zip(fields, (ROW_INDEX, *names), strict=True))
    return msgspec.defstruct("Row", fields, rename=rename, gc=False)


def make_table(displayed: Sequence[Column], layout: Layout = DEFAULT_LAYOUT) -> Table:
    """Make a table from displayed texts: columns from the header down."""
    header = parse_header((cells[0] if cells else None for cells in displayed), layout)
    return Table(header=header, displayed=displayed, last_row=0).ended()


def _cut(columns: Sequence[Column], last: int) -> tuple[Column, ...]:
    """Cut columns below a row (from 1). Columns that are the same object stay the same object."""
    cut: dict[int, Column] = {}
    for cells in columns:
        end = min(len(cells), last)
        while last < len(cells) and end and cells[end - 1] in ("", None):
            end -= 1
        cut[id(cells)] = cells if end == len(cells) else cells[:end]
    return tuple(cut[id(cells)] for cells in columns)


def column_at(columns: Sequence[Column], column: int) -> Column:
    """Cells of one column, or () past the last column."""
    return columns[column] if column < len(columns) else ()


def cell_at(columns: Sequence[Column], row: int, column: int) -> object:
    """One cell, or None past the end of the column. The first row of the columns is 1."""
    cells = columns[column] if column < len(columns) else ()
    return cells[row - 1] if row <= len(cells) else None


def _uniform(
    values: Column, texts: Column, unlike: list[tuple[object, str]]
) -> Work[Column | None]:
    """Compare a column fast if it has only texts, or only numbers and booleans.

    Returns `texts` if each value equals its text, `values` if all cells below the header are
    numbers or booleans, or None for any other column. Adds to `unlike` the numbers that are
    displayed as another number, with their texts.
    """
    if len(values) != len(texts):
        return None
    for start in range(0, len(texts), _PIECE):
        piece = texts[start : start + _PIECE]
        yield int(len(piece) * _COMPARISON_STEPS)
        if values[start : start + _PIECE] != piece:
            break
    else:
        return texts
    if values[:1] != texts[:1]:
        return None
    for start in range(1, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        yield int(len(piece) * _COMPARISON_STEPS)
        if not _NOT_TEXT.issuperset(map(type, piece)):
            return None
    yield min(len(values), _COMPARED)
    step = len(values) // (_COMPARED - _FIRST) + 1
    for place in (*range(1, min(_FIRST, len(values))), *range(len(values) - 1, _FIRST - 1, -step)):
        value, text = values[place], texts[place]
        if str(value) != text and isinstance(text, str) and _is_another(value, text):
            unlike.append((value, text))
            if len(unlike) == _MAX_UNLIKE:
                break
    return values


def _with_shared_texts(values: Column, texts: Column) -> Work[Column]:
    """Copy typed values. Use the text object of the displayed cell if both are equal."""
    same: list[object] = []
    for start in range(0, min(len(values), len(texts)), BLOCK):
        yield BLOCK
        pairs = zip(values[start : start + BLOCK], texts[start : start + BLOCK], strict=False)
        same += [text if value == text else value for value, text in pairs]
    return (*same, *values[len(same) :])


def _compare(
    values: Column,
    texts: Column,
    numbers: list[Cell],
    known: Unlike,
    shown: dict[TextTemplate, list[Cell]],
) -> Work[bool]:
    """Collect cells of a column whose displayed text does not match the typed value.

    Adds numbers to `numbers`, and texts to `shown` by the template that explains them. A text that
    no template explains gets a new template. Returns False if there are too many templates.
    """
    templates = sorted(known.templates, key=len, reverse=True)
    templates += sorted(known.texts, key=len, reverse=True)
    for start in range(0, max(len(values), len(texts)), BLOCK):
        yield (_SHARING_STEPS + len(templates)) * BLOCK
        cells = zip_longest(values[start : start + BLOCK], texts[start : start + BLOCK])
        for value, text in cells:
            if value is text:
                continue
            if isinstance(value, str | None):
                if _is_displayed_as(value or "", text or ""):
                    continue
                held, display = value or "", str(text or "")
                template = next((each for each in templates if _shows(each, held, display)), None)
                if template is None:
                    if len(shown) == _MAX_UNLIKE:
                        return False
                    template = tuple(display.split(held)) if held else (display, "")
                    templates.append(template)
                some = shown.setdefault(template, [])
                if len(some) < _MAX_UNLIKE:
                    some.append((held, display))
            elif len(numbers) < _MAX_UNLIKE and isinstance(text, str) and _is_another(value, text):
                numbers.append((value, text))
    return True


def _judge(
    values: Column,
    texts: Column,
    known: Unlike,
    numbers: Sequence[Cell],
    shown: Mapping[TextTemplate, Sequence[Cell]],
) -> Work[Unlike]:
    """Decide which collected cells a number format explains.

    Returns the known formats, and the cells that no known format explains.
    """
    others = frozenset(numbers)
    if others and (
        known.has_numbers or (yield from _are_formatted(known.numbers, others, values, texts))
    ):
        known, others = known._replace(has_numbers=True), frozenset()
    elif not others:
        known = known._replace(has_numbers=False)
    new = {each: frozenset(some) for each, some in shown.items() if each not in known.templates}
    are_known = _constants(new) <= 1
    for template, some in new.items():
        before, cell_count = known.texts.get(template, frozenset()), 2 if len(template) == 1 else 1
        are_known = are_known and (
            yield from _are_formatted(before, some, values, texts, cell_count=cell_count)
        )
    if not are_known:
        return known._replace(numbers=others, texts=new)
    return known._replace(numbers=others, texts={}, templates=frozenset(shown))


def _constants(templates: Iterable[TextTemplate]) -> int:
    """Number of templates that display a constant. More than one suggests that rows moved."""
    return sum(len(each) == 1 for each in templates)


def _shows(template: TextTemplate, held: str, display: str) -> bool:
    return held.join(template) == display and (held != "" or len(template) > 1)


def _is_another(value: object, text: str) -> bool:
    """True if `text` is a number in plain notation, but the value does not round to it."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return False
    rest = abs(value) * _DIGITS
    if _GROUPED.fullmatch(text) and abs(float(text.replace(".", "")) - value) <= _HALF + rest:
        return False
    return abs(float(text) - value) > _HALF * 10.0 ** -len(plain[1] or "") + rest


def _are_formatted(
    before: frozenset[Cell],
    unlike: frozenset[Cell],
    values: Column,
    texts: Column,
    *,
    cell_count: int = 1,
) -> Work[bool]:
    """True if a number format explains the cells `unlike`, so that the sheet was not edited.

    `before` are unlike cells of an earlier pair of reads. At least `cell_count` cells must have the
    value and the displayed text of a cell of `before`, and no cell can display this value
    otherwise. Blank cells do not count.
    """
    again = {value: display for value, display in before & unlike if value != ""}
    counts = Counter[object]()
    for start in range(0, len(values) if again else 0, BLOCK):
        yield _SHARING_STEPS * BLOCK
        cells = zip_longest(values[start : start + BLOCK], texts[start : start + BLOCK])
        for value, text in cells:
            if value not in again or isinstance(value, bool):
                continue
            if again[value] == (text or ""):
                counts[value] += 1
            else:
                del again[value]
    is_often = sum(counts[value] for value in again) >= cell_count
    return is_often and not (yield from _are_of_other_rows(unlike, values))


def _are_of_other_rows(unlike: frozenset[Cell], values: Column) -> Work[bool]:
    """True if most of the displayed texts are values of other cells, so that rows moved."""
    digits = {
        text: len(text.partition(".")[2]) for value, text in unlike if not isinstance(value, str)
    }
    wanted = Counter(
        _rounded(float(text), digits[text]) if text in digits else text for _, text in unlike
    )
    found, widths = Counter[str](), {*digits.values()}
    for start in range(0, len(values), BLOCK):
        yield _SHARING_STEPS * BLOCK * max(1, len(widths))
        for value in values[start : start + BLOCK]:
            if isinstance(value, str):
                found.update([value] if value in wanted and value else [])
            elif isinstance(value, int | float) and not isinstance(value, bool):
                shown = (_rounded(value, width) for width in widths)
                found.update(text for text in shown if text in wanted)
    return 2 * (wanted & found).total() > len(unlike)


def _rounded(number: float, digits: int) -> str:
    """Format a number in plain notation. Halves are rounded away from zero, as Google does."""
    return f"{number * (1 + _TINY):.{digits}f}"


def _is_displayed_as(typed: str, shown: object) -> bool:
    """True if Google displays a text as `shown`, such as `#N/A (Did not find …)` as `#N/A`."""
    if typed == shown:
        return True
    return typed.startswith("#") and typed.partition(" (")[0] == shown
