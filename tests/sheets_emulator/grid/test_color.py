"""Components of colours, and the two members of an object that have a colour."""

import pytest

from sheets_emulator.grid.color import rgb, with_both

TEAL = {"green": 1, "blue": 1}
HALF = {"red": 0.49803922}


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        ({"red": 1, "green": 0, "blue": 0.5}, {"red": 1, "blue": 0.49803922}),
        ({"red": 0.2, "green": 0.9}, {"red": 0.2, "green": 0.8980392}),
        ({"red": 300, "green": -1, "blue": 0.001}, {"red": 1}),
        ({"red": 1, "alpha": 0.5}, {"red": 1}),
        ({}, {}),
    ],
    ids=["recorded", "shortest", "out of range", "alpha", "black"],
)
def test_components_have_eight_bits(given: dict[str, float], answered: dict[str, float]) -> None:
    """Components are limited to 0 to 1 and rounded down to 8 bits. Zero components are left out."""
    assert rgb(given) == answered


def test_a_colour_from_an_answer_is_written_back_unchanged() -> None:
    """A colour that was read and is written back stays the same."""
    for step in range(256):
        once = rgb({"red": (step + 0.4) / 255})

        assert rgb(once) == once
        assert once.get("red", 0) == pytest.approx(step / 255)


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ({"c": TEAL}, {"c": TEAL, "s": {"rgbColor": TEAL}}),
        ({"s": {"rgbColor": TEAL}}, {"c": TEAL, "s": {"rgbColor": TEAL}}),
        ({"c": {}, "s": {"rgbColor": TEAL}}, {"c": TEAL, "s": {"rgbColor": TEAL}}),
        ({"c": TEAL, "s": {}}, {"c": TEAL, "s": {"rgbColor": TEAL}}),
        ({"s": {"themeColor": "TEXT"}}, {"c": {}, "s": {"themeColor": "TEXT"}}),
        ({"s": {}, "rest": 1}, {"rest": 1}),
        ({"c": {"red": 0.5}}, {"c": HALF, "s": {"rgbColor": HALF}}),
        ({"s": {"rgbColor": {"red": 0.5}}}, {"c": HALF, "s": {"rgbColor": HALF}}),
    ],
    ids=[
        *("plain", "style", "style first", "empty style", "theme", "neither", "plain rounded"),
        "style rounded",
    ],
)
def test_a_colour_is_in_the_plain_member_and_in_the_style(
    given: dict[str, object], whole: dict[str, object]
) -> None:
    """The plain colour and the style become equal. If both are given, the style wins."""
    assert with_both(given, "c", "s") == whole
