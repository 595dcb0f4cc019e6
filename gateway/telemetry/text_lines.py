"""Log lines as text for a terminal, in one format for requests and other events.

`12:00:00 200     GET /v2/sheets/Cities            ms=0.4 key=key_7Hq2 cache=hit`

Rules:
- A line contains the time of day, status or level, subject, then members as `name=value`. A
  traceback follows on separate lines.
- The line of a request omits members that are null, zero or empty, or that repeat its path. The
  line has the `id` only if the request failed.
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
"""Members that the line of a request can have, in this order."""
_COLUMNS = frozenset({"event", "level", "timestamp", "exception"})
"""Members that are not written as `name=value`."""
_FIRST_FAILURE = 400
_SUBJECT_WIDTH = 32
_DIM, _RED, _GREEN, _YELLOW = 2, 31, 32, 33
"""ANSI codes. The colours repeat information that is also in the text."""
_LEVEL_COLOURS = {"info": _GREEN, "warning": _YELLOW}
_STATUS_COLOURS = {2: _GREEN, 3: _GREEN, 4: _YELLOW}


def text_line(members: Mapping[str, Any], *, is_coloured: bool) -> str:
    """Return the text line for the members of an event, without a final line break."""
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
    """Yield lines for an exception, its causes and the exceptions of a group, with stack frames."""
    for each in chain:
        yield _shown(f"{indent}{each['exc_type']}: {each['exc_value']}")
        for frame in each["frames"]:
            yield _shown(f"{indent}  {frame['filename']}:{frame['lineno']} in {frame['name']}")
        for grouped in each.get("exceptions", ()):
            yield from _traceback(grouped, f"{indent}  ")


def _value(value: object) -> str:
    """Return a text as it is, or as JSON if it has spaces, quotes or `=`. Other values as JSON."""
    if isinstance(value, str) and not any(each.isspace() or each in "\"'=" for each in value):
        return _shown(value)
    return _shown(json.dumps(value, ensure_ascii=False, default=str))


def _shown(text: str) -> str:
    return redacted(printable(text))


def _styled(text: str, code: int, is_coloured: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if is_coloured else text
