"""Lenient decoding: second readings of requests with unusual encodings.

Rules
- A second reading is tried only if the plain one fails, so that existing names and values with such
  a spelling are found. If both fail, the plain reading's error counts.
- Each second reading has a name, which appears in the request's log line.
- Text in, text out: this module does not know requests, worksheets or Google. Its callers:
  `parameters` for a query folded into a name and for encodings of values, `rows` for missing fields
  and worksheets, `body` for JSON of another type.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, get_args
from urllib.parse import unquote, unquote_to_bytes

from gateway.errors import InvalidQuery
from gateway.query.operators import FLAG, OPERATORS
from gateway.query.where import COMBINATORS, LIST_OPERATORS
from gateway.table.texts import composed

Twice = Literal["where", "order", "keys", "on_conflict"]
"""Parameters whose values may be percent-encoded twice."""

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
    """Name, in the log, of the lenient decoding that decodes a parameter twice."""
    return f"{parameter}-twice"


def in_brackets(parameter: str) -> str:
    """Name, in the log, of the lenient decoding that reads a parameter with brackets."""
    return f"{parameter}-brackets"


def is_escaped(text: str) -> bool:
    """True if percent-decoding changes the text."""
    return _ESCAPE.search(text) is not None


def decoded_again(text: str) -> str:
    """Percent-decode a text. Invalid UTF-8 becomes replacement characters."""
    return unquote(text)


def json_of(text: str) -> str:
    """Convert a text with single quotes or Python's words to JSON."""
    return _QUOTED_OR_WORD.sub(_as_json, text)


def other_titles(title: str, titles: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield other decodings of a worksheet's name that are in `titles`: name of decoding, title."""
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
    """The tree of `where[field][$operator]=value`, with strings as values.

    `[]` and numbers make lists; under `$and`, `$or`, `$in` and `$nin` only numbers are needed.
    Raises InvalidQuery for contradictory or longer spellings.
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


def names_of(parameter: str, parameters: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of `keys[]=a&keys[]=b` or `keys[0]=a&keys[1]=b`, in order."""
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
        return found["single"]  # not closed
    inside = found["single"][1:-1]
    return f'"{_INSIDE_SINGLE.sub(lambda each: _UNESCAPED.get(each[0], each[0]), inside)}"'


def _bracketed(
    parameter: str, parameters: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Sequence[str]]]:
    return ((name, given) for name, given in parameters.items() if name.startswith(parameter + "["))


def _segments(name: str, parameter: str) -> list[str]:
    """Texts in the brackets of a name."""
    brackets = name.removeprefix(parameter)
    segments = brackets[1:-1].split("][")
    if _SEGMENTS.fullmatch(brackets) is None or len(segments) > _MOST_SEGMENTS:
        raise InvalidQuery(f"{name} is not valid. {_TREE_HELP}")
    return segments


def _put(tree: dict[str, object], segments: Sequence[str], value: str, name: str) -> None:
    """Insert a value into the tree. An empty segment appends an item to a list."""
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
    """Convert values of operators that take a list or boolean, at all depths below `name`."""
    if not isinstance(node, dict):
        return _FLAGS.get(str(node).lower(), node) if name in _FLAG_OPERATORS else node
    if name in _LISTS and all(map(str.isdecimal, node)):
        return [_shaped(node[key], "") for key in sorted(node, key=lambda key: int(key[:9]))]
    return {key: _shaped(value, key) for key, value in node.items()}
