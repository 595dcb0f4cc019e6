"""Read all pages by cursor on the app in this process, while people edit the worksheet.

Usage: python -m tests.simulation.paging --walks 1000 [--planted]

A walk is one read of all pages of a list.

Rules
- Time is simulated. Between two pages up to `most_seconds` pass, with `edits_per_second` random
  edits: fields are edited, and rows are inserted, deleted and moved.
- A row that existed during the whole walk, and kept its values of `order`, must be in the walk
  exactly once. A walk that ends with status 410 is not checked. Rows that moved are not checked.
- The planted bug pages by row number (`skip`) instead of by cursor.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from gateway.storage.key_store import Grants, KeyRequest
from tests.fakes import FakeWorksheet, Held
from tests.simulation.command import exit_status, parsed
from tests.simulation.report import Problem, Report
from tests.surfaces.stage import GRANTED, Surface, open_surface

KEYS = {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED))}
SETTINGS = {"plans.paid.requests_per_minute": 0}
LISTS = {
    "with order": "order=id",
    "with many ties": "order=-tie",
    "without order": "",
    "by filter": "where=%7B%22tie%22%3A%7B%22%24lt%22%3A4%7D%7D&order=tie",
}
TIES = 5
EDITS = ("note", "note", "note", "insert", "insert", "delete", "delete", "move")


@dataclass(frozen=True, kw_only=True)
class Paging:
    """Number of walks, and speed of the edits."""

    walks: int = 1_000
    rows: int = 120
    edits_per_second: float = 10.0
    most_seconds: float = 0.5
    """Longest time between two pages."""
    seed: int = 1
    is_planted: bool = False


@dataclass
class Place:
    """A worksheet that people edit, with the IDs of its rows in order."""

    sheet: FakeWorksheet
    chance: Random
    ids: list[int]
    stayed: set[int]
    edits: int = 0

    @classmethod
    def of(cls, surface: Surface, chance: Random, rows: int) -> "Place":
        surface.sheets.worksheets.clear()
        lines: list[list[Held]] = [
            [number, chance.randrange(TIES), "note"] for number in range(1000, 1000 + rows)
        ]
        header: list[Held] = ["id", "tie", "note"]
        surface.sheets.add("Edited", [header, *lines])
        ids = [*range(1000, 1000 + rows)]
        return cls(surface.sheets.worksheets[0], chance, ids, {*ids})

    def edit(self) -> None:
        """Make one random edit of a random row."""
        chance, kind = self.chance, self.chance.choice(EDITS)
        at = chance.randrange(len(self.ids))
        self.edits += 1
        if kind == "note":
            self.sheet.type(at + 2, None, None, f"note {self.edits}")
        elif kind == "insert":
            number = chance.randrange(1000, 1_000_000) * 1000 + self.edits
            self.sheet.insert_rows(at + 2)
            self.sheet.type(at + 2, number, chance.randrange(TIES), "new")
            self.ids.insert(at, number)
        elif len(self.ids) > 10:
            line = [self.sheet.cells.get((at + 2, column)) for column in (1, 2, 3)]
            self.sheet.delete_rows(at + 2)
            number = self.ids.pop(at)
            self.stayed.discard(number)
            if kind == "move":
                to = chance.randrange(len(self.ids) + 1)
                self.sheet.insert_rows(to + 2)
                self.sheet.type(to + 2, *line)
                self.ids.insert(to, number)


def run_paging(folder: Path, campaign: Paging) -> Report:
    """Run all walks, each with the next kind of list, and return the report."""
    outcomes, figures = Counter[str](), Counter[str]()
    problems: list[Problem] = []
    with open_surface(folder, KEYS, SETTINGS) as surface:
        for walk in range(campaign.walks):
            name = [*LISTS][walk % len(LISTS)]
            chance = Random(f"{campaign.seed} {walk}")  # noqa: S311
            place = Place.of(surface, chance, campaign.rows)
            given = walked(surface, campaign, place, LISTS[name])
            figures["edits"] += place.edits
            outcomes[f"{name}: {'lost, 410' if given is None else 'whole'}"] += 1
            if given is None:
                continue
            left = [each for each in place.ids if each in place.stayed]
            if "where" in LISTS[name]:
                ties = {
                    place.sheet.cells.get((at, 1)): place.sheet.cells.get((at, 2))
                    for at in range(2, len(place.ids) + 2)
                }
                left = [each for each in left if ties[each] != 4]
            problems += misgiven(f"{name}, walk {walk}", given, left)
    return Report(title="paging", outcomes=outcomes, figures=figures, problems=problems)


def misgiven(walk: str, given: Counter[int], stayed: Sequence[int]) -> list[Problem]:
    """Return a problem for each row that stayed and was returned twice or not at all."""
    return [
        Problem(kind="twice" if given[each] else "missing", detail=f"{walk}: row {each}")
        for each in stayed
        if given[each] != 1
    ]


def walked(
    surface: Surface, campaign: Paging, place: Place, parameters: str
) -> Counter[int] | None:
    """Return how often each row was returned, or None after status 410."""
    chance, given, cursor = place.chance, Counter[int](), ""
    while True:
        paging = f"skip={given.total()}" if campaign.is_planted else f"cursor={cursor}"
        limit = chance.choice((5, 10, 24))
        answer = surface.send("GET", f"Edited?{parameters}&limit={limit}&{paging}")
        if answer.status_code == 410:
            return None
        if answer.status_code != 200:
            raise RuntimeError(f"{answer.status_code}: {answer.content!r}")
        body = answer.json()
        given.update(int(row["id"]) for row in body["results"])
        if not body["hasNextPage"]:
            return given
        cursor = body.get("cursor", "")
        seconds = chance.uniform(0, campaign.most_seconds)
        for _ in range(round(seconds * campaign.edits_per_second)):
            place.edit()


def main() -> int:
    """Print the report. Returns 1 if a row was repeated or missing."""
    campaign = parsed(Paging())
    return exit_status(lambda folder: run_paging(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
