"""CellFormat: merging by a field mask, and completion for answers.

Rules:
- A colour appears in its plain member and in its style member, such as `backgroundColor` and
  `backgroundColorStyle`.
- A border's width follows from its style.
- A number format without a pattern gets the default pattern of its type.
- Empty objects and borders with the style NONE are left out.
- A format is never modified.
"""

from collections.abc import Callable, Mapping
from typing import cast

from sheets_emulator.formats.pattern import default_pattern
from sheets_emulator.grid.cell import NOTHING
from sheets_emulator.grid.color import with_both
from sheets_emulator.protocol.fields import Mask
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Json

STYLES = {  # style member of a colour, by plain member
    "backgroundColor": "backgroundColorStyle",
    "foregroundColor": "foregroundColorStyle",
    "color": "colorStyle",
}
TWINS = STYLES | {style: plain for plain, style in STYLES.items()}
WIDTHS = {
    "DOTTED": 1,
    "DASHED": 1,
    "SOLID": 1,
    "SOLID_MEDIUM": 2,
    "SOLID_THICK": 3,
    "DOUBLE": 3,
}
BLACK: Json = {}


def merged_format(old: Json | None, given: Json, mask: Mask) -> Json | None:
    """Return a copy of `old` whose members in the mask are taken from `given`.

    The result is None if nothing remains. An empty mask takes all members. Raises a 400 for a
    number format without a type.
    """
    return completed_format(_merged(old or NOTHING, given, mask))


def merging(given: Json, mask: Mask) -> Callable[[Json | None], Json | None]:
    """Return a function that applies `merged_format` to the format of a cell.

    The function merges each distinct format once, and cells then share the result.
    """
    known: dict[
        int, tuple[Json | None, Json | None]
    ] = {}  # keeps the old format alive, so that its id stays unique

    def merge(old: Json | None) -> Json | None:
        if id(old) not in known:
            known[id(old)] = old, merged_format(old, given, mask)
        return known[id(old)][1]

    return merge


def completed_format(given: Json) -> Json | None:
    """Return the format as Google returns it, or None if it is empty."""
    return _completed(given) or None


def bordering(side: str, border: Json) -> Callable[[Json | None], Json | None]:
    """Return a function that sets one border of a format.

    `side` is a member of Borders, such as `top`.
    """
    return merging({"borders": {side: border}}, {"borders": {side: {}}})


def _merged(old: Json, given: Json, mask: Mask) -> Json:
    if not mask or "*" in mask:
        return given
    result = {
        name: value
        for name, value in old.items()
        if name not in mask and TWINS.get(name) not in mask  # both colour members change
    }
    for name, inner in mask.items():
        value = given.get(name)
        if inner:
            value = _merged(_object(old, name), _object(given, name), inner)
        if value is not None:
            result[name] = value
    return result


def _object(holder: Json, name: str) -> Json:
    return cast(Json, holder.get(name) or NOTHING)


def _completed(given: Json) -> Json:
    """Complete an object recursively: no empty members, both members of each colour."""
    result = {name: _completed_member(name, value) for name, value in given.items()}
    kept: Json = {name: value for name, value in result.items() if value is not None}
    for plain, style in STYLES.items():
        kept = with_both(kept, plain, style)
    return kept


def _completed_member(name: str, value: object) -> object:
    if not isinstance(value, Mapping) or name in STYLES:
        return value
    complete = COMPLETIONS.get(name, _completed)
    return complete(value) or None


def _number_format(given: Json) -> Json:
    if not given:
        return given
    if "type" not in given:
        raise invalid("numberFormat.type must be set.")
    pattern = given.get("pattern") or default_pattern(cast(str, given["type"]))
    return {"type": given["type"], **({"pattern": pattern} if pattern else {})}


def _borders(given: Json) -> Json:
    sides = {side: _border(cast(Json, border)) for side, border in given.items()}
    return {side: border for side, border in sides.items() if border}


def _border(given: Json) -> Json:
    width = WIDTHS.get(cast(str, given.get("style", "")))
    if width is None:
        return NOTHING
    whole = {"style": given["style"], "width": width, **_completed(given)}
    colored = whole if "color" in whole else with_both({**whole, "color": BLACK}, *COLOR_TWINS)
    return {**colored, "width": width}


COLOR_TWINS = ("color", "colorStyle")
COMPLETIONS: Mapping[str, Callable[[Json], Json]] = {
    "numberFormat": _number_format,
    "borders": _borders,
    **dict.fromkeys(STYLES.values(), lambda style: style),
}
