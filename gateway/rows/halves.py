"""The typed half of a worksheet beside its displayed half: what they share, what sets them apart.

Rules: text and empty cells are the same in both halves, but for what explains an error; where one
differs, the sheet changed between the two reads. What is the same is kept once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

Column = Sequence[object]
"""The cells of one column from row 1 down; blank cells at its end are left out."""

_PIECE = 65_536
"""Cells that one call of C compares at most, so that other threads get their turn."""

_NO_TEXT = frozenset({int, float, bool})


@dataclass(frozen=True)
class Pairing:
    """The typed columns, sharing what they have in common with the displayed ones."""

    typed: tuple[Column, ...]
    is_torn: bool
    """Whether the typed half was read from another state of the worksheet."""


def pair(displayed: Sequence[Column], typed: Sequence[Column]) -> Pairing:
    """Lay the typed half beside the displayed one."""
    nothing: Column = ()
    columns: list[Column] = []
    is_torn = False
    for values, texts in zip_longest(typed, displayed, fillvalue=nothing):
        if _is_equal(values, texts):
            columns.append(texts)
            continue
        is_without_text = len(values) == len(texts) and _is_without_text(values, texts)
        columns.append(values if is_without_text else _shared(values, texts))
        is_torn = is_torn or not (is_without_text or _is_of_one_moment(columns[-1], texts))
    return Pairing(tuple(columns[: len(typed)]), is_torn)


def _is_equal(values: Column, texts: Column) -> bool:
    if len(values) != len(texts):
        return False
    return all(
        values[start : start + _PIECE] == texts[start : start + _PIECE]
        for start in range(0, len(texts), _PIECE)
    )


def _is_without_text(values: Column, texts: Column) -> bool:
    """Whether the header is the same and everything below is a number or a boolean."""
    return values[:1] == texts[:1] and all(
        _NO_TEXT.issuperset(map(type, values[start : start + _PIECE]))
        for start in range(1, len(values), _PIECE)
    )


def _shared(values: Column, texts: Column) -> Column:
    """The values, each that is displayed as it is replaced by the displayed text."""
    same = [text if value == text else value for value, text in zip(values, texts, strict=False)]
    return (*same, *values[len(same) :])


def _is_of_one_moment(values: Column, texts: Column) -> bool:
    return all(
        value is text or not isinstance(value, str | None) or _is_same(value or "", text or "")
        for value, text in zip_longest(values, texts)
    )


def _is_same(typed: str, shown: object) -> bool:
    """Whether a typed text is what the cell displays: `#N/A (Did not find …)` displays `#N/A`."""
    if typed == shown:
        return True
    return typed.startswith("#") and typed.partition(" (")[0] == shown
