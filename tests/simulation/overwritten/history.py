"""A person's edits and conditional updates of the same rows, and which edits were overlooked.

Rules
- Pure: when everything happened goes in, in seconds of one clock; what is wrong comes out.
- An update with If-Match compares a tag with a look at the row, and then writes. What a person does
  between that look and the write cannot be noticed; but the look is one round trip before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A person's edit of a row; edits of a row are numbered from 1."""

    row: int
    number: int
    answered_at: float
    """By then it had taken effect."""


@dataclass(frozen=True, kw_only=True)
class Update:
    """An update under the tag of a row, that was answered as written."""

    row: int
    seen: int
    """The number of the row's last edit when it had that tag; 0 for none."""
    arrived_at: float
    """When the write came to Google."""


@dataclass(frozen=True, kw_only=True)
class Overlooked:
    """An edit that was in the row so long before a write under a tag of before."""

    edit: Edit
    update: Update

    @property
    def seconds(self) -> float:
        return self.update.arrived_at - self.edit.answered_at

    def __str__(self) -> str:
        return (
            f"row {self.edit.row}: edit {self.edit.number} was there for {self.seconds:.2f} s "
            f"when an update wrote that knew edit {self.update.seen}"
        )


def overlooked(edits: Iterable[Edit], updates: Sequence[Update]) -> Iterator[Overlooked]:
    """The edits that were there when a write came that did not know them."""
    for edit in edits:
        for update in updates:
            is_unknown = edit.row == update.row and edit.number > update.seen
            if is_unknown and edit.answered_at < update.arrived_at:
                yield Overlooked(edit=edit, update=update)
