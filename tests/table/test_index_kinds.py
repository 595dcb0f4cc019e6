"""Tests of kinds and sort keys of cells, from displayed texts and typed values."""

from collections.abc import Sequence

import pytest

from gateway.table.cells import (
    BOOLEAN,
    CLOCK,
    DATE,
    EMPTY,
    ERROR,
    FILLED,
    NUMBER,
    NUMERAL,
    TEXT,
)
from gateway.table.index import ColumnIndex, Keys
from gateway.table.steps import BLOCK, finish

DAY = 86_400_000
KINDS = (EMPTY, *FILLED)


def keys_of(displayed: Sequence[object], typed: Sequence[object]) -> Keys:
    return finish(ColumnIndex(displayed, typed, max(1, len(displayed))).keys())


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        pytest.param("", None, EMPTY, id="no value"),
        pytest.param("", "", EMPTY, id="formula that gives nothing"),
        pytest.param("1,250", 1250, NUMBER, id="number"),
        pytest.param("0", 0, NUMBER, id="zero"),
        pytest.param("", 0, NUMBER, id="number that is not shown"),
        pytest.param("", 0.5, NUMBER, id="fraction that is not shown"),
        pytest.param("FALSE", False, BOOLEAN, id="false is no number"),
        pytest.param("TRUE", True, BOOLEAN, id="true"),
        pytest.param("TRUE", "TRUE", TEXT, id="text TRUE"),
        pytest.param("5", "5", NUMERAL, id="text that is a number"),
        pytest.param("007", "007", TEXT, id="text that is none"),
        pytest.param(" ", " ", TEXT, id="a blank is text"),
        pytest.param("", "hidden", TEXT, id="text that is not shown"),
        pytest.param("#N/A", "#N/A (Did not find it.)", ERROR, id="error value"),
        pytest.param("1 Feb", 46_054, DATE, id="date"),
        pytest.param("9:00 PM", 0.875, CLOCK, id="time"),
        pytest.param("late", None, TEXT, id="cell that was typed in between"),
        pytest.param("5", None, NUMERAL, id="number that was typed in between"),
    ],
)
@pytest.mark.parametrize(
    "below", [[], [("x", "x")], [("1", 1)], [("1", 1), ("TRUE", True)]], ids=len
)
def test_cells_have_a_kind(
    text: str, value: object, kind: int, below: list[tuple[str, object]]
) -> None:
    """The kind of a cell depends on its own text and value, not on other cells of the column."""
    cells = [("header", "header"), (text, value), *below]

    found = keys_of([text for text, _ in cells], [value for _, value in cells])

    assert found.kinds[:2] == bytes([EMPTY, kind])
    assert 1 in finish(found.places(kind))
    assert found.counts[kind]
    keys = {TEXT: text, ERROR: text, NUMERAL: 5.0, DATE: 46_054 * DAY, CLOCK: DAY * 7 // 8}
    assert found.keys[1] == keys.get(kind, value)


def test_a_header_has_no_kind() -> None:
    """The index of a column does not include the header cell."""
    found = keys_of(["5", "x", ""], ["5", "x", ""])

    places = {kind: list(finish(found.places(kind))) for kind in KINDS}
    assert places == {key: [] for key in KINDS} | {EMPTY: [2], TEXT: [1]}


@pytest.mark.parametrize("length", [0, 1])
def test_a_column_without_cells_has_no_kinds(length: int) -> None:
    """The index of a column without cells below its header is empty."""
    found = keys_of(["h"] * length, ["h"] * length)

    assert not any(found.counts[kind] for kind in KINDS)
    assert not any(finish(found.places(kind)) for kind in KINDS)


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param(("n", *range(2 * BLOCK)), id="numbers"),
        pytest.param(("n", *[1, "x", True, None, "", 0.5] * BLOCK), id="mixed"),
    ],
)
def test_keys_that_are_the_typed_values_take_no_memory(typed: Sequence[object]) -> None:
    """If the sort keys equal the typed values, the index uses the same object without a copy."""
    displayed = ["" if value is None else str(value) for value in typed]

    assert keys_of(displayed, typed).keys is typed
