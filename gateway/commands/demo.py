"""The command `sheets-gateway demo`: a gateway on the emulator, with a sample workbook or a file.

Rules of the curl commands that the demo prints:
- Each command works when it is pasted into a shell, also twice.
- Field names and cells can come from any file, so they are quoted for the shell, and their control
  characters are escaped.
"""

import asyncio
import http.client
import json
import re
import shlex
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from secrets import token_bytes
from typing import Any
from urllib.parse import quote, urlsplit

from gateway.access.keys import ALPHABET, RandomBytes
from gateway.app import create_app
from gateway.commands.admin import opened_admins
from gateway.commands.doctor.account import check_accounts
from gateway.commands.doctor.reasons import Finding, warning
from gateway.commands.options import DEMO_SPREADSHEET, new_key
from gateway.commands.serve import with_console
from gateway.commands.terminal import say
from gateway.server.running import GatewayServer, in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.address import is_loopback
from gateway.settings.model import Settings, load_settings
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.quoting import printable_json
from gateway.telemetry.events import configure_logging
from sheets_emulator.app import EmulatorOptions, create_emulator
from sheets_emulator.state.seed import Seed

SAMPLE = Path(__file__).parent / "sample"

_PUBLIC_DIGITS = "PublicKeyOfTheDemoOnLoopback00"
"""Digits of the full-access key in the documentation, used for the sample workbook."""

_CONFIG = """
google.reads_per_minute = 600
google.writes_per_minute = 600
plans.paid.deletes = true
"""
"""TOML: settings of every demo. The limits of calls are high, as the emulator has no quota."""
_CONFIG_OF_SAMPLE = f"""
[[worksheets]]
spreadsheet = "{DEMO_SPREADSHEET}"
title = "Repairs"
header_row = 3
record_field = "task"
"""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A running demo: its URLs, keys and worksheets."""

    url: str
    emulator_url: str
    sign_in_url: str
    """URL of the console, with a token for one sign-in."""
    config: Path
    """Configuration file of the demo, for `sheets-gateway keys --config`."""
    admin_key: str
    full_key: str
    unfiltered_key: str
    read_only_key: str
    fields: Mapping[str, Sequence[str]]
    """Field names of each worksheet, by the path of its URL."""
    example: "Example"
    findings: Sequence[Finding]
    """Warnings from reading the file, and findings of `check` about the worksheets."""

    def curl_lines(self) -> Iterator[tuple[str, str]]:
        """Yield the title and the text of each curl command."""
        example, full = self.example, _headers(self.full_key)
        rows = f"{self.url}{example.path}"
        where = shlex.quote(f"where={printable_json(example.where)}")
        order = shlex.quote(f"order={example.order}")
        created = shlex.quote(printable_json(example.created))
        change = shlex.quote(printable_json(example.change))
        create = ("create a row", f"{_CURL} '{rows}' {full} {_SEND} {created}")
        if not example.rows:
            yield create
        yield "list rows", f"{_CURL} '{rows}?limit=3' {full}"
        yield (
            "search and sort",
            f"{_CURL} -G '{rows}' {full} --data-urlencode {where} --data-urlencode {order}",
        )
        yield "read one row", f"{_CURL} '{rows}/2' {full}"
        yield (
            "list numbers, dates and checkboxes as such",
            f"{_CURL} '{self.url}{example.typed_path}?limit=3&values=typed' {full}",
        )
        if example.rows:
            yield create
        yield (
            "update the row that was created",
            f"{_CURL} '{rows}/{example.rows + 2}' {full} {_SEND} {change}",
        )
        yield (
            "an error: this key can only read",
            f"{_CURL} '{rows}' {_headers(self.read_only_key)} {_SEND} {created}",
        )
        yield (
            "an error: the plan of this key does not allow sorting",
            f"{_CURL} -G '{rows}' {_headers(self.unfiltered_key)} --data-urlencode {order}",
        )


@contextmanager
def running_demo(
    listening: socket.socket, environ: Mapping[str, str], seed: Seed | None = None
) -> Iterator[Demo]:
    """Serve the demo on `listening` during the block, then delete its data.

    `environ` has variables with settings; a `config.toml` in the working directory is ignored. The
    emulator has the spreadsheet of `seed`, by default the sample workbook. Raises ConfigError for
    invalid settings, and NoExample if no worksheet can be served.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sheets-gateway-")))
        emulator = create_emulator(EmulatorOptions(seed=seed or SAMPLE))
        emulator_socket = bind("127.0.0.1", 0)
        credentials = folder / "service-account.json"
        emulator.write_credentials(credentials, base_url(emulator_socket))
        console = bind("127.0.0.1", 0)
        own = {
            "google.endpoint": base_url(emulator_socket),
            "google.credentials": str(credentials),
            "access.database": str(folder / "keys.db"),
            "admin.listen": urlsplit(base_url(console)).netloc,
        }
        config = folder / "config.toml"
        config.write_text(
            "".join(f"{name} = {json.dumps(value)}\n" for name, value in own.items())
            + _CONFIG
            + (_CONFIG_OF_SAMPLE if seed is None else "")
        )
        settings = load_settings(config, environ, own)
        host = listening.getsockname()[0]
        keys, admin_key, token = asyncio.run(_create_keys(settings, full_bytes(host, seed)))
        full, unfiltered, read_only = keys
        emulator_server = make_server(emulator.app, shutdown_seconds=1)
        emulator_url = stack.enter_context(in_background(emulator_server, emulator_socket))
        app = with_console(create_app(settings), settings, console, beside=listening)
        server = GatewayServer(app, settings.server, proxies=settings.access.trusted_proxies)
        url = stack.enter_context(in_background(server, listening, console))
        fields = find_fields(url, full)
        yield Demo(
            url=url,
            emulator_url=emulator_url,
            sign_in_url=f"{base_url(console)}/sign-in#{token}",
            config=config,
            admin_key=admin_key,
            full_key=full,
            unfiltered_key=unfiltered,
            read_only_key=read_only,
            fields=fields,
            example=CITIES if seed is None else find_example(url, full, fields),
            findings=[*map(warning, emulator.notes), *asyncio.run(_findings(settings))],
        )


def full_bytes(host: str, seed: Seed | None) -> RandomBytes:
    """Return the source of bytes for the full-access key.

    The key is the key in the documentation if the demo serves the sample workbook on loopback.
    Otherwise the key is random.
    """
    digits = bytes(map(ALPHABET.index, _PUBLIC_DIGITS))
    return (lambda count: digits[:count]) if seed is None and is_loopback(host) else token_bytes


@contextmanager
def log_in_file() -> Iterator[Path]:
    """Write the log to a temporary file during the block. Yields the path of the file.

    Prints the log if a server cannot start.
    """
    with tempfile.TemporaryDirectory(prefix="sheets-gateway-log-") as folder:
        path = Path(folder) / "requests.log"
        with path.open("w", encoding="utf-8") as stream:
            configure_logging(stream)
            try:
                yield path
            except RuntimeError:  # a server cannot start
                say(*path.read_text("utf-8").splitlines(), err=True)
                raise
            finally:
                configure_logging()


def stop_at_signal() -> SimpleQueue[int]:
    """Return a queue into which SIGINT, SIGTERM and SIGHUP are put, instead of ending the process.

    A signal that this process ignores, such as SIGHUP under nohup, stays ignored.
    """
    # Not an Event: if a handler sets it while this thread starts waiting for it, the wait never
    # ends.
    signals = SimpleQueue[int]()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda number, _: signals.put(number))
    return signals


async def _findings(settings: Settings) -> Sequence[Finding]:
    """Return the findings of `check` about the demo's spreadsheet, except the level `ok`."""
    steps = check_accounts(settings, DEMO_SPREADSHEET)
    return [each async for found in steps for each in found if each.level != "ok"]


async def _create_keys(
    settings: Settings, full_bytes: RandomBytes
) -> tuple[Sequence[str], str, str]:
    """Create the API keys and an admin key.

    Returns the API keys (full access, no filters, read-only), the admin key, and a token for one
    sign-in at the console.
    """
    sheet = frozenset({DEMO_SPREADSHEET})
    keys = []
    for name, plan, grants, random_bytes in (
        ("full access", "paid", Grants(spreadsheets=sheet, may_delete=True), full_bytes),
        ("no filters", "free", Grants(spreadsheets=sheet), token_bytes),
        (
            "read-only",
            "paid",
            Grants(spreadsheets=sheet, may_create=False, may_update=False),
            token_bytes,
        ),
    ):
        request = KeyRequest(name=f"demo {name}", plan=plan, grants=grants)
        keys.append((await new_key(settings, request, random_bytes=random_bytes))[1])
    async with opened_admins(settings) as admins:
        owner, admin_key = await admins.create("demo")
        return keys, admin_key, await admins.link(owner)


PATIENCE_SECONDS = 120.0
"""Timeout of a request to the demo itself."""

_CURL = r"curl -s -w '\n'"
"""Shell: curl, with a line break after each answer, so that the prompt starts a new line."""
_SEND = "-H 'Content-Type: application/json' -d"
_NUMBER = re.compile(r"-?[1-9][0-9]{0,14}(\.[0-9]{1,6})?")
_MOST_FIELDS, _MOST_CHARACTERS = 4, 200
"""Maximum number of fields in a request body, and of characters in a value."""

Row = Mapping[str, str | int | float]


class NoExample(Exception):
    """No curl commands can be made from the worksheets. The text says why."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """Data for the curl commands.

    `rows` is the number of rows. The filter `where` matches a row; `order` is a sort order.
    `created` is a new row, and `change` has new values for it.
    """

    path: str
    """Path in the URL of the worksheet, percent-encoded."""
    typed_path: str
    """Path of the worksheet in the command that shows `values=typed`."""
    rows: int
    where: Mapping[str, object]
    order: str
    created: Row
    change: Row


CITIES = Example(
    path="/v2/sheets/Cities",
    typed_path="/v2/sheets/Products",
    rows=10,
    where={"population": {"$gte": 2_000_000}},
    order="-population",
    created={"name": "Austin", "state": "Texas", "country": "USA", "population": 961855},
    change={"population": 964000},
)
"""Example for the worksheets of the sample workbook."""


def find_fields(url: str, key: str) -> Mapping[str, Sequence[str]]:
    """Return the field names of each worksheet of the gateway at `url`, by the path of its URL.

    Worksheets without field names are left out. Raises NoExample for an error of the gateway.
    """
    found = _get(url, key, "/v2/sheets")["sheets"]
    return {
        f"/v2/sheets/{quote(sheet['name'], safe='')}": [each["name"] for each in sheet["fields"]]
        for sheet in found
        if sheet["fields"]
    }


def find_example(url: str, key: str, fields: Mapping[str, Sequence[str]]) -> Example:
    """Make an example from the first row of the first worksheet.

    Raises NoExample if no worksheet has field names, or the gateway answers an error.
    """
    if not fields:
        raise NoExample("no worksheet has field names: write them into row 1.")
    path = next(iter(fields))
    page = _get(url, key, f"{path}?limit=1&count=true")
    (first,) = page["results"] or [{}]
    names, filled = fields[path], _filled(fields[path], first)
    sample = filled or {names[0]: "example"}
    numbers = [name for name, value in sample.items() if not isinstance(value, str)]
    field = numbers[0] if numbers else next(iter(sample))
    value = sample[field]
    return Example(
        path=path,
        typed_path=path,
        rows=page["total"],
        where={field: {"$gte": value} if numbers else value} if filled else {"rowIndex": 2},
        # In `order`, a comma separates names.
        order=f"-{field}" if filled and "," not in field else "-rowIndex",
        created=sample,
        change={field: "changed" if isinstance(value, str) else value + 1},
    )


def _get(url: str, key: str, target: str) -> Any:
    """Send a GET request and return the JSON body. Raises NoExample unless the status is 200."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(
        address.hostname or "", address.port, timeout=PATIENCE_SECONDS
    )
    try:
        connection.request("GET", target, headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        body = json.loads(response.read())
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise NoExample(body["message"])
    return body


def _filled(fields: Sequence[str], row: Mapping[str, Any]) -> Row:
    """Return the first 4 short values of a row by field name. Texts of numbers become numbers.

    Leaves out long and blank values, and fields whose names have unprintable characters or a
    leading `$`.
    """
    found = {
        name: json.loads(row[name]) if _NUMBER.fullmatch(row[name]) else row[name]
        for name in fields
        if name.isprintable() and not name.startswith("$")  # `$` begins an operator in `where`
        if row.get(name) and len(row[name]) <= _MOST_CHARACTERS
    }
    return dict(list(found.items())[:_MOST_FIELDS])


def _headers(key: str) -> str:
    return f"-H 'Authorization: Bearer {key}' -H 'X-Spreadsheet-Id: {DEMO_SPREADSHEET}'"
