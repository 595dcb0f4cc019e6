"""Schemas of the OpenAPI document: rows, bodies of writes, field names, grammar of `where`."""

import re
from collections.abc import Mapping, Sequence
from typing import get_args

from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.query import COMBINATORS, MAX_CONDITIONS, MAX_DEPTH, NOT
from gateway.storage.key_store import RIGHTS
from gateway.table.column_types import TypeName
from gateway.table.header import ROW_INDEX
from gateway.table.record import MAX_CELL_CHARACTERS
from gateway.web.answers import EmptyCell
from gateway.web.body import MAX_ROWS
from gateway.web.openapi.reach import Place, Reach, unique_name
from gateway.web.parameters import MAX_WHERE_BYTES
from gateway.web.parsing import MAX_FIELDS, MAX_INTEGER
from gateway.web.schema import json_schema_of

Node = Mapping[str, object]
"""A JSON object in the document."""
Nodes = Mapping[str, Node]

CELL, VALUE, RECORD, NUMBERED, MATCHES = "Cell", "Value", "Record", "Numbered", "Matches"
OPERAND, CRITERION, OPERATIONS = "Operand", "Criterion", "Operations"
WORKSHEETS, SCHEMA = "Worksheets", "RecordSchema"
_CREATED = "created"


def ref(name: str, kind: str = "schemas") -> Node:
    """Return a reference to a component. Its name must need no escaping in a JSON pointer.

    `kind` is the group of components, such as `parameters`.
    """
    return {"$ref": f"#/components/{kind}/{name}"}


def object_of(
    properties: Mapping[str, object],
    required: Sequence[str] | None = None,
    *,
    about: str = "",
    others: object = False,
) -> dict[str, object]:
    """Return the schema of an object with these properties. By default all are required.

    `about` is the description. `others` is the schema of further properties, or False if they are
    not allowed.
    """
    return {
        "type": "object",
        **({"description": about} if about else {}),
        "properties": properties,
        "required": [*properties] if required is None else required,
        "additionalProperties": others,
    }


def list_of(row: Node) -> Node:
    """Return the schema of a list of rows in a body."""
    return {"type": "array", "items": row, "minItems": 1, "maxItems": MAX_ROWS}


TEXT: Node = {"type": "string"}
COUNT: Node = {"type": "integer", "minimum": 0}
_NAME: Node = {"type": "string", "minLength": 1}
_TEXT_OF_CELL = "Displayed text of the cell, always a string"
CELLS: Mapping[EmptyCell, Node] = {
    "null": {
        "type": ["string", "null"],
        "minLength": 1,
        "description": f"{_TEXT_OF_CELL}; null if the cell is empty.",
    },
    "": {**TEXT, "description": f'{_TEXT_OF_CELL}; "" if the cell is empty.'},
    "omit": {**_NAME, "description": f"{_TEXT_OF_CELL}. An empty cell is left out."},
}
_ANY_TYPE = ["string", "number", "boolean", "null"]
_VALUE_OF_CELL = (
    "Value of the cell: a number, a boolean, a text, or a date or time of ISO 8601 in a "
    "string; null if the cell shows an error"
)
_EMPTY_TYPED: Mapping[EmptyCell, str] = {
    "null": " or is empty.",
    "": ', "" if it is empty.',
    "omit": ". An empty cell is left out.",
}

_ROW_NUMBER: Node = {
    "type": "integer",
    "minimum": 2,
    "description": "The number of the row in the worksheet: row 1 is the header.",
}
_SIZES: Node = {"maxLength": MAX_CELL_CHARACTERS, "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
_PASSED_OVER: Node = {"not": {"type": ["object", "array"]}, **_SIZES}
"""Schema of the `rowIndex` in a body, which the gateway ignores: any value but objects and arrays.

The schema does not list the allowed types, because generators of clients do not support a list.
"""
_VALUES: Mapping[bool, str] = {
    False: (
        "The value to store. A string is stored as text: `007` keeps its zeros. Numbers and "
        "booleans are stored as such; null and the empty string empty the cell."
    ),
    True: (
        "The value to store. In a column of dates or times, an ISO 8601 date or time without a "
        "UTC offset is stored as a date or time. Any other string is stored as text. Numbers and "
        "booleans are stored as such. null empties the cell, unless the cell shows an error; the "
        "empty string empties any cell."
    ),
}
"""Descriptions of values in bodies: with displayed values, and with typed values (True)."""
_MATCHES: Node = object_of(
    {
        "count": {**COUNT, "description": "Number of rows that matched."},
        "results": {
            "type": "array",
            "items": ref(NUMBERED),
            "description": "The matching rows, with their row numbers before the write.",
        },
    }
)
_OPERAND: Node = {
    "type": _ANY_TYPE,
    "description": (
        "A number is compared with numbers, and a boolean with booleans. A string is compared "
        "with displayed texts. A string that is a number or an ISO 8601 date or time is also "
        "compared with numbers, dates or times. null and the empty string mean empty cells."
    ),
}
_FIELD_TYPE: Node = {"type": "string", "enum": [*get_args(TypeName)]}
_WORKSHEET: Node = object_of(
    {
        "name": _NAME,
        "rows": {
            "type": ["integer", "null"],
            "description": "Number of records; null if the worksheet was not read recently.",
        },
        "fields": {"type": "array", "items": object_of({"name": _NAME, "type": _FIELD_TYPE})},
        "may": {"type": "array", "items": {"type": "string", "enum": [*RIGHTS]}},
    }
)
_OF_ALL: Nodes = {
    RECORD: object_of(
        {ROW_INDEX: {"type": "integer"}}, about="A row that an error shows.", others=ref(CELL)
    ),
    WORKSHEETS: object_of(
        {
            "spreadsheet": object_of(dict.fromkeys(("id", "title", "locale", "timeZone"), TEXT)),
            "sheets": {"type": "array", "items": _WORKSHEET},
        }
    ),
    SCHEMA: {
        "type": "object",
        "description": "JSON Schema 2020-12 of the typed records of a worksheet.",
        "properties": {
            "title": TEXT,
            "properties": {"type": "object", "additionalProperties": {"type": "object"}},
        },
        "required": ["title", "properties"],
    },
}


def shared_schemas(reach: Reach) -> dict[str, Node]:
    """Return the schemas that all worksheets share, by name: cells, and conditions of filters."""
    empty, cell = reach.empty_cell, CELLS[reach.empty_cell]
    if reach.is_typed:
        cell = {"type": _ANY_TYPE, "description": f"{_VALUE_OF_CELL}{_EMPTY_TYPED[empty]}"}
    schemas = {CELL: cell, **_OF_ALL}
    if reach.may_write:
        schemas[VALUE] = {"type": _ANY_TYPE, **_SIZES, "description": _VALUES[reach.is_typed]}
    if reach.writes_by_filter:
        schemas |= {NUMBERED: object_of({ROW_INDEX: _ROW_NUMBER}), MATCHES: _MATCHES}
    if reach.may_query:
        operators = {name: _operator(name, each.description) for name, each in OPERATORS.items()}
        operators |= {name: _operator(of, f"the same as `{of}`") for name, of in ALIASES.items()}
        negation = {"description": "the condition must not be true", "allOf": [ref(OPERATIONS)]}
        schemas[OPERAND] = _OPERAND
        schemas[OPERATIONS] = {
            "type": "object",
            "description": "All of these conditions must be true.",
            "properties": {**operators, NOT: negation},
            "minProperties": 1,
            "additionalProperties": False,
        }
        schemas[CRITERION] = {"anyOf": [ref(OPERAND), ref(OPERATIONS)]}
    return schemas


def worksheet_schemas(place: Place) -> Nodes:
    """Return the schemas of a worksheet, by name: rows, bodies of writes, fields and filters.

    The names begin with the worksheet's stem, so that generators of clients can name their classes.
    """
    stem, reach, row = place.stem, place.reach, ref(f"{place.stem}Row")
    schemas = {f"{stem}Row": _row(place), f"{stem}Page": _page(row)}
    if place.is_writable:
        schemas[f"{stem}Fields"] = _fields(place)
        schemas[f"{stem}Results"] = _results(row)
        if reach.has("update"):  # one row, whose values are strings
            only_texts = {"additionalProperties": TEXT}
            schemas[f"{stem}Form"] = {"type": "object", "allOf": [ref(f"{stem}Fields"), only_texts]}
        if reach.has("update_rows"):
            schemas[f"{stem}Change"] = _change(stem)
        if reach.has("upsert"):
            schemas[f"{stem}Upserted"] = _upserted(place)
            schemas[f"{stem}Upserts"] = _results(ref(f"{stem}Upserted"))
    if place.is_any:
        field: Node = {**_NAME, "description": "The name of a field."}
        term: Node = {"type": "string", "pattern": "^-?[^,-][^,]*$"}
    else:
        field = _enumeration([ROW_INDEX, *place.fields])
        # A comma separates terms, and a minus in front means descending order.
        named = (name for name in place.fields if "," not in name and name.strip()[:1] != "-")
        term = _enumeration([sign + name for name in (ROW_INDEX, *named) for sign in ("", "-")])
    schemas[f"{stem}Field"] = field
    if reach.may_query:
        schemas[f"{stem}Where"] = _where(place)
        schemas[f"{stem}Order"] = term
    return schemas


def _page(row: Node) -> Node:
    return object_of(
        {
            "results": {"type": "array", "items": row},
            "hasNextPage": {
                "type": "boolean",
                "description": "True if more rows follow. Request the next page with the cursor.",
            },
            "cursor": {
                "type": ["string", "null"],
                "description": "Cursor of the next page; null on the last one. Only with `cursor`.",
            },
            "total": {
                **COUNT,
                "description": "Number of matching rows on all pages. Only with `count=true`.",
            },
        },
        ["results", "hasNextPage"],
    )


def _results(row: Node) -> Node:
    return object_of({"results": {"type": "array", "items": row, "minItems": 1}})


def _change(stem: str) -> Node:
    numbered = {
        "type": "object",
        "properties": {ROW_INDEX: _ROW_NUMBER},
        "required": [ROW_INDEX],
        "minProperties": 2,
    }
    about = "The row to update, and its fields to write."
    return {"description": about, "allOf": [ref(f"{stem}Fields"), numbered]}


def _upserted(place: Place) -> Node:
    created = {
        "type": "boolean",
        "description": "True if the row is new; false if a row with this key existed.",
    }
    row = object_of(
        {ROW_INDEX: _ROW_NUMBER, _CREATED: created},
        about="A row after an upsert, with its current values.",
        others=ref(CELL),
    )
    field = {"anyOf": [{"enum": [_CREATED]}, ref(f"{place.stem}Field")]}
    return row if place.is_any else {**row, "propertyNames": field}


def _row(place: Place) -> Node:
    cell, reach = ref(CELL), place.reach
    cells: dict[str, object] = dict.fromkeys(place.fields, cell)
    if reach.is_typed:
        cells = {name: json_schema_of(place.types[name], reach.empty_cell) for name in cells}
    return object_of(
        {ROW_INDEX: _ROW_NUMBER, **cells},
        [ROW_INDEX],
        about="A row of the worksheet. With `keys` it has only these fields. The answer to a write "
        "has only the fields that were sent.",
        others=cell if place.is_any else False,
    )


def _fields(place: Place) -> Node:
    value = ref(VALUE)
    takes_any = place.is_any or place.reach.ignores_unknown
    return {
        "type": "object",
        "description": (
            "Values by field name, as in the worksheet's first row. `rowIndex` is ignored, so "
            "you can send a row back as you read it. A new row needs a value in at least one field."
        ),
        "properties": {ROW_INDEX: _PASSED_OVER, **dict.fromkeys(place.writable, value)},
        "minProperties": 1,
        "maxProperties": MAX_FIELDS,
        "dependentSchemas": {ROW_INDEX: {"minProperties": 2}},
        "additionalProperties": value if takes_any else False,
    }


def _enumeration(values: Sequence[str]) -> Node:
    """Return an enumeration with names for the constants in generated clients.

    Generators would give `total sales` and `Total_Sales` the same name, and `-name` only a number.
    """
    plain = [re.sub(r"\W+", "_", value).strip("_").upper() for value in values]
    names: dict[str, str] = {}
    for value, words in zip(values, plain, strict=True):
        name = f"{words}_DESC" if value.startswith("-") else words
        unique_name(name if name[:1].isalpha() else f"FIELD_{name}", names)
    named = [*names.values()]
    return {
        "type": "string",
        "enum": values,
        **({} if named == plain else {"x-enum-varnames": named}),
    }


def _operator(name: str, description: str) -> Node:
    """Return the schema for the operand of an operator, such as `$gt`.

    `allOf` adds the description to a reference.
    """
    shape = OPERATORS[name].operand
    operand = {"type": shape.json_type} if shape.json_type else ref(OPERAND)
    if shape.is_list:
        return {"type": "array", "items": operand, "description": description}
    if shape.json_type:
        return {**operand, "description": description}
    return {"description": description, "allOf": [operand]}


def _where(place: Place) -> Node:
    itself = ref(f"{place.stem}Where")
    several = {"type": "array", "items": itself, "minItems": 1}
    words = [*COMBINATORS, NOT]
    fields = {"anyOf": [{"enum": words}, ref(f"{place.stem}Field")]}
    return {
        "type": "object",
        "description": (
            "Conditions by field name: a value that the cell must equal, or an object of "
            f"operators: {_as_text([*OPERATORS, *ALIASES, NOT])}. All conditions of an object must "
            f"be true; {_as_text(words)} combine objects of conditions. At most "
            f"{MAX_CONDITIONS} conditions, {MAX_DEPTH} objects deep, {MAX_WHERE_BYTES} bytes."
        ),
        "properties": {**dict.fromkeys(COMBINATORS, several), NOT: itself},
        "additionalProperties": ref(CRITERION),
        **({} if place.is_any else {"propertyNames": fields}),
    }


def _as_text(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
