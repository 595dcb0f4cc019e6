"""Answers of writes as JSON text, to be replayed."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec

from gateway.errors import GatewayError, Outcome, Problem, UpstreamError
from gateway.worksheets.ledger import Answer
from gateway.worksheets.long_texts import Restorer, shortened
from gateway.worksheets.writes import Results


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    error: str
    message: str
    outcome: Outcome | None
    problems: tuple[Problem, ...] = ()


class _Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    results: Results | None = None
    failure: _Failure | None = None


_AS_KEPT = Restorer(())


def encode_answer(answer: Answer, texts: frozenset[str] = frozenset()) -> str:
    """The answer as JSON, digests for the long texts among these; of an error what its class does
    not know."""
    if not isinstance(answer, GatewayError):
        results = _with_values(answer, lambda value: shortened(value, texts))
        return msgspec.json.encode(_Kept(results=results)).decode()
    failure = _Failure(
        error=type(answer).__name__,
        message=answer.message,
        outcome=answer.outcome,
        problems=answer.problems,
    )
    return msgspec.json.encode(_Kept(failure=failure)).decode()


def decode_answer(text: str, restored: Callable[[object], object] = _AS_KEPT) -> Answer:
    """The answer that was encoded; an error of a class that is no more becomes UpstreamError."""
    kept = msgspec.json.decode(text, type=_Kept)
    if kept.failure is None:
        return _with_values(kept.results or (), restored)
    failure = kept.failure
    kinds = {kind.__name__: kind for kind in _kinds(GatewayError)}
    error = GatewayError.__new__(kinds.get(failure.error, UpstreamError))
    GatewayError.__init__(
        error, failure.message, problems=failure.problems, outcome=failure.outcome
    )
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
