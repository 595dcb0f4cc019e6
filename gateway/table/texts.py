"""Texts of cells and field names in Unicode's composed form (NFC), in which they are compared.

Rules: ASCII texts are unchanged. A text with very many consecutive combining marks stays as it is,
because Python sorts each run of marks by insertion (`nfd_nfkd` in Modules/unicodedata.c), which
takes seconds for a full cell. No language uses so many marks. Case-folded texts are cached if the
column is small.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import cast
from unicodedata import combining, normalize

from gateway.table.steps import BLOCK, Work, shared, text_blocks

MOST_MARKS = 256
"""Maximum number of consecutive combining marks in a text that is changed to NFC.

Unicode's stream-safe format (UAX 15) allows 30.
"""

_MARKS_ONLY = frozenset("\u0f73\u0f75\u0f81")
"""Characters that Python decomposes to combining marks, but does not count as combining marks."""
_MAY_BE_MARKS = re.compile(
    rf"[^\0-\x7f\u3000-\u3029\u3030-\u3098\u309b-\u9fff\uac00-\ud7a3]{{{MOST_MARKS + 1}}}"
)
"""Fast first check for many consecutive combining marks.

The pattern excludes ASCII, kana, ideographs and Hangul, because texts in these scripts can be long
without spaces.
"""

_OBJECT_BYTES = 60
_COMPOSED_IN_STEP = 4
"""Number of characters that are changed to NFC in one step of work (50 ns)."""


MOST_BYTES = 33_554_432
"""Maximum memory of a column's cached case-folded texts. A larger column is not cached."""

_FOLD_STEPS = 4
_LONG = 256
"""Maximum text length of a column that is searched in blocks of cells, not of characters."""

_READ_IN_STEP = 16
"""Number of characters that are case-folded or searched in one step of work (50 ns)."""

_COMPARED_IN_STEP, _MOST_COMPARED = 400, 625
"""Comparisons of characters in one step of work, and maximum comparisons per character of a text.

CPython searches texts of more than 2,500 characters in linear time
(Objects/stringlib/fastsearch.h).
"""

_SEPARATOR = "\n"


class ComposedTexts(tuple[str, ...]):
    """Texts in NFC. `byte_count` is the approximate memory of the texts that NFC changed."""

    byte_count = 0


def is_encodable(text: str) -> bool:
    """True if a text can be encoded in UTF-8, that is, has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def composed(text: str) -> str:
    """Returns the text in NFC, or the same object if NFC does not change the text."""
    if text.isascii():
        return text
    if len(text) > MOST_MARKS and _MAY_BE_MARKS.search(text):
        runs = groupby(text, lambda each: bool(combining(each)) or each in _MARKS_ONLY)
        if any(is_mark and sum(1 for _ in run) > MOST_MARKS for is_mark, run in runs):
            return text
    return normalize("NFC", text)


def composed_texts(texts: Sequence[str]) -> Work[Sequence[str]]:
    """Returns the texts in NFC, or the same object if NFC changes no text."""
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
    """Replace cells that are not texts by "". Returns the same object if all cells are texts."""
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


class FoldedTexts:
    """Search in the case-folded texts of a column.

    `length` and `longest` are the average and the maximum number of characters of a text.
    """

    def __init__(self, texts: Sequence[str], length: int, longest: int) -> None:
        self._texts = texts
        self._length = length
        self._has_long = longest > _LONG
        self._is_small = len(texts) * (length + _OBJECT_BYTES) <= MOST_BYTES
        self.byte_count = 0
        """Approximate memory of the cached case-folded texts in bytes."""

    def steps(self, part: str) -> int:
        """Estimate the steps of work to search `part` in a text of average length."""
        fold_steps = 0 if self._is_small else _FOLD_STEPS
        return 1 + fold_steps + self._steps_of(self._length, part)

    def containing(self, part: str, places: Sequence[int]) -> Work[Sequence[int]]:
        """Returns the row positions of `places` whose text contains `part`, ignoring case.

        Row positions are indexes in the texts of the column. `part` must be case-folded.
        """
        if not places:
            return places
        texts = self._texts
        if self._is_small:
            texts, joined = yield from self.folded()
            is_run = isinstance(places, range) and places.step == 1 and len(places) == BLOCK
            block = joined.get(places[0]) if is_run else None
            if block is not None:
                yield self._steps_of(len(block), part)
                if _SEPARATOR not in part and part not in block:
                    return ()  # true for most blocks
        if not self._has_long:
            yield self.steps(part) * len(places)
            return self._found(part, texts, places)
        found: list[int] = []
        cells = [texts[place] for place in places]
        for block_of, characters in text_blocks(cells, 0, len(cells)):
            yield 5 * len(block_of) + 2 * self._steps_of(characters, part)
            found += self._found(part, texts, places[block_of.start : block_of.stop])
        return found

    def _found(self, part: str, texts: Sequence[str], places: Sequence[int]) -> Sequence[int]:
        if self._is_small:
            return [place for place in places if part in texts[place]]
        return [place for place in places if part in texts[place].casefold()]

    def _steps_of(self, characters: int, part: str) -> int:
        compared = characters * min(len(part), _MOST_COMPARED) // _COMPARED_IN_STEP
        return characters // _READ_IN_STEP + compared

    @shared
    def folded(self) -> Work[tuple[Sequence[str], dict[int, str]]]:
        """Returns the case-folded texts, and the joined texts of each block of `BLOCK` texts.

        The joined texts are by the index of the first text of the block.
        """
        cells, joined, byte_count = [*self._texts[:1]], dict[int, str](), 0
        for block, characters in text_blocks(self._texts, 1, len(self._texts)):
            yield _FOLD_STEPS * len(block) + characters // _READ_IN_STEP
            for text in self._texts[block.start : block.stop]:
                folded = text.casefold()
                cells.append(text if folded == text else folded)
                if cells[-1] is not text:
                    byte_count += _OBJECT_BYTES + len(text)
            if len(block) == BLOCK:
                joined[block.start] = _SEPARATOR.join(cells[block.start :])
                byte_count += len(joined[block.start])
        self.byte_count = byte_count + 8 * len(cells)
        return tuple(cells), joined
