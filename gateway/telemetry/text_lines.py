"""Log lines for people: one shape for requests and all other events.

`12:00:00 200     GET /v2/sheets/Cities            ms=0.4 key=key_7Hq2 cache=hit`

Rules:
- Time of day, status or level, subject, then `name=value`. A traceback follows on lines of its own.
- The line of a request has no members that are null, zero, empty or repeat its path. It has the
  `id` if the request failed.
- No control character reaches the terminal. Secrets are masked, as in JSON.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from gateway.table.quoting import printable
from gateway.telemetry.redaction import redacted

_REQUEST_MEMBERS = (
    *("ms", "key", "cache", "reads", "writes", "google_ms"),
    *("operation", "rows", "bytes", "reading", "code"),
)
"""Members of a request's line, in order."""
_COLUMNS = frozenset({"event", "level", "timestamp", "exception"})
"""Members with a place of their own in the line."""
_FIRST_FAILURE = 400
_SUBJECT_WIDTH = 32
_DIM, _RED, _GREEN, _YELLOW = 2, 31, 32, 33
"""ANSI codes; the colours repeat what a number or a word says."""
_LEVEL_COLOURS = {"info": _GREEN, "warning": _YELLOW}
_STATUS_COLOURS = {2: _GREEN, 3: _GREEN, 4: _YELLOW}


def text_line(members: Mapping[str, Any], *, is_coloured: bool) -> str:
    """The line of an event that has these members in JSON, without a line break."""
    when = members["timestamp"]
    moment = when if isinstance(when, datetime) else datetime.fromisoformat(when)
    if members["event"] == "request":
        status = members["status"]
        mark, colour = str(status or "-"), _STATUS_COLOURS.get(status // 100, _RED)
        subject = f"{members['method']} {members['path']}"
        has_failed = not status or status >= _FIRST_FAILURE
        names = [*_REQUEST_MEMBERS, *(["id"] if has_failed else [])]
        shown = [name for name in names if members.get(name)]
    else:
        mark, subject = members["level"], members["event"]
        colour = _LEVEL_COLOURS.get(mark, _RED)
        shown = [name for name in members if name not in _COLUMNS and members[name] is not None]
    values = (f"{_styled(f'{name}=', _DIM, is_coloured)}{_value(members[name])}" for name in shown)
    columns = (
        _styled(f"{moment.astimezone():%H:%M:%S}", _DIM, is_coloured),
        _styled(f"{mark:7}", colour, is_coloured),
        f"{_shown(subject):{_SUBJECT_WIDTH}}",
        *values,
    )
    return "\n".join([" ".join(columns).rstrip(), *_traceback(members.get("exception", ()), "  ")])


def _traceback(chain: Sequence[Mapping[str, Any]], indent: str) -> Iterator[str]:
    """Lines of an exception, its causes and the exceptions of a group, each with its frames."""
    for each in chain:
        yield _shown(f"{indent}{each['exc_type']}: {each['exc_value']}")
        for frame in each["frames"]:
            yield _shown(f"{indent}  {frame['filename']}:{frame['lineno']} in {frame['name']}")
        for grouped in each.get("exceptions", ()):
            yield from _traceback(grouped, f"{indent}  ")


def _value(value: object) -> str:
    """A value as it is, or as JSON if blanks or quotes would hide where it ends."""
    if isinstance(value, str) and not any(each.isspace() or each in "\"'=" for each in value):
        return _shown(value)
    return _shown(json.dumps(value, ensure_ascii=False, default=str))


def _shown(text: str) -> str:
    return redacted(printable(text))


def _styled(text: str, code: int, is_coloured: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if is_coloured else text
