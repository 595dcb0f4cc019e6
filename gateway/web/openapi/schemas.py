"""Schemas of the document: rows, bodies of writes, names of fields, the grammar of `where`."""

import re
from collections.abc import Mapping, Sequence
from typing import get_args

from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.where import COMBINATORS, MAX_CONDITIONS, MAX_DEPTH, NOT
from gateway.table.column_types import TypeName
from gateway.table.header import ROW_INDEX
from gateway.table.record import MAX_CELL_CHARACTERS
from gateway.web.answers import EmptyCell
from gateway.web.body import MAX_ROWS
from gateway.web.openapi.reach import Place, Reach
from gateway.web.parameters import MAX_WHERE_BYTES
from gateway.web.parsing import MAX_FIELDS, MAX_INTEGER
from gateway.web.schema import RIGHTS, json_schema_of

Node = Mapping[str, object]
"""A JSON object of the document."""
Nodes = Mapping[str, Node]


def reference(kind: str, name: str) -> Node:
    """A reference to a component, whose name needs no escaping."""
    return {"$ref": f"#/components/{kind}/{name}"}


def schema_reference(name: str) -> Node:
    return reference("schemas", name)


CELL, VALUE, RECORD, NUMBERED, MATCHES = "Cell", "Value", "Record", "Numbered", "Matches"
OPERAND, CRITERION, OPERATIONS = "Operand", "Criterion", "Operations"
_CREATED = "created"

CELLS: Mapping[EmptyCell, Node] = {
    "null": {
        "type": ["string", "null"],
        "minLength": 1,
        "description": "Displayed text of the cell, always a string; null if the cell is empty.",
    },
    "": {
        "type": "string",
        "description": 'Displayed text of the cell, always a string; "" if the cell is empty.',
    },
    "omit": {
        "type": "string",
        "minLength": 1,
        "description": "Displayed text of the cell, always a string. An empty cell is left out.",
    },
}
_TYPED_CELL: Node = {
    "type": ["string", "number", "boolean", "null"],
    "description": (
        "Value of the cell: a number, a boolean, a text, or a date or time of ISO 8601 in a "
        "string; null if the cell shows an error"
    ),
}
TYPED_CELLS: Mapping[EmptyCell, Node] = {
    "null": {**_TYPED_CELL, "description": f"{_TYPED_CELL['description']} or is empty."},
    "": {**_TYPED_CELL, "description": f'{_TYPED_CELL["description"]}, "" if it is empty.'},
    "omit": {**_TYPED_CELL, "description": f"{_TYPED_CELL['description']}. If empty, left out."},
}

_ROW_NUMBER: Node = {
    "type": "integer",
    "minimum": 2,
    "description": "The number of the row in the worksheet: row 1 is the header.",
}
_RECORD: Node = {
    "type": "object",
    "description": "A row in an error.",
    "properties": {ROW_INDEX: {"type": "integer"}},
    "required": [ROW_INDEX],
    "additionalProperties": schema_reference(CELL),
}
_NUMBERED: Node = {
    "type": "object",
    "properties": {ROW_INDEX: _ROW_NUMBER},
    "required": [ROW_INDEX],
    "additionalProperties": False,
}
_MATCHES: Node = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 0, "description": "Number of rows that matched."},
        "results": {
            "type": "array",
            "items": schema_reference(NUMBERED),
            "description": "The rows that matched, by their numbers before the write.",
        },
    },
    "required": ["count", "results"],
    "additionalProperties": False,
}
_SIZES: Node = {
    "maxLength": MAX_CELL_CHARACTERS,
    "minimum": -MAX_INTEGER,
    "maximum": MAX_INTEGER,
}
_PASSED_OVER: Node = {"not": {"type": ["object", "array"]}, **_SIZES}
"""Any value, without a type: lists of updates have integers, and generators refuse two types."""
_VALUE: Node = {
    "type": ["string", "number", "boolean", "null"],
    **_SIZES,
    "description": (
        "The value to store. A string is stored as text: `007` keeps its zeros. Numbers and "
        "booleans are stored as such; null and the empty string empty the cell."
    ),
}
_TYPED_VALUE: Node = {
    **_VALUE,
    "description": (
        "The value to store. A date or time of ISO 8601, without a UTC offset, is stored as "
        "such in a column of dates or times; any other string is stored as text. Numbers and "
        "booleans are stored as such. null empties the cell, unless it shows an error; the "
        "empty string empties any cell."
    ),
}
_OPERAND: Node = {
    "type": ["string", "number", "boolean", "null"],
    "description": (
        "A number is compared with numbers, a boolean with booleans. A string is compared with "
        "displayed texts; a string with a number, or with a date or time of ISO 8601, also with "
        "values of this kind. null and the empty string mean empty cells."
    ),
}


WORKSHEETS, SCHEMA = "Worksheets", "RecordSchema"
_TEXT: Node = {"type": "string"}
_NAME: Node = {"type": "string", "minLength": 1}
_LIST_OF_WORKSHEETS: Node = {
    "type": "object",
    "properties": {
        "spreadsheet": {
            "type": "object",
            "properties": dict.fromkeys(("id", "title", "locale", "timeZone"), _TEXT),
            "required": ["id", "title", "locale", "timeZone"],
            "additionalProperties": False,
        },
        "sheets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": _NAME,
                    "rows": {
                        "type": ["integer", "null"],
                        "description": "Number of records; null if not read recently.",
                    },
                    "fields": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "name": _NAME,
                                "type": {"type": "string", "enum": [*get_args(TypeName)]},
                            },
                            "required": ["name", "type"],
                            "additionalProperties": False,
                        },
                    },
                    "may": {"type": "array", "items": {"type": "string", "enum": [*RIGHTS]}},
                },
                "required": ["name", "rows", "fields", "may"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["spreadsheet", "sheets"],
    "additionalProperties": False,
}
_RECORD_SCHEMA: Node = {
    "type": "object",
    "description": "JSON Schema 2020-12 of the typed records of a worksheet.",
    "properties": {
        "title": {"type": "string"},
        "properties": {"type": "object", "additionalProperties": {"type": "object"}},
    },
    "required": ["title", "properties"],
}


def shared_schemas(reach: Reach) -> dict[str, Node]:
    """Schemas shared by all worksheets: of their cells, and of conditions in filters."""
    cells = TYPED_CELLS if reach.is_typed else CELLS
    schemas = {CELL: cells[reach.empty_cell], RECORD: _RECORD}
    schemas |= {WORKSHEETS: _LIST_OF_WORKSHEETS, SCHEMA: _RECORD_SCHEMA}
    if reach.may_write:
        schemas[VALUE] = _TYPED_VALUE if reach.is_typed else _VALUE
    if reach.writes_by_filter:
        schemas |= {NUMBERED: _NUMBERED, MATCHES: _MATCHES}
    if reach.may_query:
        schemas[OPERAND] = _OPERAND
        schemas[OPERATIONS] = {
            "type": "object",
            "description": "All of these must hold.",
            "properties": {
                **{name: _operator(name, each.description) for name, each in OPERATORS.items()},
                **{name: _operator(of, f"the same as `{of}`") for name, of in ALIASES.items()},
                NOT: {
                    "description": "the condition must not hold",
                    "allOf": [schema_reference(OPERATIONS)],
                },
            },
            "minProperties": 1,
            "additionalProperties": False,
        }
        schemas[CRITERION] = {"anyOf": [schema_reference(OPERAND), schema_reference(OPERATIONS)]}
    return schemas


def worksheet_schemas(place: Place) -> Nodes:
    """Components of a worksheet: its rows, the bodies of its writes, its fields and filters.

    A generator of clients makes a class for each, and drops components with unsuitable names.
    """
    stem, row = place.stem, schema_reference(f"{place.stem}Row")
    schemas = {f"{stem}Row": _row(place), f"{stem}Page": _page(row)}
    if place.is_writable:
        schemas[f"{stem}Fields"] = _fields(place)
        schemas[f"{stem}Results"] = _results(row)
        if place.reach.may_update:
            schemas[f"{stem}Form"] = {  # one row, whose values are strings
                "type": "object",
                "allOf": [
                    schema_reference(f"{stem}Fields"),
                    {"additionalProperties": {"type": "string"}},
                ],
            }
        if place.reach.has("update_rows"):
            schemas[f"{stem}Change"] = _change(stem)
        if place.reach.has("upsert"):
            schemas[f"{stem}Upserted"] = _upserted(place)
            schemas[f"{stem}Upserts"] = _results(schema_reference(f"{stem}Upserted"))
    if place.is_any:
        field: Node = {"type": "string", "minLength": 1, "description": "The name of a field."}
        term: Node = {"type": "string", "pattern": "^-?[^,-][^,]*$"}
    else:
        field = _enumeration([ROW_INDEX, *place.fields])
        # A comma parts terms, and a minus in front turns one round.
        named = (name for name in place.fields if "," not in name and name.strip()[:1] != "-")
        term = _enumeration([sign + name for name in (ROW_INDEX, *named) for sign in ("", "-")])
    schemas[f"{stem}Field"] = field
    if place.reach.may_query:
        schemas[f"{stem}Where"] = _where(place)
        schemas[f"{stem}Order"] = term
    return schemas


def _page(row: Node) -> Node:
    return {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": row},
            "hasNextPage": {
                "type": "boolean",
                "description": "True if more rows follow: request them with the cursor.",
            },
            "cursor": {
                "type": ["string", "null"],
                "description": (
                    "Cursor of the next page; null after the last. Only with `cursor`."
                ),
            },
            "total": {
                "type": "integer",
                "minimum": 0,
                "description": "Number of matching rows, on all pages. Only with `count=true`.",
            },
        },
        "required": ["results", "hasNextPage"],
        "additionalProperties": False,
    }


def list_of(row: Node) -> Node:
    """The schema of a list of rows in a body."""
    return {"type": "array", "items": row, "minItems": 1, "maxItems": MAX_ROWS}


def _results(row: Node) -> Node:
    return {
        "type": "object",
        "properties": {"results": {"type": "array", "items": row, "minItems": 1}},
        "required": ["results"],
        "additionalProperties": False,
    }


def _change(stem: str) -> Node:
    return {
        "description": "The row to update, and its fields to write.",
        "allOf": [
            schema_reference(f"{stem}Fields"),
            {
                "type": "object",
                "properties": {ROW_INDEX: _ROW_NUMBER},
                "required": [ROW_INDEX],
                "minProperties": 2,
            },
        ],
    }


def _upserted(place: Place) -> Node:
    field = {"anyOf": [{"enum": [_CREATED]}, schema_reference(f"{place.stem}Field")]}
    return {
        "type": "object",
        "description": "A row after an upsert, with its present fields.",
        "properties": {
            ROW_INDEX: _ROW_NUMBER,
            _CREATED: {
                "type": "boolean",
                "description": "True if the row is new, false if there was one with this key.",
            },
        },
        "required": [ROW_INDEX, _CREATED],
        "additionalProperties": schema_reference(CELL),
        **({} if place.is_any else {"propertyNames": field}),
    }


def _row(place: Place) -> Node:
    cell = schema_reference(CELL)
    cells = {
        name: json_schema_of(place.types[name], place.reach.empty_cell)
        if place.reach.is_typed
        else cell
        for name in place.fields
    }
    return {
        "type": "object",
        "description": (
            "A row of the worksheet. `keys` narrows it to some fields; an answer to a write has "
            "the fields that were sent."
        ),
        "properties": {ROW_INDEX: _ROW_NUMBER, **cells},
        "required": [ROW_INDEX],
        "additionalProperties": cell if place.is_any else False,
    }


def _fields(place: Place) -> Node:
    value = schema_reference(VALUE)
    takes_any = place.is_any or place.reach.ignores_unknown
    return {
        "type": "object",
        "description": (
            "Values by the names in the worksheet's first row. A `rowIndex` is ignored, so a "
            "row can be sent back unchanged. A new row needs a value in one field at least."
        ),
        "properties": {ROW_INDEX: _PASSED_OVER, **dict.fromkeys(place.writable, value)},
        "minProperties": 1,
        "maxProperties": MAX_FIELDS,
        "dependentSchemas": {ROW_INDEX: {"minProperties": 2}},
        "additionalProperties": value if takes_any else False,
    }


def _enumeration(values: Sequence[str]) -> Node:
    """Enumeration with names for the constants in generated clients.

    The generators' own names would be equal for `total sales` and `Total_Sales`, and a number for
    `-name`.
    """
    plain = [re.sub(r"\W+", "_", value).strip("_").upper() for value in values]
    names: dict[str, str] = {}
    for value, words in zip(values, plain, strict=True):
        name = f"{words}_DESC" if value.startswith("-") else words
        start = name if name[:1].isalpha() else f"FIELD_{name}"
        number, free = 1, start
        while free.replace("_", "") in names:
            number += 1
            free = f"{start}_{number}"
        names[free.replace("_", "")] = free
    named = [*names.values()]
    return {
        "type": "string",
        "enum": values,
        **({} if named == plain else {"x-enum-varnames": named}),
    }


def _operator(name: str, description: str) -> Node:
    """The schema of an operator's operand; a reference cannot have a description beside it."""
    shape = OPERATORS[name].operand
    operand = {"type": shape.json_type} if shape.json_type else schema_reference(OPERAND)
    if shape.is_list:
        return {"type": "array", "items": operand, "description": description}
    if shape.json_type:
        return {**operand, "description": description}
    return {"description": description, "allOf": [operand]}


def _where(place: Place) -> Node:
    itself = schema_reference(f"{place.stem}Where")
    several = {"type": "array", "items": itself, "minItems": 1}
    words = [*COMBINATORS, NOT]
    fields = {"anyOf": [{"enum": words}, schema_reference(f"{place.stem}Field")]}
    return {
        "type": "object",
        "description": (
            "Field names, each with a value that the cell must equal, or with an object of "
            f"operators: {_as_text([*OPERATORS, *ALIASES, NOT])}. Several fields, and several "
            f"operators, must all hold; {_as_text(words)} combine such objects. At most "
            f"{MAX_CONDITIONS} conditions, {MAX_DEPTH} objects deep, {MAX_WHERE_BYTES} bytes."
        ),
        "properties": {**dict.fromkeys(COMBINATORS, several), NOT: itself},
        "additionalProperties": schema_reference(CRITERION),
        **({} if place.is_any else {"propertyNames": fields}),
    }


def _as_text(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
