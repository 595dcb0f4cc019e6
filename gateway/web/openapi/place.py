"""Worksheets in the document: a generic one, or each one that a key sees."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.table.record import NEVER_STORED
from gateway.web.head import encode_title
from gateway.web.openapi.reach import Reach
from gateway.worksheets.access import is_granted
from gateway.worksheets.catalogue import Listed

_LONGEST_STEM = 60
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Location of rows: its path, and what is known about it."""

    stem: str
    """Prefix of its components' names; "" for any worksheet."""
    path: str
    title: str | None = None
    """Title of the tab; None for any worksheet."""
    fields: Sequence[str] = ()
    """Visible fields, in sheet order."""
    writable: Sequence[str] = ()

    @property
    def is_any(self) -> bool:
        return self.title is None


ANY_WORKSHEET = Place(stem="", path="/v2/sheets/{sheetName}")


def places_of(listed: Sequence[Listed], reach: Reach) -> Iterator[Place]:
    """The worksheets that a key sees, without those whose header names no field."""
    taken: set[str] = set()
    for worksheet in listed:
        title = worksheet.title
        is_seen = is_granted(title, reach.worksheets, is_only=worksheet.is_only)
        if not is_seen or not worksheet.header.columns:
            continue
        view = worksheet.header.seen_with(reach.columns)
        writable = [
            name
            for name, column in view.columns.items()
            if view.may_write(column) and name not in NEVER_STORED
        ]
        yield Place(
            stem=_stem(title, taken),
            path=f"/v2/sheets/{encode_title(title)}",
            title=title,
            fields=tuple(view.columns),
            writable=writable,
        )


def writes_to(place: Place, reach: Reach) -> bool:
    """True if the key may write any field there."""
    return reach.may_write and (place.is_any or bool(place.writable))


def _stem(title: str, taken: set[str]) -> str:
    """A unique component name from a title: letters and digits.

    Generators of clients make classes and modules of it, whose names have no case or no `_`.
    """
    plain = _NOT_IN_NAMES.sub("_", title).strip("_")[:_LONGEST_STEM]
    stem = plain if plain[:1].isalpha() else f"Worksheet{plain}"
    number, free = 1, stem
    while _folded(free) in taken:
        number += 1
        free = f"{stem}_{number}"
    taken.add(_folded(free))
    return free


def _folded(stem: str) -> str:
    return stem.replace("_", "").lower()
