"""Query parameters of a call, parsed by Google's definition of the API.

Rules:
- All parameters are checked, even those without effect. One error lists all mistakes.
- Parameters that all Google APIs have, such as `prettyPrint`, are known.
- Names can be in snake_case. Booleans can be in any case, because clients send `False`.
- An empty value means absent. An empty boolean is true (assumed).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sheets_emulator.protocol.definition import DEFINITION, Type, choices, method
from sheets_emulator.protocol.findings import NOT_REPEATING
from sheets_emulator.protocol.message import ENUM_TYPE, snake, unknown_name_text, wrong_type_text
from sheets_emulator.protocol.rendering import Rendering
from sheets_emulator.refusal import invalid, invalid_fields, unimplemented

BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", ""), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
NOT_COVERED: Mapping[str, Sequence[str]] = {  # values that the emulator does not support
    "alt": ("media", "proto"),
    "$.xgafv": ("1",),
}
NOT_COVERED_AT_ALL = ("callback",)


@dataclass(frozen=True, kw_only=True)
class Query:
    """Query parameters of a call.

    `given` has the values by name. Only a list parameter has more than one value. `types` has the
    type of each known parameter.
    """

    given: Mapping[str, Sequence[str]]
    types: Mapping[str, Type]

    def text(self, name: str, default: str = "") -> str:
        values = self.texts(name)
        return values[-1] if values else default

    def texts(self, name: str) -> Sequence[str]:
        return self.given.get(name, ())

    def flag(self, name: str, default: bool = False) -> bool:
        values = self.texts(name)
        return BOOLEANS[values[-1].lower()] if values else default

    def choice(self, name: str) -> str:
        """Return the value of an enumeration. An absent or unspecified value gives the default."""
        known = choices(str(self.types[name]))
        value = self.text(name)
        return value if value in known else known[0]

    def input_option(self) -> str:
        """Return `valueInputOption`.

        Raises a 400 if the parameter is missing.
        """
        return input_option(self.text("valueInputOption"))

    def rendering(self) -> Rendering:
        """Return the rendering options of a read."""
        return Rendering(
            value=self.choice("valueRenderOption"),
            date_time=self.choice("dateTimeRenderOption"),
        )

    def response_rendering(self) -> Rendering | None:
        """Return the rendering options of a write's answer, or None if the answer has no values."""
        if not self.flag("includeValuesInResponse"):
            return None
        return Rendering(
            value=self.choice("responseValueRenderOption"),
            date_time=self.choice("responseDateTimeRenderOption"),
        )


def input_option(value: str) -> str:
    """Return a valid `valueInputOption`. Raises Google's 400 if the value is missing."""
    if value not in choices("ValueInputOption"):
        raise invalid("'valueInputOption' is required but not specified")
    return value


def read_query(query_string: bytes, call: str) -> Query:
    """Parse the query parameters of a call, such as `values.get`.

    Raises a 400 for unknown parameters or wrong values, and a 501 for unsupported values.
    """
    types = {**DEFINITION.parameters, **method(call).parameters}
    names = {**{snake(name): name for name in types}, **{name: name for name in types}}
    given: dict[str, list[str]] = {}
    found: list[tuple[str, str]] = []
    for sent, value in _pairs(query_string):
        name = names.get(sent)
        if name is None:
            found.append(("", _unknown(sent)))
            continue
        found.extend(_mistakes(name, value, types[name], is_second=name in given))
        given.setdefault(name, []).append(value)
    if found:
        raise invalid_fields(found)
    _require_covered(given)
    return Query(given=given, types=types)


def is_pretty(query_string: bytes) -> bool:
    """True if the answer must be indented, which is the default of `prettyPrint`."""
    values = [value.lower() for name, value in _pairs(query_string) if name == "prettyPrint"]
    return not values or BOOLEANS.get(values[-1], True)


def _pairs(query_string: bytes) -> Sequence[tuple[str, str]]:
    return parse_qsl(query_string.decode("utf-8", "replace"), keep_blank_values=True)


def _mistakes(name: str, value: str, kind: Type, *, is_second: bool) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of a parameter as (field, description)."""
    place = snake(name)
    if is_second and not isinstance(kind, list):
        yield "", unknown_name_text(name, "", NOT_REPEATING)
    if kind == "boolean" and value.lower() not in BOOLEANS:
        yield place, wrong_type_text(place, "TYPE_BOOL", value)
    known = DEFINITION.enumerations.get(kind) if isinstance(kind, str) else None
    if known is not None and value and value not in known:
        yield place, wrong_type_text(place, f"{ENUM_TYPE}{kind}", value)


def _unknown(name: str) -> str:
    missing = f"Field '{name[:1000]}' could not be found in request message."
    return unknown_name_text(name, "", f"Cannot bind query parameter. {missing}")


def _require_covered(given: Mapping[str, Sequence[str]]) -> None:
    for name, found in given.items():
        is_left_out = name in NOT_COVERED_AT_ALL and found[-1]
        if is_left_out or found[-1] in NOT_COVERED.get(name, ()):
            raise unimplemented(f"the parameter '{name}={found[-1][:100]}'")
