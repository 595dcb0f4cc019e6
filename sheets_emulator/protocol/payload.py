"""The bodies of requests, read as Google's definition says.

Rules
- What comes out has Google's camelCase names, the types of the definition and no null; below there
  is nothing left to check of names and types. What stands in cells of `values` is not looked at.
- All spellings that protobuf's JSON reader takes are taken: snake_case names, numbers as texts,
  1.0 for 1, an enumeration's numbers, a lone item for a list of one. null is as good as absent, and
  so are an empty list and a value of an enumeration that says nothing. Of a name that comes twice
  the last one counts.
- All that is wrong is told in one refusal, a line for each (reported of Google), and before
  anything is looked up (recorded).
"""

from collections.abc import Mapping
from functools import cache

from sheets_emulator.protocol.definition import DEFINITION, Type, says_nothing
from sheets_emulator.protocol.findings import Findings, Place, Read
from sheets_emulator.protocol.message import ENUM_TYPE, LIST_VALUE, Message, decode_object, snake
from sheets_emulator.protocol.scalar import SCALARS, whole
from sheets_emulator.refusal import invalid_fields
from sheets_emulator.reply import Json

TWICE = "The field is set twice."


def read_body(body: bytes, schema: str, *, place: str = "") -> Message:
    """The body of a request, whose schema has this name; 400 for anything else."""
    return Message(fields=check(schema, decode_object(body), place), place=place)


def check(schema: str, value: Mapping[str, object], place: str = "") -> Json:
    """The object as the rules above say; 400 with all that is wrong in it."""
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
    numbered = [None if says_nothing(each) else each for each in DEFINITION.enumerations[name]]
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
    """A list of lists of anything; the only lists that no lone item stands for (recorded)."""
    if not isinstance(value, list):
        return findings.type(LIST_VALUE, value, place)
    for number, row in enumerate(value):
        if not isinstance(row, list):
            findings.type(LIST_VALUE, row, (place, number))
    return value
