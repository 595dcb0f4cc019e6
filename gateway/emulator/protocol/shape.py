"""Google's definitions of JSON objects as tables, and objects read as the tables say.

Rules
- A table names each field of a definition once, with how it is read; objects within objects are
  tables within tables.
- What is read is JSON again, checked: fields of another type or name are refused, and a field is
  left out where it says nothing (null, an enumeration's UNSPECIFIED).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.emulator.grid.cell import Json
from gateway.emulator.protocol.message import Message, snake, wrong_type

NUMERAL_LENGTH = 400  # the longest text that is taken for a number; a double has 309 digits


@dataclass(frozen=True, kw_only=True)
class Field:
    """How a field is read; `inner` is the definition of an object in it."""

    read: Callable[[Message, str], object]
    inner: "Shape | None" = None


Shape = Mapping[str, Field]


def read_shape(message: Message, shape: Shape) -> Json:
    """The object as its definition says; 400 for another type or name."""
    message.require_implemented(tuple(shape))
    found = {name: shape[name].read(message, name) for name in message.fields if message.has(name)}
    return {name: value for name, value in found.items() if value is not None}


def number(message: Message, name: str) -> float:
    """A double or a float; Google takes a text of it as well."""
    value = message.fields.get(name)
    is_numeral = isinstance(value, str) and len(value) <= NUMERAL_LENGTH
    if (isinstance(value, (int, float)) and not isinstance(value, bool)) or is_numeral:
        try:
            found = float(value)  # type: ignore[arg-type]  # checked by the line above
        except (ValueError, OverflowError):
            found = math.nan
        if math.isfinite(found):
            return found
    raise wrong_type(f"{message.place}.{snake(name)}", "TYPE_DOUBLE", value)


TEXT = Field(read=Message.text)
FLAG = Field(read=Message.flag)
INTEGER = Field(read=Message.integer)
NUMBER = Field(read=number)


def choice(kind: str, *names: str) -> Field:
    """An enumeration; its first name says nothing."""

    def read(message: Message, name: str) -> object:
        chosen = message.choice(name, kind, names)
        return None if chosen == names[0] else chosen

    return Field(read=read)


def one(shape: Shape) -> Field:
    """An object."""
    return Field(read=lambda message, name: read_shape(message.message(name), shape), inner=shape)


def many(shape: Shape) -> Field:
    """A list of objects."""

    def read(message: Message, name: str) -> object:
        return [read_shape(each, shape) for each in message.messages(name)]

    return Field(read=read, inner=shape)
