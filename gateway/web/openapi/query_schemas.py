"""Schemas of queries: field names, and the grammar of `where`."""

import re
from collections.abc import Sequence

from gateway.query.operators import ALIASES, OPERATORS, OperandShape
from gateway.query.where import COMBINATORS, MAX_CONDITIONS, MAX_DEPTH, NOT
from gateway.table.header import ROW_INDEX
from gateway.web.openapi.node import Node, Nodes, named, schema_reference
from gateway.web.openapi.place import Place
from gateway.web.openapi.reach import Reach
from gateway.web.parameters import MAX_ORDER_FIELDS, MAX_WHERE_BYTES

OPERAND, CRITERION, OPERATIONS = "Operand", "Criterion", "Operations"

_OPERAND: Node = {
    "type": ["string", "number", "boolean", "null"],
    "description": (
        "A number is compared with numbers, a string with what the cell displays, an ISO 8601 date "
        "or time with dates too, a boolean with booleans; null and the empty string are empty "
        "cells."
    ),
}
_NOT_IN_NAMES = re.compile(r"\W+")
_NAMES = (*OPERATORS, *ALIASES, NOT)


def shared_query_schemas(reach: Reach) -> Nodes:
    """Schemas shared by the filters of all worksheets."""
    if not reach.may_query:
        return {}
    return {
        OPERAND: _OPERAND,
        OPERATIONS: {
            "type": "object",
            "description": "All of these must hold.",
            "properties": {
                **{name: _operator(name, each.description) for name, each in OPERATORS.items()},
                **{name: _operator(of, f"the same as `{of}`") for name, of in ALIASES.items()},
                NOT: _described(schema_reference(OPERATIONS), "none of what is in here"),
            },
            "minProperties": 1,
            "additionalProperties": False,
        },
        CRITERION: {"anyOf": [schema_reference(OPERAND), schema_reference(OPERATIONS)]},
    }


def query_schemas(place: Place, reach: Reach) -> Nodes:
    """Field names, terms of order and filter of a worksheet."""
    schemas: dict[str, Node] = {f"{place.stem}Field": _field(place)}
    if reach.may_query:
        schemas[f"{place.stem}Where"] = _where(place)
        schemas[f"{place.stem}Order"] = _order_term(place)
    return schemas


def _field(place: Place) -> Node:
    if place.is_any:
        return {"type": "string", "minLength": 1, "description": "The name of a field."}
    return _enumeration([ROW_INDEX, *place.fields])


def order_schema(place: Place) -> Node:
    """Names to sort by, without those that a comma or a minus makes ambiguous beside others."""
    term = schema_reference(f"{place.stem}Order")
    return {"type": "array", "items": term, "minItems": 1, "maxItems": MAX_ORDER_FIELDS}


def _order_term(place: Place) -> Node:
    if place.is_any:
        return {"type": "string", "pattern": "^-?[^,-][^,]*$"}
    names = [ROW_INDEX, *(name for name in place.fields if _is_sortable(name))]
    return _enumeration([f"{sign}{name}" for name in names for sign in ("", "-")])


def _enumeration(values: Sequence[str]) -> Node:
    """The values, with names for the constants that generators of clients make of them.

    Their own names would be equal for `total sales` and `Total_Sales`, and a number for `-name`.
    """
    plain = [_NOT_IN_NAMES.sub("_", value).strip("_").upper() for value in values]
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


def _is_sortable(name: str) -> bool:
    return "," not in name and not name.strip().startswith("-")


def _operator(name: str, description: str) -> Node:
    return _described(_operand(OPERATORS[name].operand), description)


def _operand(shape: OperandShape) -> Node:
    operand = {"type": shape.json_type} if shape.json_type else schema_reference(OPERAND)
    return {"type": "array", "items": operand} if shape.is_list else operand


def _described(schema: Node, description: str) -> Node:
    """The schema with a description, which a reference cannot have beside it."""
    if "$ref" in schema:
        return {"description": description, "allOf": [schema]}
    return {**schema, "description": description}


def _where(place: Place) -> Node:
    itself = schema_reference(f"{place.stem}Where")
    several = {"type": "array", "items": itself, "minItems": 1}
    words = [*COMBINATORS, NOT]
    fields = {"anyOf": [{"enum": words}, schema_reference(f"{place.stem}Field")]}
    return {
        "type": "object",
        "description": (
            "Field names with a value each, which it must be equal to, or with an object of "
            f"operators: {named(_NAMES)}. Several fields, and several "
            f"operators, must all hold; {named(words)} combine such objects. At most "
            f"{MAX_CONDITIONS} conditions, {MAX_DEPTH} objects deep, {MAX_WHERE_BYTES} bytes."
        ),
        "properties": {**dict.fromkeys(COMBINATORS, several), NOT: itself},
        "additionalProperties": schema_reference(CRITERION),
        **({} if place.is_any else {"propertyNames": fields}),
    }
