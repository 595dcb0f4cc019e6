"""Request bodies, parsed by Google's definition of the API.

Rules:
- The result has Google's camelCase names, the types of the definition and no null. Later code does
  not check names and types again. Cells in `values` are not checked.
- All forms of protobuf's JSON parser are accepted: snake_case names, numbers as texts, 1.0 for 1,
  numbers for values of enumerations, and a single item for a list.
- Null, an empty list and an unspecified value of an enumeration mean absent. If a name is repeated,
  the last value counts.
- One error lists all mistakes, one per line (reported by users of Google). The body is checked
  before the spreadsheet is looked up (recorded from Google).
"""

from collections.abc import Mapping
from functools import cache

from sheets_emulator.protocol.definition import DEFINITION, Type, is_unspecified
from sheets_emulator.protocol.findings import Findings, Place, Read
from sheets_emulator.protocol.message import ENUM_TYPE, LIST_VALUE, Message, decode_object, snake
from sheets_emulator.protocol.scalar import SCALARS, whole
from sheets_emulator.refusal import invalid_fields
from sheets_emulator.reply import Json

TWICE = "The field is set twice."


def read_body(body: bytes, schema: str, *, place: str = "") -> Message:
    """Parse a request body with this schema. Raises a 400 that lists all mistakes."""
    return Message(fields=check(schema, decode_object(body), place), place=place)


def check(schema: str, value: Mapping[str, object], place: str = "") -> Json:
    """Check an object with this schema and return it in Google's form.

    Raises a 400 that lists all mistakes. `place` is the path of the object in the body.
    """
    findings = Findings()
    found = _schema_reader(schema)(dict(value), place, findings)
    if findings.found:
        raise invalid_fields(findings.found)
    return found if isinstance(found, dict) else {}


@cache
def _schema_reader(schema: str) -> Read:
    names: dict[str, tuple[str, Read]] = {}
    for camel, kind in DEFINITION.schemas[schema].items():
        names[camel] = names[snake(camel)] = (camel, _reader(kind))

    def read(value: object, place: Place, findings: Findings) -> object:
        if not isinstance(value, dict):
            return {} if value is None else findings.type(f"{ENUM_TYPE}{schema}", value, place)
        found = {}
        for name, inner in value.items():
            known = names.get(name)
            if known is None:
                findings.name(name, place)
            elif inner is not None:
                camel, read_inner = known
                if camel in found:
                    findings.name(name, place, TWICE)
                member = read_inner(inner, (place, camel), findings)
                if member is not None and member != []:
                    found[camel] = member
        return found

    return read


def _reader(kind: Type) -> Read:
    if kind == [["any"]]:
        return _read_cells
    if isinstance(kind, list):
        return _list_reader(_reader(kind[0]))
    if isinstance(kind, dict):
        return _map_reader(_reader(kind["map"]))
    if kind in DEFINITION.enumerations:
        return _enumeration_reader(kind)
    return SCALARS.get(kind) or _schema_reader(kind)


def _list_reader(read_item: Read) -> Read:
    def read(value: object, place: Place, findings: Findings) -> object:
        if not isinstance(value, list):
            item = read_item(value, place, findings)
            return [] if item is None else [item]
        items = [read_item(each, (place, number), findings) for number, each in enumerate(value)]
        return [item for item in items if item is not None]

    return read


def _map_reader(read_value: Read) -> Read:
    def read(value: object, place: Place, findings: Findings) -> object:
        if not isinstance(value, dict):
            return findings.type("TYPE_MESSAGE", value, place)
        return {
            name: read_value(inner, ((place, number), "value"), findings)
            for number, (name, inner) in enumerate(value.items())
            if inner is not None
        }

    return read


def _enumeration_reader(name: str) -> Read:
    numbered = [None if is_unspecified(each) else each for each in DEFINITION.enumerations[name]]
    named = dict(zip(DEFINITION.enumerations[name], numbered, strict=True))

    def read(value: object, place: Place, findings: Findings) -> object:
        if isinstance(value, str) and value in named:
            return named[value]
        number = None if isinstance(value, str) else whole(value)
        if number is not None and 0 <= number < len(numbered):
            return numbered[number]
        return findings.type(f"{ENUM_TYPE}{name}", value, place)

    return read


def _read_cells(value: object, place: Place, findings: Findings) -> object:
    """Check a list of lists.

    A single item instead of a list is an error here (recorded from Google).
    """
    if not isinstance(value, list):
        return findings.type(LIST_VALUE, value, place)
    for number, row in enumerate(value):
        if not isinstance(row, list):
            findings.type(LIST_VALUE, row, (place, number))
    return value
