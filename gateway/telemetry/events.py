"""Events; this module decides which become a log line or a count.

Rules:
- Other modules emit events; they neither log nor count.
- One line per request, JSON, control characters escaped by the encoding; on a terminal a line of
  `gateway.telemetry.text_lines` with the same members. A line never contains a key, a token or a
  cell's value; in addition, everything that looks like a secret is masked.
- Once logging is configured, request lines are encoded directly in about 2 microseconds; all others
  go through structlog, which takes 14 for the same line.
- Every label of a count is one of the names here, never a key, a sheet or a path.
- Counts need no locks, as the event loop's thread alone updates them, and no formatting before
  `/metrics` is read (`gateway.telemetry.metrics`). So counting takes no microsecond.
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

from gateway.errors import (
    GatewayError,
    QuotaSpent,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    WriteOutcomeUnknown,
)
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
"""Kinds with a name in the log."""
CACHE_RESULTS: tuple[CacheResult, ...] = get_args(CacheResult)
CALL_OUTCOMES: tuple[CallOutcome, ...] = get_args(CallOutcome)
CALL_KINDS: tuple[CallKind, ...] = get_args(CallKind)
STATUS_CLASSES = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
"""Names of status classes by the hundreds of the status, 0 for a request without an answer."""
BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds of the buckets, inclusive; the last bucket has none."""


@dataclass(slots=True)
class Durations:
    """A histogram of durations."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKET_SECONDS) + 1))
    """Number of durations in each bucket, not cumulative."""
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class RequestTally:
    statuses: list[int] = field(default_factory=lambda: [0] * len(STATUS_CLASSES))
    durations: Durations = field(default_factory=Durations)


UsePlace = tuple[str | None, str | None, str | None, int]
"""Key, spreadsheet, worksheet and code (0 for none); a failed request has only key and code."""
UseCounts = list[int]
"""Sums in the order of `USE`."""
USE = ("requests", "reads", "writes", "rows", "bytes")
KEPT_REQUESTS = 10_000
"""Maximum requests whose log lines the console shows."""
QUOTA_SECONDS = 60.0
"""The time over which Google counts calls."""
MOST_PLACES = 10_000
"""Maximum number of places counted before they are stored; others count without a worksheet."""


@dataclass(slots=True)
class Tallies:
    """All counters of the process, and the current gauges."""

    use: dict[UsePlace, UseCounts] = field(default_factory=dict)
    """Use of keys that is not stored yet (`gateway.storage.usage`)."""

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
    """The latest requests, oldest first; with a console `KEPT_REQUESTS`, else none."""
    account_calls: Counter[tuple[str, CallKind]] = field(default_factory=Counter)
    call_seconds: dict[tuple[str, CallKind], deque[float]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """Ends of each account's calls in the last `QUOTA_SECONDS`, by the monotonic clock."""
    refused_accounts: dict[str, bool] = field(default_factory=dict)
    """True for an account's name if Google refuses the account."""
    budget_waits: Durations = field(default_factory=Durations)
    breaker_openings: int = 0
    is_breaker_open: bool = False
    snapshots: int = 0
    snapshot_bytes: int = 0
    is_store_available: bool | None = None
    """None without Redis."""
    processes: int = 1
    discarded_forms: int = 0

    def calls_of_minute(self, account: str, kind: CallKind) -> int:
        """The calls of an account that ended within `QUOTA_SECONDS`."""
        first = time.monotonic() - QUOTA_SECONDS
        return sum(each > first for each in self.call_seconds.get((account, kind), ()))

    def note_breaker(self, *, is_open: bool) -> None:
        self.breaker_openings += is_open and not self.is_breaker_open
        self.is_breaker_open = is_open


_LONGEST_TEXT = 200
_MOST_CAUSES = 5
_PERCENT, _EQUALS, _DELETE = b"%=\x7f"
"""Bytes as numbers: a search with `in` for a `bytes` object takes 1,800 instructions more."""
_encoder = msgspec.json.Encoder()

log: structlog.stdlib.BoundLogger = structlog.get_logger("gateway")
tallies = Tallies()
"""Counters of this process."""

_CALL_OUTCOMES: Sequence[tuple[type[BaseException], CallOutcome]] = (
    (QuotaSpent, "quota"),
    (WriteOutcomeUnknown, "unknown"),
    (UpstreamTimeout, "timeout"),
    (UpstreamRefusal, "refused"),
    (UpstreamError, "failed"),
    (GatewayError, "refused"),
    (asyncio.CancelledError, "cancelled"),
)


class RequestEvent(msgspec.Struct, tag_field="event", tag="request", gc=False):
    """A request from its first byte to its answer; each layer fills in its part.

    Once the request is done, it is the log line: these are its members, in order.
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
    """Operation; logged only if method and path do not identify it."""
    rows: int | msgspec.UnsetType = msgspec.UNSET
    """Rows of an export, in the line of exports only."""
    bytes: int | msgspec.UnsetType = msgspec.UNSET
    """Sent bytes of an export, as encoded."""
    admin: str | msgspec.UnsetType = msgspec.UNSET
    """ID of the admin key, in lines of the console only."""


_current: ContextVar[RequestEvent | None] = ContextVar("request_event", default=None)

current_event = _current.get
"""Event of the request that this context, or its copy, belongs to; None outside of requests."""
begin_event = _current.set
end_event = _current.reset


def note_reading(name: str, *, worksheet: str | None = None) -> None:
    """Record lenient decoding of the request; `worksheet` is the title that its path meant."""
    event = current_event()
    if event is not None and event.timestamp is None:
        event.worksheet = worksheet or event.worksheet
        event.reading = f"{event.reading},{name}" if event.reading else name


def upstream_called(
    account: str, *, is_write: bool, seconds: float, error: BaseException | None = None
) -> None:
    """Count a finished call to Google, also for its request."""
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
    if event is None or event.timestamp is not None:  # its line may wait to be written
        return
    event.google_ms += seconds * 1000
    event.writes += is_write
    event.reads += not is_write


budget_waited = tallies.budget_waits.add
"""Counts the seconds that a call waited for the quota, whether it was sent or not."""


def account_rested(name: str, is_refused: bool) -> None:
    """Record that Google began to refuse an account, or ended it."""
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
    """Count the request, which took this long, and write its line.

    `rows` were answered or written, in a body of `size` bytes; an export has its own numbers.
    """
    kind = event.operation or "other"
    tally = tallies.requests[kind]
    tally.statuses[event.status // 100] += 1
    tally.durations.add(seconds)
    tallies.cache[event.cache] += 1
    if kind not in _LOGGED_KINDS:
        event.operation = msgspec.UNSET
    worksheet = event.worksheet
    # Setting a member takes as long as ten conditions.
    if len(event.path) > _LONGEST_TEXT:
        event.path = event.path[:_LONGEST_TEXT]
    if not worksheet:
        event.worksheet = None
    elif len(worksheet) > _LONGEST_TEXT:
        event.worksheet = worksheet[:_LONGEST_TEXT]
    if event.google_ms:  # to a tenth; `round` takes three times as long
        event.google_ms = int(event.google_ms * 10 + 0.5) / 10
    event.ms = int(seconds * 10_000 + 0.5) / 10
    event.timestamp = datetime.now(UTC)
    if event.admin is not msgspec.UNSET:  # the console does not use a key
        _write_line(event)
        return
    tallies.recent.append(event)
    code, use = event.code, tallies.use
    elsewhere: UsePlace = (event.key, None, None, code or 0)
    place = (event.key, event.spreadsheet, worksheet, 0) if code is None else elsewhere
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
    """Log an internal error with its traceback and the request's ID."""
    log.error("fault", id=event and event.id, exc_info=error)


def form_discarded(key_id: str) -> None:
    """Count and log a form that a program filled in, as its `_gotcha` shows."""
    tallies.discarded_forms += 1
    event = current_event()
    log.info("form-discarded", id=event and event.id, key=key_id)


def header_trouble(spreadsheet: str, worksheet: str, duplicates: list[str]) -> None:
    """Log duplicate headers of a worksheet; only the first column of a name is served."""
    log.warning(
        "duplicate-headers",
        spreadsheet=spreadsheet,
        worksheet=worksheet[:_LONGEST_TEXT],
        headers=[name[:_LONGEST_TEXT] for name in duplicates[:10]],
    )


def google_refused(google_message: str) -> None:
    """Log Google's known words about a refused request, which the client does not receive."""
    event = current_event()
    log.warning("google-refused", id=event and event.id, text=known_words(google_message))


def upstream_failed(error: BaseException) -> None:
    """Log the causes of an error whose details the client does not receive."""
    event = current_event()
    log.warning("upstream-failed", id=event and event.id, causes=causes(error))


def causes(error: BaseException) -> list[str]:
    """Texts of an error and its causes, without quotations."""
    texts: list[str] = []
    cause = error.__cause__
    while cause is not None and cause is not error and len(texts) < _MOST_CAUSES:
        texts.append(f"{type(cause).__name__}: {unquoted(str(cause))[:_LONGEST_TEXT]}")
        cause = cause.__cause__
    return texts


def look_failed(error: BaseException) -> None:
    """Log a failed reconciliation of an open write."""
    event = current_event()
    log.warning(
        "look-failed", id=event and event.id, error=type(error).__name__, causes=causes(error)
    )


def damaged_row(table: str, row: str, problem: str) -> None:
    """Log a row of the database that cannot be read, and so grants nothing."""
    log.error("damaged-row", table=table, row=row[:_LONGEST_TEXT], problem=problem)


def last_use_failed(key_id: str, error: BaseException) -> None:
    """Log that the time of a key's use could not be stored."""
    log.warning("last-use-failed", key_id=key_id, error=type(error).__name__)


def usage_failed(error: BaseException) -> None:
    """Log that the use of keys could not be stored."""
    log.warning("usage-failed", error=type(error).__name__)


def used_ids_accepted() -> None:
    """Log that Google accepts a used metadata id, so that open writes settle in three minutes."""
    log.warning("used-metadata-ids")


def spent_quota_failed(error: Exception) -> None:
    """Log that the spent quota cannot be stored."""
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
    """Log the start with version and configuration; a warning if there is no valid key."""
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
    """Log that the stop begins: its signal, if any, and the number of running requests.

    The stop goes on if the log cannot be written, for example on a full disk.
    """
    with suppress(OSError):
        log.info("stopping", signal=signal_name, requests=requests)


def stopped(drained: int) -> None:
    """Log the end of the stop, and the number of requests answered since its start."""
    with suppress(OSError):
        log.info("stopped", drained=drained)


def credentials_missing(account: str, endpoint: str) -> None:
    """Log that an account has no credentials for an emulator, so that no row can be served."""
    log.warning("no-credentials", account=account, endpoint=endpoint)


def store_lock_lost() -> None:
    """Log that another gateway took the key store during an outage, so that this one ends."""
    log.error("key-store-taken")


def any_spreadsheet_keys(key_ids: Sequence[str]) -> None:
    """Log keys that may use every spreadsheet shared with the service account."""
    log.warning("any-spreadsheet-keys", keys=list(key_ids[:50]), count=len(key_ids))


def store_opened() -> None:
    """Record that a Redis is configured, and not yet available."""
    tallies.is_store_available = False


def store_changed(error: str | None) -> None:
    """Record that Redis became unavailable, for this reason, or available (None)."""
    tallies.is_store_available = error is None
    log.warning("redis", is_available=error is None, error=error)


def processes_counted(count: int) -> None:
    """Set the number of processes that share the quota."""
    tallies.processes = count


def key_signals_changed(error: str | None) -> None:
    """Log that signals of changed keys stopped or resumed; `error` is its type, None if resumed."""
    log.warning("key-signals", is_available=error is None, error=error)


def worker_ended(number: int, status: int, pause_seconds: float) -> None:
    """Log that a worker process ended by itself; another one replaces it after the pause."""
    log.error("worker-ended", worker=number, status=status, pause_seconds=pause_seconds)


def line_writer(
    stream: TextIO, encode: Callable[[Sequence[RequestEvent]], bytes]
) -> Callable[[RequestEvent], None]:
    """Make a writer that combines the lines of one turn of the event loop in one system call.

    `encode` returns the lines of events.
    """
    buffer: Any = getattr(stream, "buffer", None)
    waiting: list[RequestEvent] = []

    def write_all() -> None:
        events = waiting[:]
        waiting.clear()
        text = encode(events)
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
    """JSON lines, ASCII without control characters, secrets masked."""
    try:
        text = _encoder.encode_lines(events)
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        text = b""
    # "sg" begins our keys; other secrets of a path, and so of a worksheet, have "." or "://".
    is_marked = _PERCENT in text or _EQUALS in text or _DELETE in text or text.find(b"sg") >= 0
    for each in events:
        is_marked = is_marked or "." in each.path or ":" in each.path
    if text and text.isascii() and not is_marked:
        return text  # the usual case: paths and names contain none of the marks
    if len(events) > 1:  # the other lines are as they would be alone
        return b"".join([encoded_lines([each]) for each in events])
    if not text or not text.isascii() or _DELETE in text:
        members = msgspec.to_builtins(events[0])
        text = json.dumps(members, ensure_ascii=True).encode("ascii") + b"\n"
    return redacted(text.decode("ascii")).encode("ascii")


def configure_logging(stream: TextIO = sys.stderr, form: LineFormat = "auto") -> None:
    """Write lines to `stream`, for this program and its libraries.

    Lines are JSON or text; `auto` writes text on a terminal only. Each line is passed to the system
    before the logging call returns.
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
        logger_factory=structlog.WriteLoggerFactory(stream),
    )
    handler = logging.StreamHandler(stream)
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[meta, *render])
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("asyncio").addFilter(cut_to_first_line)


def reset_logging() -> None:
    """Undo `configure_logging`: requests go through structlog too."""
    global _write_line
    _write_line = _log_line
    structlog.reset_defaults()


def _log_line(line: RequestEvent) -> None:
    members = msgspec.to_builtins(line)
    log.info(**{name: members[name] for name in members if name not in ("level", "timestamp")})


_write_line: Callable[[RequestEvent], None] = _log_line
