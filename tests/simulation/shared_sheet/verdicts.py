"""What became of conditional updates and of row numbers, held against what took effect.

Rules
- Pure: answers, looks and the truth go in; problems and figures come out.
- A conditional update has to meet the record whose tag it demands, as it was. The one exception is
  a change between the look at the row and the commit, which nobody can see: then the row still had
  that tag at some moment of the look.
- A look is a second old at most when its update is sent; `SLACK_SECONDS` are for a busy machine.
- If another record was in the row at the commit, Google's answer shows it: the client hears of it,
  at no other time.
- A 412 needs a moment between request and answer at which the row was another.
- Rows that the answer to their batch does not show are looked for later, when others may have moved
  them: it was lost, or people removed rows above them. All other row numbers are those of the
  commit.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import httpx2

from tests.simulation.fire.ledger import Change, Effect, Entry, Fields, Problem, fields_of
from tests.simulation.shared_sheet.clients import ConditionalUpdate
from tests.simulation.shared_sheet.looks import Sent
from tests.simulation.shared_sheet.sheet import identity_of

FRESH_SECONDS = 1.0
SLACK_SECONDS = 0.75
ROWS_MOVED = 4095


class Truth(Protocol):
    """What took effect, and what the rows held."""

    @property
    def effects(self) -> Sequence[Effect]: ...

    @property
    def changes(self) -> Sequence[Change]: ...

    def contents_between(
        self, worksheet: str, row: int, since: float, until: float
    ) -> Sequence[Fields]:
        """What a row held at any moment between two."""


@dataclass(frozen=True, kw_only=True)
class Met:
    """A conditional update at its commit: what its row held, and since when it could not know."""

    update: ConditionalUpdate
    change: Change
    sent: Sent | None
    was_named_at_look: bool
    """The row was as demanded at some moment of the look."""

    @property
    def is_as_named(self) -> bool:
        return self.change.before == self.update.named

    @property
    def is_other_record(self) -> bool:
        return identity_of(self.change.before) != identity_of(self.update.named)

    @property
    def seconds(self) -> float:
        """From the look's answer to the commit."""
        look = self.sent.look if self.sent else None
        return self.change.at - look.ended if look else float("inf")

    def __str__(self) -> str:
        return (
            f"update {self.change.number} of row {self.change.row} named {self.update.named}, "
            f"but met {self.change.before} {self.seconds:.3f} s after its look"
        )


def met(
    updates: Sequence[ConditionalUpdate],
    truth: Truth,
    sent_before: Callable[[int, float], Sent | None],
) -> list[Met]:
    """The updates that took effect, whatever their answers."""
    by_number = {each.entry.number: each for each in updates}
    found = []
    for change in truth.changes:
        update = by_number.get(change.number)
        if update is None:
            continue
        sent = sent_before(change.number, change.at)
        look = sent.look if sent else None
        seen = look and truth.contents_between(change.worksheet, change.row, *look)
        found.append(
            Met(
                update=update,
                change=change,
                sent=sent,
                was_named_at_look=update.named in (seen or ()),
            )
        )
    return found


def unseen(updates: Sequence[Met]) -> Iterator[Problem]:
    """Updates that overwrote a state which their look could see, of their record or of another."""
    for each in updates:
        if each.sent and each.sent.age_seconds > FRESH_SECONDS + SLACK_SECONDS:
            detail = f"update {each.change.number} was sent {each.sent.age_seconds:.2f} s later"
            yield Problem(kind="old look", detail=detail)
        if not each.is_as_named and not each.was_named_at_look:
            kind = "another record" if each.is_other_record else "another state"
            yield Problem(kind=kind, detail=str(each))


def silent(updates: Sequence[Met], has_failed: Callable[[float, float], bool]) -> Iterator[Problem]:
    """Updates in another record that say nothing of it, and others that say so."""
    for each in updates:
        entry = each.update.entry
        is_done = each.update.status == httpx2.codes.OK
        if is_done and each.is_other_record and not has_failed(entry.asked_at, entry.answered_at):
            yield Problem(kind="silent", detail=f"{each}, answered as done")
        if each.update.code == ROWS_MOVED and each.is_as_named:
            yield Problem(kind="answer", detail=f"{each}, answered as made in another record")


def misreported(
    updates: Sequence[Met], has_failed: Callable[[float, float], bool]
) -> Iterator[Problem]:
    """Answers that do not show what was written, though Google answered all the time."""
    for each in updates:
        entry = each.update.entry
        if not each.update.shown or has_failed(entry.asked_at, entry.answered_at):
            continue
        if each.update.shown != fields_of({"note": f"note:{entry.number}"}):
            detail = f"update {entry.number} was answered with {each.update.shown}"
            yield Problem(kind="answer", detail=detail)


def wrongly_refused(updates: Sequence[ConditionalUpdate], truth: Truth) -> Iterator[Problem]:
    """Updates that got 412 though their row was as named all the time."""
    for each in updates:
        entry = each.entry
        if each.status != httpx2.codes.PRECONDITION_FAILED:
            continue
        held = truth.contents_between(entry.worksheet, entry.row, entry.asked_at, entry.answered_at)
        if all(fields == each.named for fields in held):
            detail = f"update {entry.number} got 412, but row {entry.row} was {each.named}"
            yield Problem(kind="false outcome", detail=detail)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The row numbers that 201s told: those true at the commit, later ones, and wrong ones."""

    at_commit: int
    later: int
    problems: Sequence[Problem]


def judge_numbers(entries: Sequence[Entry], truth: Truth, unseen: Collection[int]) -> Numbers:
    """Hold row numbers against the commits; `unseen` are the rows that no answer to a batch shows.

    Those may have moved before they were looked for, which `problems_of` judges.
    """
    rows: Mapping[int, int] = {effect.number: effect.row for effect in truth.effects}
    told = [
        (number, place)
        for entry in entries
        for number, place in zip(entry.numbers, entry.places, strict=False)
    ]
    wrong = [(number, place) for number, place in told if rows.get(number) != place]
    return Numbers(
        at_commit=len(told) - len(wrong),
        later=sum(number in unseen for number, _ in wrong),
        problems=[
            Problem(
                kind="misplaced",
                detail=f"{number} was created in row {rows.get(number)}, its answer said {place}",
            )
            for number, place in wrong
            if number not in unseen
        ],
    )
