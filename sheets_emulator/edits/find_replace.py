"""batchUpdate: findReplace.

Rules:
- A value is searched in its displayed text, and a formula in its source text. The result is parsed
  as if a person typed it.
- `occurrencesChanged` counts every match, even if the replacement is identical.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from re import Match

from sheets_emulator.edits.search_pattern import Search, expanded, literal_search, regex_search
from sheets_emulator.formulas.display import displayed
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, Cell, is_blank, whole
from sheets_emulator.grid.entered import typed
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import CELL_TOO_LONG, invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Editing, read_area, require_sheet
from sheets_emulator.resources.places import require_unprotected

SCOPES = ("range", "sheetId", "allSheets")
FLAGS = ("matchCase", "matchEntireCell", "searchByRegex", "includeFormulas")
MAX_STEPS = 10**9  # maximum steps of all searches of a request, in the worst case

Place = tuple[Sheet, int, int]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A parsed findReplace request.

    `is_entire`: the whole cell must match. `has_formulas`: formulas are searched, too.
    """

    search: Search
    replacement: Callable[[Match[str]], str]
    is_entire: bool
    has_formulas: bool

    def replaced(self, text: str) -> tuple[str, int]:
        """Replace all matches in a text. Returns the new text and the number of matches.

        Raises a 400 if the new text is too long.
        """
        parts, length, end, count = [], 0, 0, 0
        for match in self._matches(text):
            part = text[end : match.start()] + self.replacement(match)
            parts.append(part)
            length, end, count = length + len(part), match.end(), count + 1
            if length > MAX_TEXT_LENGTH:
                raise invalid(CELL_TOO_LONG)
        result = "".join(parts) + text[end:]
        if len(result) > MAX_TEXT_LENGTH:
            raise invalid(CELL_TOO_LONG)
        return result, count

    def _matches(self, text: str) -> Iterator[Match[str]]:
        if not self.is_entire:
            return self.search.pattern.finditer(text)
        match = self.search.pattern.fullmatch(text)
        return iter([match] if match else [])


@dataclass(kw_only=True)
class Counts:
    """Counts of a findReplace. `rows` are the changed rows as (sheet ID, row index)."""

    values: int = 0
    formulas: int = 0
    occurrences: int = 0
    rows: set[tuple[int, int]] = field(default_factory=set)

    def reply(self) -> Mapping[str, int]:
        """Return the FindReplaceResponse, without counts of zero."""
        counts = {
            "valuesChanged": self.values,
            "formulasChanged": self.formulas,
            "rowsChanged": len(self.rows),
            "sheetsChanged": len({sheet_id for sheet_id, _ in self.rows}),
            "occurrencesChanged": self.occurrences,
        }
        return {name: count for name, count in counts.items() if count}


def find_replace(editing: Editing, message: Message) -> Reply:
    """findReplace: replace texts in a range, a worksheet or all worksheets."""
    wanted = _read_wanted(message)
    boxes = _boxes(editing, message)
    found = _changes(Results(editing.workbook), boxes, wanted)
    counts = Counts()
    for (sheet, row, column), text, count in found:
        cell = sheet.cell(row, column)
        require_unprotected(sheet, sized(top=row, left=column, height=1, width=1), editing.account)
        sheet.write(row, column, [_entered(cell, text)])
        counts.occurrences += count
        counts.rows.add((sheet.sheet_id, row))
        if cell.formula is None:
            counts.values += 1
        else:
            counts.formulas += 1
    return {"findReplace": counts.reply()}


def _read_wanted(message: Message) -> Wanted:
    find, replacement = message.text("find"), message.text("replacement")
    flags = {name: message.flag(name) for name in FLAGS}
    if not find:
        raise invalid("The value to find must not be empty.")
    is_regex = flags["searchByRegex"]
    search = regex_search if is_regex else literal_search
    return Wanted(
        search=search(find, is_case_matched=flags["matchCase"]),
        replacement=(lambda match: expanded(replacement, match))
        if is_regex
        else lambda _: replacement,
        is_entire=flags["matchEntireCell"],
        has_formulas=flags["includeFormulas"],
    )


def _boxes(editing: Editing, message: Message) -> list[tuple[Sheet, Box]]:
    scopes = [name for name in SCOPES if message.has(name)]
    if len(scopes) != 1:
        raise invalid("Exactly one of 'range', 'sheetId' and 'allSheets' must be set.")
    if scopes == ["range"]:
        area = read_area(editing.workbook, message.message("range"))
        return [(area.sheet, area.box)]
    if scopes == ["sheetId"]:
        sheet = require_sheet(editing.workbook, message.integer("sheetId"))
        return [(sheet, sheet.grid)]
    if not message.flag("allSheets"):
        raise invalid("'allSheets' must be true.")
    return [(sheet, sheet.grid) for sheet in editing.workbook.sheets]


def _changes(
    results: Results, boxes: list[tuple[Sheet, Box]], wanted: Wanted
) -> list[tuple[Place, str, int]]:
    """Return each cell with matches, its new text and its number of matches."""
    found = []
    steps = 0
    for place, text in _texts(results, boxes, has_formulas=wanted.has_formulas):
        steps += wanted.search.cost(len(text))
        if steps > MAX_STEPS:
            raise unimplemented("a search that can take so many steps")
        new, count = wanted.replaced(text)
        if count:
            found.append((place, new, count))
    return found


def _texts(
    results: Results, boxes: list[tuple[Sheet, Box]], *, has_formulas: bool
) -> Iterator[tuple[Place, str]]:
    for sheet, box in boxes:
        for row, contents in enumerate(sheet.read(box), start=box.top):
            for column, content in enumerate(contents, start=box.left):
                cell = whole(content)
                if is_blank(content) or cell.spill is not None:
                    continue
                formula = cell.formula
                if formula is None:
                    yield (sheet, row, column), displayed(results.of(sheet, row, column))
                elif has_formulas:
                    yield (sheet, row, column), formula


def _entered(old: Cell, text: str) -> Cell:
    """Return the cell for a new text. A formula stays a formula if the new text is a formula."""
    return Cell(formula=text) if old.formula is not None and text.startswith("=") else typed(text)
