"""Colours as Google stores and returns them.

Rules:
- A component has 8 bits: 255 times the given value, in single precision and truncated (recorded
  from Google: 0.5 is returned as 0.49803922, which is 127/255). A component is printed as the
  shortest decimal with the same single-precision value. Zero components are left out.
- An object such as CellFormat has each colour in two members with the same value: the plain member
  (`backgroundColor`) and the style member (`backgroundColorStyle`). If a request has both members,
  the style member takes precedence.
"""

import struct
from collections.abc import Mapping
from functools import cache
from typing import cast

from sheets_emulator.grid.cell import NOTHING
from sheets_emulator.reply import Json

COMPONENTS = ("red", "green", "blue")
STEPS = 255
THEME: Mapping[str, tuple[int, int, int]] = {  # Google's standard theme
    "TEXT": (0x00, 0x00, 0x00),
    "BACKGROUND": (0xFF, 0xFF, 0xFF),
    "ACCENT1": (0x42, 0x85, 0xF4),
    "ACCENT2": (0xEA, 0x43, 0x35),
    "ACCENT3": (0xFB, 0xBC, 0x04),
    "ACCENT4": (0x34, 0xA8, 0x53),
    "ACCENT5": (0xFF, 0x6D, 0x01),
    "ACCENT6": (0x46, 0xBD, 0xC6),
    "LINK": (0x11, 0x55, 0xCC),
}


def rgb(color: Json) -> Json:
    """Return a Color as Google returns it, with components from 0 to 1.

    `alpha` is left out, because Google does not support it.
    """
    steps = (_step(cast(float, color.get(name, 0))) for name in COMPONENTS)
    return _answered(*steps)


def answered_style(style: Json) -> Json:
    """Return a ColorStyle as Google returns it."""
    color = cast(Json | None, style.get("rgbColor"))
    return style if color is None else {**style, "rgbColor": rgb(color)}


def color_of(style: Json) -> Json | None:
    """Return the Color of a ColorStyle, or None if there is none."""
    theme = THEME.get(cast(str, style.get("themeColor", "")))
    if theme is not None:
        return _answered(*theme)
    return cast(Json | None, style.get("rgbColor"))


def with_both(holder: Json, plain: str, style: str) -> Json:
    """Return the object with both members of a colour, `plain` and `style`, as Google returns them.

    If the object has neither member, the result has neither.
    """
    given_style = answered_style(cast(Json, holder.get(style) or NOTHING))
    given_color = cast(Json | None, holder.get(plain))
    color = color_of(given_style)
    rest = {name: value for name, value in holder.items() if name not in (plain, style)}
    if color is not None:
        return {**rest, plain: color, style: given_style}
    if given_color is None:
        return rest
    answered = rgb(given_color)
    return {**rest, plain: answered, style: {"rgbColor": answered}}


def _answered(*steps: int) -> Json:
    pairs = zip(COMPONENTS, steps, strict=True)
    return {name: _shortest(step) for name, step in pairs if step}


def _step(component: float) -> int:
    """Convert a component from 0 to 1 to a whole number from 0 to 255."""
    within = min(max(component, 0.0), 1.0)
    return int(_single(_single(within) * STEPS))


@cache
def _shortest(step: int) -> float:
    exact = _single(step / STEPS)
    texts = (f"{exact:.{digits}g}" for digits in range(1, 10))
    number = next(float(text) for text in texts if _single(float(text)) == exact)
    return int(number) if number.is_integer() else number


def _single(number: float) -> float:
    """Round to single precision."""
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found
