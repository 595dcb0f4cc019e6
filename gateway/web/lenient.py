"""Lenient decoding: what requests of clients that encode oddly mean.

Rules
- Tried only where the plain reading fails, so that no name or value that is really spelled so can
  be missed. What a second reading cannot read either gets the error of the plain one.
- Each has a name, which the line of the request in the log has.
- Text in, text out: nothing here knows requests, worksheets or Google. Who tries them:
  `query_string` a query folded into a name, `parameters` the encodings of values, `lenient_retry`
  names that the worksheet lacks and worksheets that the spreadsheet lacks, `body` JSON under
  another type.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, get_args
from urllib.parse import unquote, unquote_to_bytes

from gateway.errors import InvalidQuery
from gateway.query.where import COMBINATORS, LIST_OPERATORS

Twice = Literal["where", "order", "keys"]
"""The parameters whose values may have been percent-encoded twice."""

TWICE: Final[Sequence[Twice]] = get_args(Twice)
QUERY_IN_NAME = "query-in-name"
WHERE_QUOTES = "where-quotes"
WORKSHEET_TWICE = "worksheet-twice"
WORKSHEET_PLUS = "worksheet-plus"
JSON_AS_TEXT = "json-as-text"

BRACKETED = ("where[", "keys[", "order[")
"""How the names of parameters begin whose parts stand in brackets."""

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_QUOTED_OR_WORD = re.compile(
    r"""(?P<json>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|(?P<single>'(?:[^'\\]|\\.)*+(?P<end>'|\\?\Z))"""
    r"""|\b(?P<word>True|False|None)\b""",
    re.DOTALL,
)
_INSIDE_SINGLE = re.compile(r"""\\'|\\.|\"""", re.DOTALL)
_WORDS: Mapping[str, str] = {"True": "true", "False": "false", "None": "null"}
_SEGMENTS = re.compile(r"(?:\[[^\[\]]*\])+")
_MOST_SEGMENTS = 20
_LISTS = frozenset({*COMBINATORS, *LIST_OPERATORS})
_FLAGS: Mapping[str, bool] = {"true": True, "false": False}
_TREE_HELP = 'Send where as one JSON object, such as {"state":"California"}.'


def twice(parameter: str) -> str:
    """The name of the second reading that decodes a parameter once more."""
    return f"{parameter}-twice"


def in_brackets(parameter: str) -> str:
    """The name of the second reading that puts a parameter together from brackets."""
    return f"{parameter}-brackets"


def is_escaped(text: str) -> bool:
    """Whether decoding once more would change the text."""
    return _ESCAPE.search(text) is not None


def decoded_again(text: str) -> str:
    """The text without its percent-encoding; what is no UTF-8 is left as a replacement."""
    return unquote(text)


def json_of(text: str) -> str:
    """JSON for what is written with single quotes, or with Python's words."""
    return _QUOTED_OR_WORD.sub(_as_json, text)


def other_titles(title: str) -> Iterator[tuple[str, str]]:
    """What a worksheet's name may mean beside itself, each by the name of its reading."""
    if "%" in title and is_escaped(title):
        try:
            once_more = unquote_to_bytes(title).decode("utf-8")
        except UnicodeDecodeError:
            once_more = "\0"
        if "\0" not in once_more:
            yield WORKSHEET_TWICE, once_more
    if "+" in title:
        yield WORKSHEET_PLUS, title.replace("+", " ")


def where_of(parameters: Mapping[str, Sequence[str]], *, max_bytes: int) -> object:
    """The tree that `where[field][$operator]=value` spells, its values strings.

    `[]` and numbers make lists, under `$and`, `$or`, `$in` and `$nin` alone the latter. Raises
    InvalidQuery for what is spelled in two ways, or longer.
    """
    length = 0
    tree: dict[str, object] = {}
    for name, values in _bracketed("where", parameters):
        segments = _segments(name, "where")
        for value in values:
            length += len(name.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace"))
            _put(tree, segments, value, name)
    if length > max_bytes:
        raise InvalidQuery(f"where is longer than {max_bytes} bytes.")
    return _shaped(tree, "where")


def names_of(parameter: Twice, parameters: Mapping[str, Sequence[str]]) -> list[str]:
    """The names that `keys[]=a&keys[]=b` or `keys[0]=a&keys[1]=b` spell, in their order."""
    named: list[tuple[int, str]] = []
    for name, values in _bracketed(parameter, parameters):
        segments = _segments(name, parameter)
        if len(segments) > 1 or not (segments[0].isdecimal() or not segments[0]):
            raise InvalidQuery(f"{name} is not understood; send {parameter} as NAME,NAME.")
        at = int(segments[0][:9]) if segments[0] else len(named)
        named += [(at, value) for value in values]
    return [value for _, value in sorted(named, key=lambda each: each[0])]


def _as_json(found: re.Match[str]) -> str:
    if found["word"]:
        return _WORDS[found["word"]]
    if found["json"]:
        return found["json"]
    if not found["end"].startswith("'"):
        return found["single"]  # it has no end
    return '"' + _INSIDE_SINGLE.sub(_unescaped, found["single"][1:-1]) + '"'


def _unescaped(found: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(found[0], found[0])


def _bracketed(
    parameter: Twice, parameters: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Sequence[str]]]:
    return ((name, given) for name, given in parameters.items() if name.startswith(parameter + "["))


def _segments(name: str, parameter: Twice) -> list[str]:
    """What stands in the brackets of a name."""
    brackets = name.removeprefix(parameter)
    segments = brackets[1:-1].split("][")
    if _SEGMENTS.fullmatch(brackets) is None or len(segments) > _MOST_SEGMENTS:
        raise InvalidQuery(f"{name} is not understood. {_TREE_HELP}")
    return segments


def _put(tree: dict[str, object], segments: Sequence[str], value: str, name: str) -> None:
    """Hang a value into the tree; a blank segment is the next place of its list."""
    node = tree
    *inner, last = segments
    for segment in inner:
        child = node.setdefault(segment or str(len(node)), {})
        if not isinstance(child, dict):
            raise InvalidQuery(f"{name} is both a value and more. {_TREE_HELP}")
        node = child
    place = last or str(len(node))
    if place in node:
        raise InvalidQuery(f"{name} is given more than once. {_TREE_HELP}")
    node[place] = value


def _shaped(node: object, name: str) -> object:
    """The tree with lists and flags where the operator `name` takes them."""
    if not isinstance(node, dict):
        return _FLAGS.get(str(node).lower(), node) if name == "$exists" else node
    if name in _LISTS and all(map(str.isdecimal, node)):
        return [_shaped(node[key], "") for key in sorted(node, key=lambda key: int(key[:9]))]
    return {key: _shaped(value, key) for key, value in node.items()}
