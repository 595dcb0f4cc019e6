"""The query parameters of a call: which there are, and their types.

Rules
- An unknown parameter is refused, as Google refuses it; the parameters that every Google API takes
  are known everywhere. Booleans in any case: clients send `False`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from gateway.emulator.display import Rendering
from gateway.emulator.message import ENUM_TYPE, snake, wrong_type
from gateway.emulator.refusal import invalid, invalid_field

SYSTEM_PARAMETERS = frozenset(
    [
        *("$.xgafv", "access_token", "alt", "callback", "fields", "key", "oauth_token"),
        *("prettyPrint", "quotaUser", "upload_protocol", "uploadType"),
    ]
)
ENUMERATIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    "valueRenderOption": (
        "ValueRenderOption",
        ("FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA"),
    ),
    "responseValueRenderOption": (
        "ValueRenderOption",
        ("FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA"),
    ),
    "dateTimeRenderOption": ("DateTimeRenderOption", ("SERIAL_NUMBER", "FORMATTED_STRING")),
    "responseDateTimeRenderOption": (
        "DateTimeRenderOption",
        ("SERIAL_NUMBER", "FORMATTED_STRING"),
    ),
    "majorDimension": ("Dimension", ("ROWS", "COLUMNS")),
    "valueInputOption": ("ValueInputOption", ("RAW", "USER_ENTERED")),
    "insertDataOption": ("InsertDataOption", ("OVERWRITE", "INSERT_ROWS")),
}
UNSPECIFIED = ("DIMENSION_UNSPECIFIED", "INPUT_VALUE_OPTION_UNSPECIFIED")
BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "": True}


@dataclass(frozen=True, kw_only=True)
class Query:
    """The parameters as sent, in their order; the last one of a name counts, but for lists."""

    pairs: Sequence[tuple[str, str]]

    def text(self, name: str, default: str = "") -> str:
        values = self.texts(name)
        return values[-1] if values else default

    def texts(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key in (name, snake(name))]

    def flag(self, name: str, default: bool = False) -> bool:
        values = self.texts(name)
        if not values:
            return default
        if values[-1].lower() not in BOOLEANS:
            raise wrong_type(snake(name), "TYPE_BOOL", values[-1])
        return BOOLEANS[values[-1].lower()]

    def choice(self, name: str) -> str:
        """The value of an enumeration; its default where it is absent."""
        kind, choices = ENUMERATIONS[name]
        value = self.text(name)
        if not value or value in UNSPECIFIED:
            return choices[0]
        if value not in choices:
            raise wrong_type(snake(name), f"{ENUM_TYPE}{kind}", value)
        return value

    def input_option(self) -> str:
        """`valueInputOption`, which has no default."""
        return input_option(self.text("valueInputOption") and self.choice("valueInputOption"))

    def rendering(self) -> Rendering:
        """How a read wants its values."""
        return Rendering(
            value=self.choice("valueRenderOption"),
            date_time=self.choice("dateTimeRenderOption"),
        )

    def response_rendering(self) -> Rendering | None:
        """How a write wants its values back; None: not at all."""
        if not self.flag("includeValuesInResponse"):
            return None
        return Rendering(
            value=self.choice("responseValueRenderOption"),
            date_time=self.choice("responseDateTimeRenderOption"),
        )


def input_option(value: str) -> str:
    """The given `valueInputOption`, or Google's refusal where there is none."""
    if not value or value in UNSPECIFIED:
        raise invalid("'valueInputOption' is required but not specified")
    return value


def read_query(query_string: bytes, known: Sequence[str]) -> Query:
    """The parameters of a call that takes the names `known`; 400 for any other name."""
    text = query_string.decode("utf-8", "replace")
    query = Query(pairs=parse_qsl(text, keep_blank_values=True))
    allowed = SYSTEM_PARAMETERS.union(known, (snake(name) for name in known))
    for name, _ in query.pairs:
        if name not in allowed:
            raise _unknown_parameter(name)
    return query


def _unknown_parameter(name: str) -> Exception:
    return invalid_field(
        "",
        f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
        f"Field '{name}' could not be found in request message.",
    )


def is_pretty(query_string: bytes) -> bool:
    """Is the answer to be indented? It is unless `prettyPrint` is false."""
    pairs = parse_qsl(query_string.decode("utf-8", "replace"), keep_blank_values=True)
    values = [value.lower() for name, value in pairs if name == "prettyPrint"]
    return not values or BOOLEANS.get(values[-1], True)
