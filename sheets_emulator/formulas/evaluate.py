"""Evaluation of a workbook's formulas.

Rules:
- Results belong to one version of a workbook, which must not change. A cell is computed once, on
  demand.
- Evaluation does not recurse, so chains of references may be long: a computation is a generator
  that yields the cells it waits for, and `Results` runs a stack of them.
- All cells of a cycle are `#REF!`.
- A range is cut at the end of the grid; one that starts past it is `#REF!` (an assumption from the
  ranges of values.get).
- A reference to a blank cell is blank: `=A1` displays as "".
- The number format of a formula's cell takes precedence over its operands' format.
"""

from collections.abc import Generator
from dataclasses import dataclass

from sheets_emulator.formulas.fold import FOLDS, Fold, Total
from sheets_emulator.formulas.formula import Area, Call, parse
from sheets_emulator.formulas.operators import applied
from sheets_emulator.formulas.result import (
    CIRCULAR,
    LOST,
    NOT_ONE_CELL,
    CellError,
    Evaluated,
    cell_error,
)
from sheets_emulator.formulas.totals import Place, Totals
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import Cell, Content, whole
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """The cells of a reference."""

    sheet: Sheet
    box: Box


Operand = Evaluated | Region
Run = Generator[Place, None, None]


class Results:
    """The values of all cells of a workbook, with formulas computed."""

    def __init__(self, workbook: Workbook) -> None:
        self.workbook = workbook
        self._sheets = {sheet.sheet_id: sheet for sheet in workbook.sheets}
        self._known: dict[Place, Evaluated] = {}
        self._totals = Totals(self._held)

    def of(self, sheet: Sheet, row: int, column: int) -> Evaluated:
        """The value of a cell, and its number format."""
        content = sheet.content(row, column)
        if not isinstance(content, Cell):
            return Evaluated(value=content)
        if content.formula is None:
            return Evaluated(value=content.effective_value, pattern=content.pattern)
        place = Place(sheet.sheet_id, row, column)
        if place not in self._known:
            self._compute(place)
        return self._known[place]

    def _compute(self, place: Place) -> None:
        running = {place: self._run(place)}  # a stack: each computation waits for the one after it
        while running:
            needed = next(running[next(reversed(running))], None)
            if needed is None:
                running.popitem()
            elif needed in running:
                while needed in running:
                    self._known[running.popitem()[0]] = Evaluated(value=CIRCULAR)
            else:
                running[needed] = self._run(needed)

    def _run(self, place: Place) -> Run:
        """Compute the formula at a place; yields the places that it needs."""
        sheet = self._sheets[place.sheet_id]
        cell = sheet.cell(place.row, place.column)
        steps = parse(cell.formula or "")
        if isinstance(steps, CellError):
            self._known[place] = Evaluated(value=steps, pattern=cell.pattern)
            return
        operands: list[Operand] = []
        for step in steps:
            if isinstance(step, Call):
                given = [operands.pop() for _ in range(step.count)][::-1]
                operands.append((yield from self._called(step.name, given)))
            else:
                operands.append(self._located(step, sheet) if isinstance(step, Area) else step)
        result = yield from self._single(operands[0])
        self._known[place] = Evaluated(value=result.value, pattern=cell.pattern or result.pattern)

    def _located(self, area: Area, own: Sheet) -> Operand:
        sheet = own if area.title is None else self.workbook.titled(area.title)
        if sheet is None:
            return Evaluated(value=cell_error("REF", f"Unresolved sheet name '{area.title}'."))
        if not sheet.holds(area.span):
            return Evaluated(value=LOST)
        return Region(sheet=sheet, box=sheet.clamped(area.span))

    def _called(self, name: str, operands: list[Operand]) -> Generator[Place, None, Evaluated]:
        fold = FOLDS.get(name)
        if fold is not None:
            return (yield from self._folded(fold, operands))
        values = []
        for operand in operands:
            values.append((yield from self._single(operand)))
        return applied(name, values)

    def _single(self, operand: Operand) -> Generator[Place, None, Evaluated]:
        """The value of an operand that must be a single cell."""
        if isinstance(operand, Evaluated):
            return operand
        sheet, box = operand.sheet, operand.box
        if box.height != 1 or box.width != 1:
            return Evaluated(value=NOT_ONE_CELL)
        place = Place(sheet.sheet_id, box.top, box.left)
        return (yield from self._held(place, sheet.content(box.top, box.left)))

    def _held(self, place: Place, content: Content) -> Generator[Place, None, Evaluated]:
        """The value of a cell with this content."""
        cell = whole(content)
        if cell.formula is None:
            return Evaluated(value=cell.effective_value, pattern=cell.pattern)
        if place not in self._known:
            yield place
        return self._known[place]

    def _folded(self, fold: Fold, operands: list[Operand]) -> Generator[Place, None, Evaluated]:
        total, pattern = fold.start, None
        for position, operand in enumerate(operands, start=1):
            part, found = yield from self._argument(fold, operand, position)
            joined = part if isinstance(part, CellError) else fold.join(total, [part])
            if isinstance(joined, CellError):
                return Evaluated(value=joined)
            total, pattern = joined, pattern or found
        return Evaluated(value=total, pattern=pattern if fold.keeps_pattern else None)

    def _argument(
        self, fold: Fold, operand: Operand, position: int
    ) -> Generator[Place, None, tuple[Total, str | None]]:
        """The value of one argument of a fold, and its number format."""
        if isinstance(operand, Region):
            return (yield from self._totals.through(fold, operand.sheet, operand.box))
        value = operand.value
        if isinstance(value, CellError):
            return value, None
        return fold.coerce(value, operand.pattern, position), operand.pattern
