"""Events of the gateway, and the log lines and counters that result from them.

Rules:
- Other modules call the functions of this module. They do not write log lines or count themselves.
- Each request has one log line: JSON with escaped control characters, or on a terminal the text of
  `gateway.telemetry.text_lines` with the same members. A line never contains a key, a token or a
  cell's value. In addition, everything that looks like a secret is masked.
- After `configure_logging`, request lines are encoded directly, in about 2 microseconds. Other
  lines go through structlog, which takes 14 microseconds for a request line.
- Every label of a counter is one of the names in this module, never a key, a sheet or a path.
- Counters need no locks, because only the event loop's thread updates them. `/metrics` formats the
  counters (`gateway.telemetry.metrics`). So counting takes less than a microsecond.
"""

import asyncio
import json
import logging
import sys
import time
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any, Literal, TextIO, get_args

import msgspec
import structlog

from gateway import errors
from gateway.telemetry.colours import shows_colours
from gateway.telemetry.redaction import (
    cut_to_first_line,
    known_words,
    redacted,
    traceback_of,
    unquoted,
)
from gateway.telemetry.text_lines import text_line

RequestKind = Literal[
    "list",
    "read",
    "create",
    "update",
    "update_rows",
    "update_where",
    "delete",
    "delete_where",
    "upsert",
    "refresh",
    "export",
    "worksheets",
    "schema",
    "other",
]
CacheResult = Literal["", "hit", "miss", "stale"]
CallOutcome = Literal["ok", "refused", "quota", "failed", "timeout", "unknown", "cancelled"]
CallKind = Literal["read", "write"]
LineFormat = Literal["auto", "json", "text"]

REQUEST_KINDS: tuple[RequestKind, ...] = get_args(RequestKind)
_LOGGED_KINDS = frozenset(REQUEST_KINDS) - {"list", "read", "create", "update", "other"}
"""Kinds of requests whose log line has the member `operation`."""
CACHE_RESULTS: tuple[CacheResult, ...] = get_args(CacheResult)
CALL_OUTCOMES: tuple[CallOutcome, ...] = get_args(CallOutcome)
CALL_KINDS: tuple[CallKind, ...] = get_args(CallKind)
STATUS_CLASSES = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
"""Names of status classes by `status // 100`. A request without an answer has the status 0."""
BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
"""Inclusive upper bounds of the histogram buckets. One more bucket has no bound."""


@dataclass(slots=True)
class Durations:
    """Histogram of durations."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKET_SECONDS) + 1))
    """Number of durations in each bucket, without durations of lower buckets."""
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class RequestTally:
    statuses: list[int] = field(default_factory=lambda: [0] * len(STATUS_CLASSES))
    durations: Durations = field(default_factory=Durations)


UsePlace = tuple[str | None, str | None, str | None, int]
"""Key ID, spreadsheet, worksheet, and error code or 0. A failed request has only ID and code."""
UseCounts = list[int]
"""Total numbers in the order of `USE`."""
USE = ("requests", "reads", "writes", "rows", "bytes")
KEPT_REQUESTS = 10_000
"""Maximum number of requests whose log lines the console can show."""
QUOTA_SECONDS = 60.0
"""Length of the period in which Google counts calls for the quota."""
MOST_PLACES = 10_000
"""Maximum size of `Tallies.use`. Above this size, requests count by key and code only."""


@dataclass(slots=True)
class Tallies:
    """Counters and current gauges of this process."""

    use: dict[UsePlace, UseCounts] = field(default_factory=dict)
    """Use of keys that `gateway.storage.usage` has not yet stored in the database."""

    requests: dict[RequestKind, RequestTally] = field(
        default_factory=lambda: {kind: RequestTally() for kind in REQUEST_KINDS}
    )
    cache: dict[CacheResult, int] = field(default_factory=lambda: dict.fromkeys(CACHE_RESULTS, 0))
    calls: dict[tuple[CallKind, CallOutcome], int] = field(
        default_factory=lambda: dict.fromkeys(product(CALL_KINDS, CALL_OUTCOMES), 0)
    )
    call_durations: dict[CallKind, Durations] = field(
        default_factory=lambda: {kind: Durations() for kind in CALL_KINDS}
    )
    recent: "deque[RequestEvent]" = field(default_factory=lambda: deque(maxlen=0))
    """The last `KEPT_REQUESTS` requests, oldest first. Empty if the console is disabled."""
    account_calls: Counter[tuple[str, CallKind]] = field(default_factory=Counter)
    call_seconds: dict[tuple[str, CallKind], deque[float]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """Times on the monotonic clock at which an account's calls of the last minute ended."""
    refused_accounts: dict[str, bool] = field(default_factory=dict)
    """Flag by account name: True while Google refuses the account."""
    budget_waits: Durations = field(default_factory=Durations)
    breaker_openings: int = 0
    is_breaker_open: bool = False
    snapshots: int = 0
    snapshot_bytes: int = 0
    is_store_available: bool | None = None
    """True while Redis is available, or None if Redis is not configured."""
    processes: int = 1
    discarded_forms: int = 0

    def calls_of_minute(self, account: str, kind: CallKind) -> int:
        """Return the number of an account's calls that ended in the last minute."""
        first = time.monotonic() - QUOTA_SECONDS
        return sum(each > first for each in self.call_seconds.get((account, kind), ()))

    def note_breaker(self, *, is_open: bool) -> None:
        self.breaker_openings += is_open and not self.is_breaker_open
        self.is_breaker_open = is_open


_LONGEST_TEXT = 200
_MOST_CAUSES = 5
_PERCENT, _EQUALS, _DELETE = b"%=\x7f"
"""Bytes as numbers, because `in` with a `bytes` object takes 1,800 instructions more."""
_encoder = msgspec.json.Encoder()

log: structlog.stdlib.BoundLogger = structlog.get_logger("gateway")
tallies = Tallies()
"""Counters of this process."""

_CALL_OUTCOMES: Sequence[tuple[type[BaseException], CallOutcome]] = (
    (errors.QuotaSpent, "quota"),
    (errors.WriteOutcomeUnknown, "unknown"),
    (errors.UpstreamTimeout, "timeout"),
    (errors.UpstreamRefusal, "refused"),
    (errors.UpstreamError, "failed"),
    (errors.GatewayError, "refused"),
    (asyncio.CancelledError, "cancelled"),
)


class RequestEvent(msgspec.Struct, tag_field="event", tag="request", gc=False):
    """Data of one request, which each layer of the application completes.

    At the end of the request, this object is encoded as the log line, with the members in order.
    """

    id: str
    method: str
    path: str
    status: int = 0
    code: int | None = None
    key: str | None = None
    spreadsheet: str | None = None
    worksheet: str | None = None
    cache: CacheResult = ""
    reading: str | None = None
    reads: int = 0
    writes: int = 0
    google_ms: float = 0.0
    ms: float = 0.0
    timestamp: datetime | None = None
    level: str = "info"
    operation: RequestKind | msgspec.UnsetType = "other"
    """Kind of the request. Absent from the log line if method and path show the kind."""
    rows: int | msgspec.UnsetType = msgspec.UNSET
    """Number of rows of an export. Absent from other lines."""
    bytes: int | msgspec.UnsetType = msgspec.UNSET
    """Number of bytes sent for an export, after compression."""
    admin: str | msgspec.UnsetType = msgspec.UNSET
    """ID of the admin key of a console request. Absent from other lines."""


_current: ContextVar[RequestEvent | None] = ContextVar("request_event", default=None)

current_event = _current.get
"""Return the `RequestEvent` of the current request, or None without a request."""
begin_event = _current.set
end_event = _current.reset


def note_reading(name: str, *, worksheet: str | None = None) -> None:
    """Record that the gateway accepted a request by the lenient decoding `name`.

    `worksheet` is the title of the worksheet that the decoding found, if any.
    """
    event = current_event()
    if event is not None and event.timestamp is None:
        event.worksheet = worksheet or event.worksheet
        event.reading = f"{event.reading},{name}" if event.reading else name


def upstream_called(
    account: str, *, is_write: bool, seconds: float, error: BaseException | None = None
) -> None:
    """Count a finished call to Google, in total and for the current request."""
    outcome: CallOutcome = "ok"
    if error is not None:  # the first matching line of the table
        outcome = next(
            (found for kind, found in _CALL_OUTCOMES if isinstance(error, kind)), "failed"
        )
    kind: CallKind = "write" if is_write else "read"
    tallies.account_calls[account, kind] += 1
    now, ended = time.monotonic(), tallies.call_seconds[account, kind]
    ended.append(now)
    while ended[0] <= now - QUOTA_SECONDS:
        ended.popleft()
    tallies.calls[kind, outcome] += 1
    tallies.call_durations[kind].add(seconds)
    event = current_event()
    if event is None or event.timestamp is not None:  # its log line might not be written yet
        return
    event.google_ms += seconds * 1000
    event.writes += is_write
    event.reads += not is_write


budget_waited = tallies.budget_waits.add
"""Count the seconds that a call to Google waited for quota, even if the call was not sent."""


def account_rested(name: str, is_refused: bool) -> None:
    """Record that Google began or stopped refusing an account."""
    tallies.refused_accounts[name] = is_refused
    log.warning("account", account=name, is_refused=is_refused)


def breaker_changed(is_open: bool) -> None:
    """Record that the circuit breaker opened or closed."""
    tallies.note_breaker(is_open=is_open)
    log.warning("breaker", is_open=is_open)


def snapshots_kept(count: int, byte_count: int) -> None:
    """Set the number of cached worksheets and their approximate memory."""
    tallies.snapshots, tallies.snapshot_bytes = count, byte_count


def request_done(event: RequestEvent, seconds: float, rows: int = 0, size: int = 0) -> None:
    """Count a request that took `seconds`, and write its log line.

    `rows` is the number of rows that were read or written, and `size` the bytes of the answer's
    body. For an export, `event` contains both numbers.
    """
    kind = event.operation or "other"
    tally = tallies.requests[kind]
    tally.statuses[event.status // 100] += 1
    tally.durations.add(seconds)
    tallies.cache[event.cache] += 1
    if kind not in _LOGGED_KINDS:
        event.operation = msgspec.UNSET
    worksheet = event.worksheet
    # To set a member takes as long as ten conditions.
    if len(event.path) > _LONGEST_TEXT:
        event.path = event.path[:_LONGEST_TEXT]
    if not worksheet:
        event.worksheet = None
    elif len(worksheet) > _LONGEST_TEXT:
        event.worksheet = worksheet[:_LONGEST_TEXT]
    if event.google_ms:  # rounded to a tenth; `round` takes three times as long
        event.google_ms = int(event.google_ms * 10 + 0.5) / 10
    event.ms = int(seconds * 10_000 + 0.5) / 10
    event.timestamp = datetime.now(UTC)
    if event.admin is not msgspec.UNSET:  # requests of the console do not count as use of a key
        _write_line(event)
        return
    tallies.recent.append(event)
    code, use = event.code, tallies.use
    elsewhere: UsePlace = (event.key, None, None, code or 0)
    # A refresh succeeds for any name, without a look at the worksheet.
    is_known = code is None and kind != "refresh"
    place = (event.key, event.spreadsheet, worksheet, 0) if is_known else elsewhere
    counts = use.get(place)
    if counts is None:
        if len(use) >= MOST_PLACES:
            place = elsewhere
        counts = use.setdefault(place, [0] * len(USE))
    counts[0] += 1
    counts[3] += rows
    counts[4] += size
    if event.reads or event.writes:
        counts[1] += event.reads
        counts[2] += event.writes
    if kind == "export" and event.rows is not msgspec.UNSET and event.bytes is not msgspec.UNSET:
        counts[3] += event.rows
        counts[4] += event.bytes
    _write_line(event)


def request_failed(event: RequestEvent | None, error: BaseException) -> None:
    """Log an internal error with its traceback, and with the ID of the request."""
    log.error("fault", id=event and event.id, exc_info=error)


def form_discarded(key_id: str) -> None:
    """Count and log a form that a program sent, because its hidden field `_gotcha` is filled."""
    tallies.discarded_forms += 1
    event = current_event()
    log.info("form-discarded", id=event and event.id, key=key_id)


def header_trouble(spreadsheet: str, worksheet: str, duplicates: list[str]) -> None:
    """Log duplicate field names. Of columns with the same name, only the first is served."""
    log.warning(
        "duplicate-headers",
        spreadsheet=spreadsheet,
        worksheet=worksheet[:_LONGEST_TEXT],
        headers=[name[:_LONGEST_TEXT] for name in duplicates[:10]],
    )


def google_refused(google_message: str) -> None:
    """Log why Google refused a request. The client does not get this text."""
    event = current_event()
    log.warning("google-refused", id=event and event.id, text=known_words(google_message))


def upstream_failed(error: BaseException) -> None:
    """Log the causes of a failed call to Google. The client does not get these details."""
    event = current_event()
    log.warning("upstream-failed", id=event and event.id, causes=causes(error))


def causes(error: BaseException) -> list[str]:
    """Return types and texts of an error's causes, without quotations that might contain cells."""
    texts: list[str] = []
    cause = error.__cause__
    while cause is not None and cause is not error and len(texts) < _MOST_CAUSES:
        texts.append(f"{type(cause).__name__}: {unquoted(str(cause))[:_LONGEST_TEXT]}")
        cause = cause.__cause__
    return texts


def look_failed(error: BaseException) -> None:
    """Log a failed check of whether Google applied an earlier write."""
    event = current_event()
    log.warning(
        "look-failed", id=event and event.id, error=type(error).__name__, causes=causes(error)
    )


def damaged_row(table: str, row: str, problem: str) -> None:
    """Log a row of the database that the gateway cannot read."""
    log.error("damaged-row", table=table, row=row[:_LONGEST_TEXT], problem=problem)


def last_use_failed(key_id: str, error: BaseException) -> None:
    """Log that the database could not store the time at which a key was last used."""
    log.warning("last-use-failed", key_id=key_id, error=type(error).__name__)


def usage_failed(error: BaseException) -> None:
    """Log that the database could not store the counted use of keys."""
    log.warning("usage-failed", error=type(error).__name__)


def used_ids_accepted() -> None:
    """Log that Google accepts a developer metadata ID twice.

    The gateway then needs three minutes to find out an unknown outcome of a write.
    """
    log.warning("used-metadata-ids")


def spent_quota_failed(error: Exception) -> None:
    """Log that the gateway cannot store the used part of Google's quota."""
    log.warning("quota-file-failed", error=type(error).__name__)


def serving(
    *,
    version: str,
    configuration: str,
    listeners: Sequence[str],
    key_store: str,
    key_count: int,
    accounts: Sequence[str],
) -> None:
    """Log that the gateway serves requests. The level is warning if no valid key exists."""
    members: dict[str, object] = {
        "version": version,
        "configuration": configuration,
        "listeners": list(listeners),
        "key_store": key_store,
        "keys": key_count,
        "accounts": list(accounts),
    }
    if key_count:
        log.info("serving", **members)
    else:
        log.warning("serving", **members)


def stopping(signal_name: str | None, requests: int) -> None:
    """Log that the gateway begins to stop, with the signal and the number of running requests."""
    log.info("stopping", signal=signal_name, requests=requests)


def stopped(drained: int) -> None:
    """Log the end of the stop. `drained` is the number of requests answered during the stop."""
    log.info("stopped", drained=drained)


def credentials_missing(account: str, endpoint: str) -> None:
    """Log that an account for an emulator has no credentials, so that it cannot serve rows."""
    log.warning("no-credentials", account=account, endpoint=endpoint)


def store_lock_lost() -> None:
    """Log that another gateway locked the key store during an outage. This process then ends."""
    log.error("key-store-taken")


def any_spreadsheet_keys(key_ids: Sequence[str]) -> None:
    """Log keys that can use every spreadsheet that is shared with the service account."""
    log.warning("any-spreadsheet-keys", keys=list(key_ids[:50]), count=len(key_ids))


def store_opened() -> None:
    """Record that Redis is configured and not available yet."""
    tallies.is_store_available = False


def store_changed(error: str | None) -> None:
    """Record that Redis became unavailable, with the reason, or available if `error` is None."""
    tallies.is_store_available = error is None
    log.warning("redis", is_available=error is None, error=error)


def processes_counted(count: int) -> None:
    """Set the number of processes that share the quota."""
    tallies.processes = count


def key_signals_changed(error: str | None) -> None:
    """Log that notifications of changed keys failed, or work again if `error` is None."""
    log.warning("key-signals", is_available=error is None, error=error)


def worker_ended(number: int, status: int, pause_seconds: float) -> None:
    """Log that a worker process ended unexpectedly. Its successor starts after the pause."""
    log.error("worker-ended", worker=number, status=status, pause_seconds=pause_seconds)


class _LineLogger(structlog.WriteLogger):
    """Writes log lines. Ignores errors of the stream, so that a full disk stops no request."""

    def msg(self, message: str) -> None:
        with suppress(OSError):
            super().msg(message)

    info = warning = error = msg


def line_writer(
    stream: TextIO, encode: Callable[[Sequence[RequestEvent]], bytes]
) -> Callable[[RequestEvent], None]:
    """Return a function that writes log lines of requests.

    One system call writes all lines of an iteration of the event loop. `encode` returns the lines
    of several events. Ignores errors of the stream, as `_LineLogger` does.
    """
    buffer: Any = getattr(stream, "buffer", None)
    waiting: list[RequestEvent] = []

    def write_all() -> None:
        events = waiting[:]
        waiting.clear()
        text = encode(events)
        with suppress(OSError):
            if buffer is None:
                stream.write(text.decode())
                stream.flush()
            else:
                buffer.write(text)
                buffer.flush()

    def write_line(event: RequestEvent) -> None:
        waiting.append(event)
        if len(waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(write_all)
            except RuntimeError:  # no event loop is running
                write_all()

    return write_line


def encoded_lines(events: Sequence[RequestEvent]) -> bytes:
    """Return log lines as JSON in ASCII, with escaped control characters and masked secrets."""
    try:
        text = _encoder.encode_lines(events)
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        text = b""
    # Our keys begin with "sg". Other secrets in a path or a worksheet's name contain "." or "://".
    is_marked = _PERCENT in text or _EQUALS in text or _DELETE in text or text.find(b"sg") >= 0
    for each in events:
        is_marked = is_marked or "." in each.path or ":" in each.path
    if text and text.isascii() and not is_marked:
        return text  # the usual case: nothing looks like a secret
    if len(events) > 1:  # one marked line does not change the other lines
        return b"".join([encoded_lines([each]) for each in events])
    if not text or not text.isascii() or _DELETE in text:
        members = msgspec.to_builtins(events[0])
        text = json.dumps(members, ensure_ascii=True).encode("ascii") + b"\n"
    return redacted(text.decode("ascii")).encode("ascii")


def configure_logging(stream: TextIO = sys.stderr, form: LineFormat = "auto") -> None:
    """Write log lines of the gateway and its libraries to `stream`.

    The `form` "auto" writes text to a terminal, and JSON otherwise. A line is flushed before the
    logging call returns. Request lines are flushed at the end of the loop's iteration.
    """
    global _write_line
    is_text = form == "text" or (form == "auto" and stream.isatty())
    line_of = partial(text_line, is_coloured=is_text and shows_colours(stream))
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: list[Any] = [structlog.processors.ExceptionRenderer(traceback_of)]
    if is_text:
        render += [lambda _, __, members: line_of(members)]
    else:
        json_line = structlog.processors.JSONRenderer(ensure_ascii=True)
        render += [json_line, lambda _, __, line: redacted(line)]

    def text_lines(events: Sequence[RequestEvent]) -> bytes:
        return "".join(f"{line_of(msgspec.to_builtins(each))}\n" for each in events).encode()

    _write_line = line_writer(stream, text_lines if is_text else encoded_lines)
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: _LineLogger(stream),
    )
    handler = logging.StreamHandler(stream)
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[meta, *render])
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("asyncio").addFilter(cut_to_first_line)


def reset_logging() -> None:
    """Undo `configure_logging`. Request lines then go through structlog."""
    global _write_line
    _write_line = _log_line
    structlog.reset_defaults()


def _log_line(line: RequestEvent) -> None:
    members = msgspec.to_builtins(line)
    log.info(**{name: members[name] for name in members if name not in ("level", "timestamp")})


_write_line: Callable[[RequestEvent], None] = _log_line
