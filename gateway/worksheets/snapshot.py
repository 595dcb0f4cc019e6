"""Cached header, extent and rows of a worksheet, patched with the gateway's own writes.

Rules
- A snapshot has all rows of a worksheet. A window has a range of rows.
- The header cache has the header and the last row (together the extent) of the last read. With the
  extent a create needs no read, and a list can start its reads at the same time. Updates never rely
  on the cache.
- Older data never replaces newer data.
- An event number orders reads and writes of a worksheet in this process (`Worksheet.moment`).
"""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, count, islice
from operator import add, ne
from typing import NamedTuple

from gateway.google.sheets import NO_TABLE, NativeTable, SheetView
from gateway.query.place import Seen
from gateway.table.column_types import SheetForms
from gateway.table.header import Header
from gateway.table.record import text_at
from gateway.table.records import EndRule, last_record
from gateway.table.steps import Work
from gateway.table.table import Column, RowPatch, Table, row_object
from gateway.table.typed import held_cells
from gateway.worksheets.answers import Bodies, Encoder, Encodings, with_digests


class Whole(NamedTuple):
    """A read of all rows, with displayed texts only or also with typed values."""

    has_types: bool


class RowSpan(NamedTuple):
    """A read of a range of rows, with displayed texts only or also with typed values."""

    first_row: int
    row_count: int
    has_types: bool = False

    @property
    def whole(self) -> Whole:
        """The read of all rows that contains this range."""
        return TYPED if self.has_types else DISPLAYED


Part = Whole | RowSpan
"""Rows that one read covers, and whether it reads typed values."""

MOST_COMPARED = 1000
"""Maximum number of changed cells of a column that `Snapshot.lags` compares."""

CELL_BYTES = 65
"""Approximate memory of a cell without its characters, in bytes."""

DISPLAYED, TYPED = Whole(has_types=False), Whole(has_types=True)


@dataclass(frozen=True, kw_only=True)
class SheetExtent:
    """Header of a worksheet, and the last row of its records or of its native table.

    `as_of` is the event number at which the last row was known: at the start of a read, or at the
    end of an append. `header_as_of` is the start of the header's read in monotonic seconds.
    """

    header: Header
    last_row: int
    """Number of the last record, or of a row above the last record."""
    is_end: bool = False
    """True if `last_row` was the last record at event number `as_of`."""
    table_id: str = ""
    """Id of the native table that ends at `last_row`, or ""."""
    header_as_of: float
    as_of: int


def digest_of(header: Header) -> bytes:
    """SHA-256 of a header's cells, and of its row number if the header is below row 1."""
    row = f"{header.row}\n" if header.row > 1 else ""
    return hashlib.sha256((row + "\0".join(header.cells)).encode()).digest()


@dataclass(kw_only=True, eq=False)
class HeaderCache:
    """Cache of the header, extent, sheet id and column types of a worksheet.

    `clock` is monotonic, in seconds. `moment` returns the next event number of the worksheet.
    """

    ttl_seconds: float
    clock: Callable[[], float]
    moment: Callable[[], int]
    extent: SheetExtent | None = None
    """Header and last row of any age. Reads use the last row as a guess."""
    _as_of: int = -1
    """Event number of the extent, or of a later change that dropped the extent."""
    _seen: tuple[tuple[str, ...], int] | None = None
    """Cells of the last read header, and the event number at the start of that read."""
    _sheet: tuple[int, float] | None = None
    _forms: tuple[SheetForms, tuple[str, ...], float] | None = None
    frozen_rows: int = 0
    """Number of frozen rows in the last read with the sheet id."""
    table: NativeTable = NO_TABLE
    """Native table under the header in the last read with the sheet id."""
    unfilled_until: float = 0.0
    """Monotonic time until which no filled-down rows are expected. -inf if some were read."""
    trusted_cells: tuple[str, ...] | None = None
    """Cells of a header below row 1. If people move this header, NoHeaderRow is raised."""

    def seen_sheet(
        self,
        view: SheetView,
        seconds: float,
        *,
        forms: SheetForms | None = None,
        header: Header | None = None,
    ) -> None:
        """Cache the sheet id of a read, and the column types if they were read with a header.

        The read was sent at `seconds` (monotonic).
        """
        is_same = self._sheet is not None and self._sheet[0] == view.sheet_id
        if forms is not None and header is not None:
            self._forms = (forms, header.cells, seconds)
        elif not is_same or self.table.id != view.table.id:
            self._forms = None
        if not is_same:
            self.unfilled_until = min(self.unfilled_until, 0.0)
        self._sheet = (view.sheet_id, seconds)
        self.frozen_rows, self.table = view.frozen_rows, view.table
        if 0 <= self.unfilled_until <= seconds:
            rows = [
                bool(computed)
                for block in view.blocks
                for row, computed in enumerate(block.computed, block.first_row)
                if row > view.blocks[0].first_row
            ]
            if rows and not any(rows):
                self.unfilled_until = seconds + self.ttl_seconds

    def fresh_sheet(self) -> int | None:
        """Return the sheet id, or None after the TTL, because another tab can take the title."""
        if self._sheet is None or self.clock() - self._sheet[1] >= self.ttl_seconds:
            return None
        return self._sheet[0]

    def last_sheet(self) -> int | None:
        """Return the sheet id of any age, or None if it is unknown."""
        return self._sheet and self._sheet[0]

    def fresh_forms(
        self, header: Header | None = None, *, since: float = math.inf
    ) -> SheetForms | None:
        """Return the cached column types, or None if they are stale or belong to another header.

        Column types are fresh within the TTL, or if they were read after `since`.
        """
        if self._forms is None:
            return None
        forms, cells, seconds = self._forms
        is_fresh = seconds >= since or self.clock() - seconds < self.ttl_seconds
        is_same = header is None or header.cells == cells
        return forms if is_fresh and is_same else None

    def fresh(self) -> SheetExtent | None:
        """Return header and last row if the header is fresh and the native table is unchanged."""
        extent = self.extent
        if extent is None or self.clock() - extent.header_as_of >= self.ttl_seconds:
            return None
        return extent if extent.table_id == self.table.id else None

    def keep(self, extent: SheetExtent) -> None:
        """Cache an extent (header and last row), unless a newer extent or change is known."""
        is_same = self._seen is None or self._seen[0] == extent.header.cells
        if is_same and self._as_of <= extent.as_of:
            self.extent, self._as_of = extent, extent.as_of

    def forget(self) -> None:
        """Drop all cached values. Reads that run now are not cached."""
        self.extent, self._as_of, self._sheet = None, self.moment(), None
        self._forms, self.table = None, NO_TABLE

    def adopt(
        self, sheet_id: int | None, header_digest: bytes | None, last_row: int | None, *, as_of: int
    ) -> None:
        """Take the last row from another process, which wrote at the event number `as_of`.

        A later read of this process has priority. Drops all cached values if the other process saw
        another tab or header.
        """
        extent, sheet = self.extent, self._sheet
        if extent is not None and extent.as_of > as_of:
            return
        if (
            extent is None
            or sheet is None
            or sheet[0] != sheet_id
            or last_row is None
            or digest_of(extent.header) != header_digest
        ):
            self.forget()
        else:
            self._as_of = self.moment()
            self.extent = replace(extent, last_row=last_row, is_end=False, as_of=self._as_of)

    def compare(self, header: Header, *, as_of: int) -> None:
        """Record the header of a read that began at event number `as_of`.

        If the header differs, drops the cached extent and the sheet id, because another tab might
        have the title now. Does nothing if a later read is known.
        """
        if self._seen is not None and as_of < self._seen[1]:
            return
        self._seen = (header.cells, as_of)
        if self.extent is not None and self.extent.header.cells != header.cells:
            self.extent, self._as_of, self._sheet = None, max(as_of, self._as_of), None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Effect of a confirmed write on the cached rows.

    `header` is the header of the write. `before` has the displayed texts before the write by row
    number, without appended rows. `rows` are the patches of changed and appended rows. `removed`
    are the numbers of removed rows, ascending. A write removes rows or patches them, never both.

    `last_row` is the last record after the write or a row above it, or 0 if unknown. `sent_at` is
    the event number at which a removal was sent. `is_inside`: new rows are in a native table, so
    that rows below the table might have moved down.
    """

    header: Header
    rows: Sequence[RowPatch] = ()
    before: Mapping[int, Sequence[str]] = field(default_factory=dict)
    removed: Sequence[int] = ()
    last_row: int = 0
    sent_at: int = 0
    is_inside: bool = False

    @cached_property
    def patches(self) -> Mapping[int, RowPatch]:
        return {patch.row: patch for patch in self.rows}

    @cached_property
    def new_rows(self) -> Sequence[int]:
        """Numbers of the appended rows, ascending."""
        return sorted(patch.row for patch in self.rows if patch.row not in self.before)

    @cached_property
    def empties_cells(self) -> bool:
        return any("" in each.texts.values() for each in self.rows if each.row in self.before)

    def may_end_rows(self, end: EndRule) -> bool:
        """True if an existing row might not count as a record after the write."""
        return any(
            not last_record(end, [[text] for text in _with_texts(before, each.texts)])
            for each in self.rows
            if (before := self.before.get(each.row)) is not None
        )

    @cached_property
    def cell_count(self) -> int:
        """Number of written cells plus the earlier cells of their rows, as a measure of work."""
        count = sum(map(len, self.before.values()))
        for patch in self.rows:
            count += len(patch.texts)
        return count


def texts_of(effects: Sequence[Effect]) -> Mapping[int, Mapping[int, str]]:
    """Return the displayed texts after consecutive writes, by row and column number."""
    texts: dict[int, dict[int, str]] = {}
    for effect in effects:
        for patch in effect.rows:
            texts.setdefault(patch.row, {}).update(patch.texts)
    return texts


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Read that returned all texts or all values. `digest` is None after a write changed them."""

    began_seconds: float
    byte_count: int
    digest: bytes | None = None
    columns: Sequence[Column] = ()
    """All columns as read if only typed values show the last record, otherwise ()."""
    as_of: int = 0
    """Event number of the read of `columns`."""
    encoded: tuple[object, ...] = ()
    """Encoded columns, kept in memory so that later reads can share them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """All rows of a worksheet, the reads that returned them, and the cached answers."""

    table: Table
    grid_rows: int
    displayed: Origin
    typed: Origin | None = None
    encodings: Encodings
    is_expired: bool = False
    """True if the worksheet might have changed. Expired rows are only served as stale rows."""

    @cached_property
    def header(self) -> Header:
        return self.table.header

    @cached_property
    def last_row(self) -> int:
        return self.table.last_row

    @property
    def below(self) -> Sequence[Sequence[str]]:
        """Displayed texts of the first filled-down rows below the last record."""
        return self.table.below

    def began_seconds(self, part: Part) -> float:
        """Start of the read in monotonic seconds. For typed rows, the earlier of two reads."""
        if part is not TYPED or self.typed is None:
            return self.displayed.began_seconds
        return min(self.displayed.began_seconds, self.typed.began_seconds)

    @property
    def byte_count(self) -> int:
        """Approximate maximum memory in bytes of the rows, their indexes and the cached answers."""
        byte_count = self.displayed.byte_count + self.encodings.max_bytes
        if self.typed is not None:
            byte_count += self.typed.byte_count
        if self.table.indexes:
            byte_count += self.table.index_bytes
        return byte_count

    @property
    def digests(self) -> tuple[bytes | None, bytes | None]:
        """Digests of the displayed texts and of the typed values. None if unread or changed."""
        return self.displayed.digest, None if self.typed is None else self.typed.digest

    def displays_as(self, other: "Snapshot") -> bool:
        digest = self.displayed.digest
        return (
            digest is not None and digest == other.displayed.digest
        ) or self.table.displayed == other.table.displayed

    def lags(self, before: "Snapshot") -> bool:
        """True if the typed values seem older than the displayed texts.

        Values seem older if, since the snapshot `before`, a number got a new text but kept its
        value, or got another number format.
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
        """True if the cells display these texts, by row and column number."""
        return self.table.header.cells == header.cells and all(
            self.table.text(row, column) == text
            for row, cells in texts.items()
            for column, text in cells.items()
        )

    def has_rows(
        self,
        header: Header,
        rows: Mapping[int, Sequence[str]],
        values: Mapping[int, Sequence[object]],
    ) -> bool:
        """True if the rows display these texts, from column A, and hold the known typed values."""
        table = self.table
        if table.header.cells != header.cells or _has_records(table, rows):
            return False
        known = [row for row in rows if row <= table.last_row]
        return all(map(is_same, table.texts(known), map(rows.__getitem__, known))) and (
            table.typed is None
            or not values
            or all(
                held_cells(rows[row], values[row])
                == held_cells(table.cells(row), table.typed_cells(row))
                for row in known
                if row in values
            )
        )

    def after(self, effects: Sequence[Effect]) -> "Work[Snapshot | None]":
        """Return the snapshot after consecutive writes, or None if it contradicts them.

        The snapshot's read might already show the first of the writes.
        """
        for seen in range(len(effects) + 1):
            if (yield from self._fits(effects, seen)):
                return (yield from self._patched(effects))
        return None

    def changed(self, effect: Effect) -> "Work[Snapshot | None]":
        """Return the snapshot after a write, or None if its header or rows contradict the write."""
        if not (yield from self._fits([effect], 0)):
            return None
        return (yield from self._patched([effect]))

    def _fits(self, effects: Sequence[Effect], seen: int) -> Work[bool]:
        """True if the rows show the first `seen` writes, and have rows that later writes remove."""
        table = self.table
        for effect in effects:
            if effect.header.cells != table.header.cells:
                return False
        if seen:
            yield sum(effect.cell_count for effect in effects[:seen])
            if not self.shows(table.header, texts_of(effects[:seen])):
                return False
        last_row = table.last_row
        written: dict[int, dict[int, str]] = {}
        for effect in effects[seen:]:
            yield effect.cell_count
            if effect.removed:
                texts = table.texts(effect.removed)
                if effect.removed[-1] > last_row or not all(
                    is_same(
                        _with_texts(cells, written[row]) if row in written else cells,
                        effect.before[row],
                    )
                    for row, cells in zip(effect.removed, texts, strict=True)
                ):
                    return False
                continue
            known: list[RowPatch] = []
            rows, new = list[int](), list[int]()
            for patch in effect.rows:
                if patch.row <= last_row:
                    known.append(patch)
                    rows.append(patch.row)
                elif patch.row in effect.before:
                    return False
                else:
                    new.append(patch.row)
            if new and min(new) != last_row + 1:
                return False  # other people's rows are in between
            for patch, cells in zip(known, table.texts(rows) if rows else (), strict=True):
                row, before = patch.row, effect.before.get(patch.row)
                shown = _with_texts(cells, written[row]) if row in written else cells
                is_moved = before is None and effect.is_inside  # rows below the table moved
                if is_moved or not _may_be_written(shown, before, patch):
                    return False
            for patch in effect.rows:
                written.setdefault(patch.row, {}).update(patch.texts)
            last_row = max(last_row, *new) if new else last_row
        return True

    def _patched(self, effects: Sequence[Effect]) -> "Work[Snapshot | None]":
        """Return the snapshot after writes, or None if only unread typed values show its end."""
        rows, grid_rows = list[RowPatch](), self.grid_rows
        for effect in effects:
            for patch in effect.rows:
                if patch.values:
                    rows.append(patch)
                    grid_rows = max(grid_rows, patch.row)
        removed = effects[0].removed if effects else ()
        if removed:
            table = yield from self.table.without_rows(removed)
            grid_rows -= len(removed)
        elif rows:
            table = yield from self.table.patched(rows)
        else:
            return self  # reads for writes that changed nothing
        if table.ends_by_types and table.typed is None:
            return None
        return replace(
            self,
            table=table,
            grid_rows=grid_rows,
            displayed=replace(self.displayed, digest=None, columns=(), encoded=()),
            typed=self.typed and replace(self.typed, digest=None),
            encodings=Encodings(table, self.displayed.byte_count),
        )


def _lags(cell: tuple[object, object], before: tuple[object, object]) -> bool:
    """True if the value of a cell seems older than its text. Both cells are pairs (text, value)."""
    (text, value), (text_before, value_before) = cell, before
    if isinstance(value, str):
        return False
    is_plain = text_before == _plain(value_before)
    return value == value_before or (is_plain and text != _plain(value))


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """Displayed rows of a range (`span`), down to the last record.

    A span with typed values also has the `values` of the same rows.
    """

    span: RowSpan
    header: Header
    rows: Sequence[Sequence[str]]
    values: Sequence[Sequence[object]] = ()
    has_next: bool
    below: Sequence[Sequence[object]] = ()
    """Displayed texts of the first row below the last record, if the read covered that row."""
    read_seconds: float
    """Start of the read in monotonic seconds."""
    is_expired: bool = False

    @cached_property
    def byte_count(self) -> int:
        cell_bytes = 2 * CELL_BYTES if self.span.has_types else CELL_BYTES
        return CELL_BYTES + sum(cell_bytes * len(row) + sum(map(len, row)) for row in self.rows)

    @property
    def last_row(self) -> int:
        """Number of the last record within the window."""
        return self._end - 1 if self.has_next else self.span.first_row + len(self.rows) - 1

    def began_seconds(self, _: Part) -> float:
        return self.read_seconds

    def contains(self, span: RowSpan) -> bool:
        """True if the window has all rows of the span. Rows below the last record do not count."""
        is_above_end = span.first_row + span.row_count <= self._end
        return (
            span.first_row >= self.span.first_row
            and span.has_types <= self.span.has_types
            and (is_above_end or not self.has_next)
        )

    def cut(self, span: RowSpan) -> "Window":
        """Return the rows of this window that a smaller span covers."""
        first = span.first_row - self.span.first_row
        end = first + span.row_count
        has_next = self.has_next or end < len(self.rows)
        return replace(
            self,
            span=span,
            rows=self.rows[first:end],
            values=self.values[first:end] if span.has_types else (),
            has_next=has_next,
        )

    def seen(self, columns: Sequence[int]) -> Seen:
        """Return the displayed texts of the window in some columns."""
        cells = [[text_at(row, column) for row in self.rows] for column in columns]
        return Seen(cells, self.span.first_row - 1, is_whole=False)

    def encoded(
        self,
        encoder: Encoder,
        selected: Mapping[int, str],
        limit: int,
        typed: Sequence[Sequence[object]] | None = None,
    ) -> Bodies:
        """Encode the first `limit` rows for an answer. `typed` are their values by `typed_rows`.

        `selected` has the field names by column number.
        """

        def made(rows: Iterable[Sequence[object]]) -> list[bytes]:
            lines = enumerate(rows, self.span.first_row)
            return [
                encoder.row(row_object(self.header, *each, selected, encoder.empty))
                for each in lines
            ]

        displayed = made(self.rows[:limit])
        if typed is None:
            return with_digests(displayed)
        bodies = made(typed)
        return with_digests(bodies, [*map(add, bodies, displayed)])

    def agrees(self, other: "Window | Table") -> bool:
        """True if the common rows, the headers and the last records are equal.

        Compares typed values if both have them. A window below the last row of the sheet has no
        header.
        """
        own, others = self.header.cells, other.header.cells
        if own and others and own != others:
            return False
        if isinstance(other, Table):
            return self.has_next == (other.last_row >= self._end) and all(
                self._has_row(row, texts, other.typed_cells(row) if other.typed else None)
                for row, texts in zip(self._numbers, other.texts(self._numbers), strict=True)
            )
        if self.is_ended_before(other) or other.is_ended_before(self):
            return False
        common = range(max(self.span.first_row, other.span.first_row), min(self._end, other._end))
        return all(self._has_row(row, other._row(row), other._values(row)) for row in common)

    def is_ended_before(self, other: "Window") -> bool:
        """True if this window ends with the last record, but the other window has rows below it."""
        if self.has_next:
            return False
        last = other._end if other.has_next else other.span.first_row + len(other.rows) - 1
        return last >= self._end

    def shows(self, header: Header, texts: Mapping[int, Mapping[int, str]]) -> bool:
        """True if rows in the window display these texts, by row and column number."""
        if self.header.cells and self.header.cells != header.cells:
            return False
        if not self.has_next and any(
            row >= self._end and any(cells.values()) for row, cells in texts.items()
        ):
            return False
        return all(
            text_at(self._row(row), column) == text
            for row, cells in texts.items()
            if row in self._numbers
            for column, text in cells.items()
        )

    def has_rows(
        self,
        header: Header,
        rows: Mapping[int, Sequence[str]],
        values: Mapping[int, Sequence[object]],
    ) -> bool:
        """True if the rows in the window display these texts and hold the known typed values."""
        if self.header.cells and self.header.cells != header.cells:
            return False
        if not self.has_next and _has_records(self, rows):
            return False
        return all(
            self._has_row(row, rows[row], values.get(row))
            for row in self._numbers
            if row in rows and (self.has_next or row <= self.last_row)
        )

    def after(self, effects: Sequence[Effect]) -> "Window | None":
        """Return the window after consecutive writes, or None if the window contradicts them.

        The window's read might already show the first of the writes.
        """
        for seen in range(len(effects) + 1):
            if seen == 0 or self.shows(effects[0].header, texts_of(effects[:seen])):
                found: Window | None = self
                for effect in effects[seen:]:
                    found = found and found.changed(effect)
                if found is not None:
                    return found
        return None

    def changed(self, effect: Effect) -> "Window | None":
        """Return the window after a write, or None if the write makes its rows unknown."""
        if self.header.cells != effect.header.cells:
            return None
        if effect.removed and not self.has_next:
            return self._ended(effect)
        if effect.removed:
            # Removals above the end of the window move unknown rows into it.
            is_below = self._end <= effect.removed[0] and self._end <= effect.last_row
            return self if is_below else None
        if effect.empties_cells or effect.may_end_rows(self.header.end):
            return None  # the last record might be another row now
        first_row, rows, patches = self.span.first_row, [*self.rows], effect.patches
        values = [*self.values]
        last_row, new_rows = first_row + len(rows) - 1, effect.new_rows
        if new_rows and new_rows[0] < (self._end if effect.is_inside else first_row):
            return None  # a new row in a table moved rows of the window
        if not self.has_next and (
            (new_rows and new_rows[-1] > last_row) or any(row >= self._end for row in patches)
        ):
            return None  # the last record is another row now
        for at in range(len(rows)):
            patch = patches.get(first_row + at)
            if patch is None:
                continue
            shown, after = rows[at], _with_texts(rows[at], patch.texts)
            if not _may_be_written(shown, effect.before.get(patch.row), patch):
                return None
            rows[at] = after
            if values:
                if patch.values.keys() < patch.texts.keys() and not is_same(shown, after):
                    return None
                cells = [*values[at], *[None] * (len(after) - len(values[at]))]
                values[at] = [patch.values.get(column, cell) for column, cell in enumerate(cells)]
        return replace(self, rows=rows, values=values)

    def _ended(self, effect: Effect) -> "Window | None":
        """Return the window after removals, if the window has the last record."""
        first_row, removed = self.span.first_row, effect.removed
        inside = removed[bisect_left(removed, first_row) :]
        if inside and inside[-1] > self.last_row:
            return None
        if any(not is_same(self._row(row), effect.before[row]) for row in inside):
            return None
        gone = frozenset(inside)
        kept = [at for at in range(len(self.rows)) if first_row + at not in gone]
        # Removals above the window moved its first rows out.
        kept = kept[len(removed) - len(inside) :]
        while kept:
            last = last_record(self.header.end, [[text] for text in self.rows[kept[-1]]])
            if last is None:
                return None  # only typed values show the last record now
            if last:
                break
            kept.pop()
        rows, values = [self.rows[at] for at in kept], self.values
        return replace(self, rows=rows, values=values and [values[at] for at in kept])

    @property
    def _end(self) -> int:
        """Number of the first row below the span."""
        return self.span.first_row + self.span.row_count

    @property
    def _numbers(self) -> range:
        return range(self.span.first_row, self._end)

    def _row(self, row: int) -> Sequence[str]:
        at = row - self.span.first_row
        return self.rows[at] if at < len(self.rows) else ()

    def _values(self, row: int) -> Sequence[object] | None:
        at = row - self.span.first_row
        return self.values[at] if self.span.has_types and at < len(self.values) else None

    def _has_row(self, row: int, texts: Sequence[str], values: Sequence[object] | None) -> bool:
        """True if a row displays these texts and holds these typed values, if both are known."""
        shown, own = self._row(row), self._values(row)
        if own is None or values is None:
            return is_same(shown, texts)
        return is_same(shown, texts) and held_cells(shown, own) == held_cells(texts, values)


Rows = Snapshot | Window


def _has_records(kept: Table | Window, rows: Mapping[int, Sequence[str]]) -> bool:
    """True if some of these rows could be records below the last record of the cached rows.

    Rows that display only booleans do not count if typed values showed the last record.
    """
    none = (0, None) if isinstance(kept, Table) and kept.ends_by_types else (0,)
    for row, texts in rows.items():
        is_below = row > kept.last_row
        if is_below and last_record(kept.header.end, [[text] for text in texts]) not in none:
            return True
    return False


def is_same(row: Sequence[str], other: Sequence[str]) -> bool:
    """True if two rows have equal texts. Trailing blank texts do not count."""
    width = min(len(row), len(other))
    return [*row[:width]] == [*other[:width]] and not any(row[width:]) and not any(other[width:])


def _may_be_written(shown: Sequence[str], before: Sequence[str] | None, patch: RowPatch) -> bool:
    """True if a row displays its texts before or after a write. `before` is None for a new row."""
    if before is None:
        return all(text_at(shown, column) == text for column, text in patch.texts.items())
    return is_same(shown, before) or is_same(shown, _with_texts(before, patch.texts))


def _with_texts(texts: Sequence[str], written: Mapping[int, str]) -> list[str]:
    row = [*texts, *[""] * (max(written, default=-1) + 1 - len(texts))]
    for column, text in written.items():
        row[column] = text
    return row
