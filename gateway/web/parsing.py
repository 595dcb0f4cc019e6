"""Parse bodies: JSON with repeated names, and the checks of its fields. Large bodies use a thread.

Rules
- Parsing can stop before the end of the text only if the body is invalid in any case: too many
  members or elements, a long list or object as a value, the maximum number of problems.
- A valid body is long only in its two outer levels: the list of rows, and the row. This module
  parses these levels. The standard library parses short objects and all values: no other thread can
  run during one of its calls.
- Large bodies have their own thread, so that bodies and queries do not wait for each other. Each
  key has at most one body in the thread's queue, so that no key waits for all bodies of another.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from gateway.errors import InvalidBody, Problem
from gateway.table.cells import is_encodable
from gateway.table.record import MAX_CELL_CHARACTERS, MAX_PROBLEMS, WHOLE_BODY, Stored, pointer
from gateway.web.json_faults import BODY, explain
from gateway.worksheets.writes import Fields

MAX_FIELDS = 1000
MAX_INTEGER = 2**53

_NESTED = "A value must be a string, a number, true, false or null, not an object or a list."
_WRAPPERS = frozenset({"data", "fields", "items", "record", "records", "row", "rows", "values"})
"""Names of JSON members that contain the rows in bodies for other services."""


def checked_fields(
    pairs: Sequence[tuple[str, object]], *, at: str = WHOLE_BODY
) -> tuple[Fields, list[Problem]]:
    """Return the fields of an object, and their problems. `at` is the JSON pointer of the object.

    Too many fields are one problem. The check stops after `MAX_PROBLEMS` problems.
    """
    fields: dict[str, Stored] = {}
    problems: list[Problem] = []
    if len(pairs) > MAX_FIELDS:
        return fields, [
            Problem(at, f"The object exceeds the limit of {MAX_FIELDS} fields. Send fewer.")
        ]
    for name, value in pairs:
        fault = "The field appears twice. Send it once." if name in fields else _fault(name, value)
        if fault is _NESTED and len(pairs) == 1:
            fault += _unwrapped(name, value)
        if fault is not None:
            problems.append(Problem(pointer(name, at=at), fault))
            if len(problems) == MAX_PROBLEMS:
                break
        fields[name] = value if isinstance(value, str | int | float | bool) else None
    return fields, problems


def unstorable(problems: Sequence[Problem]) -> InvalidBody:
    """Return the error for problems of fields: it lists the first `MAX_PROBLEMS` of them."""
    first = problems[0]
    return InvalidBody(
        "The body has values that cannot be stored; nothing was written. First problem: "
        f"{first.pointer} - {first.detail}",
        problems=problems[:MAX_PROBLEMS],
    )


def invalid_body(detail: str) -> InvalidBody:
    """Return the error for a body that is invalid as a whole."""
    return InvalidBody(detail, problems=[Problem(WHOLE_BODY, detail)])


def _fault(name: str, value: object) -> str | None:
    """Return the reason why a value cannot be stored, or None."""
    if not (name.isascii() or is_encodable(name)):
        return "The name has a lone surrogate (invalid Unicode). Remove it."
    if isinstance(value, str):
        if len(value) > MAX_CELL_CHARACTERS:
            return f"A cell can hold at most {MAX_CELL_CHARACTERS} characters. Shorten the text."
        is_sound = value.isascii() or is_encodable(value)
        return None if is_sound else "The text has a lone surrogate (invalid Unicode). Remove it."
    if isinstance(value, list):
        return _NESTED
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "An integer beyond 2^53 would lose digits. Send it as a string."
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN and infinite numbers cannot be stored. Send null or a string."
    return None


def _unwrapped(name: str, value: object) -> str:
    """Return advice for a body with the row in one member, such as {"data": {…}}, or ""."""
    is_list = type(value) is list  # an object is a `Pairs`
    holds_objects = isinstance(value, list) and any(isinstance(each, Pairs) for each in value[:1])
    if name.lower() in _WRAPPERS or (is_list and holds_objects):
        return f" Send the {'list' if is_list else 'object'} itself, without an object around it."
    return ""


MOST_BYTES = 32_768
"""Maximum bytes of a body parsed on the event loop. Many small fields take about 5 ms."""

MAX_ROWS = 500
"""Maximum number of rows in one body."""

NEAR = 8192
"""Maximum characters that the standard library parses at once."""

_skip_blanks = re.compile(r"[ \t\n\r]*").match

T = TypeVar("T")
Found = tuple[T, int | None]
"""A parsed value, and the position after it, or None if the text was not parsed to its end."""


class Parsing:
    """Runs the parsing of bodies, of long bodies in one thread."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, key_id: str, byte_count: int, work: Callable[[], T]) -> T:
        """Run `work`, and return its result. With more than `MOST_BYTES` bytes, use the thread."""
        if byte_count <= MOST_BYTES:
            return work()
        return await self.beside(key_id, work)

    async def beside(self, key_id: str, work: Callable[[], T]) -> T:
        """Run `work` in the thread, and return its result.

        Each API key has at most one call in the queue of the thread. The others wait for it.
        """
        turn = self._turns.setdefault(key_id, asyncio.Lock())
        async with turn:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)


class Pairs(list[tuple[str, object]]):
    """A JSON object as pairs of name and value, including repeated names."""


def decode_json(text: str) -> object:
    """Decode JSON, with `Pairs` for objects. Raises InvalidBody with the position of an error.

    Values that a later check refuses are decoded as far as the check needs: NaN and infinities are
    kept, too many members or elements are cut to the maximum plus one, and a long list or object in
    a row becomes an empty list.
    """
    if len(text) <= NEAR and text.startswith("{"):
        with suppress(json.JSONDecodeError, RecursionError):  # reported below
            return _decoder.decode(text)
    try:
        value: object
        at = _after_blanks(text, 0)
        if text.startswith("[", at):
            value, end = _listed(text, at, "]", _element, MAX_ROWS, _is_no_row)
        else:
            value, end = _element(text, at)
        if end is not None and _after_blanks(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, _after_blanks(text, end))
    except json.JSONDecodeError as error:
        raise invalid_body(explain(BODY, text, error)) from error
    except RecursionError as error:
        raise invalid_body(
            "The body is nested too deeply. Send no list or object as the value of a field."
        ) from error
    return value


def _element(text: str, at: int) -> Found[object]:
    """Parse the JSON value at `text[at]`: the whole body, or an element of its list."""
    if not text.startswith("{", at):
        return _value(text, at)
    if near := _near(text, at):
        return near
    members, end = _listed(text, at, "}", _member, MAX_FIELDS, _is_no_field)
    return Pairs(members), end


def _member(text: str, at: int) -> Found[tuple[str, object]]:
    if not text.startswith('"', at):
        raise json.JSONDecodeError("Expecting property name in double quotes", text, at)
    name, at = _decoder.raw_decode(text, at)
    at = _after_blanks(text, at)
    if not text.startswith(":", at):
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    value, end = _value(text, _after_blanks(text, at + 1))
    return (name, value), end


def _value(text: str, at: int) -> Found[object]:
    """Parse the value of a member at `text[at]`.

    A list or object that is invalid, or that has more than `NEAR` characters, becomes an empty list
    without a position after it. Raises JSONDecodeError for invalid JSON in the last `NEAR`
    characters of the text.
    """
    if not text.startswith(("{", "["), at) or len(text) - at <= NEAR:
        return _decoder.raw_decode(text, at)
    return _near(text, at) or ([], None)


def _near(text: str, at: int) -> Found[object] | None:
    """Parse the object or list at `text[at]`.

    Returns None if it is invalid or has more than `NEAR` characters.
    """
    try:
        value, end = _decoder.raw_decode(text[at : at + NEAR])
    except json.JSONDecodeError:
        return None
    return value, at + end


def _is_no_field(member: tuple[str, object]) -> bool:
    return isinstance(member[1], list)


def _is_no_row(element: object) -> bool:
    return not isinstance(element, Pairs) or any(map(_is_no_field, element))


def _listed(
    text: str,
    at: int,
    closing: str,
    read: Callable[[str, int], Found[T]],
    most: int,
    is_fault: Callable[[T], bool],
) -> Found[list[T]]:
    """Parse the items between the bracket at `text[at]` and the bracket `closing`.

    `read` parses the item at a position. Parsing stops after `most` + 1 items, or in a long text
    after `MAX_PROBLEMS` items for which `is_fault` returns True.
    """
    found: list[T] = []
    faults = 0
    at = _after_blanks(text, at + 1)
    if text.startswith(closing, at):
        return found, at + 1
    while len(found) <= most:
        each, end = read(text, at)
        found.append(each)
        faults += is_fault(each)
        if end is None or (faults >= MAX_PROBLEMS and len(text) - end > NEAR):
            return found, None
        at = _after_blanks(text, end)
        if text.startswith(closing, at):
            return found, at + 1
        if not text.startswith(",", at):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _after_blanks(text, at + 1)
    return found, None


def _after_blanks(text: str, at: int) -> int:
    match = _skip_blanks(text, at)
    return at if match is None else match.end()


# For speed, only the first 18 digits of an integer count: enough to find that it is too large.
_decoder = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=lambda digits: int(digits[:18]))
