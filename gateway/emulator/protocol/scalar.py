"""Values of the plain types of Google's definition, in all the ways that JSON may write them.

Rules
- Numbers may be texts and whole numbers may be `1.0`, as for protobuf's JSON reader; booleans may
  not be texts here. A double may be "NaN" or "Infinity".
"""

import math
import re
from collections.abc import Mapping

from gateway.emulator.protocol.findings import Findings, Place, Read

PROTOBUF_TYPE = "type.googleapis.com/google.protobuf."
INTEGER = re.compile(r"(-?[0-9]{1,10})(\.0+)?")
NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?|NaN|-?Infinity")
MASK = re.compile(r"[\w.,/()*\s]*", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
HUMP = re.compile(r"_([a-z0-9])")
LEAST_INT32, LARGEST_INT32 = -(2**31), 2**31 - 1
BEYOND = {"TYPE_FLOAT": 2.0**128, "TYPE_DOUBLE": math.inf}


def camel_mask(text: str) -> str:
    """A field mask in camelCase: `user_entered_value` is `userEnteredValue`."""
    return HUMP.sub(lambda match: match[1].upper(), text)


def whole(value: object) -> int | None:
    """A whole number, however it is written; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        written = INTEGER.fullmatch(value)
        return int(written[1]) if written else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def _read_text(value: object, place: Place, findings: Findings) -> object:
    return value if isinstance(value, str) else findings.type("TYPE_STRING", value, place)


def _read_flag(value: object, place: Place, findings: Findings) -> object:
    return value if isinstance(value, bool) else findings.type("TYPE_BOOL", value, place)


def _read_integer(value: object, place: Place, findings: Findings) -> object:
    number = whole(value)
    if number is not None and LEAST_INT32 <= number <= LARGEST_INT32:
        return number
    return findings.type("TYPE_INT32", value, place)


def _number_reader(kind: str) -> Read:
    def read(value: object, place: Place, findings: Findings) -> object:
        number = _number(value)
        is_written_so = isinstance(value, str) and value.endswith(("NaN", "Infinity"))
        if number is not None and (is_written_so or abs(number) < BEYOND[kind]):
            return number
        return findings.type(kind, value, place)

    return read


def _number(value: object) -> float | None:
    """A number, however it is written; it may not be finite."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number or (isinstance(value, str) and NUMBER.fullmatch(value)):
        try:
            return float(value)  # type: ignore[arg-type]  # checked by the line above
        except OverflowError:
            return math.inf
    return None


def _read_mask(value: object, place: Place, findings: Findings) -> object:
    if isinstance(value, str) and MASK.fullmatch(value):
        return camel_mask(value)
    return findings.type(f"{PROTOBUF_TYPE}FieldMask", value, place)


def _read_moment(value: object, place: Place, findings: Findings) -> object:
    if isinstance(value, str) and MOMENT.fullmatch(value):
        return value
    return findings.type(f"{PROTOBUF_TYPE}Timestamp", value, place)


SCALARS: Mapping[str, Read] = {
    "any": lambda value, _, __: value,
    "boolean": _read_flag,
    "datetime": _read_moment,
    "double": _number_reader("TYPE_DOUBLE"),
    "fieldmask": _read_mask,
    "float": _number_reader("TYPE_FLOAT"),
    "int32": _read_integer,
    "string": _read_text,
}
