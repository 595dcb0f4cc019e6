"""Lenient decoding: other decodings of requests with unusual encodings.

Rules
- The plain decoding percent-decodes once. A lenient decoding is tried only if the plain decoding
  fails, because a field can really be named `a%20b`. If both fail, the client gets the error of the
  plain decoding.
- Each lenient decoding has a name, which appears in the log line of the request.
- This module converts texts, and knows no request, worksheet or Google. Callers: `parameters` for
  encodings of names and values, `rows` for missing fields and worksheets, `body` for JSON with
  another media type.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, get_args
from urllib.parse import unquote, unquote_to_bytes

from gateway.errors import InvalidQuery
from gateway.query.operators import FLAG, OPERATORS
from gateway.query.query import COMBINATORS, LIST_OPERATORS
from gateway.table.cells import composed

Twice = Literal["where", "order", "keys", "on_conflict"]
"""Parameters whose values can be percent-encoded twice."""

TWICE: Final[Sequence[Twice]] = get_args(Twice)
QUERY_IN_NAME = "query-in-name"
WHERE_QUOTES = "where-quotes"
WORKSHEET_TWICE = "worksheet-twice"
WORKSHEET_PLUS = "worksheet-plus"
WORKSHEET_NFC = "worksheet-nfc"
JSON_AS_TEXT = "json-as-text"

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_QUOTED_OR_WORD = re.compile(
    r"""(?P<json>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|(?P<single>'(?:[^'\\]|\\.)*+(?P<end>'|\\?\Z))"""
    r"""|\b(?P<word>True|False|None)\b""",
    re.DOTALL,
)
_INSIDE_SINGLE = re.compile(r"""\\'|\\.|\"""", re.DOTALL)
_UNESCAPED: Mapping[str, str] = {"\\'": "'", '"': '\\"'}
_WORDS: Mapping[str, str] = {"True": "true", "False": "false", "None": "null"}
_SEGMENTS = re.compile(r"(?:\[[^\[\]]*\])+")
_MOST_SEGMENTS = 20
_LISTS = frozenset({*COMBINATORS, *LIST_OPERATORS})
_FLAG_OPERATORS = frozenset(name for name, each in OPERATORS.items() if each.operand is FLAG)
_FLAGS: Mapping[str, bool] = {"true": True, "false": False}
_TREE_HELP = 'Send where as one JSON object, such as {"state":"California"}.'


def twice(parameter: str) -> str:
    """Return the name in the log of the decoding that decodes a parameter twice."""
    return f"{parameter}-twice"


def in_brackets(parameter: str) -> str:
    """Return the name in the log of the decoding that parses a parameter with brackets."""
    return f"{parameter}-brackets"


def is_escaped(text: str) -> bool:
    """True if percent-decoding changes the text."""
    return _ESCAPE.search(text) is not None


def decoded_again(text: str) -> str:
    """Percent-decode a text. Invalid UTF-8 becomes replacement characters."""
    return unquote(text)


def json_of(text: str) -> str:
    """Convert single quotes and Python's True, False and None to JSON."""
    return _QUOTED_OR_WORD.sub(_as_json, text)


def other_titles(title: str, titles: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield other decodings of a title that are in `titles`: name of the decoding, and title."""
    if "%" in title and is_escaped(title):
        try:
            once_more = unquote_to_bytes(title).decode("utf-8")
        except UnicodeDecodeError:
            once_more = "\0"
        if once_more in titles:
            yield WORKSHEET_TWICE, once_more
    if "+" in title and (plain := title.replace("+", " ")) in titles:
        yield WORKSHEET_PLUS, plain
    if not title.isascii():
        form = composed(title)
        alike = [each for each in titles if composed(each) == form]
        if len(alike) == 1:
            yield WORKSHEET_NFC, alike[0]


def where_of(parameters: Mapping[str, Sequence[str]], *, max_bytes: int) -> object:
    """Return `where[field][$operator]=value` as a JSON object with strings as values.

    Segments `[]` and `[0]` below `$and`, `$or`, `$in` and `$nin` make lists. Raises InvalidQuery
    for contradictions, and for more than `max_bytes` bytes.
    """
    length = 0
    tree: dict[str, object] = {}
    for name, values in _bracketed("where", parameters):
        segments = _segments(name, "where")
        for value in values:
            length += len(name.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace"))
            _put(tree, segments, value, name)
    if length > max_bytes:
        raise InvalidQuery(f"where exceeds the limit of {max_bytes} bytes. Shorten it.")
    return _shaped(tree, "where")


def names_of(parameter: str, parameters: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the values of `keys[]=a&keys[]=b` or `keys[0]=a&keys[1]=b`, in order.

    `parameter` is the name before the brackets. Raises InvalidQuery for other brackets.
    """
    named: list[tuple[int, str]] = []
    for name, values in _bracketed(parameter, parameters):
        segments = _segments(name, parameter)
        if len(segments) > 1 or not (segments[0].isdecimal() or not segments[0]):
            raise InvalidQuery(f"{name} is not valid. Send {parameter}=NAME,NAME.")
        at = int(segments[0][:9]) if segments[0] else len(named)
        named += [(at, value) for value in values]
    return [value for _, value in sorted(named, key=lambda each: each[0])]


def _as_json(found: re.Match[str]) -> str:
    if found["word"] or found["json"]:
        return _WORDS.get(found[0], found[0])
    if not found["end"].startswith("'"):
        return found["single"]  # the quote is not closed
    inside = found["single"][1:-1]
    return f'"{_INSIDE_SINGLE.sub(lambda each: _UNESCAPED.get(each[0], each[0]), inside)}"'


def _bracketed(
    parameter: str, parameters: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Sequence[str]]]:
    return ((name, given) for name, given in parameters.items() if name.startswith(parameter + "["))


def _segments(name: str, parameter: str) -> list[str]:
    """Return the texts in the brackets of a parameter's name, such as `where[a][$gt]`.

    Raises InvalidQuery for wrong or too many brackets.
    """
    brackets = name.removeprefix(parameter)
    segments = brackets[1:-1].split("][")
    if _SEGMENTS.fullmatch(brackets) is None or len(segments) > _MOST_SEGMENTS:
        raise InvalidQuery(f"{name} is not valid. {_TREE_HELP}")
    return segments


def _put(tree: dict[str, object], segments: Sequence[str], value: str, name: str) -> None:
    """Insert a value into nested dicts, at the path `segments`.

    An empty segment stands for the next number. Raises InvalidQuery, with the parameter's `name`,
    if the place has another value.
    """
    node = tree
    *inner, last = segments
    for segment in inner:
        child = node.setdefault(segment or str(len(node)), {})
        if not isinstance(child, dict):
            raise InvalidQuery(f"{name} contradicts another parameter. {_TREE_HELP}")
        node = child
    place = last or str(len(node))
    if place in node:
        raise InvalidQuery(f"{name} appears more than once. {_TREE_HELP}")
    node[place] = value


def _shaped(node: object, name: str) -> object:
    """Return `node` with lists and booleans where operators need them.

    `name` is the field or operator whose value `node` is.
    """
    if not isinstance(node, dict):
        return _FLAGS.get(str(node).lower(), node) if name in _FLAG_OPERATORS else node
    if name in _LISTS and all(map(str.isdecimal, node)):
        return [_shaped(node[key], "") for key in sorted(node, key=lambda key: int(key[:9]))]
    return {key: _shaped(value, key) for key, value in node.items()}
