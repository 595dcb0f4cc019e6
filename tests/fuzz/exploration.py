"""Run schemathesis on a document, and collect problems of the answers.

Every check of schemathesis is enabled. Failures of these kinds are ignored, because the API is more
lenient or strict than a schema can describe:

A `limit` above the maximum is reduced. Unknown names in `keys`, unknown parameters, and values of
`no-cache` other than true are ignored. An invalid ETag matches no row, and a blank spreadsheet ID
counts as missing.

Whole numbers beyond 2^53 are rejected, but JSON Schema treats `1e300` as an integer.

A new row needs a value, which no schema for example generators can express.

Body and parameters must fit: a `PATCH` needs a list, or `where` with an object. Rows of an upsert
need values in the key fields, and the filter of a write must not contain an empty object.

The methods in `Allow` are those of all keys and bodies.
"""

import json
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema
from schemathesis.openapi.checks import RejectedPositiveData

from tests.web.openapi.conformance import errors_in

INTERPRETER_FAULT = "AST constructor recursion depth mismatch"
"""Error of CPython 3.11 if two threads parse code at once (python/cpython#106905), as
Hypothesis does.
"""

MOST_RUNS = 5

AnyCase = schemathesis.Case[Any]

BODY = "the body"
ADDED = "an added parameter"
LENIENT = frozenset(
    {"limit", "keys", "no-cache", "max-affected", "If-Match", "If-None-Match", ADDED}
)
BLANK_IS_ABSENT = "X-Spreadsheet-Id"
_PREFERENCE = re.compile(r"[\w-]+=[\w-]+", re.ASCII)
PHASES = ("examples", "coverage", "fuzzing", "stateful")
ACCEPTED = ("2xx", "3xx", "401", "403", "404", "409", "412", "422")
"""Statuses allowed for a valid request, except 5xx. 412 and 422 result from random ETags
and Idempotency-Keys.
"""

REJECTED = (*ACCEPTED[2:-1], "400", "405", "406", "413", "414", "415", "422", "428", "429", "431")
"""Statuses allowed for an invalid request."""


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """Gateway, document and number of cases."""

    url: str
    key: str
    document: Mapping[str, Any]
    cases: int
    seed: int = 1
    phases: Sequence[str] = ("examples", "coverage", "fuzzing")
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Parameters with a fixed value."""
    checks_left_out: Sequence[str] = ()


@dataclass(kw_only=True)
class Findings:
    """Counts of answers by status, and distinct problems."""

    answers: Counter[int] = field(default_factory=Counter)
    problems: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __str__(self) -> str:
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.answers.items()))
        total = f"{self.answers.total()} answers ({statuses}), {len(self.problems)} problems"
        return "\n".join([total, *self.problems.values()])


def explored(exploration: Exploration) -> Findings:
    """Test valid and invalid requests of the document. Run again if the interpreter failed."""
    for _ in range(MOST_RUNS):
        findings = _explored(exploration)
        if not any(INTERPRETER_FAULT in problem for problem in findings.problems.values()):
            break
    return findings


def _explored(exploration: Exploration) -> Findings:
    config = schemathesis.Config.from_dict(_settings(exploration))
    schema = schemathesis.openapi.from_dict(_with_content(exploration.document), config=config)

    @schema.hook
    def filter_failure(
        _: schemathesis.HookContext,
        failure: Failure,
        case: AnyCase,
        __: schemathesis.Response,
    ) -> bool:
        return counts(exploration.document, failure, case)

    schema.hook(map_case)
    findings = Findings()
    for event in from_schema(schema).execute():
        _take_in(findings, event)
    return findings


def _with_content(node: Any) -> Any:
    """Return the document with JSON `content` for each `contentSchema`, because
    schemathesis generates no values for `contentSchema`.
    """
    if isinstance(node, list):
        return [_with_content(each) for each in node]
    if not isinstance(node, dict):
        return node
    told = {name: _with_content(each) for name, each in node.items()}
    if not isinstance(told.get("schema"), dict) or "contentSchema" not in told["schema"]:
        return told
    examples = {
        name: {**each, "value": json.loads(each["value"])}
        for name, each in told.pop("examples", {}).items()
    }
    content = {"schema": told.pop("schema")["contentSchema"], "examples": examples}
    return {**told, "content": {"application/json": content}}


def _settings(exploration: Exploration) -> dict[str, Any]:
    return {
        "seed": exploration.seed,
        "base-url": exploration.url,
        "headers": {"Authorization": f"Bearer {exploration.key}"},
        "continue-on-failure": True,
        "generation": {
            "max-examples": exploration.cases,
            "database": "none",
            "no-shrink": True,
            "with-security-parameters": False,
        },
        "phases": {name: {"enabled": name in exploration.phases} for name in PHASES},
        "parameters": dict(exploration.fixed),
        "checks": {
            "positive_data_acceptance": {"expected-statuses": list(ACCEPTED)},
            "negative_data_rejection": {"expected-statuses": list(REJECTED)},
            **{name: {"enabled": False} for name in exploration.checks_left_out},
        },
    }


def map_case(_: schemathesis.HookContext, case: AnyCase) -> AnyCase:
    """Replace a valid Idempotency-Key by a new one, because only the first body of a key
    is accepted.
    """
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if is_valid and case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = uuid.uuid4().hex
    return case


def counts(document: Mapping[str, Any], failure: Failure, case: AnyCase) -> bool:
    """True if a failure is not one of the ignored kinds."""
    if isinstance(failure, RejectedPositiveData):
        return not (
            _is_blank_row(case)
            or _is_mixed(case)
            or _has_empty_filter(case)
            or _has_odd_preference(case)
            or _is_no_page(case)
        )
    if isinstance(failure, AcceptedNegativeData):
        return not (_negated(case) <= _lenient(case) or _is_of_size(document, case))
    return True


def _negated(case: AnyCase) -> frozenset[str]:
    """Return the parameters with invalid values, and BODY."""
    data = case.meta.phase.data if case.meta else None
    if data is None:
        return frozenset({BODY})
    if not data.mutations:
        return frozenset({data.parameter or BODY})
    return frozenset(
        BODY if each.parameter_location is ParameterLocation.BODY else each.parameter or ADDED
        for each in data.mutations
    )


def _lenient(case: AnyCase) -> frozenset[str]:
    is_given = bool(case.headers) and BLANK_IS_ABSENT in case.headers
    is_blank = is_given and not str(case.headers[BLANK_IS_ABSENT]).strip()
    return LENIENT | {BLANK_IS_ABSENT} if is_blank else LENIENT


def _is_of_size(document: Mapping[str, Any], case: AnyCase) -> bool:
    """True if only the size of fractional numbers makes a body invalid."""
    content = document["paths"][case.path][case.method.lower()].get("requestBody", {})
    media_type = content.get("content", {}).get(case.media_type)
    if media_type is None or not _negated(case) <= _lenient(case) | {BODY}:
        return False
    clipped = _clipped(case.body)
    return clipped != case.body and not any(errors_in(document, media_type["schema"], clipped))


def _clipped(value: object) -> object:
    """Return the body with 0.5 for each float that JSON Schema treats as a large integer."""
    if isinstance(value, dict):
        return {name: _clipped(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clipped(each) for each in value]
    return 0.5 if isinstance(value, float) and abs(value) > 2**53 else value


def _is_blank_row(case: AnyCase) -> bool:
    """True if a row to create has no value."""
    if case.method != "POST" or case.path.endswith("/{rowIndex}"):
        return False
    rows = case.body if isinstance(case.body, list) else [case.body]
    return any(_is_blank(row) for row in rows)


def _is_mixed(case: AnyCase) -> bool:
    """True if the body of a write does not fit its parameters or preferences.

    A list takes no parameters and preferences, and a create takes none for upserts.
    """
    if case.path.endswith("/{rowIndex}"):
        return False
    has_preference = bool(case.headers) and "Prefer" in case.headers
    if case.method == "PATCH":
        is_list = isinstance(case.body, list)
        is_limited = has_preference or "max-affected" in case.query
        return is_list is ("where" in case.query) or (is_list and is_limited)
    return case.method == "POST" and (has_preference or "on_conflict" in case.query)


def _has_odd_preference(case: AnyCase) -> bool:
    """True if `Prefer` is possibly not a list of preferences, whose grammar the document omits."""
    preference = case.headers.get("Prefer") if case.headers else None
    return preference is not None and _PREFERENCE.fullmatch(str(preference)) is None


def _is_no_page(case: AnyCase) -> bool:
    """True if a list has an invalid cursor, or an export has parameters of a list."""
    query = case.query or {}
    if case.method != "GET" or case.path.endswith(("/{rowIndex}", "/schema")):
        return False
    return bool(query.get("cursor")) or bool(query.keys() & {"format", "formulas"})


def _has_empty_filter(case: AnyCase) -> bool:
    return case.method in ("PATCH", "DELETE") and "{}" in str(case.query.get("where", ""))


def _is_blank(row: object) -> bool:
    return isinstance(row, dict) and all(
        value in (None, "") for name, value in row.items() if name != "rowIndex"
    )


def _take_in(findings: Findings, event: events.EngineEvent) -> None:
    if isinstance(event, events.NonFatalError):
        findings.problems[event.label, str(event.value)] = f"{event.label}: {event.value}"[:2000]
    if isinstance(event, events.FatalError):
        findings.problems["fatal", str(event.exception)] = f"fatal: {event.exception!r}"[:2000]
    if isinstance(event, events.ScenarioFinished):
        for interaction in event.recorder.interactions.values():
            if interaction.response is not None:
                findings.answers[interaction.response.status_code] += 1
        for checks in event.recorder.checks.values():
            for check in checks:
                if check.failure_info is not None:
                    _note(findings, check.name, check.failure_info)


def _note(findings: Findings, check: str, info: Any) -> None:
    failure = info.failure
    place = (check, failure.operation, failure.title, failure.message[:100])
    told = f"{check} of {failure.operation}: {failure.message}\n{info.code_sample}"
    findings.problems.setdefault(place, told[:2000])
