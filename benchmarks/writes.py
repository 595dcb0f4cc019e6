"""Google calls of writes: 600 creates from 96 clients, and writes to many rows.

Usage: python -m benchmarks.writes

The emulator replaces Google, with 300 ms per call and 60 reads and 60 writes a minute. The gateway
is a process in front of it. The same run measures a naive proxy, which knows the header and appends
once per request, with the default options of gspread's `append_row`. Clients send each create only
once.
"""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
from google.auth.transport.requests import Request as TokenRequest
from google.oauth2.service_account import Credentials
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchmarks.verbs import Naive, one_by_one, seed_rows
from benchmarks.verbs import measure as cost_of
from benchmarks.verbs import ours as operations
from gateway.server.running import in_background, make_server
from gateway.server.sockets import bind

CREATES = 600
CLIENTS = 96
LATENCY_MS = 300
LIMITS = ("--writes-per-minute", "60", "--reads-per-minute", "60")
SPREADSHEET = "book"
WORKSHEET = "Data"
MANY = "Many"
HEADER = ("number", "name", "note")
FIRST_NEW = 3
"""Row number of the first created row."""
SCOPES = ["https://www.googleapis.com/auth/spreadsheets"]
TIMEOUT_SECONDS = 120.0
COMMAND = (sys.executable, "-m", "gateway")

Answer = tuple[int, int]
"""The number of a create and the row number in its 201; row 0 for any other answer."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Results of the creates, and the number of calls."""

    created: int
    writes: int
    reads: int
    refused: int
    seconds: float
    rows: int
    gaps: int
    elsewhere: int
    """Number of creates whose row is not where their 201 says."""


def main() -> None:
    """Print the table."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_seed(folder / "seed")
        google = stack.enter_context(emulator(folder))
        ours, key = stack.enter_context(gateway(folder, google))
        naive = stack.enter_context(naive_proxy(folder, google))
        columns = {
            "gateway": measure(google, [f"{ours}/v2/sheets/{WORKSHEET}"], key),
            "naive proxy": measure(google, [f"{naive}/rows"], key),
        }
        verbs = verb_lines(folder, google, f"{ours}/v2/sheets/{MANY}", key)
    print(f"{CREATES} creates from {CLIENTS} clients, {LATENCY_MS} ms a call, 60 writes a minute")
    print("".join(f"{title:>24}" for title in ("", *columns)))
    for label, text in LINES:
        print("".join(f"{cell:>24}" for cell in (label, *map(text, columns.values()))))
    print("\nWrites to many rows: Google reads + writes, time")
    for line in verbs:
        print("".join(f"{cell:>32}" for cell in line))


def verb_lines(folder: Path, google: str, url: str, key: str) -> list[tuple[str, str, str]]:
    """Return the cost of each operation with the gateway and with one call per row."""
    ours = {"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": SPREADSHEET}
    base = f"{google}/v4/spreadsheets/{SPREADSHEET}"
    theirs = {"Authorization": f"Bearer {token(folder)}"}
    book = httpx2.get(base, params={"fields": "sheets.properties"}, headers=theirs).json()
    ids = {
        each["properties"]["title"]: each["properties"].get("sheetId", 0) for each in book["sheets"]
    }
    naive = Naive(
        values=f"{base}/values/{quote(MANY)}",
        batch_update=f"{base}:batchUpdate",
        sheet_id=ids[MANY],
    )
    return [("", "gateway", "one call each")] + [
        (name, str(cost_of(google, ask, ours)), str(cost_of(google, by_hand, theirs)))
        for (name, ask), by_hand in zip(operations(url).items(), one_by_one(naive), strict=True)
    ]


LINES: Sequence[tuple[str, Callable[[Figures], str]]] = (
    ("answered 201", lambda each: f"{each.created}"),
    ("Google writes", lambda each: f"{each.writes}"),
    ("Google reads", lambda each: f"{each.reads}"),
    ("refused by Google", lambda each: f"{each.refused}"),
    ("seconds", lambda each: f"{each.seconds:.1f}"),
    ("201 a second", lambda each: f"{each.created / each.seconds:.0f}"),
    ("new rows", lambda each: f"{each.rows}"),
    ("blank rows among them", lambda each: f"{each.gaps}"),
    ("201s not where they say", lambda each: f"{each.elsewhere}"),
)


def measure(google: str, urls: Sequence[str], key: str, per_second: float = 0) -> Figures:
    """Send all creates to an API with a fresh worksheet, and check the worksheet.

    Several URLs are several processes of one API. For `per_second` see `create_all`.
    """
    httpx2.post(f"{google}/_emulator/reset").raise_for_status()
    start = time.perf_counter()
    answers = asyncio.run(create_all(urls, key, per_second))
    seconds = time.perf_counter() - start
    stats = httpx2.get(f"{google}/_emulator/stats").json()
    sheet = httpx2.get(f"{google}/_emulator/spreadsheets/{SPREADSHEET}").json()[WORKSHEET]
    rows = [tuple(cell["text"] for cell in row) for row in sheet[FIRST_NEW - 1 :]]
    while rows and not any(rows[-1]):
        rows.pop()
    made = {number: place for number, place in answers if place}
    return Figures(
        created=len(made),
        writes=stats["writes"],
        reads=stats["reads"],
        refused=stats["refused"],
        seconds=seconds,
        rows=sum(1 for row in rows if any(row)),
        gaps=sum(1 for row in rows if not any(row)),
        elsewhere=sum(not is_at(rows, place, number) for number, place in made.items()),
    )


def is_at(rows: Sequence[tuple[str, ...]], place: int, number: int) -> bool:
    """True if this place has the row of the create, and of no other create."""
    index = place - FIRST_NEW
    return 0 <= index < len(rows) and rows[index][:3] == tuple(record(number).values())


def record(number: int) -> dict[str, str]:
    return {name: f"{name} {number}" for name in HEADER}


async def create_all(urls: Sequence[str], key: str, per_second: float = 0) -> list[Answer]:
    """Send all creates, and return their answers.

    Each client uses one URL, and sends its next create after the last answer. With `per_second`
    each create has its own client, and creates start at this rate, however long answers take.
    """
    numbers = iter(range(CREATES))
    clients = CREATES if per_second else CLIENTS
    answers: list[Answer] = []
    headers = {"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": SPREADSHEET}
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx2.AsyncClient(
        headers=headers, limits=limits, timeout=TIMEOUT_SECONDS
    ) as client:

        async def create(url: str, number: int) -> None:
            answer = await client.post(url, json=record(number))
            place = answer.json()["rowIndex"] if answer.status_code == 201 else 0
            answers.append((number, place))

        async def work(client_number: int) -> None:
            url = urls[client_number % len(urls)]
            if per_second:
                await asyncio.sleep(client_number / per_second)
                await create(url, client_number)
                return
            for number in numbers:
                await create(url, number)

        await asyncio.gather(*(work(each) for each in range(clients)))
    return answers


def write_seed(directory: Path) -> None:
    """Write a worksheet with a header and one row, and one with many rows."""
    path = directory / SPREADSHEET / f"{WORKSHEET}.csv"
    path.parent.mkdir(parents=True)
    path.write_text(f"{','.join(HEADER)}\nnumber,name,note\n", encoding="utf-8")
    path.with_name(f"{MANY}.csv").write_text(seed_rows(HEADER), encoding="utf-8")


@contextmanager
def emulator(folder: Path) -> Iterator[str]:
    """Run the emulator with Google's latency and limits, and yield its URL."""
    files = ("--seed", str(folder / "seed"), "--credentials", str(folder / "account.json"))
    with process("emulator", *files, "--latency-ms", str(LATENCY_MS), *LIMITS) as url:
        yield url


@contextmanager
def gateway(folder: Path, google: str) -> Iterator[tuple[str, str]]:
    """Run the gateway with default settings, and yield its URL and a key."""
    config = folder / "config.toml"
    config.write_text(
        f'[google]\nendpoint = "{google}"\ncredentials = "account.json"\n'
        "[plans.paid]\nrequests_per_minute = 1000000\ndeletes = true\n",
        encoding="utf-8",
    )
    options = ("--name", "benchmark", "--spreadsheet", SPREADSHEET, "--delete", "--json")
    made = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, "keys", "create", *options, "--config", str(config)],
        capture_output=True,
        check=True,
    )
    with process("serve", "--config", str(config)) as url:
        yield url, json.loads(made.stdout)["key"]


@contextmanager
def process(*arguments: str) -> Iterator[str]:
    """Run a server command on a free port, and yield its URL."""
    command = [*COMMAND, *arguments, "--port", "0"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        try:
            yield _url(running)
        finally:
            running.kill()


@contextmanager
def naive_proxy(folder: Path, google: str) -> Iterator[str]:
    """Run a proxy that makes one append for each create, and yield its URL."""
    client = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {token(folder)}"}, timeout=TIMEOUT_SECONDS
    )
    app = Starlette(routes=[Route("/rows", appending(client, google), methods=["POST"])])
    with in_background(make_server(app, shutdown_seconds=1), bind("127.0.0.1", 0)) as url:
        yield url


def token(folder: Path) -> str:
    """Return an access token of the account."""
    credentials: Any = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
        str(folder / "account.json"), scopes=SCOPES
    )
    credentials.refresh(TokenRequest())
    return str(credentials.token)


def appending(
    client: httpx2.AsyncClient, google: str
) -> Callable[[Request], Awaitable[JSONResponse]]:
    """Return the only endpoint of the proxy."""
    append = f"{google}/v4/spreadsheets/{SPREADSHEET}/values/{quote(WORKSHEET)}!A1:append"

    async def create(request: Request) -> JSONResponse:
        fields = await request.json()
        row = [fields.get(name) for name in HEADER]
        answer = await client.post(
            append, params={"valueInputOption": "RAW"}, json={"values": [row]}
        )
        if answer.status_code != 200:
            return JSONResponse({"error": answer.json()}, status_code=503)
        found = re.search(r"!A(\d+)", answer.json()["updates"]["updatedRange"])
        return JSONResponse({"rowIndex": int(found[1]) if found else 0, **fields}, 201)

    return create


def _url(running: "subprocess.Popen[str]") -> str:
    for line in running.stdout or ():
        found = re.search(r" on (http://\S+[0-9])", line)
        if found:
            return found[1]
    raise SystemExit("A server did not start.")


if __name__ == "__main__":
    main()
