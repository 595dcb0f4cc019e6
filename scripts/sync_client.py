"""Generate the synchronous Python client from the asynchronous one.

    python scripts/sync_client.py           # writes clients/python/sheets_gateway_client/client.py
    python scripts/sync_client.py --check   # fails if client.py differs from the generated text

The two clients differ in `async` and `await`, in class names, and in a few words.
"""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "clients" / "python" / "sheets_gateway_client"
SOURCE, TARGET = PACKAGE / "async_client.py", PACKAGE / "client.py"

CHANGES = (
    (
        r"Asynchronous client: .*\.",
        "Synchronous client, generated from async_client.py by scripts/sync_client.py.",
    ),
    (r"AsyncIterator, Awaitable, Callable,", "Callable, Iterator,"),
    (r"Tasks can share it\.", "Threads can share it."),
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
"""Regular expressions and their replacements, applied in this order."""


def generated() -> str:
    """Return the source text of the synchronous client, formatted by ruff."""
    text = SOURCE.read_text("utf-8")
    for pattern, replacement in CHANGES:
        text, count = re.subn(pattern, replacement, text)
        if count == 0:
            raise SystemExit(f"{pattern} is not in {SOURCE.name}. Remove it from {__file__}")
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(  # noqa: S603 - the formatter
        command, input=text, capture_output=True, text=True, check=True, cwd=PACKAGE
    )
    return done.stdout


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(generated(), "utf-8")
    elif generated() != TARGET.read_text("utf-8"):
        raise SystemExit(f"{TARGET.name} differs from what {SOURCE.name} generates. Run {__file__}")
