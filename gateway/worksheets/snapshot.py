"""Snapshot of a worksheet: all its rows as read, patched with our own writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, count, islice
from operator import ne
from typing import NamedTuple

from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.steps import Work
from gateway.table.table import Table
from gateway.worksheets.answers import Encodings


class Whole(NamedTuple):
    """All rows as displayed, or with their types as well."""

    has_types: bool


class RowSpan(NamedTuple):
    """A range of rows, as displayed."""

    first_row: int
    row_count: int


Part = Whole | RowSpan
"""The unit of a read."""

MOST_COMPARED = 1000
"""Maximum number of cells of a column that `lags` compares; after an inserted row all differ."""

MOST_GAPS = 2_000
"""Maximum number of removed rows whose cells a table keeps; then the rows are read again."""

DISPLAYED, TYPED = Whole(has_types=False), Whole(has_types=True)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Displayed rows after a write of ours, and its header.

    `before`: the rows as displayed before the write; none for appended rows. `removed`: the rows
    that went, in ascending order; those below moved up. A write removes rows or patches them.
    `last_row`: a row at the end or above it after the write, 0 if none is known. `sent_at`: the
    moment at which a write that removes rows was sent.
    """

    header: Header
    rows: Sequence[RowPatch] = ()
    before: Mapping[int, Sequence[str]] = field(default_factory=dict)
    removed: Sequence[int] = ()
    last_row: int = 0
    sent_at: int = 0

    @cached_property
    def patches(self) -> Mapping[int, RowPatch]:
        """The changes by row."""
        return {patch.row: patch for patch in self.rows}

    @cached_property
    def new_rows(self) -> Sequence[int]:
        """The appended rows in ascending order."""
        return sorted(patch.row for patch in self.rows if patch.row not in self.before)

    @cached_property
    def empties_cells(self) -> bool:
        """True if a cell of a row that existed is blank now."""
        return any("" in each.texts.values() for each in self.rows if each.row in self.before)

    @cached_property
    def cell_count(self) -> int:
        """Cells that it changed, and those that its rows had before."""
        changed = sum(len(patch.texts) for patch in self.rows)
        return changed + sum(map(len, self.before.values()))


def texts_of(effects: Sequence[Effect]) -> Mapping[int, Mapping[int, str]]:
    """The final displayed texts after consecutive writes, by row and column."""
    texts: dict[int, dict[int, str]] = {}
    for effect in effects:
        for patch in effect.rows:
            texts.setdefault(patch.row, {}).update(patch.texts)
    return texts


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The read behind a rendering; no digest if a write of ours has changed it since."""

    began_seconds: float
    byte_count: int
    digest: bytes | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """All rows of a worksheet, the reads behind its renderings, and its cached answers."""

    table: Table
    grid_rows: int
    displayed: Origin
    typed: Origin | None = None
    encodings: Encodings
    is_expired: bool = False
    """True if the rows may have changed since: they may only be served as stale."""

    @property
    def last_row(self) -> int:
        return self.table.last_row

    def began_seconds(self, part: Part) -> float:
        """Start of the read of a part; for both renderings, of the earlier read."""
        if part is not TYPED or self.typed is None:
            return self.displayed.began_seconds
        return min(self.displayed.began_seconds, self.typed.began_seconds)

    @property
    def byte_count(self) -> int:
        """Approximate maximum memory: rows, their indexes, and cached answers."""
        typed = 0 if self.typed is None else self.typed.byte_count
        rows_bytes = self.displayed.byte_count + typed
        return rows_bytes + self.table.index_bytes + self.encodings.max_bytes

    def displays_as(self, other: "Snapshot") -> bool:
        """True if both have equal displayed rows."""
        digest = self.displayed.digest
        return (
            digest is not None and digest == other.displayed.digest
        ) or self.table.displayed == other.table.displayed

    def lags(self, before: "Snapshot") -> bool:
        """True if the types seem older than the displayed rows, compared with an earlier snapshot.

        Then a number displays something new but has its old value, or is not displayed plainly any
        more. Its format may have changed: only a later read of the types can show it.
        """
        typed, typed_before = self.table.typed or (), before.table.typed or ()
        columns = zip(
            self.table.displayed, before.table.displayed, typed, typed_before, strict=False
        )
        return any(
            _lags((texts[place], cells[place]), (texts_before[place], cells_before[place]))
            for texts, texts_before, cells, cells_before in columns
            if texts != texts_before
            for place in islice(compress(count(), map(ne, texts, texts_before)), MOST_COMPARED)
            if place < len(cells) and place < len(cells_before)
        )

    def shows(self, header: Header, texts: Mapping[int, Mapping[int, str]]) -> bool:
        """True if the cells of some rows, by row and column, display these texts."""
        return self.table.header.cells == header.cells and all(
            self.table.text(row, column) == text
            for row, cells in texts.items()
            for column, text in cells.items()
        )

    def has_rows(self, header: Header, rows: Mapping[int, Sequence[str]]) -> bool:
        """True if whole rows display these texts, from column A."""
        return self.table.header.cells == header.cells and all(
            is_same(shown, texts)
            for shown, texts in zip(self.table.texts([*rows]), rows.values(), strict=True)
        )

    def after(self, effects: Sequence[Effect]) -> "Work[Snapshot | None]":
        """The snapshot after consecutive writes; None if it contradicts them.

        The read behind it may have seen the first ones already.
        """
        for count_ in range(len(effects) + 1):
            if (yield from self._may_have_seen(effects, count_)):
                return (yield from self._patched(effects))
        return None

    def changed(self, effect: Effect) -> "Work[Snapshot | None]":
        """The snapshot after a write.

        None if its header or rows do not match the write, or if too many rows were removed.
        """
        if not (yield from self._may_have_seen([effect], 0)):
            return None
        if effect.removed:
            return self._without(effect.removed)
        return (yield from self._patched([effect]))

    def _may_have_seen(self, effects: Sequence[Effect], count: int) -> Work[bool]:
        """True if the rows are consistent with exactly the first `count` writes."""
        if any(effect.header.cells != self.table.header.cells for effect in effects):
            return False
        yield sum(effect.cell_count for effect in effects[:count])
        if not self.shows(self.table.header, texts_of(effects[:count])):
            return False
        state = _State(self.table)
        for effect in effects[count:]:
            yield effect.cell_count
            if not state.takes(effect):
                return False
        return True

    def _patched(self, effects: Sequence[Effect]) -> "Work[Snapshot]":
        rows = [patch for effect in effects for patch in effect.rows if patch.values]
        if not rows:
            return self  # only reads for writes, with the same rows
        table = yield from self.table.patched(rows)
        return replace(
            self,
            table=table,
            grid_rows=max(self.grid_rows, *(patch.row for patch in rows)),
            displayed=replace(self.displayed, digest=None),
            typed=self.typed and replace(self.typed, digest=None),
            encodings=Encodings(self.displayed.byte_count),
        )

    def _without(self, rows: Sequence[int]) -> "Snapshot | None":
        """The snapshot after rows were removed; None if too many were."""
        table = self.table.without_rows(rows)
        if len(table.gaps) > MOST_GAPS:
            return None
        return replace(
            self,
            table=table,
            grid_rows=self.grid_rows - len(rows),
            displayed=replace(self.displayed, digest=None),
            typed=self.typed and replace(self.typed, digest=None),
            encodings=Encodings(self.displayed.byte_count),
        )


def _lags(cell: tuple[object, object], before: tuple[object, object]) -> bool:
    """True if a cell, as text and value, seems to have an older value than it displays."""
    (text, value), (text_before, value_before) = cell, before
    if isinstance(value, str):
        return False
    is_plain = text_before == _plain(value_before)
    return value == value_before or (is_plain and text != _plain(value))


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class _State:
    """The displayed rows of a table while writes are applied to them."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._last_row = table.last_row
        self._written: dict[int, dict[int, str]] = {}

    def takes(self, effect: Effect) -> bool:
        """Apply a write, if the rows are as they were before it or after it.

        Removed rows must be as they were before it.
        """
        if effect.removed:
            return effect.removed[-1] <= self._last_row and all(
                is_same(shown, effect.before[row])
                for row, shown in self._texts(effect.removed).items()
            )
        new = [patch.row for patch in effect.rows if patch.row > self._last_row]
        if new and min(new) != self._last_row + 1:
            return False  # rows of others, which the table lacks, lie in between
        rows = [patch.row for patch in effect.rows if patch.row in effect.before]
        texts = self._texts(rows)
        for patch in effect.rows:
            if not self._fits(patch, effect.before.get(patch.row), texts.get(patch.row, ())):
                return False
        for patch in effect.rows:
            self._written.setdefault(patch.row, {}).update(patch.texts)
            self._last_row = max(self._last_row, patch.row)
        return True

    def _fits(self, patch: RowPatch, before: Sequence[str] | None, shown: Sequence[str]) -> bool:
        """True if a row is as it was before a write, or after it; `shown` is its whole row."""
        if before is None:  # a new row
            return patch.row > self._last_row or all(
                self._text(patch.row, at) == text for at, text in patch.texts.items()
            )
        if patch.row > self._last_row:
            return False
        return is_same(shown, before) or is_same(shown, _with_texts(before, patch.texts))

    def _texts(self, rows: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """The rows with what was written to them."""
        texts = zip(rows, self._table.texts(rows), strict=True)
        return {
            row: _with_texts(shown, self._written[row]) if row in self._written else shown
            for row, shown in texts
        }

    def _text(self, row: int, column: int) -> str:
        written = self._written.get(row, {})
        return written[column] if column in written else self._table.text(row, column)


def is_same(row: Sequence[str], other: Sequence[str]) -> bool:
    """True if two rows have equal texts; blank ones at their ends do not count."""
    width = min(len(row), len(other))
    return [*row[:width]] == [*other[:width]] and not any(row[width:]) and not any(other[width:])


def _with_texts(texts: Sequence[str], written: Mapping[int, str]) -> list[str]:
    """The texts of a row, some of them replaced."""
    row = [*texts, *[""] * (max(written, default=-1) + 1 - len(texts))]
    for column, text in written.items():
        row[column] = text
    return row
