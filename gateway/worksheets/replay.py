"""Answers to idempotent writes, stored as JSON text with digests instead of long texts.

Rules
- Only a text from the body of the write becomes a digest. The stored answer is read only for a
  repeated request with the same body, which supplies the text.
- A text that Google changed is stored in full.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from gateway.errors import GatewayError, HeaderChanged, Outcome, Problem, RowsMoved, UpstreamError
from gateway.table.record import Stored
from gateway.table.typed import ERROR
from gateway.worksheets.idempotency import Answer
from gateway.worksheets.writes import Results

LONG = 1000
"""Minimum number of characters of a text that is stored as a digest."""

_DIGEST = "sha256"
_ERROR = {"error": None}
"""JSON of an error cell in a stored answer. The client gets null, but the cell is not empty."""


def long_texts(rows: Iterable[Mapping[str, Stored]]) -> frozenset[str]:
    """Return the texts of a body that have at least `LONG` characters."""
    return frozenset(
        value
        for fields in rows
        for value in fields.values()
        if isinstance(value, str) and len(value) >= LONG
    )


def shortened(value: object, texts: frozenset[str]) -> object:
    """Return the value to store: an object for a text in `texts` (its digest) or an error cell.

    Other values are returned unchanged.
    """
    if value is ERROR:
        return _ERROR
    if isinstance(value, str) and len(value) >= LONG and value in texts:
        return {_DIGEST: _digest(value)}
    return value


class Restorer:
    """Replaces digests in a stored answer by the texts of a repeated request."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {_digest(text): text for text in texts}

    def __call__(self, value: Any) -> Any:
        """Return the original value, or None for the digest of an unknown text."""
        if value == _ERROR:
            return ERROR
        return self._texts.get(value.get(_DIGEST, "")) if isinstance(value, dict) else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    error: str
    message: str
    outcome: Outcome | None
    problems: tuple[Problem, ...] = ()
    row: int = 0
    expected: Mapping[str, Any] | None = None
    met: Mapping[str, Any] | None = None


class _Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    results: Results | None = None
    failure: _Failure | None = None


def encode_answer(answer: Answer, texts: frozenset[str] = frozenset()) -> str:
    """Encode results or an error as JSON, with digests for `texts`."""
    if not isinstance(answer, GatewayError):
        has_errors = any(ERROR in written.record.values() for written in answer)
        results = answer
        if texts or has_errors:
            results = _with_values(answer, lambda value: shortened(value, texts))
        return msgspec.json.encode(_Kept(results=results)).decode()
    moved = answer if isinstance(answer, RowsMoved) else None
    failure = _Failure(
        error=type(answer).__name__,
        message=answer.message,
        outcome=answer.outcome,
        problems=answer.problems,
        row=answer.row if isinstance(answer, HeaderChanged | RowsMoved) else 0,
        expected=None if moved is None else moved.expected,
        met=None if moved is None else moved.met,
    )
    return msgspec.json.encode(_Kept(failure=failure)).decode()


def decode_answer(text: str, restored: Callable[[object], object]) -> Answer:
    """Decode an answer, and replace each value of its rows by the result of `restored`.

    An error whose class no longer exists becomes UpstreamError.
    """
    kept = msgspec.json.decode(text, type=_Kept)
    if kept.failure is None:
        return _with_values(kept.results or (), restored)
    failure = kept.failure
    kinds = {kind.__name__: kind for kind in _kinds(GatewayError)}
    error = GatewayError.__new__(kinds.get(failure.error, UpstreamError))
    GatewayError.__init__(
        error, failure.message, problems=failure.problems, outcome=failure.outcome
    )
    if isinstance(error, HeaderChanged | RowsMoved):
        error.row = failure.row
    if isinstance(error, RowsMoved):
        error.expected, error.met = failure.expected, failure.met
    return error


def _with_values(results: Results, change: Callable[[object], object]) -> Results:
    return tuple(
        replace(written, record={name: change(value) for name, value in written.record.items()})
        for written in results
    )


def _kinds(root: type[GatewayError]) -> Iterator[type[GatewayError]]:
    for kind in root.__subclasses__():
        yield kind
        yield from _kinds(kind)
