"""Snapshot cache: rows that were read, within a size.

Rules
- A snapshot is immutable; a newer read, or a write of ours, puts another in its place.
- No snapshot misses a write that was acknowledged: it is patched or dropped before the answer.
- Two are kept of a worksheet: the latest, and the latest with both renderings. They are mostly one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cachetools import FIFOCache

from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.record import text_at
from gateway.table.table import Table
from gateway.telemetry.events import snapshots_kept
from gateway.worksheets.answers import Encodings
from gateway.worksheets.worksheet_id import WorksheetId


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The read behind a rendering; no digest if a write of ours has changed it since."""

    began_seconds: float
    byte_count: int
    digest: bytes | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """All rows of a worksheet, where each rendering is from, and the answers made of them."""

    table: Table
    grid_rows: int
    displayed: Origin
    typed: Origin | None = None
    encodings: Encodings
    is_expired: bool = False
    """Whether a write that nobody confirmed may have changed the rows since."""

    def began_seconds(self, *, needs_types: bool) -> float:
        """When the read began that an answer rests on; with both renderings, the earlier read."""
        if not needs_types or self.typed is None:
            return self.displayed.began_seconds
        return min(self.displayed.began_seconds, self.typed.began_seconds)

    @property
    def byte_count(self) -> int:
        """About what it takes in memory at most: rows, their indexes, and answers kept."""
        typed = 0 if self.typed is None else self.typed.byte_count
        rows_bytes = self.displayed.byte_count + typed
        return rows_bytes + self.table.index_bytes + self.encodings.max_bytes


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The snapshots of one worksheet."""

    latest: Snapshot
    with_types: Snapshot | None = None

    @property
    def byte_count(self) -> int:
        extra = self.with_types if self.with_types is not self.latest else None
        return self.latest.byte_count + (0 if extra is None else extra.byte_count)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a write of ours left: rows as they display now, and the header it was made under.

    `before` are the rows as they displayed when we looked, if we did; a row that was appended
    has none. `keeps_values`: the cells hold what was sent; else only what they display is known.
    """

    header: Header
    rows: Sequence[RowPatch]
    before: Mapping[int, Sequence[str]] = field(default_factory=dict)
    keeps_values: bool = True


class Snapshots:
    """The snapshots of all worksheets; those renewed longest ago go when they take too much.

    Whatever is in use is renewed every few seconds: to note each use would only take time.
    """

    def __init__(self, max_bytes: int) -> None:
        self._kept: FIFOCache[WorksheetId, Kept] = FIFOCache(
            max_bytes, getsizeof=lambda kept: kept.byte_count
        )

    def __contains__(self, worksheet: object) -> bool:
        return worksheet in self._kept

    def get(self, worksheet: WorksheetId, *, needs_types: bool) -> Snapshot | None:
        kept = self._kept.get(worksheet)
        if kept is None:
            return None
        return kept.with_types if needs_types else kept.latest

    def keep(self, worksheet: WorksheetId, snapshot: Snapshot) -> None:
        """Put a newer snapshot in place of the latest, and of that with both renderings if it has.

        If it has not, the worksheet displays something else than the other snapshot: a search
        must not show what a list does not show any more.
        """
        known = self._kept.get(worksheet)
        with_types = None if known is None else known.with_types
        if snapshot.typed is not None:
            with_types = snapshot
        elif with_types is not None:
            with_types = replace(with_types, is_expired=True)
        self._put(worksheet, Kept(latest=snapshot, with_types=with_types))

    def change(self, worksheet: WorksheetId, effect: Effect) -> None:
        """Bring the snapshots up to a write of ours; what does not fit together is dropped."""
        kept = self._kept.get(worksheet)
        if kept is None:
            return
        if not effect.keeps_values:
            kept = Kept(latest=_without_types(kept.latest))
        latest = _changed(kept.latest, effect)
        with_types = kept.with_types
        if with_types is not None:
            is_same = with_types is kept.latest
            with_types = latest if is_same else _changed(with_types, effect)
        if latest is None:
            self.drop(worksheet)
        else:
            self._put(worksheet, Kept(latest=latest, with_types=with_types))

    def expire(self, worksheet: WorksheetId) -> None:
        """Have a worksheet read anew before it is served as fresh."""
        kept = self._kept.get(worksheet)
        if kept is not None:
            latest = replace(kept.latest, is_expired=True)
            with_types = kept.with_types and replace(kept.with_types, is_expired=True)
            is_same = kept.with_types is kept.latest
            self._put(worksheet, Kept(latest=latest, with_types=latest if is_same else with_types))

    def drop(self, worksheet: WorksheetId) -> None:
        """Forget what was read of a worksheet."""
        self._kept.pop(worksheet, None)
        self._tell()

    def weigh(self, worksheet: WorksheetId, snapshot: Snapshot) -> None:
        """Count what queries have added to a snapshot's indexes; the oldest make room."""
        kept = self._kept.get(worksheet)
        if kept is None:
            return
        # Read again and unchanged, a worksheet has another snapshot of the same table.
        tables = [each.table for each in (kept.latest, kept.with_types) if each is not None]
        if not any(table is snapshot.table for table in tables):
            return
        indexes = snapshot.table.indexes
        while indexes and kept.byte_count > self._kept.maxsize:
            del indexes[next(iter(indexes))]
        self._put(worksheet, kept)

    def _put(self, worksheet: WorksheetId, kept: Kept) -> None:
        if kept.byte_count > self._kept.maxsize:
            kept = Kept(latest=kept.latest)
        if kept.byte_count > self._kept.maxsize:
            self.drop(worksheet)
            return
        self._kept[worksheet] = kept
        self._tell()

    def _tell(self) -> None:
        snapshots_kept(len(self._kept), int(self._kept.currsize))


def _without_types(snapshot: Snapshot) -> Snapshot:
    table = replace(snapshot.table, typed=None, is_mixed=False, indexes={})
    encodings = Encodings(snapshot.displayed.byte_count)
    return replace(snapshot, table=table, typed=None, encodings=encodings)


def _changed(snapshot: Snapshot, effect: Effect) -> Snapshot | None:
    """The snapshot after a write; None if it shows another worksheet than was written to."""
    table = snapshot.table
    if table.header.cells != effect.header.cells:
        return None
    if not all(_fits(table, patch, effect.before.get(patch.row)) for patch in effect.rows):
        return None
    if not any(patch.texts for patch in effect.rows):
        return snapshot  # a look, and it saw the same
    new = [patch.row for patch in effect.rows if patch.row > table.last_row]
    if new and min(new) != table.last_row + 1:
        return None  # rows of others lie between that the snapshot does not have
    return replace(
        snapshot,
        table=table.patched(effect.rows),
        grid_rows=max(snapshot.grid_rows, *(patch.row for patch in effect.rows)),
        displayed=replace(snapshot.displayed, digest=None),
        typed=snapshot.typed and replace(snapshot.typed, digest=None),
        encodings=Encodings(snapshot.displayed.byte_count),
    )


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
