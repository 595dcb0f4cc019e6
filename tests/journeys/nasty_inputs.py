"""The inputs of the nasty list, line by line; what must become of them is in `test_nasty`."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pytest


def cases(inputs: Mapping[str, Any]) -> pytest.MarkDecorator:
    """A case for each input of a line; the argument `name` of the test is its name."""
    return pytest.mark.parametrize("name", inputs, ids=lambda name: quote(name[:30], safe=" ,"))


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

ENDLESS: Mapping[str, str] = {
    "nested 100,000 deep": '{"$not":' * 100_000,
    "10 MB": "x" * 10_000_000,
}
"""Values of `where` that do not end."""

# The fault of the one append, how many rows are there then, and the outcome that may be reported.
APPENDS: Mapping[str, tuple[Mapping[str, Any], int, str | None]] = {
    "503 but applied": ({"apply": True, "status": 503}, 1, None),
    "503 not applied": ({"status": 503}, 1, None),
    "answer lost, applied": ({"apply": True, "drop": True}, 1, None),
    "answer lost, not applied": ({"drop": True}, 1, None),
    "HTML, applied": ({"apply": True, "status": 200, "text": "<html>"}, 1, None),
    "cut, applied": ({"truncate": 20, "apply": True}, 1, None),
}

# The fault of the one append of a create with an Idempotency-Key whose client sees no answer.
LOST: Mapping[str, Mapping[str, Any]] = {
    "ours": {"delay_ms": 100, "apply": True},
    "Google's": {"apply": True, "drop": True},
    "Google's and late": {"apply": True, "drop": True, "delay_ms": 100},
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

_CREDENTIALS = "tests/surfaces/test_credentials.py"
_PATHS = "tests/surfaces/test_paths.py"
_BODIES = "tests/surfaces/test_bodies.py"
ELSEWHERE: Mapping[str, Sequence[str]] = {
    "ids that lead elsewhere, line breaks in ids": (
        f"{_CREDENTIALS}::test_text_that_is_no_spreadsheet_id",
        f"{_CREDENTIALS}::test_text_that_is_no_spreadsheet_id_in_the_url",
    ),
    "odd keys, two keys": (
        f"{_CREDENTIALS}::test_text_that_is_no_key",
        f"{_CREDENTIALS}::test_text_that_is_no_key_in_the_url",
        f"{_CREDENTIALS}::test_no_key",
        f"{_CREDENTIALS}::test_different_keys",
    ),
    "odd rows and names of worksheets": (
        f"{_PATHS}::test_text_that_is_no_row_number",
        f"{_PATHS}::test_row_without_data",
        f"{_PATHS}::test_title_of_no_worksheet",
        f"{_PATHS}::test_segment_that_is_no_text",
        "tests/journeys/test_paths.py::test_title_with_characters_of_ranges",
    ),
    "odd bodies": (
        f"{_BODIES}::test_body_that_is_refused",
        f"{_BODIES}::test_body_that_a_create_refuses",
        f"{_BODIES}::test_field_that_is_no_header",
    ),
    "odd queries": (
        "tests/surfaces/test_parameters.py::test_parameter_that_is_refused",
        "tests/surfaces/test_parameters.py::test_field_that_is_no_header",
    ),
    "late application": (
        "tests/journeys/test_open_outcomes.py::test_a_row_that_lands_late",
        "tests/journeys/test_open_outcomes.py::test_a_late_update_overwrites_nothing",
        "tests/worksheets/recovery/test_recovery.py::test_rows_are_found_where_they_were_sent",
    ),
    "connection reset before sending": (
        "tests/journeys/test_upstream_errors.py::test_google_out_of_reach",
        "tests/google/test_wire.py::test_what_was_not_sent_is_unreachable",
    ),
    "kill -9": (
        "tests/simulation/test_fire.py::test_creates_under_fire",
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
    "a 429 storm without Retry-After": (
        "tests/simulation/test_reads_outage.py::test_a_429_that_does_not_say_when",
    ),
    "a stall at byte 100, a gzip bomb of 40 MB": (
        "tests/journeys/test_hostile_google.py::test_a_trick_is_over_in_time",
        "tests/journeys/test_hostile_google.py::test_a_bomb_takes_little_memory",
        "tests/google/test_wire.py::test_a_slow_drip_ends_at_the_deadline",
        "tests/google/test_wire.py::test_an_oversize_answer_is_not_read_to_its_end",
    ),
    "a reader leaves, a writer leaves": (
        "tests/simulation/test_reads_joining.py::test_a_reader_that_leaves_hurts_nobody",
        "tests/worksheets/test_kept_reads.py::test_one_who_leaves_hurts_nobody",
        "tests/worksheets/test_write_queue.py::test_client_leaves_after_sending",
        "tests/journeys/test_process.py::test_a_write_whose_client_left_survives_the_end",
    ),
    "CL+TE, two CL, and the other ways to hide a request": (
        "tests/server/test_intake_framing.py::test_every_request_has_one_meaning",
    ),
    "200 MB of head, 300 MB of body": (
        "tests/journeys/test_edge_floods.py::test_a_flood_is_refused_without_memory",
        "tests/journeys/test_edge_floods.py::test_what_is_taken_in_is_seen_in_the_memory",
    ),
    "SIGTERM": (
        "tests/journeys/test_edge_stop.py::test_a_stop_among_all_sorts_of_clients",
        "tests/journeys/test_stopping.py::"
        "test_what_waits_when_the_time_is_over_is_refused_and_never_written",
        "tests/journeys/test_process.py::test_a_write_in_flight_survives_the_end",
    ),
    "a restart under load": (
        "tests/journeys/test_edge_handover.py::test_restarts_lose_no_request",
        "tests/journeys/test_edge_handover.py::test_a_successor_waits_while_the_old_one_ends",
    ),
}
"""Lines that are held by tests which need more than a request or a fault."""
