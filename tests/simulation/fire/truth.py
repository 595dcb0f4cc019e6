"""What was done to the worksheets, noted whenever the emulator keeps a changed spreadsheet.

Rules
- A change that brings a new fence is the gateway's, any other is a person's. So late effects count
  as well, and what people do to rows later changes nothing.
- Rows are known by the number in "id:17", which people never change; columns by the header of that
  moment. Of an update the text is "note:" and a number from `FIRST_UPDATE` on.
- A worksheet is known by its first title, here its tab. An effect has the title of its moment.
- A spreadsheet in the store is never modified: the gateway's batches change rows where they are.
"""

import re
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_, itemgetter

from sheets_emulator.app import Emulator
from sheets_emulator.grid.cell import whole
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook
from tests.simulation.fire.ledger import Change, Effect, Fields

NUMBER = re.compile(r"id:(\d+)")
UPDATE = re.compile(r"note:(\d+)")
FIRST_UPDATE = 3_000_000_000

Note = Callable[[Workbook, Workbook, float], None]
"""Takes in a spreadsheet before and after a change, and the moment of the change."""


@dataclass(frozen=True, kw_only=True)
class Stay:
    """The rows that have a number from a moment on."""

    since: float
    rows: frozenset[int]


@dataclass(kw_only=True)
class Truth:
    """Everything that took effect in one spreadsheet."""

    effects: list[Effect] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    """Cells that were not blank when a batch of the gateway changed them."""
    displaced: list[str] = field(default_factory=list)
    """Rows that a batch of the gateway moved."""
    versions: dict[str, list[tuple[float, Sheet]]] = field(default_factory=dict)
    """The worksheets by tab, each since a moment."""
    stays: dict[tuple[str, int], list[Stay]] = field(default_factory=lambda: defaultdict(list))
    """Where the rows of a number were, by tab and number."""
    tabs: dict[int, str] = field(default_factory=dict)
    """By sheet id."""
    renamings: int = 0
    edits: int = 0
    """Of people."""
    batches: int = 0
    removed: Counter[int] = field(default_factory=Counter)
    """Rows that people deleted, by number."""
    workbook: Workbook | None = None
    """As it is now."""

    def watch(self, emulator: Emulator, spreadsheet: str) -> None:
        """Note from now on what the emulator does to a spreadsheet."""
        self.workbook = follow(emulator, spreadsheet, self.note)
        self.tabs = {sheet.sheet_id: sheet.title for sheet in self.workbook.sheets}
        self.versions = {sheet.title: [(0.0, sheet)] for sheet in self.workbook.sheets}

    def note(self, before: Workbook, after: Workbook, moment: float) -> None:
        """Note a change of the spreadsheet."""
        is_ours = bool(set(after.metadata) - set(before.metadata))
        self.workbook = after
        self.batches += is_ours
        self.edits += not is_ours
        self.renamings += {each.sheet_id: each.title for each in before.sheets} != {
            each.sheet_id: each.title for each in after.sheets
        }
        for old, sheet in changed_sheets(before, after):
            self.versions.setdefault(self._tab(sheet), []).append((moment, sheet))
            if is_ours:
                self._note_batch(old, sheet, moment)
            self._note_stays(old, sheet, moment, is_ours=is_ours)

    def rows_between(self, worksheet: str, number: int, since: float, until: float) -> set[int]:
        """The rows that had a number at any moment between two; in any tab if some were renamed."""
        tabs = self.tabs.values() if self.renamings else [worksheet]
        return {
            row
            for tab in tabs
            for stays in [self.stays.get((tab, number), [])]
            for stay, end in zip(
                stays, [*(each.since for each in stays[1:]), float("inf")], strict=False
            )
            if stay.since <= until and end >= since
            for row in stay.rows
        }

    def contents_between(
        self, worksheet: str, row: int, since: float, until: float
    ) -> Sequence[Fields]:
        """What a row held at any moment between two, by the header of each moment."""
        versions = self.versions[worksheet]
        first = bisect_right(versions, since, key=itemgetter(0)) - 1
        end = bisect_right(versions, until, key=itemgetter(0))
        return [fields_in(sheet, row) for _, sheet in versions[max(first, 0) : end]]

    def numbers(self) -> Counter[int]:
        """The numbers that the worksheets should have now."""
        found = Counter[int]()
        for (_, number), stays in self.stays.items():
            found[number] += len(stays[-1].rows)
        return +found

    def _note_batch(self, old: Sheet, sheet: Sheet, moment: float) -> None:
        header = _texts(sheet.rows[0])
        used = [row for row, cells in enumerate(old.rows, start=1) if any(_texts(cells))]
        last = used[-1] if used else 0
        for row, was, cells in _changed(old.rows, sheet.rows):
            if not any(was) and _numbers(cells):
                self.effects += self._created(sheet.title, header, row, cells, moment, last)
                continue
            for column, (text, new) in enumerate(_paired(was, cells)):
                if text == new:
                    continue
                update = UPDATE.fullmatch(new)
                if update and int(update[1]) >= FIRST_UPDATE and _name(header, column) == "note":
                    number = int(update[1])
                    change = Change(
                        at=moment,
                        worksheet=sheet.title,
                        tab=self._tab(sheet),
                        number=number,
                        row=row,
                        before=_fields(header, was),
                    )
                    self.changes.append(change)
                else:
                    self.overwritten.append(f"{sheet.title} row {row}: {text!r} became {new!r}")

    def _tab(self, sheet: Sheet) -> str:
        return self.tabs.get(sheet.sheet_id, sheet.title)

    def _created(
        self,
        worksheet: str,
        header: Sequence[str],
        row: int,
        cells: Sequence[str],
        moment: float,
        last: int,
    ) -> list[Effect]:
        return [
            Effect(
                at=moment,
                batch=self.batches,
                worksheet=worksheet,
                number=number,
                row=row,
                fields=_fields(header, cells),
                complaint=f"created above row {last}" if row < last else "",
            )
            for number in _numbers(cells)
        ]

    def _note_stays(self, old: Sheet, sheet: Sheet, moment: float, *, is_ours: bool) -> None:
        before, after = Counter[int](), Counter[int]()
        for _, was, cells in _changed(old.rows, sheet.rows):
            before.update(_numbers(was))
            after.update(_numbers(cells))
        touched = before.keys() | after.keys()
        if not is_ours:
            self.removed.update(before - after)
        if not touched:
            return
        rows = rows_of(sheet, touched)
        for number in touched:
            stay = Stay(since=moment, rows=frozenset(rows.get(number, ())))
            stays = self.stays[self._tab(sheet), number]
            if is_ours and stays and not stays[-1].rows <= stay.rows:
                moved = f"{sheet.title}: {number} from {[*stays[-1].rows]} to {[*stay.rows]}"
                self.displaced.append(moved)
            stays.append(stay)


def follow(emulator: Emulator, spreadsheet: str, note: Note) -> Workbook:
    """Call `note` whenever the emulator keeps a changed spreadsheet; the spreadsheet as it is."""
    store = emulator.service.store
    keep = store.keep

    def kept(draft: Workbook) -> None:
        before = store.workbooks.get(draft.spreadsheet_id)
        keep(draft)
        if draft.spreadsheet_id == spreadsheet and before is not None:
            note(before, draft, time.monotonic())

    store.keep = kept  # type: ignore[method-assign]
    return store.workbooks[spreadsheet]


def changed_sheets(before: Workbook, after: Workbook) -> Iterator[tuple[Sheet, Sheet]]:
    """The worksheets of which a row is another object, before and after."""
    for sheet in after.sheets:
        old = before.numbered(sheet.sheet_id)
        if old is not None and not (
            len(old.rows) == len(sheet.rows) and all(map(is_, old.rows, sheet.rows))
        ):
            yield old, sheet


def rows_of(sheet: Sheet, wanted: Collection[int] | None = None) -> Mapping[int, list[int]]:
    """The rows of a worksheet by their numbers."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, cells in enumerate(sheet.rows, start=1):
        for number in _numbers(_texts(cells)):
            if wanted is None or number in wanted:
                rows[number].append(row)
    return rows


def fields_in(sheet: Sheet, row: int) -> Fields:
    """The cells of a row that are not blank, by the header."""
    header, *others = [sheet.rows[0], *sheet.rows[row - 1 : row]]
    return _fields(_texts(header), _texts(others[0]) if others else ())


def texts_of(sheet: Sheet) -> list[list[str]]:
    """The cells of a worksheet as texts."""
    return [_texts(cells) for cells in sheet.rows]


def _changed(
    old: Sequence[Row], new: Sequence[Row]
) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
    """The rows that are not the same any more, by position, before and after."""
    for index in range(max(len(old), len(new))):
        was = old[index] if index < len(old) else ()
        cells = new[index] if index < len(new) else ()
        if was is not cells:
            yield index + 1, _texts(was), _texts(cells)


def _texts(cells: Row) -> list[str]:
    return ["" if (value := whole(cell).value) is None else str(value) for cell in cells]


def _numbers(cells: Sequence[str]) -> list[int]:
    return [int(found[1]) for text in cells if (found := NUMBER.match(text))]


def _paired(was: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    for column in range(max(len(was), len(cells))):
        yield (
            was[column] if column < len(was) else "",
            cells[column] if column < len(cells) else "",
        )


def _fields(header: Sequence[str], cells: Sequence[str]) -> Fields:
    return tuple(sorted((_name(header, at), text) for at, text in enumerate(cells) if text))


def _name(header: Sequence[str], column: int) -> str:
    return header[column] if column < len(header) else ""
