"""What is wrong with the body of a request, and where, in Google's words."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sheets_emulator.protocol.message import snake, unknown_name_text, wrong_type_text

Place = tuple["Place", str | int] | str
"""Where a value stands: the place of what it is in, and its name or number there."""
Read = Callable[[object, Place, "Findings"], object]
"""Reads a value; None where it says nothing, or is wrong and was found to be."""

MOST_FINDINGS = 50
NOT_REPEATING = "Proto field is not repeating, cannot start list."
ON_A_SCALAR = "Starting an object on a scalar field"


@dataclass(kw_only=True)
class Findings:
    """(field, description) of each mistake, of the first ones where there are many."""

    found: list[tuple[str, str]] = field(default_factory=list)

    def name(self, name: str, place: Place, reason: str = "Cannot find field.") -> None:
        """A name is wrong in what stands at the place."""
        if len(self.found) < MOST_FINDINGS:
            where = _told(place)
            self.found.append((where, unknown_name_text(name, where, reason)))

    def type(self, kind: str, value: object, place: Place) -> object:
        """The value at the place is not of its type. Returns None, to be read in its stead."""
        if isinstance(value, list) and not isinstance(place, str) and isinstance(place[1], str):
            self.name(place[1], place[0], NOT_REPEATING)
        elif len(self.found) < MOST_FINDINGS:
            where = _told(place)
            is_started = kind.startswith("TYPE_") and isinstance(value, dict)
            text = ON_A_SCALAR if is_started else ""
            self.found.append((where, wrong_type_text(where, kind, value, text)))
        return None


def _told(place: Place) -> str:
    """The place in Google's words: `requests[0].add_sheet`."""
    if isinstance(place, str):
        return place
    outer, name = place
    if isinstance(name, int):
        return f"{_told(outer)}[{name}]"
    return f"{_told(outer)}.{snake(name)}".removeprefix(".")
