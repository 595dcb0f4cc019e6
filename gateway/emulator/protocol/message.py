"""Typed reading of a JSON object of a request, with Google's errors for a wrong type or name.

Rules
- The place of a message is told in the words of Google's own definition: `requests[0].add_sheet`.
- A JSON null is as good as absent (recorded: `"majorDimension": null`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from gateway.emulator.refusal import Refusal, invalid_field, unimplemented

SNAKE = re.compile(r"([A-Z])")
LIST_VALUE = "type.googleapis.com/google.protobuf.ListValue"
ENUM_TYPE = "type.googleapis.com/google.apps.sheets.v4."
LARGEST_INT = 2**31 - 1
LONGEST_SHOWN = 1000  # characters of a value or a name in an error


@dataclass(frozen=True, kw_only=True)
class Message:
    """A JSON object and where it stands in the request; the place of a whole body is ""."""

    fields: Mapping[str, object]
    place: str

    def has(self, name: str) -> bool:
        return self.fields.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        value = self.fields.get(name)
        if value is None:
            return default
        return value if isinstance(value, str) else self._reject(name, "TYPE_STRING")

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.fields.get(name)
        if value is None:
            return default
        return value if isinstance(value, bool) else self._reject(name, "TYPE_BOOL")

    def integer(self, name: str, default: int = 0) -> int:
        value = self.fields.get(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, int) and is_number and abs(value) <= LARGEST_INT:
            return value
        return self._reject(name, "TYPE_INT32")

    def optional_integer(self, name: str) -> int | None:
        return self.integer(name) if self.has(name) else None

    def choice(self, name: str, kind: str, choices: Sequence[str]) -> str:
        """One of the names of an enumeration; the first one where the field is absent."""
        value = self.fields.get(name)
        if value is None:
            return choices[0]
        if isinstance(value, str) and value in choices:
            return value
        return self._reject(name, f"{ENUM_TYPE}{kind}")

    def message(self, name: str) -> "Message":
        """An inner object; an empty one where the field is absent."""
        return self._inner(self.fields.get(name), self._path(name))

    def messages(self, name: str) -> list["Message"]:
        return [
            self._inner(item, f"{self._path(name)}[{index}]")
            for index, item in enumerate(self.items(name))
        ]

    def items(self, name: str) -> Sequence[object]:
        """A repeated field; empty where it is absent."""
        value = self.fields.get(name)
        if value is None:
            return ()
        if isinstance(value, list):
            return value
        return (value,)  # Google takes a lone value for a list of one

    def lists(self, name: str) -> list[list[object]]:
        """A repeated field of lists: the `values` of a request."""
        value = self.fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            return self._reject(name, LIST_VALUE)
        for index, row in enumerate(value):
            if not isinstance(row, list):
                raise wrong_type(f"{self._path(name)}[{index}]", LIST_VALUE, row)
        return value

    def texts(self, name: str) -> list[str]:
        found = []
        for index, item in enumerate(self.items(name)):
            if not isinstance(item, str):
                raise wrong_type(f"{self._path(name)}[{index}]", "TYPE_STRING", item)
            found.append(item)
        return found

    def require_implemented(self, names: Sequence[str]) -> None:
        """Raise for a field that this emulator would have to pass over in silence."""
        for name, value in self.fields.items():
            if name not in names and value is not None:
                raise unimplemented(f"the field '{name}' of '{self.place}'")

    def _path(self, name: str) -> str:
        return f"{self.place}.{snake(name)}" if self.place else snake(name)

    def _inner(self, value: object, place: str) -> "Message":
        if value is None:
            return Message(fields={}, place=place)
        if isinstance(value, dict):
            return Message(fields=value, place=place)
        raise wrong_type(place, "TYPE_MESSAGE", value)

    def _reject(self, name: str, kind: str) -> NoReturn:
        raise wrong_type(self._path(name), kind, self.fields.get(name))


def read_message(body: bytes, *, place: str = "") -> Message:
    """The JSON object of a request body; an empty body is an empty object. 400 otherwise."""
    return Message(fields=decode_object(body), place=place)


def decode_object(body: bytes) -> dict[str, object]:
    """The JSON object of a request body; an empty body is an empty object. 400 otherwise."""
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
    """`valueInputOption` is `value_input_option` in Google's errors."""
    return SNAKE.sub(lambda match: f"_{match[1].lower()}", name)


def wrong_type(place: str, kind: str, value: object) -> Refusal:
    """A field holds another JSON type than its definition says."""
    return invalid_field(place, wrong_type_text(place, kind, value))


def wrong_type_text(place: str, kind: str, value: object, text: str = "") -> str:
    """How Google tells of a value of another type; `text` in place of the value."""
    shown = text or msgspec.json.encode(value).decode()
    if len(shown) > LONGEST_SHOWN:
        shown = f"{shown[:LONGEST_SHOWN]}..."
    return f"Invalid value at '{place}' ({kind}), {shown}"


def unknown_name_text(name: str, place: str, reason: str = "Cannot find field.") -> str:
    """How Google tells of a name that has no place where it stands."""
    where = f" at '{place}'" if place else ""
    shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}..."
    return f'Invalid JSON payload received. Unknown name "{shown}"{where}: {reason}'
