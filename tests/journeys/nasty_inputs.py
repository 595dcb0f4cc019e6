"""The inputs of the nasty list, line by line; what must become of them is in `test_nasty`."""

from collections.abc import Mapping, Sequence
from typing import Any

IDS = (
    *("../../drive/v3/files", "abc/values/X!A1?x=", "abc:batchUpdate?x=", "abc#", "..", "a%2Fb"),
    *("a b", "é", "a" * 129, "demo/", "demo;x"),
)

CELLS = (
    *(
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e400",
        "9" * 5000,
        "１２３",
        "007",
        "+44 163 2960000",
        "#REF!",
    ),
    *("😀", "x" * 50_000, "TRUE", "null", "\u202e", "a\nb", '"', "\\", "__proto__", "\x7f"),
)

ROWS: Mapping[str, int] = {
    "9" * 5000: 400,
    "%D9%A3": 400,
    "1": 404,
    "0": 400,
    "-1": 400,
    "2.0": 400,
    "abc": 400,
    "99999999": 404,
}

NAMES: Mapping[str, str | None] = {
    "a%2F5": None,
    "a%2Fb": None,
    "A%2FB": "slash",
    "%00": None,
    "%ff": None,
    "..": None,
    "a'!B1:Z9,'x": "quote",
    "D3": "cell",
    "1": "one",
    "%20lead": "blank",
    "lead": None,
    "x:y!z": "punctuation",
    "Cities!A1:D4": None,
}
"""Segments of a path, and the cell that tells which worksheet they name, or None."""

BODIES: Mapping[str, bytes] = {
    "NaN": b'{"name": NaN}',
    "1e999": b'{"name": 1e999}',
    "5,000 digits": b'{"name": ' + b"9" * 5000 + b"}",
    "half a pair": b'{"name": "\\ud800"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "BOM": b'\xef\xbb\xbf{"name": "x"}',
    "twice": b'{"name": "x", "name": "y"}',
    "depth 100,000": b'{"name":' * 100_000,
    "lists 100,000 deep": b"[" * 100_000,
    "array of non-objects": b'[1, "x", null]',
    "array of arrays": b'[["name"]]',
    "empty": b"",
    "empty object": b"{}",
    "only rowIndex": b'{"rowIndex": 7}',
    "__proto__": b'{"__proto__": 1}',
}

KEYS: Mapping[str, tuple[Mapping[str, str | bytes], int]] = {
    "not ASCII": ({"Authorization": "Bearer schlüssel".encode()}, 401),
    "not UTF-8": ({"API-Key": b"sgw_\xff\xfe"}, 401),
    "empty": ({"Authorization": "Bearer "}, 401),
    "blank": ({"X-API-Key": "   "}, 401),
    "10 KB": ({"API-Key": "k" * 10_240}, 401),
    "two": ({"API-Key": "a", "X-API-Key": "b"}, 400),
}

QUERIES: Mapping[str, Mapping[str, str]] = {
    "unknown operator": {"where": '{"name":{"$regex":"x"}}'},
    "or a number": {"where": '{"$or": 1}'},
    "operand a list": {"where": '{"name":{"$gte":["x"]}}'},
    "deep": {"where": '{"$not":' * 100 + "{}" + "}" * 100},
    "limit 1e9": {"limit": "1e9"},
    "limit -1": {"limit": "-1"},
    "skip ９": {"skip": "９"},
    "order --x": {"order": "--x"},
}

# The fault of the one append, how many rows are there then, and the outcome that may be told.
APPENDS: Mapping[str, tuple[Mapping[str, Any], int, str | None]] = {
    "503 but applied": ({"apply": True, "status": 503}, 1, None),
    "503 not applied": ({"status": 503}, 0, "not_applied"),
    "answer lost, applied": ({"apply": True, "drop": True}, 1, None),
    "answer lost, not applied": ({"drop": True}, 0, "unknown"),
    "HTML, applied": ({"apply": True, "status": 200, "text": "<html>"}, 1, None),
    "cut, applied": ({"truncate": 20, "apply": True}, 1, None),
}

# The fault of every read, and the code of the answer.
GOOGLE: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "429 without Retry-After": ({"call": "*", "status": 429}, 5030),
    "200 with HTML": ({"call": "*", "status": 200, "text": "<html>"}, 5020),
    "truncated": ({"call": "*", "truncate": 30}, 5020),
    "no end in time": ({"call": "*", "delay_ms": 2500}, 5040),
    "dropped": ({"call": "*", "drop": True}, 5020),
    "too large": ({"call": "*", "status": 200, "text": "[" + " " * 2_000_000}, 4132),
    "token 401": ({"call": "token", "status": 401}, 5022),
    "token 500": ({"call": "token", "status": 500}, 5021),
    "token slow": ({"call": "token", "delay_ms": 2500}, 5021),
}

# Worksheets that make it hard to find the end, and the row and column of a new `name`.
PLACES: Mapping[str, tuple[int, int]] = {
    "New": (2, 1),
    "HeaderOnly": (2, 1),
    "BlankRow": (5, 1),
    "BlankHeader": (4, 1),
    "BlankFirst": (4, 2),
    "Totals": (6, 1),
    "Cities": (12, 1),
}

_GOOD = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
_POST = "POST /v2/sheets/New HTTP/1.1\r\nHost: x\r\n"
SMUGGLED: Mapping[str, str] = {
    "CL and TE": _POST + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _GOOD,
    "two CL": _POST + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde" + _GOOD,
    "bare LF": "GET /livez HTTP/1.1\nHost: x\nX: y\n\n" + _GOOD,
    "obs-fold": "GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n" + _GOOD,
    "blank before colon": "GET /livez HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n" + _GOOD,
    "bad TE": _POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + _GOOD,
    "NUL": "GET /livez HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n" + _GOOD,
}
PIPELINED = "GET /livez HTTP/1.1\r\nHost: x\r\nX-Request-Id: first\r\n\r\n" + _GOOD.replace(
    "Host: x", "Host: x\r\nX-Request-Id: second"
)

ELSEWHERE: Mapping[str, Sequence[str]] = {
    "late application": (
        "tests/journeys/test_open_outcomes.py::test_a_row_that_lands_between_the_looks",
        "tests/journeys/test_open_outcomes.py::test_a_row_that_lands_late_overwrites_nothing",
        "tests/service/recovery/test_recovery.py::test_rows_are_found_where_they_were_sent",
    ),
    "connection reset before sending": (
        "tests/journeys/test_upstream_errors.py::test_google_out_of_reach",
        "tests/upstream/test_wire.py::test_what_was_not_sent_is_unreachable",
    ),
    "kill -9": (
        "tests/journeys/test_fire.py::test_creates_under_fire",
        "tests/journeys/test_twins.py::test_twins_after_a_kill_are_one_row",
        "tests/journeys/test_idempotency.py::test_an_answer_outlives_the_gateway",
    ),
    "a person edits": (
        "tests/journeys/test_edits.py::test_a_create_after_an_edit",
        "tests/journeys/test_edits.py::test_an_update_after_an_edit",
        "tests/journeys/test_interleavings.py::test_edits_before_the_last_look_move_no_value",
        "tests/journeys/test_interleavings.py::test_edits_inside_the_round_trip_lose_nothing",
    ),
    "a row that Google refuses in a group of 50": (
        "tests/journeys/test_groups.py::test_a_row_that_google_refuses_among_fifty",
    ),
    "a stall at byte 100, a gzip bomb": (
        "tests/upstream/test_wire.py::test_a_slow_drip_ends_at_the_deadline",
        "tests/upstream/test_wire.py::test_a_small_gzip_that_grows_is_cut",
        "tests/upstream/test_wire.py::test_an_oversize_answer_is_not_read_to_its_end",
    ),
    "a reader leaves, a writer leaves": (
        "tests/service/test_kept_reads.py::test_one_who_leaves_hurts_nobody",
        "tests/service/test_writer.py::test_client_leaves_after_sending",
        "tests/journeys/test_process.py::test_a_write_whose_client_left_survives_the_end",
    ),
    "SIGTERM": (
        "tests/journeys/test_stopping.py::"
        "test_what_waits_when_the_time_is_over_is_refused_and_never_written",
        "tests/journeys/test_process.py::test_a_write_in_flight_survives_the_end",
    ),
}
"""Lines that are held by tests which need more than a request or a fault."""
