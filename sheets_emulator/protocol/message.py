"""Typed access to JSON objects of requests.

Rules:
- `payload` has checked the types of the members. There are no nulls.
- Paths in errors have the names of Google's definition, such as `requests[0].add_sheet`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import msgspec

from sheets_emulator.refusal import invalid_field, unimplemented
from sheets_emulator.reply import Json

SNAKE = re.compile(r"([A-Z])")
LIST_VALUE = "type.googleapis.com/google.protobuf.ListValue"
ENUM_TYPE = "type.googleapis.com/google.apps.sheets.v4."
MAX_SHOWN_LENGTH = 1000  # characters of a value or name in an error message


@dataclass(frozen=True, kw_only=True)
class Message:
    """A JSON object of a request. `place` is its path in the body, or "" for the whole body."""

    fields: Json
    place: str = ""

    def has(self, name: str) -> bool:
        return name in self.fields

    def text(self, name: str, default: str = "") -> str:
        """Return a member that is a text, a value of an enumeration or a field mask."""
        return cast(str, self.fields.get(name, default))

    def flag(self, name: str) -> bool:
        return cast(bool, self.fields.get(name, False))

    def integer(self, name: str, default: int = 0) -> int:
        return cast(int, self.fields.get(name, default))

    def optional_integer(self, name: str) -> int | None:
        return cast(int | None, self.fields.get(name))

    def number(self, name: str) -> float:
        return cast(float, self.fields.get(name, 0.0))

    def message(self, name: str) -> "Message":
        """Return an inner object, which is empty if the member is missing."""
        fields = cast(Json, self.fields.get(name, {}))
        return Message(fields=fields, place=self._path(name))

    def messages(self, name: str) -> list["Message"]:
        items = cast(Sequence[Json], self.fields.get(name, ()))
        return [
            Message(fields=item, place=f"{self._path(name)}[{index}]")
            for index, item in enumerate(items)
        ]

    def texts(self, name: str) -> Sequence[str]:
        return cast(Sequence[str], self.fields.get(name, ()))

    def rows(self, name: str) -> Sequence[Sequence[object]]:
        """Return a member that is a list of lists, such as the `values` of a request."""
        return cast(Sequence[Sequence[object]], self.fields.get(name, ()))

    def require_implemented(self, names: Sequence[str]) -> None:
        """Raise a 501 if the object has a field that is not in `names`."""
        for name in self.fields:
            if name not in names:
                raise unimplemented(f"the field '{name}' of '{self.place}'")

    def _path(self, name: str) -> str:
        return f"{self.place}.{snake(name)}".removeprefix(".")


def decode_object(body: bytes) -> dict[str, object]:
    """Parse the JSON object of a body. An empty body gives {}. Raises a 400 for another body."""
    if not body.strip():
        return {}
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid_field("", f"Invalid JSON payload received. {error}") from error
    if isinstance(value, dict):
        return value
    raise invalid_field("", unknown_name_text("", "", "Root element must be a message."))


def snake(name: str) -> str:
    """Convert a name to snake_case, as in Google's errors: `value_input_option`."""
    return SNAKE.sub(lambda match: f"_{match[1].lower()}", name)


def wrong_type_text(place: str, kind: str, value: object, text: str = "") -> str:
    """Return Google's error text for a value of a wrong type. `text` replaces the value."""
    shown = text or msgspec.json.encode(value).decode()
    if len(shown) > MAX_SHOWN_LENGTH:
        shown = f"{shown[:MAX_SHOWN_LENGTH]}..."
    return f"Invalid value at '{place}' ({kind}), {shown}"


def unknown_name_text(name: str, place: str, reason: str = "Cannot find field.") -> str:
    """Return Google's error text for an unknown name in the object at `place`."""
    where = f" at '{place}'" if place else ""
    shown = name if len(name) <= MAX_SHOWN_LENGTH else f"{name[:MAX_SHOWN_LENGTH]}..."
    return f'Invalid JSON payload received. Unknown name "{shown}"{where}: {reason}'
