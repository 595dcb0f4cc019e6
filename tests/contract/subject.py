"""Interface of the implementations that the contract suite tests.

Rules: a test creates its own worksheets and ignores others, because the spreadsheet at Google can
contain more. Titles contain a number, so that no two tests collide.
"""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from gateway.google.sheets import (
    Batch,
    Change,
    Fence,
    Render,
    Sheets,
    SheetView,
    Value,
    WorksheetProperties,
)
from tests.contract.spreadsheet import Spreadsheet
from tests.fakes import BOOK, FakeSheets, Formatted

TITLE = "Rows_{}"

_numbers = count(random.randrange(100_000, 900_000))  # noqa: S311 - other runs may have left some


@dataclass(frozen=True)
class Typed:
    """A cell as a person types it, with the value and text that Google stores (locale en_US)."""

    text: str
    value: Value
    shown: str


Content = Value | Typed
Lines = Sequence[Sequence[Content]]


class Subject(Protocol):
    """An implementation of `Sheets`, and a way to create worksheets in it."""

    @property
    def sheets(self) -> Sheets: ...

    @property
    def spreadsheet(self) -> str: ...

    async def worksheet(self, lines: Lines, *, rows: int = 0, title: str = TITLE) -> str:
        """Create a worksheet with these cells. Returns its title, which is `title` and a number.

        The grid has the size of the cells, or `rows` rows.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class FakeSubject:
    """The fake of `Sheets` in memory."""

    sheets: FakeSheets = field(default_factory=FakeSheets)
    spreadsheet: str = BOOK

    async def worksheet(self, lines: Lines, *, rows: int = 0, title: str = TITLE) -> str:
        held = [[_held(content) for content in line] for line in lines]
        return self.sheets.add(_numbered(title), held, rows=rows).title


@dataclass(frozen=True, kw_only=True)
class RemoteSubject:
    """`GoogleSheets` with Google or an emulator; `made` has the IDs of worksheets to delete."""

    remote: Spreadsheet
    sheets: Sheets
    made: list[int] = field(default_factory=list)

    @property
    def spreadsheet(self) -> str:
        return self.remote.id

    async def worksheet(self, lines: Lines, *, rows: int = 0, title: str = TITLE) -> str:
        numbered = _numbered(title)
        height, width = max(len(lines), rows, 1), max(1, *map(len, lines), 1)
        self.made.append(await self.remote.add_worksheet(numbered, rows=height, columns=width))
        for option, values in (("RAW", _stored(lines)), ("USER_ENTERED", _typed(lines))):
            if any(value is not None for line in values for value in line):
                await self.remote.update(at(numbered, "A1"), values, option=option)
        return numbered

    async def clean_up(self) -> None:
        if self.made:
            await self.remote.delete_worksheets(self.made)


def at(title: str, cells: str) -> str:
    """Return an A1 range with the quoted title."""
    return "'" + title.replace("'", "''") + f"'!{cells}"


async def shown(subject: Subject, title: str) -> tuple[tuple[Value, ...], ...]:
    """Return the displayed cells of a worksheet, row by row."""
    values = await subject.sheets.read_values(
        subject.spreadsheet, at(title, "A1:ZZZ"), render=Render.DISPLAYED
    )
    return values.cells


async def properties(subject: Subject, title: str) -> WorksheetProperties:
    """Return the listed properties of the worksheet."""
    listed = await subject.sheets.list_worksheets(subject.spreadsheet)
    [found] = [each for each in listed if each.title == title]
    return found


def fence(written: str = "token") -> Fence:
    return Fence(id=1 + secrets.randbelow(2**31 - 1), key="gw-test", token=written)


async def apply(
    subject: Subject,
    title: str,
    *changes: Change,
    mark: Fence | None = None,
    cells: str = "A2:ZZZ",
    forgotten: list[int] | None = None,
) -> SheetView:
    """Apply a batch to a worksheet; the answer contains its header and these cells."""
    batch = Batch(
        sheet_id=(await properties(subject, title)).sheet_id,
        fence=mark or fence(),
        changes=changes,
        forgotten=forgotten or [],
        ranges=[at(title, "1:1"), at(title, cells)],
    )
    return await subject.sheets.apply(subject.spreadsheet, batch)


def _numbered(title: str) -> str:
    return title.format(next(_numbers))


def _held(content: Content) -> str | int | float | bool | Formatted | None:
    return Formatted(content.value, content.shown) if isinstance(content, Typed) else content


def _stored(lines: Lines) -> list[list[Value]]:
    return [[None if isinstance(each, Typed) else each for each in line] for line in lines]


def _typed(lines: Lines) -> list[list[Value]]:
    return [[each.text if isinstance(each, Typed) else None for each in line] for line in lines]
