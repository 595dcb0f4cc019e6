"""Value input: stored as sent, or parsed as if a person typed it."""

from collections.abc import Callable, Sequence

from gateway.table.formula_text import typed_value
from gateway.table.record import Stored
from gateway.worksheets.access import Access

Input = Callable[[Access, Sequence[Stored]], list[Stored]]
"""Makes what is sent of the cells of a row."""


def raw(_: Access, row: Sequence[Stored]) -> list[Stored]:
    return list(row)


def user_entered(access: Access, row: Sequence[Stored]) -> list[Stored]:
    return [typed_value(value, may_write_formulas=access.formulas) for value in row]
