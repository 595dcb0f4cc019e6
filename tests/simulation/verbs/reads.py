"""Lists that clients read, held against the versions of their worksheet.

Rules
- While nobody but the gateway writes, and it knows what it wrote, a list is the worksheet of one
  moment, with all writes that had been acknowledged when it was asked for.
- Kept rows may lack what people did in the last seconds: such lists are not judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.fire.ledger import Problem
from tests.simulation.verbs.clients import texts_of
from tests.simulation.verbs.entries import ListRead
from tests.simulation.verbs.history import Course
from tests.simulation.verbs.operations import Texts

Acknowledged = Sequence[tuple[float, int]]
"""When writes to a worksheet were acknowledged, each with an index of a version that has it."""


@dataclass(kw_only=True)
class JudgedReads:
    """How many lists were judged, and what is wrong with them."""

    count: int = 0
    problems: list[Problem] = field(default_factory=list)


def judge_reads(
    reads: Sequence[ListRead],
    courses: Mapping[str, Course],
    acknowledged: Mapping[str, Acknowledged],
    *,
    kept_seconds: float,
) -> JudgedReads:
    """Judge the lists that were read; rows are kept for so long."""
    judged = JudgedReads()
    for read in reads:
        course = courses[read.worksheet]
        if not _is_calm(course, read.asked_at - kept_seconds, read.answered_at):
            continue
        judged.count += 1
        indexes = course.indexes(read.asked_at - kept_seconds, read.answered_at)
        known = [index for at, index in acknowledged[read.worksheet] if at <= read.asked_at]
        first = max([indexes.start, *known])
        shown = {record["rowIndex"]: texts_of(record) for record in read.records}
        if not any(_shows(course, index, shown) for index in range(first, indexes.stop)):
            detail = f"{read.worksheet} at {read.asked_at:.3f} to {read.answered_at:.3f}: {shown}"
            is_old = any(_shows(course, index, shown) for index in range(first))
            judged.problems.append(Problem(kind="old list" if is_old else "list", detail=detail))
    return judged


def _is_calm(course: Course, since: float, until: float) -> bool:
    """True if all versions of the time but the first are of batches with a good answer."""
    for index in course.indexes(since, until)[1:]:
        batch = course.by_index.get(index)
        if batch is None or batch.is_lost:
            return False
    return True


def _shows(course: Course, index: int, shown: Mapping[int, Texts]) -> bool:
    records = course.versions[index].records()
    return {row: _named(texts) for row, texts in records.items()} == shown


def _named(texts: Texts) -> Texts:
    return {name: text for name, text in texts.items() if not name.startswith("column ")}
