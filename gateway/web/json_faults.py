"""Explain why a text is not valid JSON, and how to correct it.

Rules: the first matching test explains the error. Tests of the whole text precede tests of the
position of the error. An explanation never quotes the client's text. Only texts that the JSON
parser rejected are tested.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_LOOKED_AT = 2000
"""Maximum number of characters, from the start, that the patterns of `_KINDS` search."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Words for messages about a body or about `where`.

    `form_help` is advice for a text that is a form, `cut_help` for a text that ends too early.
    `place` returns the words for the position of an error.
    """

    name: str
    example: str
    form_help: str
    cut_help: str
    place: Callable[[json.JSONDecodeError], str]


BODY = Subject(
    name="The body",
    example='{"name": "Ann"}',
    form_help="Send it with Content-Type: application/x-www-form-urlencoded, or send JSON",
    cut_help="Send the whole body, with a backslash before each quote inside a string",
    place=lambda error: f"line {error.lineno}, column {error.colno}",
)
WHERE = Subject(
    name="where",
    example='{"state":"California"}',
    form_help="Send JSON",
    cut_help="Send the whole value percent-encoded: write & as %26 and # as %23",
    place=lambda error: f"offset {error.pos}",
)

MULTIPART = re.compile(r"\s*--[^\n]*\n.{0,1000}?content-disposition", re.DOTALL | re.IGNORECASE)
"""Pattern of the start of a `multipart/form-data` body."""

_KINDS: Sequence[tuple[re.Pattern[str], str, str]] = (
    (
        re.compile(r"\s*\[object [A-Z]"),
        "it is [object Object]: the script sent an object without JSON.stringify",
        "Send JSON.stringify of the object",
    ),
    (
        MULTIPART,
        "it is multipart/form-data, which is not supported",
        "In a web page, send new URLSearchParams(new FormData(form)), or send JSON",
    ),
    (re.compile(r"\s*<"), "it is HTML or XML", "Send JSON"),
    (re.compile(r"(?:\0[^\0]){2}|(?:[^\0]\0){2}", re.DOTALL), "it is UTF-16", "Encode it as UTF-8"),
    (re.compile(r"""\s*[^\s{}\[\]"'<>=&:,]+="""), "it is a form, such as name=Ann", ""),
)
"""Formats that clients send in place of JSON: pattern of the start, description, and advice.

The advice "" stands for `Subject.form_help`.
"""

_CURLY = "“”„‟«»‘’‚‛"
_CURLY_END = re.compile(rf"[{_CURLY}]\s*(?:[,:\]}}]|\Z)")
_SIGNS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_CURLY, ("a curly quote", 'Write the straight quote "')),
    **dict.fromkeys("'`", ("a single quote or backtick", 'Write the double quote "')),
    **dict.fromkeys("/#", ("a comment", "Remove it")),
    ";": ("a semicolon", "Write a comma"),
    "+": ("a number with +", "Remove the +"),
    ".": ("a number without a digit before the decimal point", "Write 0.5 for .5"),
}
_POINT_BEHIND_DIGIT = (
    "this number has two decimal points, or no digit after its point. Write 1.0 for 1., and "
    "write a text in double quotes"
)
_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
    **dict.fromkeys(("None", "NULL", "nil", "undefined"), "null"),
}
_BRACKETS = "{}[],:"
_MISSING: Mapping[str, str] = {
    "Expecting property name": "a name is missing. Write it in double quotes",
    "Expecting value": "a value is missing. Write null for an empty value",
    "Expecting ':'": "a colon is missing. Write it between name and value",
}
_BRACKET = "the closing bracket does not match. Close { with }, and [ with ]"
_COMMA = "a comma is missing here, or a backslash before a quote inside the previous string"
_DECIMAL_COMMA = re.compile(r"[0-9],[0-9]++(?!\s*:)")
_WORD = re.compile(r"[^\W\d]\w*")
_CONTROLS: Mapping[str, str] = {
    "\n": "contains a raw line break. Write it as \\n",
    "\r": "contains a raw line break. Write it as \\r",
    "\t": "contains a raw tab. Write it as \\t",
}


def explain(subject: Subject, text: str, error: json.JSONDecodeError) -> str:
    """Return a message of two sentences: the mistake, and advice."""
    if not text.strip():
        found = "it contains only whitespace" if text else "it is empty"
        return f"{subject.name} is not JSON: {found}. Send JSON, such as {subject.example}."
    start = text[:_LOOKED_AT]
    for pattern, found, mend in _KINDS:
        if pattern.match(start):
            mend = mend or subject.form_help
            return f"{subject.name} is not JSON: {found}. {mend}, such as {subject.example}."
    return f"{subject.name} is not JSON at {subject.place(error)}: {_fault(subject, text, error)}."


def _fault(subject: Subject, text: str, error: json.JSONDecodeError) -> str:
    message, at = error.msg, error.pos
    sign, before = text[at : at + 1], text[:at].rstrip()[-1:]
    if message.startswith("Invalid control"):
        held = (
            _CONTROLS.get(sign) or f"contains a control character. Write it as \\u{ord(sign):04x}"
        )
        return f"a string {held}"
    if message.startswith("Unterminated") and _CURLY_END.search(text, at):
        return 'a string ends with a curly quote. Write the straight quote "'
    if message.startswith("Unterminated"):
        return f"the string that begins here has no closing quote. {subject.cut_help}"
    if message.startswith("Invalid \\"):
        return "a backslash does not begin a JSON escape. Write \\\\ for \\, as in C:\\\\data"
    if not text[at:].strip():
        return f"the text ends before its last closing bracket. {subject.cut_help}"
    if message.startswith("Extra data"):
        return (
            "another value follows the first. Send several rows as one list, [{…}, {…}]"
            if sign in "{["
            else "there is text after the end of the JSON. Remove it"
        )
    if message.startswith("Illegal trailing") or (before == "," and sign in "}]"):
        return "a comma is not allowed before a closing bracket. Remove it"
    return _found_here(text, message, at)


def _found_here(text: str, message: str, at: int) -> str:
    """Return mistake and advice for an error where a name, value, colon or comma is missing.

    `message` is the JSON parser's, `at` is the error's position in the text, from 0.
    """
    sign = text[at]
    if sign == "." and text[at - 1 : at].isdigit():
        return _POINT_BEHIND_DIGIT
    if sign in _SIGNS:
        found, mend = _SIGNS[sign]
        return f"{found} is not allowed here. {mend}"
    if not sign.isprintable() or sign.isspace():
        return f"the invisible character U+{ord(sign):04X} is not allowed here. Remove it"
    word = _WORD.match(text, at)
    if word is not None and word[0] in _WORDS:
        return f"{word[0]} is not JSON. Write {_WORDS[word[0]]}"
    if sign in _BRACKETS:
        missing = [word for start, word in _MISSING.items() if message.startswith(start)]
        return missing[0] if missing else _BRACKET if sign in "}]" else _COMMA
    if message.startswith("Expecting property name") and _DECIMAL_COMMA.match(text, max(at - 2, 0)):
        return "a digit follows a comma. Write a decimal number with a point, as in 1.5"
    if message.startswith("Expecting property name"):
        return 'a name needs quotes. Write it in double quotes, as in {"name": 1}'
    if message.startswith("Expecting value"):
        return 'a text needs quotes. Write it in double quotes, as in "Ann"'
    if message.startswith("Expecting ':'"):
        return 'a colon is missing. Write it between name and value, as in {"name": 1}'
    if sign.isdigit() and text[at - 1] in "0-":
        return "a number begins with 0. Send it as a string to keep the zeros"
    return _COMMA
