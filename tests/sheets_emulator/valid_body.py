"""Request bodies for Hypothesis that Google's definition allows, and bodies with one mistake.

Rules
- A body is drawn from the discovery document, in all forms that Google accepts: snake_case names,
  numbers as texts, null, the number of an enumeration, a single item for a list of one.
- Names and types of a body are right, but its values can be meaningless.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.discovery_schema import Json, document, snake

DEEPEST = 9
INTEGERS = st.one_of(st.integers(-1, 9), st.integers(0, 9).map(str), st.integers(0, 9).map(float))
NUMBERS = st.one_of(
    st.floats(-9, 9, width=32), st.integers(-9, 9), st.sampled_from(["1.5", "-1e2"])
)
PLAIN: Mapping[str, st.SearchStrategy[Any]] = {
    "any": st.sampled_from([None, True, "x", "=A1", 1.5, -1]),
    "boolean": st.booleans(),
    "google-datetime": st.just("2020-01-01T00:00:00Z"),
    "google-fieldmask": st.sampled_from(["*", "note", "user_entered_value", "properties(title)"]),
    "integer": INTEGERS,
    "number": NUMBERS,
    "string": st.sampled_from(["", "x", "Data", "Data!A1", "=A1", "🙂"]),
}
WRONG: Mapping[str, tuple[Any, ...]] = {  # values that Google does not accept for a type
    "boolean": ("true", 1, {}, [True]),
    "enum": ("NONE_SUCH", True, 1.5, {}),
    "google-datetime": ("yesterday", 5, {}),
    "google-fieldmask": ("a;b", 5, {}, ["a"]),
    "integer": ("x", 1.5, "1.5", "", True, 2**31, -(2**31) - 1, {}, [1]),
    "number": ("x", "", True, {}, [1.5], "1e999"),
    "object": ("x", 5, True, []),
    "row": ("x", 5, {}, None),
    "string": (5, True, {}, ["x"]),
}


@dataclass(frozen=True, kw_only=True)
class Site:
    """Position and type of a value in a body."""

    holder: Any
    key: str | int
    kind: str

    def is_at(self, holder: Any, key: str | int) -> bool:
        return self.holder is holder and self.key == key


@dataclass(kw_only=True)
class Body:
    """A body, the objects in it, and the positions of values."""

    value: Json = field(default_factory=dict)
    objects: list[Json] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)


@st.composite
def valid_bodies(draw: st.DrawFn, schema: str, *path: str) -> Body:
    """A body of a schema. `path` names nested members that the body always has."""
    body = Body()
    _draw_members(draw, body, body.value, schema, path, 0)
    return body


@st.composite
def spoiled_bodies(draw: st.DrawFn, schema: str, *path: str) -> Json:
    """A body of a schema with one wrong value or one unknown name."""
    body = draw(valid_bodies(schema, *path))
    sites = [site for site in body.sites if site.kind in WRONG]
    if draw(st.booleans()) and sites:
        site = draw(st.sampled_from(sites))
        site.holder[site.key] = draw(st.sampled_from(WRONG[site.kind]))
    else:
        draw(st.sampled_from(body.objects))["noSuchName"] = draw(st.sampled_from([None, 1, {}]))
    return body.value


def _draw_members(
    draw: st.DrawFn, body: Body, holder: Json, schema: str, path: tuple[str, ...], depth: int
) -> None:
    """Add some members of a schema to an object."""
    described = document()["schemas"][schema].get("properties", {})
    body.objects.append(holder)
    names = list(path[:1])
    if not path:
        names = draw(st.lists(st.sampled_from(sorted(described)), max_size=4, unique=True))
    for name in names if depth < DEEPEST else ():
        written = snake(name) if draw(st.integers(0, 3)) == 0 else name
        if not path and draw(st.integers(0, 9)) == 0:
            holder[written] = None
        else:
            _draw_value(draw, body, holder, written, described[name], path[1:], depth + 1)


def _draw_value(
    draw: st.DrawFn,
    body: Body,
    holder: Any,
    key: str | int,
    described: Json,
    path: tuple[str, ...],
    depth: int,
) -> None:
    """Draw a value of a type and store the value in an object or list."""
    if "items" in described and "items" in described["items"]:
        rows = st.lists(st.lists(PLAIN["any"], max_size=2), min_size=1, max_size=2)
        holder[key] = draw(rows)
        body.sites.append(Site(holder=holder[key], key=0, kind="row"))
    elif "items" in described:
        _draw_list(draw, body, holder, key, described["items"], path, depth)
    elif "$ref" in described:
        holder[key] = {}
        body.sites.append(Site(holder=holder, key=key, kind="object"))
        _draw_members(draw, body, holder[key], described["$ref"], path, depth)
    elif "additionalProperties" in described:
        holder[key] = {"0": {}}
        inner = described["additionalProperties"]
        _draw_value(draw, body, holder[key], "0", inner, path, depth)
    elif "enum" in described:
        numbers = st.integers(0, len(described["enum"]) - 1)
        holder[key] = draw(st.one_of(st.sampled_from(described["enum"]), numbers))
        body.sites.append(Site(holder=holder, key=key, kind="enum"))
    else:
        kind = described.get("format", "")
        kind = kind if kind in PLAIN else described["type"]
        holder[key] = draw(PLAIN[kind])
        body.sites.append(Site(holder=holder, key=key, kind=kind))


def _draw_list(
    draw: st.DrawFn,
    body: Body,
    holder: Any,
    key: str | int,
    item: Json,
    path: tuple[str, ...],
    depth: int,
) -> None:
    """Draw a list, or one item without a list, and store it in an object or list."""
    if draw(st.integers(0, 4)) == 0:
        _draw_value(draw, body, holder, key, item, path, depth)
        # A list with one item would be valid here, so a mistake must not put one.
        body.sites = [site for site in body.sites if not site.is_at(holder, key)]
        return
    holder[key] = [None] * draw(st.integers(1, 2))
    for number in range(len(holder[key])):
        _draw_value(draw, body, holder[key], number, item, path, depth)
