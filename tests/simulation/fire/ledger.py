"""What clients were told of their creates and updates, held against what took effect.

Rules
- Pure: a ledger and the truth about one spreadsheet go in, problems come out.
- Every value names its field ("name:17"), so that one in another column shows by itself.
- Rows of equal content cannot be told apart; of those the numbers count.
- A create whose answer left it open, or that got none, took effect once or not at all, as a whole.
- A row number is true at the moment of the effect. It is true at any moment up to the answer if an
  answer was lost, or if people edited rows meanwhile.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Fields = tuple[tuple[str, str], ...]
"""The cells of a row that are not blank, by field, in the order of their fields' names."""
Outcome = Literal["created", "applied", "not_applied", "unknown"]
Grid = Sequence[Sequence[str]]
"""A worksheet's texts, row 1 first."""
IDENTITY = "id:"
"""The cell with a row's number begins with it."""
AT_LEAST: Mapping[Outcome, int] = {"created": 1, "applied": 1, "not_applied": 0, "unknown": 0}
AT_MOST: Mapping[Outcome, int] = {"created": 1, "applied": 1, "not_applied": 0, "unknown": 1}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A create of one row or several, and the last that its client knows of it.

    `unknown` is also what never was answered. `places` are the rows that a 201 named. `is_cut`:
    the client's connection to the gateway broke before the last answer. The times are of the first
    request and of the last answer.
    """

    worksheet: str
    rows: tuple[Fields, ...]
    outcome: Outcome
    places: tuple[int, ...] = ()
    is_cut: bool = False
    is_keyed: bool = False
    asks: int = 1
    asked_at: float = 0.0
    answered_at: float = 0.0
    complaint: str = ""
    """What of the answer itself is wrong."""

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(number_of(fields) for fields in self.rows)


@dataclass(frozen=True, kw_only=True)
class UpdateEntry:
    """An update of a row, its last request and what came of it."""

    worksheet: str
    row: int
    number: int
    outcome: Outcome
    asked_at: float
    answered_at: float
    is_cut: bool = False
    is_keyed: bool = False
    complaint: str = ""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A row that a batch of the gateway created."""

    at: float
    batch: int
    worksheet: str
    number: int
    row: int
    fields: Fields
    """By the header of that moment."""
    complaint: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A row that a batch of the gateway updated."""

    at: float
    worksheet: str
    number: int
    """The update's."""
    row: int
    before: Fields = ()
    """The row's fields just before it."""
    tab: str = ""
    """The first title of its worksheet."""


class Truth(Protocol):
    """What took effect."""

    @property
    def effects(self) -> Sequence[Effect]: ...

    @property
    def changes(self) -> Sequence[Change]: ...

    @property
    def overwritten(self) -> Sequence[str]: ...

    def rows_between(self, worksheet: str, number: int, since: float, until: float) -> set[int]:
        """The rows that had a number at any moment between two."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A broken promise: its sort (lost, doubled, misplaced, ...) and what shows it."""

    kind: str
    detail: str


def problems_of(
    entries: Sequence[Entry],
    truth: Truth,
    updates: Sequence[UpdateEntry] = (),
) -> list[Problem]:
    """All that is wrong after the creates and updates of a ledger."""
    effects: dict[int, list[Effect]] = defaultdict(list)
    for effect in truth.effects:
        effects[effect.number].append(effect)
    return [
        *_answered([*entries, *updates]),
        *(Problem(kind="overwritten", detail=each) for each in truth.overwritten),
        *_unsettled(entries),
        *_miscounted(entries, effects),
        *_misplaced(entries, effects, truth),
        *_torn(entries, effects),
        *_updated(updates, truth.changes),
        *_overtaken(updates, truth.changes),
    ]


def fields_of(values: Mapping[str, str]) -> Fields:
    return tuple(sorted(values.items()))


def number_of(fields: Fields) -> int:
    """The number of a row, whichever of its fields has it."""
    return int(next(text for _, text in fields if text.startswith(IDENTITY)).removeprefix(IDENTITY))


def _answered(entries: Sequence[Entry | UpdateEntry]) -> Iterator[Problem]:
    for entry in entries:
        if entry.complaint:
            about = entry.rows[0] if isinstance(entry, Entry) else entry.number
            yield Problem(kind="answer", detail=f"{about}: {entry.complaint}")


def _unsettled(entries: Sequence[Entry]) -> Iterator[Problem]:
    """With a key a create is settled sooner or later."""
    for entry in entries:
        if entry.is_keyed and entry.outcome == "unknown":
            detail = f"{entry.rows[0]} is unknown after {entry.asks} requests"
            yield Problem(kind="unsettled", detail=detail)


def _miscounted(
    entries: Sequence[Entry], effects: Mapping[int, Sequence[Effect]]
) -> Iterator[Problem]:
    """Rows that were created too seldom or too often, each number by itself."""
    outcomes: dict[int, Counter[Outcome]] = defaultdict(Counter)
    for entry in entries:
        for number in entry.numbers:
            outcomes[number][entry.outcome] += 1
    for number, told in outcomes.items():
        times = len(effects.get(number, ()))
        detail = f"{number} was created {times} times; answers: {dict(told)}"
        if times < sum(AT_LEAST[each] * count for each, count in told.items()):
            yield Problem(kind="false outcome" if told["applied"] else "lost", detail=detail)
        if times > sum(AT_MOST[each] * count for each, count in told.items()):
            yield Problem(kind="false outcome" if told["not_applied"] else "doubled", detail=detail)
    for number in effects.keys() - outcomes.keys():
        yield Problem(kind="nobody's", detail=f"{number} was sent by nobody")


def _misplaced(
    entries: Sequence[Entry], effects: Mapping[int, Sequence[Effect]], truth: Truth
) -> Iterator[Problem]:
    """Rows that were never where their answers said, or not there yet; rows in wrong cells."""
    for entry in entries:
        if entry.outcome != "created":
            continue
        for place, fields, number in zip(entry.places, entry.rows, entry.numbers, strict=True):
            found = effects.get(number, ())
            first_at = min((effect.at for effect in found), default=entry.asked_at)
            if first_at > entry.answered_at:
                yield Problem(kind="taken", detail=f"{number} was told before it took effect")
            rows = truth.rows_between(
                entry.worksheet, number, max(first_at, entry.asked_at), entry.answered_at
            )
            if place not in rows:
                detail = f"{number} was in rows {rows}, its answer said {place}"
                yield Problem(kind="misplaced", detail=detail)
            if len(found) == 1 and found[0].fields != fields:
                detail = f"{fields} was created as {found[0].fields}"
                yield Problem(kind="misplaced", detail=detail)
    for each in effects.values():
        for effect in each:
            if effect.complaint:
                yield Problem(kind="misplaced", detail=f"{effect.number}: {effect.complaint}")


def _torn(entries: Sequence[Entry], effects: Mapping[int, Sequence[Effect]]) -> Iterator[Problem]:
    """Arrays of which some rows were created and some were not, or with others in between."""
    for entry in entries:
        found = [effect for number in entry.numbers for effect in effects.get(number, ())]
        if len(entry.rows) == 1 or not found or len(found) > len(entry.rows):
            continue  # whatever was created more than once has been told already
        rows = [effect.row for effect in found]
        is_whole = rows == list(range(rows[0], rows[0] + len(entry.rows)))
        if not is_whole or len({effect.batch for effect in found}) > 1:
            detail = f"an array of {len(entry.rows)} rows went to rows {rows}"
            yield Problem(kind="torn", detail=detail)


def _updated(updates: Sequence[UpdateEntry], changes: Sequence[Change]) -> Iterator[Problem]:
    """Updates that took effect too seldom or too often, too late, or in another row."""
    by_number = _by_number(changes)
    for update in updates:
        made = by_number[update.number]
        detail = f"update {update.number} was made {len(made)} times; answer: {update.outcome}"
        if len(made) < AT_LEAST[update.outcome]:
            yield Problem(kind="lost", detail=detail)
        if len(made) > AT_MOST[update.outcome]:
            is_false = update.outcome == "not_applied"
            yield Problem(kind="false outcome" if is_false else "doubled", detail=detail)
        # Only an answer that shows the row is certain of the name that its tab had.
        titles = [each.worksheet for each in made if update.outcome == "created"]
        if any(each.row != update.row for each in made) or {*titles} - {update.worksheet}:
            yield Problem(kind="misplaced", detail=f"update {update.number} is in another row")
        if update.outcome == "created" and any(each.at > update.answered_at for each in made):
            detail = f"update {update.number} was told before it took effect"
            yield Problem(kind="taken", detail=detail)


def _overtaken(updates: Sequence[UpdateEntry], changes: Sequence[Change]) -> Iterator[Problem]:
    """Updates whose late copy came over an acknowledged one that was sent after their answer."""
    by_number = _by_number(changes)
    acknowledged: dict[tuple[str, int], list[UpdateEntry]] = defaultdict(list)
    for update in updates:
        if update.outcome in ("created", "applied"):
            acknowledged[update.worksheet, update.row].append(update)
    for update in updates:
        for change in by_number[update.number]:
            for other in acknowledged[update.worksheet, update.row]:
                if all(each.tab != change.tab for each in by_number[other.number]):
                    continue
                if update.answered_at < other.asked_at and other.answered_at < change.at:
                    detail = (
                        f"update {update.number}, {update.outcome} at {update.answered_at:.2f}, "
                        f"was made at {change.at:.2f}; update {other.number} of "
                        f"{other.asked_at:.2f} was acknowledged at {other.answered_at:.2f}"
                    )
                    yield Problem(kind="overwritten", detail=detail)


def _by_number(changes: Sequence[Change]) -> Mapping[int, list[Change]]:
    found: dict[int, list[Change]] = defaultdict(list)
    for change in changes:
        found[change.number].append(change)
    return found
