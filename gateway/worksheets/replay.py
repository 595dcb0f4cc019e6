"""Stored answers of writes as JSON text, with digests in place of long texts.

Rules: only a text of the write's body becomes a digest, and a record is read only for a write with
the same body. A text that Google changed is stored in full.
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
"""Minimum number of characters of a long text."""

_DIGEST = "sha256"
_ERROR = {"error": None}
"""The typed value of an error cell, which is null but not an empty cell."""


def long_texts(rows: Iterable[Mapping[str, Stored]]) -> frozenset[str]:
    """The long texts among the values of a body."""
    return frozenset(
        value
        for fields in rows
        for value in fields.values()
        if isinstance(value, str) and len(value) >= LONG
    )


def shortened(value: object, texts: frozenset[str]) -> object:
    """Stored form of a value: an object with a digest for one of the texts, or for an error."""
    if value is ERROR:
        return _ERROR
    if isinstance(value, str) and len(value) >= LONG and value in texts:
        return {_DIGEST: _digest(value)}
    return value


class Restorer:
    """Restores texts from their digests."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {_digest(text): text for text in texts}

    def __call__(self, value: Any) -> Any:
        """Restore a value; None for the digest of an unknown text."""
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


_AS_KEPT = Restorer(())


def encode_answer(answer: Answer, texts: frozenset[str] = frozenset()) -> str:
    """Encode an answer as JSON, with digests for `texts`; for an error its own attributes."""
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


def decode_answer(text: str, restored: Callable[[object], object] = _AS_KEPT) -> Answer:
    """Decode an answer; an error of a removed class becomes UpstreamError."""
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
