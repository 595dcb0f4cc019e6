"""Rectangles of cells. Rows and columns count from 0, and ends are excluded."""

from dataclasses import dataclass, replace

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True)
class Box:
    """Rectangle of cells, counted from 0. `bottom` and `right` are excluded."""

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
        """Return the part of this box outside another box, as boxes that do not overlap."""
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
    """Return a box from its first cell and its size."""
    return Box(top=top, left=left, bottom=top + height, right=left + width)


def column_name(column: int) -> str:
    """Return the letters of a column: A for 0, AA for 26."""
    letters = ""
    number = column + 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = ALPHABET[digit] + letters
    return letters


def column_index(letters: str) -> int:
    """Return the number of a column: 0 for A, 26 for AA. Letters can be lowercase."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ALPHABET.index(letter) + 1
    return number - 1
