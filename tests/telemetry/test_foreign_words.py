"""Messages of Google and of libraries: the spreadsheet content that they quote is not logged."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import UpstreamRefusal
from gateway.google.translation import Attempt, GoogleRefusal, translated
from gateway.google.wire import Answer
from gateway.telemetry.events import (
    configure_logging,
    google_refused,
    look_failed,
    request_failed,
    reset_logging,
    upstream_failed,
)
from gateway.telemetry.redaction import UNKNOWN, known_words, unquoted
from sheets_emulator.refusal import MESSAGES

MARK = "Zq7secret"
QUOTES = ("{}", "'{}'", '"{}"', "`{}`", "«{}»", "“{}”", "‘{}’", "({})", "[{}]", ": {}", "\n{}")
REPEATING = (
    "Invalid value at 'data.values[0][0]' (type.googleapis.com/google.protobuf.Value), {}",
    "Unable to parse range: {}!A1",
    "Range ({}!A9) exceeds grid limits. Max rows: 4, max columns: 3",
    "Invalid data[0]: Invalid values[1][2]: struct_value {}",
    "Invalid requests[0].updateCells: {}",
    "Invalid requests[0].{}: You are trying to edit a protected cell or object.",
    "Invalid requests[3].deleteDimension: You can't delete the row {}.",
    "You are trying to edit {}. Please contact the spreadsheet owner.",
    "A sheet with the name {} already exists. Please enter another name.",
    "Cannot add the table {}, a table with that name already exists.",
    "Unsupported locale: {}",
    'Invalid JSON payload received. Unknown name {} at "requests[0]": Cannot find field.',
    "No group {}",
    "{} already has sheet protection.",
    "{}",
    *(f"{message} {{}}" for message in MESSAGES.values()),
)
"""Messages of Google and of the emulator; `{}` is a cell, a header or a title."""


@pytest.fixture(scope="module")
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    text = io.StringIO()
    configure_logging(text)
    yield text
    reset_logging()
    root.handlers[:] = handlers
    root.setLevel(level)


def refusal_of(status: int, name: str, message: str) -> GoogleRefusal:
    body = {"error": {"code": status, "status": name, "message": message}}
    return answered(status, json.dumps(body).encode())


def answered(status: int, body: bytes) -> GoogleRefusal:
    return GoogleRefusal(Answer(status=status, headers={}, body=body, digest=b""))


def log_everywhere(error: Exception) -> None:
    """Log an error through each function of the gateway that logs errors."""
    for is_write in (False, True):
        outer = translated(error, Attempt(is_write=is_write))
        outer.__cause__ = error
        if isinstance(outer, UpstreamRefusal):
            google_refused(outer.google_message)
        upstream_failed(outer)
        look_failed(outer)
        request_failed(None, outer)
        request_failed(None, ExceptionGroup("several", [error]))


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("message", REPEATING)
@pytest.mark.parametrize(("status", "name"), [(400, "INVALID_ARGUMENT"), (500, "INTERNAL")])
def test_log_lines_contain_no_quoted_cell(
    stream: io.StringIO, status: int, name: str, message: str, quote: str
) -> None:
    """Content that Google quotes in an error, with any quotation marks, is in no log line."""
    log_everywhere(refusal_of(status, name, message.format(quote.format(MARK))))

    assert "upstream-failed" in stream.getvalue()
    assert MARK not in stream.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"<title>{MARK}</title>".encode(), id="page"),
        pytest.param(json.dumps({"error": {"status": MARK}}).encode(), id="status"),
        pytest.param(json.dumps({"error": {"message": [MARK]}}).encode(), id="another shape"),
    ],
)
def test_the_body_of_another_answer_is_not_logged(stream: io.StringIO, body: bytes) -> None:
    """An answer that is not in Google's error format is logged only with its status."""
    log_everywhere(answered(502, body))

    assert "HTTP 502" in stream.getvalue()
    assert MARK not in stream.getvalue()


@given(st.text())
def test_known_phrases_do_not_depend_on_other_text(text: str) -> None:
    """`known_words` returns the known phrases of a message, whatever text follows."""
    found = known_words(f"Invalid requests[12].appendCells: Unable to parse range {text}")

    assert found.startswith("Invalid requests[12].appendCells: ")
    assert known_words(found) == found


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "Invalid requests[1].updateCells: You are trying to edit a protected cell or object. "
            "Please contact the spreadsheet owner to remove protection if you need to edit.",
            "Invalid requests[1].updateCells: You are trying to edit a protected cell or object",
        ),
        ("Unable to parse range: 'secret text'!A1", "Unable to parse range"),
        ("Range (Sheet!Y1) exceeds grid limits. Max rows: 9", "exceeds grid limits"),
        ("Invalid requests[1].secret: No grid with id: 7", "Invalid requests[1]: No grid with id"),
        ("Invalid requests[1].appendCellsX: x", f"Invalid requests[1]: {UNKNOWN}"),
        ("Estás intentando editar una celda protegida.", UNKNOWN),
    ],
)
def test_known_words_of_messages(message: str, words: str) -> None:
    """The known phrases of a message say which request Google refused, and why."""
    assert known_words(message) == words


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("All connection attempts failed", "All connection attempts failed"),
        ("could not convert string to float: 'secret'", "could not convert string to float: "),
        ("illegal header line: bytearray(b'secret')", "illegal header line: bytearray(b"),
        ("Invalid enum value `secret`", "Invalid enum value "),
        ("duplicate key\nDETAIL: Key (id)=(secret)", "duplicate key"),
    ],
)
def test_unquoted_cuts_at_the_quotation(text: str, left: str) -> None:
    """`unquoted` cuts a library's message before a quotation or a line break."""
    assert unquoted(text) == left


def test_an_unexpected_error_is_logged_without_values(stream: io.StringIO) -> None:
    """The messages of an unexpected error and of its causes are cut before a quotation."""
    error = ValueError(f"invalid literal for int(): '{MARK}'")
    error.add_note(MARK)
    try:
        try:
            raise KeyError(MARK)
        except KeyError as cause:
            raise error from cause
    except ValueError as raised:
        request_failed(None, raised)

    line = json.loads(stream.getvalue().splitlines()[-1])
    assert [each["exc_value"] for each in line["exception"]] == ["invalid literal for int(): ", ""]
    assert MARK not in stream.getvalue()


def test_asyncio_errors_are_logged_without_values(stream: io.StringIO) -> None:
    """asyncio's message about a failed task is logged without the exception that it quotes."""
    logging.getLogger("asyncio").error(
        "Task exception was never retrieved\nfuture: <Task exception=ValueError('%s')>",
        MARK,
        exc_info=ValueError(f"'{MARK}'"),
    )

    assert json.loads(stream.getvalue().splitlines()[-1])["event"] == (
        "Task exception was never retrieved"
    )
    assert MARK not in stream.getvalue()
