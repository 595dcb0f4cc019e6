"""Tests of the formula parser."""

import pytest
from hypothesis import given

from sheets_emulator.formulas.formula import Area, Call, parse
from sheets_emulator.formulas.result import CellError, Evaluated
from sheets_emulator.grid.a1 import Span
from tests.sheets_emulator.formula_cells import formula_texts


def postfix(text: str) -> str:
    """Return the parsed steps in postfix order, separated by blanks, or the text of the error."""
    steps = parse(text)
    if isinstance(steps, CellError):
        return steps.text
    return " ".join(
        f"{step.name}/{step.count}"
        if isinstance(step, Call)
        else repr(step.value)
        if isinstance(step, Evaluated)
        else "cells"
        for step in steps
    )


@pytest.mark.parametrize(
    ("formula", "steps"),
    [
        pytest.param("=1+2*3", "1.0 2.0 3.0 MULTIPLY/2 ADD/2", id="product before sum"),
        pytest.param("=(1+2)*3", "1.0 2.0 ADD/2 3.0 MULTIPLY/2", id="parentheses"),
        pytest.param("=1-2-3", "1.0 2.0 MINUS/2 3.0 MINUS/2", id="left to right"),
        pytest.param("=2^3^2", "2.0 3.0 POW/2 2.0 POW/2", id="powers left to right"),
        pytest.param("=-2^2", "2.0 UMINUS/1 2.0 POW/2", id="sign before power"),
        pytest.param("=2^-1", "2.0 1.0 UMINUS/1 POW/2", id="sign in the exponent"),
        pytest.param("=--1", "1.0 UMINUS/1 UMINUS/1", id="two signs"),
        pytest.param("=-5%", "5.0 UNARY_PERCENT/1 UMINUS/1", id="percent before sign"),
        pytest.param('=1+2&"a"', "1.0 2.0 ADD/2 'a' CONCAT/2", id="sum before joining"),
        pytest.param('="a"&"b"="ab"', "'a' 'b' CONCAT/2 'ab' EQ/2", id="comparison last"),
        pytest.param("=1<>2", "1.0 2.0 NE/2", id="unequal"),
        pytest.param("= .5 + 1e3\n", "0.5 1000.0 ADD/2", id="forms of numbers, blanks"),
        pytest.param('="a""b"', "'a\"b'", id="quote in a string"),
        pytest.param("=true=FALSE", "True False EQ/2", id="booleans"),
        pytest.param("=sum(1,Sum(2;3))", "1.0 2.0 3.0 SUM/2 SUM/2", id="nested, any case"),
        pytest.param("=SUM(1,)", "1.0 None SUM/2", id="argument left out"),
        pytest.param("=SUM((A1:B2))", "cells SUM/1", id="range in parentheses"),
    ],
)
def test_formula_is_parsed_in_the_order_of_computation(formula: str, steps: str) -> None:
    """Operators have Google's precedence and are left-associative."""
    assert postfix(formula) == steps


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("B3", Area(title=None, span=Span(top=2, left=1, bottom=3, right=2))),
        ("$B$3", Area(title=None, span=Span(top=2, left=1, bottom=3, right=2))),
        ("c2 : a1", Area(title=None, span=Span(top=0, left=0, bottom=2, right=3))),
        ("B:B", Area(title=None, span=Span(left=1, right=2))),
        ("2:5", Area(title=None, span=Span(top=1, bottom=5))),
        ("A2:A", Area(title=None, span=Span(top=1, right=1))),
        ("'It''s'!A1", Area(title="It's", span=Span(bottom=1, right=1))),
    ],
)
def test_reference_is_parsed_into_an_area(text: str, area: Area) -> None:
    """References can have `$`, open ends, swapped corners and the title of a worksheet."""
    assert parse(f"={text}") == (area,)


@pytest.mark.parametrize(
    ("formula", "error"),
    [
        pytest.param("=", "#ERROR!", id="nothing"),
        pytest.param("=1+", "#ERROR!", id="no second operand"),
        pytest.param("=1 2", "#ERROR!", id="no operator"),
        pytest.param("==1", "#ERROR!", id="no first operand"),
        pytest.param("=(1", "#ERROR!", id="open"),
        pytest.param("=1)", "#ERROR!", id="closed"),
        pytest.param("=(1,2)", "#ERROR!", id="comma outside of a function"),
        pytest.param("=SUM(1}", "#ERROR!", id="closed by another one"),
        pytest.param("=()", "#ERROR!", id="nothing in parentheses"),
        pytest.param('="a', "#ERROR!", id="open string"),
        pytest.param("=1~2", "#ERROR!", id="strange character"),
        pytest.param("=foo", "#NAME?", id="bare name"),
        pytest.param("=1/0+FOO(A1,2)", "#NAME?", id="unknown function"),
        pytest.param("=SUM(IFS(1,2),3)", "#NAME?", id="unknown function inside"),
        pytest.param("=SUM(ARRAYFORMULA(A1:A2))", "#NAME?", id="array formula inside"),
        pytest.param("=ARRAYFORMULA(A1:A2)+1", "#NAME?", id="array formula within a sum"),
        pytest.param("=TODAY()", "#NAME?", id="no arguments"),
        pytest.param("={1,2;3,4}", "#NAME?", id="array"),
        pytest.param("=LAMBDA(x,x+1)(3)", "#NAME?", id="call of a call"),
        pytest.param("=SUM(A1:OFFSET(A1,2,0))", "#NAME?", id="range of computed ends"),
        pytest.param("=SUM()", "#N/A", id="too few arguments"),
        pytest.param("=CONCAT(1,2,3)", "#N/A", id="too many arguments"),
        pytest.param("=CONCAT(1)+foo", "#NAME?", id="unknown name outdoes a count"),
    ],
)
def test_invalid_formula_is_an_error(formula: str, error: str) -> None:
    """Invalid syntax is #ERROR!, an unknown name #NAME?, and a wrong argument count #N/A."""
    assert postfix(formula) == error


def test_error_of_a_formula_has_a_type_and_message() -> None:
    """The message for a wrong number of arguments has the expected and the actual number."""
    error = parse("=CONCAT(1)")

    assert isinstance(error, CellError)
    assert error.kind == "N_A"
    assert error.message == (
        "Wrong number of arguments to CONCAT. Expected 2 arguments, but got 1 arguments."
    )


def test_error_has_the_allowed_numbers_of_arguments() -> None:
    """The message for optional arguments has the smallest and the largest number."""
    error = parse("=IF(1)")

    assert isinstance(error, CellError)
    assert error.message == (
        "Wrong number of arguments to IF. Expected between 2 and 3 arguments, but got 1 arguments."
    )


@pytest.mark.parametrize(
    "formula",
    [
        pytest.param("=" + "(" * 20_000 + "1" + ")" * 20_000, id="parentheses"),
        pytest.param("=" + "SUM(" * 10_000 + "1" + ")" * 10_000, id="functions"),
        pytest.param("=" + "-" * 49_998 + "1", id="signs"),
        pytest.param("=1" + "+1" * 20_000, id="sum"),
        pytest.param("=1" + "%" * 40_000, id="percents"),
    ],
)
def test_deeply_nested_formulas_are_parsed(formula: str) -> None:
    """The longest formulas that a cell can hold are parsed without recursion."""
    assert not isinstance(parse(formula), CellError)


@given(formula_texts)
def test_any_text_can_be_parsed(text: str) -> None:
    """Parsing of any text gives steps or an error and raises no exception."""
    result = parse(f"={text}")

    assert isinstance(result, CellError | tuple)
