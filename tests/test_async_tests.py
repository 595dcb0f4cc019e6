"""Async tests get random values before their event loop starts.

Hypothesis ends an example by a `BaseException`. In an async test the exception ends anyio's runner
task, which is never awaited. asyncio reports the task from the garbage collector during another
test. If that test parses code on Python 3.11, it fails (python/cpython#106905).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = sorted(Path(__file__).parent.rglob("test_*.py"))


def drawing(source: str) -> Iterator[str]:
    """Yield the names of async functions with an argument that draws values."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AsyncFunctionDef):
            annotations = [
                ast.unparse(each.annotation) for each in node.args.args if each.annotation
            ]
            if any(each.endswith(("DataObject", "DrawFn")) for each in annotations):
                yield node.name


def test_no_async_test_draws() -> None:
    """No async test draws values from Hypothesis while it runs."""
    sources = {file.name: file.read_text(encoding="utf-8") for file in TESTS}
    found = {name: [*drawing(source)] for name, source in sources.items()}

    assert len(found) > 100
    assert not any(found.values()), {name: names for name, names in found.items() if names}


def test_an_async_test_that_draws_is_found() -> None:
    """An async function with a `DataObject` is reported; a plain function is not."""
    source = "async def one(data: st.DataObject): ...\ndef two(data: st.DataObject): ..."

    assert [*drawing(source)] == ["one"]
