"""Texts of cells and names in Unicode's composed form (NFC), in which they are compared.

Rules: ASCII is composed already, and costs one look. A text with more combining marks in a row than
any writing system has stays as it is: Python sorts each run of marks by insertion
(`nfd_nfkd` in Modules/unicodedata.c), which takes seconds for a full cell.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import cast
from unicodedata import combining, normalize

from gateway.table.steps import BLOCK, Work, text_blocks

MOST_MARKS = 256
"""Combining marks in a row that are sorted; Unicode's stream-safe format (UAX 15) allows 30."""

_MARKS_ONLY = frozenset("\u0f73\u0f75\u0f81")
"""Characters that are no marks, but consist of marks."""
_MAY_BE_MARKS = re.compile(
    rf"[^\0-\x7f\u3000-\u3029\u3030-\u3098\u309b-\u9fff\uac00-\ud7a3]{{{MOST_MARKS + 1}}}"
)
"""Neither ASCII nor kana, ideographs or Hangul, which need no spaces between them."""

_OBJECT_BYTES = 60
_COMPOSED_IN_STEP = 4
"""Characters composed in one step."""


class ComposedTexts(tuple[str, ...]):
    """Texts some of which were composed; `byte_count` is the approximate memory of those."""

    byte_count = 0


def composed(text: str) -> str:
    """The text in NFC; the same object if that changes nothing."""
    if text.isascii():
        return text
    if len(text) > MOST_MARKS and _MAY_BE_MARKS.search(text) and _has_too_many_marks(text):
        return text
    return normalize("NFC", text)


def composed_texts(texts: Sequence[str]) -> Work[Sequence[str]]:
    """The texts in NFC; the same object if that changes nothing."""
    cells: list[str] = []
    byte_count = 0
    for start in range(0, len(texts), BLOCK):
        piece = texts[start : start + BLOCK]
        yield BLOCK // 4
        if all(map(str.isascii, piece)):
            continue
        yield 2 * len(piece)
        places = [place for place, text in enumerate(piece, start) if not text.isascii()]
        others = [texts[place] for place in places]
        for block, characters in text_blocks(others, 0, len(others)):
            yield 4 * len(block) + characters // _COMPOSED_IN_STEP
            for at in block:
                text = composed(others[at])
                if text is not others[at]:
                    cells = cells or [*texts]
                    cells[places[at]] = text
                    byte_count += _OBJECT_BYTES + 2 * len(text)
    if not cells:
        return texts
    made = ComposedTexts(cells)
    made.byte_count = byte_count
    return made


def as_texts(cells: Sequence[object]) -> Work[Sequence[str]]:
    """The cells, with "" for those without a text; the same object if all have one."""
    for start in range(0, len(cells), BLOCK):
        yield BLOCK // 4
        if set(map(type, cells[start : start + BLOCK])) != {str}:
            break
    else:
        return cast(Sequence[str], cells)
    texts: list[str] = []
    for start in range(0, len(cells), BLOCK):
        yield BLOCK
        piece = cells[start : start + BLOCK]
        texts += [cell if isinstance(cell, str) else "" for cell in piece]
    return tuple(texts)


def _has_too_many_marks(text: str) -> bool:
    runs = groupby(map(_is_mark, text))
    return any(is_mark and sum(1 for _ in run) > MOST_MARKS for is_mark, run in runs)


def _is_mark(character: str) -> bool:
    return bool(combining(character)) or character in _MARKS_ONLY
