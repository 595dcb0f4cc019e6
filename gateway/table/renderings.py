"""Typed beside displayed rendering: shared cells, and signs of different states.

Rules: text and empty cells are the same in both renderings, but for what explains an error; where
one differs, the sheet changed between the two reads. What is the same is kept once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gateway.table.steps import BLOCK, Work

Column = Sequence[object]
"""The cells of one column from row 1 down; blank cells at its end are left out."""

_PIECE = 16_384
"""Cells that one call of C compares at most."""

_COMPARISON_STEPS = 1 / 2
_SHARING_STEPS = 3
"""Steps of a cell."""

_NO_TEXT = frozenset({int, float, bool})


@dataclass(frozen=True)
class Pairing:
    """The typed columns, sharing what they have in common with the displayed ones."""

    typed: tuple[Column, ...]
    is_torn: bool
    """Whether the typed rendering was read from another state of the worksheet."""


def pair(displayed: Sequence[Column], typed: Sequence[Column]) -> Work[Pairing]:
    """Lay the typed rendering beside the displayed one."""
    nothing: Column = ()
    columns: list[Column] = []
    is_torn = False
    for values, texts in zip_longest(typed, displayed, fillvalue=nothing):
        if (yield from _is_equal(values, texts)):
            columns.append(texts)
        elif (yield from _is_without_text(values, texts)):
            columns.append(values)
        else:
            columns.append((yield from _shared(values, texts)))
            is_torn = is_torn or not (yield from _is_of_one_moment(columns[-1], texts))
    return Pairing(tuple(columns[: len(typed)]), is_torn)


def _is_equal(values: Column, texts: Column) -> Work[bool]:
    if len(values) != len(texts):
        return False
    for start in range(0, len(texts), _PIECE):
        yield int(_PIECE * _COMPARISON_STEPS)
        if values[start : start + _PIECE] != texts[start : start + _PIECE]:
            return False
    return True


def _is_without_text(values: Column, texts: Column) -> Work[bool]:
    """Whether the header is the same and everything below is a number or a boolean."""
    if len(values) != len(texts) or values[:1] != texts[:1]:
        return False
    for start in range(1, len(values), _PIECE):
        yield int(_PIECE * _COMPARISON_STEPS)
        if not _NO_TEXT.issuperset(map(type, values[start : start + _PIECE])):
            return False
    return True


def _shared(values: Column, texts: Column) -> Work[Column]:
    """The values, each that is displayed as it is replaced by the displayed text."""
    same: list[object] = []
    for start in range(0, min(len(values), len(texts)), BLOCK):
        yield BLOCK
        pairs = zip(values[start : start + BLOCK], texts[start : start + BLOCK], strict=False)
        same += [text if value == text else value for value, text in pairs]
    return (*same, *values[len(same) :])


def _is_of_one_moment(values: Column, texts: Column) -> Work[bool]:
    for start in range(0, max(len(values), len(texts)), BLOCK):
        yield _SHARING_STEPS * BLOCK
        pairs = zip_longest(values[start : start + BLOCK], texts[start : start + BLOCK])
        if not all(map(_is_of_one_state, pairs)):
            return False
    return True


def _is_of_one_state(pair: tuple[object, object]) -> bool:
    value, text = pair
    return value is text or not isinstance(value, str | None) or _is_same(value or "", text or "")


def _is_same(typed: str, shown: object) -> bool:
    """Whether a typed text is what the cell displays: `#N/A (Did not find …)` displays `#N/A`."""
    if typed == shown:
        return True
    return typed.startswith("#") and typed.partition(" (")[0] == shown
