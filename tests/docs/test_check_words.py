"""The page on findings quotes the commands, and has a line for each problem that `check` finds."""

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.docs.blocks import TOP

GATEWAY = TOP / "gateway"
COMMANDS = GATEWAY / "commands"
CHECKS = (*sorted((COMMANDS / "doctor").glob("*.py")), COMMANDS / "check.py")
BESIDE = tuple(GATEWAY / name for name in ("access/pepper.py", "google/credentials.py"))
"""Modules whose messages about files `check` prints, too."""
STARTING = tuple(
    path
    for place in (
        COMMANDS,
        *(GATEWAY / name for name in ("cluster", "settings", "server", "storage", "telemetry")),
    )
    for path in sorted(place.glob("*.py"))
    if path not in CHECKS
)

PAGE = (TOP / "docs" / "how-to" / "check-findings.md").read_text("utf-8")
GAP = "…"
FEWEST_WORDS = 4
NOTHING_WRONG = (
    "Waiting for the key store",
    "credentials: Google accepts",
    "Sheets API: enabled",
    "keys: … not revoked",
    "; create one: sheets-gateway",
    "keys: they have access",
    "keys: … does not exist;",
    "… … can be read",
    "… … can read it",
)
PARTS = (
    "… and … more",
    "rows … to …",
    "Allow HTTPS (port 443)",
    " Requests go through the proxy",
    "HTTP … and a page",
    "an answer that is not JSON",
    "… answers HTTP",
    "the account of the Application",
    "replace … with it",
    "set google.credentials to it",
    "Synchronise this machine's clock",
    "the Application Default",
    ": … Google's",
    "no token available: ",
)
"""Starts of texts that are inside or after the message of a finding."""


def texts_in(node: ast.AST) -> Iterator[str]:
    """Yield the texts in code without docstrings, with `…` for inserted values."""
    text = _text(node)
    if text is not None:
        yield text
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            yield from texts_in(child)


def _text(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{[a-z_]+\}", GAP, text)
        case ast.JoinedStr(values=values):
            return "".join(_text(each) or GAP for each in values)
        case _:
            return None


SAID = {
    path: [*texts_in(ast.parse(path.read_text("utf-8")))] for path in (*CHECKS, *BESIDE, *STARTING)
}
TROUBLES = [
    text
    for path in CHECKS
    for text in SAID[path]
    if len(text.split()) >= FEWEST_WORDS and not text.startswith((*NOTHING_WRONG, *PARTS))
]


def told(title: str = "Findings of check") -> Sequence[str]:
    """Return the quoted words in the tables of a section."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return [words for cell in cells for words in re.findall(r"`([^`]+)`", cell)]


def is_in(words: str, text: str) -> bool:
    """True if the text contains these words, in which `…` stands for any text."""
    return re.search(".*".join(map(re.escape, words.split(GAP))), text) is not None


def test_tables_and_messages_are_found() -> None:
    """The tables and the code have more than 50 messages, so that the next tests are not empty."""
    assert len(told()) > 50
    assert len(TROUBLES) > 50


@pytest.mark.parametrize("words", told())
def test_check_prints_these_words(words: str) -> None:
    """Each quotation in the table of findings is a text of `check`."""
    assert any(is_in(words, text) for path in (*CHECKS, *BESIDE) for text in SAID[path])


@pytest.mark.parametrize("words", told("Startup errors"))
def test_the_start_prints_these_words(words: str) -> None:
    """Each quotation in the table of startup errors is a text of the code."""
    assert any(is_in(words, text) for path in (*STARTING, *BESIDE) for text in SAID[path])


@pytest.mark.parametrize("text", TROUBLES)
def test_the_page_explains_this_finding(text: str) -> None:
    """Each finding of `check` has a line in the table."""
    assert [words for words in told() if is_in(words, text)] != []


@pytest.mark.parametrize("beginning", [*NOTHING_WRONG, *PARTS])
def test_exceptions_are_still_in_the_code(beginning: str) -> None:
    """Each text that is excepted from the table still exists in the code."""
    assert any(text.startswith(beginning) for path in CHECKS for text in SAID[path])
