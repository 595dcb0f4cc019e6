"""Questions about undocumented behaviour of Google, with the emulator's assumptions.

Each fact is tested on its own worksheet, which is deleted afterwards.
"""

import operator
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import Value
from tests.contract.spreadsheet import Spreadsheet

NOT_ASKED = "not asked, "
"""Prefix of the answer if the spreadsheet lacks what a question needs."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A worksheet on which one fact is tested."""

    spreadsheet: Spreadsheet
    title: str
    sheet_id: int

    def at(self, cells: str) -> str:
        return f"'{self.title}'!{cells}"

    def without_title(self, text: str) -> str:
        return text.replace(f"{self.title}!", "")

    async def append(self, cells: str, rows: Sequence[Sequence[Value]], insertion: str) -> str:
        """Append rows and return the written range."""
        updates = await self.spreadsheet.append(self.at(cells), rows, insertion=insertion)
        return self.without_title(updates["updatedRange"])

    async def rows(self) -> int:
        """Number of rows of the grid."""
        listed = await self.spreadsheet.sheets().list_worksheets(self.spreadsheet.id)
        [found] = [each for each in listed if each.title == self.title]
        return found.rows


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A question to Google on a small worksheet, and the answer that the emulator assumes.

    `fits(answer, assumed)` is True if the answer agrees with the assumption.
    """

    question: str
    assumed: str
    ask: Callable[[Bench], Awaitable[str]]
    fits: Callable[[str, str], bool] = operator.eq
    lines: Sequence[Sequence[Value]] = (("a", "b"), ("1", "2"))
    blank_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A fact, and the answer of Google or the emulator."""

    fact: Fact
    answer: str

    @property
    def agrees(self) -> bool:
        return not self.is_asked or self.fact.fits(self.answer, self.fact.assumed)

    @property
    def is_asked(self) -> bool:
        return not self.answer.startswith(NOT_ASKED)

    def line(self) -> str:
        verdict = ("AGREES " if self.agrees else "DIFFERS") if self.is_asked else "SKIPPED"
        return (
            f"{verdict} {self.fact.question} Answered: {self.answer}. "
            f"The emulator assumes: {self.fact.assumed}."
        )


async def ask(fact: Fact, spreadsheet: Spreadsheet) -> Finding:
    """Test a fact on its own worksheet; the text of an error is an answer, too."""
    async with _worksheet(fact, spreadsheet) as bench:
        try:
            answer = await fact.ask(bench)
        except UpstreamRefusal as refusal:
            answer = f"refused, {bench.without_title(refusal.google_message)!r}"
    return Finding(fact=fact, answer=answer)


@asynccontextmanager
async def _worksheet(fact: Fact, spreadsheet: Spreadsheet) -> AsyncIterator[Bench]:
    title = f"Fact_{random.randrange(10**9)}"  # noqa: S311 - only so that no two are the same
    sheet_id = await spreadsheet.add_worksheet(
        title,
        rows=max(len(fact.lines), 1) + fact.blank_rows,
        columns=max(map(len, fact.lines), default=1),
    )
    try:
        bench = Bench(spreadsheet=spreadsheet, title=title, sheet_id=sheet_id)
        if fact.lines:
            await spreadsheet.update(bench.at("A1"), fact.lines, option="USER_ENTERED")
        yield bench
    finally:
        await spreadsheet.delete_worksheets([sheet_id])
