"""What clients of several processes were shown, and which of it is too old.

Rules
- Pure: acknowledged writes, reads and all versions go in, problems come out.
- A row has one owner, who changes it one write after the other. No row is moved or removed. So a
  row's number names it, and its versions have one order: that of their effects at Google.
- I4: a read that began after a write was acknowledged shows it or something newer. A read whose
  answer says `detail=alone` may show anything, and so may any read of a write that said so.
- Monotonic: what a client was shown counts for its later reads, unless either answer, or the
  write of what was shown, says `detail=alone`, or the later read is marked stale.
- What is shown has taken effect at Google before the answer.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.report import Problem

Place = tuple[str, int]
"""A worksheet and a row."""
ABSENT = None
"""Shown in place of a note if the row is not there."""
NEVER_THERE = -1
"""Index of the version before a row's first one."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """The note of a row since a moment."""

    at: float
    note: str


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """A write of a row's note that was answered as done."""

    place: Place
    note: str
    answered_at: float
    process: int = 0
    is_alone: bool = False


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An answer to a read; `notes` are of all rows that it shows, or shows to be absent."""

    client: int
    process: int
    kind: str
    worksheet: str
    asked_at: float
    answered_at: float
    notes: Mapping[int, str | None] = field(default_factory=dict)
    is_alone: bool = False
    is_stale: bool = False

    def __str__(self) -> str:
        marks = [
            name for name, holds in (("stale", self.is_stale), ("alone", self.is_alone)) if holds
        ]
        return f"{' '.join((*marks, self.kind))} of client {self.client} at process {self.process}"


def problems_of_reads(
    writes: Sequence[Acknowledged],
    reads: Sequence[Shown],
    versions: Mapping[Place, Sequence[Version]],
) -> list[Problem]:
    """Reads that show too little or what never was; those of a client in its order."""
    rows = {place: _Row.of(found) for place, found in versions.items()}
    for write in writes:
        rows.setdefault(write.place, _Row()).acknowledge(write)
    for row in rows.values():
        row.settle()
    return [*_stale(reads, rows), *_going_back(reads, rows)]


@dataclass(kw_only=True)
class _Row:
    """A row's versions, and the least that reads may show after moments."""

    versions: Sequence[Version] = ()
    index: Mapping[str | None, int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    """Versions whose writes said `detail=alone`."""
    acknowledged: list[tuple[float, int]] = field(default_factory=list)
    moments: Sequence[float] = ()
    floors: Sequence[int] = ()

    @classmethod
    def of(cls, versions: Sequence[Version]) -> "_Row":
        ordered = sorted(versions, key=lambda each: each.at)
        index: dict[str | None, int] = {ABSENT: NEVER_THERE}
        for number, version in enumerate(ordered):
            index.setdefault(version.note, number)
        return cls(versions=ordered, index=index)

    def acknowledge(self, write: Acknowledged) -> None:
        number = self.index.get(write.note)
        if number is None:
            return  # a lost write, which the verdict on writes finds
        if write.is_alone:
            self.alone.add(number)
        else:
            self.acknowledged.append((write.answered_at, number))

    def settle(self) -> None:
        """Order what was acknowledged."""
        self.acknowledged.sort()
        highest, floors = NEVER_THERE, []
        for _, number in self.acknowledged:
            highest = max(highest, number)
            floors.append(highest)
        self.moments, self.floors = [at for at, _ in self.acknowledged], floors

    def floor_at(self, moment: float) -> int:
        """The newest version whose write was acknowledged before a moment."""
        count = bisect_left(self.moments, moment)
        return self.floors[count - 1] if count else NEVER_THERE

    def acknowledged_at(self, number: int) -> float:
        return min((at for at, each in self.acknowledged if each >= number), default=math.nan)


def _stale(reads: Sequence[Shown], rows: Mapping[Place, _Row]) -> Iterator[Problem]:
    """Reads that show less than what was acknowledged before them, or what never was."""
    nothing = _Row.of(())
    for read in reads:
        for number, note in read.notes.items():
            row = rows.get((read.worksheet, number), nothing)
            at = row.index.get(note)
            what = f"{read}: {read.worksheet} row {number} is {note!r}"
            if at is None or (at != NEVER_THERE and row.versions[at].at > read.answered_at):
                yield Problem(kind="never was", detail=f"{what}, as it never was by then")
                continue
            floor = row.floor_at(read.asked_at)
            if at < floor and not read.is_alone:
                late = read.asked_at - row.acknowledged_at(floor)
                newer = f"{row.versions[floor].note!r} was acknowledged {late:.2f} s before"
                yield Problem(kind="stale read", detail=f"{what}, {newer}")


def _going_back(reads: Sequence[Shown], rows: Mapping[Place, _Row]) -> Iterator[Problem]:
    """Reads that show less than earlier ones of their clients."""
    highest: dict[int, dict[Place, tuple[int, Shown]]] = defaultdict(dict)
    for read in reads:
        shown = highest[read.client]
        for number, note in read.notes.items():
            place = (read.worksheet, number)
            row = rows.get(place)
            at = None if row is None else row.index.get(note)
            if row is None or at is None:
                continue
            before, earlier = shown.get(place, (NEVER_THERE, read))
            if at < before and not read.is_alone and not read.is_stale:
                seconds = read.asked_at - earlier.answered_at
                detail = f"{read}: {place} is {note!r} {seconds:.2f} s after {earlier}"
                detail += f" showed {row.versions[before].note!r}"
                yield Problem(kind="went back", detail=detail)
            if at > before and not read.is_alone and at not in row.alone:
                shown[place] = (at, read)
