"""JavaScript and Python samples of a page, run as one program with a reader's interpreter.

Rules: a line that prints has its output in a comment at its end, and the program must print exactly
these outputs. So a sample that reads a missing field fails.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.commands.demo import Demo
from tests.docs.blocks import Block, filled_in, in_place

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Language:
    """Interpreter, file suffix, and pattern of printing lines of a language."""

    command: Sequence[str]
    suffix: str
    prints: re.Pattern[str]


PYTHON = Language(
    command=[sys.executable, "-W", "error"],
    suffix=".py",
    prints=re.compile(r"^\s*print\(.*?(?:  # (?P<said>.*))?$", re.MULTILINE),
)
JAVASCRIPT = Language(
    command=[shutil.which("node") or "node"],
    suffix=".mjs",
    prints=re.compile(r"^\s*console\.log\(.*?(?:; // (?P<said>.*))?$", re.MULTILINE),
)
LANGUAGES: Mapping[str, Language] = {"python": PYTHON, "js": JAVASCRIPT}


def run_own_commands(demo: Demo) -> None:
    """Run the curl commands that the demo prints at its start, as a reader would."""
    for _, line in demo.curl_lines():
        done = subprocess.run(  # noqa: S602 - our own commands
            line, shell=True, capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )
        assert done.returncode == 0, line


def problems(
    blocks: Sequence[Block], meant: Mapping[str, str], folder: Path, *, after: str = ""
) -> list[str]:
    """Run the blocks of a page as one program with `after` appended, and return problems."""
    language, page = LANGUAGES[blocks[0].language], blocks[0].page
    text = in_place(blocks)
    printing = list(language.prints.finditer(text))
    silent = [each[0] for each in printing if each["said"] is None]
    if silent:
        return [f"{page}: the line does not say what it prints: {line.strip()}" for line in silent]
    program = folder / f"page{language.suffix}"
    program.write_text(filled_in(text, meant) + after)
    done = subprocess.run(  # noqa: S603 - our own pages
        [*language.command, str(program)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    said, expected = done.stdout.splitlines(), [each["said"] for each in printing]
    if done.returncode != 0:
        return [f"{page}: ended with {done.returncode}: {done.stderr}"]
    return [] if said == expected else [f"{page}: prints {said}, not {expected}"]
