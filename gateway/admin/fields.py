"""Fields of a row's form: the input of each cell, and the value of its text.

Rules: the input suits the present value of the cell; the column's type decides for empty cells
only. So no browser input drops a text that it does not accept.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,308})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_ZEROS = re.compile(r"^\+?(-?)0*(?=[0-9])")
_FORMS: Mapping[str, re.Pattern[str]] = {
    "number": _NUMBER,
    "boolean": re.compile("TRUE|FALSE"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "date-time": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}(?:\.[0-9]{1,3})?"),
    "time": re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?"),
}
_INPUTS: Mapping[str, str] = {"date-time": "datetime-local", "boolean": "checkbox"}
_LONG = 60
"""Number of characters from which a text gets an input of several lines."""


def field_of(
    name: str, schema: Mapping[str, Any], value: object, given: Mapping[str, str]
) -> dict[str, object]:
    """A field of a form: a value or its text, with a typed text (`given`) in its place."""
    column = schema.get("anyOf", [schema])[0]  # as with empty_cell = ""
    types, options = column.get("type", ()), column.get("enum", ())
    kind = column.get("format") or next((each for each in types if each in _FORMS), "text")
    original = _text(value)
    text = given.get(name, original)
    if original and kind in _FORMS and not _FORMS[kind].fullmatch(original):
        kind = "text"
    if not original and kind == "boolean":  # an unchecked box would say FALSE
        options = [True, False]
    if text and kind in _FORMS and not _FORMS[kind].fullmatch(text):
        kind = "text"
    choices = [_text(each) for each in options if each is not None]
    control = _INPUTS.get(kind, kind)
    if choices:
        control = "select"
    elif kind == "text" and ("\n" in text or "\r" in text or len(text) > _LONG):
        control = "textarea"
    return {
        "name": name,
        "kind": kind,
        "control": control,
        "choices": choices if original in choices or not original else [original, *choices],
        "original": original,
        "text": text,
        "is_changed": name in given and text != original,
        "is_read_only": schema.get("readOnly", False),
        "type": "choice" if options and kind != "boolean" else kind,
    }


def _text(value: object) -> str:
    """A typed value as the text of an input."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return value if isinstance(value, str) else json.dumps(value)


def changed_values(form: Mapping[str, str]) -> tuple[dict[str, object], dict[str, str]]:
    """Values and texts of the changed fields, by field name."""
    values: dict[str, object] = {}
    texts: dict[str, str] = {}
    for key, text in form.items():
        name = key[2:]
        if not key.startswith("f.") or f"o.{name}" not in form:
            continue
        kind, original = form.get(f"k.{name}", "text"), form[f"o.{name}"]
        if _moment(kind, text) != _moment(kind, original):
            # A number input takes spellings that JSON does not have.
            plain = _ZEROS.sub(r"\1", text.strip()) if kind == "number" else text
            values[name], texts[name] = typed(kind, plain), text
    return values, texts


def typed(kind: str, text: str) -> object:
    """Parse a text of this kind to its JSON value; a text that is not of the kind stays a text."""
    if kind == "number" and _NUMBER.fullmatch(text.strip()):
        return json.loads(text.strip())
    if kind == "boolean" and text.upper() in ("TRUE", "FALSE"):
        return text.upper() == "TRUE"
    return _moment(kind, text)


def _moment(kind: str, text: str) -> str:
    """Normalise a date-time or time, because browsers may omit seconds; other texts unchanged."""
    try:
        if kind == "date-time":
            found: datetime | time = datetime.fromisoformat(text)
        elif kind == "time":
            found = time.fromisoformat(text)
        else:
            return text
    except ValueError:
        return text
    return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")
