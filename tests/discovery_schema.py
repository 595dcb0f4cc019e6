"""Google's discovery document of the Sheets API as JSON Schema, for requests and answers.

Rules: answers are strict. Google writes camelCase, exact types, no null, and only cells in
`values`. Requests can use every notation that protobuf's JSON parser accepts: numbers as strings,
null for a missing value, snake_case names, a single item for a list, and numbers of an enumeration.

No member is required, because a field mask can omit any member. Cells are booleans, strings and
doubles, as the document says about `ValueRange.values`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker, ValidationError
from jsonschema.validators import extend

Json = dict[str, Any]
Translate = Callable[[Json], Json]
"""Function from a schema of the document to a JSON Schema."""

DOCUMENT = "discovery_cache/documents/sheets.v4.json"
CELL_TYPES = (str, float, int, bool)
SCHEMA_OF_FORMAT: Mapping[str, Json] = {
    "int32": {"minimum": -(2**31), "maximum": 2**31 - 1},
    "google-fieldmask": {"pattern": r"^[\w.,/()*\s]*$"},
    "google-datetime": {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"},
}
NOT_FINITE = ["NaN", "Infinity", "-Infinity"]
NUMBER_TEXT = r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$|^NaN$|^-?Infinity$"
INTEGER_TEXT = r"^-?\d+(\.0+)?$"


@cache
def document() -> Json:
    """Return the discovery document from the installed google-api-python-client."""
    text = (files("googleapiclient") / DOCUMENT).read_text(encoding="utf-8")
    found: Json = json.loads(text)
    return found


def camel(name: str) -> str:
    """Convert `value_input_option` to `valueInputOption`."""
    return re.sub(r"(?<=.)_(\w)", lambda match: match[1].upper(), name)


def snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)


def request_errors(schema: str, value: object) -> list[str]:
    """Return the errors of a request body under the schema of this name."""
    return _errors(_request_validator(schema), value)


def answer_errors(schema: str, value: object) -> list[str]:
    """Return the errors of an answer body under the schema of this name."""
    return _errors(_answer_validator(schema), value)


def _errors(validator: Any, value: object) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]


@cache
def _answer_validator(schema: str) -> Any:
    return _STRICT({"$ref": f"#/$defs/{schema}", "$defs": _definitions(_answer_schema)})


@cache
def _request_validator(schema: str) -> Any:
    return _LENIENT({"$ref": f"#/$defs/{schema}", "$defs": _definitions(_request_schema)})


@cache
def _definitions(translate: Translate) -> Json:
    return {name: translate(each) for name, each in document()["schemas"].items()}


def _answer_schema(described: Json) -> Json:
    """Return the JSON Schema of values that Google writes."""
    if "$ref" in described:
        return {"$ref": f"#/$defs/{described['$ref']}"}
    kind = described["type"]
    if _is_grid_of_cells(described):
        return {"type": "array", "cells": CELL_TYPES}
    if kind == "array":
        return {"type": "array", "items": _answer_schema(described["items"])}
    if kind == "object":
        return {"type": "object", **_members(described, _answer_schema)}
    if kind == "number":
        return {"anyOf": [{"type": "number"}, {"enum": NOT_FINITE}]}
    if kind == "any":
        return {}
    return {"type": kind, **_narrowed(described)}


def _request_schema(described: Json) -> Json:
    """Return the JSON Schema of values that Google accepts."""
    if "$ref" in described:
        return {"$ref": f"#/$defs/{described['$ref']}"}
    kind = described["type"]
    if _is_grid_of_cells(described):
        return {"type": ["array", "null"], "cells": (*CELL_TYPES, type(None))}
    if kind == "array":
        item = _request_schema(described["items"])
        return {"if": {"type": "array"}, "then": {"items": item}, "else": item}
    if kind == "object":
        return {"type": ["object", "null"], **_members(described, _request_schema)}
    if kind == "any":
        return {}
    if "enum" in described:
        number = {"type": ["integer", "null"]}
        return {"if": {"type": "string"}, "then": {"enum": described["enum"]}, "else": number}
    texts = {"integer": INTEGER_TEXT, "number": NUMBER_TEXT}
    if kind in texts:
        types = [kind, "string", "null"]
        return {"type": types, "pattern": texts[kind], **_narrowed(described)}
    return {"type": [kind, "null"], **_narrowed(described)}


def _is_grid_of_cells(described: Json) -> bool:
    row = described.get("items", {})
    return bool(row.get("items", {}).get("type") == "any")


def _narrowed(described: Json) -> Json:
    """Return constraints of a value other than its type."""
    narrowed = dict(SCHEMA_OF_FORMAT.get(described.get("format", ""), {}))
    return narrowed | ({"enum": described["enum"]} if "enum" in described else {})


def _members(described: Json, translate: Translate) -> Json:
    """Return the JSON Schema of an object's members: the named members only, or any names
    with one type.
    """
    if "additionalProperties" in described:
        return {"additionalProperties": translate(described["additionalProperties"])}
    properties = {name: translate(each) for name, each in described.get("properties", {}).items()}
    if translate is _request_schema:
        properties |= {snake(name): each for name, each in properties.items()}
    return {"properties": properties, "additionalProperties": False}


def _cells(_: Any, allowed: tuple[type, ...], grid: Any, __: Json) -> Iterator[ValidationError]:
    """Validate the keyword `cells`: a list of lists of values of these types, fast for
    large answers.
    """
    if not isinstance(grid, list):
        return
    for number, row in enumerate(grid):
        if not isinstance(row, list):
            yield ValidationError(f"{row!r:.80} is no list of cells", path=[number])
            continue
        for column, cell in enumerate(row):
            if type(cell) not in allowed:
                yield ValidationError(f"{cell!r:.80} is no cell", path=[number, column])


def _is_integer(_: TypeChecker, value: object) -> bool:
    """True if a value is an integer; `1.0` is not, because Google never writes it so."""
    return isinstance(value, int) and not isinstance(value, bool)


_LENIENT = extend(Draft202012Validator, {"cells": _cells})  # type: ignore[no-untyped-call]
_STRICT = extend(  # type: ignore[no-untyped-call]
    _LENIENT, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
)
