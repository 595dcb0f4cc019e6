"""Generator of the emulator's table of Google's API definition.

The source is the discovery document in google-api-python-client. The table has only names and
types:

    python -m tests.sheets_emulator.definition > sheets_emulator/protocol/definition.json

The document does not name enumerations, but Google's errors do. A name is derived from the first
value: `SORT_ORDER_UNSPECIFIED` gives `SortOrder`.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping

from tests.discovery_schema import Json, document

NO_VALUE = re.compile(r"(\w+)_(UNSPECIFIED|UNDEFINED)")
NAMES_OF_OTHERS: Mapping[str, str] = {  # first value -> enumeration
    "DEFAULT_VIEW_WINDOW_MODE": "ViewWindowMode",
    "FORMATTED_VALUE": "ValueRenderOption",
    "HORIZONTAL": "PivotValueLayout",
    "INPUT_VALUE_OPTION_UNSPECIFIED": "ValueInputOption",
    "MERGE_ALL": "MergeType",
    "NORMAL": "PasteOrientation",
    "OVERWRITE": "InsertDataOption",
    "PASTE_NORMAL": "PasteType",
    "SERIAL_NUMBER": "DateTimeRenderOption",
    "1": "ErrorFormat",
    "json": "DataFormat",
}
FORMATS = {"google-fieldmask": "fieldmask", "google-datetime": "datetime"}


def made_definition() -> str:
    """The text of the table. Each enumeration, method and schema is one line."""
    sections: Mapping[str, Mapping[str, object]] = {
        "enumerations": _enumerations(document()),
        "methods": dict(_methods(document())),
        "parameters": _members(document()["parameters"]),
        "schemas": {
            name: _members(schema.get("properties", {}))
            for name, schema in document()["schemas"].items()
        },
    }
    written = [f'"{name}": {{\n{_lines(each)}\n}}' for name, each in sections.items()]
    return "{\n" + ",\n".join(written) + "\n}\n"


def _lines(section: Mapping[str, object]) -> str:
    return ",\n".join(
        f'"{name}": {json.dumps(section[name], separators=(",", ":"))}' for name in sorted(section)
    )


def _members(described: Mapping[str, Json]) -> dict[str, object]:
    return {name: _type(described[name]) for name in sorted(described)}


def _type(described: Json) -> object:
    """A type in the table's notation: a name, `[type of the items]` or `{"map": type}`."""
    if "$ref" in described:
        return described["$ref"]
    if "enum" in described:
        return _enumeration_name(described["enum"][0])
    if described["type"] == "array" or described.get("repeated"):
        return [_type(described.get("items", {"type": described["type"]}))]
    if "additionalProperties" in described:
        return {"map": _type(described["additionalProperties"])}
    plain = str(described.get("format", described["type"]))
    return FORMATS.get(plain, plain)


def _enumeration_name(first: str) -> str:
    if first in NAMES_OF_OTHERS:
        return NAMES_OF_OTHERS[first]
    named = NO_VALUE.fullmatch(first)
    if named is None:
        raise LookupError(f"no name is known for the enumeration that begins with {first}")
    return "".join(word.capitalize() for word in named[1].split("_"))


def _enumerations(part: object) -> dict[str, list[str]]:
    """The values of each enumeration in a part of the document, by name."""
    found: dict[str, list[str]] = {}
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for each in inner:
        for name, values in _enumerations(each).items():
            if found.setdefault(name, values) != values:
                raise LookupError(f"{name} is the name of two enumerations")
    if isinstance(part, dict) and isinstance(part.get("enum"), list):
        found[_enumeration_name(part["enum"][0])] = part["enum"]
    return found


def _methods(resource: Json) -> Iterator[tuple[str, Json]]:
    for described in resource.get("methods", {}).values():
        parameters: Mapping[str, Json] = described.get("parameters", {})
        own = {name: each for name, each in parameters.items() if each["location"] == "query"}
        yield (
            described["id"].removeprefix("sheets."),
            {
                "parameters": _members(own),
                "request": described.get("request", {}).get("$ref"),
                "response": described["response"]["$ref"],
            },
        )
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


if __name__ == "__main__":
    sys.stdout.write(made_definition())
