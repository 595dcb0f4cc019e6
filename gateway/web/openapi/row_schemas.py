"""Schemas of rows: in responses, and in the bodies of writes."""

from collections.abc import Mapping, Sequence

from gateway.table.header import ROW_INDEX
from gateway.table.record import MAX_CELL_CHARACTERS
from gateway.web.answers import EmptyCell
from gateway.web.body import MAX_ROWS
from gateway.web.openapi.node import Node, Nodes, schema_reference
from gateway.web.openapi.place import Place, writes_to
from gateway.web.openapi.reach import Reach
from gateway.web.parsing import MAX_FIELDS, MAX_INTEGER

CELL, VALUE, RECORD, NUMBERED, MATCHES = "Cell", "Value", "Record", "Numbered", "Matches"
_CREATED = "created"

_LONGEST_EXAMPLE = 20
_EXAMPLE: Node = {"name": "San Diego", "state": "California", "population": 1381162}

CELLS: Mapping[EmptyCell, Node] = {
    "null": {
        "type": ["string", "null"],
        "minLength": 1,
        "description": "What the cell displays, always a string; null if it is empty.",
    },
    "": {
        "type": "string",
        "description": 'What the cell displays, always a string; "" if it is empty.',
    },
    "omit": {
        "type": "string",
        "minLength": 1,
        "description": "What the cell displays, always a string. An empty cell is left out.",
    },
}

_ROW_NUMBER: Node = {
    "type": "integer",
    "minimum": 2,
    "description": "The number of the row in the worksheet: row 1 is the header.",
}
_RECORD: Node = {
    "type": "object",
    "description": "A row in an error: what its cells display.",
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
        "count": {"type": "integer", "minimum": 0, "description": "How many rows matched."},
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
"""Any value, without a type: a change has an integer here, and generators refuse two types."""
_VALUE: Node = {
    "type": ["string", "number", "boolean", "null"],
    **_SIZES,
    "description": (
        "What to put into the cell. A string stays the text that it is: `007` keeps its zeros. "
        "Numbers and booleans are stored as such; null and the empty string empty the cell."
    ),
}


def shared_schemas(reach: Reach) -> dict[str, Node]:
    """Schemas shared by the rows of all worksheets."""
    written = {VALUE: _VALUE} if reach.may_write else {}
    matched = {NUMBERED: _NUMBERED, MATCHES: _MATCHES} if reach.may_write_where else {}
    return {CELL: CELLS[reach.empty_cell], RECORD: _RECORD, **written, **matched}


def row_schemas(place: Place, reach: Reach) -> Nodes:
    """Components of a worksheet: its rows, and the bodies of its writes.

    A generator of clients names a class for each, and drops what it cannot name.
    """
    stem, row = place.stem, schema_reference(f"{place.stem}Row")
    schemas = {f"{stem}Row": _row(place), f"{stem}Page": _page(row)}
    if writes_to(place, reach):
        schemas[f"{stem}Fields"] = _fields(place, reach)
        schemas[f"{stem}Form"] = _form(stem)
        schemas[f"{stem}Results"] = _results(row)
        if reach.may_write_many:
            schemas[f"{stem}Change"] = _change(stem)
            schemas[f"{stem}Upserted"] = _upserted(place)
            schemas[f"{stem}Upserts"] = _results(schema_reference(f"{stem}Upserted"))
    return schemas


def _page(row: Node) -> Node:
    return {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": row},
            "hasNextPage": {
                "type": "boolean",
                "description": "Whether there are rows after these: ask again with a larger skip.",
            },
            "total": {
                "type": "integer",
                "minimum": 0,
                "description": "How many rows match, on any page; there with `count=true`.",
            },
        },
        "required": ["results", "hasNextPage"],
        "additionalProperties": False,
    }


def created_schema(place: Place, reach: Reach) -> Node:
    """The created row, or the rows of an upsert or of a list.

    Clients take the first schema that fits, so that the narrower one comes first.
    """
    names = ("Row", *(["Upserts"] if reach.may_write_many else []), "Results")
    return {"anyOf": [schema_reference(f"{place.stem}{name}") for name in names]}


def changed_schema(place: Place, reach: Reach) -> Node:
    """The numbers of the rows that matched, or the updated rows of a list."""
    updated = schema_reference(f"{place.stem}Results")
    matches = schema_reference(MATCHES)
    return {"anyOf": [matches, updated]} if reach.may_write_where else updated


def change_body(place: Place, reach: Reach) -> Node:
    """A list of rows to update, or with a filter the fields of all that match."""
    row = schema_reference(f"{place.stem}Change")
    several = {"type": "array", "items": row, "minItems": 1, "maxItems": MAX_ROWS}
    if not reach.may_write_where:
        return several
    return {"oneOf": [several, schema_reference(f"{place.stem}Fields")]}


def change_example(place: Place) -> Sequence[Node]:
    return [{ROW_INDEX: 2, **update_example(place)}]


def create_body(place: Place) -> Node:
    """One row, or a list of them."""
    row = schema_reference(f"{place.stem}Fields")
    several = {"type": "array", "items": row, "minItems": 1, "maxItems": MAX_ROWS}
    return {"oneOf": [row, several]}


def create_example(place: Place) -> Node:
    """A row with a distinctive first field; the rest waits to be filled in."""
    if place.is_any:
        return _EXAMPLE
    first, *others = place.writable[:_LONGEST_EXAMPLE]
    return {first: "Example", **dict.fromkeys(others)}


def update_example(place: Place) -> Node:
    """A single field: tools that generate a body would fill, and so overwrite, all of them."""
    name, value = next(iter(create_example(place).items()))
    return {name: value}


def _form(stem: str) -> Node:
    """One row as a form, whose values are strings."""
    fields = schema_reference(f"{stem}Fields")
    return {"type": "object", "allOf": [fields, {"additionalProperties": {"type": "string"}}]}


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
        "description": "A row of an upsert: its fields as they are displayed now.",
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
    return {
        "type": "object",
        "description": (
            "A row as the worksheet displays it. `keys` narrows it to some fields; an answer to a "
            "write has the fields that were sent."
        ),
        "properties": {ROW_INDEX: _ROW_NUMBER, **dict.fromkeys(place.fields, cell)},
        "required": [ROW_INDEX],
        "additionalProperties": cell if place.is_any else False,
    }


def _fields(place: Place, reach: Reach) -> Node:
    value = schema_reference(VALUE)
    takes_any = place.is_any or reach.ignores_unknown
    return {
        "type": "object",
        "description": (
            "Values by the names in the worksheet's first row. A `rowIndex` is passed over, so "
            "that a row can be sent back as it was read. A new row needs a value in one field at "
            "least."
        ),
        "properties": {ROW_INDEX: _PASSED_OVER, **dict.fromkeys(place.writable, value)},
        "minProperties": 1,
        "maxProperties": MAX_FIELDS,
        "dependentSchemas": {ROW_INDEX: {"minProperties": 2}},
        "additionalProperties": value if takes_any else False,
    }
