"""The line of a request as bytes, and how it gets to a stream."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.telemetry.request_line import RequestLine, encoded, line_writer

TEXTS = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20)


def line(path: str = "/v2", worksheet: str | None = None) -> RequestLine:
    return RequestLine(
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
    )


def test_a_line_has_all_members() -> None:
    """The line is a JSON object with every member, in order, and ends with a line feed."""
    assert encoded(line()) == (
        b'{"event":"request","id":"r1","method":"GET","path":"/v2","status":200,"code":null,'
        b'"key":null,"spreadsheet":null,"worksheet":null,"cache":"hit","reading":null,'
        b'"reads":0,"writes":0,'
        b'"google_ms":0.0,"ms":1.5,"timestamp":"2026-03-01T12:00:00.000250Z","level":"info"}\n'
    )


@given(path=TEXTS, worksheet=TEXTS)
def test_any_text_stays_in_its_line(path: str, worksheet: str) -> None:
    """Whatever a value holds, the line is printable ASCII and is read back as it was."""
    text = encoded(line(path=path, worksheet=worksheet)).decode("ascii")
    found: dict[str, Any] = json.loads(text)

    assert text.removesuffix("\n").isprintable()
    assert (found["path"], found["worksheet"]) == (path, worksheet)


@pytest.mark.parametrize("text", ["\n", "\x7f", "\u0085", "\u2028", "\ud800", "é", "🏙"], ids=ascii)
def test_what_is_escaped(text: str) -> None:
    """What ends a line, cannot be seen or is no ASCII is escaped, alone in its line too."""
    found = encoded(line(path=text)).removesuffix(b"\n").decode("ascii")

    assert found.isprintable()
    assert json.loads(found)["path"] == text


@pytest.mark.parametrize("buffering", [-1, 1], ids=["buffered", "by-line"])
def test_a_line_is_on_its_way_at_once(tmp_path: Path, buffering: int) -> None:
    """Nothing waits in a buffer, and lines stand between what else is written, in order."""
    file = tmp_path / "log"
    with file.open("w", buffering=buffering) as stream:
        stream.write("before\n")
        stream.flush()
        line_writer(stream)(line())
        seen = file.read_bytes()
        stream.write("after\n")

    assert seen == b"before\n" + encoded(line())
    assert file.read_bytes() == seen + b"after\n"


def test_a_stream_of_text_takes_lines() -> None:
    """A stream without bytes below it gets the same line as text."""
    stream = io.StringIO()
    line_writer(stream)(line())

    assert stream.getvalue() == encoded(line()).decode("ascii")


class Reluctant(io.RawIOBase):
    """Takes a few bytes at a time, as a pipe may when a signal comes."""

    def __init__(self, take: Callable[[int], int]) -> None:
        self.taken = bytearray()
        self._take = take

    def writable(self) -> bool:
        return True

    def write(self, given: Any) -> int:
        count = self._take(len(given))
        self.taken += bytes(given)[:count]
        return count


def test_what_was_not_taken_is_written_again() -> None:
    """A line that the system takes in parts arrives whole, and once."""
    raw = Reluctant(lambda length: min(length, 100))
    stream = io.TextIOWrapper(io.BufferedWriter(cast(Any, raw)))
    line_writer(stream)(line())

    assert bytes(raw.taken) == encoded(line())
