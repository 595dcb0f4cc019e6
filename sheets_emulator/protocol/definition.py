"""Google's definition of the Sheets API: methods, parameters, schemas and enumerations.

Rules:
- `definition.json` is generated from Google's discovery document (`sheets.v4.json`) and never
  edited by hand.
- A type is the name of a schema, an enumeration or a plain type (`int32`). A list type has the type
  of its items, and `{"map": type}` has any names.
- No schema contains itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec

Type = str | list[Any] | dict[str, Any]
NO_VALUE = ("_UNSPECIFIED", "_UNDEFINED")


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method of the API.

    `request` and `response` are schemas of the bodies. A `request` of None means no body.
    """

    parameters: Mapping[str, Type]
    request: str | None
    response: str


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Google's definition of the API.

    `parameters` are the query parameters of every method. `schemas` has the types of members by
    schema and member name.
    """

    enumerations: Mapping[str, Sequence[str]]
    methods: Mapping[str, Method]
    parameters: Mapping[str, Type]
    schemas: Mapping[str, Mapping[str, Type]]


DEFINITION = msgspec.json.decode(
    (files("sheets_emulator.protocol") / "definition.json").read_bytes(), type=Definition
)


def method(call: str) -> Method:
    """Return a method by its name, such as `spreadsheets.get` or `values.get`."""
    name = call if call in DEFINITION.methods else f"spreadsheets.{call}"
    return DEFINITION.methods[name]


def members(kind: Type) -> Mapping[str, Type] | None:
    """Return the members of a type, or of a list's items, by name.

    {} means no members, and None means that the type is a map with any names.
    """
    if isinstance(kind, list):
        return members(kind[0])
    if isinstance(kind, dict):
        return None
    return DEFINITION.schemas.get(kind, {})


def choices(enumeration: str) -> Sequence[str]:
    """Return the values of an enumeration without the unspecified value. The default is first."""
    return [each for each in DEFINITION.enumerations[enumeration] if not is_unspecified(each)]


def is_unspecified(value: str) -> bool:
    """True if a value of an enumeration means "unspecified"."""
    return value.endswith(NO_VALUE)
