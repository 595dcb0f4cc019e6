"""Worksheets and the schemas of their rows, as values of the client."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

FieldType = Literal["number", "boolean", "date", "date-time", "time", "text"]
Right = Literal["read", "create", "update", "delete"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a worksheet; its type comes from the first cells, and later ones may differ."""

    name: str
    type: FieldType


@dataclass(frozen=True, kw_only=True)
class Worksheet:
    """A worksheet, as far as the key sees it."""

    name: str
    rows: int | None
    """The number of records; None if they were not read within the last minute."""
    fields: Sequence[Field]
    may: Sequence[Right]
    """The rights of the key."""


@dataclass(frozen=True, kw_only=True)
class Spreadsheet:
    """A spreadsheet; dates and times of its cells are in its time zone."""

    id: str
    title: str
    locale: str
    time_zone: str


@dataclass(frozen=True, kw_only=True)
class WorksheetList:
    """The worksheets that the key sees, in the order of their tabs."""

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
"""JSON Schema of a field; with `anyOf` an empty cell is a text without characters."""

Schema = TypedDict(
    "Schema",
    {
        "$schema": str,
        "title": str,
        "type": Literal["object"],
        "properties": dict[str, FieldSchema],
    },
)
"""JSON Schema (2020-12) of the fields of a typed row, in the order of the columns."""
