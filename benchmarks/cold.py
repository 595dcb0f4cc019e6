"""Cost of reads without a cache: a page from Google's bytes, and a row over HTTP."""

import statistics
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from google.auth.transport.requests import AuthorizedSession
from google.oauth2.service_account import Credentials
from gspread.http_client import HTTPClient
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from benchmarks.dialects import WORKSHEET
from benchmarks.processes import SPREADSHEET, Running, Site, emulator, gateway, get, make_site
from benchmarks.report import Line, milliseconds, verdict
from benchmarks.sheet import City, make_cities, write_csv
from gateway.google.rendering import KnownColumns, Limits, read_rendering
from gateway.google.sheets import Render, Rendering
from gateway.google.wire import Answer
from gateway.query.evaluate import evaluate
from gateway.query.operators import AllOf, Comparison, make_operand
from gateway.query.query import Query, SortTerm
from gateway.table import a1
from gateway.table.steps import Work, finish
from gateway.table.table import make_table

GOOGLE = "https://sheets.googleapis.com"
SCOPES = ["https://www.googleapis.com/auth/spreadsheets"]
LATENCY_MS = 300
SMALL_ROWS = 1_000
PAGE_ROUNDS = 9
MOST_HELD_SECONDS = 0.03
UNBOUNDED = 2**40


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Google's two answers with a whole worksheet by column, as bytes."""

    displayed: bytes
    typed: bytes


class Elsewhere(HTTPAdapter):
    """HTTP adapter that sends requests for Google to another base URL."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        request.url = (request.url or "").replace(GOOGLE, self.base)
        return super().send(request, *args, **kwargs)


def page_lines(folder: Path, google: Running, cities: Sequence[City]) -> Sequence[Line]:
    """Compare building a page from Google's bytes with only decoding the same bytes.

    Both run in this process and are in seconds of CPU time. The event loop can run between two
    blocks of the work, so the longest block delays other requests.
    """
    answers = _fetch_answers(_stock_gspread(folder / "account.json", google.url))
    populations = sorted(city.population for city in cities)
    query = _range_query(populations[len(cities) // 10], populations[-len(cities) // 10])
    pairs = [
        (_decoding(answers), _core_seconds(lambda: finish(_page(answers, query))))
        for _ in range(PAGE_ROUNDS)
    ]
    factor = statistics.median(page / decoding for decoding, page in pairs)
    decoding, page = (statistics.median(times) for times in zip(*pairs, strict=True))
    held = statistics.median(_longest_block(_page(answers, query)) for _ in range(PAGE_ROUNDS))
    return [
        Line(
            "cold range + sort + page, from Google's bytes",
            floor=f"msgspec {milliseconds(decoding)}",
            gateway=milliseconds(page),
            core_ratio=f"{factor:.2f}",
            goal="<= 2",
            reached=verdict(factor <= 2),
        ),
        Line(
            "loop held by it",
            gateway=milliseconds(held),
            goal=f"<= {milliseconds(MOST_HELD_SECONDS)}",
            reached=verdict(held <= MOST_HELD_SECONDS),
        ),
    ]


def row_line(folder: Path, rounds: int) -> Line:
    """Compare reading a row of an uncached worksheet with the same call by gspread.

    The first worksheet is read untimed, so that both have signed in and connected.
    """
    titles = [f"Small {number}" for number in range(rounds + 1)]
    for title in titles:
        write_csv(folder / "seed" / SPREADSHEET / f"{title}.csv", make_cities(SMALL_ROWS))
    with emulator(folder, "--latency-ms", str(LATENCY_MS)) as google:
        site = make_site(folder, google.url)
        client = _stock_gspread(folder / "account.json", google.url)
        with gateway(site) as running:
            pairs = list(_row_pairs(running, site, client, titles))[1:]
    factor = statistics.median(through / direct for direct, through in pairs)
    direct, through = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Line(
        f"cold single row, {LATENCY_MS} ms upstream",
        floor=f"gspread {milliseconds(direct)}",
        gateway=milliseconds(through),
        ratio=f"{factor:.3f}",
        goal="<= 1.03",
        reached=verdict(factor <= 1.03),
    )


def _row_pairs(
    running: Running, site: Site, client: HTTPClient, titles: Sequence[str]
) -> Iterator[tuple[float, float]]:
    """Yield the seconds of the direct call, and of the gateway's answer that needs this call."""
    for title in titles:
        range_, parameters = a1.rows_from(title, 1), _parameters(Render.DISPLAYED)
        path = f"/v2/sheets/{quote(title)}/7"
        yield (
            _seconds(partial(client.values_get, SPREADSHEET, range_, parameters)),
            _seconds(partial(get, running, site, path)),
        )


def _stock_gspread(account: Path, google: str) -> HTTPClient:
    """Return gspread's own client, which only connects to another host."""
    credentials = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
        str(account), scopes=SCOPES
    )
    session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    session.mount(GOOGLE, Elsewhere(google))
    return HTTPClient(credentials, session)


def _fetch_answers(client: HTTPClient) -> Answers:
    """Return the bytes of both renderings, requested like the gateway does."""
    url = f"{GOOGLE}/v4/spreadsheets/{SPREADSHEET}/values/{quote(a1.rows_from(WORKSHEET, 1))}"
    displayed, typed = (
        bytes(client.request("get", url, params=_parameters(render)).content) for render in Render
    )
    return Answers(displayed=displayed, typed=typed)


def _parameters(render: Render) -> MutableMapping[str, Any]:
    dates = {"dateTimeRenderOption": "SERIAL_NUMBER"} if render is Render.TYPED else {}
    shape = {"majorDimension": "COLUMNS", "fields": "range,values", "prettyPrint": "false"}
    return {"valueRenderOption": str(render), **dates, **shape}


def _range_query(low: int, high: int) -> Query:
    """Return a range query that is sorted by the same column."""
    least = Comparison("population", "$gte", (make_operand(low),))
    most = Comparison("population", "$lte", (make_operand(high),))
    return Query(where=AllOf((least, most)), order=(SortTerm("population", descending=True),))


def _decoding(answers: Answers) -> float:
    """Return the CPU seconds in which msgspec decodes both answers."""
    decode = msgspec.json.decode
    return _core_seconds(lambda: (decode(answers.displayed), decode(answers.typed)))


def _page(answers: Answers, query: Query) -> Work[bytes]:
    """Compute the encoded rows of a page from the bytes."""
    known = KnownColumns()
    displayed = yield from _rendering(answers.displayed, known)
    typed = yield from _rendering(answers.typed, known)
    table = yield from make_table(displayed.columns).with_typed(typed.columns)
    if table.is_mixed:
        raise SystemExit("The two renderings are from different versions of the worksheet.")
    view = table.header.whole
    page = yield from evaluate(table, query, view)
    return msgspec.json.encode([*table.row_objects(page.rows, view.names, None)])


def _rendering(body: bytes, known: KnownColumns) -> Work[Rendering]:
    """Compute the content of an answer; its digest is computed while the bytes arrive."""
    answer = Answer(status=200, headers={}, body=body, digest=b"")
    half = yield from read_rendering(answer, None, Limits(UNBOUNDED, UNBOUNDED, known))
    if half is None:
        raise SystemExit("A new answer counted as unchanged.")
    return half


def _longest_block(work: Work[object]) -> float:
    """Return the CPU seconds of the longest block of the work."""
    longest, started = 0.0, time.thread_time()
    for _ in work:
        longest = max(longest, time.thread_time() - started)
        started = time.thread_time()
    return longest


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _core_seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started
