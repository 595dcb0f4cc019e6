"""Equality with any of several operands, prepared once, so that a cell is looked up in them."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from gateway.rows.cells import TOLERANCE_DAYS, Cell, is_date, plain_notation
from gateway.rows.query import Operand

_TRUTHS = {"TRUE": True, "FALSE": False}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Operands sorted by what they can equal."""

    takes_empty: bool
    texts: frozenset[str]
    text_numbers: frozenset[float | int]
    """The numbers that texts among the operands are: a number cell equals its plain notation."""
    numbers: frozenset[float | int]
    truths: frozenset[bool]
    serials: tuple[float, ...]
    """Serial dates, ascending."""

    def holds(self, cell: Cell) -> bool:
        """Whether the cell equals one of the operands."""
        if cell.is_empty:
            return self.takes_empty
        if cell.text in self.texts or truth(cell) in self.truths:
            return True
        if cell.number is None:
            return False
        return cell.number in self.numbers or (cell.is_native and self._holds_spelled(cell))

    def _holds_spelled(self, cell: Cell) -> bool:
        """Whether a number cell equals a text: its plain notation, or the moment of a date cell."""
        if cell.number is None:
            return False
        if cell.number in self.text_numbers and plain_notation(cell.number) in self.texts:
            return True
        return bool(self.serials) and is_date(cell) and self._is_near(cell.number)

    def _is_near(self, serial: float) -> bool:
        at = bisect_left(self.serials, serial - TOLERANCE_DAYS)
        return at < len(self.serials) and self.serials[at] <= serial + TOLERANCE_DAYS


def make_choice(operands: Iterable[Operand]) -> Choice:
    given = list(operands)
    texts = [each for each in given if isinstance(each.value, str) and each.value]
    truths = [each.value for each in given if isinstance(each.value, bool)]
    return Choice(
        takes_empty=any(each.value is None or each.value == "" for each in given),
        texts=frozenset(str(each.value) for each in texts),
        text_numbers=frozenset(each.number for each in texts if each.number is not None),
        numbers=frozenset(
            each.number
            for each in given
            if each.number is not None and not isinstance(each.value, str)
        ),
        truths=frozenset(truths),
        serials=tuple(sorted(each.serial for each in texts if each.serial is not None)),
    )


def truth(cell: Cell) -> bool | None:
    """What a boolean cell holds, or what the text TRUE or FALSE stands for."""
    return _TRUTHS.get(cell.text) if cell.is_text else cell.boolean
