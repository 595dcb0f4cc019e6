"""Column index: lookup structures of one column, each built on first use.

Rules
- A position is the index of a row in its column. The header has position 0.
- A structure depends only on the displayed texts and typed values of one column. It is complete
  before it is used, and never changes.
- Structures are built from the kinds and keys of the cells (`gateway.table.cells`), and from the
  displayed texts in NFC.
- `Order` sorts the filled cells and serves sorting, ranges and equality. `Displays` finds odd cells
  by their displayed text. A cell is odd if it is a number, date, clock or boolean whose displayed
  text does not parse to the same value, such as the number 5 displayed as `$5.00`.
- Case-folded texts are cached if the column is small.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar, cast

from gateway.table.cells import (
    CLASSES,
    EMPTY,
    FILLED,
    NUMBER,
    READ_AT_ONCE,
    TEXT,
    cell_kinds,
    composed,
    plain_notation,
    read_cell,
    read_steps,
)
from gateway.table.ordered import Ranked, Run, make_run, picked, sorted_places
from gateway.table.steps import BLOCK, Ready, Work, blocks, shared, text_blocks
from gateway.table.typed import TypedColumn, typed_column

Cell = TypeVar("Cell")

_CHARACTERS_OF_STEP = 16
"""Number of characters that are case-folded or searched in one step of work (50 ns)."""

_KIND_STEPS = 4
"""Steps of work (50 ns each) to find the kind of a cell by the type of its value."""

_GROUP_STEPS = 16

_NUMBER_BYTES = 24
_TEXT_BYTES = 60
_BYTES_BEGUN = 12
"""Approximate memory of an unfinished structure, in bytes for each row."""

_COMPOSED_IN_STEP = 4
"""Number of characters that are changed to NFC in one step of work (50 ns)."""

MOST_BYTES = 33_554_432
"""Maximum memory of a column's cached case-folded texts. A larger column is not cached."""

_FOLD_STEPS = 4
_LONG = 256
"""Maximum text length of a column that is searched in blocks of cells, not of characters."""

_COMPARED_IN_STEP, _MOST_COMPARED = 400, 625
"""Comparisons of characters in one step of work, and maximum comparisons per character of a text.

CPython searches texts of more than 2,500 characters in linear time
(Objects/stringlib/fastsearch.h).
"""

_SEPARATOR = "\n"


@dataclass(frozen=True)
class Keys:
    """Kind and sort key of each cell of a column, by position. The header counts as empty."""

    kinds: bytearray
    keys: Sequence[Any]
    counts: Counter[int]
    """Number of cells by kind, without the header."""
    odd: "array[int]"
    """Positions of odd cells, such as 5 displayed as `$5.00`, ascending."""
    has_two_types: bool
    """True if the column has both integers and floats."""

    def places(self, kind: int) -> Work[Sequence[int]]:
        """Positions of all cells of a kind, ascending."""
        count, codes = self.counts[kind], self.kinds
        if count == 0:
            return ()
        if count == len(codes) - 1:
            return range(1, len(codes))
        found = array("I")
        for start in range(0, len(codes), BLOCK):
            piece = codes[start : start + BLOCK]
            yield len(piece)
            found.extend(
                [place for place, code in enumerate(piece, start) if place and code == kind]
            )
        return found


@dataclass(frozen=True, eq=False)
class Segment:
    """Part of an `Order` with the cells of one class, such as all numbers.

    A group consists of equal cells. Groups are sorted by key, then by text, and are numbered from
    `first` to `end` - 1.
    """

    kinds: tuple[int, ...]
    first: int
    end: int
    keys: Sequence[Any]
    """Key of each group, ascending. The key of a text is the case-folded text."""
    texts: Sequence[str] | None
    """Text of each group, or "" for a typed value. None if all groups are typed values."""
    folded_bytes: int = 0
    """Approximate memory of the case-folded texts that differ from their texts."""

    def find(self, key: Any, text: str) -> tuple[int, list[int]]:
        """Find an operand of a condition by its key and its text ("" for a typed operand).

        Returns the number of the first group that does not sort before the operand, and the numbers
        of the groups that equal the operand. Typed values with this key equal the operand. A text
        equals the operand if it is `text`, or the plain notation of the operand's number.
        """
        keys, texts, first = self.keys, self.texts, self.first
        # Google stores numbers as floats, and `text_key` parses texts to floats.
        stored = float(key) if type(key) is int and abs(key) > 2**53 else key
        low = bisect_left(keys, stored)
        if low == len(keys) or keys[low] != stored:
            return first + low, []
        if texts is None:
            return first + low + bool(text), [first + low]
        high = low + 1
        if high < len(keys) and keys[high] == stored:  # few keys have several groups
            high = bisect_right(keys, stored, lo=high)
        groups = [first + low] if texts[low] == "" else []
        equal = text or plain_notation(key)
        at = bisect_left(texts, equal, low, high)
        if at < high and texts[at] == equal:
            groups.append(first + at)
        return first + (at if text else low), groups


@dataclass(frozen=True, eq=False)
class Order:
    """Cells of a column in sort order: first the filled cells in groups, then the empty cells."""

    ranked: Ranked
    """Filled cells."""
    empties: Sequence[int]
    """Positions of the empty cells."""
    segments: Mapping[int, Segment]
    """Segment of each class, by the first kind of the class, in sort order."""

    def segment_of(self, group: int) -> Segment:
        return next(each for each in self.segments.values() if group < each.end)


@dataclass(frozen=True, eq=False)
class Displays:
    """Odd cells of a column by their displayed text, for queries with that text."""

    run: Run
    """Displayed texts of the odd cells, and the positions of the cells with each text."""
    stands: "array[int]"
    """Number of the first group in the `Order` that is not less than the text, for each text.

    This is the lowest group of the cells that display the text.
    """
    are_whole: bytearray
    """Flag of each text: 1 if its cells are exactly one group of the `Order`, else 0."""

    def find(self, text: str) -> int | None:
        """Index of a displayed text in `run.keys`, or None if no odd cell displays this text."""
        keys = self.run.keys
        at = bisect_left(keys, text)
        return at if at < len(keys) and keys[at] == text else None


class ComposedTexts(tuple[str, ...]):
    """Texts in NFC. `byte_count` is the approximate memory of the texts that NFC changed."""

    byte_count = 0


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
                    byte_count += _TEXT_BYTES + 2 * len(text)
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
        self._is_small = len(texts) * (length + _TEXT_BYTES) <= MOST_BYTES
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
        return characters // _CHARACTERS_OF_STEP + compared

    @shared
    def folded(self) -> Work[tuple[Sequence[str], dict[int, str]]]:
        """Returns the case-folded texts, and the joined texts of each block of `BLOCK` texts.

        The joined texts are by the index of the first text of the block.
        """
        cells, joined, byte_count = [*self._texts[:1]], dict[int, str](), 0
        for block, characters in text_blocks(self._texts, 1, len(self._texts)):
            yield _FOLD_STEPS * len(block) + characters // _CHARACTERS_OF_STEP
            for text in self._texts[block.start : block.stop]:
                folded = text.casefold()
                cells.append(text if folded == text else folded)
                if cells[-1] is not text:
                    byte_count += _TEXT_BYTES + len(text)
            if len(block) == BLOCK:
                joined[block.start] = _SEPARATOR.join(cells[block.start :])
                byte_count += len(joined[block.start])
        self.byte_count = byte_count + 8 * len(cells)
        return tuple(cells), joined


@dataclass(frozen=True, eq=False)
class ColumnIndex:
    """Index of one column.

    A method such as `order` builds a structure. `ready_order` returns the built structure.
    """

    displayed: Sequence[object]
    typed: Sequence[object]
    size: int
    """Number of cells of the column, with the header and with empty cells at the end."""

    @property
    def byte_count(self) -> int:
        """Approximate memory of the structures that exist so far, in bytes."""
        total, counted = 0, {id(self.displayed), id(self.typed)}
        parts: list[Any] = [*vars(self).values()]
        while parts:
            part = parts.pop()
            if isinstance(part, Run | Ranked | Order | Keys | Segment | Displays):
                parts += vars(part).values()
                total += part.folded_bytes if isinstance(part, Segment) else 0
            elif isinstance(part, dict):
                parts += part.values()
            elif isinstance(part, Generator):  # an unfinished structure
                total += _BYTES_BEGUN * self.size
            elif id(part) not in counted and not isinstance(part, int | Counter):
                counted.add(id(part))
                total += sys.getsizeof(part)
                if isinstance(part, tuple) and part and isinstance(part[0], float):
                    total += _NUMBER_BYTES * len(part)
                elif isinstance(part, FoldedTexts | ComposedTexts | TypedColumn):
                    total += part.byte_count
        return total

    @shared
    def texts(self) -> Work[Sequence[str]]:
        """Displayed text of each cell in NFC, by position."""
        texts = yield from as_texts(self.displayed)
        if len(texts) != self.size:
            texts = _as_long(texts, self.size, "")
        return (yield from composed_texts(texts))

    @shared
    def lengths(self) -> Work[tuple[int, int]]:
        """Returns the average and the maximum number of characters of a displayed text."""
        texts, total, longest = (yield from self.texts()), 0, 0
        for start in range(0, len(texts), BLOCK):
            piece = texts[start : start + BLOCK]
            yield len(piece)
            lengths = [*map(len, piece)]
            total += sum(lengths)
            longest = max(longest, *lengths)
        return total // max(1, len(texts)), longest

    @shared
    def keys(self) -> Work[Keys]:
        """Classify all cells. If all sort keys equal the typed values, `Keys.keys` is `typed`."""
        texts, values = (yield from self.texts()), self.typed
        if values is self.displayed:
            values = texts
        elif len(values) != self.size:
            values = _as_long(values, self.size, None)
        kinds, keys, odd, is_typed = bytearray([EMPTY]), [*values[:1]], array("I"), True
        types = set[type]()
        for block in blocks(1, self.size):
            yield _KIND_STEPS * len(block)
            piece = values[block.start : block.stop]
            found, found_keys, unread = cell_kinds(texts[block.start : block.stop], piece)
            for start in range(0, len(unread), READ_AT_ONCE):
                some = unread[start : start + READ_AT_ONCE]
                yield read_steps([texts[block.start + at] for at in some])
                for at in some:
                    place = block.start + at
                    found[at], found_keys[at], is_odd = read_cell(
                        found[at], texts[place], piece[at]
                    )
                    if is_odd:
                        odd.append(place)
            kinds += found
            keys += found_keys
            types |= set(map(type, piece))
            is_typed = is_typed and found_keys == [*piece]
        counts = Counter({kind: kinds.count(kind, 1) for kind in (EMPTY, *FILLED)})
        has_two_types = {int, float} <= types
        return Keys(kinds, values if is_typed else tuple(keys), counts, odd, has_two_types)

    @shared
    def typed_cells(self) -> Work[TypedColumn]:
        """Values of the cells in typed answers."""
        return (yield from typed_column(self.displayed, self.typed))

    @shared
    def folded(self) -> Work[FoldedTexts]:
        length, longest = yield from self.lengths()
        return FoldedTexts((yield from self.texts()), length, longest)

    @shared
    def order(self) -> Work[Order]:
        """Sort the cells by class, key and text."""
        cells = yield from self.keys()
        parts: list[Ranked] = []
        segments: dict[int, Segment] = {}
        first = 0
        for kinds in CLASSES:
            if any(map(cells.counts.get, kinds)):
                ranked, segment = yield from self._segment(cells, kinds, first)
                segments[kinds[0]] = segment
                parts.append(ranked)
                first = segment.end
        ranked = parts[0] if len(parts) == 1 else (yield from _chained(parts, self.size))
        return Order(ranked, (yield from cells.places(EMPTY)), segments)

    def _segment(
        self, cells: Keys, kinds: tuple[int, ...], first: int
    ) -> Work[tuple[Ranked, Segment]]:
        """Sort the cells of a class that is not empty, and number their groups from `first` on."""
        parts: list[Ranked] = []
        keys: list[Any] = []
        texts: list[str] = []
        if kinds[0] != TEXT and cells.counts[kinds[0]]:
            places, values = (yield from cells.places(kinds[0])), cells.keys
            if kinds[0] == NUMBER and cells.has_two_types:
                values = yield from _doubles(places, values)
            run = yield from make_run(places, values, self.size)
            if not any(map(cells.counts.get, kinds[1:])):
                end = first + len(run.keys)
                return run.ranked, Segment(kinds, first, end, run.keys, None)
            parts, keys, texts = [run.ranked], [*run.keys], [""] * len(run.keys)
        length, _ = yield from self.lengths()
        places = yield from cells.places(kinds[-1])
        run = yield from make_run(places, (yield from self.texts()), self.size, length)
        parts.append(run.ranked)
        texts += run.keys
        folded_bytes = 0
        for block, characters in text_blocks(run.keys, 0, len(run.keys)):
            yield 4 * len(block) + characters // _CHARACTERS_OF_STEP
            if kinds[0] != TEXT:
                starts = run.ranked.starts[block.start : block.stop]
                keys += picked(cells.keys, [run.ranked.places[start] for start in starts])
                continue
            for text in run.keys[block.start : block.stop]:
                folded = text.casefold()
                keys.append(text if folded == text else folded)
                if keys[-1] is not text:
                    folded_bytes += _TEXT_BYTES + len(folded)
        groups = yield from sorted_places(range(len(keys)), keys, length)
        before = parts[0] if len(parts) == 1 else (yield from _chained(parts, self.size))
        ordered, starts = array("I"), array("I", [0])
        sorted_keys: list[Any] = []
        sorted_texts: list[str] = []
        for start in range(0, len(groups), BLOCK):
            some = groups[start : start + BLOCK]
            yield 6 * len(some)
            sorted_keys += picked(keys, some)
            sorted_texts += picked(texts, some)
            for group in some:
                ordered.extend(before.places[before.starts[group] : before.starts[group + 1]])
                starts.append(len(ordered))
        is_distinct = len(starts) == len(ordered) + 1
        ranked = Ranked(ordered, range(len(starts)) if is_distinct else starts, self.size)
        end = first + len(keys)
        return ranked, Segment(
            kinds, first, end, tuple(sorted_keys), tuple(sorted_texts), folded_bytes
        )

    @shared
    def displays(self) -> Work[Displays]:
        """Group the odd cells, such as 5 displayed as `$5.00`, by their displayed texts."""
        cells, texts = (yield from self.keys()), (yield from self.texts())
        order = yield from self.order()
        ranks = yield from order.ranked.ranks()
        length, _ = yield from self.lengths()
        run = yield from make_run(cells.odd, texts, self.size, length)
        stands, are_whole, steps = array("I"), bytearray(), 0
        places, starts, grouped = run.ranked.places, run.ranked.starts, order.ranked.starts
        for low, high in pairwise(starts):
            lowest, highest = order.ranked.groups, 0
            steps += _GROUP_STEPS
            for start in range(low, high, BLOCK):
                piece = [ranks[place] for place in places[start : min(start + BLOCK, high)]]
                lowest, highest = min(lowest, *piece), max(highest, *piece)
                steps += 2 * len(piece)
                if steps >= BLOCK:
                    yield steps
                    steps = 0
            stands.append(lowest)
            are_whole.append(
                lowest == highest and grouped[lowest + 1] - grouped[lowest] == high - low
            )
        yield steps
        return Displays(run, stands, are_whole)

    ready_texts, ready_keys, ready_order = Ready(texts), Ready(keys), Ready(order)
    ready_displays, ready_folded = Ready(displays), Ready(folded)
    ready_typed_cells = Ready(typed_cells)


def _as_long(cells: Sequence[Cell], size: int, blank: Cell) -> Sequence[Cell]:
    return (*cells[:size], *[blank] * (size - len(cells)))


def _doubles(places: Sequence[int], keys: Sequence[Any]) -> Work[Sequence[Any]]:
    """Convert the keys at some positions to floats, which sort faster than integers and floats.

    Returns `keys` unchanged if an integer is too large for an exact float.
    """
    doubles = list(keys)
    for start in range(0, len(places), BLOCK):
        piece = places[start : start + BLOCK]
        yield 4 * len(piece)
        for place in piece:
            number = keys[place]
            if not -(2**53) <= number <= 2**53:
                return keys
            doubles[place] = float(number)
    return doubles


def _chained(parts: Sequence[Ranked], size: int) -> Work[Ranked]:
    places, starts = array("I"), array("I", [0])
    for ranked in parts:
        before = len(places)
        for block in blocks(1, len(ranked.starts)):
            yield 2 * len(block)
            starts.extend([before + ranked.starts[group] for group in block])
        places.extend(ranked.places)
    return Ranked(places, starts, size)
