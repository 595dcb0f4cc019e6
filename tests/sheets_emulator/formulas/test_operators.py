"""Tests of operators and functions on numbers, texts, booleans, blanks and formats."""

from functools import reduce
from operator import add, mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.cell import Cell, CellValue, Content
from tests.sheets_emulator.formula_cells import DATE, DOLLARS, result, shown

NEW_YEAR = Cell(value=43831.0, format=DATE)
PRICE = Cell(value=5.0, format=DOLLARS)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=4/2", 2.0),
        ("= 1 / 1024", 0.0009765625),
        ("=-2^2", 4.0),
        ("=2^3^2", 64.0),
        ("=2^-1", 0.5),
        ("=50%*4", 2.0),
        ("=1-2-3", -4.0),
        ('="5"+1', 6.0),
        ('="$5"+"50%"', 5.5),
        ('="2020-01-01"+1', 43832.0),
        ("=TRUE+TRUE", 2.0),
        ("=E1+1", 1.0),
        ('=E1&"x"', "x"),
        ("=1/3&TRUE", "0.3333333333TRUE"),
        ('="a"&1&CONCAT("b",CONCATENATE(2,"c"))', "a1b2c"),
        ('=+"a"', "a"),
        ("=1<2", True),
        ("=1=1=1", False),
        ('="A"="a"', True),
        ('="5"=5', False),
        ('=9>"a"', False),
        ('="z"<FALSE', True),
        ("=1<>1", False),
        ("=E1=0", True),
        ('=E1=""', True),
        ("=E1=FALSE", True),
        ("=E1=E1", True),
        ('=LEN("héllo"&1)', 6.0),
        ("=LEN(1.50)", 3.0),
        ("=LEN(TRUE)", 4.0),
        ("=LEN(E1)", 0.0),
        ('=IF(1<2,"yes","no")', "yes"),
        ('=IF(E1="","","x")', ""),
        ('=IF(E1="",,"x")', None),
        ('=IF(E1,"x")', False),
        ('=IF("true",1,2)', 1.0),
        ("=IF(0,1/0,2)", 2.0),
        ('=if(1,IF(0,"a","b"),"c")&"!"', "b!"),
    ],
)
def test_operators_and_functions_have_a_value(formula: str, value: CellValue) -> None:
    """Operands are converted to the type that the operator or function needs."""
    assert shown(result(formula)) == value


@pytest.mark.parametrize(
    ("formula", "error", "message"),
    [
        ("=1/0", "#DIV/0!", "Function DIVIDE parameter 2 cannot be zero."),
        ("=IF(1/0,1,2)", "#DIV/0!", "Function DIVIDE parameter 2 cannot be zero."),
        ("=IF(1,1/0,2)", "#DIV/0!", "Function DIVIDE parameter 2 cannot be zero."),
        ("=LEN(1/0)", "#DIV/0!", "Function DIVIDE parameter 2 cannot be zero."),
        (
            '=IF("maybe",1,2)',
            "#VALUE!",
            "Function IF parameter 1 expects boolean values. But 'maybe' is a text and cannot be "
            "coerced to a boolean.",
        ),
        ("=0^-1", "#DIV/0!", "Function DIVIDE parameter 2 cannot be zero."),
        ("=(-8)^(1/3)", "#NUM!", "Function POWER evaluates to an imaginary number."),
        (
            '=1+"x"',
            "#VALUE!",
            "Function ADD parameter 2 expects number values. "
            "But 'x' is a text and cannot be coerced to a number.",
        ),
        (
            '=SUM(1,"x")',
            "#VALUE!",
            "Function SUM parameter 2 expects number values. "
            "But 'x' is a text and cannot be coerced to a number.",
        ),
        ('=-""', "#VALUE!", None),
        ('="TRUE"+1', "#VALUE!", None),
        ("=10^400", "#NUM!", None),
        ("=1e308*10", "#NUM!", None),
        ("=1e400", "#NUM!", None),
        ("=SUM(1e308,1e308)", "#NUM!", None),
        ("=1e308+1e308-1e308", "#NUM!", None),
        ("=#N/A&1", "#N/A", None),
        ('=(1/0)&("x"+1)', "#DIV/0!", None),
        ("=1=1/0", "#DIV/0!", None),
        ("=-#REF!", "#REF!", None),
        ("=CONCATENATE(1,1/0)", "#DIV/0!", None),
    ],
)
def test_errors_are_results(formula: str, error: str, message: str | None) -> None:
    """The result is the first error among the operands."""
    value = result(formula).value

    assert isinstance(value, CellError)
    assert value.text == error
    assert message in {None, value.message}


def test_text_longer_than_a_cell_can_hold_is_an_error() -> None:
    """A result of 50,000 characters is allowed, and a longer result is #VALUE!."""
    long = "x" * 25_000

    assert shown(result("=B1&B1", long)) == 2 * long
    assert shown(result('=B1&B1&"y"', long)) == "#VALUE!"
    assert shown(result('=CONCATENATE(B1:C1,"y")', long, long)) == "#VALUE!"


@pytest.mark.parametrize(
    ("formula", "contents", "pattern"),
    [
        pytest.param("=B1", (NEW_YEAR,), "yyyy-mm-dd", id="reference"),
        pytest.param("=1+B1", (NEW_YEAR,), "yyyy-mm-dd", id="date and days"),
        pytest.param("=B1-1", (NEW_YEAR,), "yyyy-mm-dd", id="date less days"),
        pytest.param("=B1-B1", (NEW_YEAR,), None, id="days between dates"),
        pytest.param("=B1*2", (NEW_YEAR,), None, id="date times a number"),
        pytest.param("=-B1", (PRICE,), '"$"#,##0', id="negative price"),
        pytest.param("=2*B1", (PRICE,), '"$"#,##0', id="number times a price"),
        pytest.param("=B1-B1", (PRICE,), '"$"#,##0', id="difference of prices"),
        pytest.param("=SUM(B1:D1)", ("x", 1.0, PRICE), '"$"#,##0', id="sum"),
        pytest.param("=SUM(1,B1+1)", (PRICE,), '"$"#,##0', id="sum of parts"),
        pytest.param("=B1>1", (PRICE,), None, id="comparison"),
        pytest.param("=B1&C1", (PRICE, NEW_YEAR), None, id="text"),
        pytest.param("=1+2", (), None, id="numbers alone"),
    ],
)
def test_result_keeps_a_number_format(
    formula: str, contents: tuple[Content, ...], pattern: str | None
) -> None:
    """Sums and products keep a currency format. A date plus or minus days stays a date."""
    assert result(formula, *contents).pattern == pattern


def test_joined_text_has_displayed_dates_and_plain_numbers() -> None:
    """A date is joined as its displayed text, and a price is joined without its format."""
    assert shown(result('=B1&" "&C1', NEW_YEAR, PRICE)) == "2020-01-01 5"
    assert shown(result("=CONCATENATE(B1:C1)", NEW_YEAR, PRICE)) == "2020-01-015"


numbers = st.floats(min_value=-1e6, max_value=1e6, allow_subnormal=False).map(lambda n: round(n, 3))


@given(st.lists(st.lists(numbers, min_size=1, max_size=4), min_size=1, max_size=5))
def test_sums_of_products_equal_those_of_python(products: list[list[float]]) -> None:
    """Products are computed before sums, and both are computed from left to right."""
    text = "=" + " + ".join("*".join(map(repr, factors)) for factors in products)
    terms = [reduce(mul, factors) for factors in products]
    value = reduce(add, terms)  # `sum` is more exact from Python 3.12 on

    assert shown(result(text)) == value


Computed = tuple[str, float]
OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
}


def combined(parts: st.SearchStrategy[Computed]) -> st.SearchStrategy[Computed]:
    """Strategy for two expressions with an operator in parentheses, or one negated expression."""
    pairs = st.builds(
        lambda left, sign, right: (
            f"({left[0]} {sign}{right[0]})",
            OPERATIONS[sign](left[1], right[1]),
        ),
        parts,
        st.sampled_from(sorted(OPERATIONS)),
        parts,
    )
    return pairs | parts.map(lambda part: (f"-({part[0]})", -part[1]))


@given(st.recursive(numbers.map(lambda number: (repr(number), number)), combined, max_leaves=8))
def test_nested_arithmetic_equals_that_of_python(expression: Computed) -> None:
    """A formula with nested parentheses has the value that Python computes."""
    text, value = expression

    assert shown(result(f"={text}")) == value
