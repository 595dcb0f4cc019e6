"""Regular expressions of findReplace, translated to Python's syntax.

Rules:
- Google uses Java's syntax. Supported are literals, `.`, `^`, `$`, classes, groups, alternatives,
  quantifiers and `\\d \\w \\s \b` with their opposites. These classes match only ASCII. Other
  syntax gets 501.
- Searches have bounded time. A quantified group contains neither a quantifier nor an alternative,
  and the caller limits the sum of `Search.cost`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from re import Match, Pattern

from sheets_emulator.refusal import Refusal, invalid, unimplemented

MAX_LENGTH = 1000  # characters of an expression
SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \\t\\n\\x0b\\f\\r"}
SAME = frozenset("tnrfbBA")  # escapes with the same meaning in Python and Java
TOKEN = re.compile(
    r"""
    (?P<escape>\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.))
    |(?P<set>\[\^?(?:\\.|[^]\\[])+])
    |(?P<open>\((?:\?:)?(?!\?))
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<quantifier>(?:[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?})[?+]?)
    |(?P<literal>[^\\[({])
    """,
    re.VERBOSE | re.DOTALL,
)
COUNTED = re.compile(r"\{([0-9]+)(,?)([0-9]*)}")
RANGES_OF_SETS = re.compile(r"&&|--|~~|\|\|")
REFERENCE = re.compile(r"\\(?P<literal>.)|\$(?P<group>[0-9]+)|(?P<plain>[^\\$]+)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A compiled expression.

    `choices` has the number of ways to match each group and quantifier. None means unlimited.
    """

    pattern: Pattern[str]
    choices: Sequence[int | None] = ()

    def cost(self, length: int) -> int:
        """Return the maximum number of steps of a search in a text of `length` characters."""
        starts = length + 1
        return starts * prod(min(each or starts, starts + 1) for each in self.choices)


@dataclass(kw_only=True)
class Group:
    """An open group, or the whole expression. `bars` is the number of `|` in the group."""

    bars: int = 0
    has_quantifier: bool = False


@dataclass(kw_only=True)
class Reading:
    """State of the translation of an expression."""

    text: str
    python: list[str] = field(default_factory=list)
    choices: list[int | None] = field(default_factory=list)
    groups: list[Group] = field(default_factory=lambda: [Group()])
    closed: Group | None = None  # the group closed by the previous token


def literal_search(text: str, *, is_case_matched: bool) -> Search:
    """Return a search for a literal text."""
    return Search(pattern=re.compile(re.escape(text), _flags(is_case_matched)))


def regex_search(text: str, *, is_case_matched: bool) -> Search:
    """Return a search for a regular expression. Raises a 400 if invalid, a 501 if unsupported."""
    if len(text) > MAX_LENGTH:
        raise unimplemented("a regular expression of more than 1000 characters")
    reading = Reading(text=text)
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise _unknown(text)
        _read(reading, match)
        at = match.end()
    choices = [*reading.choices, reading.groups[0].bars + 1]
    try:
        pattern = re.compile("".join(reading.python), _flags(is_case_matched))
    except (re.error, OverflowError) as error:
        raise _malformed(text) from error
    return Search(pattern=pattern, choices=choices)


def expanded(replacement: str, match: Match[str]) -> str:
    """Expand `$1` in a replacement, as Java does. Raises a 400 for a missing group."""
    parts, at = [], 0
    while at < len(replacement):
        piece = REFERENCE.match(replacement, at)
        if piece is None:
            raise invalid(f"Invalid replacement: {replacement[:50]}")
        at = piece.end()
        digits = piece["group"]
        if digits is None:
            parts.append(piece["plain"] or piece["literal"])
            continue
        taken = _group_digits(digits, match)
        parts.append(match[int(taken)] or "")
        at -= len(digits) - len(taken)
    return "".join(parts)


def _group_digits(digits: str, match: Match[str]) -> str:
    """Return the longest prefix of the digits that is the number of a group."""
    groups = match.re.groups
    lengths = (end for end in range(min(len(digits), 4), 0, -1) if int(digits[:end]) <= groups)
    end = next(lengths, None)
    if end is None:
        raise invalid(f"No group {digits[0]}")
    return digits[:end]


def _flags(is_case_matched: bool) -> int:
    return 0 if is_case_matched else int(re.IGNORECASE)


def _read(reading: Reading, match: Match[str]) -> None:
    kind, text = match.lastgroup, match[0]
    closed, reading.closed = reading.closed, None
    if kind == "escape":
        text = _escape(reading, text)
    elif kind == "set":
        text = _set(reading, text)
    elif kind == "open":
        reading.groups.append(Group())
    elif kind == "close":
        _close(reading)
    elif kind == "bar":
        reading.groups[-1].bars += 1
    elif kind == "quantifier":
        _quantify(reading, text, closed)
    reading.python.append(text)


def _escape(reading: Reading, text: str) -> str:
    letter = text[1]
    if not letter.isascii():
        return letter
    if letter.lower() in SETS:
        return f"[{'^' if letter.isupper() else ''}{SETS[letter.lower()]}]"
    if len(text) > 2 or letter in SAME or not letter.isalnum():
        return text
    raise _unknown(reading.text)


def _set(reading: Reading, text: str) -> str:
    def escape(match: Match[str]) -> str:
        letter = match[0][1]
        if letter in SETS:
            return SETS[letter]
        if not letter.isascii():
            return letter
        if letter in "tnrf" or not letter.isalnum():
            return match[0]
        raise _unknown(reading.text)

    if RANGES_OF_SETS.search(text):
        raise _unknown(reading.text)
    return re.sub(r"(?s)\\.", escape, text)


def _close(reading: Reading) -> None:
    if len(reading.groups) == 1:
        raise _malformed(reading.text)
    reading.closed = reading.groups.pop()
    reading.choices.append(reading.closed.bars + 1)
    reading.groups[-1].has_quantifier |= reading.closed.has_quantifier


def _quantify(reading: Reading, text: str, closed: Group | None) -> None:
    if closed is not None and (closed.bars or closed.has_quantifier):
        raise unimplemented("a quantifier after a group with a quantifier or alternatives")
    reading.groups[-1].has_quantifier = True
    reading.choices.append(_ways(text))


def _ways(quantifier: str) -> int | None:
    counted = COUNTED.match(quantifier)
    if counted is None:
        return 2 if quantifier.startswith("?") else None
    if counted[2] and not counted[3]:
        return None
    return max(int(counted[3] or counted[1]) - int(counted[1]), 0) + 1


def _malformed(text: str) -> Refusal:
    return invalid(f"Invalid regular expression: {text[:50]}")


def _unknown(text: str) -> Refusal:
    return unimplemented(f"the regular expression {text[:50]!r}")
