"""Validation errors of a request body, with their places, in Google's words."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sheets_emulator.protocol.message import snake, unknown_name_text, wrong_type_text

Place = tuple["Place", str | int] | str
"""The place of a value: its parent's place, and its name or index there."""
Read = Callable[[object, Place, "Findings"], object]
"""Reads a value, or None if it is unspecified or invalid. Invalid values are recorded."""

MAX_FINDINGS = 50
NOT_REPEATING = "Proto field is not repeating, cannot start list."
ON_A_SCALAR = "Starting an object on a scalar field"


@dataclass(kw_only=True)
class Findings:
    """(field, description) of the mistakes, up to a limit."""

    found: list[tuple[str, str]] = field(default_factory=list)

    def name(self, name: str, place: Place, reason: str = "Cannot find field.") -> None:
        """Record an invalid name at a place."""
        if len(self.found) < MAX_FINDINGS:
            where = _place_text(place)
            self.found.append((where, unknown_name_text(name, where, reason)))

    def type(self, kind: str, value: object, place: Place) -> object:
        """Record a value of a wrong type. Returns None, as the value's replacement."""
        if isinstance(value, list) and not isinstance(place, str) and isinstance(place[1], str):
            self.name(place[1], place[0], NOT_REPEATING)
        elif len(self.found) < MAX_FINDINGS:
            where = _place_text(place)
            is_started = kind.startswith("TYPE_") and isinstance(value, dict)
            text = ON_A_SCALAR if is_started else ""
            self.found.append((where, wrong_type_text(where, kind, value, text)))
        return None


def _place_text(place: Place) -> str:
    """The place in Google's notation: `requests[0].add_sheet`."""
    if isinstance(place, str):
        return place
    outer, name = place
    if isinstance(name, int):
        return f"{_place_text(outer)}[{name}]"
    return f"{_place_text(outer)}.{snake(name)}".removeprefix(".")
