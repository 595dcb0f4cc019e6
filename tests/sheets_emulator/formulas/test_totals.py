"""Tests of SUM and CONCATENATE over ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.result import Evaluated
from sheets_emulator.formulas.totals import ROWS_OF_STRETCH
from sheets_emulator.grid.cell import CellValue
from sheets_emulator.grid.sheet import Row
from tests.sheets_emulator.formula_cells import (
    DATE,
    DOLLARS,
    column,
    evaluated,
    formula,
    shown,
    workbook,
)

HEIGHT = 3 * ROWS_OF_STRETCH + 10
FORMS = {
    "same": "=SUM(A:A)",
    "growing": "=SUM(A$1:A{row})",
    "shrinking": "=SUM(A{row}:A$" + str(HEIGHT) + ")",
}


def expected(form: str, row: int) -> float:
    """Return the expected sum of the FORMS formula `form` in a row, counted from 1."""
    firsts = {"same": 0, "growing": 0, "shrinking": row - 1}
    ends = {"same": HEIGHT, "growing": row, "shrinking": HEIGHT}
    return float(sum(range(firsts[form], ends[form])))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_computed", [False, True], ids=["of values", "of formulas"])
@pytest.mark.parametrize("step", [1, -1], ids=["downwards", "upwards"])
def test_many_sums_over_one_column(form: str, is_computed: bool, step: int) -> None:
    """Sums over overlapping ranges are correct, whichever row is evaluated first."""
    rows: list[Row] = [
        (
            formula(f"={number}") if is_computed else float(number),
            formula(FORMS[form].format(row=number + 1)),
        )
        for number in range(HEIGHT)
    ]
    book = workbook(Data=rows)
    results = Results(book)
    sums = {row: results.of(book.sheets[0], row, 1).value for row in range(HEIGHT)[::step]}

    assert sums == {row: expected(form, row + 1) for row in range(HEIGHT)}


def test_sums_can_include_the_sums_above_them() -> None:
    """The last of 599 sums over all cells above is 2^598, even if it is evaluated first."""
    sums = column(1.0, *(formula(f"=SUM(A$1:A{row})") for row in range(1, 600)))

    assert evaluated(workbook(Data=sums), 599, 0).value == 2.0**598


def test_sum_over_a_range_with_an_error_is_the_error() -> None:
    """Running sums are #DIV/0! from the row of the error on."""
    above = 2 * ROWS_OF_STRETCH
    cells = column(*[1.0] * above, formula("=1/0"), 1.0)
    rows = [(*row, formula(f"=SUM(A$1:A{number})")) for number, row in enumerate(cells, start=1)]
    book = workbook(Data=rows)
    results = Results(book)
    last = [shown(results.of(book.sheets[0], row, 1)) for row in range(above - 1, above + 2)]

    assert last == [float(above), "#DIV/0!", "#DIV/0!"]


def test_sum_has_the_first_number_format_of_its_range() -> None:
    """The first formatted number can be below the first block of 256 rows."""
    priced = formula("=2", DOLLARS)
    dated = formula("=1", DATE)
    cells = column(*[1.0] * ROWS_OF_STRETCH, priced, *[1.0] * ROWS_OF_STRETCH, dated)
    rows = [*cells, (None, formula("=SUM(A:A)"))]

    total = evaluated(workbook(Data=rows), len(cells), 1)

    assert total == Evaluated(value=2.0 * ROWS_OF_STRETCH + 3, pattern='"$"#,##0')


def test_many_sums_over_large_ranges_are_computed() -> None:
    """2,000 sums and 2,000 running totals over 50,000 rows are correct."""
    rows: list[Row] = [(float(number), "x", True) for number in range(50_000)]
    for number in range(2_000):
        both = (formula("=SUM(A:C)"), formula(f"=SUM(A$1:A{number + 1})"))
        rows[number] = (*rows[number], *both)
    book = workbook(Data=rows)
    results = Results(book)
    values = [[results.of(book.sheets[0], row, at).value for at in (3, 4)] for row in range(2_000)]

    assert values[0] == [1_249_975_000.0, 0.0]
    assert values[-1] == [1_249_975_000.0, 1_999_000.0]


TEXTS: dict[CellValue, str] = {1.0: "1", 2.5: "2.5", "7": "7", None: "", False: "FALSE"}


@given(
    st.lists(st.sampled_from(list(TEXTS)), min_size=40, max_size=40),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_sum_and_text_of_any_range(contents: list[CellValue], first: int, last: int) -> None:
    """SUM adds the numbers of a range, and CONCATENATE joins the texts of all its cells."""
    inside = contents[min(first, last) - 1 : max(first, last)]
    formulas = [formula(f"={name}(Data!A{first}:A{last})") for name in ("SUM", "CONCATENATE")]
    book = workbook(Formulas=[tuple(formulas)], Data=column(*contents))

    assert evaluated(book, 0, 0).value == sum(each for each in inside if type(each) is float)
    assert evaluated(book, 0, 1).value == "".join(TEXTS[each] for each in inside)
