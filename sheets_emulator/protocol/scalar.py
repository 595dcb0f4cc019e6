"""Values of plain types, such as `int32`, in all JSON forms.

Rules:
- As in protobuf's JSON parser, numbers can be texts and whole numbers can be `1.0`. Booleans cannot
  be texts.
- Protobuf's parser also accepts "NaN" and "Infinity". No cell, colour or setting can have these
  values, so the emulator treats the texts as mistakes (assumed, because Google's answer is
  unknown).
"""

import math
import re
from collections.abc import Mapping

from sheets_emulator.protocol.findings import Findings, Place, Read

PROTOBUF_TYPE = "type.googleapis.com/google.protobuf."
INTEGER = re.compile(r"(-?[0-9]{1,10})(\.0+)?")
NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
MASK = re.compile(r"[\w.,/()*\s]*", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
HUMP = re.compile(r"_([a-z0-9])")
LEAST_INT32, LARGEST_INT32 = -(2**31), 2**31 - 1
BEYOND = {"TYPE_FLOAT": 2.0**128, "TYPE_DOUBLE": math.inf}


def camel_mask(text: str) -> str:
    """Convert a field mask to camelCase: `user_entered_value` becomes `userEnteredValue`."""
    return HUMP.sub(lambda match: match[1].upper(), text)


def whole(value: object) -> int | None:
    """Convert a whole number in any JSON form, or return None for another value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        written = INTEGER.fullmatch(value)
        return int(written[1]) if written else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def int32(value: object) -> int | None:
    """Convert a 32-bit whole number in any JSON form, or return None for another value."""
    number = whole(value)
    is_within = number is not None and LEAST_INT32 <= number <= LARGEST_INT32
    return number if is_within else None


def _read_text(value: object, place: Place, findings: Findings) -> object:
    return value if isinstance(value, str) else findings.type("TYPE_STRING", value, place)


def _read_flag(value: object, place: Place, findings: Findings) -> object:
    return value if isinstance(value, bool) else findings.type("TYPE_BOOL", value, place)


def _read_integer(value: object, place: Place, findings: Findings) -> object:
    number = int32(value)
    return findings.type("TYPE_INT32", value, place) if number is None else number


def _number_reader(kind: str) -> Read:
    def read(value: object, place: Place, findings: Findings) -> object:
        number = _number(value)
        if number is not None and abs(number) < BEYOND[kind]:
            return number
        return findings.type(kind, value, place)

    return read


def _number(value: object) -> float | None:
    """Convert a number in any JSON form.

    Returns infinity for a number that is too large, and None for other values.
    """
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
