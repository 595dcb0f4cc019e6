"""Tests of quotes around a client's text in messages."""

import pytest

from gateway.table.quoting import quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Cities", '"Cities"', id="plain"),
        pytest.param("日本 🏙", '"日本 🏙"', id="letters of all kinds"),
        pytest.param("a\nb\x1b[2J", '"a\\nb\\x1b[2J"', id="control characters"),
        pytest.param("a\xa0b\u200b\u202e", '"a\\xa0b\\u200b\\u202e"', id="what cannot be seen"),
        pytest.param("\ud800", '"\\ud800"', id="half of a surrogate pair"),
        pytest.param("x" * 100, f'"{"x" * 100}"', id="long"),
        pytest.param("x" * 101, f'"{"x" * 100}…"', id="too long"),
    ],
)
def test_a_text_is_cut_and_escaped(text: str, shown: str) -> None:
    """A message repeats at most 100 characters, and escapes control and invisible characters."""
    assert quoted(text) == shown


def test_the_length_of_a_quotation_can_be_given() -> None:
    """The argument `longest` sets the number of characters before the cut."""
    assert quoted("abcdef", longest=3) == '"abc…"'
