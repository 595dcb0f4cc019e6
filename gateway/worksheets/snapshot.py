"""Snapshot of a worksheet: all its rows as read, patched with our own writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count, islice
from operator import ne
from typing import NamedTuple

from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.record import text_at
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
"""Cells of a column that display something new; after an inserted row all do."""

DISPLAYED, TYPED = Whole(has_types=False), Whole(has_types=True)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The rows that a write of ours left, as they display now, and the header it was made under.

    `before`: the rows as displayed at the look for the write; a row that was appended has none.
    `keeps_values`: the cells hold what was sent; else only the displayed texts are known.
    """

    header: Header
    rows: Sequence[RowPatch]
    before: Mapping[int, Sequence[str]] = field(default_factory=dict)
    keeps_values: bool = True


def texts_of(effects: Sequence[Effect]) -> Mapping[int, Mapping[int, str]]:
    """What the rows of writes that follow each other display in the end, by row and column."""
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
    """All rows of a worksheet, the reads behind its renderings, and the answers made of them."""

    table: Table
    grid_rows: int
    displayed: Origin
    typed: Origin | None = None
    encodings: Encodings
    is_expired: bool = False
    """Whether the rows may have changed since: they may be served as stale ones only."""

    def began_seconds(self, part: Part) -> float:
        """When the read of a part began; of both renderings, the earlier read."""
        if part is not TYPED or self.typed is None:
            return self.displayed.began_seconds
        return min(self.displayed.began_seconds, self.typed.began_seconds)

    @property
    def byte_count(self) -> int:
        """About how much memory it takes at most: rows, their indexes, and answers kept."""
        typed = 0 if self.typed is None else self.typed.byte_count
        rows_bytes = self.displayed.byte_count + typed
        return rows_bytes + self.table.index_bytes + self.encodings.max_bytes

    def displays_as(self, other: "Snapshot") -> bool:
        """Whether both display the same."""
        digest = self.displayed.digest
        return (
            digest is not None and digest == other.displayed.digest
        ) or self.table.displayed == other.table.displayed

    def lags(self, before: "Snapshot") -> bool:
        """Whether its types seem older than what it displays, compared with a snapshot before it.

        Then a number displays something new and is what it was, or is not displayed plainly any
        more. Its format may have changed: only a later read of the types can tell.
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
        """Whether the cells of some rows, by row and column, display these texts."""
        return self.table.header.cells == header.cells and all(
            self.table.text(row, column) == text
            for row, cells in texts.items()
            for column, text in cells.items()
        )

    def after(self, effects: Sequence[Effect]) -> "Snapshot | None":
        """The snapshot, with the typed values of writes that it shows; None if it does not."""
        if not effects:
            return self
        if not self.shows(effects[-1].header, texts_of(effects)):
            return None
        typed = all(effect.keeps_values for effect in effects)
        base = self if typed else self._without_types()
        rows = [patch for effect in effects for patch in effect.rows]
        encodings = Encodings(base.displayed.byte_count)
        return replace(base, table=base.table.patched(rows), encodings=encodings)

    def changed(self, effect: Effect) -> "Snapshot | None":
        """The snapshot after a write; None if it shows another worksheet than was written to."""
        table = self.table
        if table.header.cells != effect.header.cells:
            return None
        if not all(_fits(table, patch, effect.before.get(patch.row)) for patch in effect.rows):
            return None
        if not any(patch.texts for patch in effect.rows):
            return self  # a look, and it saw the same
        new = [patch.row for patch in effect.rows if patch.row > table.last_row]
        if new and min(new) != table.last_row + 1:
            return None  # rows of others lie between that the snapshot does not have
        base = self if effect.keeps_values else self._without_types()
        return replace(
            base,
            table=base.table.patched(effect.rows),
            grid_rows=max(base.grid_rows, *(patch.row for patch in effect.rows)),
            displayed=replace(base.displayed, digest=None),
            typed=base.typed and replace(base.typed, digest=None),
            encodings=Encodings(base.displayed.byte_count),
        )

    def _without_types(self) -> "Snapshot":
        table = replace(self.table, typed=None, is_mixed=False, indexes={})
        return replace(self, table=table, typed=None)


def _lags(cell: tuple[object, object], before: tuple[object, object]) -> bool:
    """Whether one cell, as text and value, seems to have an older value than it displays."""
    (text, value), (text_before, value_before) = cell, before
    if isinstance(value, str):
        return False
    is_plain = text_before == _plain(value_before)
    return value == value_before or (is_plain and text != _plain(value))


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _fits(table: Table, patch: RowPatch, before: Sequence[str] | None) -> bool:
    """Whether the table shows the row as it was before the write, or as a read during it may."""
    if before is None:  # the row is new
        return patch.row > table.last_row or _shows(table, patch)
    if patch.row > table.last_row:
        return False
    width = max(len(table.displayed), len(before))
    as_seen = [text_at(before, column) for column in range(width)]
    shown = [table.text(patch.row, column) for column in range(width)]
    written = [patch.texts.get(column, text) for column, text in enumerate(as_seen)]
    return shown in (as_seen, written)


def _shows(table: Table, patch: RowPatch) -> bool:
    return all(table.text(patch.row, column) == text for column, text in patch.texts.items())
