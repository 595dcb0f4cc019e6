"""Field masks, such as `sheets.properties`, `sheets/properties(title,sheetId)` or `a,b`.

Rules:
- A mask is checked against Google's definition, and then applied to the full answer.
- A parent stays even if it is empty (recorded from Google: `{"sheets": [{"properties": {}}]}`).
"""

import re
from collections.abc import Iterator, Mapping

from sheets_emulator.protocol.definition import Type, members
from sheets_emulator.protocol.message import snake
from sheets_emulator.protocol.scalar import camel_mask
from sheets_emulator.refusal import Refusal, invalid, invalid_field, of_code

Mask = dict[str, "Mask"]  # mask of the inner fields by field; an empty mask includes all

TOKEN = re.compile(r"[A-Za-z0-9_]+|\*|[,()./]")
MAX_DEPTH = 50  # names in one path; every path in Google's definition is shorter


def read_mask(text: str) -> Mask:
    """Parse a field mask and convert names to camelCase. Raises a 400 if the mask is malformed."""
    tokens = TOKEN.findall(camel_mask(text))
    if "".join(tokens) != re.sub(r"\s", "", camel_mask(text)) or not tokens:
        raise _bad_mask(text)
    mask: Mask = {}
    position = _read_list(tokens, 0, mask, text, 0)
    if position != len(tokens):
        raise _bad_mask(text)
    return mask


def require_known(mask: Mask, kind: Type) -> None:
    """Raise a 400 if an answer's mask contains a field that the type does not have."""
    path = _unknown_path(mask, kind, "")
    if path is not None:
        raise _bad_mask(path)


def require_updatable(mask: Mask, kind: Type) -> None:
    """Raise a 400 if an update's mask contains a field that the type does not have."""
    path = _unknown_path(mask, kind, "")
    if path is not None:
        raise invalid(f"Invalid field: {snake(path)}")


def cut(answer: object, mask: Mask) -> object:
    """Return only the fields of an answer that the mask selects."""
    if not mask or "*" in mask:
        return answer
    if isinstance(answer, Mapping):
        return {name: cut(answer[name], inner) for name, inner in mask.items() if name in answer}
    if isinstance(answer, list):
        return [cut(item, mask) for item in answer]
    return answer


def leaves(mask: Mask, path: str = "") -> list[str]:
    """Return the dotted paths of a mask:

    `gridProperties(rowCount)` gives `gridProperties.rowCount`.
    """
    found: list[str] = []
    for name, inner in mask.items():
        full = f"{path}.{name}" if path else name
        found.extend(leaves(inner, full) if inner else [full])
    return found


def update_paths(text: str, kind: Type) -> list[str]:
    """Return the dotted paths of an update's mask to fields without inner fields.

    `gridProperties` gives a path for each of its fields, and `*` gives all fields. Raises a 400 for
    an unknown field.
    """
    mask = read_mask(text)
    require_updatable(mask, kind)
    return list(dict.fromkeys(_paths(mask, members(kind) or {}, "")))


def _paths(mask: Mask, known: Mapping[str, Type], path: str) -> Iterator[str]:
    for name, inner in mask.items():
        if name == "*":
            yield from _paths({each: {} for each in known}, known, path)
            continue
        full = f"{path}.{name}" if path else name
        within = members(known[name])
        if within:
            yield from _paths(inner or {"*": {}}, within, full)
        else:
            yield from leaves(inner, full) if inner else [full]


def _unknown_path(mask: Mask, kind: Type, path: str) -> str | None:
    """Return the first path of a mask that the type does not have, or None."""
    known = members(kind)
    if known is None:  # a map, which can have any keys
        return None
    for name, inner in mask.items():
        if name == "*":
            continue
        full = f"{path}.{name}" if path else name
        deeper = _unknown_path(inner, known[name], full) if name in known else full
        if deeper is not None:
            return deeper
    return None


def _read_list(tokens: list[str], position: int, mask: Mask, text: str, depth: int) -> int:
    """Parse a list such as `a.b,c(d)` into the mask. Returns the position of the next token."""
    while True:
        position = _read_path(tokens, position, mask, text, depth)
        if position >= len(tokens) or tokens[position] != ",":
            return position
        position += 1


def _read_path(tokens: list[str], position: int, mask: Mask, text: str, depth: int) -> int:
    inner = mask
    while True:
        depth += 1
        if position >= len(tokens) or tokens[position] in ",()./" or depth > MAX_DEPTH:
            raise _bad_mask(text)
        is_shared = tokens[position] in inner
        whole = is_shared and not inner[tokens[position]]
        inner = inner.setdefault(tokens[position], {})
        position += 1
        following = tokens[position] if position < len(tokens) else ""
        if whole and following:
            inner = {}  # the mask already includes the whole field
        if following == "(":
            position = _read_list(tokens, position + 1, inner, text, depth)
            if position >= len(tokens) or tokens[position] != ")":
                raise _bad_mask(text)
            return position + 1
        if following not in (".", "/"):
            inner.clear()
            return position
        position += 1


def _bad_mask(path: str) -> Refusal:
    description = (
        f"Error expanding 'fields' parameter. Cannot find matching fields for path '{path}'."
    )
    return invalid_field(path, description, message=of_code(400).message)
