"""Fenced blocks of README.md and docs/**/*.md.

Rules: the first word after the fence is the language of the block. Further words after the fence
are notes for the checker, which no reader sees. A program made of blocks keeps the line numbers of
the page (`in_place`), so that a failure names the line.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGES = (
    TOP / "README.md",
    TOP / "docs" / "index.md",
    *sorted((TOP / "docs").glob("*/**/*.md")),
)

_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>```+|~~~+)(?P<info>[^`\n]*)$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Fenced block. `line` is the number of its first line of text in the page."""

    page: str
    line: int
    language: str
    text: str
    notes: Sequence[str] = ()
    """Words after the language."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.language}"

    def replaced(self, old: str, new: str) -> "Block":
        """Return the block with `old` replaced by `new`. Raises ValueError if the text
        does not contain `old`.
        """
        if old not in self.text:
            raise ValueError(f"{self} does not hold {old!r}")
        return replace(self, text=self.text.replace(old, new))


def blocks_in(text: str, page: str) -> list[Block]:
    """Return all blocks of a page's text. Raises ValueError if a fence is not closed."""
    found: list[Block] = []
    opened: re.Match[str] | None = None
    first, lines = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if opened is None:
            opened = _FENCE.match(line)
            first, lines = number + 1, []
        elif line.strip() == opened["fence"]:
            language, *notes = opened["info"].split() or [""]
            text_of_block = "\n".join(lines)
            found.append(
                Block(page=page, line=first, language=language, text=text_of_block, notes=notes)
            )
            opened = None
        else:
            lines.append(line.removeprefix(opened["indent"]))
    if opened is not None:
        raise ValueError(f"{page}:{first}: the block has no end")
    return found


def all_blocks() -> list[Block]:
    return [
        block
        for page in PAGES
        for block in blocks_in(page.read_text("utf-8"), str(page.relative_to(TOP)))
    ]


def blocks_of(*languages: str) -> list[Block]:
    return [block for block in all_blocks() if block.language in languages]


def by_page(blocks: Iterable[Block]) -> Mapping[str, Sequence[Block]]:
    """Return consecutive blocks by page, in order."""
    return {page: list(group) for page, group in groupby(blocks, key=lambda block: block.page)}


def in_place(blocks: Iterable[Block]) -> str:
    """Return the text of blocks of one page, with each line at its line number in the page."""
    lines: list[str] = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines) + "\n"


def filled_in(text: str, meant: Mapping[str, str]) -> str:
    """Replace placeholders of the page by the values that a reader would insert."""
    for written, value in meant.items():
        text = text.replace(written, value)
    return text
