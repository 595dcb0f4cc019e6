"""Tests of the lexical analysis of formulas."""

import pytest
from hypothesis import example, given

from sheets_emulator.formulas.lexeme import lexemes, split_area
from tests.sheets_emulator.formula_cells import formula_texts


@given(formula_texts)
@example("'" * 50_000)
@example('"' * 50_001)
@example("a!" * 25_000)
@example("A1:" * 16_000)
@example("A" + " " * 50_000)
def test_no_character_is_lost(text: str) -> None:
    """Joining the lexemes of a formula gives the original text."""
    assert "".join(lexeme.text for lexeme in lexemes(text)) == text


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        pytest.param("A1+$A$1", "area mark area", id="cells"),
        pytest.param("A:A,2:5,A2:A,A1 : B2", "area mark area mark area mark area", id="ranges"),
        pytest.param("'It''s a'!A1:B2", "area", id="quoted title"),
        pytest.param("A1!B2", "area", id="title like a cell"),
        pytest.param("Données.x!B2", "area", id="letters of other alphabets"),
        pytest.param("LOG10(A1)", "call area mark", id="function like a cell"),
        pytest.param("SUM (A1)", "call area mark", id="blank after the name"),
        pytest.param("1e3.5", "number number", id="exponent"),
        pytest.param("1e", "number name", id="no exponent"),
        pytest.param("AAAA1+A0+A123456789", "name mark name mark name", id="longer than a cell"),
        pytest.param('"A1""B2"&A1', "text mark area", id="string with quotes"),
        pytest.param('A1&"B2', "area mark junk", id="open string"),
        pytest.param("A1 ~ B2", "area blank junk", id="strange character"),
        pytest.param("#REF!+Data!#REF!+#REF!A1", "lost mark lost mark lost", id="lost"),
        pytest.param("#N/A+#DIV/0!", "error mark error", id="errors"),
        pytest.param("A1<>B1<=2", "area mark area mark number", id="operators of two characters"),
    ],
)
def test_kinds_of_lexemes(text: str, kinds: str) -> None:
    """References are distinguished from functions, names, numbers and strings."""
    assert [lexeme.kind for lexeme in lexemes(text)] == kinds.split()


@pytest.mark.parametrize(
    ("area", "parts"),
    [
        ("A1", (None, "A1")),
        ("Data!A1:B2", ("Data", "A1:B2")),
        ("'It''s!'!A:A", ("It's!", "A:A")),
    ],
)
def test_title_is_read_without_its_quotes(area: str, parts: tuple[str | None, str]) -> None:
    """`split_area` splits a reference into the title of its worksheet and its cells."""
    assert split_area(area) == parts
