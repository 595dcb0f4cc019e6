"""STAND-IN until the formula engine is there."""

from collections.abc import Callable

Shift = Callable[[int, int | None], tuple[int, int | None] | None]


def shifted(formula: str, *, own_title: str, title: str, rows: Shift, columns: Shift) -> str:
    return formula


def translated(formula: str, down: int, right: int) -> str:
    return formula


def renamed(formula: str, old_title: str, new_title: str) -> str:
    return formula


def without_sheet(formula: str, title: str) -> str:
    return formula
