"""Rectangles of cells. Rows and columns count from 0, and ends are excluded."""

from dataclasses import dataclass, replace

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True)
class Box:
    """Rows from `top` to `bottom`, columns from `left` to `right`, excluding the ends."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def width(self) -> int:
        return self.right - self.left

    def overlaps(self, other: "Box") -> bool:
        return (
            self.top < other.bottom
            and other.top < self.bottom
            and self.left < other.right
            and other.left < self.right
        )

    def contains(self, other: "Box") -> bool:
        return (
            self.top <= other.top
            and other.bottom <= self.bottom
            and self.left <= other.left
            and other.right <= self.right
        )

    def without(self, other: "Box") -> list["Box"]:
        """The part of this box outside another box, as boxes that do not overlap."""
        if not self.overlaps(other):
            return [self]
        top, bottom = max(self.top, other.top), min(self.bottom, other.bottom)
        parts = [
            replace(self, bottom=top),
            replace(self, top=bottom),
            replace(self, top=top, bottom=bottom, right=other.left),
            replace(self, top=top, bottom=bottom, left=other.right),
        ]
        return [part for part in parts if part.height > 0 and part.width > 0]


def sized(*, top: int, left: int, height: int, width: int) -> Box:
    """A box by its first cell and its size."""
    return Box(top=top, left=left, bottom=top + height, right=left + width)


def column_name(column: int) -> str:
    """Letters of a column that counts from 0: A for 0, AA for 26."""
    letters = ""
    number = column + 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = ALPHABET[digit] + letters
    return letters


def column_index(letters: str) -> int:
    """Number of a column, from 0, by its letters in upper or lower case."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ALPHABET.index(letter) + 1
    return number - 1
