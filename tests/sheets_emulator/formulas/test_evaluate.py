"""Tests of the evaluation of formulas with references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.result import CIRCULAR, CellError, Evaluated, cell_error
from sheets_emulator.grid.cell import Cell, CellValue, Content
from sheets_emulator.grid.sheet import Row
from tests.sheets_emulator.formula_cells import (
    DATE,
    DOLLARS,
    column,
    evaluated,
    formula,
    formula_texts,
    result,
    shown,
    workbook,
)


@pytest.mark.parametrize(
    ("content", "value", "pattern"),
    [
        pytest.param(None, None, None, id="blank"),
        pytest.param("=1", "=1", None, id="text that looks like a formula"),
        pytest.param(True, True, None, id="boolean"),
        pytest.param(Cell(value=5.0, format=DOLLARS), 5.0, '"$"#,##0', id="with a format"),
        pytest.param(formula("=2", DOLLARS), 2.0, '"$"#,##0', id="formula with a format"),
    ],
)
def test_value_of_a_cell(content: Content, value: CellValue, pattern: str | None) -> None:
    """A cell without a formula has its own value. The cell's own number format is used."""
    book = workbook(Data=[(content,)])

    assert evaluated(book, 0, 0) == Evaluated(value=value, pattern=pattern)
    assert evaluated(book, 4, 4) == Evaluated()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("=A1", 1.0, id="cell"),
        pytest.param("=$A$1:A1", 1.0, id="range of one cell"),
        pytest.param("=Data!B1", "x", id="own worksheet"),
        pytest.param("='It''s'!B2+IT!A1", 44.0, id="other worksheets"),
        pytest.param("=D1", None, id="blank cell"),
        pytest.param("=E5+A1", 1.0, id="blank cell in a sum"),
        pytest.param("=A1:B1", "#VALUE!", id="several cells"),
        pytest.param("=A1:B1+1", "#VALUE!", id="several cells as an operand"),
        pytest.param('=CONCAT(A1:B1,"y")', "#VALUE!", id="several cells as a text"),
        pytest.param("=F1", "#REF!", id="past the last column"),
        pytest.param("=A6", "#REF!", id="past the last row"),
        pytest.param('=IF(A1=1,B1,"")', "x", id="chosen cell"),
        pytest.param('=IF(A1=2,"",D1)', None, id="chosen blank cell"),
        pytest.param("=IF(A1:B1,1)", "#VALUE!", id="several cells as a condition"),
        pytest.param("=IF(TRUE,A1:B1)", "#VALUE!", id="several cells chosen"),
        pytest.param("=IF(FALSE,C2,SUM(A1:B1))", 1.0, id="error not chosen"),
        pytest.param("=LEN(A1:B1)", "#VALUE!", id="length of several cells"),
        pytest.param("=SUM(A6:A9)", "#REF!", id="range past the last row"),
        pytest.param("=Nowhere!A1", "#REF!", id="no such worksheet"),
        pytest.param("=#REF!+A1", "#REF!", id="lost reference"),
        pytest.param("=SUM(A1:B2)", 4.0, id="texts and booleans are left out"),
        pytest.param("=SUM(A1:A100)", 4.0, id="range cut at the end"),
        pytest.param("=SUM(B2:A1)", 4.0, id="swapped corners"),
        pytest.param("=SUM(A:A)", 4.0, id="column"),
        pytest.param("=SUM(1:1,A2:A)", 4.0, id="row and open range"),
        pytest.param('=SUM(A1,"2",TRUE,B1,D1)', 4.0, id="arguments that are no ranges"),
        pytest.param('=SUM("x")', "#VALUE!", id="argument that is no number"),
        pytest.param("=SUM(E1:E2)", 0.0, id="sum of nothing"),
        pytest.param('=CONCATENATE(A1:B2,"!")', "1x3TRUE!", id="joined row by row"),
        pytest.param("=CONCATENATE(E:E)", "", id="nothing joined"),
        pytest.param("=C2", "#DIV/0!", id="error"),
        pytest.param("=SUM(A1:C2)", "#DIV/0!", id="error in a range"),
        pytest.param("=CONCATENATE(C:C)", "#DIV/0!", id="error in a joined range"),
    ],
)
def test_references_have_the_values_of_cells(text: str, value: CellValue) -> None:
    """A reference to a missing cell is #REF!, and a range in place of one value is #VALUE!."""
    rows = [(1.0, "x"), (3.0, True, formula("=1/0")), (None, None, None, formula(text))]
    others: dict[str, list[Row]] = {"It's": [(None, None), (None, 2.0)], "It": [(42.0,)]}

    assert shown(evaluated(workbook(Data=rows, **others), 2, 3)) == value


def test_error_names_the_missing_worksheet() -> None:
    """The #REF! error of a reference has the title of the worksheet that does not exist."""
    error = result("='No such'!A1").value

    assert error == cell_error("REF", "Unresolved sheet name 'No such'.")


def test_if_has_the_format_of_the_chosen_value() -> None:
    """IF returns a chosen date with the number format of the date."""
    date = Cell(value=43831.0, format=DATE)

    assert result('=IF(B1="","",B1)', date) == Evaluated(value=43831.0, pattern="yyyy-mm-dd")
    assert result('=IF(B1="",B1,"")', date) == Evaluated(value="")


def test_formula_refers_to_formulas() -> None:
    """A formula is computed from formulas on other worksheets, with their number formats."""
    book = workbook(
        Data=[(formula("=Other!A1+1"), formula("=A1*2"))],
        Other=[(formula("=B1"), Cell(value=43831.0, format=DATE))],
    )

    assert evaluated(book, 0, 0) == Evaluated(value=43832.0, pattern="yyyy-mm-dd")
    assert evaluated(book, 0, 1) == Evaluated(value=87664.0)


@pytest.mark.parametrize(
    "formulas",
    [
        pytest.param(["=A1"], id="itself"),
        pytest.param(["=A2", "=A1"], id="each other"),
        pytest.param(["=A2", "=A3+1/0", "=A1"], id="with another error"),
        pytest.param(["=SUM(A1:A3)"], id="range around it"),
        pytest.param(["=SUM(A:A)", "=SUM(A:A)"], id="the same range twice"),
        pytest.param(["=SUM(A2:A3)", "=1", "=SUM(A1:A2)"], id="ranges of each other"),
    ],
)
@pytest.mark.parametrize("first", ["top", "bottom"])
def test_circular_reference_is_an_error_in_each_of_its_cells(
    formulas: list[str], first: str
) -> None:
    """Cells that depend on each other are #REF!, whichever cell is evaluated first."""
    book = workbook(Data=column(*map(formula, formulas)))
    results = Results(book)
    rows = [row for row, text in enumerate(formulas) if text != "=1"]
    order = rows if first == "top" else rows[::-1]
    values = [results.of(book.sheets[0], row, 0).value for row in order]

    assert values == [CIRCULAR] * len(rows)


def test_only_cells_that_depend_on_a_circular_reference_are_errors() -> None:
    """A formula that does not refer to the circular reference has its value."""
    book = workbook(Data=column(formula("=A1"), formula("=A1+1"), formula("=A4"), 1.0))

    assert [shown(evaluated(book, row, 0)) for row in (1, 2)] == ["#REF!", 1.0]


def test_long_chain_of_references_is_computed_from_either_end() -> None:
    """20,000 formulas that each refer to the cell above are computed without a depth limit."""
    chain = column(1.0, *(formula(f"=A{row}+1") for row in range(1, 20_000)))
    book = workbook(Data=chain)
    downwards = Results(book)
    values = [downwards.of(book.sheets[0], row, 0).value for row in range(20_000)]

    assert evaluated(book, 19_999, 0).value == 20_000.0
    assert values == [float(number) for number in range(1, 20_001)]


def test_long_circular_reference_is_found() -> None:
    """A circular reference over 20,000 cells is an error."""
    circle = column(formula("=A20000"), *(formula(f"=A{row}") for row in range(1, 20_000)))

    assert evaluated(workbook(Data=circle), 7, 0).value == CIRCULAR


@given(formula_texts, st.sampled_from([1.0, "5", "x", True, None, Cell(value=1.0, format=DATE)]))
def test_any_formula_has_a_result(text: str, other: Content) -> None:
    """Evaluation of any text gives a value or an error and raises no exception."""
    value = result(f"={text}", other).value

    assert value is None or isinstance(value, bool | float | str | CellError)
