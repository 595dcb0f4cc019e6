"""Google's definition of the Sheets API: methods, parameters, schemas and enumerations.

Rules:
- The table beside this module is generated from Google's discovery document (`sheets.v4.json`) and
  never edited by hand.
- A type is the name of a schema, an enumeration or a plain type (`int32`); a list with the type of
  its items; or `{"map": type}`.
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
    """A method; `request` is the schema of its body, or None."""

    parameters: Mapping[str, Type]
    request: str | None
    response: str


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Parts of the definition; every method has `parameters`, and `schemas` has members by name."""

    enumerations: Mapping[str, Sequence[str]]
    methods: Mapping[str, Method]
    parameters: Mapping[str, Type]
    schemas: Mapping[str, Mapping[str, Type]]


DEFINITION = msgspec.json.decode(
    (files("sheets_emulator.protocol") / "definition.json").read_bytes(), type=Definition
)


def method(call: str) -> Method:
    """A method by its call, such as `spreadsheets.get` or `values.get`."""
    name = call if call in DEFINITION.methods else f"spreadsheets.{call}"
    return DEFINITION.methods[name]


def members(kind: Type) -> Mapping[str, Type] | None:
    """The members of a type or of a list's items: {} for none, None for any name."""
    if isinstance(kind, list):
        return members(kind[0])
    if isinstance(kind, dict):
        return None
    return DEFINITION.schemas.get(kind, {})


def choices(enumeration: str) -> Sequence[str]:
    """The values of an enumeration without the unspecified one; the default comes first."""
    return [each for each in DEFINITION.enumerations[enumeration] if not is_unspecified(each)]


def is_unspecified(value: str) -> bool:
    """True if an enumeration's value means "unspecified"."""
    return value.endswith(NO_VALUE)
