"""STAND-IN until the formula engine is there."""

from dataclasses import dataclass

from gateway.emulator.cell import CellValue
from gateway.emulator.sheet import Sheet
from gateway.emulator.workbook import Workbook


@dataclass(frozen=True, kw_only=True)
class CellError:
    text: str
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    value: CellValue | CellError
    pattern: str | None = None


class Results:
    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook

    def of(self, sheet: Sheet, row: int, column: int) -> Evaluated:
        cell = sheet.cell(row, column)
        if cell.formula is not None:
            return Evaluated(value=CellError(text="#NAME?", kind="NAME", message="#NAME?"))
        return Evaluated(value=cell.value, pattern=cell.pattern)
