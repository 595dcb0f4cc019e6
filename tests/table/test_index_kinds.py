"""Kinds of a column's cells by display and value."""

import pytest

from gateway.table.index import BOOLEAN, DOUBLE, EMPTY, INTEGER, NUMERAL, TEXT, make_kinds
from gateway.table.steps import finish

KINDS = (EMPTY, TEXT, NUMERAL, INTEGER, DOUBLE, BOOLEAN)


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        pytest.param("", None, EMPTY, id="no value"),
        pytest.param("", "", EMPTY, id="formula that gives nothing"),
        pytest.param("1,250", 1250, INTEGER, id="number"),
        pytest.param("0", 0, INTEGER, id="zero"),
        pytest.param("", 0, INTEGER, id="number that is not shown"),
        pytest.param("", 0.5, DOUBLE, id="fraction that is not shown"),
        pytest.param("FALSE", False, BOOLEAN, id="false is no number"),
        pytest.param("TRUE", True, BOOLEAN, id="true"),
        pytest.param("TRUE", "TRUE", TEXT, id="text TRUE"),
        pytest.param("5", "5", NUMERAL, id="text that is a number"),
        pytest.param("007", "007", TEXT, id="text that is none"),
        pytest.param(" ", " ", TEXT, id="a blank is text"),
        pytest.param("", "hidden", TEXT, id="text that is not shown"),
        pytest.param("#N/A", "#N/A (Did not find it.)", TEXT, id="error value"),
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
    """The typed value decides a cell's kind, independent of its column."""
    cells = [("header", "header"), (text, value), *below]

    kinds = finish(make_kinds([text for text, _ in cells], [value for _, value in cells]))

    assert kinds.codes[:2] == bytes([EMPTY, kind])
    assert 1 in finish(kinds.places(kind))
    assert kinds.has(kind)
    assert kinds.numbers[1] == (float(text) if kind == NUMERAL else value)


def test_a_header_has_no_kind() -> None:
    """The header is never among the cells."""
    kinds = finish(make_kinds(["5", "x", ""], ["5", "x", ""]))

    assert [list(finish(kinds.places(kind))) for kind in KINDS] == [
        *([2], [1], [], [], [], []),
    ]


@pytest.mark.parametrize("length", [0, 1])
def test_a_column_without_cells_has_no_kinds(length: int) -> None:
    """A blank worksheet and a header alone are no trouble."""
    kinds = finish(make_kinds(["h"] * length, ["h"] * length))

    assert not any(kinds.has(kind) for kind in KINDS)
    assert not any(finish(kinds.places(kind)) for kind in KINDS)
