"""Worksheets and JSON Schemas that the client returns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

FieldType = Literal["number", "boolean", "date", "date-time", "time", "text"]
Right = Literal["read", "create", "update", "delete"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a worksheet. The gateway infers `type`, so cells can have another type."""

    name: str
    type: FieldType


@dataclass(frozen=True, kw_only=True)
class Worksheet:
    """A worksheet with the fields and rights of the API key."""

    name: str
    rows: int | None
    """Number of records; None if the gateway did not read the worksheet in the last minute."""
    fields: Sequence[Field]
    """The fields that the key can access."""
    may: Sequence[Right]
    """The operations that the key is allowed to do."""


@dataclass(frozen=True, kw_only=True)
class Spreadsheet:
    """A spreadsheet. `time_zone` is the time zone of dates and times in its cells."""

    id: str
    title: str
    locale: str
    time_zone: str


@dataclass(frozen=True, kw_only=True)
class WorksheetList:
    """The worksheets that the API key can access, in the order of their tabs."""

    spreadsheet: Spreadsheet
    sheets: Sequence[Worksheet]

    def __iter__(self) -> Iterator[Worksheet]:
        return iter(self.sheets)

    def __len__(self) -> int:
        return len(self.sheets)


FieldSchema = TypedDict(
    "FieldSchema",
    {
        "type": list[Literal["number", "boolean", "string", "null"]],
        "format": Literal["date", "date-time", "time"],
        "enum": list[str | int | float | bool | None],
        "anyOf": list[dict[str, object]],
        "readOnly": Literal[True],
        "x-column": str,
        "x-source": Literal["table", "validation", "format", "cells"],
    },
    total=False,
)
"""JSON Schema of a field. If empty cells are `""`, `anyOf` has the schema and `{"const": ""}`."""

Schema = TypedDict(
    "Schema",
    {
        "$schema": str,
        "title": str,
        "type": Literal["object"],
        "properties": dict[str, FieldSchema],
    },
)
"""JSON Schema (2020-12) of the fields of a row with typed values, in column order."""
