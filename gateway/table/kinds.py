"""The kind of each cell of a column, in one byte."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType

from gateway.table.cells import may_be_number, number_in
from gateway.table.steps import BLOCK, Work, text_blocks

EMPTY = 0
TEXT = 1
NUMERAL = 2
"""Text that is a number."""
INTEGER = 3
"""A number of the sheet that Google writes without a fraction."""
DOUBLE = 4
"""Any other number of the sheet."""
BOOLEAN = 5

NUMBERS = frozenset({INTEGER, DOUBLE})
"""The kinds of cells that hold a number."""

_KINDS: Mapping[type, int] = {
    str: TEXT, NoneType: TEXT, int: INTEGER, float: DOUBLE, bool: BOOLEAN,
}  # fmt: skip
"""The kind for the type of a typed value; `_refine` finds empty cells and numerals in TEXT."""

_CHARACTERS_OF_STEP = 16
"""Characters of a text parsed as a number in one step."""


@dataclass(frozen=True)
class Kinds:
    """The kind of the cell at each place of a column; its header counts as empty."""

    codes: bytearray
    counts: Mapping[int, int]
    """The number of cells of each kind below the header."""
    numbers: Sequence[object]
    """The number at each place of a number or numeral; any object at other places."""

    def has(self, *kinds: int) -> bool:
        return any(self.counts.get(kind) for kind in kinds)

    def count(self, *kinds: int) -> int:
        return sum(self.counts.get(kind, 0) for kind in kinds)

    def places(self, *kinds: int) -> Work[Sequence[int]]:
        """The places of the cells of these kinds, ascending."""
        count, codes = self.count(*kinds), self.codes
        if count == 0:
            return ()
        if count == len(codes) - 1:
            return range(1, len(codes))
        found = array("I")
        for start in range(0, len(codes), BLOCK):
            piece = codes[start : start + BLOCK]
            yield len(piece)
            found.extend(
                [place for place, code in enumerate(piece, start) if place and code in kinds]
            )
        return found


def make_kinds(texts: Sequence[str], values: Sequence[object]) -> Work[Kinds]:
    """The kinds of a column from its displayed texts and typed values, both one for each row."""
    codes, counts = bytearray(), Counter[int]()
    numbers: list[object] = []
    for start in range(0, len(values), BLOCK):
        piece = values[start : start + BLOCK]
        yield len(piece)
        found = _codes(piece)
        numbers += piece
        if TEXT in found:
            for block, characters in text_blocks(texts, start, start + len(piece)):
                yield 2 * len(block) + characters // _CHARACTERS_OF_STEP
                for place, number in _refine(found, texts, piece, block, start):
                    numbers[place] = number
        if start == 0:
            found[0] = EMPTY
            counts[EMPTY] -= 1
        counts.update(found)
        codes += found
    return Kinds(codes, counts, tuple(numbers) if counts[NUMERAL] else values)


def _codes(values: Sequence[object]) -> bytearray:
    """The kinds according to the types of the values only."""
    types = set(map(type, values))
    if len(types) == 1:
        return bytearray([_KINDS[types.pop()]]) * len(values)
    return bytearray(map(_KINDS.__getitem__, map(type, values)))


def _refine(
    codes: bytearray, texts: Sequence[str], values: Sequence[object], block: range, start: int
) -> Sequence[tuple[int, float]]:
    """Mark the empty cells and the numerals among the text cells; returns the numerals' numbers.

    `codes` and `values` begin at the place `start`.
    """
    numerals: list[tuple[int, float]] = []
    for at, text in enumerate(texts[block.start : block.stop], block.start - start):
        if text == "":
            if values[at] is None or values[at] == "":
                codes[at] = EMPTY
        elif may_be_number(text) and codes[at] == TEXT:
            number = number_in(text)
            if number is not None:
                codes[at] = NUMERAL
                numerals.append((start + at, number))
    return numerals
