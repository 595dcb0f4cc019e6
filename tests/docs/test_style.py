"""Pages and messages have no words that make sentences hard to understand."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, TOP
from tests.docs.test_check_words import texts_in
from tests.error_tree import concrete_errors

FRAGMENTS = {
    r"anew": "again; rereads",
    r"as ever": "unchanged",
    r"bec[ao]mes? of": "the outcome",
    r"(do|does) as well": "works, too",
    r"nobody": "the thing itself as subject",
    r"passed over": "ignored",
    r"so long": "how long; for this time",
    r"takes?n? for dead": "the circuit breaker is open",
    r"tells|told": "says, shows, reports",
    r"tell rows apart": "identify a row",
    r"those of": "the noun again",
    r"(?<!there )(is|are) no (?!longer|more)": "is not a",
}
"""Better words by pattern of whole words."""
_ANY = re.compile(
    rf"\b(?:{'|'.join(FRAGMENTS)})".replace(" ", r"\s+").replace(r"there\s+)", "there )") + r"\b",
    re.IGNORECASE,
)
TEXTS = (
    *PAGES,
    *TOP.glob("*.md"),
    *TOP.glob("clients/*/README.md"),
    TOP / "config.example.toml",
)


def fragments(text: str) -> list[str]:
    """Return the line and words of each match in a text."""
    return [
        f"{text.count(chr(10), 0, found.start()) + 1}: {' '.join(found[0].split())}"
        for found in _ANY.finditer(text)
    ]


def messages() -> Iterator[tuple[str, str]]:
    """Yield module and text of each message, and class and description of each error."""
    for path in sorted((TOP / "gateway").rglob("*.py")):
        for text in texts_in(ast.parse(path.read_text("utf-8"))):
            yield str(path.relative_to(TOP)), text
    for error in concrete_errors():
        yield error.__name__, error.description()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(TOP)))
def test_a_page_has_no_fragments(path: Path) -> None:
    """A page contains none of the listed fragments."""
    assert fragments(path.read_text("utf-8")) == []


def test_messages_have_no_fragments() -> None:
    """Messages and descriptions of errors contain none of the listed fragments."""
    found = [(place, text) for place, text in messages() if fragments(text)]

    assert found == []


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ("Rows are read\nanew.", ["2: anew"]),
        ("This is\nno row.", ["1: is no"]),
        ("The rows are those of\nthe sheet, so long as", ["1: those of", "2: so long"]),
        ("There is no such row, and it is no longer there.", []),
    ],
)
def test_a_planted_fragment_is_found(planted: str, expected: list[str]) -> None:
    """A planted fragment is found across a line break; allowed phrases are not reported."""
    assert fragments(planted) == expected


def test_all_pages_and_messages_are_searched() -> None:
    """The texts include the main pages, and the messages include those of the main modules."""
    names = {path.name for path in TEXTS}
    places = {place for place, _ in messages()}

    assert names >= {"README.md", "CHANGELOG.md", "api.md", "troubleshooting.md", "scale.md"}
    assert places >= {"gateway/web/rows.py", "gateway/telemetry/metrics.py", "InvalidBody"}
