"""Displayed and typed rendering of a worksheet: equal cells shared, different states detected.

Rules: text and empty cells are equal in both renderings, except for the explanation of an error. If
another one differs, the sheet changed between the two reads. Equal texts are one object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gateway.table.steps import BLOCK, Work

Column = Sequence[object]
"""The cells of one column from row 1 down; blank cells at its end are left out."""

_PIECE = 16_384
"""Maximum number of cells in one C call of a comparison."""

_COMPARISON_STEPS = 1 / 2
_SHARING_STEPS = 3
"""Steps per cell."""

_NOT_TEXT = frozenset({int, float, bool})


@dataclass(frozen=True)
class TypedColumns:
    """The typed columns, which share equal cells with the displayed ones."""

    columns: tuple[Column, ...]
    is_mixed: bool
    """True if the typed rendering was read from another state of the worksheet."""


def share_cells(displayed: Sequence[Column], typed: Sequence[Column]) -> Work[TypedColumns]:
    """Replace typed cells by equal displayed ones."""
    nothing: Column = ()
    columns: list[Column] = []
    is_mixed = False
    for values, texts in zip_longest(typed, displayed, fillvalue=nothing):
        if (yield from _is_equal(values, texts)):
            columns.append(texts)
        elif (yield from _is_without_text(values, texts)):
            columns.append(values)
        else:
            columns.append((yield from _with_shared_texts(values, texts)))
            is_mixed = is_mixed or not (yield from _is_consistent(columns[-1], texts))
    return TypedColumns(tuple(columns[: len(typed)]), is_mixed)


def _is_equal(values: Column, texts: Column) -> Work[bool]:
    if len(values) != len(texts):
        return False
    for start in range(0, len(texts), _PIECE):
        yield int(_PIECE * _COMPARISON_STEPS)
        if values[start : start + _PIECE] != texts[start : start + _PIECE]:
            return False
    return True


def _is_without_text(values: Column, texts: Column) -> Work[bool]:
    """True if the header is equal and all cells below it are numbers or booleans."""
    if len(values) != len(texts) or values[:1] != texts[:1]:
        return False
    for start in range(1, len(values), _PIECE):
        yield int(_PIECE * _COMPARISON_STEPS)
        if not _NOT_TEXT.issuperset(map(type, values[start : start + _PIECE])):
            return False
    return True


def _with_shared_texts(values: Column, texts: Column) -> Work[Column]:
    """The values, each replaced by its displayed text if equal."""
    same: list[object] = []
    for start in range(0, min(len(values), len(texts)), BLOCK):
        yield BLOCK
        pairs = zip(values[start : start + BLOCK], texts[start : start + BLOCK], strict=False)
        same += [text if value == text else value for value, text in pairs]
    return (*same, *values[len(same) :])


def _is_consistent(values: Column, texts: Column) -> Work[bool]:
    for start in range(0, max(len(values), len(texts)), BLOCK):
        yield _SHARING_STEPS * BLOCK
        pairs = zip_longest(values[start : start + BLOCK], texts[start : start + BLOCK])
        if not all(map(_is_consistent_cell, pairs)):
            return False
    return True


def _is_consistent_cell(pair: tuple[object, object]) -> bool:
    value, text = pair
    return (
        value is text
        or not isinstance(value, str | None)
        or _is_displayed_as(value or "", text or "")
    )


def _is_displayed_as(typed: str, shown: object) -> bool:
    """True if a typed text is displayed as `shown`: `#N/A (Did not find …)` as `#N/A`."""
    if typed == shown:
        return True
    return typed.startswith("#") and typed.partition(" (")[0] == shown
