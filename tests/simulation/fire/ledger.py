"""Answers to creates, compared with the worksheet in the end.

Rules
- Pure: a ledger and two tables go in, problems come out.
- Every value names its field ("name:17"), so that one in another column is visible.
- Rows of equal content are indistinguishable; their number and places count.
- A create with an open answer, or none, may be there once or not at all, as a whole. Only the
  gateway inserts rows, so a row stays where its answer said.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Fields = tuple[tuple[str, str], ...]
"""The cells of a row that are not blank, by field, in the order of their fields' names."""
Outcome = Literal["created", "applied", "not_applied", "unknown"]
Grid = Sequence[Sequence[str]]
"""A worksheet's texts, row 1 first."""
AT_LEAST: Mapping[Outcome, int] = {"created": 1, "applied": 1, "not_applied": 0, "unknown": 0}
AT_MOST: Mapping[Outcome, int] = {"created": 1, "applied": 1, "not_applied": 0, "unknown": 1}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A create of one row or several, and the last that its client knows of it.

    `unknown` is also what never was answered. `places` are the rows that a 201 named. `is_cut`:
    the client's connection to the gateway broke before the last answer.
    """

    rows: tuple[Fields, ...]
    outcome: Outcome
    places: tuple[int, ...] = ()
    is_cut: bool = False
    complaint: str = ""
    """What of the answer itself is wrong."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A broken promise: its sort (lost, doubled, misplaced, ...) and what shows it."""

    kind: str
    detail: str


def problems_of(entries: Sequence[Entry], before: Grid, after: Grid) -> list[Problem]:
    """All that is wrong with a worksheet after the creates of a ledger."""
    old, new = records(before), records(after)
    added = {number: fields for number, fields in new.items() if number not in old}
    return [
        *_answered(entries),
        *_overwritten(old, new),
        *_in_wrong_columns(new),
        *_miscounted(entries, Counter(added.values())),
        *_misplaced(entries, new),
        *_torn(entries, added),
    ]


def fields_of(values: Mapping[str, str]) -> Fields:
    return tuple(sorted(values.items()))


def records(grid: Grid) -> dict[int, Fields]:
    """The rows that are not blank, by their numbers; a column without a header has the field ""."""
    header = grid[0] if grid else ()
    found = {}
    for number, row in enumerate(grid[1:], start=2):
        names = [*header, *[""] * (len(row) - len(header))]
        cells = sorted((name, text) for name, text in zip(names, row, strict=False) if text)
        if cells:
            found[number] = tuple(cells)
    return found


def _answered(entries: Sequence[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if entry.complaint:
            yield Problem(kind="answer", detail=f"{entry.rows[0]}: {entry.complaint}")


def _overwritten(old: Mapping[int, Fields], new: Mapping[int, Fields]) -> Iterator[Problem]:
    for number, fields in old.items():
        if new.get(number) != fields:
            detail = f"row {number} was {fields}, is {new.get(number)}"
            yield Problem(kind="overwritten", detail=detail)


def _in_wrong_columns(new: Mapping[int, Fields]) -> Iterator[Problem]:
    for number, fields in new.items():
        for name, text in fields:
            if text.partition(":")[0] != name:
                yield Problem(
                    kind="misplaced", detail=f"row {number} has {text!r} in column {name!r}"
                )


def _miscounted(entries: Sequence[Entry], found: Counter[Fields]) -> Iterator[Problem]:
    """Rows that are there too seldom or too often, each content by itself."""
    outcomes: dict[Fields, Counter[Outcome]] = defaultdict(Counter)
    for entry in entries:
        for fields in entry.rows:
            outcomes[fields][entry.outcome] += 1
    for fields, told in outcomes.items():
        detail = f"{fields} is there {found[fields]} times; answers: {dict(told)}"
        if found[fields] < sum(AT_LEAST[each] * times for each, times in told.items()):
            yield Problem(kind="false outcome" if told["applied"] else "lost", detail=detail)
        if found[fields] > sum(AT_MOST[each] * times for each, times in told.items()):
            yield Problem(kind="false outcome" if told["not_applied"] else "doubled", detail=detail)
    for fields in found.keys() - outcomes.keys():
        yield Problem(kind="nobody's", detail=f"{fields} was sent by nobody")


def _misplaced(entries: Sequence[Entry], new: Mapping[int, Fields]) -> Iterator[Problem]:
    """Rows that are not where their answers said, and places that were given twice."""
    given: Counter[int] = Counter()
    for entry in entries:
        given.update(entry.places)
        for place, fields in zip(entry.places, entry.rows, strict=False):
            if new.get(place) != fields:
                detail = f"row {place} is {new.get(place)}, its answer said {fields}"
                yield Problem(kind="misplaced", detail=detail)
    for place, times in given.items():
        if times > 1:
            yield Problem(kind="misplaced", detail=f"{times} answers said row {place}")


def _torn(entries: Sequence[Entry], added: Mapping[int, Fields]) -> Iterator[Problem]:
    """Arrays of which some rows are there and some are not, or with rows of others in between."""
    numbers: dict[Fields, list[int]] = defaultdict(list)
    for number, fields in added.items():
        numbers[fields].append(number)
    for entry in entries:
        is_single = len(entry.rows) == 1 or len(set(entry.rows)) < len(entry.rows)
        places = sorted(number for fields in entry.rows for number in numbers[fields])
        if is_single or not places or any(len(numbers[fields]) > 1 for fields in entry.rows):
            continue  # whatever is there more than once has been told already
        if places != list(range(places[0], places[0] + len(entry.rows))):
            detail = f"an array of {len(entry.rows)} rows is at rows {places}"
            yield Problem(kind="torn", detail=detail)
