"""Tests of the estimated size of a text in pixels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formats.text_size import MARGIN, text_height, text_width


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param("A" * 1024, 8691, id="recorded"),
        pytest.param("", MARGIN, id="nothing"),
        pytest.param("ab\nA\nabc", text_width("abc"), id="its longest line"),
    ],
)
def test_width_is_the_width_of_the_longest_line(text: str, width: int) -> None:
    """The width is the sum of character widths and a margin."""
    assert text_width(text) == width


@given(st.text(max_size=50), st.text(max_size=50))
def test_longer_texts_are_not_smaller(text: str, more: str) -> None:
    """Adding characters never reduces the estimated width or height."""
    assert text_width(text + more) >= text_width(text)
    assert text_height(text + more) >= text_height(text) >= 21
