"""Texts that might be formulas, and their escaped form."""

import pytest

from gateway.table.formula_text import is_formula_text, typed_value

FORMULAS = [
    *("=1", "+1", "-1", "@x", "=", "＝1", "＋1", "－1", "＠x", "−1", "\t", "\tx", "\rx", "\t=1"),
    *(" =1", "\n=1", "\u00a0=1", "\u3000-1", "\u200b@x", "\ufeff+1", "\x00=1", " \r\n\t =1"),
]
TEXTS = ["", " ", "x", "1", "1=1", "a+b", "'=1", "x@y", "(=1)", '"=1"', " x", "\nx", "#REF!", "/=1"]


@pytest.mark.parametrize("text", FORMULAS, ids=repr)
def test_what_might_be_a_formula_is_typed_as_text(text: str) -> None:
    """A leading apostrophe forces text; keys with the grant type formulas."""
    assert is_formula_text(text)
    assert typed_value(text, may_write_formulas=False) == f"'{text}"
    assert typed_value(text, may_write_formulas=True) == text


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_any_other_text_is_typed_as_it_is(text: str) -> None:
    """Blanks, quotes and signs inside a text make no formula of it."""
    assert not is_formula_text(text)
    assert typed_value(text, may_write_formulas=False) == text


@pytest.mark.parametrize("value", [-1, -1.5, True, None], ids=repr)
def test_what_is_no_text_is_typed_as_it_is(value: float | bool | None) -> None:
    """A negative number is a number."""
    assert typed_value(value, may_write_formulas=False) is value


@pytest.mark.parametrize("may_write_formulas", [False, True])
def test_a_lone_apostrophe_is_a_text(may_write_formulas: bool) -> None:
    """Typed alone it would empty the cell."""
    assert typed_value("'", may_write_formulas=may_write_formulas) == "''"
