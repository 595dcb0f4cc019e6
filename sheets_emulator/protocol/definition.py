"""Google's definition of the Sheets API: its methods, parameters, schemas and enumerations.

Rules
- The table beside this module has the names and types of Google's discovery document
  (`sheets.v4.json`) and is made from it: by hand nothing is changed in it.
- A type is the name of a schema, of an enumeration or of a plain type (`int32`); a list with the
  type of its items; or `{"map": type}`.
- No schema is anywhere within itself.
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
    """A method; `request` is the schema of its body, None where it takes none."""

    parameters: Mapping[str, Type]
    request: str | None
    response: str


@dataclass(frozen=True, kw_only=True)
class Definition:
    """`parameters` are those that every method takes; the members of schemas by their names."""

    enumerations: Mapping[str, Sequence[str]]
    methods: Mapping[str, Method]
    parameters: Mapping[str, Type]
    schemas: Mapping[str, Mapping[str, Type]]


DEFINITION = msgspec.json.decode(
    (files("sheets_emulator.protocol") / "definition.json").read_bytes(), type=Definition
)


def method(call: str) -> Method:
    """The method of a call: `spreadsheets.get`, `values.get`."""
    name = call if call in DEFINITION.methods else f"spreadsheets.{call}"
    return DEFINITION.methods[name]


def members(kind: Type) -> Mapping[str, Type] | None:
    """What is in a value or in each of a list: {} for nothing, None for any name."""
    if isinstance(kind, list):
        return members(kind[0])
    if isinstance(kind, dict):
        return None
    return DEFINITION.schemas.get(kind, {})


def choices(enumeration: str) -> Sequence[str]:
    """The values of an enumeration without the one that says nothing; first the default."""
    return [each for each in DEFINITION.enumerations[enumeration] if not says_nothing(each)]


def says_nothing(value: str) -> bool:
    """Is a value of an enumeration as good as none?"""
    return value.endswith(NO_VALUE)
