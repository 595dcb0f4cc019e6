"""Log lines as text: shape, configuration, and escaping of unsafe content."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.telemetry.events import (
    LineFormat,
    RequestEvent,
    breaker_changed,
    configure_logging,
    request_done,
    request_failed,
    reset_logging,
    serving,
    stopped,
    stopping,
)
from gateway.telemetry.text_lines import text_line
from tests.docs.blocks import all_blocks

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TIME = f"{NOON.astimezone():%H:%M:%S}"
REQUEST: dict[str, Any] = {
    "event": "request",
    "level": "info",
    "timestamp": "2026-03-01T12:00:00.000000Z",
    "id": "r1",
    "method": "GET",
    "path": "/v2/sheets/Cities",
    "status": 200,
    "code": None,
    "key": "key_7Hq2",
    "spreadsheet": "1BxiM",
    "worksheet": "Cities",
    "cache": "hit",
    "reading": None,
    "reads": 0,
    "writes": 0,
    "google_ms": 0.0,
    "ms": 0.4,
}
NASTY = 'a\nb\r\t\x00\x1b[31m\x7f\u0085\u2028\ud800"\\é'
KEY = "sgw_4BC6Pv1viL8YNuRvuEz81Rbn5VOWc41XEitQ"
FAILED = REQUEST | {
    "path": "/v2/sheets/Citties",
    "status": 404,
    "code": 105,
    "cache": "",
    "reads": 1,
    "google_ms": 80.5,
    "ms": 81.2,
}
LINES = [
    pytest.param(
        REQUEST,
        "200     GET /v2/sheets/Cities            ms=0.4 key=key_7Hq2 cache=hit",
        id="request",
    ),
    pytest.param(
        FAILED,
        "404     GET /v2/sheets/Citties           ms=81.2 key=key_7Hq2 reads=1 google_ms=80.5 "
        "code=105 id=r1",
        id="failed",
    ),
    pytest.param(
        REQUEST | {"status": 0, "key": None, "cache": ""},
        "-       GET /v2/sheets/Cities            ms=0.4 id=r1",
        id="no answer",
    ),
    pytest.param(
        {
            "event": "breaker",
            "level": "warning",
            "timestamp": NOON,
            "is_open": False,
            "a": None,
        },
        "warning breaker                          is_open=false",
        id="event",
    ),
    pytest.param(
        {
            "event": "serving",
            "level": "info",
            "timestamp": NOON,
            "keys": 0,
            "accounts": ["a b"],
        },
        'info    serving                          keys=0 accounts=["a b"]',
        id="zero and list",
    ),
    pytest.param(
        {
            "event": "stopping",
            "level": "info",
            "timestamp": NOON,
            "signal": "SIGTERM",
            "requests": 1,
        },
        "info    stopping                         signal=SIGTERM requests=1",
        id="stop",
    ),
    pytest.param(
        {"event": "x", "level": "error", "timestamp": NOON, "text": "a = b", "path": "C:\\é"},
        'error   x                                text="a = b" path=C:\\é',
        id="quotes",
    ),
]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def configured() -> Iterator[Callable[..., None]]:
    """`configure_logging`; logging is reset after the test."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    yield configure_logging
    reset_logging()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize(("members", "line"), LINES)
def test_lines_have_one_shape(members: dict[str, Any], line: str) -> None:
    """A text line has time, status or level, subject and members, with and without colours."""
    coloured = text_line(members, is_coloured=True)

    assert text_line(members, is_coloured=False) == f"{TIME} {line}"
    assert re.sub(r"\x1b\[\d+m", "", coloured) == f"{TIME} {line}"
    assert coloured != f"{TIME} {line}"


@pytest.mark.parametrize(
    ("stream", "form", "is_text"),
    [
        pytest.param(io.StringIO, "auto", False, id="elsewhere"),
        pytest.param(Terminal, "auto", True, id="terminal"),
        pytest.param(Terminal, "json", False, id="JSON on a terminal"),
        pytest.param(io.StringIO, "text", True, id="text elsewhere"),
    ],
)
def test_the_format_of_lines_is_a_setting(
    configured: Callable[..., None], stream: type[io.StringIO], form: LineFormat, is_text: bool
) -> None:
    """All kinds of log records have the configured format, text or JSON."""
    written = stream()
    configured(written, form)
    request_done(RequestEvent(id="r1", method="GET", path="/v2", status=200), 0.1)
    serving(
        version="1", configuration="c", listeners=["u"], key_store="k", key_count=1, accounts=["a"]
    )
    breaker_changed(is_open=False)
    logging.getLogger("other").warning("of a library")
    stopping("SIGTERM", 2)
    stopped(2)
    lines = written.getvalue().splitlines()

    assert len(lines) == 6
    if is_text:
        shape = re.compile(r"\d\d:\d\d:\d\d (\d{3}|info|warning) +\S")
        plain = [re.sub(r"\x1b\[\d+m", "", line) for line in lines]
        assert [line for line in plain if not shape.match(line)] == []
        assert ("\x1b" in written.getvalue()) == written.isatty()
        assert plain[-2].endswith("signal=SIGTERM requests=2")
    else:
        events = [json.loads(line)["event"] for line in lines]
        assert events == ["request", "serving", "breaker", "of a library", "stopping", "stopped"]


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colours_can_be_switched_off(
    configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """With `NO_COLOR` or `TERM=dumb`, lines on a terminal have no escape codes."""
    monkeypatch.setenv(variable, "dumb")
    written = Terminal()
    configured(written)
    stopped(0)

    assert re.fullmatch(r"[\d:]{8} info    stopped +drained=0\n", written.getvalue())


def test_text_lines_have_no_control_characters(configured: Callable[..., None]) -> None:
    """Control characters in paths, names and errors are escaped, and secrets are masked."""
    written = io.StringIO()
    configured(written, "text")
    request_done(RequestEvent(id=NASTY, method="GET", path=f"/v2/{NASTY}", reading=NASTY), 0.1)
    request_done(RequestEvent(id="r2", method="GET", path=f"/v2/{KEY}", status=404), 0.1)
    logging.getLogger("other").warning(f"{NASTY} {KEY}")
    try:
        raise ValueError(NASTY)
    except ValueError as error:
        request_failed(RequestEvent(id="r3", method="GET", path="/"), error)
    text = written.getvalue()
    lines = text.split("\n")

    assert [line for line in lines if not line.isprintable()] == []
    assert KEY not in text
    assert text.count("sgw_***") == 2
    fault = next(number for number, line in enumerate(lines) if " fault " in line)
    assert fault == 3
    assert lines[fault + 1].startswith("  ValueError: a")
    assert re.fullmatch(r"    \S+test_text_lines\.py:\d+ in test_\w+", lines[fault + 2])


def test_the_documented_sample_has_real_lines() -> None:
    """Each line of the log sample in the documentation is a line of `LINES`."""
    sample = [block for block in all_blocks() if block.language == "log"]
    expected = {each.values[1] for each in LINES}

    assert len(sample) == 1
    assert [line for line in sample[0].text.splitlines() if line[9:] not in expected] == []
