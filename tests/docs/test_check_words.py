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
"""What these say of a file `check` says, too."""
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
    "keys: they allow",
    "keys: … does not exist;",
    "… … can be read",
    "… … reaches it",
)
PARTS = (
    "… and … more",
    "rows … to …",
    "Allow this machine https",
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
"""Beginnings of what stands within the words of a trouble, or behind them."""


def texts_in(node: ast.AST) -> Iterator[str]:
    """The texts of a module, docstrings aside, with a gap for what they are filled with."""
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
    """Words in the tables of a section."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return [words for cell in cells for words in re.findall(r"`([^`]+)`", cell)]


def is_in(words: str, text: str) -> bool:
    """True if a text has these words, in which a gap stands for anything."""
    return re.search(".*".join(map(re.escape, words.split(GAP))), text) is not None


def test_words_and_troubles_are_found() -> None:
    """The next tests are not empty."""
    assert len(told()) > 50
    assert len(TROUBLES) > 50


@pytest.mark.parametrize("words", told())
def test_check_says_these_words(words: str) -> None:
    """Each cell of the tables quotes the code."""
    assert any(is_in(words, text) for path in (*CHECKS, *BESIDE) for text in SAID[path])


@pytest.mark.parametrize("words", told("Startup errors"))
def test_the_start_says_these_words(words: str) -> None:
    """So does each of the table on a gateway that does not start."""
    assert any(is_in(words, text) for path in (*STARTING, *BESIDE) for text in SAID[path])


@pytest.mark.parametrize("text", TROUBLES)
def test_the_page_tells_of_this_trouble(text: str) -> None:
    """Each problem that `check` finds has a line."""
    assert [words for words in told() if is_in(words, text)] != []


@pytest.mark.parametrize("beginning", [*NOTHING_WRONG, *PARTS])
def test_what_has_no_line_is_said_somewhere(beginning: str) -> None:
    """No exception outlives the words that it was made for."""
    assert any(text.startswith(beginning) for path in CHECKS for text in SAID[path])
