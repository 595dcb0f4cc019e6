"""Check the fields of a body one by one; each problem has its place."""

import math
from collections.abc import Sequence

from gateway.errors import InvalidBody, Problem
from gateway.table.record import (
    MAX_CELL_CHARACTERS,
    MAX_PROBLEMS,
    WHOLE_BODY,
    Stored,
    pointer,
)
from gateway.worksheets.writes import Fields

MAX_FIELDS = 1000
MAX_INTEGER = 2**53

_NESTED = "A value is a string, a number, true, false or null; not an object or a list."
_WRAPPERS = frozenset({"data", "fields", "items", "record", "records", "row", "rows", "values"})
"""Members in which other services wrap rows."""


def checked_fields(
    pairs: Sequence[tuple[str, object]], *, at: str = WHOLE_BODY
) -> tuple[Fields, list[Problem]]:
    """The fields of the object that `at` points to, and their problems.

    With too many fields none is checked; the check stops at the maximum number of problems.
    """
    fields: dict[str, Stored] = {}
    problems: list[Problem] = []
    if len(pairs) > MAX_FIELDS:
        return fields, [Problem(at, f"There are more than {MAX_FIELDS} fields.")]
    for name, value in pairs:
        fault = "The field is given twice." if name in fields else _fault(name, value)
        if fault is _NESTED and len(pairs) == 1:
            fault += _unwrapped(name, value)
        if fault is not None:
            problems.append(Problem(pointer(name, at=at), fault))
            if len(problems) == MAX_PROBLEMS:
                break
        fields[name] = value if isinstance(value, str | int | float | bool) else None
    return fields, problems


def unstorable(problems: Sequence[Problem]) -> InvalidBody:
    """The error for fields with these problems, at least one; it lists the first ones."""
    first = problems[0]
    return InvalidBody(
        "The body holds what cannot be stored; nothing was written. First: "
        f"{first.pointer} - {first.detail}",
        problems=problems[:MAX_PROBLEMS],
    )


def invalid_body(detail: str) -> InvalidBody:
    """The error for an invalid body as a whole."""
    return InvalidBody(detail, problems=[Problem(WHOLE_BODY, detail)])


def _fault(name: str, value: object) -> str | None:
    """The reason why a value cannot be stored, if any."""
    if not (name.isascii() or _is_encodable(name)):
        return "The name holds half of a surrogate pair."
    if isinstance(value, str):
        if len(value) > MAX_CELL_CHARACTERS:
            return f"A cell holds at most {MAX_CELL_CHARACTERS} characters."
        is_sound = value.isascii() or _is_encodable(value)
        return None if is_sound else "The text holds half of a surrogate pair."
    if isinstance(value, list):
        return _NESTED
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "A whole number beyond 2^53 would lose digits; send it as a string."
    if isinstance(value, float) and not math.isfinite(value):
        return "The number is not finite."
    return None


def _unwrapped(name: str, value: object) -> str:
    """Advice on the only member of an object, whose value is an object or a list."""
    is_list = _is_list(value)
    holds_objects = isinstance(value, list) and any(
        isinstance(each, list) and not _is_list(each) for each in value[:1]
    )
    if name.lower() in _WRAPPERS or (is_list and holds_objects):
        return f" Send the {'list' if is_list else 'object'} itself, without an object around it."
    return ""


def _is_list(value: object) -> bool:
    """True for a JSON list; a parsed object is an instance of a subclass."""
    return type(value) is list


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
