"""Records of operations and reads with their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx2

from tests.simulation.asking import FAILURES, IN_PROGRESS
from tests.simulation.verbs.operations import Operation

Outcome = Literal["done", "applied", "not_applied", "unknown"]
"""Outcome of an operation; `applied` is an error whose write was applied."""
OUTCOMES: Mapping[str, Outcome] = {
    "applied": "applied",
    "not_applied": "not_applied",
    "unknown": "unknown",
}
NEVER = float("inf")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The content of an answer; `results` are its records, or row numbers for a write by filter."""

    outcome: Outcome
    status: int = 0
    code: int = 0
    message: str = ""
    results: Sequence[Mapping[str, Any]] = ()
    is_replayed: bool = False
    complaint: str = ""
    """Why the answer itself is invalid, or ""."""

    @property
    def rows(self) -> Sequence[int]:
        return [record["rowIndex"] for record in self.results]


NO_ANSWER = Answer(outcome="unknown")


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """Answer and times of a request that was sent again after success."""

    answer: Answer
    asked_at: float
    answered_at: float


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An operation and its last answer, with the times of first request and last answer."""

    worksheet: str
    operation: Operation
    answer: Answer
    asked_at: float
    answered_at: float
    is_cut: bool = False
    asks: int = 1
    repeat: Repeat | None = None

    @property
    def outcome(self) -> Outcome:
        return self.answer.outcome

    @property
    def was_applied(self) -> bool:
        return self.outcome in ("done", "applied")

    @property
    def ends_at(self) -> float:
        """Latest time of the operation's effect; infinity if the outcome is unknown."""
        return NEVER if self.outcome == "unknown" else self.answered_at

    def __str__(self) -> str:
        asked = self.operation
        named = f" of rows {[*asked.rows]}" if asked.rows else ""
        by = f" where {asked.filter.where}" if asked.filter else ""
        key = f" with key {asked.key}" if asked.key else ""
        condition = " under a tag" if asked.tag else ""
        return (
            f"{asked.kind} {asked.number}{named}{by}{key}{condition} in {self.worksheet} "
            f"({self.asked_at:.3f} to {self.answered_at:.3f}, {self.outcome} "
            f"{self.answer.status}/{self.answer.code})"
        )


@dataclass(frozen=True, kw_only=True)
class ListRead:
    """All rows of a worksheet as a client read them."""

    worksheet: str
    asked_at: float
    answered_at: float
    records: Sequence[Mapping[str, Any]]


def read_answer(operation: Operation, answer: httpx2.Response) -> Answer:
    """Parse the answer to an operation."""
    is_replayed = "Idempotent-Replayed" in answer.headers
    if answer.status_code == httpx2.codes.NO_CONTENT:
        is_wrong = operation.kind != "delete" or bool(answer.content)
        return Answer(
            outcome="done",
            status=answer.status_code,
            is_replayed=is_replayed,
            complaint="an answer without a body" if is_wrong else "",
        )
    try:
        body = answer.json()
    except ValueError:
        complaint = f"no JSON: {answer.text[:80]}"
        return Answer(outcome="unknown", status=answer.status_code, complaint=complaint)
    if answer.is_success:
        return _done(operation, answer.status_code, body, is_replayed=is_replayed)
    outcome = OUTCOMES.get(body.get("outcome"))
    if body.get("code") == IN_PROGRESS:
        outcome = "unknown"
    elif outcome is None and answer.status_code < FAILURES:
        outcome = "not_applied"
    return Answer(
        outcome=outcome or "unknown",
        status=answer.status_code,
        code=body.get("code", 0),
        message=body.get("message", ""),
        is_replayed=is_replayed,
        complaint="" if outcome else f"{answer.status_code} without an outcome: {body}",
    )


def _done(operation: Operation, status: int, body: Any, *, is_replayed: bool) -> Answer:
    is_single = operation.kind == "update" or (operation.kind == "create" and not operation.is_list)
    results = [body] if is_single else body["results"]
    return Answer(
        outcome="done",
        status=status,
        results=results,
        is_replayed=is_replayed,
        complaint=_complaint(operation, status, body, results),
    )


def _complaint(
    operation: Operation, status: int, body: Any, results: Sequence[Mapping[str, Any]]
) -> str:
    """Return why a success answer is invalid for every worksheet, or ""."""
    if operation.filter is not None:
        if body["count"] != len(results) or any([*each] != ["rowIndex"] for each in results):
            return f"count and results: {body}"
        rows = [each["rowIndex"] for each in results]
        return "" if rows == sorted(set(rows)) else f"row numbers {rows}"
    if len(results) != len(operation.bodies):
        return f"{len(results)} results of {len(operation.bodies)} rows"
    is_new = operation.kind == "create" or (
        operation.kind == "upsert" and all(each["created"] for each in results)
    )
    return "" if status == (201 if is_new else 200) else f"status {status}: {body}"
