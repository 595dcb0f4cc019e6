"""What happens, as events; this module decides which of it becomes a log line.

Rules: one line per request, JSON, control characters escaped by the encoding. Never a key, a
token or a cell's value. Other modules describe what happened and do not log.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import Any, TextIO

import structlog

_LONGEST_TEXT = 200

log: structlog.stdlib.BoundLogger = structlog.get_logger("gateway")

_current: ContextVar["RequestEvent | None"] = ContextVar("request_event", default=None)


@dataclass(kw_only=True)
class RequestEvent:
    """One request from its first byte to its answer, filled in as it passes the layers."""

    request_id: str
    method: str
    path: str
    key_id: str | None = None
    spreadsheet: str | None = None
    worksheet: str | None = None
    status: int = 0
    error_code: int | None = None
    upstream_reads: int = 0
    upstream_writes: int = 0
    upstream_seconds: float = 0.0
    seconds: float = 0.0


@contextmanager
def request_event(event: RequestEvent) -> Iterator[None]:
    """Make `event` the one that `current_event` gives, in this context and those copied of it."""
    token = _current.set(event)
    try:
        yield
    finally:
        _current.reset(token)


def current_event() -> RequestEvent | None:
    return _current.get()


def upstream_called(*, is_write: bool, seconds: float) -> None:
    """Count a call to Google for the request on whose behalf it was made."""
    event = _current.get()
    if event is None:
        return
    event.upstream_seconds += seconds
    if is_write:
        event.upstream_writes += 1
    else:
        event.upstream_reads += 1


def request_done(event: RequestEvent) -> None:
    """Write the request's one line."""
    log.info(
        "request",
        id=event.request_id,
        method=event.method,
        path=event.path[:_LONGEST_TEXT],
        status=event.status,
        code=event.error_code,
        key=event.key_id,
        spreadsheet=event.spreadsheet,
        worksheet=event.worksheet and event.worksheet[:_LONGEST_TEXT],
        reads=event.upstream_reads,
        writes=event.upstream_writes,
        google_ms=round(event.upstream_seconds * 1000, 1),
        ms=round(event.seconds * 1000, 1),
    )


def request_failed(event: RequestEvent | None, error: BaseException) -> None:
    """Log a fault of ours with its traceback, under the request's id."""
    log.error("fault", id=event and event.request_id, exc_info=error)


def header_trouble(spreadsheet: str, worksheet: str, duplicates: list[str]) -> None:
    """A worksheet has the same header more than once; later columns are not served."""
    log.warning(
        "duplicate-headers",
        spreadsheet=spreadsheet,
        worksheet=worksheet[:_LONGEST_TEXT],
        headers=[name[:_LONGEST_TEXT] for name in duplicates[:10]],
    )


def google_refused(google_message: str) -> None:
    """Keep Google's own words about a refused request; its client does not get them."""
    event = _current.get()
    log.warning("google-refused", id=event and event.request_id, text=_unquoted(google_message))


def upstream_failed(error: BaseException) -> None:
    """Keep what lies behind an error that the client is told little of."""
    event = _current.get()
    log.warning("upstream-failed", id=event and event.request_id, causes=causes(error))


def causes(error: BaseException) -> list[str]:
    """What an error was raised from, in Google's or the library's own words; no cells."""
    return [f"{type(each).__name__}: {_unquoted(str(each))}" for each in islice(_chain(error), 5)]


def header_drift(spreadsheet: str, worksheet: str, rows: Sequence[int]) -> None:
    """The header changed around writes: these rows may have values in other columns than meant."""
    log.warning(
        "header-drift",
        spreadsheet=spreadsheet,
        worksheet=worksheet[:_LONGEST_TEXT],
        rows=list(rows[:50]),
        count=len(rows),
    )


def look_failed(error: BaseException) -> None:
    """A look at what became of an open write failed."""
    event = _current.get()
    log.warning(
        "look-failed",
        id=event and event.request_id,
        error=type(error).__name__,
        causes=causes(error),
    )


def misplaced_write(expected: str, found: str) -> None:
    """An append went somewhere else than asked."""
    event = _current.get()
    log.error(
        "misplaced-write", id=event and event.request_id, expected=expected[:80], found=found[:80]
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__
    while cause is not None and cause is not error:  # nothing keeps one from being its own cause
        yield cause
        cause = cause.__cause__


def _unquoted(text: str) -> str:
    """Google's words up to what they quote, which may be a cell."""
    return text.partition('"')[0][:_LONGEST_TEXT]


def configure_logging(stream: TextIO = sys.stderr) -> None:
    """JSON lines on `stream`, from this program and from the libraries it runs on."""
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render = structlog.processors.JSONRenderer(ensure_ascii=True)
    traceback = structlog.processors.ExceptionRenderer(
        structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    )
    structlog.configure(
        processors=[*shared, traceback, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(stream),
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                traceback,
                render,
            ],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
