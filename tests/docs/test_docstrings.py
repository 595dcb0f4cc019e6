"""Docstrings in plain English: a noun or verb first, and standard terms."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import TOP
from tests.docs.test_style import fragments

PACKAGES = ("gateway", "sheets_emulator", "clients/python")

FIRST_WORDS = re.compile(
    r"(What|Who|Whose|How|Whether|Where|When|Of|By|In|For|That|Those|These|It|Its|They)\b"
)
"""First words of fragments without a subject, and of pronouns without a noun."""
WORDS = re.compile(r"\b(tell|taken\s+for|there\s+is\s+none\s+of|that\s+of|the\s+latter)\b")
"""Further words that docstrings must not contain, although messages can: "Tell the operator"."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring of modules, classes, functions and assignments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield statement.lineno, text


def faults(source: str) -> list[str]:
    """Return line and words of each docstring with a fault."""
    return [
        f"{line}: {found}"
        for line, text in docstrings(source)
        for found in (
            *(each[0] for each in (FIRST_WORDS.match(text), WORDS.search(text)) if each),
            *(each.partition(": ")[2] for each in fragments(text)),
        )
    ]


def name_of(path: Path) -> str:
    return path.relative_to(TOP).as_posix()


MODULES = [path for package in PACKAGES for path in sorted((TOP / package).rglob("*.py"))]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstrings_are_plain(path: Path) -> None:
    """No docstring of a module starts with a listed word or contains one."""
    assert faults(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        pytest.param('"""Where colours are shown."""', "1: Where", id="module"),
        pytest.param('class A:\n    """Of one key."""', "2: Of", id="class"),
        pytest.param('def f():\n    """How rows are told apart."""', "2: How", id="function"),
        pytest.param('SIZE = 1\n"""In bytes."""', "2: In", id="constant"),
        pytest.param('class A:\n    a = 1\n    """By key."""', "3: By", id="field"),
        pytest.param(
            'class A:\n    def f(self):\n        self.a = 1\n        """Those of it."""',
            "4: Those",
            id="attribute",
        ),
        pytest.param(
            '"""Rows of a sheet.\n\nRules\n- So\n  long they stay."""', "1: So long", id="rule"
        ),
        pytest.param('"""A process tells others."""', "1: tells", id="word"),
        pytest.param('"""The cost: that of a list."""', "1: that of", id="pronoun"),
    ],
)
def test_a_fault_in_a_docstring_is_found(source: str, fault: str) -> None:
    """A planted fault is reported in a docstring of any kind."""
    assert fault in faults(source)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('"""Cache of authorised reads."""', id="noun"),
        pytest.param('"""Return the rows. Those are sorted."""', id="verb"),
        pytest.param('x = "What is read"', id="text"),
    ],
)
def test_plain_docstrings_have_no_faults(source: str) -> None:
    """Docstrings that start with a noun or verb, and texts in code, have no faults."""
    assert faults(source) == []
