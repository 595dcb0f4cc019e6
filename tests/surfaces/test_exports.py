"""Exports: formats, refusals, charge and calls, one snapshot, and what ends one in between."""

import asyncio
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas
import pytest
from starlette.types import Message
from structlog.testing import capture_logs

from gateway.access.rates import MAX_EXPORTS, MAX_EXPORTS_OF_KEY
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from gateway.web.exports import PART_BYTES, disposition
from tests.asgi_client import Answer
from tests.fakes import Formatted, Held
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

KEYS: Mapping[str, KeyRequest] = {
    name: KeyRequest(name=name, plan=name, grants=Grants(spreadsheets=GRANTED))
    for name in ("paid", "free", "small", "none", "slow")
} | {
    "clerk": KeyRequest(
        name="clerk",
        grants=Grants(spreadsheets=GRANTED, columns=ColumnGrant(frozenset({"name", "amount"}))),
    )
}
SETTINGS: Mapping[str, object] = {
    "plans.paid.requests_per_minute": 0,
    "plans.small.max_export_rows": 3,
    "plans.none.max_export_rows": 0,
    "plans.slow.requests_per_minute": 6,
    "cache.rows_ttl_seconds": 600,
    "cache.header_ttl_seconds": 600,
}
JSON = ("Content-Type", "application/json")
Cells = Sequence[Held | None]
ODD: Sequence[Cells] = [
    ["name", "amount", "day", "done", "note"],
    ["Ann", Formatted(-1234.5, "-$1,234.50"), Formatted(46054, "1 Feb 2026"), True, 'say "hi"'],
    ["Bob, jr.", Formatted(0.125, "12.5%"), Formatted(0.4375, "10:30 AM"), False, "a\nb"],
    ["Zoë 🏙", 0, Formatted(-0.5, "-12:00:00"), True, "a\rb"],
    ["", None, None, None, Formatted("#N/A (Did not find it.)", "#N/A")],
    ["007", 5, "2026-02-01", "TRUE", "\ttab"],
]


@contextmanager
def opened(
    folder: Path, lines: Sequence[Cells] = ODD, settings: Mapping[str, object] | None = None
) -> Iterator[Surface]:
    """Open the application with the worksheet `Odd`, of which nothing is cached."""
    with open_surface(folder, KEYS, {**SETTINGS, **(settings or {})}) as surface:
        surface.sheets.add("Odd", lines)
        yield surface


def get(surface: Surface, target: str, **more: Any) -> tuple[Answer, int]:
    """Return the answer and its reads."""
    before = surface.calls.reads
    answer = surface.send("GET", target, **more)
    return answer, surface.calls.reads - before


def lines_of(answer: Answer) -> list[list[str]]:
    assert answer.status_code == 200, answer.content
    return [*csv.reader(io.StringIO(answer.content.decode(), newline=""))]


def records_of(surface: Surface, query: str) -> Any:
    return surface.send("GET", f"Odd?limit=100&{query}").json()["results"]


def numbered(count: int, text: str = "x") -> Sequence[Cells]:
    lines: list[Cells] = [[f"{text}{at}", at] for at in range(count)]
    return [["name", "number"], *lines]


TYPE = {
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson; charset=utf-8",
    "json": "application/json; charset=utf-8",
}
DISPLAYED = (
    b"rowIndex,name,amount,day,done,note\r\n"
    b'2,Ann,"-$1,234.50",1 Feb 2026,TRUE,"say ""hi"""\r\n'
    b'3,"Bob, jr.",12.5%,10:30 AM,FALSE,"a\nb"\r\n'
    b'4,Zo\xc3\xab \xf0\x9f\x8f\x99,0,-12:00:00,TRUE,"a\rb"\r\n'
    b"5,,,,,#N/A\r\n"
    b"6,007,5,2026-02-01,TRUE,'\ttab\r\n"
)
TYPED = (
    b"rowIndex,name,amount,day,done,note\r\n"
    b'2,Ann,-1234.5,2026-02-01,true,"say ""hi"""\r\n'
    b'3,"Bob, jr.",0.125,10:30:00,false,"a\nb"\r\n'
    b'4,Zo\xc3\xab \xf0\x9f\x8f\x99,0,-PT12H,true,"a\rb"\r\n'
    b"5,,,,,\r\n"
    b"6,007,5,2026-02-01,TRUE,'\ttab\r\n"
)


@pytest.mark.parametrize(("values", "expected"), [("displayed", DISPLAYED), ("typed", TYPED)])
def test_csv_has_a_line_for_each_row(tmp_path: Path, values: str, expected: bytes) -> None:
    """CSV follows RFC 4180 in UTF-8: the names first, then cells as displayed or typed."""
    with opened(tmp_path) as surface:
        answer, _ = get(surface, f"Odd?format=csv&values={values}")

    assert answer.content == expected
    assert answer.headers["content-type"] == TYPE["csv"]
    assert answer.headers["content-disposition"] == 'attachment; filename="Odd.csv"'
    assert answer.headers["x-total-count"] == "5"


@pytest.mark.parametrize("values", ["displayed", "typed"])
@pytest.mark.parametrize("empty", ["null", "", "omit"])
def test_json_is_as_lists_have_it(tmp_path: Path, values: str, empty: str) -> None:
    """JSON Lines has one record per line, and the JSON document has all rows."""
    with opened(tmp_path, settings={"api.empty_cell": empty}) as surface:
        records = records_of(surface, f"values={values}")
        lines, _ = get(surface, f"Odd?format=ndjson&values={values}")
        whole, _ = get(surface, f"Odd?format=json&values={values}")
        listed = surface.send("GET", f"Odd?limit=100&values={values}")

    assert lines.content.endswith(b"}\n")
    assert [json.loads(line) for line in lines.content.split(b"\n")[:-1]] == records
    assert whole.content == listed.content
    assert (lines.headers["content-type"], whole.headers["content-type"]) == (
        TYPE["ndjson"],
        TYPE["json"],
    )
    assert (lines.headers["x-total-count"], whole.headers["x-total-count"]) == ("5", "5")


@pytest.mark.parametrize(
    ("query", "rows", "total"),
    [
        ("", [2, 3, 4, 5, 6], "5"),
        ("limit=2", [2, 3], "5"),
        ("limit=2&skip=1", [3, 4], "5"),
        ("limit=0", [], "5"),
        ("skip=9", [], "5"),
        ("order=-rowIndex", [6, 5, 4, 3, 2], "5"),
        ("where=" + quote('{"amount":{"$gte":0}}'), [3, 4, 6], "3"),
        ("where=" + quote('{"amount":{"$gte":0}}') + "&order=-amount&limit=1", [6], "3"),
        ("where=" + quote('{"name":"nobody"}'), [], "0"),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"cache.window_above_cells": 1}], ids=["all", "windows"])
def test_an_export_has_the_rows_that_match(
    tmp_path: Path, query: str, rows: Sequence[int], total: str, settings: Mapping[str, object]
) -> None:
    """All formats have the same rows, and the total is the number of matching rows."""
    with opened(tmp_path, settings=settings) as surface:
        as_csv, as_lines, as_json = (
            get(surface, f"Odd?format={each}&{query}")[0] for each in ("csv", "ndjson", "json")
        )

    assert [int(line[0]) for line in lines_of(as_csv)[1:]] == rows
    assert [json.loads(line)["rowIndex"] for line in as_lines.content.splitlines()] == rows
    assert [record["rowIndex"] for record in as_json.json()["results"]] == rows
    assert {each.headers["x-total-count"] for each in (as_csv, as_lines, as_json)} == {total}


def test_an_export_has_the_selected_fields(tmp_path: Path) -> None:
    """An export has the selected fields in the order of the worksheet."""
    with opened(tmp_path) as surface:
        answer, _ = get(surface, "Odd?format=csv&keys=amount,name&limit=1")

    assert answer.content == b'rowIndex,name,amount\r\n2,Ann,"-$1,234.50"\r\n'


ACCEPTS: Mapping[str, str] = {
    "text/csv": "csv",
    "Text/CSV; charset=utf-8": "csv",
    "application/x-ndjson": "ndjson",
    "text/csv, */*": "csv",
    "text/csv, */*;q=0.1": "csv",
    "text/csv;q=0.9, */*;q=0.8": "csv",
    "text/csv;q=0.5, application/x-ndjson": "ndjson",
    "text/csv, application/x-ndjson": "csv",
    "application/json;q=0.5, text/csv": "csv",
    "application/json, text/csv": "list",
    "text/csv, application/json": "list",
    "text/csv;q=0.5, application/json": "list",
    "text/csv;q=0.5, */*": "list",
    "text/csv;q=0": "list",
    "text/*": "list",
    "*/*": "list",
    "": "list",
    "application/json": "list",
    "application/json, text/plain, */*": "list",
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": "list",
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("accept", ACCEPTS)
def test_accept_chooses_the_format(tmp_path: Path, accept: str, method: str) -> None:
    """The weights in `Accept` choose the format.

    A header without an export format gets the list.
    """
    with opened(tmp_path) as surface:
        answer = surface.send(method, "Odd", headers=[("Accept", accept)])
        without = surface.send(method, "Odd")

    kind = ACCEPTS[accept]
    assert answer.headers["content-type"] == TYPE.get(kind, TYPE["json"])
    assert ("x-total-count" in answer.headers) == (kind != "list")
    if kind == "list":
        assert answer.content == without.content
        assert answer.headers["etag"] == without.headers["etag"]


def test_accept_chooses_among_several_lines(tmp_path: Path) -> None:
    """Several `Accept` lines count as one."""
    with opened(tmp_path) as surface:
        answer = surface.send(
            "GET", "Odd", headers=[("Accept", "application/json;q=0.1"), ("Accept", "text/csv")]
        )

    assert answer.headers["content-type"] == TYPE["csv"]


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        ("format=ndjson", "text/csv", "ndjson"),
        ("format=json", "text/csv", "json"),
        ("format=CSV", "application/json", "csv"),
        ("format=", "text/csv", "csv"),
        ("format=&formulas=", "text/csv", "csv"),
    ],
)
def test_format_wins(tmp_path: Path, query: str, accept: str, kind: str) -> None:
    """`format` wins over `Accept`. An empty `format` counts as absent."""
    with opened(tmp_path) as surface:
        answer = surface.send("GET", f"Odd?{query}", headers=[("Accept", accept)])

    assert answer.headers["content-type"] == TYPE[kind]
    assert answer.headers["x-total-count"] == "5"


@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("Odd?format=xml", "csv, ndjson, json"),
        ("Odd?format=csv&format=json", "more than once"),
        ("Odd?format=csv&formulas=guard", "raw"),
        ("Odd?format=ndjson&formulas=raw", "only with format=csv"),
        ("Odd?format=csv&count=true", "X-Total-Count"),
        ("Odd?format=csv&limit=-1", "limit"),
        ("Odd?format[]=csv", "format"),
        ("Odd?Format=csv", "format"),
        ("Odd?formulas=raw", "formulas"),
        ("Odd?tqx=out:csv", "format=csv"),
        ("Odd/2?format=csv", "format"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, target: str, word: str) -> None:
    """An invalid parameter gets an error that names valid values, without a call."""
    with opened(tmp_path) as surface:
        outcome, answer = surface.refused("GET", target)

    assert outcome == (400, 4002)
    assert word in answer.json()["message"]


@pytest.mark.parametrize(
    ("key", "target", "expected"),
    [
        pytest.param("none", "Odd?format=csv", (403, 4034), id="no exports"),
        pytest.param("none", "Odd?format=nosuch", (403, 4034), id="before its parameters"),
        pytest.param("free", "Odd?format=csv&order=name", (403, 4034), id="order"),
        pytest.param("free", "Odd?format=csv&where={}", (403, 4034), id="where"),
        pytest.param("free", "Odd?format=csv", (200, 0), id="all rows"),
    ],
)
def test_a_plan_may_exclude_exports(
    tmp_path: Path, key: str, target: str, expected: tuple[int, int]
) -> None:
    """A plan can exclude exports, and their filters and orders."""
    with opened(tmp_path) as surface:
        answer, reads = get(surface, target, key=key)

    if expected[1]:
        assert (refused(answer), reads) == (expected, 0)
    else:
        assert answer.status_code == expected[0]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", None),
        ("limit=4", None),
        ("limit=3", [2, 3, 4]),
        ("limit=9&skip=3", [5, 6]),
        ("where=" + quote('{"amount":{"$gte":0}}'), [3, 4, 6]),
    ],
)
def test_more_rows_than_the_plan_allows_are_refused(
    tmp_path: Path, query: str, expected: Sequence[int] | None
) -> None:
    """Too many rows are an error before the first byte, with both numbers.

    A smaller limit passes.
    """
    with opened(tmp_path) as surface:
        answer, _ = get(surface, f"Odd?format=csv&{query}", key="small")

    if expected is None:
        assert refused(answer) == (400, 4002)
        assert answer.json()["message"].startswith("5 rows match, but ")
        assert " at most 3 rows" in answer.json()["message"]
    else:
        assert [int(line[0]) for line in lines_of(answer)[1:]] == expected


def test_a_large_limit_is_no_smaller_one(tmp_path: Path) -> None:
    """An export is never cut silently."""
    with opened(tmp_path) as surface:
        outcome, _ = surface.refused("GET", "Odd?format=json&limit=1000000", key="small", reads=1)

    assert outcome == (400, 4002)


@pytest.mark.parametrize(
    ("target", "cold", "warm"),
    [
        ("Cities?format=csv", 1, 0),
        ("Cities?format=ndjson", 1, 0),
        ("Cities?format=json", 1, 0),
        ("Cities?format=csv&values=typed", 2, 0),
        ("Cities?format=ndjson&order=name", 2, 0),
        ("Odd?format=csv", 2, 0),
        ("Odd?format=csv&formulas=raw", 1, 0),
        ("Odd?format=csv&keys=name", 1, 0),
        ("Odd?format=csv&limit=2&keys=name,note", 1, 0),
        ("Odd?format=ndjson", 1, 0),
    ],
)
def test_an_export_costs_one_or_two_calls(
    tmp_path: Path, target: str, cold: int, warm: int
) -> None:
    """Typed values are read if they are requested, or if a displayed text looks like a formula."""
    with opened(tmp_path) as surface:
        _, first = get(surface, target)
        _, again = get(surface, target)

    assert (first, again) == (cold, warm)


def test_calls_do_not_depend_on_hidden_columns(tmp_path: Path) -> None:
    """A text in a hidden column that looks like a formula causes no read."""
    with opened(tmp_path) as surface:
        answer, reads = get(surface, "Odd?format=csv", key="clerk")

    assert reads == 1
    assert lines_of(answer)[0] == ["rowIndex", "name", "amount"]
    assert b"tab" not in answer.content


FIELDS = ["name", "amount", "day", "done", "note"]


def spelled(cell: object) -> str:
    """Return a JSON value as CSV has it."""
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


@pytest.mark.parametrize("values", ["displayed", "typed"])
def test_readers_of_csv_find_the_cells(tmp_path: Path, values: str) -> None:
    """Python's csv module and pandas read the same values as a list."""
    with opened(tmp_path) as surface:
        records = records_of(surface, f"values={values}")
        answer, _ = get(surface, f"Odd?format=csv&formulas=raw&values={values}")
    expected = [[spelled(cell) for cell in record.values()] for record in records]
    frame = pandas.read_csv(io.BytesIO(answer.content), dtype=str, keep_default_na=False)

    assert lines_of(answer)[1:] == expected
    assert [*frame.columns] == ["rowIndex", *FIELDS]
    assert frame.to_numpy().tolist() == expected


def test_pandas_reads_json_lines(tmp_path: Path) -> None:
    """pandas reads typed JSON Lines with numbers and booleans."""
    with opened(tmp_path) as surface:
        records = records_of(surface, "values=typed")
        answer, _ = get(surface, "Odd?format=ndjson&values=typed")
    frame = pandas.read_json(io.BytesIO(answer.content), lines=True, dtype=False)

    assert [*frame["rowIndex"]] == [record["rowIndex"] for record in records]
    assert [*frame["amount"].dropna()] == [
        each["amount"] for each in records if each["amount"] is not None
    ]
    assert [*frame["done"].dropna()] == [
        each["done"] for each in records if each["done"] is not None
    ]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Cities", 'attachment; filename="Cities.csv"'),
        ("My Sheet (2)", 'attachment; filename="My Sheet (2).csv"'),
        ("Städte", "attachment; filename=\"St_dte.csv\"; filename*=UTF-8''St%C3%A4dte.csv"),
        ('a"b\\c', "attachment; filename=\"a_b_c.csv\"; filename*=UTF-8''a%22b%5Cc.csv"),
        ("a\r\nX: y", "attachment; filename=\"a__X_ y.csv\"; filename*=UTF-8''a%0D%0AX%3A%20y.csv"),
        ("../x", "attachment; filename=\".._x.csv\"; filename*=UTF-8''..%2Fx.csv"),
        ("100%", "attachment; filename=\"100_.csv\"; filename*=UTF-8''100%25.csv"),
        ("x;y", "attachment; filename=\"x_y.csv\"; filename*=UTF-8''x%3By.csv"),
        ("x" * 200, f'attachment; filename="{"x" * 100}.csv"'),
    ],
)
def test_the_file_has_the_name_of_the_worksheet(title: str, expected: str) -> None:
    """The file name in `Content-Disposition` (RFC 6266) is the title, safely encoded."""
    assert disposition(title, ".csv") == expected


def test_pages_may_read_the_headers_of_exports(tmp_path: Path) -> None:
    """CORS exposes the headers of exports and of all answers."""
    with opened(tmp_path) as surface:
        answer = surface.send("GET", "Odd?format=csv", headers=[("Origin", "https://page.example")])
    exposed = b", ".join(
        value for name, value in answer.pairs if name == b"access-control-expose-headers"
    )

    assert {"Content-Disposition", "X-Total-Count", "X-Request-Id"} <= {
        *exposed.decode().split(", ")
    }


def test_head_makes_no_rows(tmp_path: Path) -> None:
    """HEAD has the headers of the export, and is charged as one request."""
    with opened(tmp_path, numbered(2000)) as surface, capture_logs() as logs:
        head = surface.send("HEAD", "Odd?format=csv", key="slow")
        got = surface.send("GET", "Odd?format=csv", key="slow")

    assert head.content == b""
    assert (head.headers["x-total-count"], got.headers["x-total-count"]) == ("2000", "2000")
    assert head.headers["content-disposition"] == got.headers["content-disposition"]
    assert head.headers["ratelimit"].startswith('"default";r=9;')
    assert [line.get("rows") for line in logs if line["event"] == "request"] == [None, 2000]


@pytest.mark.parametrize(
    ("rows", "left"), [(0, 9), (999, 9), (1000, 8), (5999, 4), (9999, 0), (20_000, 0)]
)
def test_an_export_is_charged_by_its_rows(tmp_path: Path, rows: int, left: int) -> None:
    """An export costs one request, and one more for each 1,000 rows, even above the burst."""
    with opened(tmp_path, numbered(20_000)) as surface:
        answer = surface.send("GET", f"Odd?format=ndjson&limit={rows}", key="slow")
        after = surface.send("GET", "Odd?limit=1", key="slow")

    assert answer.status_code == 200
    assert answer.headers["ratelimit"].startswith(f'"default";r={left};')
    assert (after.status_code == 200) == (left > 0)
    if rows == 20_000:
        assert 90 <= int(after.headers["retry-after"]) <= 120


@pytest.mark.parametrize("query", ["", "&no-cache=true"])
def test_an_export_beyond_the_rate_is_paid_over_time(tmp_path: Path, query: str) -> None:
    """An export above the rate is answered, and later requests wait until it is paid."""
    with opened(tmp_path, numbered(9000)) as surface:
        surface.send("GET", "Odd?limit=1", key="slow")
        answer = surface.send("GET", f"Odd?format=ndjson{query}", key="slow")
        after = surface.send("GET", "Odd?format=ndjson", key="slow")

    assert (answer.status_code, refused(after)) == (200, (429, 4290))
    assert answer.headers["ratelimit"].startswith('"default";r=0;')
    owed = 2 + (4 if query else 0)
    assert 10 * owed - 2 <= int(after.headers["retry-after"]) <= 10 * owed


def test_the_line_of_the_log_has_rows_and_bytes(tmp_path: Path) -> None:
    """The log line of an export has rows and bytes. Other lines do not."""
    with opened(tmp_path) as surface, capture_logs() as logs:
        answer = surface.send("GET", "Odd?format=csv")
        surface.send("GET", "Odd")
    export, listed = (line for line in logs if line["event"] == "request")

    assert (export["operation"], export["rows"], export["bytes"]) == (
        "export",
        5,
        len(answer.content),
    )
    assert export["cache"] == "miss"
    assert not {"operation", "rows", "bytes"} & {*listed}


LONG: list[Cells] = [["name", "number"]]
LONG += [[f"{at}" * (at * 37 % 1500), at] for at in range(3000)]
"""Rows of all lengths."""


@pytest.mark.parametrize("values", ["displayed", "typed"])
@pytest.mark.parametrize("order", ["", "&order=-number"])
def test_many_blocks_are_one_export(tmp_path: Path, values: str, order: str) -> None:
    """A large export has each row once and in order."""
    with opened(tmp_path, LONG, {"plans.paid.max_limit": 1000}) as surface:
        target = f"Odd?values={values}{order}"
        pages = [
            surface.send("GET", f"{target}&limit=1000&skip={skip}").json()["results"]
            for skip in (0, 1000, 2000)
        ]
        as_csv, _ = get(surface, f"{target}&format=csv&formulas=raw")
        as_lines, _ = get(surface, f"{target}&format=ndjson")
        as_json, _ = get(surface, f"{target}&format=json")
    records = [record for page in pages for record in page]

    assert [json.loads(line) for line in as_lines.content.splitlines()] == records
    assert as_json.json()["results"] == records
    assert lines_of(as_csv)[1:] == [
        ["" if cell is None else str(cell) for cell in record.values()] for record in records
    ]


# What happens while an export is sent


class Reading:
    """A client that reads parts of an answer when the test says so."""

    def __init__(self, surface: Surface, target: str, key: str = "paid") -> None:
        self._surface, self._target, self._key = surface, target, key
        self.messages: list[Message] = []
        self.has_part = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def run(self) -> None:
        path, _, query = self._target.partition("?")
        key = self._surface.keys[self._key].encode()
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": f"/v2/sheets/{path}",
            "raw_path": f"/v2/sheets/{path}".encode(),
            "query_string": query.encode(),
            "headers": [(b"api-key", key), (b"x-spreadsheet-id", b"book")],
            "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 8000),
            "state": dict(self._surface.state),
        }
        await self._surface.app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.messages.append(message)
        if message["type"] == "http.response.body" and message["body"]:
            self.has_part.set()
            await self.may_go_on.wait()

    @property
    def status(self) -> int:
        status: int = self.messages[0]["status"]
        return status

    @property
    def body(self) -> bytes:
        return b"".join(each["body"] for each in self.messages[1:])

    @property
    def is_whole(self) -> bool:
        return len(self.messages) > 1 and not self.messages[-1].get("more_body", False)


def run(surface: Surface, scenario: Callable[[], Any]) -> Any:
    return surface.portal.call(scenario)


def test_a_block_is_made_when_the_last_one_was_taken(tmp_path: Path) -> None:
    """A client that does not read keeps one part of limited size in memory."""
    with opened(tmp_path, numbered(20_000)) as surface:
        reading = Reading(surface, "Odd?format=json")

        async def scenario() -> int:
            task = asyncio.create_task(reading.run())
            await reading.has_part.wait()
            for _ in range(100):
                await asyncio.sleep(0)
            taken = len(reading.messages)
            reading.may_go_on.set()
            await task
            return taken

        taken = run(surface, scenario)

    assert taken == 2
    assert max(len(each["body"]) for each in reading.messages[1:]) <= PART_BYTES
    assert len(json.loads(reading.body)["results"]) == 20_000


@pytest.mark.parametrize("values", ["displayed", "typed"])
def test_an_export_is_of_one_snapshot(tmp_path: Path, values: str) -> None:
    """Rows written, deleted or read again during an export do not change it."""
    with opened(tmp_path, numbered(10_000)) as surface:
        reading = Reading(surface, f"Odd?format=ndjson&values={values}")

        async def begin() -> asyncio.Task[None]:
            task = asyncio.create_task(reading.run())
            await reading.has_part.wait()
            return task

        async def end() -> None:
            reading.may_go_on.set()
            await task

        task = run(surface, begin)
        surface.send("PATCH", "Odd/9000", headers=[JSON], body=b'{"name":"!"}')
        surface.sheets.worksheets[-1].delete_rows(5000, 100)
        after = surface.send("GET", "Odd?limit=0&count=true&no-cache=true")
        run(surface, end)
    headers = dict(reading.messages[0]["headers"])
    records = [json.loads(line) for line in reading.body.splitlines()]

    assert after.json()["total"] == 9_900
    assert headers[b"x-total-count"] == b"10000"
    assert [record["rowIndex"] for record in records] == [*range(2, 10_002)]
    assert records[8998]["name"] == "x8998"


def test_a_worksheet_that_changes_before_its_types_are_read(tmp_path: Path) -> None:
    """The rows and their number come from the later read."""
    with opened(tmp_path) as surface:
        surface.send("GET", "Odd")
        for _ in range(3):
            rows = surface.sheets.worksheets[-1].rows
            surface.sheets.worksheets[-1].type(rows + 1, "=new", 1)
        answer, reads = get(surface, "Odd?format=csv")

    assert answer.headers["x-total-count"] == "8"
    assert [line[1] for line in lines_of(answer)[6:]] == ["'=new"] * 3
    assert 1 <= reads <= 3


def test_a_fifth_export_is_refused(tmp_path: Path) -> None:
    """At most four exports run at once for all keys. Lists are still answered."""
    with opened(tmp_path, numbered(20_000)) as surface:
        keys = ["paid", "free"] * (MAX_EXPORTS // 2)
        readings = [Reading(surface, "Odd?format=csv", key) for key in keys]

        async def begin() -> list[asyncio.Task[None]]:
            tasks = [asyncio.create_task(each.run()) for each in readings]
            await asyncio.gather(*(each.has_part.wait() for each in readings))
            return tasks

        async def end(reading: Reading, task: asyncio.Task[None]) -> None:
            reading.may_go_on.set()
            await task

        tasks = run(surface, begin)
        fifth, reads = get(surface, "Cities?format=csv", key="slow")
        listed = surface.send("GET", "Odd")
        surface.portal.call(end, readings[0], tasks[0])
        again = surface.send("GET", "Cities?format=csv")
        for reading, task in zip(readings[1:], tasks[1:], strict=True):
            surface.portal.call(end, reading, task)

    assert (refused(fifth), reads, listed.status_code) == ((429, 4291), 0, 200)
    assert again.status_code == 200
    assert {len(each.body) for each in readings} == {len(readings[0].body)}


def test_a_third_export_of_a_key_is_refused(tmp_path: Path) -> None:
    """At most two exports of a key run at once, so that other keys can export."""
    with opened(tmp_path, numbered(20_000)) as surface:
        readings = [Reading(surface, "Odd?format=csv") for _ in range(MAX_EXPORTS_OF_KEY)]

        async def begin() -> list[asyncio.Task[None]]:
            tasks = [asyncio.create_task(each.run()) for each in readings]
            await asyncio.gather(*(each.has_part.wait() for each in readings))
            return tasks

        async def end(tasks: list[asyncio.Task[None]]) -> None:
            for each in readings:
                each.may_go_on.set()
            await asyncio.gather(*tasks)

        tasks = run(surface, begin)
        third, other = (surface.send("GET", "Odd?format=csv", key=key) for key in ("paid", "free"))
        surface.portal.call(end, tasks)

    assert (refused(third), other.status_code) == ((429, 4291), 200)


def test_what_fails_before_the_first_byte_is_an_error(tmp_path: Path) -> None:
    """A failure before the first byte, here invalid Unicode, is a usual error answer."""
    with opened(tmp_path, [["name"], ["\ud800"]]) as surface, capture_logs():
        answer = surface.send("GET", "Odd?format=ndjson")

    assert refused(answer) == (500, 5000)


def test_a_client_that_goes_frees_its_place(tmp_path: Path) -> None:
    """Clients that disconnect during exports do not block later exports."""
    with opened(tmp_path, numbered(20_000)) as surface:

        async def cut() -> None:
            reading = Reading(surface, "Odd?format=csv")
            task = asyncio.create_task(reading.run())
            await reading.has_part.wait()
            task.cancel()
            await asyncio.wait([task])

        for _ in range(MAX_EXPORTS + 1):
            run(surface, cut)
        answer = surface.send("GET", "Odd?format=csv")

    assert len(lines_of(answer)) == 20_001


def test_what_fails_in_between_has_no_end(tmp_path: Path) -> None:
    """After a later failure, here invalid Unicode, the connection is cut and the error logged."""
    with opened(tmp_path, [*numbered(9_000), ["\ud800"]]) as surface, capture_logs() as logs:
        reading = Reading(surface, "Odd?format=ndjson")

        async def scenario() -> None:
            task = asyncio.create_task(reading.run())
            await reading.has_part.wait()
            reading.may_go_on.set()
            await task

        run(surface, scenario)
    line = next(each for each in logs if each["event"] == "request")

    assert (reading.status, reading.is_whole) == (200, False)
    assert (line["status"], line["code"]) == (200, 5000)
    assert line["bytes"] == len(reading.body)
