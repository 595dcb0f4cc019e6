"""Field masks: `sheets.properties`, `sheets/properties(title,sheetId)`, `a,b`.

Rules
- A mask is checked against what Google's definition has, then cut out of the full answer; a
  parent stays although nothing is left in it (recorded: `{"sheets": [{"properties": {}}]}`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from gateway.emulator.message import snake
from gateway.emulator.refusal import invalid, invalid_field

Mask = dict[str, "Mask"]  # field -> mask of its inner fields; an empty mask takes all of them
Schema = Mapping[str, "Schema | None"]  # None: inner fields are not checked

TOKEN = re.compile(r"[A-Za-z0-9_]+|\*|[,()./]")
DEEPEST = 50  # names in one path; Google's definition has fewer
INVALID = "Request contains an invalid argument."


def read_mask(text: str) -> Mask:
    """The parsed mask; 400 where it is malformed."""
    tokens = TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text) or not tokens:
        raise _bad_mask(text)
    mask: Mask = {}
    position = _read_list(tokens, 0, mask, text, 0)
    if position != len(tokens):
        raise _bad_mask(text)
    return mask


def require_known(mask: Mask, schema: Schema, path: str = "") -> None:
    """Raise where the mask names a field that the definition does not have."""
    for name, inner in mask.items():
        full = f"{path}.{name}" if path else name
        if name == "*":
            continue
        if name not in schema:
            raise _bad_mask(full)
        known = schema[name]
        if known is not None:
            require_known(inner, known, full)


def cut(answer: object, mask: Mask) -> object:
    """The part of an answer that the mask names."""
    if not mask or "*" in mask:
        return answer
    if isinstance(answer, Mapping):
        return {name: cut(answer[name], inner) for name, inner in mask.items() if name in answer}
    if isinstance(answer, list):
        return [cut(item, mask) for item in answer]
    return answer


def leaves(mask: Mask, path: str = "") -> list[str]:
    """The dotted paths of a mask: `gridProperties(rowCount)` gives `gridProperties.rowCount`."""
    found: list[str] = []
    for name, inner in mask.items():
        full = f"{path}.{name}" if path else name
        found.extend(leaves(inner, full) if inner else [full])
    return found


def update_paths(text: str, schema: Schema) -> list[str]:
    """The dotted paths that the mask of an update names, each taken apart as far as is known.

    `gridProperties` gives a path for each of its fields, `*` those of all; 400 for an unknown one.
    """
    return list(dict.fromkeys(_paths(read_mask(text), schema, "")))


def _paths(mask: Mask, schema: Schema, path: str) -> Iterator[str]:
    for name, inner in mask.items():
        if name == "*":
            yield from _paths({each: {} for each in schema}, schema, path)
            continue
        full = f"{path}.{name}" if path else name
        known = schema.get(name, {}) if name in schema else _unknown_field(full)
        if known:
            yield from _paths(inner or {"*": {}}, known, full)
        elif known is None:
            yield from leaves(inner, full) if inner else [full]
        else:
            yield full if not inner else _unknown_field(leaves(inner, full)[0])


def _unknown_field(path: str) -> NoReturn:
    raise invalid(f"Invalid field: {snake(path)}")


def _read_list(tokens: list[str], position: int, mask: Mask, text: str, depth: int) -> int:
    """Read `a.b,c(d)` into the mask; returns the position of what follows."""
    while True:
        position = _read_path(tokens, position, mask, text, depth)
        if position >= len(tokens) or tokens[position] != ",":
            return position
        position += 1


def _read_path(tokens: list[str], position: int, mask: Mask, text: str, depth: int) -> int:
    inner = mask
    while True:
        depth += 1
        if position >= len(tokens) or tokens[position] in ",()./" or depth > DEEPEST:
            raise _bad_mask(text)
        is_shared = tokens[position] in inner
        whole = is_shared and not inner[tokens[position]]
        inner = inner.setdefault(tokens[position], {})
        position += 1
        following = tokens[position] if position < len(tokens) else ""
        if whole and following:
            inner = {}  # the field was taken whole before: what is named inside adds nothing
        if following == "(":
            position = _read_list(tokens, position + 1, inner, text, depth)
            if position >= len(tokens) or tokens[position] != ")":
                raise _bad_mask(text)
            return position + 1
        if following not in (".", "/"):
            inner.clear()
            return position
        position += 1


def _bad_mask(path: str) -> Exception:
    description = (
        f"Error expanding 'fields' parameter. Cannot find matching fields for path '{path}'."
    )
    return invalid_field(path, description, message=INVALID)
