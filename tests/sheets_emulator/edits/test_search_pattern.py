"""Tests of regular expressions and replacements of `findReplace`."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.edits.search_pattern import expanded, literal_search, regex_search
from sheets_emulator.refusal import Refusal

MOST_SECONDS = 5.0
STEPS = 10**6
PARTS = ["a", "b", ".", "(", "(?:", ")", "[ab]", "|", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"]


@pytest.mark.parametrize(
    ("expression", "text", "found"),
    [
        (r"\d+", "a12", "12"),
        (r"\w+", "éa_1", "a_1"),
        (r"[\d-]+", "x1-2", "1-2"),
        (r"[^\w]", "a b", " "),
        (r"\D\S\W", "12ab ", "ab "),
        (r"a{2}", "aaa", "aa"),
        (r"a{2,3}?", "aaaa", "aa"),
        (r"(?:ab)+c", "ababc", "ababc"),
        (r"(a|b)c", "xbc", "bc"),
        (r"\$\.\x41\u0042", "$.AB", "$.AB"),
        (r"\bfoo\b", "a foo", "foo"),
        (r"^a.b$", "axb", "axb"),
        (r"\é", "é", "é"),
    ],
)
def test_expressions_match_as_in_java(expression: str, text: str, found: str) -> None:
    r"""Classes such as `\w` and `\d` match ASCII characters only."""
    match = regex_search(expression, is_case_matched=True).pattern.search(text)

    assert match is not None
    assert match[0] == found


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("(", 400),
        (")", 400),
        ("*", 400),
        ("a**", 400),
        ("[b-a]", 400),
        ("a{3,2}", 400),
        ("[", 501),
        ("{", 501),
        ("\\", 501),
        (r"\p{L}", 501),
        (r"\Qa\E", 501),
        (r"(a)\1", 501),
        ("(?<name>a)", 501),
        ("(?=a)", 501),
        ("(?i)a", 501),
        ("[a[b]]", 501),
        ("[a&&b]", 501),
        (r"[\D]", 501),
        ("(a|b)*", 501),
        ("((a)*b)*", 501),
        ("a" * 1001, 501),
    ],
)
def test_malformed_and_unsupported_expressions_are_refused(expression: str, code: int) -> None:
    """A malformed expression gets 400. An expression that might be valid in Java gets 501."""
    with pytest.raises(Refusal) as refused:
        regex_search(expression, is_case_matched=True)

    assert refused.value.code == code


def test_literal_text_has_no_special_characters() -> None:
    """`.` matches only a full stop, and `$1` matches only the characters `$1`."""
    pattern = literal_search("A.$1", is_case_matched=False).pattern

    assert pattern.search("xa.$1")
    assert not pattern.search("axx")


@pytest.mark.parametrize(
    ("replacement", "result"),
    [
        ("$1-$2", "a-b"),
        ("$0$0", "abab"),
        ("$12", "a2"),
        ("$3", ""),
        (r"\$1\\", "$1\\"),
        ("$4", None),
        ("$", None),
        ("\\", None),
        ("$x", None),
    ],
)
def test_replacements_are_expanded_as_in_java(replacement: str, result: str | None) -> None:
    """`$12` is group 1 and the digit 2 if group 12 is missing. A backslash escapes a character."""
    match = re.fullmatch("(a)(b)(c)?", "ab")

    assert match is not None
    if result is None:
        with pytest.raises(Refusal):
            expanded(replacement, match)
    else:
        assert expanded(replacement, match) == result


@given(st.text(max_size=20))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    """`regex_search` raises no exception except a Refusal with the code 400 or 501."""
    try:
        regex_search(text, is_case_matched=False)
        code = 200
    except Refusal as refusal:
        code = refusal.code

    assert code in (200, 400, 501)
