"""What was done to the worksheets: all their versions, and the gateway's batches between them.

Rules
- A change that brings a new fence is the gateway's, any other is a person's. So late effects count
  when they come.
- A batch is known by the rows before and after it. Row objects are shared and never modified: one
  that is the same object was not touched. Of equal blank rows in a row the batch's own requests
  tell which went, and which blank ones it emptied: a batch that changes no row at all makes a
  version, too. A burnt fence is of a batch that was not applied.
- Candidates for the state that a batch was planned on are the version before it and, as long as
  only others came in between or what commutes with the batch, earlier ones, down to the age at
  which a look is thrown away. Others are people, and gateways with another store.
- A worksheet is known by its first title, here its tab, whatever its title is later.
"""

import json
import re
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any

from gateway.worksheets.fences import BURNT
from sheets_emulator.app import Emulator
from sheets_emulator.grid.cell import whole
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook
from tests.simulation.people import CORRECTED
from tests.simulation.verbs.operations import (
    FILLED_DOWN,
    KEY,
    LIMITED_FIELDS,
    Filter,
    Operation,
    Texts,
    mark_of,
)
from tests.simulation.witness import SentBatch, changed_sheets, follow, row_texts, texts_of

MARK = re.compile(r"note:(\d+)")
FENCE = "createDeveloperMetadata"
FROM_ROW = re.compile(r"!A(\d+):")
LOOK_SECONDS = 1.75
"""A look is at most so old when its batch is sent: the second that is promised, and slack."""
SHOWN_BELOW = 3
"""Rows below inserted ones that an answer shows."""
SEED = 0.0


@dataclass(frozen=True, kw_only=True)
class Version:
    """A worksheet from a moment on; `fence` is that of the batch that made it, if one did."""

    since: float
    sheet: Sheet
    fence: int | None = None
    header_row: int = 1

    @cached_property
    def rows(self) -> Sequence[Texts]:
        """The cells that are not blank, by field; row 1 first."""
        rows = texts_of(self.sheet)
        return [_by_name(rows[self.header_row - 1], cells) for cells in rows]

    @cached_property
    def last_row(self) -> int:
        """The last row that is not blank."""
        return max((row for row, texts in enumerate(self.rows, start=1) if texts), default=0)

    @property
    def body(self) -> range:
        """The rows of the body of the native table, if there is one."""
        boxes = [table.body for table in self.sheet.tables]
        return range(boxes[0].top + 1, boxes[0].bottom + 1) if boxes else range(0)

    @property
    def end(self) -> int:
        """The last row with data in the body of the native table; without one the last row."""
        boxes = [table.body for table in self.sheet.tables]
        return self.sheet.data_end(boxes[0]) if boxes else self.last_row

    @cached_property
    def numbers(self) -> Counter[str]:
        """How often each record is there, by the number that it has for good."""
        return record_numbers(self.records().values())

    def row(self, row: int) -> Texts:
        return self.rows[row - 1] if 0 < row <= len(self.rows) else {}

    def records(self) -> Mapping[int, Texts]:
        """The rows that are served, by their numbers."""
        return {row: self.row(row) for row in range(self.header_row + 1, self.last_row + 1)}

    def matching(self, filter_: Filter) -> Sequence[int]:
        return [row for row, texts in self.records().items() if filter_.matches(row, texts)]

    def with_key(self, key: str) -> Sequence[int]:
        return [row for row, texts in self.records().items() if texts.get(KEY) == key]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A row that a batch wrote; `number` is that of its mark, None without one.

    `row` is its number in the batch's own worksheet, `was` what the row held before.
    """

    row: int
    number: int | None
    was: Texts
    now: Texts
    is_below: bool
    """It came below the last row, of the sheet or of the table that it went to."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch of the gateway. `index` is that of the version after it.

    `removed` are row numbers of before. `is_late`: the gateway was killed while it was under way.
    """

    index: int
    at: float
    sent_at: float
    key: str = ""
    """The key of its fences, by which batches of several gateways are told apart."""
    is_lost: bool = False
    is_late: bool = False
    removed: tuple[int, ...] = ()
    cleared: frozenset[int] = frozenset()
    """Those of the removed rows that were emptied where they are."""
    emptied: frozenset[int] = frozenset()
    """All rows that it emptied where they are, blank ones, too."""
    effects: tuple[Effect, ...] = ()
    answer_from: int = 0
    """Its answer shows the rows from here on, if it added any."""
    inserted: range = range(0)
    """The numbers of rows that it inserted, or by which a native table grew."""
    is_misplaced: bool = False
    """True if it inserted rows elsewhere than directly below the last record, or copied formulas
    from a row without.

    People moved rows after the look. Native tables grow at their own end.
    """
    shows_it: bool = False
    """True if the answer, which has the rows next to the inserted ones, shows that."""
    complaint: str = ""

    @property
    def only_adds(self) -> bool:
        return not self.removed and all(each.is_below for each in self.effects)

    @property
    def is_outside(self) -> bool:
        """True if new rows came above those that its answer shows: people moved the end up."""
        return any(each.is_below and each.row < self.answer_from for each in self.effects)

    @property
    def moves_rows(self) -> bool:
        return len(self.removed) > len(self.cleared)

    @property
    def gone(self) -> frozenset[int]:
        """The rows that it removed or emptied, blank ones, too."""
        return self.emptied.union(self.removed)

    @property
    def rows(self) -> frozenset[int]:
        """The rows that it changed where they are."""
        return self.cleared.union(each.row for each in self.effects)

    def moved(self, row: int) -> int | None:
        """The number of a row after it; None if it is not there any more."""
        if row in self.removed:
            return None
        if self.inserted and row >= self.inserted.start:
            row += len(self.inserted)
        return row - sum(each < row for each in self.removed if each not in self.cleared)


@dataclass(kw_only=True)
class History:
    """All versions of the worksheets of one spreadsheet, as far as their rows changed."""

    versions: dict[str, list[Version]] = field(default_factory=dict)
    """By tab."""
    tabs: dict[int, str] = field(default_factory=dict)
    """By sheet id."""
    titles: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    """The titles of each tab, each from a moment on."""
    idle: list[tuple[float, int, Workbook]] = field(default_factory=list)
    """What changed no row but brought metadata: its moment, its first fence, the spreadsheet."""
    workbook: Workbook | None = None
    header_row: int = 1
    slowest_look_seconds: float = 0.0
    kept_seconds: float = 1.0
    look_seconds: float = LOOK_SECONDS
    edits: int = 0
    renamings: int = 0

    def watch(self, emulator: Emulator, spreadsheet: str) -> None:
        """Note from now on what the emulator does to a spreadsheet."""
        self.workbook = follow(emulator, spreadsheet, self.note)
        sheets = self.workbook.sheets
        self.tabs = {sheet.sheet_id: sheet.title for sheet in sheets}
        self.titles = {sheet.title: [(SEED, sheet.title)] for sheet in sheets}
        self.versions = {sheet.title: [self._version(SEED, sheet)] for sheet in sheets}

    def _version(self, since: float, sheet: Sheet, fence: int | None = None) -> Version:
        return Version(since=since, sheet=sheet, fence=fence, header_row=self.header_row)

    def note(self, before: Workbook, after: Workbook, moment: float) -> None:
        """Note a change of the spreadsheet."""
        known = {each.metadata_id for each in before.metadata}
        new = [each for each in after.metadata if each.metadata_id not in known]
        fence = new[0].metadata_id if new else None
        self.workbook = after
        self.edits += not new
        changed = [
            sheet
            for old, sheet in changed_sheets(before, after)
            if len(old.rows) != len(sheet.rows) or not all(map(_is_untouched, old.rows, sheet.rows))
        ]
        if fence is not None and not changed and not (new[0].value or "").endswith(BURNT):
            self.idle.append((moment, fence, after))
        for sheet in changed:
            version = self._version(moment, sheet, fence)
            self.versions[self.tabs[sheet.sheet_id]].append(version)
        for sheet in after.sheets:
            titles = self.titles[self.tabs[sheet.sheet_id]]
            if titles[-1][1] != sheet.title:
                titles.append((moment, sheet.title))
                self.renamings += 1

    def courses(
        self, sent: Mapping[int, SentBatch], kills: Sequence[float] = ()
    ) -> Mapping[str, "Course"]:
        """The course of each tab; `sent` are the batches by their fences."""
        all_versions = {tab: [*versions] for tab, versions in self.versions.items()}
        for moment, fence, workbook in self.idle:
            sheet = workbook.numbered(_sheet_id(sent[fence])) if fence in sent else None
            if sheet is not None and sheet.sheet_id in self.tabs:
                version = self._version(moment, sheet, fence)
                insort(all_versions[self.tabs[sheet.sheet_id]], version, key=attrgetter("since"))
        return {
            tab: Course(
                tab=tab,
                titles=self.titles.get(tab, [(SEED, tab)]),
                versions=versions,
                slowest_look_seconds=self.slowest_look_seconds,
                kept_seconds=self.kept_seconds,
                look_seconds=self.look_seconds,
                batches=[
                    _batch(versions[index - 1], each, index, sent[each.fence], kills)
                    for index, each in enumerate(versions)
                    if each.fence is not None
                ],
            )
            for tab, versions in all_versions.items()
        }


@dataclass(frozen=True, kw_only=True)
class Course:
    """What became of a worksheet, version by version; `titles` count from their moments on."""

    tab: str
    titles: Sequence[tuple[float, str]]
    versions: Sequence[Version]
    batches: Sequence[Batch]
    slowest_look_seconds: float = 0.0
    """So long before its answer a look may have seen the rows."""
    kept_seconds: float = 1.0
    """So long a gateway serves rows that it read."""
    look_seconds: float = LOOK_SECONDS
    """A look is at most so old when its batch comes to Google."""

    @property
    def has_formulas(self) -> bool:
        """True if columns are filled down with formulas."""
        header = texts_of(self.versions[0].sheet)[self.versions[0].header_row - 1]
        return FILLED_DOWN[-1] in header

    @cached_property
    def by_index(self) -> Mapping[int, Batch]:
        return {batch.index: batch for batch in self.batches}

    def before(self, batch: Batch) -> Version:
        return self.versions[batch.index - 1]

    def after(self, batch: Batch) -> Version:
        return self.versions[batch.index]

    def indexes(self, since: float, until: float) -> range:
        """Of the versions that there were at any moment between two."""
        first = bisect_right(self.versions, since, key=attrgetter("since")) - 1
        end = bisect_right(self.versions, until, key=attrgetter("since"))
        return range(max(first, 0), end)

    def between(self, since: float, until: float) -> Sequence[Version]:
        return [self.versions[index] for index in self.indexes(since, until)]

    def had(self, title: str, since: float, until: float) -> bool:
        """True if this was its title at any moment between two."""
        ends = [*(begin for begin, _ in self.titles[1:]), float("inf")]
        return any(
            name == title and begin <= until and end >= since
            for (begin, name), end in zip(self.titles, ends, strict=True)
        )

    @property
    def moves(self) -> int:
        """How many rows got another number by people, each time counted."""
        return sum(
            places.get(id(row), place) != place
            for before, after in pairwise(self.versions)
            if after.fence is None
            for places in [{id(row): place for place, row in enumerate(before.sheet.rows) if row}]
            for place, row in enumerate(after.sheet.rows)
        )

    @property
    def removals(self) -> int:
        """Number of rows with text that people removed."""
        counts = [sum(map(bool, version.rows)) for version in self.versions]
        return sum(
            max(before - after, 0)
            for (before, after), version in zip(pairwise(counts), self.versions[1:], strict=True)
            if version.fence is None
        )

    def was_renamed(self, since: float, until: float) -> bool:
        return any(since <= at <= until for at, _ in self.titles[1:])

    def looks(self, batch: Batch) -> Sequence[Version]:
        """The states that a batch may have been planned on, the last one first."""
        return self._looks(batch, self.look_seconds)

    def first_looks(self, batch: Batch) -> Sequence[Version]:
        """The states in which its rows may have been found; they are looked at again if old."""
        return self._looks(batch, self.look_seconds + 2 * self.slowest_look_seconds)

    def _looks(self, batch: Batch, longest_seconds: float) -> Sequence[Version]:
        index = batch.index - 1
        found = [self.versions[index]]
        while index and self.versions[index].since >= batch.sent_at - longest_seconds:
            other = self.by_index.get(index)
            is_known = other is not None and other.key == batch.key
            if other is not None and is_known and not _commutes(batch, other):
                break
            index -= 1
            found.append(self.versions[index])
        return found

    def tagged(self, operation: Operation) -> Sequence[Texts]:
        """The whole rows that the tag of an operation may be of.

        Other columns than those of the key count: a record that looks the same is another one.
        """
        if operation.named is None:
            return []
        if not operation.is_limited:
            return [operation.named]
        since, until = operation.tagged
        rows = [
            version.row(operation.rows[0])
            for version in self.between(
                since - self.kept_seconds - self.slowest_look_seconds, until
            )
        ]
        found = [
            texts
            for texts in rows
            if {name: texts[name] for name in LIMITED_FIELDS if name in texts} == operation.named
        ]
        return found if operation.named else [*found, {}]

    def followed(self, row: int, start: int, end: int) -> int | None:
        """The number that the record of a row has after the gateway's removals; None if it went.

        Those count that made a version after `start`, up to `end`.
        """
        for batch in self.batches:
            if start < batch.index <= end and batch.removed:
                moved = batch.moved(row)
                if moved is None:
                    return None
                row = moved
        return row


def record_numbers(records: Iterable[Texts]) -> Counter[str]:
    """Numbers of records, without those that were there before all operations."""
    numbers = (each.get("id", "").removesuffix(CORRECTED) for each in records)
    return Counter(each for each in numbers if each not in ("", "id:seed"))


def is_alike(look: Version, others: Sequence[Version], rows: Iterable[int]) -> bool:
    """True if one of the others shows these rows as a look does."""
    return any(all(each.row(row) == look.row(row) for row in rows) for each in others)


def candidates(
    courses: Mapping[str, Course], title: str, since: float, until: float
) -> Sequence[Course]:
    """The tabs that had a title at any moment between two."""
    return [course for course in courses.values() if course.had(title, since, until)]


def _commutes(batch: Batch, other: Batch) -> bool:
    """True if the other batch may land between the look and the effect of this one.

    That is so if the outcome of one of them was open when the other one came, and if it is in
    nobody's way. What a killed gateway left is known to nobody.
    """
    if other.is_late:
        return not other.moves_rows
    is_open = other.is_lost or (batch.is_lost and other.at >= batch.sent_at)
    if batch.moves_rows or other.moves_rows or not is_open:
        return False
    return other.only_adds or batch.rows.isdisjoint(other.rows)


def _batch(
    before: Version, after: Version, index: int, sent: SentBatch, kills: Sequence[float]
) -> Batch:
    body = json.loads(sent.body)
    requests = body["requests"]
    height = max(len(before.sheet.rows), before.sheet.row_count)
    kept = _kept_rows(requests, height)
    is_in_table = any("tableId" in each.get("appendCells", ()) for each in requests)
    end = before.end if is_in_table else before.last_row
    if is_in_table:
        new_rows = max(0, len(after.body) - len(before.body))
        kept[before.body.stop - 1 : before.body.stop - 1] = [0] * new_rows
    removed = set(range(1, height + 1)).difference(kept)
    inserted = [place for place, row in enumerate(kept, 1) if not row]
    model = _model(requests, len(inserted))
    has_model = not (model and _unfilled(before, model))
    old = {row: before.sheet.rows[row - 1] for row in kept if 0 < row <= len(before.sheet.rows)}
    cleared: set[int] = set()
    effects: list[Effect] = []
    complaints: list[str] = []
    for place in range(1, max(len(old), len(after.sheet.rows)) + 1):
        row = kept[place - 1] if place <= len(kept) else place
        if not row:
            effects.append(replace(_effect(before, 0, after.row(place)), row=place, is_below=True))
            if has_model and not is_in_table:
                complaints += _unfilled(after, place)
            continue
        was = old.get(row, ())
        now = after.sheet.rows[place - 1] if place <= len(after.sheet.rows) else ()
        if _is_untouched(was, now) or not (before.row(row) or after.row(place)):
            continue
        effect = _effect(before, row, after.row(place))
        effect = replace(effect, row=row or place, is_below=place > end)
        if not effect.now:
            cleared.add(row)  # emptied in place of being removed
        elif removed or place <= before.header_row or effect.number is None:
            complaints.append(f"row {row} {effect.was} became {effect.now} in row {place}")
        else:
            effects.append(effect)
    return Batch(
        index=index,
        at=after.since,
        sent_at=sent.sent_at,
        key=_fence_key(requests),
        is_lost=sent.is_lost or any(sent.sent_at <= each <= after.since + 1 for each in kills),
        is_late=any(sent.sent_at <= each <= after.since for each in kills),
        removed=tuple(sorted(removed | cleared)),
        cleared=frozenset(cleared),
        emptied=_emptied_rows(requests) | cleared,
        effects=tuple(effects),
        answer_from=_answer_from(body),
        inserted=range(inserted[0], inserted[-1] + 1) if inserted else range(0),
        is_misplaced=bool(inserted)
        and not is_in_table
        and not (has_model and inserted[0] == end + 1),
        shows_it=not has_model or _has_others_beside(after, inserted),
        complaint="; ".join(complaints),
    )


def _has_others_beside(after: Version, inserted: Sequence[int]) -> bool:
    """True if inserted rows are below a blank row, or just above others; the header counts."""
    first, last = (inserted[0], inserted[-1]) if inserted else (0, 0)
    below = range(last + 1, last + 1 + SHOWN_BELOW)
    return not after.row(first - 1) or any(map(after.row, below))


def _fence_key(requests: Sequence[Mapping[str, Any]]) -> str:
    """The metadata key of the first fence."""
    fences = [each["createDeveloperMetadata"] for each in requests if FENCE in each]
    return str(fences[0]["developerMetadata"]["metadataKey"]) if fences else ""


def _kept_rows(requests: Sequence[Mapping[str, Any]], height: int) -> list[int]:
    """The rows of before that stay, in order, by the requests carried out one after the other.

    0 stands for a row that is inserted.
    """
    rows = [*range(1, height + 1)]
    for request in requests:
        if "deleteDimension" in request:
            place = request["deleteDimension"]["range"]
            del rows[place.get("startIndex", 0) : place["endIndex"]]
        if "insertDimension" in request:
            place = request["insertDimension"]["range"]
            first, end = place.get("startIndex", 0), place["endIndex"]
            rows[first:first] = [0] * (end - first)
    return rows


def _is_untouched(was: Row, now: Row) -> bool:
    """True if cells are the same objects, but for formulas: these change where rows move."""
    if was is now:
        return True
    changed = [pair for pair in zip(was, now, strict=False) if pair[0] is not pair[1]]
    formulas = [None not in (whole(one).formula, whole(other).formula) for one, other in changed]
    return len(was) == len(now) and bool(formulas) and all(formulas)


def _model(requests: Sequence[Mapping[str, Any]], inserted: int) -> int:
    """The row of before from which formulas are copied to so many inserted rows; 0 if none is."""
    copies = [each["copyPaste"] for each in requests if "copyPaste" in each]
    return max((1 + each["source"]["startRowIndex"] - inserted for each in copies), default=0)


def _unfilled(version: Version, row: int) -> list[str]:
    """The filled-down fields that a row lacks."""
    header = row_texts(version.sheet.rows[version.header_row - 1])
    cells = [*map(whole, version.sheet.rows[row - 1])] if 0 < row <= len(version.sheet.rows) else []
    held = {name: cell for name, cell in zip(header, cells, strict=False) if name in FILLED_DOWN}
    box, mark = held.get(FILLED_DOWN[0]), held.get(FILLED_DOWN[1])
    is_filled = box is not None and box.value is False
    if is_filled and mark is not None and mark.formula == mark_of(row):
        return []
    return [f"row {row} was inserted with {held}"]


def _emptied_rows(requests: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The rows of which a batch empties all cells; an update writes a mark into each row."""
    emptied = set()
    for request in requests:
        update = request.get("updateCells")
        if update and not any(any(row["values"]) for row in update["rows"]):
            first = update.get("start", {}).get("rowIndex", 0)
            emptied.add(1 + update.get("range", {}).get("startRowIndex", first))
    return frozenset(emptied)


def _answer_from(body: Mapping[str, Any]) -> int:
    """The row from which the answer to a batch shows the rows that it appends; 0 without any."""
    if not any("appendCells" in request for request in body["requests"]):
        return 0
    first = FROM_ROW.search("".join(body.get("responseRanges", ())[-1:]))
    return int(first[1]) if first else 0


def _sheet_id(sent: SentBatch) -> int:
    """The tab of a batch; -1 if it has only fences."""
    for request in json.loads(sent.body)["requests"]:
        for change in request.values():
            place = change.get("range") or change.get("start") or change
            if "sheetId" in place:
                return int(place["sheetId"])
    return -1


def _effect(before: Version, row: int, now: Texts) -> Effect:
    """A row that was written, with the mark of who wrote it."""
    was = before.row(row)
    note = now.get("note", "")
    mark = MARK.fullmatch(note) if note != was.get("note") else None
    return Effect(
        row=row,
        number=int(mark[1]) if mark else None,
        was=was,
        now=now,
        is_below=False,
    )


def _by_name(header: Sequence[str], cells: Sequence[str]) -> Texts:
    """Cells by field; those without a name by their column."""
    return {
        (header[at] if at < len(header) else "") or f"column {at + 1}": text
        for at, text in enumerate(cells)
        if text and not (at < len(header) and header[at] in FILLED_DOWN)
    }
