"""Value input: stored as sent, or parsed as if a person typed it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.table.cell_match import Compare, as_entered, as_stored
from gateway.table.formula_text import typed_value
from gateway.table.record import Stored
from gateway.worksheets.access import Access


@dataclass(frozen=True, kw_only=True)
class Input:
    """`prepare` makes what is sent of the cells of a row, `compare` knows it again when it is
    read; `keeps_values` if a cell holds what was sent to it."""

    prepare: Callable[[Access, Sequence[Stored]], list[Stored]]
    compare: Compare
    keeps_values: bool


def _typed(access: Access, row: Sequence[Stored]) -> list[Stored]:
    return [typed_value(value, may_write_formulas=access.formulas) for value in row]


RAW = Input(prepare=lambda _, row: list(row), compare=as_stored, keeps_values=True)
USER_ENTERED = Input(prepare=_typed, compare=as_entered, keeps_values=False)

INPUTS: Mapping[str, Input] = {"raw": RAW, "user_entered": USER_ENTERED}
"""By the setting `google.value_input`."""
