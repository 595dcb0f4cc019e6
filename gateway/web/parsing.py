"""Parse bodies: JSON as it was written, and large ones in a thread, in fair turns.

Rules
- What is refused in any case is decoded no further than it takes to see that: to the first member
  or element too many, to a long value that is a list or an object, to as many places as are told.
  What is left out is behind something that cannot be stored, so nobody can take the rest for the
  whole.
- The two outer levels, which alone may be long, are walked here; short objects, and all values, are
  left to the scanner of the standard library. It holds the interpreter while it is at work.
- Large bodies have a thread of their own, so that bodies wait for no query of rows and queries for
  no body; and of each key one body is in line for it, so that nobody waits for all that another key
  has sent.
"""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from gateway.table.record import MAX_PROBLEMS
from gateway.web.fields import MAX_FIELDS, invalid_body

MOST_BYTES = 32_768
"""Of bodies that are parsed on the event loop; one of many small fields takes about 5 ms."""

MAX_ROWS = 500
"""Rows that one request may create."""

NEAR = 8192
"""Characters in which an object is looked for as a whole, and a value that is none to be stored."""

_skip_blanks = re.compile(r"[ \t\n\r]*").match

T = TypeVar("T")
Found = tuple[T, int | None]
"""What begins somewhere, and where it ends; None if what follows was not looked at."""


class Parsing:
    """The thread for the bodies of one gateway."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, key_id: str, byte_count: int, work: Callable[[], T]) -> T:
        """What the work gives on a body of so many bytes that came with this key."""
        if byte_count <= MOST_BYTES:
            return work()
        return await self.beside(key_id, work)

    async def beside(self, key_id: str, work: Callable[[], T]) -> T:
        """What the work gives, made in the thread when it is this key's turn."""
        turn = self._turns.setdefault(key_id, asyncio.Lock())
        async with turn:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)


class Pairs(list[tuple[str, object]]):
    """A JSON object as it was written, repeated members and all."""


def decode_json(text: str) -> object:
    """The value; objects in it are `Pairs`, lists are lists. InvalidBody says where it is broken.

    NaN and the infinities are let through, for the error that names their field. Of too many
    members or elements there is one more than there may be, of a long list or object within a row
    an empty list.
    """
    if len(text) <= NEAR and text.startswith("{"):
        with suppress(json.JSONDecodeError, RecursionError):  # told below, in words
            return _decoder.decode(text)
    try:
        value, end = _whole(text, _after_blanks(text, 0))
        if end is not None and _after_blanks(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, _after_blanks(text, end))
    except json.JSONDecodeError as error:
        raise invalid_body(
            f"The body is not JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    except RecursionError as error:
        raise invalid_body("The body is nested too deep.") from error
    return value


def _whole(text: str, at: int) -> Found[object]:
    if text.startswith("[", at):
        return _listed(text, at, "]", _element, MAX_ROWS, _is_no_row)
    return _element(text, at)


def _element(text: str, at: int) -> Found[object]:
    """The whole body, or an element of it."""
    if not text.startswith("{", at):
        return _value(text, at)
    near = _near(text, at)
    if near is not None:
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
    """What cannot be stored is only looked through where it is short."""
    if not text.startswith(("{", "["), at) or len(text) - at <= NEAR:
        return _decoder.raw_decode(text, at)
    return _near(text, at) or ([], None)


def _near(text: str, at: int) -> Found[object] | None:
    """The object or list that begins here, if it ends soon and is not broken."""
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
    """What stands between the mark at `at` and the closing one; of too many, one more than most."""
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


def _parse_integer(digits: str) -> int:
    """The integer, or one that is as surely too large: parsing thousands of digits is slow."""
    return int(digits[:18])


_decoder = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=_parse_integer)
