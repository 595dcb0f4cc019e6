"""Tests of references after edits of cells, copies, and edits of worksheets."""

import pytest
from hypothesis import given

from sheets_emulator.formulas.references import (
    Shift,
    renamed,
    shifted,
    translated,
    without_sheet,
)
from tests.sheets_emulator.formula_cells import formula_texts


def same(first: int, last: int | None) -> tuple[int, int | None]:
    """Shift function for lines that do not move.

    Takes and returns the first index and the end index of a range, None for an open end.
    """
    return first, last


def inserted(first: int, last: int | None) -> tuple[int, int | None]:
    """Shift function for two lines inserted at index 2."""
    return first + (2 if first >= 2 else 0), None if last is None else last + (2 if last > 2 else 0)


def deleted(first: int, last: int | None) -> tuple[int, int | None] | None:
    """Shift function for the deletion of the lines 2 and 3.

    Returns None if no line of the range is left.
    """

    def fall(edge: int) -> int:
        return edge - max(0, min(edge, 4) - 2)

    if last is not None and fall(first) >= fall(last):
        return None
    return fall(first), None if last is None else fall(last)


@pytest.mark.parametrize(
    ("formula", "down", "right", "moved"),
    [
        pytest.param("=A1 + b2", 1, 1, "=B2 + C3", id="relative"),
        pytest.param("=$A1+A$1+$A$1", 2, 3, "=$A3+D$1+$A$1", id="fixed"),
        pytest.param("=SUM(A1:$B$2)", 1, 0, "=SUM(A2:$B$2)", id="corner of a range"),
        pytest.param("=SUM(A:A,2:2,B2:B)", 1, 1, "=SUM(B:B,3:3,C3:C)", id="open ranges"),
        pytest.param("='It''s'!A1", 1, 0, "='It''s'!A2", id="other worksheet"),
        pytest.param("=A1+A2", -1, 0, "=#REF!+A1", id="past the top"),
        pytest.param("=SUM(A1:B2)", 0, -1, "=SUM(#REF!)", id="past the left"),
        pytest.param("=Data!A1", 0, -1, "=#REF!", id="past the left of another worksheet"),
        pytest.param("=ZZZ1", 0, 1, "=#REF!", id="past the last column"),
        pytest.param('="A1"&A1', 1, 0, '="A1"&A2', id="string"),
        pytest.param("=LOG10(A1)+1e5+foo", 1, 0, "=LOG10(A2)+1e5+foo", id="what only looks alike"),
        pytest.param("=A1 : A3", 1, 0, "=A2 : A4", id="blanks stay"),
        pytest.param("=A1:OFFSET(B1,1,1)", 1, 0, "=A2:OFFSET(B2,1,1)", id="unknown function"),
    ],
)
def test_copied_formula_shifts_its_relative_references(
    formula: str, down: int, right: int, moved: str
) -> None:
    """References without `$` move with the copy. A reference past the sheet's edge is #REF!."""
    assert translated(formula, down, right) == moved


@pytest.mark.parametrize(
    ("rows", "formula", "moved"),
    [
        pytest.param(inserted, "=a2+$A$3+A4", "=a2+$A$5+A6", id="cells move down"),
        pytest.param(inserted, "=SUM(A1:A3)", "=SUM(A1:A5)", id="a range grows"),
        pytest.param(inserted, "=SUM(A1:A2)", "=SUM(A1:A2)", id="a range above stays"),
        pytest.param(inserted, "=SUM(A4:A1)", "=SUM(A6:A1)", id="swapped corners"),
        pytest.param(inserted, "=SUM(A:A,A3:A)", "=SUM(A:A,A5:A)", id="open ranges"),
        pytest.param(inserted, "=SUM(3:4)", "=SUM(5:6)", id="whole rows"),
        pytest.param(deleted, "=A2+A3+A5", "=A2+#REF!+A3", id="a cell is deleted"),
        pytest.param(deleted, "=SUM(A1:A5)", "=SUM(A1:A3)", id="a range shrinks"),
        pytest.param(deleted, "=SUM(A3:A4)", "=SUM(#REF!)", id="a range is deleted"),
        pytest.param(deleted, "=Data!A3 + 1", "=#REF! + 1", id="with its title"),
        pytest.param(deleted, "=SUM(B4:B)", "=SUM(B3:B)", id="start of an open range"),
        pytest.param(deleted, '="A3"&DATA!A5', '="A3"&DATA!A3', id="title in another case"),
        pytest.param(deleted, "=Other!A3", "=Other!A3", id="another worksheet"),
    ],
)
def test_reference_follows_its_rows(rows: Shift, formula: str, moved: str) -> None:
    """A reference to moved rows is adjusted, and a reference to deleted rows is #REF!."""
    assert shifted(formula, own_title="Data", title="Data", rows=rows, columns=same) == moved


def test_reference_follows_its_columns() -> None:
    """References to columns are adjusted when columns are inserted."""
    formula = "=C1+$D$2+SUM(A:C)+5:6"

    moved = shifted(formula, own_title="Data", title="data", rows=same, columns=inserted)

    assert moved == "=E1+$F$2+SUM(A:E)+5:6"


def test_only_references_to_the_changed_worksheet_move() -> None:
    """A reference without a title, on another worksheet, does not change."""
    formula = "=A3+'My Data'!A3+Other!A3"

    moved = shifted(formula, own_title="Other", title="My Data", rows=inserted, columns=same)

    assert moved == "=A3+'My Data'!A5+Other!A3"


@pytest.mark.parametrize(
    ("formula", "new_title", "result"),
    [
        ("=Data!A1+A1", "Facts", "=Facts!A1+A1"),
        ("=SUM('data'!A1 : B2)", "It's", "=SUM('It''s'!A1 : B2)"),
        ('="Data!A1"&Other!A1', "Facts", '="Data!A1"&Other!A1'),
    ],
)
def test_reference_follows_the_title_of_its_worksheet(
    formula: str, new_title: str, result: str
) -> None:
    """References to a renamed worksheet get the new title, in quotes if necessary."""
    assert renamed(formula, "Data", new_title) == result


def test_reference_to_a_deleted_worksheet_is_lost() -> None:
    """References with the title of a deleted worksheet become #REF!. Other references stay."""
    formula = "='It''s'!A1+SUM(IT'S!B2)+A1"

    assert without_sheet("='It''s'!A1:B2+A1+Data!A1", "It's") == "=#REF!+A1+Data!A1"
    assert without_sheet(formula, "Data") == formula


@given(formula_texts)
def test_formula_without_a_change_keeps_its_text(text: str) -> None:
    """Every character stays if no cell moves and the edited worksheet is not in the formula."""
    formula = f"={text}"
    followed = shifted(formula, own_title="A", title="A", rows=same, columns=same)

    assert translated(formula, 0, 0) == formula
    assert followed == formula
    assert renamed(formula, "No such title", "B") == formula
    assert without_sheet(formula, "No such title") == formula


@given(formula_texts)
def test_any_text_can_be_translated(text: str) -> None:
    """Moving a formula back and forth gives the same text and raises no exception."""
    there = translated(f"={text}", 3, 2)

    assert translated(translated(there, -3, -2), 3, 2) == there
