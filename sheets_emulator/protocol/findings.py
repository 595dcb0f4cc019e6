"""Validation errors of a request body, in Google's words."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sheets_emulator.protocol.message import snake, unknown_name_text, wrong_type_text

Place = tuple["Place", str | int] | str
"""The path to a value: the path to its parent, and its name or index in the parent."""
Read = Callable[[object, Place, "Findings"], object]
"""Function that checks a value at a path. Returns the converted value, or None.

An invalid value is recorded in the findings and gives None. So does an unspecified value.
"""

MAX_FINDINGS = 50
NOT_REPEATING = "Proto field is not repeating, cannot start list."
ON_A_SCALAR = "Starting an object on a scalar field"


@dataclass(kw_only=True)
class Findings:
    """Validation errors, each as (field, description). Only the first `MAX_FINDINGS` are kept."""

    found: list[tuple[str, str]] = field(default_factory=list)

    def name(self, name: str, place: Place, reason: str = "Cannot find field.") -> None:
        """Record an invalid name in the object at a path."""
        if len(self.found) < MAX_FINDINGS:
            where = _place_text(place)
            self.found.append((where, unknown_name_text(name, where, reason)))

    def type(self, kind: str, value: object, place: Place) -> object:
        """Record a value of a wrong type. `kind` is the required type. Returns None."""
        if isinstance(value, list) and not isinstance(place, str) and isinstance(place[1], str):
            self.name(place[1], place[0], NOT_REPEATING)
        elif len(self.found) < MAX_FINDINGS:
            where = _place_text(place)
            is_started = kind.startswith("TYPE_") and isinstance(value, dict)
            text = ON_A_SCALAR if is_started else ""
            self.found.append((where, wrong_type_text(where, kind, value, text)))
        return None


def _place_text(place: Place) -> str:
    """Return a path in Google's notation, such as `requests[0].add_sheet`."""
    if isinstance(place, str):
        return place
    outer, name = place
    if isinstance(name, int):
        return f"{_place_text(outer)}[{name}]"
    return f"{_place_text(outer)}.{snake(name)}".removeprefix(".")
