"""Evaluation of a workbook's formulas.

Rules:
- Results belong to one version of a workbook, which must not change. Each cell is computed once, on
  demand.
- Evaluation does not recurse, so chains of references can be long. The computation of a cell is a
  generator that yields the cells it needs, and `Results` runs a stack of these generators.
- All cells of a cycle are `#REF!`.
- A range ends at the end of the grid. A range that starts past the grid is `#REF!` (assumed from
  the ranges of values.get).
- A reference to a blank cell is blank: `=A1` displays as "".
- IF has the value and number format of the chosen argument. An error in the other argument has no
  effect.
- An array formula is computed for each cell of its result. A range in the formula stands for the
  cell at the same distance from the range's start. A single row or column is repeated. Past the end
  of a range the value is #N/A.
- The result of an array formula does not replace other cells. If the result does not fit, the
  formula's cell is `#REF!` with a message that names the first cell in the way.
- The number format of a formula's cell takes precedence over the format of its operands.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from sheets_emulator.formulas.fold import FOLDS, Fold, Total
from sheets_emulator.formulas.formula import ARRAY_FORMULA, Area, Call, Step, parse
from sheets_emulator.formulas.operators import applied, truth_of
from sheets_emulator.formulas.result import (
    CIRCULAR,
    LOST,
    NOT_AS_LARGE,
    NOT_ONE_CELL,
    CellError,
    Evaluated,
    cell_error,
)
from sheets_emulator.formulas.totals import Place, Totals
from sheets_emulator.grid.box import Box, column_name
from sheets_emulator.grid.cell import Cell, Content, Spill, is_blank, whole
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook

ONE_CELL = Box(top=0, left=0, bottom=1, right=1)
NOT_EXPANDED = "Result was not automatically expanded, please insert more {name} ({missing})."
OVERWRITING = "Array result was not expanded because it would overwrite data in {cell}."


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """Cells of a worksheet that a formula refers to."""

    sheet: Sheet
    box: Box


Operand = Evaluated | Region
Run = Generator[Place, None, None]


class Results:
    """Values of the cells of a workbook. Formulas are computed on demand."""

    def __init__(self, workbook: Workbook) -> None:
        self.workbook = workbook
        self._sheets = {sheet.sheet_id: sheet for sheet in workbook.sheets}
        self._known: dict[Place, Evaluated] = {}
        self._totals = Totals(self._held)

    def of(self, sheet: Sheet, row: int, column: int) -> Evaluated:
        """Return the value and number format of a cell. Row and column count from 0."""
        content = sheet.content(row, column)
        if not isinstance(content, Cell):
            return Evaluated(value=content)
        if not content.is_computed:
            return Evaluated(value=content.effective_value, pattern=content.pattern)
        place = Place(sheet.sheet_id, row, column)
        if place not in self._known:
            self._compute(place)
        return self._known[place]

    def array_size(self, sheet: Sheet, row: int, column: int) -> tuple[int, int]:
        """Return height and width of the result of a cell's formula.

        An error has the size 1 x 1.
        """
        steps = parse(sheet.cell(row, column).formula or "")
        if isinstance(steps, CellError):
            return 1, 1
        size = self._array_size(steps, Place(sheet.sheet_id, row, column))
        return (1, 1) if isinstance(size, CellError) else size

    def _compute(self, place: Place) -> None:
        running = {place: self._run(place)}  # a stack: each entry waits for the next one
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
        """Compute and store the value of a cell. Yields the cells whose values are needed first."""
        sheet = self._sheets[place.sheet_id]
        cell = sheet.cell(place.row, place.column)
        spill = cell.spill or Spill(down=0, right=0)
        origin = sheet.cell(place.row - spill.down, place.column - spill.right)
        steps = parse(origin.formula or "")
        size = None
        if cell.spill is None and not isinstance(steps, CellError):
            size = self._array_size(steps, place)
        if isinstance(steps, CellError):
            result = Evaluated(value=steps)
        elif isinstance(size, CellError):
            result = Evaluated(value=size)
        else:
            result = yield from self._stepped(steps, sheet, spill)
        self._known[place] = Evaluated(value=result.value, pattern=cell.pattern or result.pattern)

    def _stepped(
        self, steps: Sequence[Step], sheet: Sheet, spill: Spill
    ) -> Generator[Place, None, Evaluated]:
        """Return the value of a formula's steps for one cell of the result.

        `spill` is the distance of this cell from the formula's cell.
        """
        at = spill if steps[-1] == ARRAY_FORMULA else None
        operands: list[Operand] = []
        for step in steps:
            if isinstance(step, Call):
                given = [operands.pop() for _ in range(step.count)][::-1]
                operands.append((yield from self._called(step.name, given, at)))
            else:
                operands.append(self._located(step, sheet) if isinstance(step, Area) else step)
        return (yield from self._single(operands[0], at))

    def _array_size(self, steps: Sequence[Step], place: Place) -> tuple[int, int] | CellError:
        """Return height and width of a formula's result, or an error if an array does not fit."""
        if steps[-1] != ARRAY_FORMULA:
            return 1, 1
        sheet = self._sheets[place.sheet_id]
        height, width = self._size(steps, sheet)
        return self._obstacle(sheet, place, height, width) or (height, width)

    def _size(self, steps: Sequence[Step], sheet: Sheet) -> tuple[int, int]:
        """Return height and width of an array formula's result."""
        sizes: list[tuple[int, int]] = []
        for step in steps:
            if isinstance(step, Call):
                heights, widths = zip(*(sizes.pop() for _ in range(step.count)), strict=True)
                sizes.append((1, 1) if step.name in FOLDS else (max(heights), max(widths)))
            else:
                operand = self._located(step, sheet) if isinstance(step, Area) else step
                box = operand.box if isinstance(operand, Region) else ONE_CELL
                sizes.append((box.height, box.width))
        return sizes[0]

    def _obstacle(self, sheet: Sheet, place: Place, height: int, width: int) -> CellError | None:
        """Return an error if the result of an array formula does not fit, otherwise None.

        The result must be within the grid and must not cover cells with data.
        """
        for missing, name in (
            (place.row + height - sheet.row_count, "rows"),
            (place.column + width - sheet.column_count, "columns"),
        ):
            if missing > 0:
                return cell_error("REF", NOT_EXPANDED.format(name=name, missing=missing))
        for row in range(place.row, min(place.row + height, len(sheet.rows))):
            for column in range(place.column, place.column + width):
                content = sheet.content(row, column)
                is_own = isinstance(content, Cell) and content.spill is not None
                if (row, column) != place[1:] and not is_own and not is_blank(content):
                    name = f"{column_name(column)}{row + 1}"
                    return cell_error("REF", OVERWRITING.format(cell=name))
        return None

    def _located(self, area: Area, own: Sheet) -> Operand:
        sheet = own if area.title is None else self.workbook.titled(area.title)
        if sheet is None:
            return Evaluated(value=cell_error("REF", f"Unresolved sheet name '{area.title}'."))
        if not sheet.holds(area.span):
            return Evaluated(value=LOST)
        return Region(sheet=sheet, box=sheet.clamped(area.span))

    def _called(
        self, name: str, operands: list[Operand], at: Spill | None
    ) -> Generator[Place, None, Evaluated]:
        fold = FOLDS.get(name)
        if fold is not None:
            return (yield from self._folded(fold, operands))
        if name == "IF":
            return (yield from self._chosen(operands, at))
        values = []
        for operand in operands:
            values.append((yield from self._single(operand, at)))
        return values[0] if name == ARRAY_FORMULA.name else applied(name, values)

    def _chosen(
        self, operands: list[Operand], at: Spill | None
    ) -> Generator[Place, None, Evaluated]:
        condition, *choices = operands
        truth = truth_of((yield from self._single(condition, at)).value)
        if isinstance(truth, CellError):
            return Evaluated(value=truth)
        if not truth and len(choices) == 1:
            return Evaluated(value=False)
        return (yield from self._single(choices[0 if truth else 1], at))

    def _single(self, operand: Operand, at: Spill | None) -> Generator[Place, None, Evaluated]:
        """Return the value of an operand that must be a single cell.

        In an array formula, `at` selects the cell of a range for one cell of the result.
        """
        if isinstance(operand, Evaluated):
            return operand
        sheet, box = operand.sheet, operand.box
        is_one = box.height == 1 and box.width == 1
        if at is None and not is_one:
            return Evaluated(value=NOT_ONE_CELL)
        down = at.down if at and box.height > 1 else 0
        right = at.right if at and box.width > 1 else 0
        if down >= box.height or right >= box.width:
            return Evaluated(value=NOT_AS_LARGE)
        place = Place(sheet.sheet_id, box.top + down, box.left + right)
        return (yield from self._held(place, sheet.content(place.row, place.column)))

    def _held(self, place: Place, content: Content) -> Generator[Place, None, Evaluated]:
        """Return the value of a cell. Yields the cell if its formula is not computed yet."""
        cell = whole(content)
        if not cell.is_computed:
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
        """Return the value and number format of one argument of SUM or CONCATENATE."""
        if isinstance(operand, Region):
            return (yield from self._totals.through(fold, operand.sheet, operand.box))
        value = operand.value
        if isinstance(value, CellError):
            return value, None
        return fold.coerce(value, operand.pattern, position), operand.pattern
