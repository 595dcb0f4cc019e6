"""What each cell of a column is, one byte a cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType

from gateway.rows.cells import may_be_number, number_in
from gateway.rows.ordered import PIECE

EMPTY = 0
TEXT = 1
NUMERAL = 2
"""Text that is a number."""
NUMBER = 3
"""What the sheet itself holds as a number."""
BOOLEAN = 4

_KINDS: Mapping[type, int] = {str: TEXT, NoneType: TEXT, int: NUMBER, float: NUMBER, bool: BOOLEAN}
"""By the type of the typed value; of the text cells, some turn out as something else."""


@dataclass(frozen=True)
class Kinds:
    """The kind of the cell at each place of a column; its header counts as empty."""

    codes: bytes
    numerals: Mapping[int, float]
    """The numbers that texts are, by place."""
    types: frozenset[type]
    """Of the typed values."""

    def has(self, kind: int) -> bool:
        return self.codes.find(kind, 1) > 0

    def places(self, *kinds: int) -> Sequence[int]:
        """The places of the cells of these kinds, ascending."""
        count = sum(self.codes.count(kind, 1) for kind in kinds)
        if count == 0:
            return ()
        if count == len(self.codes) - 1:
            return range(1, len(self.codes))
        return [place for place, code in enumerate(self.codes) if place and code in kinds]


def make_kinds(texts: Sequence[str], values: Sequence[object]) -> Kinds:
    """Of a column's displayed texts and typed values, both as long as the worksheet."""
    types = _types(values)
    codes = bytearray()
    if types <= {int, float}:
        codes += bytes([NUMBER]) * len(values)
    elif types <= {str}:
        codes += bytes([TEXT]) * len(values)
    else:
        for start in range(0, len(values), PIECE):
            codes += bytes(map(_KINDS.__getitem__, map(type, values[start : start + PIECE])))
    if codes:
        codes[0] = EMPTY
    numerals: dict[int, float] = {}
    if not types <= {int, float}:
        numerals = _numerals(texts, codes)
        for place in _blanks(texts, values):
            codes[place] = EMPTY
    for place in numerals:
        codes[place] = NUMERAL
    return Kinds(codes=bytes(codes), numerals=numerals, types=types)


def _types(values: Sequence[object]) -> frozenset[type]:
    """The types of all values but the header."""
    types: set[type] = set()
    for start in range(1, len(values), PIECE):
        types.update(map(type, values[start : start + PIECE]))
    return frozenset(types)


def _numerals(texts: Sequence[str], codes: bytearray) -> dict[int, float]:
    candidates = [place for place, text in enumerate(texts) if may_be_number(text)]
    numbers = ((place, number_in(texts[place])) for place in candidates if codes[place] == TEXT)
    return {place: number for place, number in numbers if number is not None}


def _blanks(texts: Sequence[str], values: Sequence[object]) -> list[int]:
    """Where nothing is displayed, and nothing held."""
    blanks: list[int] = []
    for start in range(0, len(texts), PIECE):
        piece = texts[start : start + PIECE]
        if "" in piece:
            blanks += [place for place, text in enumerate(piece, start) if not text]
    return [place for place in blanks if values[place] is None or values[place] == ""]
