"""Events, and the JSON log lines that events write."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from gateway.telemetry.events import (
    RequestEvent,
    RequestKind,
    configure_logging,
    current_event,
    encoded_lines,
    google_refused,
    header_trouble,
    line_writer,
    look_failed,
    note_reading,
    request_done,
    request_failed,
    reset_logging,
    upstream_called,
    upstream_failed,
)
from tests.request_events import during

Lines = Callable[[], list[dict[str, Any]]]
NASTY = 'a\nb\r\t\x00\x1b[31m\x7f\u0085\u2028\ud800"\\é'


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """The stream of configured logging, which is reset after the test."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    text = io.StringIO()
    configure_logging(text)
    yield text
    reset_logging()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    """Return a function that parses the lines logged so far as JSON objects in ASCII."""

    def read() -> list[dict[str, Any]]:
        text = stream.getvalue()
        if not text.isascii() or not text.endswith("\n"):
            raise ValueError(f"not whole lines of ASCII: {text!r}")
        return [json.loads(line) for line in text.removesuffix("\n").split("\n")]

    return read


def _event(**changes: Any) -> RequestEvent:
    return RequestEvent(**{"id": "r1", "method": "GET", "path": "/v2"} | changes)


def test_a_request_is_one_log_line(lines: Lines) -> None:
    """The line of a request has key, worksheet, status, number of Google calls and times."""
    event = _event(
        key="k1",
        spreadsheet="s",
        worksheet="Cities",
        status=404,
        code=105,
        cache="stale",
    )
    with during(event):
        upstream_called("main", is_write=False, seconds=0.25)
        upstream_called("main", is_write=True, seconds=0.5)
        upstream_called("main", is_write=True, seconds=0.25)

    request_done(event, 0.0125)

    [line] = lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "request",
        "level": "info",
        "id": "r1",
        "method": "GET",
        "path": "/v2",
        "status": 404,
        "code": 105,
        "key": "k1",
        "spreadsheet": "s",
        "worksheet": "Cities",
        "cache": "stale",
        "reading": None,
        "reads": 1,
        "writes": 2,
        "google_ms": 1000.0,
        "ms": 12.5,
    }


@pytest.mark.parametrize(
    "kind", ["delete", "update_rows", "update_where", "delete_where", "upsert"]
)
def test_operation_is_logged_if_method_and_path_do_not_show_it(
    lines: Lines, kind: RequestKind
) -> None:
    """Only operations that method and path do not determine have the member `operation`."""
    request_done(_event(operation=kind), 0.0)
    request_done(_event(operation="update"), 0.0)

    named, other = lines()
    assert named["operation"] == kind
    assert "operation" not in other


def test_the_line_of_a_request_without_a_key(lines: Lines) -> None:
    """Unknown members of a request's line are null; times are always present."""
    request_done(_event(status=404), 0.0)

    [line] = lines()
    assert {name for name, value in line.items() if value is None} == {
        *("code", "key", "spreadsheet", "worksheet", "reading")
    }
    assert (line["cache"], line["google_ms"], line["ms"]) == ("", 0.0, 0.0)


def test_request_before_logging_is_configured() -> None:
    """Before logging is configured, the line of a request goes through structlog."""
    with capture_logs() as logs:
        request_done(_event(path=NASTY, status=200), 0.0)

    [line] = logs
    assert (line["event"], line["log_level"], line["status"]) == ("request", "info", 200)
    assert line["path"] == NASTY
    assert "timestamp" not in line


@pytest.mark.parametrize(
    ("log", "member"),
    [
        pytest.param(lambda: request_done(_event(path=NASTY), 0.0), "path", id="path"),
        pytest.param(
            lambda: request_done(_event(worksheet=NASTY), 0.0), "worksheet", id="worksheet"
        ),
        pytest.param(lambda: header_trouble("s", NASTY, []), "worksheet", id="header"),
        pytest.param(lambda: logging.getLogger("x").warning(NASTY), "event", id="library"),
    ],
)
def test_control_characters_are_escaped(lines: Lines, log: Callable[[], None], member: str) -> None:
    """A value with control characters is one ASCII line and decodes to the same value."""
    log()

    [line] = lines()
    assert line[member] == NASTY


@pytest.mark.parametrize(
    ("log", "longest"),
    [
        pytest.param(lambda text: request_done(_event(path=text), 0.0), 200, id="path"),
        pytest.param(lambda text: request_done(_event(worksheet=text), 0.0), 200, id="worksheet"),
        pytest.param(lambda text: header_trouble("s", text, []), 200, id="header-worksheet"),
        pytest.param(lambda text: header_trouble("s", "w", [text]), 200, id="header"),
    ],
)
def test_long_values_are_cut(stream: io.StringIO, log: Callable[[str], None], longest: int) -> None:
    """A long value is cut in the log, so that a client cannot fill the log."""
    log("x" * 10_000)

    assert "x" * longest in stream.getvalue()
    assert "x" * (longest + 1) not in stream.getvalue()


def test_a_warning_names_at_most_ten_headers(lines: Lines) -> None:
    """The warning about duplicate headers names the first ten headers."""
    header_trouble("s", "w", [str(n) for n in range(1000)])

    [line] = lines()
    assert (line["level"], line["event"]) == ("warning", "duplicate-headers")
    assert line["headers"] == [str(n) for n in range(10)]


def test_failed_verification_is_logged_with_causes(lines: Lines) -> None:
    """A failed verification of a write is logged with the request's ID and its causes."""
    error = LookupError("told to nobody")
    error.__cause__ = OSError("reset")

    with during(_event()):
        look_failed(error)

    [line] = lines()
    assert (line["event"], line["id"], line["error"]) == ("look-failed", "r1", "LookupError")
    assert line["causes"] == ["OSError: reset"]


def _fail() -> None:
    secret = "canary" + "7"
    raise ValueError(len(secret))


def _failure() -> ValueError:
    try:
        _fail()
    except ValueError as error:
        return error
    raise LookupError("it did not fail")


def test_fault_has_a_traceback_without_locals(stream: io.StringIO, lines: Lines) -> None:
    """An unexpected error is one line with stack frames, but without the values of variables."""
    request_failed(_event(), _failure())

    [line] = lines()
    assert (line["level"], line["event"], line["id"]) == ("error", "fault", "r1")
    [traceback] = line["exception"]
    assert traceback["exc_type"] == "ValueError"
    assert traceback["frames"][-1]["name"] == "_fail"
    assert "canary7" not in stream.getvalue()


def test_fault_outside_a_request(lines: Lines) -> None:
    """An unexpected error outside of a request has the ID null."""
    request_failed(None, _failure())

    [line] = lines()
    assert line["id"] is None


def test_library_records_are_json_lines(stream: io.StringIO, lines: Lines) -> None:
    """Warnings and errors of libraries are JSON lines, with tracebacks without variables."""
    logger = logging.getLogger("some.library")
    logger.info("not shown")

    logger.error("failed: %s", "x", exc_info=_failure())

    [line] = lines()
    assert (line["level"], line["event"]) == ("error", "failed: x")
    assert line["exception"][0]["frames"][-1]["name"] == "_fail"
    assert "canary7" not in stream.getvalue()


def test_messages_of_google_are_logged_without_quotations(lines: Lines) -> None:
    """Only known phrases of Google's messages are logged, without the values that they quote."""
    with during(_event()):
        google_refused('Invalid value: "a cell"')

    [line] = lines()
    assert (line["event"], line["id"], line["text"]) == ("google-refused", "r1", "Invalid value")


def test_causes_are_logged(lines: Lines) -> None:
    """Causes of an error are logged from the nearest to the first, without quoted values."""
    first = OSError('reset by "peer"')
    second = LookupError("no answer")
    second.__cause__ = first
    error = ValueError("told to the client")
    error.__cause__ = second

    upstream_failed(error)

    [line] = lines()
    assert line["causes"] == ["LookupError: no answer", "OSError: reset by "]


def test_event_of_the_context() -> None:
    """`current_event` is the event of the innermost block, also in copied contexts, else None."""
    outer, inner = _event(), _event(id="r2")

    with during(outer):
        copied = copy_context()
        with during(inner):
            within = current_event()
        after = current_event()

    assert within is inner
    assert after is outer
    assert copied.run(current_event) is outer
    assert current_event() is None


def test_a_call_outside_of_a_request() -> None:
    """A call to Google after the `during` block does not count for the request of that block."""
    event = _event()
    with during(event):
        pass

    upstream_called("main", is_write=True, seconds=1.0)

    assert (event.reads, event.writes, event.google_ms) == (0, 0, 0.0)


TEXTS = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20)


def line(path: str = "/v2", worksheet: str | None = None) -> RequestEvent:
    return RequestEvent(
        id="r1",
        method="GET",
        path=path,
        status=200,
        code=None,
        key=None,
        spreadsheet=None,
        worksheet=worksheet,
        cache="hit",
        reading=None,
        reads=0,
        writes=0,
        google_ms=0.0,
        ms=1.5,
        timestamp=datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=UTC),
        operation=msgspec.UNSET,
    )


def test_a_line_has_all_members() -> None:
    """A request's line is a JSON object with all members in order, and ends with a line feed."""
    assert encoded_lines([line()]) == (
        b'{"event":"request","id":"r1","method":"GET","path":"/v2","status":200,"code":null,'
        b'"key":null,"spreadsheet":null,"worksheet":null,"cache":"hit","reading":null,'
        b'"reads":0,"writes":0,'
        b'"google_ms":0.0,"ms":1.5,"timestamp":"2026-03-01T12:00:00.000250Z","level":"info"}\n'
    )


@given(path=TEXTS, worksheet=TEXTS)
def test_any_text_stays_in_its_line(path: str, worksheet: str) -> None:
    """A request's line with any path and worksheet is printable ASCII and decodes to both."""
    text = encoded_lines([line(path=path, worksheet=worksheet)]).decode("ascii")
    found: dict[str, Any] = json.loads(text)

    assert text.removesuffix("\n").isprintable()
    assert (found["path"], found["worksheet"]) == (path, worksheet)


@pytest.mark.parametrize("text", ["\n", "\x7f", "\u0085", "\u2028", "\ud800", "é", "🏙"], ids=ascii)
def test_unprintable_characters_are_escaped(text: str) -> None:
    """Line ends, invisible characters and non-ASCII characters in a path are escaped."""
    found = encoded_lines([line(path=text)]).removesuffix(b"\n").decode("ascii")

    assert found.isprintable()
    assert json.loads(found)["path"] == text


def test_encoding_many_lines_equals_encoding_each() -> None:
    """A path with odd characters does not change the other lines that are encoded with it."""
    events = [line(path=path) for path in ("/v2", "/ya29.abcdef", "/a%20b", "/\ud800", "/é", "/v2")]

    assert encoded_lines(events) == b"".join(encoded_lines([each]) for each in events)


def test_a_call_after_the_end_of_a_request_is_not_logged() -> None:
    """After the end of a request, calls of its tasks do not change its event."""
    event = _event()

    with during(event), capture_logs():
        request_done(event, 0.1)
        upstream_called("main", is_write=False, seconds=0.5)
        note_reading("where-twice")

    assert (event.reads, event.google_ms, event.reading) == (0, 0.0, None)


@pytest.mark.parametrize("buffering", [-1, 1], ids=["buffered", "by-line"])
def test_lines_are_written_without_buffering(tmp_path: Path, buffering: int) -> None:
    """A line is in the file at once, in order with other text written to the stream."""
    file = tmp_path / "log"
    with file.open("w", buffering=buffering) as stream:
        stream.write("before\n")
        stream.flush()
        line_writer(stream, encoded_lines)(line())
        seen = file.read_bytes()
        stream.write("after\n")

    assert seen == b"before\n" + encoded_lines([line()])
    assert file.read_bytes() == seen + b"after\n"


def test_a_stream_of_text_takes_lines() -> None:
    """A text stream without a byte buffer gets the same line as text."""
    stream = io.StringIO()
    line_writer(stream, encoded_lines)(line())

    assert stream.getvalue() == encoded_lines([line()]).decode("ascii")


class Reluctant(io.RawIOBase):
    """Raw stream that writes only a part of the given bytes at a time, as a pipe can."""

    def __init__(self, take: Callable[[int], int]) -> None:
        self.taken = bytearray()
        self._take = take

    def writable(self) -> bool:
        return True

    def write(self, given: Any) -> int:
        count = self._take(len(given))
        self.taken += bytes(given)[:count]
        return count


def test_a_partly_written_line_is_completed() -> None:
    """A line that the system writes in parts arrives completely and once."""
    raw = Reluctant(lambda length: min(length, 100))
    stream = io.TextIOWrapper(io.BufferedWriter(cast(Any, raw)))
    line_writer(stream, encoded_lines)(line())

    assert bytes(raw.taken) == encoded_lines([line()])


def test_lenient_decodings_are_logged_in_order() -> None:
    """`reading` lists lenient decodings with commas; `worksheet` is the title that was meant."""
    event = RequestEvent(id="r1", method="GET", path="/v2", worksheet="a%20b")

    with during(event):
        note_reading("query-in-name")
        note_reading("worksheet-twice", worksheet="a b")

    assert event.reading == "query-in-name,worksheet-twice"
    assert event.worksheet == "a b"


def test_lenient_decoding_outside_of_a_request() -> None:
    """`note_reading` outside of a request does nothing."""
    note_reading("where-quotes")

    assert current_event() is None
