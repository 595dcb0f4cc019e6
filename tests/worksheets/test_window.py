"""A cached window after writes, and compared with other reads of the same rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from gateway.table.header import parse_header
from gateway.table.table import RowPatch, make_table
from gateway.worksheets.snapshot import Effect, RowSpan, Window

HEADER = parse_header(["name", "n"])
ROWS = [["a", "1"], ["b", "2"], ["c"]]


def window(rows: Sequence[Sequence[str]] = ROWS, *, first_row: int = 2, has_next: bool) -> Window:
    return Window(
        span=RowSpan(first_row, 3), header=HEADER, rows=rows, has_next=has_next, read_seconds=0.0
    )


def effect(
    row: int, texts: Mapping[int, str], before: Sequence[str] | None, header: str = "name"
) -> Effect:
    return Effect(
        header=parse_header([header, "n"]),
        rows=[RowPatch(row=row, texts=texts)],
        before={} if before is None else {row: before},
    )


def removal(before: Mapping[int, Sequence[str]], *, last_row: int = 0) -> Effect:
    return Effect(header=HEADER, before=before, removed=[*before], last_row=last_row)


CHANGES: Mapping[str, tuple[bool, Effect, Sequence[Sequence[str]] | None]] = {
    "an update": (True, effect(3, {1: "5"}, ["b", "2"]), [["a", "1"], ["b", "5"], ["c"]]),
    "read after it": (True, effect(3, {1: "2"}, ["b", "1"]), ROWS),
    "a longer row": (True, effect(4, {1: "3"}, ["c"]), [["a", "1"], ["b", "2"], ["c", "3"]]),
    "an update elsewhere": (True, effect(9, {1: "5"}, ["x", "2"]), ROWS),
    "another row than was seen": (True, effect(3, {1: "5"}, ["x", "2"]), None),
    "a cell that is not in it": (True, effect(4, {1: "3"}, ["c", "", "more"]), None),
    "an emptied cell": (True, effect(9, {1: ""}, ["x", "2"]), None),
    "another header": (True, effect(3, {1: "5"}, ["b", "2"], header="title"), None),
    "a row below": (True, effect(9, {0: "z"}, None), ROWS),
    "a row at its end": (False, effect(5, {0: "z"}, None), None),
    "a created row in it": (True, effect(3, {0: "b", 1: "2"}, None), ROWS),
    "a created row that differs": (True, effect(3, {0: "z"}, None), None),
    "a created row above": (True, effect(1, {0: "z"}, None), None),
    "a removed row": (False, removal({3: ["b", "2"]}), [["a", "1"], ["c"]]),
    "the last row removed": (False, removal({4: ["c", ""]}), ROWS[:2]),
    "all rows removed": (False, removal({2: ROWS[0], 3: ROWS[1], 4: ROWS[2]}), []),
    "another removed row than was seen": (False, removal({3: ["x", "2"]}), None),
    "a removed row below its end": (False, removal({9: ["x"]}), None),
    "a removed row in its middle": (True, removal({3: ["b", "2"]}, last_row=9), None),
    "a row removed below": (True, removal({9: ["x"]}, last_row=9), ROWS),
    "the last row below removed": (True, removal({5: ["x"]}, last_row=4), None),
}


@pytest.mark.parametrize(("has_next", "write", "expected"), CHANGES.values(), ids=CHANGES)
def test_after_a_write(
    has_next: bool, write: Effect, expected: Sequence[Sequence[str]] | None
) -> None:
    """After a write a window has the new rows, or is dropped."""
    changed = window(has_next=has_next).changed(write)

    assert (changed and changed.rows) == expected


@pytest.mark.parametrize(("has_next", "write", "expected"), CHANGES.values(), ids=CHANGES)
def test_typed_values_follow_the_texts(
    has_next: bool, write: Effect, expected: Sequence[Sequence[str]] | None
) -> None:
    """After a write a typed window has the value of each cell, or is dropped."""

    def typed(rows: Iterable[Sequence[str]]) -> list[list[object]]:
        return [[int(text) if text.isdigit() else text or None for text in row] for row in rows]

    values = {
        column: int(text) if text.isdigit() else text
        for patch in write.rows
        for column, text in patch.texts.items()
    }
    patches = [replace(patch, values=values) for patch in write.rows]
    before = replace(
        window(has_next=has_next), span=RowSpan(2, 3, has_types=True), values=typed(ROWS)
    )

    changed = before.changed(replace(write, rows=patches))

    assert (changed and changed.values) == (expected if expected is None else typed(expected))


def test_a_write_whose_values_are_not_known_drops_typed_rows() -> None:
    """Texts alone do not show the typed value of a cell."""
    typed = replace(
        window(has_next=True), span=RowSpan(2, 3, has_types=True), values=[["a", 1], ["b", 2], []]
    )

    assert window(has_next=True).changed(effect(3, {1: "5"}, ["b", "2"])) is not None
    assert typed.changed(effect(3, {1: "5"}, ["b", "2"])) is None


@pytest.mark.parametrize(
    ("own", "other", "agrees"),
    [
        ([["a", 1], ["b", 2], ["c"]], [["a", 1.0], ["b", 2], ["c", None]], True),
        ([["a", 1], ["b", 2], ["c"]], [["a", 1], ["b", 2.4], ["c"]], False),
        ([["a", 1], ["b", 2], ["c"]], [["a", 1], ["b", "2"], ["c"]], False),
    ],
    ids=["the same", "another value", "another kind"],
)
def test_typed_windows_agree_in_values(
    own: Sequence[Sequence[object]], other: Sequence[Sequence[object]], agrees: bool
) -> None:
    """Two typed windows must agree in values; a displayed window has no values."""
    span = RowSpan(2, 3, has_types=True)
    one, two = (replace(window(has_next=True), span=span, values=values) for values in (own, other))

    assert one.agrees(two) is agrees
    assert one.agrees(window(has_next=True))
    assert window(has_next=True).agrees(one)


@pytest.mark.parametrize(
    ("removed", "rows"),
    [
        ({2: ["x"]}, [["b", "2"], ["c"]]),
        ({2: ["x"], 3: ["x"]}, [["c"]]),
        ({2: ["x"], 5: ["a", "1"]}, [["c"]]),
        ({2: ["x"], 3: ["x"], 4: ["x"]}, []),
        ({2: ["x"], 7: ["c"]}, [["b", "2"]]),
    ],
    ids=["one above", "two above", "above and in it", "as many as it has", "above and the last"],
)
def test_rows_move_up_into_the_last_window(
    removed: Mapping[int, Sequence[str]], rows: Sequence[Sequence[str]]
) -> None:
    """No row follows the last window, so all moved rows are known; others are dropped."""
    changed = window(first_row=5, has_next=False).changed(removal(removed))

    assert changed is not None
    assert (changed.rows, changed.span, changed.has_next) == (rows, RowSpan(5, 3), False)
    assert window(first_row=5, has_next=True).changed(removal(removed, last_row=99)) is None


def test_blank_rows_at_the_end_go_with_the_last_row() -> None:
    """A window ends with the last row that is not blank."""
    changed = window([["a"], [], ["c"]], has_next=False).changed(removal({4: ["c"]}))

    assert changed is not None
    assert changed.rows == [["a"]]


@pytest.mark.parametrize(
    ("rows", "first_row", "ends", "agrees"),
    [
        (ROWS, 2, True, True),
        ([["b", "2"], ["c", ""]], 3, True, True),
        ([["b", "9"]], 3, True, False),
        ([["x"]], 5, False, True),
        ([["x"]], 5, True, False),
        ([["a", "1"], ["b", "2"]], 2, True, False),
    ],
    ids=["the same", "blank end", "a cell", "other rows", "rows below the end", "no such row"],
)
def test_agreement(rows: Sequence[Sequence[str]], first_row: int, ends: bool, agrees: bool) -> None:
    """Rows in both windows count, with blank rows at the end, and the end of the worksheet."""
    other = window(rows, first_row=first_row, has_next=False)

    assert other.agrees(window(has_next=not ends)) is agrees
    assert window(has_next=not ends).agrees(other) is agrees


@pytest.mark.parametrize(
    ("cell", "has_next", "agrees"), [("2", False, True), ("9", False, False), ("2", True, False)]
)
def test_agreement_with_all_rows(cell: str, has_next: bool, agrees: bool) -> None:
    """All rows of a worksheet are compared like a window."""
    table = make_table([("name", "a", "b", "c"), ("n", "1", cell)])

    assert window(has_next=has_next).agrees(table) is agrees
