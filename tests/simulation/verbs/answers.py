"""Check answers of writes against the versions of the worksheet.

Rules
- Row numbers in an answer are true at the commit. If Google's answer was lost, or people moved the
  end of the sheet above the rows in the answer, the gateway searches the rows later: then a number
  is true at some time before the answer. A row that an upsert left unchanged was there when the
  gateway read the keys, because it rereads only rows that change.
- An error, or an answer that no row matched, is true at some time during the request.
- A repeated request with the same Idempotency-Key gets the first answer, or 4094 if the gateway has
  removed its rows or rows above. A repeated delete always gets the first answer.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from tests.simulation.asking import FAILURES
from tests.simulation.disturbances import Span
from tests.simulation.report import Problem
from tests.simulation.verbs.clients import texts_of
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import LOOK_SECONDS, Course, Effect, Version, candidates
from tests.simulation.verbs.moved import is_false_alarm
from tests.simulation.verbs.operations import KEY, LIMITED_FIELDS, Operation, Texts
from tests.simulation.verbs.written import KNOWN_SECONDS, Commit, Commits, as_first_typed

NUMBER_UNKNOWN, ROWS_MOVED, UPSTREAM = 4094, 4095, 5020
METADATA_FULL = 5034
FULL_SECONDS = 2.0
"""Seconds for which a gateway can assume full metadata after the metadata was full."""
RENAMED = "the worksheet was renamed"
WORKSHEET_NOT_FOUND = 105
NOT_FOUND, TOO_MANY, DUPLICATE_KEY, PRECONDITION = 103, 4005, 4092, 4120
COUNT = re.compile(r"(\d+) rows match")
SETTLING_SECONDS = 6.0
"""Seconds after a failure of Google in which row numbers can be unknown."""

SawFailure = Callable[[float, float], bool]


def problems_of_answers(
    entries: Sequence[Entry],
    courses: Mapping[str, Course],
    commits: Commits,
    saw_failure: SawFailure,
) -> Iterator[Problem]:
    """Yield the wrong answers to writes."""
    for entry in entries:
        tabs = candidates(courses, entry.worksheet, entry.asked_at, entry.answered_at)
        if entry.answer.complaint:
            yield Problem(kind="answer", detail=f"{entry}: {entry.answer.complaint}")
            continue
        made = commits.of(entry)
        if entry.outcome == "unknown" and entry.operation.key is not None:
            yield Problem(kind="unsettled", detail=f"{entry} after {entry.asks} requests")
        elif entry.outcome == "not_applied":
            yield from _of_kind("false refusal", entry, _refused(entry, courses))
        elif entry.outcome == "applied":
            yield from _applied(entry, courses, made)
        elif entry.outcome == "done":
            found = _told(entry, made[0]) if made else _told_nothing(entry, tabs)
            yield from _of_kind("answer", entry, found)
            course = made[0].course if made else tabs[0]
            ends_at = entry.repeat.answered_at if entry.repeat else entry.answered_at
            if not course.was_renamed(entry.asked_at - KNOWN_SECONDS, ends_at):
                yield from _of_kind("replay", entry, _replayed(entry, course, made, saw_failure))


def problems_of_full_metadata(
    entries: Sequence[Entry],
    full: Sequence[Span],
    saw_lost_write: SawFailure,
    courses: Collection[Course],
) -> Iterator[Problem]:
    """Yield wrong uses of the error for full metadata.

    While the metadata is full, rejected writes get this error, and at no other time. Google also
    rejects a write to a tab that people rename meanwhile.
    """
    for entry in entries:
        answer = entry.answer
        since, until = entry.asked_at, entry.answered_at
        may_be_full = any(begin <= until and end >= since - FULL_SECONDS for begin, end in full)
        if answer.code == METADATA_FULL and not may_be_full:
            yield Problem(kind="full", detail=f"{entry}, though there was room")
        is_vague = answer.code == UPSTREAM and entry.outcome == "not_applied"
        is_explained = saw_lost_write(since, until) or any(
            each.was_renamed(since - KNOWN_SECONDS, until) for each in courses
        )
        if is_vague and may_be_full and not is_explained:
            yield Problem(kind="full", detail=f"{entry}: {answer.message}")


def _of_kind(kind: str, entry: Entry, found: Iterator[str]) -> Iterator[Problem]:
    return (Problem(kind=kind, detail=f"{entry}: {detail}") for detail in found)


def _applied(
    entry: Entry, courses: Mapping[str, Course], made: Sequence[Commit]
) -> Iterator[Problem]:
    """Yield wrong errors with the outcome `applied`: people must have moved rows or tabs."""
    answer, kind, detail = entry.answer, "answer", ""
    if answer.code == ROWS_MOVED:
        if not entry.operation.is_conditional or is_false_alarm(entry, courses, made):
            kind, detail = "false alarm", f"no row moved: {answer.message}"
    elif answer.code == UPSTREAM and RENAMED in answer.message:
        since = entry.asked_at - KNOWN_SECONDS
        if not any(each.was_renamed(since, entry.answered_at) for each in courses.values()):
            detail = f"no tab was renamed: {answer.message}"
    elif answer.code != NUMBER_UNKNOWN:
        detail = answer.message
    if detail:
        yield Problem(kind=kind, detail=f"{entry}: {detail}")


def _told(entry: Entry, commit: Commit) -> Iterator[str]:
    """Yield wrong rows in the answer to an operation that wrote cells."""
    operation, answer = entry.operation, entry.answer
    is_direct = commit.is_direct
    if operation.kind == "update where":
        (effects,) = commit.effects.values()
        if is_direct and [*answer.rows] != commit.rows:
            yield f"it was made in rows {commit.rows}, the answer says {answer.rows}"
        elif not is_direct and [*answer.rows] not in _numbers_since(entry, commit, effects):
            yield f"it was made in rows {commit.rows}, told later as {answer.rows}"
        return
    for place, record in enumerate(answer.results):
        body = operation.bodies[place]
        effects = commit.effects.get(place, ())
        if not effects:  # an upsert left the row unchanged
            is_true = any(
                look.row(record["rowIndex"]).get(KEY) == body[KEY]
                for look in commit.course.first_looks(commit.batch)
            )
            if is_direct and not is_true:
                yield f"{body[KEY]} was not in row {record['rowIndex']}"
        elif is_direct:
            yield from _told_directly(body, effects[0], record)
        elif record["rowIndex"] not in _places(entry, commit, body, effects[0]):
            yield f"{body} was in row {effects[0].row} first, told as {record['rowIndex']}"


def _told_directly(body: Texts, effect: Effect, record: Mapping[str, Any]) -> Iterator[str]:
    if record["rowIndex"] != effect.row:
        yield f"{body} was made in row {effect.row}, the answer says {record['rowIndex']}"
    shown = {name: effect.now[name] for name in body if name in effect.now}
    if texts_of(record) != shown:
        yield f"the row held {shown} of {body}, the answer is {record}"


def _numbers_since(
    entry: Entry, commit: Commit, effects: Sequence[Effect]
) -> Sequence[list[int | None]]:
    """Return the possible row numbers of an update by filter, from commit to answer."""
    indexes = commit.course.indexes(commit.batch.at, entry.answered_at)
    return [
        [commit.course.followed(effect.row, commit.batch.index, end) for effect in effects]
        for end in indexes
    ]


def _places(entry: Entry, commit: Commit, body: Texts, effect: Effect) -> set[int | None]:
    """Return the row numbers that were true at any time up to the answer.

    Includes the numbers that would be true without the moves of people.
    """
    course = commit.course
    indexes = course.indexes(commit.batch.at, entry.answered_at)
    identity = {name: body[name] for name in ("id", KEY) if name in body} or {"note": body["note"]}
    seen = {
        row
        for index in indexes
        for row, texts in course.versions[index].records().items()
        if identity.items() <= texts.items()
    }
    return seen | {course.followed(effect.row, commit.batch.index, end) for end in indexes}


def _told_nothing(entry: Entry, tabs: Sequence[Course]) -> Iterator[str]:
    """Yield wrong answers of an operation that wrote no cell.

    At some time of the request there must have been nothing to write.
    """
    operation, answer = entry.operation, entry.answer
    versions = _versions(tabs, entry)
    if operation.shared is not None:
        (body,), (row,) = operation.bodies, answer.rows
        seen = [as_first_typed(each.row(row)).get("id") for each in versions]
        if body["id"] not in seen:
            yield f"{body['id']} was not in row {row}"
    elif operation.filter is not None and not answer.results:
        if not any(not each.matching(operation.filter) for each in versions):
            yield "no row matched, said the answer"
    elif operation.kind == "upsert" and not any(_has_keys(entry, each) for each in versions):
        yield f"the keys were not in rows {answer.rows}"


def _versions(tabs: Sequence[Course], entry: Entry) -> Sequence[Version]:
    """Return all versions of an entry's worksheet from request to answer."""
    return [version for each in tabs for version in each.between(entry.asked_at, entry.answered_at)]


def _has_keys(entry: Entry, version: Version) -> bool:
    """True if the rows in the answer have the keys of the upsert."""
    return all(
        version.row(record["rowIndex"]).get(KEY) == body[KEY]
        for body, record in zip(entry.operation.bodies, entry.answer.results, strict=True)
    )


def _refused(entry: Entry, courses: Mapping[str, Course]) -> Iterator[str]:
    """Yield errors that contradict every version of the worksheet during the request."""
    operation, answer = entry.operation, entry.answer
    since = entry.asked_at - LOOK_SECONDS
    if answer.code == WORKSHEET_NOT_FOUND:
        if not any(each.was_renamed(since, entry.answered_at) for each in courses.values()):
            yield f"there always was one: {answer.message}"
        return
    if answer.code not in _REASONS:
        if answer.status < FAILURES:
            yield f"refused: {answer.message}"
        return
    is_reason = _REASONS[answer.code]
    versions = _versions(
        candidates(courses, entry.worksheet, entry.asked_at, entry.answered_at), entry
    )
    tagged = _hidden_rows(entry, courses) if answer.code == PRECONDITION else ()
    if not any(
        is_reason(operation, version, answer.message)
        or any(version.row(operation.rows[0]) != each for each in tagged)
        for version in versions
    ):
        yield f"not so at any moment: {answer.message}"


def _hidden_rows(entry: Entry, courses: Mapping[str, Course]) -> Sequence[Texts]:
    """Return the whole rows that can have the ETag of a client with limited columns.

    The ETag can come from another tab that had the title at that time.
    """
    operation = entry.operation
    if not operation.is_limited:
        return []
    since, until = operation.tagged
    return [
        texts
        for each in courses.values()
        if each.had(entry.worksheet, since - each.kept_seconds - each.slowest_look_seconds, until)
        for texts in each.tagged(operation)
    ]


def _has_no_such_row(operation: Operation, version: Version, _: str) -> bool:
    return any(row > version.last_row for row in operation.rows)


def _is_other_record(operation: Operation, version: Version, _: str) -> bool:
    if operation.named is None:
        return False
    seen = version.row(operation.rows[0])
    if operation.is_limited:
        seen = {name: text for name, text in seen.items() if name in LIMITED_FIELDS}
    return seen != operation.named


def _has_too_many(operation: Operation, version: Version, message: str) -> bool:
    count = COUNT.match(message)
    if operation.filter is None or count is None:
        return False
    return len(version.matching(operation.filter)) == int(count[1])


def _has_double_key(operation: Operation, version: Version, _: str) -> bool:
    return any(len(version.with_key(body[KEY])) > 1 for body in operation.bodies)


_REASONS: Mapping[int, Callable[[Operation, Version, str], bool]] = {
    NOT_FOUND: _has_no_such_row,
    PRECONDITION: _is_other_record,
    TOO_MANY: _has_too_many,
    DUPLICATE_KEY: _has_double_key,
}


def _replayed(
    entry: Entry, course: Course, made: Sequence[Commit], saw_failure: SawFailure
) -> Iterator[str]:
    """Yield wrong answers to a repeated request with the same Idempotency-Key."""
    repeat = entry.repeat
    if repeat is None:
        return
    first, second = entry.answer, repeat.answer
    if second.complaint:
        yield second.complaint
    if not second.is_replayed:
        yield f"answered anew: {second.status} {second.results} {second.message}"
        return
    is_direct = bool(made) and made[0].is_direct
    starts: Sequence[int] = course.indexes(entry.asked_at, entry.answered_at)
    if is_direct:
        starts = [made[0].batch.index]
    elif not made and entry.operation.kind == "upsert":
        starts = [index for index in starts if _has_keys(entry, course.versions[index])]
    ends = course.indexes(repeat.asked_at, repeat.answered_at)
    if second.code == NUMBER_UNKNOWN:
        may_be = saw_failure(entry.asked_at - SETTLING_SECONDS, repeat.answered_at) or any(
            batch.removed
            and min(batch.removed) <= max(first.rows, default=0)
            and entry.asked_at <= batch.at <= repeat.answered_at + SETTLING_SECONDS
            for batch in course.batches
        )
        if not may_be or entry.operation.method == "DELETE":
            yield f"{second.message}, though its rows stayed"
        return
    if [*first.results] != [*second.results]:
        yield f"the answer was {first.results}, then {second.results}"
    if entry.operation.method != "DELETE" and not any(
        all(course.followed(row, start, end) == row for row in first.rows)
        for start in starts
        for end in ends
    ):
        yield f"rows {first.rows} were told again, though rows at or above them went"
