"""Async tests get their random values before their event loop starts.

Hypothesis ends an example by a `BaseException`. Within an async test it ends anyio's runner task,
which is never awaited; asyncio reports it from the garbage collector, in the middle of another
test. Python 3.11 fails then if that test parses code (python/cpython#106905).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = sorted(Path(__file__).parent.rglob("test_*.py"))


def drawing(source: str) -> Iterator[str]:
    """The names of the async functions that have an argument from which they draw values."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AsyncFunctionDef):
            annotations = [
                ast.unparse(each.annotation) for each in node.args.args if each.annotation
            ]
            if any(each.endswith(("DataObject", "DrawFn")) for each in annotations):
                yield node.name


def test_no_async_test_draws() -> None:
    """No async test draws values while it runs."""
    sources = {file.name: file.read_text(encoding="utf-8") for file in TESTS}
    found = {name: [*drawing(source)] for name, source in sources.items()}

    assert len(found) > 100
    assert not any(found.values()), {name: names for name, names in found.items() if names}


def test_a_drawing_test_is_found() -> None:
    """An async function with a `DataObject` is named, a plain one is not."""
    source = "async def one(data: st.DataObject): ...\ndef two(data: st.DataObject): ..."

    assert [*drawing(source)] == ["one"]
