"""Field masks in Google's discovery document, such as `sheets.properties` and
`sheets/data(rowData,startRow)`.

The mask of a query selects members of the answer, and an answer has only the selected members.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.discovery_schema import Json, camel, document

Mask = dict[str, "Mask | None"]
"""Masks of members by name. None selects the whole member."""

TOKEN = re.compile(r"\w+|[*,()./]")


class MalformedMask(Exception):
    """The text is not a field mask."""


def read_mask(text: str) -> Mask:
    """Parse a field mask. Raises MalformedMask."""
    tokens = TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise MalformedMask(text)
    reader = _Reader(tokens=tokens, text=text)
    mask = reader.paths()
    if reader.tokens:
        raise MalformedMask(text)
    return mask


def unknown_paths(mask: Mask, described: Json, path: str = "") -> Iterator[str]:
    """Yield the paths of a mask that a schema of the document does not have."""
    inside = _members(described)
    for name, inner in mask.items():
        full = f"{path}.{name}" if path else name
        if name == "*" or inside is None:
            continue
        if name not in inside:
            yield full
        elif inner is not None:
            yield from unknown_paths(inner, inside[name], full)


def outside(mask: Mask, answer: object, path: str = "$") -> Iterator[str]:
    """Yield the paths in an answer that its mask does not select."""
    if isinstance(answer, list):
        for index, item in enumerate(answer):
            yield from outside(mask, item, f"{path}[{index}]")
    if not isinstance(answer, dict) or "*" in mask:
        return
    for name, value in answer.items():
        inner = mask.get(name)
        if name not in mask:
            yield f"{path}.{name}"
        elif inner is not None:
            yield from outside(inner, value, f"{path}.{name}")


def _members(described: Json) -> dict[str, Json] | None:
    """Return the schemas of a value's members: {} for no members, None for members with
    any name.
    """
    if "$ref" in described:
        return _members(document()["schemas"][described["$ref"]])
    if "items" in described:
        return _members(described["items"])
    if "additionalProperties" in described:
        return None
    members: dict[str, Json] = described.get("properties", {})
    return members


@dataclass(kw_only=True)
class _Reader:
    """Parser of field masks, which consumes tokens from the start of the list."""

    tokens: list[str]
    text: str

    def paths(self) -> Mask:
        """Parse `a.b,c(d)`, up to the end or a closing parenthesis."""
        mask: Mask = {}
        self._path(mask)
        while self._took(","):
            self._path(mask)
        return mask

    def _path(self, mask: Mask) -> None:
        if not self.tokens or self.tokens[0] in ",()./":
            raise MalformedMask(self.text)
        name = camel(self.tokens.pop(0))
        inner = self._inner()
        known = mask.get(name, {})
        mask[name] = None if known is None or inner is None else _merged(known, inner)

    def _inner(self) -> Mask | None:
        """Parse the mask after a name: `.b`, `/b`, `(b,c)`, or None."""
        if self._took("("):
            mask = self.paths()
            if not self._took(")"):
                raise MalformedMask(self.text)
            return mask
        if self._took(".") or self._took("/"):
            mask = {}
            self._path(mask)
            return mask
        return None

    def _took(self, token: str) -> bool:
        is_next = self.tokens[:1] == [token]
        del self.tokens[: int(is_next)]
        return is_next


def _merged(one: Mask, other: Mask) -> Mask:
    merged = dict(one)
    for name, inner in other.items():
        known = merged.get(name, {})
        merged[name] = None if known is None or inner is None else _merged(known, inner)
    return merged
