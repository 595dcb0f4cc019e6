"""Writes the Python client for programs without an event loop, from the one for asyncio.

    python scripts/sync_client.py           # writes clients/python/sheets_gateway_client/client.py
    python scripts/sync_client.py --check   # fails if that file is another one

The two differ in `async` and `await`, in names, and in a few words.
"""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "clients" / "python" / "sheets_gateway_client"
SOURCE, TARGET = PACKAGE / "async_client.py", PACKAGE / "client.py"

CHANGES = (
    (
        r"The client for asyncio: .*\.",
        "The client without an event loop; scripts/sync_client.py writes it from async_client.py.",
    ),
    (r"AsyncIterator, Awaitable, Callable,", "Callable, Iterator,"),
    (r"Tasks may share it;", "Threads may share it;"),
    (r"\[(\w+) async for \1 in (\w+)\]", r"list(\2)"),
    (r"for (\w+) in (.+):\n +yield \1\n", r"yield from \2\n"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"Awaitable\[(\w+)\]", r"\1"),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\basyncio\b", "time"),
    (r"\bAsync(?=[A-Z])", ""),
)
"""Patterns and what comes in their place, one after the other."""


def generated() -> str:
    """The text of the client without an event loop."""
    text = SOURCE.read_text("utf-8")
    for pattern, replacement in CHANGES:
        text, count = re.subn(pattern, replacement, text)
        if count == 0:
            raise SystemExit(f"{pattern} is not in {SOURCE.name}: remove it from {__file__}")
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(  # noqa: S603 - the formatter
        command, input=text, capture_output=True, text=True, check=True, cwd=PACKAGE
    )
    return done.stdout


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(generated(), "utf-8")
    elif generated() != TARGET.read_text("utf-8"):
        raise SystemExit(f"{TARGET.name} is not that of {SOURCE.name}: {__file__}")
