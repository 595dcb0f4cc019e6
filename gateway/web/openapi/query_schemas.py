"""Schemas of queries: field names, and the grammar of `where`."""

from collections.abc import Mapping

from gateway.query.where import (
    ALIASES,
    COMBINATORS,
    LIST_OPERATORS,
    MAX_CONDITIONS,
    MAX_DEPTH,
    NOT,
    OPERATORS,
)
from gateway.table.view import ROW_INDEX
from gateway.web.openapi.node import Node, Nodes, named, schema_reference
from gateway.web.openapi.place import Place
from gateway.web.openapi.reach import Reach
from gateway.web.parameters import MAX_ORDER_FIELDS, MAX_WHERE_BYTES

OPERAND, CRITERION, OPERATIONS = "Operand", "Criterion", "Operations"

_TOLD: Mapping[str, str] = {
    "$eq": "equal",
    "$ne": "not equal; empty cells are equal to null alone",
    "$lt": "less",
    "$lte": "less or equal",
    "$gt": "greater",
    "$gte": "greater or equal",
    "$in": "equal to one of these",
    "$nin": "equal to none of these",
    "$text": "has this text somewhere in it, in capitals or not",
    "$exists": "true: the cell is not empty; false: it is",
    NOT: "none of what is in here",
}
_OPERAND: Node = {
    "type": ["string", "number", "boolean", "null"],
    "description": (
        "A number is compared with numbers, a string with what the cell displays, an ISO 8601 date "
        "or time with dates too, a boolean with booleans; null and the empty string are empty "
        "cells."
    ),
}
_OPERANDS: Mapping[str, Node] = {
    **{
        operator: {"type": "array", "items": schema_reference(OPERAND)}
        for operator in LIST_OPERATORS
    },
    "$text": {"type": "string"},
    "$exists": {"type": "boolean"},
    NOT: schema_reference(OPERATIONS),
}


def shared_query_schemas(reach: Reach) -> Nodes:
    """What the filters of all worksheets have in common."""
    if not reach.may_query:
        return {}
    return {
        OPERAND: _OPERAND,
        OPERATIONS: {
            "type": "object",
            "description": "All of these must hold.",
            "properties": {
                operator: _operation(operator) for operator in (*OPERATORS, *ALIASES, NOT)
            },
            "minProperties": 1,
            "additionalProperties": False,
        },
        CRITERION: {"anyOf": [schema_reference(OPERAND), schema_reference(OPERATIONS)]},
    }


def query_schemas(place: Place, reach: Reach) -> Nodes:
    """The names of a worksheet's fields, and its filter."""
    schemas: dict[str, Node] = {f"{place.stem}Field": field_schema(place)}
    if reach.may_query:
        schemas[f"{place.stem}Where"] = _where(place)
    return schemas


def field_schema(place: Place) -> Node:
    """The name of a field."""
    if place.is_any:
        return {"type": "string", "minLength": 1, "description": "The name of a field."}
    return {"type": "string", "enum": [ROW_INDEX, *place.fields]}


def order_schema(place: Place) -> Node:
    """Names to sort by; none with a comma, nor with a minus in front, can be named."""
    if place.is_any:
        term: Node = {"type": "string", "pattern": "^-?[^,-][^,]*$"}
    else:
        names = [ROW_INDEX, *(name for name in place.fields if _is_sortable(name))]
        term = {"type": "string", "enum": [f"{sign}{name}" for name in names for sign in ("", "-")]}
    return {"type": "array", "items": term, "minItems": 1, "maxItems": MAX_ORDER_FIELDS}


def _is_sortable(name: str) -> bool:
    return "," not in name and not name.strip().startswith("-")


def _operation(operator: str) -> Node:
    meaning = ALIASES.get(operator, operator)
    operand = _OPERANDS.get(meaning, schema_reference(OPERAND))
    told = _TOLD[meaning] if meaning == operator else f"the same as `{meaning}`"
    return (
        {"description": told, "allOf": [operand]}
        if "$ref" in operand
        else {
            **operand,
            "description": told,
        }
    )


def _where(place: Place) -> Node:
    itself = schema_reference(f"{place.stem}Where")
    several = {"type": "array", "items": itself, "minItems": 1}
    words = [*COMBINATORS, NOT]
    fields = {"anyOf": [{"enum": words}, schema_reference(f"{place.stem}Field")]}
    return {
        "type": "object",
        "description": (
            "Field names with a value each, which it must be equal to, or with an object of "
            f"operators: {named([*OPERATORS, *ALIASES, NOT])}. Several fields, and several "
            f"operators, must all hold; {named(words)} combine such objects. At most "
            f"{MAX_CONDITIONS} conditions, {MAX_DEPTH} objects deep, {MAX_WHERE_BYTES} bytes."
        ),
        "properties": {**dict.fromkeys(COMBINATORS, several), NOT: itself},
        "additionalProperties": schema_reference(CRITERION),
        **({} if place.is_any else {"propertyNames": fields}),
    }
