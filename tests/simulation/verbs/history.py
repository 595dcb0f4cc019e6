"""Record of all versions of the worksheets, and of the gateways' batches between them.

Rules
- A change that creates a new fence (metadata entry of a batch) is the gateway's; any other change
  is a person's. So a late effect counts when it happens.
- A batch is known by the rows before and after. Row objects are shared and never modified, so an
  identical object is an untouched row. Among adjacent equal blank rows the batch's requests show
  which rows were deleted or cleared. A batch that changes no row makes a version, too. A burnt
  fence, whose ID has another token, belongs to a batch that was not applied.
- A batch can be planned on the version before it. It can also be planned on earlier versions, back
  to the maximum age of a read (look), if only others changed rows in between, or batches that
  commute with it. Others are people, and gateways with another store.
- A worksheet is identified by its first title, here called tab, whatever its title is later.
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
"""Maximum age of a read when its batch is sent: the guaranteed second, and tolerance."""
SHOWN_BELOW = 3
"""Number of rows below inserted rows that an answer shows."""
SEED = 0.0


@dataclass(frozen=True, kw_only=True)
class Version:
    """A worksheet from a time on; `fence` is the metadata ID of the batch that made it, if any."""

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
        """Number of the last row that is not blank."""
        return max((row for row, texts in enumerate(self.rows, start=1) if texts), default=0)

    @property
    def body(self) -> range:
        """Row numbers of the body of the native table, if there is one."""
        boxes = [table.body for table in self.sheet.tables]
        return range(boxes[0].top + 1, boxes[0].bottom + 1) if boxes else range(0)

    @property
    def end(self) -> int:
        """Last row with data in the native table's body, or in the sheet without a table."""
        boxes = [table.body for table in self.sheet.tables]
        return self.sheet.data_end(boxes[0]) if boxes else self.last_row

    @cached_property
    def numbers(self) -> Counter[str]:
        """How often each record exists, by its permanent number."""
        return record_numbers(self.records().values())

    def row(self, row: int) -> Texts:
        return self.rows[row - 1] if 0 < row <= len(self.rows) else {}

    def records(self) -> Mapping[int, Texts]:
        """Return the rows that the gateway serves, by row number."""
        return {row: self.row(row) for row in range(self.header_row + 1, self.last_row + 1)}

    def matching(self, filter_: Filter) -> Sequence[int]:
        return [row for row, texts in self.records().items() if filter_.matches(row, texts)]

    def with_key(self, key: str) -> Sequence[int]:
        return [row for row, texts in self.records().items() if texts.get(KEY) == key]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A row that a batch wrote; `number` is the number in its mark, or None without a mark.

    `row` is the row number in the batch's worksheet, and `was` the previous cells.
    """

    row: int
    number: int | None
    was: Texts
    now: Texts
    is_below: bool
    """True if the row came below the last row of the sheet, or of its native table."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch of the gateway; `index` is the index of the version after it.

    `removed` are row numbers before the batch. `is_late`: the gateway was killed before the batch
    took effect.
    """

    index: int
    at: float
    sent_at: float
    key: str = ""
    """Metadata key of its fences, which identifies the gateway."""
    is_lost: bool = False
    is_late: bool = False
    removed: tuple[int, ...] = ()
    cleared: frozenset[int] = frozenset()
    """Removed rows that were only cleared."""
    emptied: frozenset[int] = frozenset()
    """All rows that the batch cleared, also blank rows."""
    effects: tuple[Effect, ...] = ()
    answer_from: int = 0
    """First row that the answer shows, if the batch added rows; else 0."""
    inserted: range = range(0)
    """Numbers of the inserted rows, or of the rows by which a native table grew."""
    is_misplaced: bool = False
    """True if rows were inserted elsewhere than below the last record.

    Also true if formulas were copied from a row without formulas. The cause is that people moved
    rows after the read. Native tables grow at their own end.
    """
    shows_it: bool = False
    """True if the answer, which has the rows next to the inserted ones, shows `is_misplaced`."""
    complaint: str = ""

    @property
    def only_adds(self) -> bool:
        return not self.removed and all(each.is_below for each in self.effects)

    @property
    def is_outside(self) -> bool:
        """True if new rows are above the rows in the answer, because people moved the end up."""
        return any(each.is_below and each.row < self.answer_from for each in self.effects)

    @property
    def moves_rows(self) -> bool:
        return len(self.removed) > len(self.cleared)

    @property
    def gone(self) -> frozenset[int]:
        """The rows that the batch deleted or cleared, also blank rows."""
        return self.emptied.union(self.removed)

    @property
    def rows(self) -> frozenset[int]:
        """The rows that the batch changed in place."""
        return self.cleared.union(each.row for each in self.effects)

    def moved(self, row: int) -> int | None:
        """Return the number of a row after the batch, or None if the row is deleted."""
        if row in self.removed:
            return None
        if self.inserted and row >= self.inserted.start:
            row += len(self.inserted)
        return row - sum(each < row for each in self.removed if each not in self.cleared)


@dataclass(kw_only=True)
class History:
    """All versions of the worksheets of one spreadsheet that differ in their rows."""

    versions: dict[str, list[Version]] = field(default_factory=dict)
    """Versions by tab, which is the first title of a worksheet."""
    tabs: dict[int, str] = field(default_factory=dict)
    """Tabs by sheet ID."""
    titles: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    """Times and titles of each tab."""
    idle: list[tuple[float, int, Workbook]] = field(default_factory=list)
    """Batches that changed no row but created metadata: time, first fence, and spreadsheet."""
    workbook: Workbook | None = None
    header_row: int = 1
    slowest_look_seconds: float = 0.0
    kept_seconds: float = 1.0
    look_seconds: float = LOOK_SECONDS
    edits: int = 0
    renamings: int = 0

    def watch(self, emulator: Emulator, spreadsheet: str) -> None:
        """Record from now on what the emulator does to a spreadsheet."""
        self.workbook = follow(emulator, spreadsheet, self.note)
        sheets = self.workbook.sheets
        self.tabs = {sheet.sheet_id: sheet.title for sheet in sheets}
        self.titles = {sheet.title: [(SEED, sheet.title)] for sheet in sheets}
        self.versions = {sheet.title: [self._version(SEED, sheet)] for sheet in sheets}

    def _version(self, since: float, sheet: Sheet, fence: int | None = None) -> Version:
        return Version(since=since, sheet=sheet, fence=fence, header_row=self.header_row)

    def note(self, before: Workbook, after: Workbook, moment: float) -> None:
        """Record a change of the spreadsheet."""
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
        """Return the course of each tab; `sent` are the batches by their fences."""
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
    """All versions of a worksheet with their batches; `titles` are valid from their times on."""

    tab: str
    titles: Sequence[tuple[float, str]]
    versions: Sequence[Version]
    batches: Sequence[Batch]
    slowest_look_seconds: float = 0.0
    """Longest time by which a read can have seen the rows before its answer."""
    kept_seconds: float = 1.0
    """Maximum age of cached rows that a gateway serves."""
    look_seconds: float = LOOK_SECONDS
    """Maximum age of a read when its batch reaches Google."""

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
        """Return the indexes of the versions that existed at any time between two times."""
        first = bisect_right(self.versions, since, key=attrgetter("since")) - 1
        end = bisect_right(self.versions, until, key=attrgetter("since"))
        return range(max(first, 0), end)

    def between(self, since: float, until: float) -> Sequence[Version]:
        return [self.versions[index] for index in self.indexes(since, until)]

    def had(self, title: str, since: float, until: float) -> bool:
        """True if the worksheet had this title at any time between two times."""
        ends = [*(begin for begin, _ in self.titles[1:]), float("inf")]
        return any(
            name == title and begin <= until and end >= since
            for (begin, name), end in zip(self.titles, ends, strict=True)
        )

    @property
    def moves(self) -> int:
        """Number of changes of row numbers by people."""
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
        """Return the versions that a batch can be planned on, newest first."""
        return self._looks(batch, self.look_seconds)

    def first_looks(self, batch: Batch) -> Sequence[Version]:
        """Return the versions in which the gateway can have found the batch's rows.

        The gateway rereads old rows before it sends the batch.
        """
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
        """Return the whole rows that can have the ETag of an operation.

        The ETag covers all columns, not only those of the key: a record that looks the same is
        another one.
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
        """Return the number of a row's record after the gateway's removals, or None if removed.

        Counts the batches with an index after `start`, up to `end`.
        """
        for batch in self.batches:
            if start < batch.index <= end and batch.removed:
                moved = batch.moved(row)
                if moved is None:
                    return None
                row = moved
        return row


def record_numbers(records: Iterable[Texts]) -> Counter[str]:
    """Return the counts of records' numbers, without the initial records."""
    numbers = (each.get("id", "").removesuffix(CORRECTED) for each in records)
    return Counter(each for each in numbers if each not in ("", "id:seed"))


def is_alike(look: Version, others: Sequence[Version], rows: Iterable[int]) -> bool:
    """True if one of `others` has the same cells in these rows as `look`."""
    return any(all(each.row(row) == look.row(row) for row in rows) for each in others)


def candidates(
    courses: Mapping[str, Course], title: str, since: float, until: float
) -> Sequence[Course]:
    """Return the tabs that had a title at any time between two times."""
    return [course for course in courses.values() if course.had(title, since, until)]


def _commutes(batch: Batch, other: Batch) -> bool:
    """True if the other batch can take effect between the read and the effect of this one.

    That is allowed if the outcome of one batch was unknown when the other one came, and both write
    different rows. A new gateway does not know the batches of a killed one.
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
            cleared.add(row)  # cleared instead of deleted
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
    """True if inserted rows are below a blank row, or just above other rows or the header."""
    first, last = (inserted[0], inserted[-1]) if inserted else (0, 0)
    below = range(last + 1, last + 1 + SHOWN_BELOW)
    return not after.row(first - 1) or any(map(after.row, below))


def _fence_key(requests: Sequence[Mapping[str, Any]]) -> str:
    """Return the metadata key of the first fence."""
    fences = [each["createDeveloperMetadata"] for each in requests if FENCE in each]
    return str(fences[0]["developerMetadata"]["metadataKey"]) if fences else ""


def _kept_rows(requests: Sequence[Mapping[str, Any]], height: int) -> list[int]:
    """Return the old row numbers in their new order, after the requests; 0 for inserted rows."""
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
    """True if all changed cells are formulas, which change when rows move."""
    if was is now:
        return True
    changed = [pair for pair in zip(was, now, strict=False) if pair[0] is not pair[1]]
    formulas = [None not in (whole(one).formula, whole(other).formula) for one, other in changed]
    return len(was) == len(now) and bool(formulas) and all(formulas)


def _model(requests: Sequence[Mapping[str, Any]], inserted: int) -> int:
    """Return the old row whose formulas are copied to the inserted rows; 0 if there is none."""
    copies = [each["copyPaste"] for each in requests if "copyPaste" in each]
    return max((1 + each["source"]["startRowIndex"] - inserted for each in copies), default=0)


def _unfilled(version: Version, row: int) -> list[str]:
    """Return a line if a row lacks its filled-down fields, else []."""
    header = row_texts(version.sheet.rows[version.header_row - 1])
    cells = [*map(whole, version.sheet.rows[row - 1])] if 0 < row <= len(version.sheet.rows) else []
    held = {name: cell for name, cell in zip(header, cells, strict=False) if name in FILLED_DOWN}
    box, mark = held.get(FILLED_DOWN[0]), held.get(FILLED_DOWN[1])
    is_filled = box is not None and box.value is False
    if is_filled and mark is not None and mark.formula == mark_of(row):
        return []
    return [f"row {row} was inserted with {held}"]


def _emptied_rows(requests: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """Return the rows of which a batch clears all cells.

    An update writes a mark into each row, so it clears no row.
    """
    emptied = set()
    for request in requests:
        update = request.get("updateCells")
        if update and not any(any(row["values"]) for row in update["rows"]):
            first = update.get("start", {}).get("rowIndex", 0)
            emptied.add(1 + update.get("range", {}).get("startRowIndex", first))
    return frozenset(emptied)


def _answer_from(body: Mapping[str, Any]) -> int:
    """Return the first row that the answer to a batch shows, or 0 if it appends no rows."""
    if not any("appendCells" in request for request in body["requests"]):
        return 0
    first = FROM_ROW.search("".join(body.get("responseRanges", ())[-1:]))
    return int(first[1]) if first else 0


def _sheet_id(sent: SentBatch) -> int:
    """Return the sheet ID of a batch, or -1 if the batch contains only fences."""
    for request in json.loads(sent.body)["requests"]:
        for change in request.values():
            place = change.get("range") or change.get("start") or change
            if "sheetId" in place:
                return int(place["sheetId"])
    return -1


def _effect(before: Version, row: int, now: Texts) -> Effect:
    """Return the effect of a batch on a row, with the number in its mark."""
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
    """Return the cells by field name, or by column if the field has no name."""
    return {
        (header[at] if at < len(header) else "") or f"column {at + 1}": text
        for at, text in enumerate(cells)
        if text and not (at < len(header) and header[at] in FILLED_DOWN)
    }
